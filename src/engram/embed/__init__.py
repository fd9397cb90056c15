"""Models that turn text into vectors, behind one protocol."""

from engram.embed.packaged import PackagedEmbedder, tokenizer_path, vocabulary
from engram.embed.protocol import Embedder, Encoder

__all__ = ["Embedder", "Encoder", "PackagedEmbedder", "tokenizer_path", "vocabulary"]
