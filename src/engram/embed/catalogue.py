"""The models that can be chosen, by name, and what a database keeps of the choice."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from engram.embed import minilm, multilingual
from engram.embed.minilm import MiniLmEmbedder
from engram.embed.multilingual import MultilingualEmbedder
from engram.embed.packaged import PackagedEmbedder
from engram.embed.remote import Measured, RemoteEmbedder, as_address
from engram.errors import Conflict, Invalid
from engram.rules.curve import curve_from_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.embed.protocol import Embedder

DEFAULT = "bge-small"
LOCAL = {DEFAULT: PackagedEmbedder, "minilm": MiniLmEmbedder, "multilingual": MultilingualEmbedder}
PACKAGES = {"minilm": minilm.PACKAGE, "multilingual": multilingual.PACKAGE}


@dataclass(frozen=True, slots=True)
class Choice:
    """A model: one of ours by its name, or what a URL calls so."""

    name: str = DEFAULT
    url: str = ""

    @property
    def model_id(self) -> str:
        """What stands beside its vectors. The same name at another URL may be another model."""
        if not self.url:
            return LOCAL[self.name].model_id
        return f"{self.name}@{urlsplit(self.url).netloc}#{sha256(self.url.encode()).hexdigest()[:8]}"

    @property
    def is_installed(self) -> bool:
        """Whether this process could load it; of a URL nothing is known."""
        return bool(self.url) or self.name not in PACKAGES or find_spec(PACKAGES[self.name]) is not None

    def shown(self) -> str:
        """For messages: the name, and of a URL scheme and host."""
        parts = urlsplit(self.url)
        return f"{self.name} at {parts.scheme}://{parts.netloc}" if self.url else self.name

    def as_text(self) -> str:
        """As the database keeps it; ``from_text`` reads it back."""
        return json.dumps({"name": self.name, "url": self.url} if self.url else {"name": self.name})


@lru_cache(maxsize=16)
def from_text(text: str | None) -> Choice:
    """The choice that a database keeps. One made before there was a choice keeps none: the packaged model.

    Raises:
        Conflict: it is none that this program knows.
    """
    if text is None:
        return Choice()
    try:
        match json.loads(text):
            case {"name": str(name), "url": str(url)}:
                return Choice(name, url)
            case {"name": str(name)} if name in LOCAL:
                return Choice(name)
            case _:
                pass
    except ValueError:
        pass
    raise Conflict(
        f"this database uses the embedding model {text[:80]}, which this program does not know",
        hint="Use a newer engram-one; nothing was changed",
    )


def choose(name: str, url: str = "") -> Choice:
    """The choice that somebody means by a name, and maybe a URL.

    Raises:
        Invalid: the name is none of ours and there is no URL, or the URL can't be used.
    """
    if not url:
        if name not in LOCAL:
            raise Invalid(
                f"there is no model {name[:80]!r}",
                hint=f"Models: {', '.join(LOCAL)}; or give the URL that serves it, like http://localhost:11434/v1",
            )
        return Choice(name)
    if not name or len(name) > 200 or any(not character.isprintable() for character in name):
        raise Invalid("the model behind a URL has no name", hint="Give the name by which the server knows it")
    return Choice(name, _checked(url))


def _checked(url: str) -> str:
    """The URL without a slash at its end. It is kept in the database, so nothing secret may stand in it."""
    hint = "Give one like http://localhost:11434/v1; a key goes into ENGRAM_EMBED_KEY"
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        raise Invalid("the URL of the embedding model is none", hint=hint) from None
    if not is_usable or any(character.isspace() or not character.isprintable() for character in url):
        raise Invalid("the URL of the embedding model is none", hint=hint)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise Invalid("the URL of the embedding model holds more than scheme, host and path", hint=hint)
    return url.rstrip("/")


def make(
    choice: Choice,
    *,
    key: str = "",
    known: Measured | None = None,
    keep: Callable[[Measured], Measured] = lambda measured: measured,
) -> Embedder:
    """The embedder of a choice; nothing is loaded and nobody asked yet.

    Args:
        choice: Which one.
        key: Sent to a URL.
        known: What was measured of a URL's model before.
        keep: Told what is measured of it now; see ``RemoteEmbedder``.
    """
    if not choice.url:
        return LOCAL[choice.name]()
    address = as_address(choice.url, choice.name, key)
    return RemoteEmbedder(address, model_id=choice.model_id, known=known, keep=keep)


def same_server(one: str, other: str) -> bool:
    """Whether two URLs lead to the same scheme, host and port."""
    return urlsplit(one)[:2] == urlsplit(other)[:2]


def measured_text(measured: Measured) -> str:
    """What was measured of a model, as the database keeps it."""
    return json.dumps({"dim": measured.dim, "curve": measured.curve.as_json()})


def measured_from(text: str | None) -> Measured | None:
    """What ``measured_text`` gave; None for nothing and for what can't be read, which is measured again."""
    if text is None:
        return None
    try:
        data = cast("dict[str, object]", json.loads(text))
        dim = data["dim"]
        return Measured(dim, curve_from_json(data["curve"])) if isinstance(dim, int) and dim > 0 else None
    except (ValueError, LookupError, TypeError):
        return None
