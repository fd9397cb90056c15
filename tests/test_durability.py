"""What was acknowledged is found after kill -9, in any number of processes, on both backends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bench import kill

from engram import app as composition
from engram.settings import Settings


@pytest.mark.timeout(240)
def test_every_acknowledged_save_is_found_after_kills(settings: Settings, tmp_path: Path) -> None:
    """Five processes save and search, one is killed each second and started again; nothing is lost, none sees an error."""
    outcome = kill.run(settings, tmp_path, processes=5, each=20, kill_every_s=0.6)
    assert outcome.acknowledged == 100
    assert (outcome.missing, outcome.errors, outcome.problems) == (0, 0, ())
    assert outcome.kills >= 1


def test_a_save_that_was_lost_would_be_counted(settings: Settings, tmp_path: Path) -> None:
    """The check itself can fail: a logged number without a memory, and a memory without its word, are missing."""
    log = tmp_path / "p0.log"
    kill.child(log, 1, replace(settings, project="kill"))
    log.write_text(log.read_text() + "1 another\n77 p0x77x1\n")
    outcome = kill.check(settings, [log], kills=0, seconds=0)
    assert (outcome.acknowledged, outcome.missing, outcome.problems) == (3, 2, ())


def test_a_save_that_no_search_finds_would_be_counted(settings: Settings, tmp_path: Path) -> None:
    """Read by its number it is whole, but it is in no index."""
    log = tmp_path / "p0.log"
    kill.child(log, 1, replace(settings, project="kill"))
    store = composition.open_store(settings)
    with store.writing() as tx:
        for table in ("words", "pending", "chunk_vector"):
            tx.run(f"delete from {table}")
    store.close()
    outcome = kill.check(settings, [log], kills=0, seconds=0)
    assert (outcome.missing, len(outcome.problems)) == (1, 1)
