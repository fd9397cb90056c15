"""A model behind a URL: a real server, its faults, and what is never shown."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from email.utils import formatdate

import numpy as np
import pytest

import embeddings
from embeddings import Fault, Server, body, raw, serving, status
from engram.embed import Refused, catalogue, remote
from engram.embed.calibrate import texts
from engram.embed.catalogue import choose
from engram.embed.remote import Measured, Patience, RemoteEmbedder
from engram.errors import Invalid, Unavailable

KEY = "sk-very-secret-key"
MADE: list[RemoteEmbedder] = []


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that answers well, unless a test says otherwise."""
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def close_connections() -> Iterator[None]:
    """Of every embedder that a test made."""
    yield
    while MADE:
        MADE.pop().drop()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits as in real life, a tenth as long."""
    monkeypatch.setattr(remote, "BACKOFF_S", 0.02)
    monkeypatch.setattr(remote, "QUIET_S", 0.05)
    monkeypatch.setattr(remote, "QUESTION", Patience(tries=2, seconds=0.5))
    monkeypatch.setattr(remote, "WORK", Patience(tries=4, seconds=3.0))


def embedder(server: Server, *, known: bool = True, kept: list[Measured] | None = None) -> RemoteEmbedder:
    """An embedder of this server; measured before, unless said otherwise."""
    measured = Measured(server.dim, remote.UNKNOWN_CURVE) if known else None

    def keep(found: Measured) -> Measured:
        if kept is not None:
            kept.append(found)
        return found

    made = catalogue.make(choose("words", server.url), key=KEY, known=measured, keep=keep)
    assert isinstance(made, RemoteEmbedder)
    MADE.append(made)
    return made


def test_a_vector_has_length_one_whatever_the_server_sends(server: Server) -> None:
    """Passages and questions alike; the model's name and the key are sent."""
    found = embedder(server)
    for vector in (found.embed_passage("a red car"), found.embed_query("a red car")):
        assert vector.shape == (32,)
        assert vector.dtype == np.float32
        assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-6)
    assert float(found.embed_passage("a red automobile") @ found.embed_query("a red car")) > 0.99
    assert set(server.models) == {"words"}
    assert set(server.keys) == {f"Bearer {KEY}"}


def test_the_first_text_is_preceded_by_the_shipped_pairs_once(server: Server) -> None:
    """Dimension and curve are measured, told once, and right for answers in any order."""
    kept: list[Measured] = []
    found = embedder(server, known=False, kept=kept)
    assert (found.dim, found.is_loaded, server.asked) == (0, False, [])
    found.embed_query("tea")
    found.embed_passage("coffee")
    assert [text for batch in server.asked for text in batch] == [*texts(), "tea", "coffee"]
    assert [measured.dim for measured in kept] == [32]
    assert found.curve == kept[0].curve
    assert found.curve.version != remote.UNKNOWN_CURVE.version
    assert catalogue.measured_from(catalogue.measured_text(kept[0])) == kept[0]


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_passing_fault_is_waited_for(server: Server, code: int) -> None:
    """The caller sees nothing of it."""
    server.faults = [status(code), status(code)]
    assert len(embedder(server).embed_passage("tea")) == 32
    assert len(server.asked) == 3


def test_retry_after_is_honoured_where_there_is_time_and_handed_on_where_not(server: Server) -> None:
    """Seconds that fit are waited; a minute is told to the caller at once."""
    server.faults = [status(429, Retry_After="0.3")]
    began = time.monotonic()
    embedder(server).embed_passage("tea")
    assert 0.3 <= time.monotonic() - began < 2
    server.faults = [status(429, Retry_After="60")]
    with pytest.raises(Unavailable) as raised:
        embedder(server).embed_passage("tea")
    assert raised.value.retry_after == 60
    assert len(server.asked) == 3


def test_tries_are_bounded(server: Server) -> None:
    """Four for work, two while somebody waits; then nobody is kept waiting for a while."""
    server.always = status(503)
    for ask, tries in ((RemoteEmbedder.embed_passage, 4), (RemoteEmbedder.embed_query, 2)):
        server.asked.clear()
        found = embedder(server)
        with pytest.raises(Unavailable):
            ask(found, "tea")
        assert len(server.asked) == tries
        with pytest.raises(Unavailable):
            ask(found, "tea")
        assert len(server.asked) == tries
    server.always = None
    time.sleep(remote.QUIET_S)
    assert len(found.embed_query("tea")) == 32


def test_a_slow_server_holds_up_no_search(server: Server) -> None:
    """The question's time is up after its limit, headers late or body dripping."""
    server.always = embeddings.slow(1.0)
    began = time.monotonic()
    with pytest.raises(Unavailable):
        embedder(server).embed_query("tea")
    assert time.monotonic() - began < 0.9


@pytest.mark.parametrize("code", [401, 403, 404, 410])
def test_a_fault_that_stays_is_not_tried_again(server: Server, code: int) -> None:
    """One request, and a hint."""
    server.always = status(code)
    with pytest.raises(Unavailable) as raised:
        embedder(server).embed_passage("tea")
    assert raised.value.hint
    assert len(server.asked) == 1


def test_a_text_that_is_refused_holds_up_no_other(server: Server) -> None:
    """Too long for this server: that text alone. A server that takes nothing is unavailable."""
    server.faults = [status(400)]
    with pytest.raises(Refused):
        embedder(server).embed_passage("word " * 50)
    assert len(server.asked) == 2
    server.always = status(400)
    with pytest.raises(Unavailable) as raised:
        embedder(server).embed_passage("word " * 50)
    assert not isinstance(raised.value, Refused)


def vectors(*rows: object, **more: object) -> Fault:
    """An answer with these embeddings."""
    return lambda _, __: body({"data": [{"embedding": row, **more} for row in rows]})


GARBAGE: dict[str, Fault] = {
    "no json": raw(b"<html>hello"),
    "not utf-8": raw(b"\xff\xfe"),
    "a list": raw(b"[]"),
    "null": raw(b"null"),
    "no data": raw(b"{}"),
    "data of another kind": raw(b'{"data": 3}'),
    "items of another kind": raw(b'{"data": [3]}'),
    "no embedding": raw(b'{"data": [{}]}'),
    "nothing": raw(b""),
    "deep": raw(b"[" * 100_000),
    "too many": vectors([1.0] * 32, [1.0] * 32),
    "too few": vectors(),
    "text": vectors("abc"),
    "texts": vectors(["a"] * 32),
    "empty": vectors([]),
    "nested": vectors([[1.0] * 32]),
    "zero": vectors([0.0] * 32),
    "not a number": raw(b'{"data": [{"embedding": [' + b"NaN," * 31 + b"1]}]}"),
    "infinite": raw(b'{"data": [{"embedding": [' + b"1e999," * 31 + b"1]}]}"),
    "a huge whole number": raw(b'{"data": [{"embedding": [' + b"1," * 31 + b"1" + b"0" * 400 + b"]}]}"),
    "null among numbers": vectors([None] + [1.0] * 31),
    "another dimension": vectors([1.0] * 31),
    "another index": vectors([1.0] * 32, index=7),
    "an index of another kind": vectors([1.0] * 32, index="x"),
}


@pytest.mark.parametrize("fault", GARBAGE.values(), ids=GARBAGE)
def test_an_answer_of_another_shape_is_unavailable(server: Server, fault: Fault) -> None:
    """Never a vector of garbage, never an internal error."""
    server.always = fault
    with pytest.raises(Unavailable) as raised:
        embedder(server).embed_passage("tea")
    assert raised.value.hint


def test_nobody_there_is_unavailable() -> None:
    """A port where nothing listens."""
    with serving() as running:
        pass
    with pytest.raises(Unavailable):
        embedder(running).embed_query("tea")


@pytest.mark.parametrize("code", [401, 400, 503])
def test_the_key_and_the_answer_are_in_no_error_log_or_repr(
    server: Server, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Of the URL scheme and host are shown."""
    caplog.set_level(logging.INFO)
    server.always = status(code)
    found = embedder(server)
    with pytest.raises(Unavailable) as raised:
        found.embed_passage("private words")
    shown = repr(found) + raised.value.line() + repr(raised.value) + caplog.text + repr(choose("words", server.url))
    for hidden in (KEY, "secret-in-the-answer", "private words"):
        assert hidden not in shown
    assert "/v1" not in raised.value.line()
    assert server.url.removesuffix("/v1") in raised.value.line()


@pytest.mark.parametrize(("text", "is_readable"), [("tea", True), ("茶", True), ("12:30 --", False), ("", False)])
def test_it_reads_whatever_has_a_letter(server: Server, text: str, *, is_readable: bool) -> None:
    """What scripts a model knows is not told."""
    assert embedder(server).can_read(text) is is_readable


def test_dropped_connections_are_opened_again(server: Server) -> None:
    """By the next text; what was measured stays."""
    found = embedder(server)
    found.embed_passage("tea")
    found.drop()
    found.drop()
    assert found.is_loaded
    assert len(found.embed_passage("tea")) == 32


@pytest.mark.parametrize(
    "url",
    [
        "ftp://h/v1", "localhost:11434/v1", "http://", "http:///v1", "https://user:pw@h/v1", "http://h/v1?key=x", "http://h/#x",
        "http://h:99999/v1", "http://h:x/v1", "http://[::1/v1", "http://h /v1", "http://h/\n",
    ],
)  # fmt: skip
def test_a_url_that_can_not_be_used_is_refused(url: str) -> None:
    """What may hold a secret too, as the database keeps it; it is not echoed."""
    with pytest.raises(Invalid) as raised:
        choose("words", url)
    assert "pw" not in raised.value.line()


def test_the_same_name_elsewhere_is_another_model() -> None:
    """Vectors of two servers are not compared; a slash at the end is no other server."""
    ids = {choose("words", url).model_id for url in ("http://a/v1", "http://a/v1/", "http://b/v1", "http://a/v2")}
    assert len(ids) == 3
    assert catalogue.from_text(choose("words", "http://a/v1").as_text()) == choose("words", "http://a/v1/")
    assert json.loads(choose("words", "http://a/v1").as_text()) == {"name": "words", "url": "http://a/v1"}


@pytest.mark.parametrize(
    ("header", "at_least", "at_most"),
    [("3", 3, 3), ("0.5", 0.5, 0.5), ("-1", 0, 0), ("", 0, 0), ("soon", 0, 0), ("nan", 0, 0), ("inf", 0, 0), ("1e9", 3600, 3600)],
)  # fmt: skip
def test_a_retry_after_is_read(header: str, at_least: float, at_most: float) -> None:
    """Seconds, within reason."""
    assert at_least <= remote._seconds(header) <= at_most


def test_a_retry_after_may_be_a_date() -> None:
    """Until then; one that is past is no wait."""
    assert 25 < remote._seconds(formatdate(time.time() + 30, usegmt=True)) <= 30
    assert remote._seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0


def test_a_model_that_the_database_can_not_take_is_not_measured_again_and_again(server: Server) -> None:
    """Who asks for the next text is told at once."""

    def refuse(_: Measured) -> Measured:
        raise Unavailable("too many dimensions", retry_after=3_600)

    found = RemoteEmbedder(remote.as_address(server.url, "words", ""), model_id="words", known=None, keep=refuse)
    MADE.append(found)
    for _ in range(3):
        with pytest.raises(Unavailable, match="too many dimensions"):
            found.embed_query("tea")
    assert sum(map(len, server.asked)) == len(texts())
