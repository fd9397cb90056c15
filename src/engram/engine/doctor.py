"""What can be wrong with a database and its folder, and what of it can be mended without losing anything."""

from __future__ import annotations

import logging
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.embed import tokenizer_path
from engram.engine import index, models
from engram.engine.lease import KIND as EMBEDDING
from engram.errors import EngramError, Unavailable
from engram.rules import names, seal
from engram.settings import NAMES
from engram.store import chunks, health, jobs, libraries, mounts
from engram.store import memories as rows
from engram.store import settings as facts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from engram.embed import Choice, Embedder
    from engram.settings import Settings
    from engram.store.base import Store, Tell, Tx

OK, WARN, FAIL = "ok", "warn", "fail"
FREE_BYTES_MIN = 100 * 1024 * 1024
LOG_BYTES_MAX = 256 * 1024 * 1024
OPEN_S_MAX = 60.0
MENDED_AT_ONCE = 50
DAY_MS = 86_400_000
CHECKED, DAMAGED = "checked_at", "damaged"  # settings of the database
DAMAGE_CHARS_MAX = 200

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: str  # ok, warn, fail
    detail: str
    hint: str = ""


def look_daily(store: Store) -> None:
    """Read the whole file once a day, in the background; a damaged one is refused when it is next opened."""
    if store.dialect != "sqlite":
        return
    with store.reading() as tx:
        now, at = tx.now, facts.get(tx, CHECKED)
    if at is not None and now - int(at) < DAY_MS:
        return
    with store.writing() as tx:
        facts.put(tx, CHECKED, str(now))  # first, so that no other process does the same
    with store.reading() as tx:
        found = health.integrity(tx)
    if found != "ok":
        log.error("%s is damaged: %s. Run `engram doctor`", store.describe(), found)
        with store.writing() as tx:
            facts.put(tx, DAMAGED, found[:DAMAGE_CHARS_MAX])


def require_whole(store: Store) -> None:
    """Refuse a database that was found damaged.

    Raises:
        Unavailable: it was.
    """
    with store.reading() as tx:
        damage = facts.get(tx, DAMAGED)
    if damage is not None:
        raise Unavailable(
            f"{store.describe()} is damaged: {damage}",
            hint="Keep a copy of the folder, run `engram doctor`; once the file is whole again `engram doctor --fix`",
            retry_after=60.0,
        )


def check_files(settings: Settings, environment: Mapping[str, str]) -> list[Check]:
    """What can be seen without opening the database."""
    checks = [_environment(environment), _key(settings)]
    if not settings.database_url:
        checks += [_folder(settings.data_dir), _mount(settings.database_file)]
    checks += _space(settings.data_dir)
    try:
        checks.append(Check(name="packaged model", state=OK, detail=str(tokenizer_path().parent)))
    except EngramError as error:
        checks.append(
            Check(name="packaged model", state=FAIL, detail=str(error), hint=error.hint or "Install engram-one again")
        )
    return checks


def _environment(environment: Mapping[str, str]) -> Check:
    unknown = sorted(name for name in environment if name.startswith("ENGRAM_") and name not in NAMES)
    if not unknown:
        return Check(name="settings", state=OK, detail="every variable ENGRAM_* that is set is known")
    meant = names.closest(unknown[0], NAMES, most=1)
    hint = f"Did you mean {meant[0]}?" if meant else "Unset it"
    return Check(name="settings", state=WARN, detail=f"nothing reads {', '.join(unknown)}", hint=hint)


def _key(settings: Settings) -> Check:
    path = settings.key_path
    if not path.exists():
        is_new = not settings.database_url and not settings.database_file.exists()
        detail = f"{path} is not there{', it is made with the database' if is_new else ''}"
        hint = "" if is_new else "Put back the key that was made with this database; without it nothing can be read"
        return Check(name="key", state=OK if is_new else FAIL, detail=detail, hint=hint)
    return _mode("key", path, 0o600)


def _mode(name: str, path: Path, wanted: int) -> Check:
    """Whether nobody but its owner may read a file or folder."""
    mode = path.stat().st_mode & 0o777
    if os.name == "nt" or not mode & 0o077:
        return Check(name=name, state=OK, detail=f"{path} (mode {mode:o})")
    return Check(
        name=name,
        state=FAIL if name == "key" else WARN,
        detail=f"{path} has mode {mode:o}: others may look into it, it should be {wanted:o}",
        hint="`engram doctor --fix` sets it",
    )


def _folder(folder: Path) -> Check:
    if not folder.exists():
        return Check(name="folder", state=OK, detail=f"{folder} is not there yet; the first save makes it")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return Check(
            name="folder",
            state=FAIL,
            detail=f"{folder} can't be written by this user",
            hint="Change its owner or rights, or set ENGRAM_DATA_DIR to another folder",
        )
    return _mode("folder", folder, 0o700)


def _mount(file: Path) -> Check:
    kind = mounts.network_type(file)
    if kind:
        return Check(
            name="file system",
            state=FAIL,
            detail=f"{file} is on a network file system ({kind}), where SQLite's locks do not hold",
            hint="Set ENGRAM_DATA_DIR to a folder on a local disk, or ENGRAM_DATABASE_URL to share by PostgreSQL",
        )
    return Check(name="file system", state=OK, detail="local")


def _space(folder: Path) -> list[Check]:
    there = next((place for place in (folder, *folder.parents) if place.exists()), None)
    if there is None:
        return []
    free = shutil.disk_usage(there).free
    is_enough = free >= FREE_BYTES_MIN
    hint = "" if is_enough else "Make room: a save that finds none is refused"
    detail = f"{free / 1_073_741_824:.1f} GiB free at {there}"
    return [Check(name="disk", state=OK if is_enough else WARN, detail=detail, hint=hint)]


def check_database(store: Store, settings: Settings, tell: Tell) -> list[Check]:
    """What an open database tells of itself; changes nothing.

    Args:
        store: Opened to be looked at.
        settings: What this process was told.
        tell: Hears of the memories that were checked.
    """
    found, known = store.version(), len(store.migrations())
    schema = Check(
        name="schema",
        state=OK if found == known else WARN,
        detail=f"{store.describe()}, version {found}" + (f" of {known}" if found != known else ""),
        hint="" if found == known else "`engram migrate` brings it up to date, as does the next start",
    )
    if found != known:
        return [schema]
    with store.reading() as tx:
        checks = [schema, _integrity(tx), *_seals(tx, tell), *_index(tx), *_model(tx, settings)]
    if not settings.database_url:
        checks.append(_log(settings.database_file))
    return [*checks, _holders(store)]


def _integrity(tx: Tx) -> Check:
    problems = health.integrity(tx)
    if problems == "ok":
        broken = health.broken_references(tx)
        if not broken:
            return Check(name="integrity", state=OK, detail="every page and reference is whole")
        problems = f"rows without their parent in {', '.join(broken)}"
    return Check(
        name="integrity",
        state=FAIL,
        detail=problems,
        hint="Keep a copy of the folder, then take the newest backup; `sqlite3 FILE .recover` saves what can be read",
    )


def _seals(tx: Tx, tell: Tell) -> list[Check]:
    """Every row against its seal, and every library against the totals of its rows."""
    every = health.every_library(tx)
    live = dict.fromkeys((library.id for library in every), 0)
    acc = dict.fromkeys(live, 0)
    forged: list[str] = []
    total = sum(library.live for library in every)
    for count, memory in enumerate(health.every_memory(tx), 1):
        if rows.sealed(tx, memory).seal != memory.seal:
            forged.append(memory.id)
        if not memory.is_archived:
            live[memory.library_id] = live.get(memory.library_id, 0) + 1
            acc[memory.library_id] = (acc.get(memory.library_id, 0) + seal.seal48(memory.seal)) % seal.SUM_MODULUS
        if count % health.PAGE == 0:
            tell(count, max(total, count))
    wrong = [
        library.name
        for library in every
        if libraries.sealed(tx, library).seal != library.seal
        or (library.live, library.acc) != (live[library.id], acc[library.id])
    ]
    hint = "Somebody wrote into the database without Engram; take a backup back, or look at the rows"
    checks = [
        Check(name="seals", state=OK, detail="every memory is as Engram wrote it")
        if not forged
        else Check(
            name="seals",
            state=FAIL,
            detail=f"{len(forged)} memories were changed outside Engram, such as {forged[0]}",
            hint=hint,
        )
    ]
    if wrong:
        detail = f"memories were added to or taken from {', '.join(wrong)} outside Engram"
        return [*checks, Check(name="totals", state=FAIL, detail=detail, hint=hint)]
    detail = f"memories in use: {sum(live.values())}, as many as counted"
    return [*checks, Check(name="totals", state=OK, detail=detail)]


def _index(tx: Tx) -> list[Check]:
    missing, extra = len(health.unindexed(tx)), len(health.orphans(tx))
    hint = "`engram doctor --fix` makes them anew"
    return [
        Check(name="words", state=OK, detail="every memory in use is in the word index")
        if not missing
        else Check(name="words", state=FAIL, detail=f"{missing} memories are not found by all their words", hint=hint),
        Check(name="orphans", state=OK, detail="no index entry without its memory")
        if not extra
        else Check(name="orphans", state=WARN, detail=f"{extra} index entries without a memory", hint=hint),
    ]


def _model(tx: Tx, settings: Settings) -> list[Check]:
    choice = models.current(tx)
    waiting, without = health.waiting(tx), health.without_vector(tx, choice.model_id)
    detail = f"{waiting} chunks wait for a vector, {without} have none because the model can't read them or it was lost"
    return [_installed(choice, settings), Check(name="vectors", state=OK, detail=detail)]


def _installed(choice: Choice, settings: Settings) -> Check:
    """What is to be known of the database's model."""
    if not choice.is_installed:
        return Check(
            name="model",
            state=FAIL,
            detail=f"{choice.shown()} is not installed here: searches go by words alone",
            hint=f"pip install 'engram-one[{choice.name}]', or switch with `engram model use`",
        )
    try:
        differs = models.differs(choice, settings)
    except EngramError as error:
        return Check(name="model", state=WARN, detail=f"{choice.shown()}; {error}", hint=error.hint)
    if differs:
        return Check(name="model", state=WARN, detail=differs, hint="Unset the variables, or switch the database")
    return Check(name="model", state=OK, detail=choice.shown())


def _log(file: Path) -> Check:
    size = health.log_bytes(file)
    shown = f"{size / 1_048_576:.1f} MiB"
    if size <= LOG_BYTES_MAX:
        return Check(name="log", state=OK, detail=f"{shown} of write-ahead log")
    return Check(
        name="log",
        state=WARN,
        detail=f"{shown} of write-ahead log: a reader keeps it from being emptied",
        hint="End the processes named under `in use by`, then run `engram compact`",
    )


def _holders(store: Store) -> Check:
    found = health.holders(store)
    if found is None:
        return Check(name="in use by", state=OK, detail="this system does not tell")
    shown = [
        f"{one.pid} ({one.name}{', is writing' if one.is_writing else ''}"
        f"{f', for {one.seconds:.0f} s' if one.seconds else ''})"
        for one in found
        if one.pid != os.getpid()
    ]
    long = [one for one in found if one.seconds and one.seconds > OPEN_S_MAX]
    with store.reading() as tx:
        embedder = jobs.holder(tx, EMBEDDING, "")
    detail = f"processes {', '.join(shown)}" if shown else "no other process"
    detail += f"; {embedder} makes the vectors" if embedder else ""
    hint = f"Process {long[0].pid} keeps a transaction open; end it if it hangs" if long else ""
    return Check(name="in use by", state=WARN if long else OK, detail=detail, hint=hint)


def mend_files(settings: Settings) -> list[str]:
    """Give folder, database and key back to their owner alone; returns what was done."""
    done: list[str] = []
    if os.name == "nt":
        return done
    file = settings.database_file
    files = [settings.key_path, file, *(file.with_name(file.name + suffix) for suffix in ("-wal", "-shm"))]
    for path, wanted in [(settings.data_dir, 0o700), *((each, 0o600) for each in files)]:
        if path.exists() and path.stat().st_mode & 0o077:
            path.chmod(wanted)
            done.append(f"{path} has mode {wanted:o} now")
    return done


def mend_index(store: Store, embedder: Embedder, tell: Tell) -> list[str]:
    """Make missing parts of the indexes anew from the memories, and drop what has no memory; returns what was done."""
    with store.reading() as tx:
        lost, extra = health.unindexed(tx), health.orphans(tx)
        is_healed = facts.get(tx, DAMAGED) is not None and health.integrity(tx) == "ok"
    for start in range(0, len(lost), MENDED_AT_ONCE):
        _index_again(store, embedder, lost[start : start + MENDED_AT_ONCE])
        tell(min(start + MENDED_AT_ONCE, len(lost)), len(lost))
    with store.writing() as tx:
        if extra:
            tx.drop_words(extra)
        tx.lock(models.LOCK)
        before = health.waiting(tx)
        chunks.enqueue_missing(tx, models.current(tx).model_id)
        again = health.waiting(tx) - before
        if is_healed:
            facts.drop(tx, DAMAGED)
    done = ["the file is whole again and may be used"] if is_healed else []
    done += [f"{len(lost)} memories were indexed anew"] if lost else []
    done += [f"{len(extra)} index entries without a memory were dropped"] if extra else []
    return [*done, f"{again} chunks without a vector are tried again"] if again > 0 else done


def _index_again(store: Store, embedder: Embedder, keys: list[tuple[str, str]]) -> None:
    with store.reading() as tx:
        seen = list(rows.by_keys(tx, keys).values())
    cut = {memory.id: index.cut_memory(embedder, memory) for memory in seen}  # outside the writing transaction
    with store.writing() as tx:
        for memory in seen:
            now = rows.by_uuid(tx, library_ids=[memory.library_id], memory_id=memory.id, is_held=True)
            if now is not None and now.seal == memory.seal:  # else somebody wrote it anew, index and all
                facets = index.facets_of(now)
                index.replace_chunks(tx, now.id, was=facets, now=facets, pieces=cut[now.id])
