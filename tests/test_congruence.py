"""The same 200 random acts on both backends give the same answers and the same state."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import Clock, Server
from engram import app as composition
from engram.app import App
from engram.engine import candidates, lifecycle, users
from engram.errors import EngramError
from engram.settings import Settings
from engram.tools import mem, registry

assert mem.mem_save  # the module registers its tools
ACTS = 200
WORDS = [
    "cache",
    "login",
    "cookie",
    "deploy",
    "index",
    "schema",
    "retry",
    "token",
    "queue",
    "worker",
    "数据库",
    "缓存",
    "ошибка",
    "café",
    "getUserName",
]
IGNORED = re.compile(r"\b[0-9a-f]{12}\b|Database size: .*|\| (0\.\d\d|1\.00)")


def act(dice: random.Random) -> tuple[str, dict[str, Any]]:
    """One random call."""
    text = " ".join(dice.choices(WORDS, k=dice.randint(2, 8)))
    number = dice.randint(1, 40)
    project = dice.choice(("one", "two", "три"))
    return dice.choice(
        (
            ("mem_save", {"title": text[:20], "content": text, "project": project}),
            ("mem_save", {"title": "T", "content": text, "project": project, "topic_key": dice.choice(WORDS)}),
            ("mem_save", {"title": "P", "content": text, "project": project, "scope": "personal", "type": "decision"}),
            ("mem_update", {"id": number, "content": text}),
            ("mem_update", {"id": number, "project": project, "topic_key": dice.choice((*WORDS, ""))}),
            ("mem_delete", {"id": number, "hard_delete": dice.random() < 0.3}),
            ("restore", {"id": number}),
            ("mem_session_start", {"id": dice.choice("abc"), "project": project}),
            ("mem_session_end", {"id": dice.choice("abc"), "summary": text}),
            ("mem_session_summary", {"content": f"## Goal\n{text}", "project": project}),
            ("mem_capture_passive", {"content": f"## Learnings\n- {text} was learned today\n", "project": project}),
            ("mem_save_prompt", {"content": text, "project": project}),
            ("mem_search", {"query": text, "project": dice.choice((project, "*")), "limit": 20}),
            ("mem_search", {"query": dice.choice(WORDS), "type": dice.choice(("", "decision", "prompt"))}),
            ("mem_context", {"project": project}),
            ("mem_timeline", {"observation_id": number}),
            ("mem_get_observation", {"id": number, "history": True}),
            ("mem_stats", {}),
        )
    )


def say(app: App, tool: str, arguments: dict[str, Any]) -> tuple[str, list[float]]:
    """(the answer without what may differ, its scores)."""
    if tool == "restore":
        try:
            _, label, left_off = lifecycle.restore(app.context, str(arguments["id"]))
        except EngramError as error:
            return error.code, []
        return f"{label} {left_off}", []
    text = app.call(registry.TOOLS[tool], arguments).text
    scores = [float(score) for score in re.findall(r"\| (0\.\d\d|1\.00)$", text, re.MULTILINE)]
    return IGNORED.sub("~", text), scores


def test_both_backends_answer_alike(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids by number, scores within .02, the same words in the same order."""
    from engram.store import base, postgres, sqlite

    clock = Clock()
    for module in (base, postgres, sqlite):
        monkeypatch.setattr(module, "now_ms", clock)
    monkeypatch.setattr(
        candidates, "MADE_S_MAX", 600.0
    )  # a busy machine makes fewer vectors on one side than on the other
    monkeypatch.setattr(candidates, "MADE_MAX", 10_000)
    settings = Settings(data_dir=tmp_path / "a", project="one")
    shared = replace(settings, data_dir=tmp_path / "b", database_url=server.fresh())
    store = composition.open_store(shared)
    shared = replace(shared, token=users.add(store, "Ada", email="").token)
    store.close()
    apps = [App(each, folder=tmp_path, has_worker=False) for each in (settings, shared)]
    for app in apps:
        app.store.clock = clock
    dice = random.Random(42)
    for i in range(ACTS):
        tool, arguments = act(dice)
        clock.forward(minutes=dice.choice((0, 1, 20)))
        (ours, our_scores), (theirs, their_scores) = (say(app, tool, arguments) for app in apps)
        assert ours == theirs, (i, tool, arguments)
        assert our_scores == pytest.approx(their_scores, abs=0.02)
    for app in apps:
        app.close()
