"""Models that turn text into vectors, behind one protocol."""

from engram.embed.catalogue import Choice
from engram.embed.packaged import PackagedEmbedder, tokenizer_path, vocabulary
from engram.embed.protocol import Embedder, Encoder, Refused

__all__ = ["Choice", "Embedder", "Encoder", "PackagedEmbedder", "Refused", "tokenizer_path", "vocabulary"]
