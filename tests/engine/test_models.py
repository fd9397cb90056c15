"""The database's model: chosen once, switched by the operator, noticed by every process; two are never compared."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from embeddings import Server, serving, status
from engram import app as composition
from engram.embed import Choice, remote
from engram.embed.catalogue import choose
from engram.engine import lifecycle, memories, models, search, users, worker
from engram.engine.context import Context, Engine
from engram.engine.memories import Where
from engram.errors import AccessDenied, Conflict, Invalid, Unavailable
from engram.model import Draft
from engram.settings import Settings
from engram.store import chunks
from engram.store import settings as facts
from engram.store.base import Store

MINILM = Choice("minilm")
MULTILINGUAL = Choice("multilingual")
needs_minilm = pytest.mark.skipif(not MINILM.is_installed, reason="the extra minilm is not installed")
needs_multilingual = pytest.mark.skipif(not MULTILINGUAL.is_installed, reason="the extra multilingual is not installed")


@pytest.fixture
def ctx(ctx: Context) -> Context:
    """The operator: the first user of a server, the local user of a file."""
    if ctx.engine.store.dialect == "sqlite":
        with ctx.engine.store.reading() as tx:
            ctx.actor_id = users.local_actor_id(tx)
    return ctx


@pytest.fixture
def api() -> Iterator[Server]:
    """A server of embeddings."""
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def close_connections(engine: Engine) -> Iterator[None]:
    """Of whatever model a test ends with."""
    yield
    engine.embedder.drop()


def save(ctx: Context, title: str, body: str) -> memories.Saved:
    """Save a memory."""
    return memories.remember(ctx, Draft(title=title, body=body), Where())


def titles(ctx: Context, query: str) -> list[str]:
    """What a search finds."""
    return [hit.memory.title for hit in search.search(ctx, query).hits]


def embed_all(engine: Engine) -> None:
    """What the worker does."""
    while worker.embed_waiting(engine):
        pass


def vectors(store: Store) -> dict[str, int]:
    """Model -> chunks with a vector."""
    with store.reading() as tx:
        return {name: count for name, _, count in chunks.counts(tx) if count}


def waiting(store: Store) -> int:
    """Chunks that wait."""
    with store.reading() as tx:
        return int(tx.value("select count(*) from pending"))


def another_process(ctx: Context) -> Context:
    """The same caller in a process of its own, as far as the engine goes."""
    engine = Engine(
        store=ctx.engine.store,
        embedder=models.opened(ctx.engine.store, ctx.engine.settings),
        settings=ctx.engine.settings,
    )
    return replace(ctx, engine=engine)


@needs_minilm
def test_a_switch_counts_what_waits_and_search_goes_on(ctx: Context) -> None:
    """By words at once, by the new vectors as they come; what is deleted gets none, stale rows go when all is done."""
    save(ctx, "Cookies", "Safari drops cookies without Secure")
    save(ctx, "Pool", "PostgreSQL pool has six connections")
    save(ctx, "Gone", "to be deleted")
    lifecycle.delete(ctx, "3")
    engine, old = ctx.engine, ctx.engine.embedder.model_id
    embed_all(engine)
    switched = models.use(ctx, MINILM)
    assert (switched.waiting, switched.was) == (2, Choice())
    assert waiting(engine.store) == 2
    assert vectors(engine.store) == {old: 2}
    assert titles(ctx, "six connections") == ["Pool"]
    assert titles(ctx, "Apple browser forgets my login") == ["Cookies"]
    embed_all(engine)
    assert vectors(engine.store) == {old: 2, MINILM.model_id: 2}
    assert titles(ctx, "Apple browser forgets my login") == ["Cookies"]
    assert not models.drop_stale(engine, MINILM)
    assert vectors(engine.store) == {MINILM.model_id: 2}
    with engine.store.reading() as tx:
        assert facts.get(tx, models.STALE) is None


@needs_minilm
def test_switching_back_embeds_only_what_is_new(ctx: Context) -> None:
    """As long as the old vectors are there."""
    save(ctx, "Cookies", "Safari drops cookies without Secure")
    embed_all(ctx.engine)
    models.use(ctx, MINILM)
    save(ctx, "Pool", "PostgreSQL pool has six connections")
    assert models.use(ctx, Choice()).waiting == 1
    embed_all(ctx.engine)
    assert vectors(ctx.engine.store) == {Choice().model_id: 2}


@needs_minilm
def test_vectors_of_two_models_are_never_compared(ctx: Context) -> None:
    """A vector of the old model that equals the question's new one is not found by it."""
    save(ctx, "Cookies", "Safari drops cookies without Secure")
    embed_all(ctx.engine)
    models.use(ctx, MINILM)
    query = "completely different words"
    planted = ctx.engine.embedder.embed_query(query)
    with ctx.engine.store.writing() as tx:
        (item,) = chunks.unembedded(tx, limit=5)
        old = chunks.model_id(tx, Choice().model_id)
        assert old is not None
        tx.drop_vectors([item.chunk_id])
        tx.put_vector(item.chunk_id, model=old, facets=item.facets, vector=np.asarray(planted))
    assert titles(ctx, query) == []
    embed_all(ctx.engine)
    assert titles(ctx, query) == []


@needs_minilm
def test_a_vector_made_before_a_switch_is_not_kept_after_it(ctx: Context) -> None:
    """Nor is the chunk taken for done."""
    save(ctx, "Cookies", "Safari drops cookies without Secure")
    engine, old = ctx.engine, ctx.engine.embedder
    with engine.store.reading() as tx:
        items = chunks.unembedded(tx, limit=5)
    models.use(ctx, MINILM)
    worker.store(engine, old.model_id, [(item, old.embed_passage(item.text)) for item in items])
    assert (waiting(engine.store), vectors(engine.store)) == (1, {})
    kept = worker.Worker(engine)
    kept.keep(old.model_id, [(item.chunk_id, old.embed_passage(item.text)) for item in items])
    assert kept.finish(20.0)
    kept.stop()
    assert vectors(engine.store) == {MINILM.model_id: 1}


@needs_minilm
def test_a_running_process_notices_at_its_next_search(ctx: Context) -> None:
    """Its embedder is the new one from then on."""
    save(ctx, "Cookies", "Safari drops cookies without Secure")
    other = another_process(ctx)
    assert titles(other, "Apple browser forgets my login") == ["Cookies"]
    models.use(ctx, MINILM)
    assert titles(other, "Apple browser forgets my login") == ["Cookies"]
    assert other.engine.embedder.model_id == MINILM.model_id


@needs_multilingual
def test_what_the_old_model_could_not_read_is_embedded_by_the_new_one(ctx: Context) -> None:
    """A Chinese note is found by other words; back again, it waits for nothing."""
    save(ctx, "会议", "团队会议改到星期二上午举行")
    save(ctx, "Cookies", "Safari drops cookies without Secure")
    embed_all(ctx.engine)
    assert vectors(ctx.engine.store) == {Choice().model_id: 1}
    assert titles(ctx, "咱们何时碰头") == []
    assert models.use(ctx, MULTILINGUAL).waiting == 2
    embed_all(ctx.engine)
    assert titles(ctx, "咱们何时碰头") == ["会议"]
    models.use(ctx, Choice())
    embed_all(ctx.engine)
    assert waiting(ctx.engine.store) == 0
    assert vectors(ctx.engine.store) == {Choice().model_id: 1, MULTILINGUAL.model_id: 2}


@needs_multilingual
def test_what_a_process_wrote_before_it_noticed_is_looked_after(ctx: Context) -> None:
    """It judged by the old model that nobody can read it; its worker sees the switch."""
    late = another_process(ctx)
    late.engine.worker = late_worker = worker.Worker(late.engine)
    models.use(ctx, MULTILINGUAL)
    save(late, "会议", "团队会议改到星期二上午举行")
    assert late_worker.finish(20.0)
    late_worker.stop()
    assert vectors(ctx.engine.store) == {MULTILINGUAL.model_id: 1}


def test_only_the_operator_switches(ctx: Context, stranger: Context) -> None:
    """On a shared database the first user is one; nothing changes for the others' tries."""
    with pytest.raises(AccessDenied):
        models.use(stranger, MINILM)
    with ctx.engine.store.reading() as tx:
        assert models.current(tx) == Choice()


def test_a_server_that_does_not_answer_changes_nothing(ctx: Context, api: Server) -> None:
    """It is asked before the switch."""
    api.always = status(404)
    with pytest.raises(Unavailable):
        models.use(ctx, choose("words", api.url))
    with ctx.engine.store.reading() as tx:
        assert models.current(tx) == Choice()
    assert ctx.engine.embedder.model_id == Choice().model_id


def test_a_model_behind_a_url_serves_save_and_search(ctx: Context, api: Server) -> None:
    """Measured once, in whichever process; found by what the server takes for the same."""
    save(ctx, "Garage", "the red car is parked behind the house")
    choice = choose("words", api.url)
    assert models.use(ctx, choice).waiting == 1
    asked = len(api.asked)
    embed_all(ctx.engine)
    other = another_process(ctx)
    assert other.engine.embedder.is_loaded
    assert other.engine.embedder.dim == 32
    assert other.engine.embedder.curve == ctx.engine.embedder.curve
    assert titles(other, "red automobile parked") == ["Garage"]
    assert len(api.asked) == asked + 2
    with ctx.engine.store.reading() as tx:
        rows = str(tx.all("select name, value from setting"))
    assert api.url in rows
    assert [one.name for one in models.listed(ctx) if one.is_current] == [choice.shown()]
    other.engine.embedder.drop()


def test_where_the_server_went_words_still_find(ctx: Context, api: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the answer says so; what is saved meanwhile waits."""
    monkeypatch.setattr(remote, "QUIET_S", 0.0)
    models.use(ctx, choose("words", api.url))
    api.always = status(404)
    save(ctx, "Garage", "the red car is parked behind the house")
    found = search.search(ctx, "red car")
    assert [hit.memory.title for hit in found.hits] == ["Garage"]
    assert any("words alone" in note for note in found.notes)
    with pytest.raises(Unavailable):
        worker.embed_waiting(ctx.engine)
    assert waiting(ctx.engine.store) == 1
    api.always = None
    embed_all(ctx.engine)
    assert vectors(ctx.engine.store)[ctx.engine.embedder.model_id] == 1


def test_the_key_goes_to_its_own_server_only(ctx: Context, api: Server) -> None:
    """Whoever switches the database's URL does not get the keys of all processes."""
    settings = replace(ctx.engine.settings, embed_key="sk-1", embed_model="words", embed_url="http://elsewhere/v1")
    ctx.engine.settings = settings
    models.use(ctx, choose("words", api.url))
    assert set(api.keys) == {""}
    assert "sk-1" not in repr(settings)


def test_too_many_dimensions_for_postgresql_are_refused(ctx: Context) -> None:
    """With the reason; SQLite takes them."""
    with serving(dim=4_001) as wide:
        if ctx.engine.store.dim_max is None:
            assert models.use(ctx, choose("words", wide.url)).waiting == 0
            assert ctx.engine.embedder.dim == 4_001
            return
        with pytest.raises(Unavailable) as raised:
            models.use(ctx, choose("words", wide.url))
        assert "4001" in str(raised.value)
        assert ctx.engine.embedder.dim == 384


def test_a_new_database_takes_the_model_of_the_environment_and_keeps_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Another one later is said, once, and not used."""
    first = Settings(data_dir=tmp_path, embed_model="minilm")
    app = composition.App(first)
    assert app.embedder.model_id == MINILM.model_id
    app.close()
    caplog.set_level(logging.WARNING)
    app = composition.App(replace(first, embed_model="bge-small"))
    assert app.embedder.model_id == MINILM.model_id
    app.close()
    (said,) = [record.getMessage() for record in caplog.records]
    assert "say bge-small, this database uses minilm" in said
    with pytest.raises(Invalid):
        composition.App(Settings(data_dir=tmp_path / "new", embed_model="nonsense"))
    assert not (tmp_path / "new").exists()


def test_a_database_without_the_setting_has_the_packaged_model(ctx: Context) -> None:
    """As those that were made before there was a choice; a choice of a newer program is refused."""
    store = ctx.engine.store
    with store.writing() as tx:
        facts.drop(tx, models.SETTING)
    with store.reading() as tx:
        assert models.current(tx) == Choice()
    for odd in ('{"name": "future"}', "x", "[]", '{"name": 3}'):
        with store.writing() as tx:
            facts.put(tx, models.SETTING, odd)
        with pytest.raises(Conflict), store.reading() as tx:
            models.current(tx)
