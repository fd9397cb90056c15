"""Settings: environment variables, read once; a command-line option wins. Passed as values from here on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engram.errors import Invalid
from engram.model import BODY_CHARS_MAX, REFLECTION_TYPES

# Every variable that any of our programs reads, those of later parts included.
NAMES = (
    "ENGRAM_DATA_DIR", "ENGRAM_DATABASE_URL", "ENGRAM_READ_DATABASE_URL", "ENGRAM_TOKEN", "ENGRAM_TOOLS",
    "ENGRAM_LIBRARY", "ENGRAM_PROJECT", "ENGRAM_NAMESPACE", "ENGRAM_OTHER_PROJECTS", "ENGRAM_MAX_BODY",
    "ENGRAM_REDACT_SECRETS", "ENGRAM_KEEP_DELETED_DAYS", "ENGRAM_REFLECTIONS", "ENGRAM_EMBED_URL",
    "ENGRAM_EMBED_MODEL", "ENGRAM_EMBED_KEY", "ENGRAM_KEY_FILE", "ENGRAM_WEBHOOK_ALLOW", "ENGRAM_PLUGIN_MS",
    "ENGRAM_CHAIN_RPC_URL", "ENGRAM_CHAIN_KEY_FILE", "ENGRAM_HOST", "ENGRAM_PORT", "ENGRAM_PUBLIC_URL",
    "ENGRAM_TLS_CERT", "ENGRAM_TLS_KEY", "ENGRAM_TLS_PROXY", "ENGRAM_RATE", "ENGRAM_OIDC_ISSUER",
    "ENGRAM_OIDC_CLIENT", "ENGRAM_OIDC_SECRET_FILE", "ENGRAM_TEST_DATABASE_URL",
)  # fmt: skip
_TRUE = {"true", "1", "yes", "on"}
_FALSE = {"false", "0", "no", "off"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a process was told. The defaults are those of a developer's laptop."""

    data_dir: Path
    """Folder of database and key."""

    database_url: str = ""
    """PostgreSQL 15+ with pgvector; empty: SQLite in the data folder."""

    token: str = field(default="", repr=False)
    """Who calls, on stdio with PostgreSQL."""

    tools: str = "mem"
    """Profiles and tool names that are loaded, with commas."""

    library: str = ""
    """The bound library; empty: Personal."""

    project: str = ""
    """The project of every call that names none; empty: found from the working folder."""

    namespace: str = ""
    """The namespace of every neural call; empty: ``default`` for writes, everything of one's own for reads."""

    other_projects: bool = True
    """Whether a search that finds nothing in its project looks into the others."""

    body_chars_max: int = BODY_CHARS_MAX
    """Longest body accepted, in characters."""

    redact_secrets: bool = True
    """Whether known shapes of secrets are taken out; private parts always are."""

    keep_deleted_days: int = 30
    """Days until what a team tool deleted is erased; 0 erases at once."""

    embed_model: str = ""
    """The embedding model of a new database; empty: the packaged one."""

    embed_url: str = ""
    """Where an OpenAI-compatible server has that model; empty: it is one of ours."""

    embed_key: str = field(default="", repr=False)
    """What that server wants to see; kept nowhere."""

    reflections: tuple[str, ...] = REFLECTION_TYPES
    """Types of reflection that are asked for."""

    webhook_allow: tuple[str, ...] = ()
    """Hosts that webhooks may reach by http, or though their address is private."""

    plugin_ms: int = 2000
    """A plugin hook's deadline, in milliseconds."""

    key_file: Path | None = None
    """The server key; None: ``key`` in the data folder."""

    def require_token(self) -> None:
        """Refuse a PostgreSQL database without a token.

        Raises:
            Invalid: nobody is named as caller.
        """
        if self.database_url and not self.token:
            raise Invalid(
                "ENGRAM_TOKEN is not set; with PostgreSQL it says who calls",
                hint="Ask the operator for a token: `engram user add NAME` prints one",
            )

    @property
    def database_file(self) -> Path:
        """The SQLite file."""
        return self.data_dir / "engram.db"

    @property
    def key_path(self) -> Path:
        """Where the server key lies."""
        return self.key_file or self.data_dir / "key"


def read(environment: Mapping[str, str]) -> Settings:
    """Settings from environment variables; an empty variable is an absent one.

    Raises:
        Invalid: a value is not of its kind; the message names the variable.
    """

    def text(name: str, default: str = "") -> str:
        return environment.get(name, "").strip() or default

    key_file = text("ENGRAM_KEY_FILE")
    return Settings(
        data_dir=Path(text("ENGRAM_DATA_DIR", "~/.engram")).expanduser(),
        database_url=text("ENGRAM_DATABASE_URL"),
        token=text("ENGRAM_TOKEN"),
        tools=text("ENGRAM_TOOLS", "mem"),
        library=text("ENGRAM_LIBRARY"),
        project=text("ENGRAM_PROJECT"),
        namespace=text("ENGRAM_NAMESPACE"),
        other_projects=_choice("ENGRAM_OTHER_PROJECTS", text("ENGRAM_OTHER_PROJECTS", "auto"), ("auto", "never"))
        == "auto",
        body_chars_max=_whole("ENGRAM_MAX_BODY", text("ENGRAM_MAX_BODY", str(BODY_CHARS_MAX)), minimum=1),
        redact_secrets=_flag("ENGRAM_REDACT_SECRETS", text("ENGRAM_REDACT_SECRETS", "true")),
        keep_deleted_days=_whole("ENGRAM_KEEP_DELETED_DAYS", text("ENGRAM_KEEP_DELETED_DAYS", "30"), minimum=0),
        embed_model=text("ENGRAM_EMBED_MODEL"),
        embed_url=text("ENGRAM_EMBED_URL"),
        embed_key=text("ENGRAM_EMBED_KEY"),
        reflections=_reflections(text("ENGRAM_REFLECTIONS")),
        webhook_allow=tuple(part.strip().lower() for part in text("ENGRAM_WEBHOOK_ALLOW").split(",") if part.strip()),
        plugin_ms=_whole("ENGRAM_PLUGIN_MS", text("ENGRAM_PLUGIN_MS", "2000"), minimum=1),
        key_file=Path(key_file).expanduser() if key_file else None,
    )


def _choice(name: str, value: str, valid: tuple[str, ...]) -> str:
    if value.lower() not in valid:
        raise Invalid(f"{name} is {value[:80]!r}", hint=f"Set it to {' or '.join(valid)}, or unset it")
    return value.lower()


def _reflections(value: str) -> tuple[str, ...]:
    names = [part.strip().lower() for part in value.split(",") if part.strip()]
    unknown = [name for name in names if name not in REFLECTION_TYPES]
    if unknown:
        raise Invalid(
            f"ENGRAM_REFLECTIONS names {unknown[0][:80]!r}",
            hint=f"Set it to some of {', '.join(REFLECTION_TYPES)} with commas, or unset it",
        )
    return tuple(name for name in REFLECTION_TYPES if name in names) or REFLECTION_TYPES


def _whole(name: str, value: str, *, minimum: int) -> int:
    try:
        number = int(value)
    except ValueError:
        number = minimum - 1
    if number < minimum:
        raise Invalid(f"{name} is {value[:80]!r}", hint=f"Set it to a whole number of {minimum} or more, or unset it")
    return number


def _flag(name: str, value: str) -> bool:
    if value.lower() in _TRUE:
        return True
    if value.lower() in _FALSE:
        return False
    raise Invalid(f"{name} is {value[:80]!r}", hint="Set it to true or false, or unset it")
