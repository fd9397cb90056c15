"""What the engine asks of a model, whichever it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from engram.errors import Unavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engram.rules.curve import Curve


class Refused(Unavailable):
    """The model takes other texts, but not this one, today or ever."""


class Encoder(Protocol):
    """Turns texts into vectors of length 1, all of one model."""

    def embed_passage(self, text: str) -> NDArray[np.float32]:
        """The vector of a text that is kept: shape (dim,), length 1."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, to be compared with those of passages: shape (dim,), length 1."""
        ...


class Embedder(Encoder, Protocol):
    """A model that can be searched with: it knows its name, its limits and its curve.

    Every method may be called from any thread. Methods that need the model load it, unless it is loaded.
    """

    @property
    def model_id(self) -> str:
        """Stands beside each vector; two ids are never compared. Changes with whatever changes a vector."""
        ...

    @property
    def dim(self) -> int:
        """Numbers in a vector; 0 while that is not known yet."""
        ...

    @property
    def tokens_max(self) -> int:
        """Tokens that the model reads of a text; the rest has no influence on the vector."""
        ...

    @property
    def curve(self) -> Curve:
        """From a cosine of two of its vectors to a similarity."""
        ...

    @property
    def is_loaded(self) -> bool:
        """Whether the next text is embedded without a wait for the model."""
        ...

    def can_read(self, text: str) -> bool:
        """Whether a vector of this text would mean something; needs no loaded model."""
        ...

    def load(self) -> None:
        """Load the model now.

        Raises:
            Unavailable: the model is not there, does not start or does not answer.
        """
        ...

    def drop(self) -> None:
        """Give the model's memory back. The next text loads it again."""
        ...
