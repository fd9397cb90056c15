"""The errors of Engram.

* EngramError            internal
  + Invalid              invalid        exit 2
  + AccessDenied         access_denied  exit 3
  + NotFound             not_found      exit 4
  + Conflict             conflict       exit 5
  + Unavailable          unavailable    exit 6

The code is the contract, the text is not. Each surface owns one table from code to its own
language. A hint says what the caller can do next with its own tools.
"""

from __future__ import annotations


class EngramError(Exception):
    """Internal error."""

    code = "internal"

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        super().__init__(message or self.__doc__)
        self.hint = hint

    def line(self) -> str:
        """The error as every surface shows it: ``code: message. hint``."""
        message = str(self).rstrip(".")
        return f"{self.code}: {message}. {self.hint}".rstrip() if self.hint else f"{self.code}: {message}."


class Invalid(EngramError):
    """The input is missing, malformed or out of range."""

    code = "invalid"


class AccessDenied(EngramError):
    """Your role does not allow this."""

    code = "access_denied"


class NotFound(EngramError):
    """There is no such thing, or you may not see it."""

    code = "not_found"


class Conflict(EngramError):
    """The state that was found does not allow this."""

    code = "conflict"


class Unavailable(EngramError):
    """The database or a needed part does not answer now; nothing was changed."""

    code = "unavailable"

    def __init__(self, message: str = "", *, hint: str = "", retry_after: float = 1.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after  # seconds
