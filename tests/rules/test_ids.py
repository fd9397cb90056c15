"""Ids: order and shape of UUIDs, references, hashes, and agreement with the real Git."""

from __future__ import annotations

import hashlib
import os
import subprocess
import threading
import uuid
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.errors import Invalid
from engram.model import Actor
from engram.rules import ids

if TYPE_CHECKING:
    from pathlib import Path

UUID = "01890a5d-ac96-774b-bcce-b302099a8057"
property_test = settings(deadline=None, max_examples=100)
git_test = settings(deadline=None, max_examples=15)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


def git(folder: Path, *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> str:
    clean = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, input=stdin, capture_output=True, check=True, env={**clean, **(env or {})}
    )
    return done.stdout.decode().strip()


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that real objects can be written to."""
    folder = tmp_path_factory.mktemp("objects")
    git(folder, "init", "-q", ".")
    return folder


@property_test
@given(st.lists(st.integers(0, 2**48 - 2), min_size=2, max_size=30))
def test_ids_only_rise_whatever_the_clock_does(clock: list[int]) -> None:
    """A clock that stands still or goes back gives no smaller and no equal id."""
    make = ids.Uuid7()
    made = [make(now) for now in clock]
    assert made == sorted(set(made))


@property_test
@given(st.integers(0, 2**48 - 1), st.binary(min_size=10, max_size=10))
def test_an_id_has_the_layout_of_version_7(now: int, noise: bytes) -> None:
    """The first 48 bits are the time; version and variant stand where RFC 9562 puts them."""
    made = uuid.UUID(ids.Uuid7()(now, random_bytes=lambda _: noise))
    assert (made.version, made.variant, made.int >> 80) == (7, uuid.RFC_4122, now)


def test_the_random_bits_are_all_used() -> None:
    """Two ids of fresh makers differ in nothing but 74 bits, the least and the greatest of them."""
    low = ids.Uuid7()(0, random_bytes=lambda _: bytes(10))
    high = ids.Uuid7()(0, random_bytes=lambda _: b"\xff" * 10)
    assert (low, high) == ("00000000-0000-7000-8000-000000000000", "00000000-0000-7fff-bfff-ffffffffffff")


def test_a_full_millisecond_goes_on_in_the_next() -> None:
    """Where no greater random part is left, the time part rises, so that order holds."""
    make = ids.Uuid7()
    first, second = (make(5, random_bytes=lambda _: b"\xff" * 10) for _ in range(2))
    assert second > first
    assert uuid.UUID(second).int >> 80 == 6


@pytest.mark.parametrize("now", [-1, 2**48])
def test_a_time_beyond_48_bits_is_refused(now: int) -> None:
    """The layout has no room for it."""
    with pytest.raises(ValueError, match="now_ms"):
        ids.uuid7(now)


def test_threads_never_get_the_same_id() -> None:
    """Four threads that ask at the same millisecond get different ids, each its own in order."""
    made: list[list[str]] = [[] for _ in range(4)]

    def fill(mine: list[str]) -> None:
        mine.extend(ids.uuid7(1_000) for _ in range(500))

    threads = [threading.Thread(target=fill, args=(mine,)) for mine in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({one for mine in made for one in mine}) == 2_000
    assert all(mine == sorted(mine) for mine in made)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("12", ids.Ref(number=12)),
        (" #12\n", ids.Ref(number=12)),
        ("#12@Team notes", ids.Ref(number=12, library="Team notes")),
        ("#1@a@b", ids.Ref(number=1, library="a@b")),
        ("9223372036854775807", ids.Ref(number=2**63 - 1)),
        (UUID, ids.Ref(uuid=UUID)),
        (UUID.upper(), ids.Ref(uuid=UUID)),
        ("{" + UUID + "}", ids.Ref(uuid=UUID)),
    ],
)
def test_a_reference_is_read_in_each_of_its_forms(text: str, wanted: ids.Ref) -> None:
    """Number, number in a library, UUID."""
    assert ids.parse_ref(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#",
        "0",
        "#0",
        "-1",
        "1.5",
        "12 13",
        "#12@",
        "#12@a/b",
        "#12@ ",
        "9223372036854775808",
        "9" * 5_000,
        "twelve",
        "٣",
        "१२",
        UUID[:-1],
        UUID.replace("-", ""),
        "{" + UUID,
        UUID + "0",
        f"#{UUID}",
        "#12@a\0b",
    ],
)
def test_anything_else_is_no_reference(text: str) -> None:
    """What could mean two things, or nothing, is refused."""
    with pytest.raises(Invalid):
        ids.parse_ref(text)


@property_test
@given(texts)
def test_reading_a_reference_gives_one_or_says_invalid(text: str) -> None:
    """No text makes it fail in another way, and what it gives names exactly one thing."""
    try:
        ref = ids.parse_ref(text)
    except Invalid:
        return
    assert (ref.uuid is None) != (ref.number is None)


def test_the_content_hash_is_that_of_the_text_as_it_is() -> None:
    """One changed line end is another hash."""
    assert ids.content_hash("a\r\n") == hashlib.sha256(b"a\r\n").hexdigest()


@pytest.mark.parametrize(
    "body", ["use  Spaces", " use\n\tspaces ", "USE SPACES", "ｕｓｅ\u3000ｓｐａｃｅｓ", "use\u00a0spaces"]
)
def test_what_reads_the_same_has_the_same_hash(body: str) -> None:
    """White space, case and compatibility forms do not count."""
    assert ids.same_hash(body) == ids.same_hash("use spaces")


@pytest.mark.parametrize("body", ["use-spaces", "usespaces", "use spaces.", "üse spaces"])
def test_what_reads_otherwise_has_another_hash(body: str) -> None:
    """Punctuation, accents and the place of spaces count."""
    assert ids.same_hash(body) != ids.same_hash("use spaces")


@git_test
@given(data=st.binary(max_size=300))
def test_blobs_have_git_s_ids(repository: Path, data: bytes) -> None:
    """`git hash-object` says the same."""
    assert ids.blob_id(data) == git(repository, "hash-object", "--stdin", stdin=data)


@git_test
@given(names=st.sets(st.text("abcé.-", min_size=1, max_size=6).filter(lambda name: name.strip(".")), max_size=5))
def test_trees_have_git_s_ids(repository: Path, names: set[str]) -> None:
    """`git mktree` says the same, in whatever order the files are given."""
    blob = git(repository, "hash-object", "-w", "--stdin", stdin=b"x")
    listing = "".join(f"100644 blob {blob}\t{name}\0" for name in names)
    assert ids.tree_id([(name, blob) for name in names]) == git(repository, "mktree", "-z", stdin=listing.encode())


awkward = st.text("aé 好.,:;<>\"'\\\n\t", max_size=12)


@git_test
@given(name=awkward, email=awkward, second=st.integers(0, 2**32), message=texts.filter(bool), has_parent=st.booleans())
def test_commits_have_git_s_ids(
    repository: Path,
    name: str,
    email: str,
    second: int,
    message: str,
    has_parent: bool,  # noqa: FBT001 - drawn
) -> None:
    """`git commit-tree` says the same, whatever stands in names, addresses and messages."""
    name, email = f"x{name}", f"x{email}"  # Git refuses an empty one; what we do then is tested below
    tree = git(repository, "mktree")
    who = {"NAME": name, "EMAIL": email, "DATE": f"@{second} +0000"}
    env = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    parent = git(repository, "commit-tree", tree, stdin=b"parent", env=env) if has_parent else None
    made = git(repository, "commit-tree", tree, *(["-p", parent] if parent else []), stdin=message.encode(), env=env)
    ours = ids.commit_id(tree=tree, parent=parent, author=name, email=email, at_ms=second * 1000 + 999, message=message)
    assert ours == made


def actor(name: str, email: str = "") -> Actor:
    return Actor(id=UUID, name=name, email=email, created_at=0)


@pytest.mark.parametrize(
    ("who", "name", "email"),
    [
        (actor("Ana", "ana@example.org"), "Ana", "ana@example.org"),
        (actor("Ana"), "Ana", f"{UUID}@engram"),
        (actor(" <.> "), f"{UUID}@engram", f"{UUID}@engram"),
    ],
)
@pytest.mark.parametrize("body_format", sorted(ids.SUFFIXES))
def test_a_version_is_the_commit_that_git_would_make(
    repository: Path, who: Actor, name: str, email: str, body_format: str
) -> None:
    """A tree of one file, a parent, whole seconds at +0000, and never a time before the parent's."""
    message = "update: Größe\u2028 of things"
    parent = ids.version_commit(
        UUID, body_format=body_format, body="one\r\n", author=who, at_ms=5_999, message="add: x", parent=None
    )
    ours = ids.version_commit(
        UUID, body_format=body_format, body="two", author=who, at_ms=1_000, message=message, parent=parent
    )
    shas: list[str] = []
    env = {f"GIT_{r}_{k}": v for r in ("AUTHOR", "COMMITTER") for k, v in (("NAME", name), ("EMAIL", email))}
    env |= {"GIT_AUTHOR_DATE": "@5 +0000", "GIT_COMMITTER_DATE": "@5 +0000"}
    for body, line in ((b"one\r\n", "add: x"), (b"two", message)):
        blob = git(repository, "hash-object", "-w", "--stdin", stdin=body)
        entry = f"100644 blob {blob}\t{ids.file_name(UUID, body_format)}\n"
        tree = git(repository, "mktree", stdin=entry.encode())
        parents = ["-p", shas[-1]] if shas else []
        shas.append(git(repository, "commit-tree", tree, *parents, "-m", line, env=env))
    assert ([parent.sha, ours.sha], ours.at_ms) == (shas, 5_999)


def test_a_format_without_a_file_name_is_refused() -> None:
    """Only the four formats have one."""
    with pytest.raises(Invalid):
        ids.file_name(UUID, "pdf")
