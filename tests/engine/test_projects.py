"""The project of a working folder, found in real repositories."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.engine import projects
from engram.engine.projects import Found


def git(folder: Path, *arguments: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{role}_NAME": "a", f"GIT_{role}_EMAIL": "a@example.org"}
    subprocess.run(["git", "-c", "protocol.file.allow=always", *arguments], cwd=folder, check=True, env=env,
                   capture_output=True)  # fmt: skip


def repository(folder: Path, origin: str = "") -> Path:
    """A repository with one commit, and an origin if one is given."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main", ".")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")
    if origin:
        git(folder, "remote", "add", "origin", origin)
    return folder


def detect(folder: Path) -> Found:
    """As on a machine whose home and temporary folders are elsewhere."""
    return projects.detect(folder, home=Path("/nowhere/home"), temporary=[Path("/nowhere/tmp")])


def configure(folder: Path, content: str | bytes) -> Path:
    path = folder / projects.CONFIG_PATH
    path.parent.mkdir(parents=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


@pytest.mark.parametrize("key", ["project", "project_name"])
def test_the_nearest_config_file_upward_names_the_project(tmp_path: Path, key: str) -> None:
    """It wins over a remote, and a nearer one over a farther one."""
    top = repository(tmp_path / "top", "https://example.org/owner/remote.git")
    configure(top, json.dumps({key: "far", "crossProject": False, "other": [1]}))
    (top / "a" / "b").mkdir(parents=True)
    assert detect(top / "a" / "b") == Found(name="far", source="config", cross_project=False)
    configure(top / "a", json.dumps({key: "near"}))
    assert detect(top / "a" / "b") == Found(name="near", source="config")


def test_a_config_file_may_only_close_the_project(tmp_path: Path) -> None:
    """Without a name in it, the name is found as ever."""
    configure(tmp_path / "app", '\ufeff{"crossProject": false}')
    assert detect(tmp_path / "app") == Found(name="app", source="folder", cross_project=False)


def test_a_config_file_may_name_a_library(tmp_path: Path) -> None:
    """`library/name` is left to the caller, who knows the libraries; any other name is made to fit, and said."""
    configure(tmp_path / "a", '{"project": "Team notes/app"}')
    configure(tmp_path / "b", '{"project": " my app! "}')
    assert (detect(tmp_path / "a").name, detect(tmp_path / "a").note) == ("Team notes/app", "")
    assert detect(tmp_path / "b").name == "my-app"
    assert detect(tmp_path / "b").note


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "",
        "[]",
        '"app"',
        "[" * 100_000,
        b"\xff\xfe",
        '{"project": 5}',
        '{"project": " "}',
        '{"project": "a\\u0000"}',
        '{"project": "\\ud800"}',
        '{"crossProject": "no"}',
        " " * (1 << 20) + "{}",
        "9" * 10_000,
    ],
)
def test_a_broken_config_file_is_noted_and_passed_over(tmp_path: Path, content: str | bytes) -> None:
    """The project is found without it."""
    found = detect(configure(tmp_path / "app", content))
    assert (found.name, found.source, found.cross_project) == ("app", "folder", True)
    assert found.note


def test_a_pipe_in_place_of_a_config_file_does_not_stop_the_call(tmp_path: Path) -> None:
    """Reading it would wait for ever."""
    path = tmp_path / "app" / projects.CONFIG_PATH
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    found = detect(tmp_path / "app")
    assert found.name == "app"
    assert found.note


@pytest.mark.parametrize(
    ("url", "name", "owner_name", "remote"),
    [
        ("https://example.org/owner/app.git", "app", "owner-app", "example.org/owner/app"),
        ("https://user:secret@Example.org:8443/owner/app", "app", "owner-app", "example.org/owner/app"),
        ("git@example.org:owner/app.git", "app", "owner-app", "example.org/owner/app"),
        ("git@example.org:app.git", "app", "", "example.org/app"),
        ("ssh://git@example.org:22/group/sub/app.git/", "app", "sub-app", "example.org/group/sub/app"),
        ("https://secret@example.org/app", "app", "", "example.org/app"),
        ("/srv/git/app.git", "app", "git-app", "/srv/git/app"),
        ("/srv/app/.git", "app", "srv-app", "/srv/app"),
        ("../app.git", "app", "", "/app"),
        ("C:\\work\\app.git", "app", "work-app", "/c:/work/app"),
        ("https://example.org/o/My%20App.git", "My-App", "o-My-App", "example.org/o/my app"),
        ("https://example.org/o/.github", ".github", "o-.github", "example.org/o/.github"),
    ],
)
def test_the_origin_remote_names_the_project(tmp_path: Path, url: str, name: str, owner_name: str, remote: str) -> None:
    """Its last part without `.git`; its owner for the caller; no user, password or port in anything."""
    found = detect(repository(tmp_path / "folder", url))
    assert (found.name, found.owner_name, found.remote, found.source) == (name, owner_name, remote, "remote")
    assert "secret" not in repr(found)


@pytest.mark.parametrize("url", ["https://example.org/", "..", "https://example.org/a%00b"])
def test_a_remote_that_names_nothing_is_passed_over(tmp_path: Path, url: str) -> None:
    """The work tree has a name of its own."""
    found = detect(repository(tmp_path / "app", url))
    assert (found.name, found.source) == ("app", "worktree")


def test_another_remote_does_not_name_the_project(tmp_path: Path) -> None:
    """Only `origin` does, and of its addresses the first, however the file is written."""
    top = repository(tmp_path / "app")
    git(top, "remote", "add", "upstream", "https://example.org/o/upstream.git")
    assert detect(top).name == "app"
    with (top / ".git" / "config").open("a") as config:
        config.write('[Remote "origin"] # note\n\tURL = "https://example.org/o/\\\n"first.git ; note\n\turl = other\n')
        config.write('[remote "Origin"]\n url = no\n[core] worktree = ..\n; url = no\n')
    urls = subprocess.run(["git", "config", "--get-all", "remote.origin.url"], cwd=top, capture_output=True, check=True)
    assert urls.stdout.split() == [b"https://example.org/o/first.git", b"other"]
    assert detect(top).name == "first"


def test_a_git_config_that_git_would_refuse_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """A line that means nothing is passed over; a file that cannot be read names nothing."""
    top = repository(tmp_path / "app")
    (top / ".git" / "config").write_text('[remote "origin"\nurl\n= x\n[remote "origin"]\nurl = a/b.git\n')
    assert detect(top).name == "b"
    (top / ".git" / "config").write_bytes(b"\xff")
    assert (detect(top).name, detect(top).source) == ("app", "worktree")


def test_linked_work_trees_agree_with_the_main_one(tmp_path: Path) -> None:
    """Below any of them, wherever they lie."""
    top = repository(tmp_path / "app")
    (top / "src").mkdir()
    git(top, "worktree", "add", "-q", str(tmp_path / "elsewhere" / "feature"))
    git(top, "worktree", "add", "-q", str(top / "inside"))
    folders = [top, top / "src", tmp_path / "elsewhere" / "feature", top / "inside"]
    assert {(detect(folder).name, detect(folder).source) for folder in folders} == {("app", "worktree")}


@pytest.mark.parametrize("bare", ["app.git", "app/.bare"])
def test_work_trees_of_a_bare_repository_go_by_its_name(tmp_path: Path, bare: str) -> None:
    """By that of its folder, or of the folder above where it is hidden; so does the repository itself."""
    source = repository(tmp_path / "source")
    git(tmp_path, "clone", "-q", "--bare", str(source), bare)
    git(tmp_path / bare, "remote", "remove", "origin")
    git(tmp_path / bare, "worktree", "add", "-q", str(tmp_path / "app-main"), "main")
    assert {detect(tmp_path / "app-main").name, detect(tmp_path / bare).name} == {"app"}


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    """By its remote, else by its own work tree; a linked work tree of it agrees."""
    library = repository(tmp_path / "library")
    top = repository(tmp_path / "top")
    git(top, "submodule", "add", "-q", str(library), "vendor/lib")
    assert (detect(top / "vendor" / "lib").name, detect(top).name) == ("library", "top")
    git(top / "vendor" / "lib", "remote", "remove", "origin")
    git(top / "vendor" / "lib", "worktree", "add", "-q", str(tmp_path / "other"))
    assert [detect(folder).name for folder in (top / "vendor" / "lib", tmp_path / "other")] == ["lib", "lib"]


def test_a_separate_git_directory_is_followed(tmp_path: Path) -> None:
    """The work tree names the project, not the directory."""
    (tmp_path / "app").mkdir()
    git(tmp_path / "app", "init", "-q", f"--separate-git-dir={tmp_path / 'store'}", ".")
    assert detect(tmp_path / "app").name == "app"


@pytest.mark.parametrize("content", ["", "gitdir: ", "gitdir: /nowhere", "\0", "gitdir: \0"])
def test_a_broken_git_file_is_no_failure(tmp_path: Path, content: str) -> None:
    """The folder has a name still."""
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / ".git").write_text(content)
    assert detect(tmp_path / "app").name == "app"


def test_an_empty_git_folder_is_no_repository(tmp_path: Path) -> None:
    """Git passes it over too."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "app").mkdir()
    assert (detect(tmp_path / "app").name, detect(tmp_path / "app").source) == ("app", "folder")


def test_the_root_the_home_and_temporary_folders_have_no_project(tmp_path: Path) -> None:
    """Nor has a folder with a made-up name among the temporary ones; one with a real name has."""
    home, scratch = tmp_path / "ana", tmp_path / "scratch"
    for folder in (home, scratch / "tmpab12cd34", scratch / "tmp.Xy12Zw34Qr", scratch / "app", home / "app"):
        folder.mkdir(parents=True)
    names = {
        folder: projects.detect(folder, home=home, temporary=[scratch]).name
        for folder in [Path("/"), home, scratch, *scratch.iterdir(), home / "app"]
    }
    named = {folder: name for folder, name in names.items() if name != "default"}
    assert named == {scratch / "app": "app", home / "app": "app"}
    assert projects.detect(home, home=home, temporary=[scratch]).source == "default"


def test_a_repository_that_is_the_home_does_not_name_what_is_below(tmp_path: Path) -> None:
    """A home kept in Git gives no name of its own, so the folder's counts."""
    home = repository(tmp_path / "ana")
    (home / "app").mkdir()
    found = [projects.detect(folder, home=home, temporary=[]) for folder in (home, home / "app")]
    assert [(one.name, one.source) for one in found] == [("default", "default"), ("app", "folder")]


def test_this_machine_s_home_and_temporary_folders_are_known() -> None:
    """Without being told."""
    folders = [Path.home(), Path("/tmp"), *projects._temporary_folders()]  # noqa: S108 - only looked at
    assert {projects.detect(folder).name for folder in folders} == {"default"}


def test_links_lead_to_the_same_project(tmp_path: Path) -> None:
    """A link to a folder is that folder; links in a circle are no failure."""
    (tmp_path / "app").mkdir()
    (tmp_path / "link").symlink_to("app")
    (tmp_path / "circle").symlink_to("circle")
    assert [detect(tmp_path / name).name for name in ("link", "circle")] == ["app", "circle"]


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=20))
def test_no_folder_makes_it_fail(text: str) -> None:
    """Whatever the folder is called, there is a name that a project may have."""
    found = detect(Path("/nowhere") / text.lstrip("/"))
    assert found.name


@settings(deadline=None, max_examples=150)
@given(st.text('[]"\\= \n#;abuorigntmel/:.\t', max_size=80))
def test_no_git_config_makes_it_fail(text: str) -> None:
    """Any text as a value or a line is read or passed over."""
    projects._config_value(text)
    remote = projects._parse_remote(text)
    assert remote is None or remote.path[-1]
