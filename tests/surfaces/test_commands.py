"""Every command: run for real with and without --json, its errors and exit statuses, its help, its terminal."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from engram.surfaces import agents, assistants, cli, commands, console, doctor, projects, upkeep

assert agents.call
assert assistants.recall
assert commands.save
assert doctor.doctor
assert projects.merge
assert upkeep.compact


def every_command() -> Iterator[tuple[str, ...]]:
    """The name of each command, from the parser, so that a new one is met by all tests here."""
    for name in console.parser:
        if name.startswith("-"):
            continue
        inner = [word for word in console.parser[name] if not word.startswith("-")]
        yield from ((name, word) for word in inner) if inner else [(name,)]


COMMANDS = sorted(every_command())


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    status: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of the commands that are run here; nothing is there yet."""
    folder = tmp_path / "data"
    work = tmp_path / "shop"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("ENGRAM_DATA_DIR", str(folder))
    monkeypatch.setenv("COLUMNS", "100")
    return folder


@pytest.fixture
def run(data: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in this process, with its real database."""
    assert not data.exists()

    def act(*arguments: str, stdin: str = "") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
        capfd.readouterr()
        status = cli.run(list(arguments))
        found = capfd.readouterr()
        return Ran(status, found.out, found.err)

    return act


@pytest.fixture
def filled(run: Run) -> Run:
    """Three memories in the project ``shop``, the third deleted, the first with two versions."""
    for title, text in (("Pool size", "Six connections"), ("Cookies", "Safari drops SameSite"), ("Gone", "deleted")):
        assert run("save", title, text, "--topic-key", f"t/{title}").status == 0
    assert run("update", "1", "--content", "Eight connections").status == 0
    assert run("delete", "3").status == 0
    assert run("save", "Elsewhere", "another place", "--project", "old").status == 0
    return run


def sha_of(run: Run) -> str:
    """The first version of memory 1."""
    return json.loads(run("get", "1", "--history", "--json").out)["versions"][-1]["commit_sha"]


# Command -> its arguments, what its text says, a key that its JSON has (empty: it prints no data).
EXAMPLES: dict[tuple[str, ...], tuple[tuple[str, ...], str, str]] = {
    ("save",): (("A", "text"), "Memory saved", "number"),
    ("search",): (("how many connections",), "Pool size", "hits"),
    ("get",): (("1",), "Eight connections", "text"),
    ("update",): (("2", "--title", "Safari"), "Memory updated", "number"),
    ("context",): ((), "Memory context", "memories"),
    ("timeline",): (("1",), "Timeline around #1", "focus"),
    ("stats",): ((), "Observations: 3", "observations"),
    ("delete",): (("2",), "Memory #2 deleted", "what"),
    ("erase",): (("2", "--yes"), "permanently deleted", "what"),
    ("restore",): (("3",), "Memory restored", "number"),
    ("call",): (("mem_stats",), "Memory stats", "observations"),
    ("completion",): (("bash",), "complete", ""),
    ("mcp",): ((), "", ""),
    ("project", "list"): ((), "Personal/shop", "projects"),
    ("project", "merge"): (("old", "shop"), "merged into shop", "merge_id"),
    ("project", "unmerge"): (("shop",), "taken out of", "merge_id"),
    ("recall",): (("how many connections are there",), "[NEURAL MEMORY CONTEXT]", "context"),
    ("contradictions",): ((), "No open contradictions", "contradictions"),
    ("tags",): ((), "None", "tags"),
    ("sweep",): (("--dry-run",), "Dry run: would archive 0 memories", "archivedIds"),
    ("policy",): ((), "halfLifeDays: 7", "policy"),
    ("reembed",): ((), "Re-embedded", "processed"),
    ("index",): ((), "have a vector of bge-small", "currentModel"),
    ("compact",): ((), "bytes before", "before"),
    ("doctor",): ((), "ok   integrity", "checks"),
    ("migrate",): ((), "0 migrations ran", "version"),
    ("user", "add"): (("Ada",), "Token, shown this once", "token"),
    ("model", "list"): ((), "* bge-small", "models"),
    ("model", "use"): (("bge-small",), "Model bge-small", "model"),
}


def test_every_command_has_an_example() -> None:
    """A new command is run here before anyone writes a test for it."""
    assert set(EXAMPLES) == set(COMMANDS)


SERVED = ("mcp",)  # run in tests/surfaces/test_session.py


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != SERVED], ids=" ".join)
def test_a_command_prints_text(command: tuple[str, ...], filled: Run) -> None:
    """For a person; exit status 0 and nothing on standard error."""
    arguments, says, _ = EXAMPLES[command]
    if command == ("project", "unmerge"):
        filled("project", "merge", "old", "shop")
    done = filled(*command, *arguments)
    assert (done.status, done.err) == (0, "")
    assert says in done.out
    assert "\x1b" not in done.out


@pytest.mark.parametrize("command", [name for name in COMMANDS if EXAMPLES[name][2]], ids=" ".join)
def test_a_command_prints_values_as_json(command: tuple[str, ...], filled: Run) -> None:
    """For a program: one line, an object with its own fields and never the text for a person."""
    arguments, _, key = EXAMPLES[command]
    if command == ("project", "unmerge"):
        filled("project", "merge", "old", "shop")
    done = filled(*command, *arguments, "--json")
    assert (done.status, done.err, done.out.count("\n")) == (0, "", 1)
    value = json.loads(done.out)
    assert key in value
    assert set(value) != {"text"}


ERRORS = [
    (("get", "77"), "not_found", 4),
    (("delete", "77"), "not_found", 4),
    (("erase", "77", "--yes"), "not_found", 4),
    (("erase", "1"), "invalid", 2),  # nobody can be asked
    (("restore", "1"), "conflict", 5),
    (("restore", "77"), "not_found", 4),
    (("update", "1"), "invalid", 2),
    (("update", "77", "--title", "x"), "not_found", 4),
    (("timeline", "77"), "not_found", 4),
    (("save",), "invalid", 2),
    (("save", "x" * 501, "text"), "invalid", 2),
    (("save", "T", "text", "--file", "x"), "invalid", 2),
    (("save", "--file", "not-there.md"), "invalid", 2),
    (("search", "x", "--limit", "0"), "invalid", 2),
    (("search", "x", "--limit", "many"), "invalid", 2),
    (("search", "x", "--all", "--project", "p"), "invalid", 2),
    (("search", "x", "--scope", "world"), "invalid", 2),
    (("search",), "invalid", 2),
    (("get", "1", "--version", "xyz"), "invalid", 2),
    (("context", "--limit", "0"), "invalid", 2),
    (("call", "mem_nothing"), "invalid", 2),
    (("call", "mem_search", "query"), "invalid", 2),
    (("call", "mem_search", "query=a", "query=b"), "invalid", 2),
    (("project", "merge", "shop", "nowhere"), "not_found", 4),
    (("project", "merge", "shop", "shop"), "invalid", 2),
    (("project", "unmerge", "shop"), "not_found", 4),
    (("model", "use", "nothing"), "invalid", 2),
    (("recall", "x", "--tokens", "5"), "invalid", 2),
    (("recall", "x", "--as-of", "yesterday"), "invalid", 2),
    (("policy", "--archive-threshold", "3"), "invalid", 2),
    (("sweep", "--namespace", "nowhere"), "not_found", 4),
    (("completion", "tcsh"), "invalid", 2),
    (("nothing",), "invalid", 2),
    (("search", "x", "--limt", "3"), "invalid", 2),
    (("mcp", "--tools", "nothing"), "invalid", 2),
    (("mcp", "--nothing"), "invalid", 2),
]


@pytest.mark.parametrize(("arguments", "code", "status"), ERRORS, ids=[" ".join(each[0])[:40] for each in ERRORS])
def test_an_error_is_one_line_with_its_status(arguments: tuple[str, ...], code: str, status: int, filled: Run) -> None:
    """On standard error; with --json an object there; nothing on standard output."""
    done = filled(*arguments)
    assert (done.status, done.out, done.err.count("\n")) == (status, "", 1), done.err
    assert done.err.startswith(f"engram: {code}: ")
    if arguments[0] != "mcp":
        as_json = filled(*arguments, "--json")
        assert (as_json.status, as_json.out) == (status, "")
        error = json.loads(as_json.err)["error"]
        assert (error["code"], bool(error["message"]), bool(error["hint"])) == (code, True, True)


def test_a_user_who_is_there_and_a_database_that_is_not_are_told(run: Run, data: Path) -> None:
    """Conflict 5, unavailable 6."""
    assert run("user", "add", "Ada", "--email", "ada@example.org").status == 0
    again = run("user", "add", "Eve", "--email", "ADA@example.org")
    assert (again.status, "conflict" in again.err) == (5, True)
    shutil.rmtree(data)
    data.write_text("a file where the folder should be")
    assert run("stats").status == 6


def test_a_mistyped_word_is_met_with_the_nearest(run: Run) -> None:
    """Of commands, of commands in a group, and of options, with where to read on."""
    assert 'Did you mean "search"?' in run("serach", "x").err
    nested = run("project", "mrege", "a", "b").err
    assert 'Did you mean "merge"?' in nested
    assert "`engram project --help`" in nested
    assert "--limit" in run("search", "x", "--limt", "3").err


PLACES: list[Callable[[tuple[str, ...], tuple[str, ...]], tuple[str, ...]]] = [
    lambda name, _: (*name, "--help"),
    lambda name, _: (*name, "-h"),
    lambda name, rest: (*name, *rest, "--help"),
    lambda name, rest: (*name, "--help", *rest),
    lambda name, rest: (name[0], "--help", *name[1:], *rest),
    lambda name, rest: ("--help", *name, *rest),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_never_has_an_effect(command: tuple[str, ...], run: Run, data: Path) -> None:
    """Wherever it stands: the usage is shown, and no folder is made."""
    for place in PLACES:
        arguments = place(command, EXAMPLES[command][0])
        if command == SERVED:
            child = subprocess.run(
                [sys.executable, "-m", "engram", *arguments], capture_output=True, text=True, check=False
            )
            done = Ran(child.returncode, child.stdout, child.stderr)
        else:
            done = run(*arguments)
        assert (done.status, done.err) == (0, ""), arguments
        assert done.out.lower().lstrip().startswith("usage: engram"), arguments
        assert not data.exists(), arguments


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_says_what_a_newcomer_asks(command: tuple[str, ...], run: Run) -> None:
    """One sentence, an example, every argument and option explained, no Python in it."""
    if command == SERVED:
        return
    shown = " ".join(run(*command, "--help").out.split())
    assert re.search(r"Examples?: engram ", shown), command
    assert f"engram {' '.join(command)}" in shown.partition("Example")[2] or command == ("completion",)
    for word in ('[default: ""]', "None", "False]", "NoneType"):
        assert word not in shown
    app = console.parser
    for word in command:
        app = app[word]
    for argument in app.assemble_argument_collection():
        assert argument.parameter.help, (command, argument.names)


@pytest.mark.parametrize(
    ("arguments", "stdin", "title", "text"),
    [
        (
            ("We deploy on Tuesdays. Never on Fridays.",),
            "",
            "We deploy on Tuesdays.",
            "We deploy on Tuesdays. Never on Fridays.",
        ),
        (("-",), "# Runbook\n\nRestart it.\n", "Runbook", "# Runbook\n\nRestart it.\n"),
        (("--file", "note.md"), "", "From a file", "# From a file\n\nbody"),
        (("Title", "-"), "piped", "Title", "piped"),
        (("Title", "--file", "note.md"), "", "Title", "# From a file\n\nbody"),
        (("- a bullet is text",), "", "a bullet is text", "- a bullet is text"),
    ],
)
def test_a_note_is_saved_in_any_of_the_ways(
    arguments: tuple[str, ...], stdin: str, title: str, text: str, run: Run
) -> None:
    """A sentence alone, a file, standard input; the title comes from the text where none is given."""
    Path("note.md").write_text("# From a file\n\nbody", encoding="utf-8")
    assert run("save", *arguments, stdin=stdin).status == 0
    read = json.loads(run("get", "1", "--json").out)
    assert (read["title"], read["text"]) == (title, text)


def test_a_query_with_a_secret_is_not_repeated(run: Run) -> None:
    """An answer goes into logs and into another model's context."""
    secret = "ghp_" + "a1B2" * 9
    done = run("search", f"who uses {secret}")
    assert done.status == 0
    assert secret not in done.out
    assert "[REDACTED" in done.out


# A real terminal


@dataclass
class Terminal:
    """A command on a terminal of its own."""

    process: subprocess.Popen[bytes]
    master: int
    seen: bytes = b""

    def until(self, text: bytes, seconds: float = 30.0) -> bytes:
        """What was shown until this text came, or the end."""
        end = time.monotonic() + seconds
        while text not in self.seen and time.monotonic() < end:
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self.master, 65_536)
                except OSError:
                    break
            elif self.process.poll() is not None:
                break
        return self.seen

    def close(self) -> int:
        """The exit status."""
        self.until(b"\0never\0")
        status = self.process.wait(timeout=30)
        os.close(self.master)
        return status


def interruptible() -> None:
    """Undo what a runner in the background of a shell hands down: that Ctrl-C is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def on_terminal(data: Path, *arguments: str, **env: str) -> Terminal:
    """Start a command whose standard streams are a terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "engram", *arguments],
        stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        preexec_fn=interruptible,  # noqa: PLW1509 - no thread of ours runs yet
        env={**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, "ENGRAM_DATA_DIR": str(data), "TERM": "xterm-256color", **env},
    )  # fmt: skip
    os.close(slave)
    return Terminal(process, master)


def test_colours_are_for_a_terminal_alone(data: Path) -> None:
    """There they are; not in a pipe, not with NO_COLOR."""
    coloured, plain = on_terminal(data, "--help"), on_terminal(data, "--help", NO_COLOR="1")
    assert (coloured.close(), plain.close()) == (0, 0)
    assert re.search(rb"\x1b\[[0-9;]*3[0-9]", coloured.seen)
    assert not re.search(rb"\x1b\[[0-9;]*3[0-9]m", plain.seen)


@pytest.mark.parametrize(("answer", "status"), [(b"y\n", 0), (b"n\n", 2), (b"\n", 2), (b"\x04", 2)])
def test_what_can_not_be_undone_is_asked_for(answer: bytes, status: int, run: Run, data: Path) -> None:
    """On a terminal; only a yes is a yes."""
    run("save", "T", "text")
    terminal = on_terminal(data, "erase", "1")
    assert b"Erase memory 1 for good? [y/N]" in terminal.until(b"[y/N]")
    os.write(terminal.master, answer)
    assert terminal.close() == status
    assert run("get", "1").status == (4 if status == 0 else 0)


def test_long_work_shows_a_bar_on_a_terminal(run: Run, data: Path) -> None:
    """And in a pipe not a byte on standard error."""
    run("save", "T", "text")
    terminal = on_terminal(data, "doctor")
    assert terminal.close() == 0
    assert b"Checking" in terminal.seen
    assert run("doctor").err == ""


def test_a_reader_that_goes_away_is_no_fault(run: Run) -> None:
    """``engram doctor | head -0``."""
    run("save", "T", "text")
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "engram", "get", "1"], stdout=write, stderr=subprocess.PIPE, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


def test_ctrl_c_ends_without_a_trace(data: Path) -> None:
    """While it waits for text; nothing is saved."""
    terminal = on_terminal(data, "save", "-")
    terminal.until(b"Ctrl-D")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.close() == 130
    assert b"Traceback" not in terminal.seen
    assert not (data / "engram.db").exists()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_and_options(run: Run, tmp_path: Path) -> None:
    """By the printed script, in a real shell."""
    script = tmp_path / "complete.sh"
    script.write_text(run("completion", "bash").out, encoding="utf-8")

    def complete(*words: str) -> set[str]:
        line = (
            f"source {script}; fn=$(complete -p engram | sed 's/.*-F \\([^ ]*\\).*/\\1/'); COMP_WORDS=({' '.join(words)});"
            f" COMP_CWORD={len(words) - 1}; COMP_LINE='{' '.join(words)}'; COMP_POINT=${{#COMP_LINE}};"
            ' $fn engram "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(["bash", "--norc", "-c", line], capture_output=True, text=True, check=False)
        return {word.strip() for word in done.stdout.split()}

    assert "search" in complete("engram", "se")
    assert "merge" in complete("engram", "project", "me")
    assert "--limit" in complete("engram", "search", "--li")
    with suppress(FileNotFoundError):
        assert not (Path.home() / ".local/share/bash-completion/completions/engram").exists()


def test_the_page_of_commands_is_up_to_date() -> None:
    """``python -m bench.cli`` writes it."""
    from bench import cli as page

    assert page.PAGE.read_text(encoding="utf-8") == page.page()
