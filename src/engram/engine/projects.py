"""Which project a working folder belongs to. Reads files, never runs Git, never fails."""

from __future__ import annotations

import json
import os
import re
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote

from engram.rules.names import DEFAULT_PROJECT, find_bad_character, fit_project_name, is_blank, split_place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CONFIG_PATH = Path(".engram", "config.json")

_FILE_BYTES_MAX = 1 << 20
_NAME_KEYS = ("project", "project_name")
_MADE_TEMPORARY = re.compile(r"tmp[._]?[A-Za-z0-9_]{6,}")  # what mkdtemp and mktemp -d make
_SECTION = re.compile(r'\[\s*+([A-Za-z0-9.-]++)\s*+(?:"((?:[^"\\]|\\.)*+)")?\s*+\]')
_ESCAPED = re.compile(r"\\(.)")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/]*)/?(.*)", re.DOTALL)
_SCP = re.compile(r"([^/:]{2,}):(.*)", re.DOTALL)  # two characters and more: `C:` is a drive


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a working folder says about its project."""

    name: str  # fits the naming rule, but for `library/name` from a config file
    source: str  # config, remote, worktree, folder or default
    owner_name: str = ""  # `owner-name` of the remote, for when another remote has the name already
    remote: str = ""  # host, owner and name of the remote: tells two remotes apart, holds no secret
    cross_project: bool = True  # false: a search stays in this project
    note: str = ""  # what was wrong or was made to fit; empty: nothing


@dataclass(frozen=True, slots=True)
class _Config:
    name: str = ""
    cross_project: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Repository:
    common: Path  # the Git directory that all its work trees share
    main: Path  # the main work tree, or the folder that gives a bare repository its name


@dataclass(frozen=True, slots=True)
class _Remote:
    host: str
    path: tuple[str, ...]  # never empty, the name last


def detect(folder: Path, *, home: Path | None = None, temporary: Sequence[Path] | None = None) -> Found:
    """The project of a working folder. Files are read at each call: keep the answer.

    The nearest ``.engram/config.json`` upward decides, else the last part of the ``origin`` remote, else the base
    name of the main work tree (so that linked work trees agree), else that of the folder. The root, the home and
    temporary folders give ``default``. What cannot be read is passed over, with a note.

    Args:
        folder: Need not exist.
        home: The person's home; None: of this process.
        temporary: Folders that hold temporary ones; None: those of this machine.

    Source: contracts/mem.md, Project.
    """
    folder = _real(folder)
    config = _read_config(folder)
    repository = _repository_of(folder)
    remote = _origin_of(repository) if repository else None
    if config.name:
        wanted, source = config.name, "config"
    elif remote:
        wanted, source = remote.path[-1], "remote"
    else:
        bases = [(repository.main, "worktree")] if repository else []
        homes = [_real(home or Path(os.path.expanduser("~")))]  # noqa: PTH111 - Path.home() may raise
        places = [_real(place) for place in (_temporary_folders() if temporary is None else temporary)]
        wanted, source = _base_name([*bases, (folder, "folder")], homes=homes, temporary=places)
    name, note = _fit(wanted)
    named_by = remote if source == "remote" else None
    return Found(
        name=name,
        source=source,
        owner_name=fit_project_name("-".join(named_by.path[-2:])) if named_by and len(named_by.path) > 1 else "",
        remote="/".join((named_by.host, *named_by.path)).casefold() if named_by else "",
        cross_project=config.cross_project,
        note="; ".join(filter(None, (config.note, note))),
    )


def _base_name(
    bases: Sequence[tuple[Path, str]], *, homes: Sequence[Path], temporary: Sequence[Path]
) -> tuple[str, str]:
    """The base name, and its source, of the first folder whose name says something."""
    for base, source in bases:
        is_nameless = base == base.parent or base in homes or base in temporary
        if not is_nameless and not (base.parent in temporary and _MADE_TEMPORARY.fullmatch(base.name)):
            return base.name.removesuffix(".git"), source
    return DEFAULT_PROJECT, "default"


def _fit(wanted: str) -> tuple[str, str]:
    """A name that a project may have, and what to say where it is another than was wanted."""
    library, _ = split_place(wanted)
    if library is not None:
        return wanted, ""
    name = fit_project_name(wanted)
    return name, "" if name == wanted else f"the project's name was made to fit: {name}"


def _real(path: Path) -> Path:
    """The path without links; a text that can be no path is taken as it is."""
    try:
        return Path(os.path.realpath(path))  # its method raises where links go in circles
    except (OSError, ValueError):
        return path


def _temporary_folders() -> list[Path]:
    return [Path(tempfile.gettempdir()), *(Path(name) for name in ("/tmp", "/var/tmp", "/private/tmp"))]  # noqa: S108 - compared, not written to


def _upward(folder: Path) -> Iterator[Path]:
    yield folder
    yield from folder.parents


def _read_text(path: Path) -> str | None:
    """The text of a plain file; None where there is none.

    Raises:
        OSError: it is there and cannot be read.
        ValueError: it is no UTF-8, too large, or no plain file (reading a pipe would wait forever).
    """
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(found.st_mode) or found.st_size > _FILE_BYTES_MAX:
        raise ValueError("no plain file, or too large")
    return path.read_bytes().decode("utf-8-sig")


def _read_config(folder: Path) -> _Config:
    for place in _upward(folder):
        try:
            text = _read_text(place / CONFIG_PATH)
            if text is None:
                continue
            value: object = json.loads(text)
        except (OSError, ValueError, RecursionError):
            return _Config(note=f"{CONFIG_PATH.as_posix()} cannot be read")
        return _config_from(value)
    return _Config()


def _config_from(value: object) -> _Config:
    if not isinstance(value, dict):
        return _Config(note=f"{CONFIG_PATH.as_posix()} holds no object")
    config = cast("dict[str, object]", value)
    name = next((config[key] for key in _NAME_KEYS if config.get(key) is not None), "")
    cross_project = config.get("crossProject", True)
    wrong: list[str] = []
    if not isinstance(name, str) or find_bad_character(name) is not None or (name and is_blank(name)):
        wrong.append("project is no name")
        name = ""
    if not isinstance(cross_project, bool):
        wrong.append("crossProject is no boolean")
        cross_project = True
    note = f"{CONFIG_PATH.as_posix()}: {', '.join(wrong)}" if wrong else ""
    return _Config(name=name.strip(), cross_project=cross_project, note=note)


def _repository_of(folder: Path) -> _Repository | None:
    for place in _upward(folder):
        git = place / ".git"
        try:
            if os.path.lexists(git / "HEAD"):
                return _Repository(common=git, main=place)
            pointer = _read_text(git)
            if pointer is not None:
                return _linked_repository(place, pointer)
            if (place / "HEAD").is_file() and (place / "objects").is_dir() and (place / "refs").is_dir():
                return _Repository(common=place, main=_main_of(place))
        except (OSError, ValueError):
            continue  # not readable, so not ours to name
    return None


def _linked_repository(place: Path, pointer: str) -> _Repository:
    """The repository behind a ``.git`` file: of a linked work tree, a submodule, or a separate Git directory."""
    git_dir = _real(place / pointer.removeprefix("gitdir:").strip())
    common = _read_text(git_dir / "commondir")
    if common is None:  # a submodule, or separate: this work tree is the main one
        return _Repository(common=git_dir, main=place)
    common_dir = _real(git_dir / common.strip())
    return _Repository(common=common_dir, main=_main_of(common_dir))


def _main_of(common: Path) -> Path:
    """The main work tree of a shared Git directory; for a bare one the folder whose name it goes by."""
    worktree = _git_config(common).get("core..worktree")
    if worktree:
        return _real(common / worktree)
    return common.parent if common.name.startswith(".") else common


def _origin_of(repository: _Repository) -> _Remote | None:
    url = _git_config(repository.common).get("remote.origin.url")
    return _parse_remote(url) if url else None


def _git_config(common: Path) -> dict[str, str]:
    """A Git config file as section.subsection.key -> first value; nothing where it cannot be read."""
    try:
        text = _read_text(common / "config") or ""
    except (OSError, ValueError):
        return {}
    values: dict[str, str] = {}
    prefix = ""
    for raw in text.replace("\r\n", "\n").replace("\\\n", "").split("\n"):
        line = raw.strip()
        section = _SECTION.match(line)
        if section:
            subsection = _ESCAPED.sub(r"\1", section[2] or "")
            prefix = f"{section[1].lower()}.{subsection}"
            line = line[section.end() :].strip()
        key, equals, value = line.partition("=")
        if equals and line[0] not in "#;":
            values.setdefault(f"{prefix}.{key.strip().lower()}", _config_value(value))
    return values


def _config_value(raw: str) -> str:
    """A value without its quotes, escapes and comment."""
    shown: list[str] = []
    is_quoted = False
    characters = iter(raw.strip())
    for char in characters:
        if char == "\\":
            shown.append(next(characters, ""))
        elif char == '"':
            is_quoted = not is_quoted
        elif char in "#;" and not is_quoted:
            break
        else:
            shown.append(char)
    return "".join(shown).strip()


def _parse_remote(url: str) -> _Remote | None:
    """The host and path of a remote, without user, password and port; None where it names nothing."""
    found = _URL.fullmatch(url)
    if found:
        authority, path = found[1], unquote(found[2])
    else:
        found = _SCP.fullmatch(url)
        authority, path = (found[1], found[2]) if found else ("", url)
    parts = [part for part in re.split(r"[/\\]", path) if part.strip(".")]
    if parts and parts[-1] == ".git":
        parts.pop()
    if not parts or parts[-1].endswith(":") or find_bad_character(path) is not None:
        return None
    parts[-1] = parts[-1].removesuffix(".git")
    return _Remote(host=authority.rpartition("@")[2].partition(":")[0], path=tuple(parts))
