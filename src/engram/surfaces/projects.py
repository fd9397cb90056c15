"""``engram project``: what projects there are, two merged into one, a merge taken back."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import App as Parser
from cyclopts import Parameter

from engram.engine import merging
from engram.engine.merging import Outcome, Project
from engram.rules import times
from engram.surfaces.console import PROJECTS, Json, open_app, parser, print_json, progress, unmarked

project_parser = Parser(name="project", help="List projects, merge two, take a merge back.", group=PROJECTS)
parser.command(project_parser)

Name = Annotated[str, Parameter(help="A project: its name, library/name, or UUID.")]


@project_parser.command(name="list")
def list_projects(*, json: Json = False) -> int:
    """Print every project with what it holds and what was merged into it.

    Example: `engram project list`
    """
    with open_app() as opened:
        found = merging.projects(opened.context)
    if json:
        print_json({"projects": [_project_fields(project) for project in found]})
        return 0
    for project in found:
        print(_project_line(project))
        for merged in project.merged:
            command = "merge" if merged.state == "merging" else "unmerge"
            again = f"; unfinished, run `engram project {command}` again" if merged.state != "merged" else ""
            print(f"    merged: {merged.name} on {times.show_date(merged.at)} (merge {merged.merge_id}{again})")
    if not found:
        print("No projects yet: the first save makes one")
    return 0


@project_parser.command
def merge(source: Name, into: Name, /, *, json: Json = False) -> int:
    """Move every memory and session of SOURCE into INTO; saves and searches in SOURCE then go there.

    Example: `engram project merge shop-old shop`
    """
    with open_app() as opened, progress("Merging") as tell:
        done = merging.merge(opened.context, unmarked(source), unmarked(into), tell)
    if json:
        print_json(_outcome_fields(done))
        return 0
    if done.was_already:
        print(f"Project {done.source} is merged into {done.into} already (merge {done.merge_id})")
        return 0
    print(f"Project {done.source} merged into {done.into}: {_counts(done)} (merge {done.merge_id})")
    for each in done.rekeyed:
        print(
            f'Topic key {each.was} of {each.label} "{each.title}" is {each.now} now: the newer memory keeps {each.was}'
        )
    return 0


@project_parser.command
def unmerge(name: Name, /, *, json: Json = False) -> int:
    """Move back what the last merge into project NAME moved, or the merge of NAME, or the one with this id.

    Example: `engram project unmerge shop`
    """
    with open_app() as opened, progress("Unmerging") as tell:
        done = merging.unmerge(opened.context, unmarked(name), tell)
    if json:
        print_json(_outcome_fields(done))
        return 0
    print(f"Project {done.source} taken out of {done.into} again: {_counts(done)}")
    for each in done.rekeyed:
        kept = f"keeps {each.now}" if each.now else "has none now"
        print(f'Note: topic key {each.was} belongs to another memory by now; {each.label} "{each.title}" {kept}')
    return 0


def _counts(done: Outcome) -> str:
    return f"{done.memories} memories, {done.sessions} sessions"


def _project_line(project: Project) -> str:
    held = f"{project.live} memories ({project.archived} archived), {project.prompts} prompts"
    return f"{project.library}/{project.name}: {held}, last active {times.show_date(project.last_active)}"


def _project_fields(project: Project) -> dict[str, Any]:
    return {
        "id": project.id,
        "name": project.name,
        "library": project.library,
        "memories": project.live,
        "archived": project.archived,
        "prompts": project.prompts,
        "last_active": times.format_time(project.last_active),
        "merged": [
            {"name": each.name, "merge_id": each.merge_id, "at": times.format_time(each.at), "state": each.state}
            for each in project.merged
        ],
    }


def _outcome_fields(done: Outcome) -> dict[str, Any]:
    return {
        "merge_id": done.merge_id,
        "source": done.source,
        "into": done.into,
        "library": done.library,
        "memories": done.memories,
        "sessions": done.sessions,
        "was_already": done.was_already,
        "topic_keys": [
            {"memory": each.label, "title": each.title, "was": each.was, **({"now": each.now} if each.now else {})}
            for each in done.rekeyed
        ],
    }
