"""One loaded model for all tests of this folder."""

from __future__ import annotations

import pytest

from engram.embed import PackagedEmbedder


@pytest.fixture(scope="session")
def embedder() -> PackagedEmbedder:
    """The packaged model, loaded; a test that drops it makes its own."""
    embedder = PackagedEmbedder()
    embedder.load()
    return embedder
