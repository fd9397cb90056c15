"""The embedding model of a database: which one it is, how it is switched, how a process notices.

The choice is a setting of the database. ``pending`` means: waits for a vector of that model.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.embed import catalogue
from engram.embed.catalogue import Choice
from engram.embed.remote import Measured
from engram.engine import access
from engram.errors import AccessDenied, Unavailable
from engram.store import chunks, health
from engram.store import settings as facts

if TYPE_CHECKING:
    from engram.embed import Embedder
    from engram.engine.context import Context, Engine
    from engram.settings import Settings
    from engram.store.base import Store, Tx

SETTING = "model"
STALE = "model_stale"  # set while vectors of an earlier model may be there
CURVE = "curve "  # before a model's id: what was measured of a model behind a URL
LOCK = "model"
DROPPED_AT_ONCE = 500

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A model that can be chosen, or was."""

    name: str
    dim: int  # 0: not known yet
    is_installed: bool
    is_current: bool
    vectors: int  # chunks that have one
    waiting: int  # chunks that wait for one


@dataclass(frozen=True, slots=True, kw_only=True)
class Switched:
    """What a switch did."""

    choice: Choice
    was: Choice
    waiting: int


def wanted(settings: Settings) -> Choice | None:
    """The model that a process was told in its environment, if any.

    Raises:
        Invalid: there is no such model, or the URL can't be used.
    """
    if not settings.embed_model and not settings.embed_url:
        return None
    return catalogue.choose(settings.embed_model, settings.embed_url)


def start(tx: Tx, settings: Settings) -> None:
    """Give a new database its model."""
    facts.put(tx, SETTING, (wanted(settings) or Choice()).as_text())


def current(tx: Tx) -> Choice:
    """The database's model.

    Raises:
        Conflict: a newer program chose one that this one does not know.
    """
    return catalogue.from_text(facts.get(tx, SETTING))


def opened(store: Store, settings: Settings) -> Embedder:
    """The embedder of the database's model; a process that was told another one says so."""
    with store.reading() as tx:
        choice = current(tx)
    difference = differs(choice, settings)
    if difference:
        log.warning("%s", difference)
    return embedder_of(store, settings, choice)


def differs(choice: Choice, settings: Settings) -> str:
    """What is to be said where the environment names another model than the database's; empty: nothing."""
    told = wanted(settings)
    if told is None or told == choice:
        return ""
    return (
        f"ENGRAM_EMBED_MODEL and ENGRAM_EMBED_URL say {told.shown()}, this database uses {choice.shown()}; "
        "they count for a new database only, `engram model use` switches this one"
    )


def embedder_of(store: Store, settings: Settings, choice: Choice) -> Embedder:
    """An embedder; for one behind a URL with what was measured before, in whichever process."""
    known = None
    if choice.url:
        with store.reading() as tx:
            known = catalogue.measured_from(facts.get(tx, CURVE + choice.model_id))
    # The key belongs to the URL that it was given with: nobody who switches the database's URL gets it.
    is_ours = not settings.embed_url or catalogue.same_server(settings.embed_url, choice.url)
    return catalogue.make(
        choice,
        key=settings.embed_key if is_ours else "",
        known=known,
        keep=lambda measured: _keep(store, choice, measured),
    )


def _keep(store: Store, choice: Choice, measured: Measured) -> Measured:
    """Keep what was measured, unless another process was first: one curve holds for all."""
    if store.dim_max is not None and measured.dim > store.dim_max:
        raise Unavailable(
            f"{choice.shown()} makes vectors of {measured.dim} numbers; PostgreSQL indexes {store.dim_max} at most",
            hint="Choose a model with fewer, or one that can shorten its vectors",
            retry_after=3_600.0,
        )
    with store.writing() as tx:
        tx.lock(LOCK)
        name = CURVE + choice.model_id
        earlier = catalogue.measured_from(facts.get(tx, name))
        if earlier is None:
            facts.put(tx, name, catalogue.measured_text(measured))
    return earlier or measured


def follow(engine: Engine, choice: Choice) -> Embedder:
    """The embedder of this model, which the engine has from now on."""
    with engine.switching:
        if engine.embedder.model_id != choice.model_id:
            before, engine.embedder = engine.embedder, embedder_of(engine.store, engine.settings, choice)
            before.drop()  # whoever is at a text with it finishes that, or loads it once more
        return engine.embedder


def use(ctx: Context, choice: Choice) -> Switched:
    """Switch the database to a model, and let every live chunk without a vector of it wait for one.

    Choosing the model that it has looks for chunks that were missed.

    Raises:
        AccessDenied: the caller is no operator.
        Unavailable: the model is not installed, or does not answer; nothing was changed.
    """
    engine = ctx.engine
    with engine.store.reading() as tx:
        _require_operator(tx, ctx)
        is_new = current(tx).model_id != choice.model_id
    fresh = embedder_of(engine.store, engine.settings, choice) if is_new else engine.embedder
    try:
        fresh.load()
        was, waiting = _switch(ctx, choice)
    except BaseException:
        if fresh is not engine.embedder:
            fresh.drop()
        raise
    with engine.switching:
        before, engine.embedder = engine.embedder, fresh
    if before is not fresh:
        before.drop()
    return Switched(choice=choice, was=was, waiting=waiting)


def _switch(ctx: Context, choice: Choice) -> tuple[Choice, int]:
    """Write the choice; (the earlier one, how many chunks wait now)."""
    with ctx.engine.store.writing() as tx:
        _require_operator(tx, ctx)
        tx.lock(LOCK)
        was = current(tx)
        facts.put(tx, SETTING, choice.as_text())
        if was != choice:
            facts.put(tx, STALE, was.model_id)
        chunks.enqueue_missing(tx, choice.model_id)
        return was, health.waiting(tx)


def enqueue_missing(engine: Engine, choice: Choice) -> None:
    """For a process that noticed a switch late: what it wrote meanwhile was judged by the old model."""
    with engine.store.writing() as tx:
        tx.lock(LOCK)
        if current(tx) == choice:
            chunks.enqueue_missing(tx, choice.model_id)


def drop_stale(engine: Engine, choice: Choice) -> bool:
    """Once nothing waits: drop some vectors of earlier models; whether there may be more."""
    with engine.store.writing() as tx:
        tx.lock(LOCK)
        if current(tx) != choice or chunks.is_any_pending(tx):
            return False
        dropped = chunks.drop_other_vectors(tx, choice.model_id, DROPPED_AT_ONCE)
        if dropped < DROPPED_AT_ONCE:
            facts.drop(tx, STALE)
        return dropped == DROPPED_AT_ONCE


def listed(ctx: Context) -> list[Listed]:
    """Ours by name, then those behind a URL that have vectors here or are current."""
    with ctx.engine.store.reading() as tx:
        access.reach(tx, ctx)
        now, waiting = current(tx), health.waiting(tx)
        counts = {name: (dim, count) for name, dim, count in chunks.counts(tx)}
        measured = catalogue.measured_from(facts.get(tx, CURVE + now.model_id)) if now.url else None
    names = {Choice(name).model_id: Choice(name) for name in catalogue.LOCAL}
    if now.url:
        names[now.model_id] = now
    found: list[Listed] = []
    for model_id, choice in names.items():
        dim, vectors = counts.pop(model_id, (0, 0))
        is_current = choice == now
        found.append(
            Listed(
                name=choice.shown(),
                dim=dim or (measured.dim if measured and is_current else 0) or catalogue.make(choice).dim,
                is_installed=choice.is_installed,
                is_current=is_current,
                vectors=vectors,
                waiting=waiting if is_current else 0,
            )
        )
    found += [
        Listed(name=model_id, dim=dim, is_installed=True, is_current=False, vectors=vectors, waiting=0)
        for model_id, (dim, vectors) in counts.items()
        if vectors
    ]
    return found


def _require_operator(tx: Tx, ctx: Context) -> None:
    if not access.reach(tx, ctx).actor.is_operator:
        raise AccessDenied("only the operator may switch the model", hint="Ask the operator; nothing was changed")
