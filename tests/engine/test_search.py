"""Search: by meaning, by words of any script, inside its project, with nothing for nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from conftest import Clock
from engram.embed import PackagedEmbedder
from engram.engine import lifecycle, memories, search, worker
from engram.engine.context import Context
from engram.engine.memories import Saved, Where
from engram.model import Draft


def save(ctx: Context, title: str, body: str, *, kind: str = "manual", topic: str = "", **where: str) -> Saved:
    """Save a memory."""
    return memories.remember(ctx, Draft(title=title, body=body, kind=kind, topic_key=topic), Where(**where))


def titles(found: search.Found) -> list[str]:
    """Titles of the hits, in order."""
    return [hit.memory.title for hit in found.hits]


def test_a_note_is_found_in_other_words(ctx: Context) -> None:
    """The words of the question, not those of the note."""
    save(ctx, "SameSite cookies", "Set SameSite=Lax: Safari drops SameSite=None cookies that lack Secure")
    save(ctx, "Pool size", "PostgreSQL pool has 6 connections")
    save(ctx, "Fonts", "Headings use Inter, body text Source Serif")
    assert titles(search.search(ctx, "why do logins break on Safari"))[:1] == ["SameSite cookies"]
    assert titles(search.search(ctx, "what typeface do we use"))[:1] == ["Fonts"]


def test_nothing_relevant_is_nothing(ctx: Context) -> None:
    """A question that no memory answers gets an empty list, in an empty store and in a full one."""
    assert search.search(ctx, "kubernetes ingress").hits == ()
    for i, text in enumerate(("We deploy with Ansible", "Logs go to Loki", "The API is versioned by header")):
        save(ctx, f"Note {i}", text)
    for question in ("how do I bake sourdough bread", "capital of Mongolia", "xyzzy plugh"):
        assert search.search(ctx, question).hits == ()


def test_words_of_any_script_are_found(ctx: Context) -> None:
    """Chinese by one and two characters, glued to Latin; Thai, Korean, Hindi, Russian, Arabic; accents or none."""
    notes = {
        "使用Redis缓存数据库查询结果": ("库", "缓存", "数据库", "redis"),
        "ระบบชำระเงินล่ม": ("ชำระเงิน",),
        "결제 서버를 다시 시작": ("결제", "서버"),
        "सर्वर की भाषा बदली": ("भाषा",),
        "Сервер перезапускали дважды": ("сервера", "СЕРВЕР"),
        "خادم الدفع متوقف": ("خادم",),
        "Le café est fermé": ("cafe", "CAFÉ"),
    }
    for body in notes:
        save(ctx, f"t{len(body)}", body)
    for body, questions in notes.items():
        for question in questions:
            assert body in [hit.memory.body for hit in search.search(ctx, question).hits], question


def test_identifiers_are_found_whole_and_by_their_parts(ctx: Context) -> None:
    """camelCase, snake_case, paths, versions, signs."""
    save(ctx, "Lookup", "getUserName() in src/middleware/auth.ts calls snake_case_name, needs Python 3.11.7")
    save(ctx, "Language", "The engine is written in C++ with an N+1 query")
    for question in ("getUserName", "getusername", "user name lookup", "auth.ts", "snake_case_name", "3.11.7", "3.11"):
        assert titles(search.search(ctx, question))[:1] == ["Lookup"], question
    for question in ("C++", "N+1"):
        assert titles(search.search(ctx, question))[:1] == ["Language"], question


def test_a_long_question_is_no_conjunction(ctx: Context) -> None:
    """Not every word must match."""
    save(ctx, "Retry policy", "Payments are retried three times with exponential backoff")
    question = (
        "could you tell me what exactly happens in our system whenever a payment fails and how often it is retried"
    )
    assert titles(search.search(ctx, question)) == ["Retry policy"]


def test_no_other_project_leaks_in(ctx: Context) -> None:
    """A canary of another project is in no answer of this one, by words, by meaning, by topic key or listing."""
    save(ctx, "Canary", "The canary password rotation runs nightly", project="secret", topic="ops/canary")
    save(ctx, "Rotation", "Our password rotation is weekly", project="shop")
    found = search.search(ctx, "password rotation", project="shop")
    assert titles(found) == ["Rotation"]
    assert not search.search(ctx, "ops/canary", project="shop").hits
    assert not found.is_elsewhere


def test_other_projects_answer_only_where_this_one_does_not(ctx: Context) -> None:
    """The fallback is said, and can be switched off."""
    save(ctx, "Rotation", "Password rotation runs every night at two", project="ops")
    found = search.search(ctx, "when does the password rotation run")
    assert (titles(found), found.is_elsewhere, found.hits[0].project) == (["Rotation"], True, "ops")
    save(ctx, "Own", "Password rotation runs at noon here")
    own = search.search(ctx, "when does the password rotation run")
    assert (titles(own), own.is_elsewhere) == (["Own"], False)
    ctx.engine.settings = replace(ctx.engine.settings, other_projects=False)
    assert not search.search(ctx, "quarterly audit of nothing").hits
    assert not search.search(ctx, "Rotation runs every night", project="nowhere").hits


def test_all_projects_on_request(ctx: Context) -> None:
    """`*` covers them all."""
    save(ctx, "A", "the cache is flushed hourly", project="one")
    save(ctx, "B", "the cache is flushed daily", project="two")
    assert set(titles(search.search(ctx, "how often is the cache flushed", project="*"))) == {"A", "B"}


def test_personal_memories_are_found_in_every_project(ctx: Context) -> None:
    """They belong to the person; their own project filters only together with scope=personal."""
    save(ctx, "Tabs", "I prefer tabs over spaces", scope="personal", project="one")
    assert titles(search.search(ctx, "tabs or spaces", project="two")) == ["Tabs"]
    assert titles(search.search(ctx, "tabs or spaces", scope="personal")) == ["Tabs"]
    assert titles(search.search(ctx, "tabs or spaces", scope="personal", project="one")) == ["Tabs"]
    assert titles(search.search(ctx, "tabs or spaces", scope="personal", project="two")) == []
    assert titles(search.search(ctx, "tabs or spaces", scope="project", project="one")) == []


def test_a_type_filters_by_kind_and_by_memory_type(ctx: Context) -> None:
    """decision is a kind, semantic the memory type of decisions."""
    save(ctx, "D", "We chose Redis for caching", kind="decision")
    save(ctx, "B", "Redis caching bug fixed", kind="bugfix")
    assert titles(search.search(ctx, "redis caching", type_="decision")) == ["D"]
    assert titles(search.search(ctx, "redis caching", type_="semantic")) == ["D"]
    assert titles(search.search(ctx, "redis caching", type_="episodic")) == ["B"]


def test_the_newer_of_two_equal_notes_comes_first(ctx: Context, clock: Clock) -> None:
    """Age breaks ties: a store full of old matches does not hide yesterday's."""
    for i in range(30):
        save(ctx, "Deploy", f"deploy failed because of a missing migration {i}")
        clock.forward(days=20)
    found = search.search(ctx, "why did the deploy fail: missing migration", limit=20)
    assert found.hits[0].memory.number > 25
    assert [hit.memory.number for hit in found.hits] == sorted((hit.memory.number for hit in found.hits), reverse=True)


def test_a_title_weighs_more_than_a_mention(ctx: Context) -> None:
    """A word in the title is what the memory is about."""
    save(ctx, "Webhooks", "They are retried for three days")
    save(ctx, "Meeting", "We talked about hiring, offices, snacks, travel and briefly about webhooks and the roadmap")
    assert titles(search.search(ctx, "webhooks"))[0] == "Webhooks"


def test_a_name_alone_finds_its_memory_first(ctx: Context) -> None:
    """#n, a UUID, a topic key."""
    first = save(ctx, "Auth", "JWT", topic="decision/auth")
    save(ctx, "Other", "decision about auth and #1")
    for name in ("#1", first.memory.id, "decision/auth", "Decision/Auth"):
        assert titles(search.search(ctx, name))[0] == "Auth"
    lifecycle.delete(ctx, "1")
    assert "Auth" not in titles(search.search(ctx, "#1"))


def test_text_beyond_the_models_window_is_found(ctx: Context) -> None:
    """Long bodies are cut into chunks; the last words count as much as the first."""
    filler = "The weekly report lists open tickets and their owners. " * 400
    save(ctx, "Report", f"{filler}\n\nThe launch code of the greenhouse door is kept by Ottoline.")
    found = search.search(ctx, "who keeps the code for the greenhouse door")
    assert titles(found) == ["Report"]
    assert "Ottoline" in found.hits[0].preview


def test_without_the_model_words_still_find_and_the_answer_says_so(ctx: Context, tmp_path: Path) -> None:
    """A missing model is no failed save and no failed search."""
    ctx.engine.embedder = Broken(tmp_path)
    save(ctx, "Pool", "PostgreSQL pool has six connections")
    found = search.search(ctx, "postgresql pool connections")
    assert titles(found) == ["Pool"]
    assert any("words alone" in note for note in found.notes)


class Broken(PackagedEmbedder):
    """The packaged embedder with its vocabulary, whose model file is gone."""

    def can_read(self, text: str) -> bool:
        """As the whole one, by the packaged vocabulary."""
        return PackagedEmbedder().can_read(text)


def test_vectors_that_are_missing_are_made_by_the_search_and_stored_by_the_worker(ctx: Context) -> None:
    """A note is found by meaning at once, and its vector is there after the worker's round."""
    saved = save(ctx, "Cookies", "Safari drops cookies without Secure")
    assert titles(search.search(ctx, "Apple browser forgets my login")) == ["Cookies"]
    with ctx.engine.store.reading() as tx:
        assert tx.value("select count(*) from pending") == 1  # a read is a read
    worked = worker.Worker(ctx.engine)
    ctx.engine.worker = worked
    search.search(ctx, "Apple browser forgets my login")
    assert worked.finish(20.0)
    worked.stop()
    with ctx.engine.store.reading() as tx:
        assert tx.value("select count(*) from pending") == 0
        assert tx.value("select count(*) from chunk_vector") == 1
    assert titles(search.search(ctx, "Apple browser forgets my login")) == ["Cookies"]
    lifecycle.delete(ctx, saved.memory.id, is_hard=True)
    with ctx.engine.store.reading() as tx:
        assert tx.value("select count(*) from chunk_vector") == 0
    assert titles(search.search(ctx, "Apple browser forgets my login")) == []


def test_text_that_spells_another_projects_place_does_not_leak_into_it(ctx: Context) -> None:
    """A body that names the other namespace as the index does is still of its own project alone."""
    there = save(ctx, "Zoo", "the zebra sleeps", project="zoo").memory
    save(ctx, "Forged", f"zebra n:{there.namespace_id} s:project", project="shop")
    assert titles(search.search(ctx, "zebra", project="zoo")) == ["Zoo"]
