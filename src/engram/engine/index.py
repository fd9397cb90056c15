"""What a memory is found by: its pieces, made before a transaction, and the vectors that follow."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from engram.embed import Refused, vocabulary
from engram.model import KIND_PROMPT, Memory
from engram.rules import analyse, chunk, rank
from engram.rules.tokens import WordPiece
from engram.store import chunks
from engram.store.base import Facets

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from engram.embed import Embedder
    from engram.store.base import Tx
    from engram.store.chunks import Piece, Unembedded
    from engram.store.merges import ChunkSpan

log = logging.getLogger(__name__)
_pieces: list[WordPiece] = []


def tokens() -> WordPiece:
    """The token counter of the packaged vocabulary, loaded at first use."""
    if not _pieces:
        _pieces.append(WordPiece(vocabulary()))
    return _pieces[0]


def facets_of(memory: Memory) -> Facets:
    """What the indexes know of a memory."""
    return Facets(
        library_id=memory.library_id,
        namespace_id=memory.namespace_id,
        place=KIND_PROMPT if memory.kind == KIND_PROMPT else memory.scope,
        kind=memory.kind,
        memory_type=memory.memory_type,
    )


def cut(embedder: Embedder, *, title: str, concept: str, topic_key: str, body: str) -> list[Piece]:
    """The pieces of a text: where each stands, its index terms, whether the model can read it."""
    prefix = f"{title} {concept}".strip()
    keys = f"{topic_key} {concept}".strip()
    (title_terms, title_words), (key_terms, key_words) = analyse.read(title), analyse.read(keys)
    found: list[Piece] = []
    for span in chunk.split(body, count_tokens=tokens().pieces, prefix=prefix):
        text = body[span.start : span.end]
        body_terms, body_words = analyse.read(text)
        found.append(
            chunks.Piece(
                first_char=span.start,
                last_char=span.end,
                length=analyse.weighted_length(title_words, body_words, key_words),
                flags=chunk.flags(text),
                terms=rank.pack(analyse.term_weights(title_terms, body_terms, key_terms)),
                title=" ".join(title_terms),
                body=" ".join(body_terms),
                keys=" ".join(key_terms),
                is_readable=embedder.can_read(f"{title} {text}"),
            )
        )
    return found


def cut_memory(embedder: Embedder, memory: Memory) -> list[Piece]:
    """The pieces of a stored memory, for a move, a restore or a rebuild."""
    return cut(embedder, title=memory.title, concept=memory.concept, topic_key=memory.topic_key or "", body=memory.body)


def words_of(memory: Memory, spans: Sequence[ChunkSpan]) -> list[tuple[int, Piece]]:
    """The index terms of a memory's chunks as they stand, by chunk id: for a move, which leaves the text alone."""
    keys = " ".join(analyse.index_terms(f"{memory.topic_key or ''} {memory.concept}".strip()))
    title = " ".join(analyse.index_terms(memory.title))
    found: list[tuple[int, Piece]] = []
    for span in spans:
        body = " ".join(analyse.index_terms(memory.body[span.first_char : span.last_char]))
        piece = chunks.Piece(
            first_char=span.first_char,
            last_char=span.last_char,
            length=span.length,
            flags=0,  # the row keeps its own, and its terms
            terms="",
            title=title,
            body=body,
            keys=keys,
            is_readable=False,
        )
        found.append((span.id, piece))
    return found


def replace_chunks(tx: Tx, memory_id: str, *, was: Facets | None, now: Facets, pieces: Sequence[Piece]) -> list[int]:
    """Put a memory's new chunks in the place of the old ones; returns their ids."""
    if was is not None:
        chunks.delete(tx, chunks.ids_of(tx, library_id=was.library_id, memory_id=memory_id))
    return chunks.insert(tx, memory_id=memory_id, facets=now, pieces=pieces)


def embed(embedder: Embedder, item: Unembedded) -> np.ndarray | None:
    """The vector of a chunk, from the one canonical text; None where the model can't read it or refuses it.

    Raises:
        Unavailable: the model is not there.
    """
    if not embedder.can_read(f"{item.title} {item.text}"):  # it waits since another model could
        return None
    try:
        return _vector(embedder, item)
    except Refused as error:
        log.warning("a chunk is found by its words alone: %s", error, extra={"chunk_id": item.chunk_id})
        return None


def _vector(embedder: Embedder, item: Unembedded) -> np.ndarray:
    return embedder.embed_passage(chunk.embedding_text(title=item.title, concept=item.concept, piece=item.text))
