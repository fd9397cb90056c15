"""The commands that look after the database and its people."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import asdict, replace
from typing import Annotated

from cyclopts import App as Parser
from cyclopts import Parameter

from engram import app
from engram import settings as configuration
from engram.embed import catalogue
from engram.engine import compacting, models, users
from engram.store import health
from engram.surfaces.console import DATABASE, FINISH_S, Json, open_app, parser, print_json, progress, unmarked

SHOWN_S = 0.5  # how often a progress bar is brought up to date

user_parser = Parser(name="user", help="People who may use a shared database.", group=DATABASE)
parser.command(user_parser)
model_parser = Parser(name="model", help="The embedding model of the database.", group=DATABASE)
parser.command(model_parser)


@user_parser.command
def add(
    name: Annotated[str, Parameter(help="Name of the person.")],
    /,
    *,
    email: Annotated[str, Parameter(help="E-mail, by which groups know them; once in a database.")] = "",
    json: Json = False,
) -> int:
    """Make a user with a Personal library and print a token, once. The first user is operator.

    Example: `engram user add Ada --email ada@example.org`
    """
    store = app.open_store(configuration.read(os.environ))
    try:
        added = users.add(store, unmarked(name), email=email)
    finally:
        store.close()
    if json:
        print_json({"id": added.actor.id, "name": added.actor.name, "token": added.token})
    else:
        print(f"User {added.actor.name} made. Token, shown this once:\n{added.token}")
    return 0


@model_parser.command(name="list")
def list_models(*, json: Json = False) -> int:
    """Print the models: which is current, which are installed, how many chunks have a vector or wait for one.

    Example: `engram model list`
    """
    with open_app() as opened:
        found = models.listed(opened.context)
    if json:
        print_json({"models": [asdict(one) for one in found]})
        return 0
    for one in found:
        state = "installed" if one.is_installed else f"pip install 'engram-one[{one.name}]'"
        counts = f"{one.vectors} vectors" + (f", {one.waiting} wait" if one.is_current else "")
        print(f"{'*' if one.is_current else ' '} {one.name}  {one.dim or '?'} dimensions, {counts}; {state}")
    return 0


@model_parser.command
def use(
    name: Annotated[str, Parameter(help="bge-small, minilm, multilingual, or a name that the server at --url knows.")],
    /,
    *,
    url: Annotated[str, Parameter(help="OpenAI-compatible server; default for other names: ENGRAM_EMBED_URL.")] = "",
    wait: Annotated[bool, Parameter(negative=(), help="Wait for all vectors without a terminal too.")] = False,
    json: Json = False,
) -> int:
    """Switch the database to another embedding model. What it has no vectors for is embedded in the background.

    Example: `engram model use multilingual`
    """
    name = unmarked(name)
    with open_app() as opened:
        if not url and name not in catalogue.LOCAL:
            url = opened.settings.embed_url
        switched = models.use(opened.context, catalogue.choose(name, url))
        opened.worker.start()
        if json:
            print_json({"model": switched.choice.shown(), "was": switched.was.shown(), "waiting": switched.waiting})
        else:
            print(f"Model {switched.choice.shown()} (was {switched.was.shown()}), {switched.waiting} chunks wait")
        sys.stdout.flush()
        if wait or (sys.stdout.isatty() and not json):
            _watch(opened, switched.waiting, is_shown=sys.stderr.isatty())
    return 0


def _watch(opened: app.App, total: int, *, is_shown: bool) -> None:
    """Show how many chunks still wait, until none does or Ctrl-C; whichever process embeds them."""
    from rich.console import Console  # noqa: PLC0415 - for a long wait only
    from rich.progress import MofNCompleteColumn, Progress  # noqa: PLC0415 - as above

    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not is_shown, transient=True) as progress:
        task = progress.add_task("Embedding", total=total)
        try:
            while left := _left(opened):
                progress.update(task, completed=max(0, total - left))
                time.sleep(SHOWN_S)
            opened.worker.finish(FINISH_S)
        except KeyboardInterrupt:
            progress.stop()
            print("Stopped; what waits is embedded by the next `engram mcp`, or by this command again")


def _left(opened: app.App) -> int:
    with opened.store.reading() as tx:
        return health.waiting(tx)


@parser.command(group=DATABASE)
def migrate(
    *,
    database_url: Annotated[str, Parameter(help="PostgreSQL as its owner; default: ENGRAM_DATABASE_URL.")] = "",
    json: Json = False,
) -> int:
    """Bring the database's schema up to date.

    Example: `engram migrate`
    """
    settings = configuration.read(os.environ)
    if database_url:
        settings = replace(settings, database_url=database_url)
    store, ran = app.open_and_migrate(settings)
    try:
        if json:
            print_json({"database": store.describe(), "ran": ran, "version": store.version()})
        else:
            print(f"{store.describe()}: {ran} migrations ran, schema version {store.version()}")
    finally:
        store.close()
    return 0


@parser.command(group=DATABASE)
def compact(
    *,
    vacuum: Annotated[bool, Parameter(negative=(), help="Also write the database anew: gives space back.")] = False,
    json: Json = False,
) -> int:
    """Clean the database's files of what was erased; others may go on using it.

    Examples: `engram compact` · `engram compact --vacuum`
    """
    store = app.open_store(configuration.read(os.environ))
    try:
        with progress("Compacting") as tell:
            done = compacting.compact(store, tell, is_rewritten=vacuum)
        where = store.describe()
    finally:
        store.close()
    if json:
        print_json({"before": done.before, "after": done.after, "vacuum": done.is_rewritten, "notes": list(done.notes)})
        return 0
    print(f"{where}: {done.before:,} bytes before, {done.after:,} after{', written anew' if done.is_rewritten else ''}")
    for note in done.notes:
        print(f"Note: {note}")
    return 0
