"""``engram doctor``: what is well and what is not, and with --fix what can be mended."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter

from engram import app
from engram import settings as configuration
from engram.engine import doctor as verbs
from engram.engine import models
from engram.engine.doctor import FAIL, OK, Check
from engram.errors import EngramError
from engram.surfaces.console import DATABASE, Json, parser, print_json, progress


@parser.command(group=DATABASE)
def doctor(
    *,
    fix: Annotated[
        bool, Parameter(negative=(), help="Mend what can be: file modes, missing index entries and vectors.")
    ] = False,
    json: Json = False,
) -> int:
    """Look at settings, folder, database, index, model, and who uses it. Without --fix nothing is changed.

    Examples: `engram doctor` · `engram doctor --fix`
    """
    settings = configuration.read(os.environ)
    mended = _mend(settings) if fix else []
    checks = [*verbs.check_files(settings, os.environ), *_database(settings)]
    if json:
        print_json({"checks": [asdict(check) for check in checks], "mended": mended})
    else:
        for line in mended:
            print(f"mended {line}")
        for check in checks:
            print(f"{check.state:4} {check.name}: {check.detail}")
            if check.hint:
                print(f"     {check.hint}")
    return 1 if any(check.state == FAIL for check in checks) else 0


def _database(settings: configuration.Settings) -> list[Check]:
    if not settings.database_url and not settings.database_file.exists():
        detail = f"{settings.database_file} is not there yet; the first save makes it"
        return [Check(name="database", state=OK, detail=detail)]
    try:
        store = app.look_at_store(settings)
        try:
            with progress("Checking") as tell:
                return verbs.check_database(store, settings, tell)
        finally:
            store.close()
    except EngramError as error:
        return [Check(name="database", state=FAIL, detail=str(error), hint=error.hint)]


def _mend(settings: configuration.Settings) -> list[str]:
    done = verbs.mend_files(settings)
    if not settings.database_url and not settings.database_file.exists():
        return done
    try:
        store = app.open_store(settings, may_be_damaged=True)
        try:
            with progress("Mending") as tell:
                done += verbs.mend_index(store, models.opened(store, settings), tell)
        finally:
            store.close()
    except EngramError as error:
        done.append(f"nothing in the database: {error.line()}")
    return done
