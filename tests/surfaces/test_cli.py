"""The command line: every command with and without --json, errors and exit statuses, no effect of --help."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from engram import __version__
from engram.embed import Choice
from engram.surfaces import cli
from engram.tools import mem, registry
from engram.tools.instructions import CHARS_MAX, instructions

assert mem.mem_save  # the module registers its tools

COMMANDS = (
    "save",
    "search",
    "get",
    "update",
    "context",
    "timeline",
    "stats",
    "delete",
    "restore",
    "erase",
    "call",
    "compact",
    "mcp",
    "project",
    "project list",
    "project merge",
    "project unmerge",
    "user",
    "user add",
    "model",
    "model list",
    "model use",
    "migrate",
    "doctor",
)


def engram(
    folder: Path, *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the command as a person would, with its own data folder."""
    return subprocess.run(
        [sys.executable, "-m", "engram", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        cwd=folder,
        env={**os.environ, "ENGRAM_DATA_DIR": str(folder / "data"), "ENGRAM_PROJECT": "shop", **(env or {})},
    )


def ok(folder: Path, *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> str:
    """The output of a command that succeeds."""
    done = engram(folder, *arguments, stdin=stdin, env=env)
    assert (done.returncode, done.stderr) == (0, b""), done.stderr.decode()
    return done.stdout.decode()


def test_what_is_saved_is_found_read_deleted_and_restored(tmp_path: Path) -> None:
    """One way round through the commands a person needs."""
    assert ok(tmp_path, "save", "Cookies", "Safari drops SameSite=None cookies", "--type", "bugfix").startswith(
        'Memory saved: "Cookies" (bugfix) #1 [new]'
    )
    assert "[1] #1 (bugfix) - Cookies" in ok(tmp_path, "search", "why do logins break on Safari")
    assert "Safari drops" in ok(tmp_path, "get", "1")
    assert ok(tmp_path, "delete", "1") == "Memory #1 deleted\n"
    assert engram(tmp_path, "get", "1").returncode == 4
    assert ok(tmp_path, "restore", "1") == 'Memory restored: #1 "Cookies"\n'
    assert "Observations: 1 (archived: 0)" in ok(tmp_path, "stats")
    assert "[1] #1" in ok(tmp_path, "call", "mem_search", "query=cookies in Safari", "limit=3")
    with (tmp_path / "data" / "engram.db").open("rb") as file:
        assert file.read(6) == b"SQLite"


def test_projects_are_listed_merged_and_taken_apart_again(tmp_path: Path) -> None:
    """The answers name what moved; the old name leads to the new project until then."""
    ok(tmp_path, "save", "Retries", "payments are retried", "--project", "api", "--topic-key", "k")
    ok(tmp_path, "save", "Pages", "rendered on the server", "--project", "web", "--topic-key", "k")
    done = ok(tmp_path, "project", "merge", "api", "web")
    assert done.startswith("Project api merged into web: 1 memories, 1 sessions (merge ")
    assert 'Topic key k of #1 "Retries" is k-2 now' in done
    assert "into web already" in ok(tmp_path, "project", "merge", "api", "web")
    shown = ok(tmp_path, "project", "list")
    assert "Personal/web: 2 memories (0 archived), 0 prompts, last active" in shown
    assert "merged: api on" in shown
    assert json.loads(ok(tmp_path, "project", "list", "--json"))["projects"][0]["merged"][0]["name"] == "api"
    assert "[1] #1" in ok(tmp_path, "search", "payments", "--project", "api")
    taken = json.loads(ok(tmp_path, "project", "unmerge", "web", "--json"))
    assert (taken["source"], taken["memories"], taken["topic_keys"]) == ("api", 1, [])
    assert json.loads(ok(tmp_path, "project", "merge", "api", "web", "--json"))["topic_keys"][0]["now"] == "k-2"
    assert ok(tmp_path, "project", "unmerge", "api") == "Project api taken out of web again: 1 memories, 1 sessions\n"
    for arguments, status in ((("merge", "api", "api"), 2), (("merge", "apo", "web"), 4), (("unmerge", "web"), 4)):
        assert engram(tmp_path, "project", *arguments).returncode == status


def test_json_is_printed_on_request(tmp_path: Path) -> None:
    """By every command that prints data."""
    assert json.loads(ok(tmp_path, "save", "T", "text", "--json"))["what"] == "new"
    for arguments in (
        ("search", "text"),
        ("get", "1"),
        ("stats",),
        ("call", "mem_stats"),
        ("context",),
        ("timeline", "1"),
        ("update", "1", "--title", "Another title"),
        ("delete", "1"),
        ("restore", "1"),
    ):
        assert json.loads(ok(tmp_path, *arguments, "--json")), arguments
    checks = json.loads(ok(tmp_path, "doctor", "--json"))["checks"]
    assert {check["name"] for check in checks} >= {"key", "model", "disk", "schema", "integrity", "words", "vectors"}
    assert {check["state"] for check in checks} == {"ok"}


def test_text_comes_from_a_file_or_standard_input_whole(tmp_path: Path) -> None:
    """Nothing is cut: 200,000 characters and line ends survive."""
    body = "line\r\n" * 33_000 + "end 😀"
    (tmp_path / "note.md").write_bytes(body.encode())
    ok(tmp_path, "save", "From file", "--file", "note.md")
    ok(tmp_path, "save", "From stdin", "-", stdin=b"typed text - with dashes --and more")
    assert "Total characters: 198005" in ok(tmp_path, "get", "1")
    assert "typed text - with dashes --and more" in ok(tmp_path, "get", "2")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    assert engram(tmp_path, "save", "x", "--file", "latin.txt").returncode == 2
    assert engram(tmp_path, "save", "x", "--file", "missing.txt").returncode == 2


def test_text_that_begins_with_a_hyphen_is_text(tmp_path: Path) -> None:
    """A bullet is no option; what could be one is text after a double hyphen."""
    ok(tmp_path, "save", "- A title", "- first item\n- second item")
    ok(tmp_path, "update", "1", "--content", "- other item = 1")
    ok(tmp_path, "save", "-", "--file=-", stdin=b"of the title")
    ok(tmp_path, "save", "Options", "--", "--dry-run")
    assert "#1 [manual] - A title" in ok(tmp_path, "get", "1")
    assert "\n- other item = 1\n" in ok(tmp_path, "get", "1")
    assert "#2 [manual] -\n" in ok(tmp_path, "get", "2")
    assert "\n--dry-run\n" in ok(tmp_path, "get", "3")
    for query in ("-", "-- a", "- other item"):
        ok(tmp_path, "search", query)


def test_input_that_is_no_text_is_refused_whole(tmp_path: Path) -> None:
    """By its kind of error, and nothing is saved of it."""
    for arguments in (("save", "T", "-"), ("save", "T", "--file", "-")):
        done = engram(tmp_path, *arguments, stdin=b"caf\xe9")
        assert (done.returncode, done.stderr[:16]) == (2, b"engram: invalid:")
    assert not (tmp_path / "data").exists()


def test_an_unknown_failure_is_internal_and_tells_no_text(tmp_path: Path) -> None:
    """Its place is on stderr, what it was about is not."""
    code = (
        "import sys; from engram.engine import lifecycle; from engram.surfaces import cli\n"
        "def fail(*_): raise RuntimeError('the secret text')\n"
        "lifecycle.restore = fail; sys.exit(cli.run(['restore', '1']))"
    )
    env = {**os.environ, "ENGRAM_DATA_DIR": str(tmp_path / "data")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, cwd=tmp_path, env=env)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"engram: internal: " in done.stderr
    assert b"secret" not in done.stderr


def test_a_server_process_without_a_token_ends_though_its_database_is_down(tmp_path: Path) -> None:
    """At once: who calls is a matter of settings."""
    done = engram(tmp_path, "mcp", env={"ENGRAM_DATABASE_URL": "postgresql://localhost:1/none", "ENGRAM_TOKEN": ""})
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"ENGRAM_TOKEN" in done.stderr


def test_the_server_imports_no_parser_and_no_model_to_list_its_tools(tmp_path: Path) -> None:
    """What is slow to import waits for a call that needs it."""
    code = (
        "import sys; from engram.surfaces import cli; cli.run(['mcp'])\n"
        "print([m for m in ('cyclopts', 'rich', 'numpy', 'onnxruntime', 'apsw') if m in sys.modules], file=sys.stderr)"
    )
    env = {**os.environ, "ENGRAM_DATA_DIR": str(tmp_path / "data")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=env, input=b"")
    assert done.stderr.splitlines()[-1] == b"[]"


@pytest.mark.parametrize("profile", ["mem", "agent", "admin", "mem_search"])
def test_the_instructions_are_short_and_name_only_loaded_tools(profile: str) -> None:
    """A client's model is told nothing of what it does not have."""
    names = {tool.name for tool in registry.select(profile)}
    text = instructions(names)
    assert len(text) <= CHARS_MAX
    assert set(re.findall(r"mem_\w+", text)) <= names


def test_the_text_of_an_earlier_version_is_printed_by_its_commit_id(tmp_path: Path) -> None:
    """The ids are those that the history shows."""
    ok(tmp_path, "save", "T", "first text", "--topic-key", "k")
    ok(tmp_path, "save", "T", "second text", "--topic-key", "k")
    shas = re.findall(r"^- ([0-9a-f]{12}) ", ok(tmp_path, "get", "1", "--history"), re.MULTILINE)
    assert ok(tmp_path, "get", "1", "--version", shas[1]) == "first text\n"
    assert engram(tmp_path, "get", "1", "--version", "1234567").returncode == 4
    assert engram(tmp_path, "get", "1", "--version", "xyz").returncode == 2


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("bogus",), 2), (("search",), 2), (("search", "x", "--bogus"), 2), (("save", "t", "x", "--scope", "galaxy"), 2),
        (("get", "99"), 4), (("get", "x y"), 2), (("restore", "99"), 4), (("call", "mem_nothing"), 2),
        (("call", "mem_search", "no pair"), 2), (("mcp", "--tools=bogus"), 2), (("save", " ", "x"), 2),
        (("call", "mem_search", "query=a", "query=b"), 2), (("mcp", "--tool=agent"), 2), (("mcp", "--tools"), 2),
        (("mcp", "bogus"), 2), (("search", "--verbose"), 2), (("restore", "99", "--json"), 4), (("get", "99", "--json"), 4),
    ],
)  # fmt: skip
def test_errors_have_a_status_and_say_what_to_do(tmp_path: Path, arguments: tuple[str, ...], status: int) -> None:
    """On stderr, one line; nothing on stdout."""
    done = engram(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (status, b"")
    assert done.stderr.decode().startswith('{"error": ' if "--json" in arguments else "engram: ")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_no_effect(tmp_path: Path, command: str) -> None:
    """It prints, and makes no file."""
    done = engram(tmp_path, *command.split(), "--help")
    assert done.returncode == 0
    assert done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_version_is_answered_without_the_parser(tmp_path: Path) -> None:
    """Nothing heavy is imported for it."""
    code = (
        "import sys; from engram.surfaces import cli; cli.run(['--version'])\n"
        "print([m for m in ('cyclopts', 'rich', 'numpy', 'onnxruntime', 'mcp', 'apsw') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == f"engram {__version__}\n[]\n"


def test_any_locale_prints_any_text(tmp_path: Path) -> None:
    """Emoji under a Latin code page end no command."""
    ok(tmp_path, "save", "Party 🎉", "数据库 🎉")
    assert "🎉" in ok(tmp_path, "search", "数据库", env={"PYTHONIOENCODING": "cp1252", "LC_ALL": "C"})


def test_exit_statuses_are_those_of_the_codes() -> None:
    """The table that scripts rely on."""
    assert cli.EXIT_STATUS == {"invalid": 2, "access_denied": 3, "not_found": 4, "conflict": 5, "unavailable": 6}


def test_a_setting_that_is_none_names_its_variable(tmp_path: Path) -> None:
    """Read once, refused with the valid values."""
    for name, value in (
        ("ENGRAM_MAX_BODY", "lots"),
        ("ENGRAM_OTHER_PROJECTS", "maybe"),
        ("ENGRAM_REDACT_SECRETS", "perhaps"),
    ):
        done = engram(tmp_path, "stats", env={name: value})
        assert done.returncode == 2
        assert name in done.stderr.decode()


def test_the_model_is_listed_and_switched(tmp_path: Path) -> None:
    """With and without --json; an unknown one is refused; another one in the environment is said, and not used."""
    ok(tmp_path, "save", "Cookies", "Safari drops SameSite=None cookies")
    assert "* bge-small  384 dimensions, 1 vectors, 0 wait; installed" in ok(tmp_path, "model", "list")
    refused = engram(tmp_path, "model", "use", "nonsense")
    assert (refused.returncode, b"bge-small, minilm, multilingual" in refused.stderr) == (2, True)
    if not Choice("minilm").is_installed:
        pytest.skip("the extra minilm is not installed")
    assert ok(tmp_path, "model", "use", "minilm", "--wait") == "Model minilm (was bge-small), 1 chunks wait\n"
    (current,) = [one for one in json.loads(ok(tmp_path, "model", "list", "--json"))["models"] if one["is_current"]]
    assert (current["name"], current["vectors"], current["waiting"]) == ("minilm", 1, 0)
    assert json.loads(ok(tmp_path, "model", "use", "minilm", "--json"))["waiting"] == 0
    told = engram(tmp_path, "search", "Safari", env={"ENGRAM_EMBED_MODEL": "bge-small"})
    assert (told.returncode, told.stderr.decode().count("this database uses minilm")) == (0, 1)
    assert "#1" in told.stdout.decode()
    assert "this database uses minilm" in ok(tmp_path, "doctor", env={"ENGRAM_EMBED_MODEL": "bge-small"})
