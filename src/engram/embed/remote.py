"""A model behind an OpenAI-compatible URL (Ollama, vLLM, LM Studio, OpenAI): ``POST {url}/embeddings``.

The dimension and the curve of such a model are not known before it was asked: the first text that it embeds is
preceded by the shipped pairs, and whoever made this embedder is told the result once, to keep it.
"""

from __future__ import annotations

import json
import math
import random
import time
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from threading import Lock
from typing import TYPE_CHECKING, NoReturn, cast

from engram.embed.calibrate import curve_of, texts
from engram.embed.protocol import Refused
from engram.errors import Unavailable
from engram.rules.curve import Curve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import httpx2
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

CONNECT_S = 5.0
RETRIED = frozenset({408, 429, 500, 502, 503, 504})
TOO_MUCH = frozenset({400, 413, 422})  # what servers say to a text that is too long for them
BACKOFF_S = 0.5  # before the second try; doubled each time, with jitter
QUIET_S = 5.0  # after a failure nobody is kept waiting for the next one so long
PAIRS_A_REQUEST = 16
ANSWER_BYTES_MAX = 64 * 1_048_576
TOKENS = 512  # of a chunk; what the model itself can read is not told
UNKNOWN_CURVE = Curve(((0.0, 0.0), (1.0, 1.0)))  # stands where there is no vector to use it on


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a caller waits."""

    tries: int
    seconds: float  # for all tries together


QUESTION = Patience(tries=2, seconds=5.0)  # somebody waits for the search
WORK = Patience(tries=4, seconds=90.0)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was found out about a model by asking it."""

    dim: int
    curve: Curve


@dataclass(frozen=True, slots=True)
class Address:
    """Where a model answers. The key is shown nowhere."""

    url: str  # without a slash at the end
    model: str
    key: str

    @property
    def origin(self) -> str:
        """Scheme and host, for messages."""
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{rest.partition('/')[0]}"

    def __repr__(self) -> str:
        return f"Address({self.model!r} at {self.origin})"


class RemoteEmbedder:
    """A model behind a URL as an ``Embedder``."""

    tokens_max = TOKENS

    def __init__(
        self, address: Address, *, model_id: str, known: Measured | None, keep: Callable[[Measured], Measured]
    ) -> None:
        """Ask nobody yet.

        Args:
            address: Where the model answers.
            model_id: Its id in the database.
            known: What an earlier process measured.
            keep: Called once with what this one measured; returns what holds from then on.
        """
        self.model_id = model_id
        self._address = address
        self._known = known
        self._keep = keep
        self._lock = Lock()
        self._measuring = Lock()
        self._client: httpx2.Client | None = None
        self._quiet: tuple[float, Unavailable] | None = None  # until when, and what is said meanwhile

    def __repr__(self) -> str:
        return f"RemoteEmbedder({self._address!r})"

    @property
    def dim(self) -> int:
        """Numbers in a vector; 0 until the model was asked."""
        return self._known.dim if self._known else 0

    @property
    def curve(self) -> Curve:
        return self._known.curve if self._known else UNKNOWN_CURVE

    @property
    def is_loaded(self) -> bool:
        return self._known is not None

    def embed_passage(self, text: str) -> Vector:
        """The vector of a text that is kept: shape (dim,), length 1.

        Raises:
            Refused: the server takes other texts, but not this one.
            Unavailable: it does not answer, or not with vectors.
        """
        return self._embed(text, WORK)

    def embed_query(self, text: str) -> Vector:
        """The vector of a question; some seconds are waited for it."""
        return self._embed(text, QUESTION)

    def can_read(self, text: str) -> bool:
        """Whether there is a letter: what scripts the model knows is not told."""
        return any(map(str.isalpha, text))

    def load(self) -> None:
        """Measure the model, unless that was done before.

        Raises:
            Unavailable: it does not answer, or not with vectors.
        """
        self._ready()

    def drop(self) -> None:
        """Close the connections."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _embed(self, text: str, patience: Patience) -> Vector:
        dim = self._ready().dim
        (vector,) = self._ask([text], patience)
        if len(vector) != dim:
            raise self._wrong(f"a vector of {len(vector)} numbers instead of {dim}")
        return vector

    def _ready(self) -> Measured:
        if self._known is None:
            with self._measuring:  # others wait for the same result
                if self._known is None:
                    self._known = self._kept(self._measure())
        return self._known

    def _kept(self, measured: Measured) -> Measured:
        try:
            return self._keep(measured)
        except Unavailable as error:  # a model that the database can't take is not measured for each text anew
            self._quiet = (time.monotonic() + error.retry_after, error)
            raise

    def _measure(self) -> Measured:
        asked = texts()
        vectors: dict[str, Vector] = {}
        for start in range(0, len(asked), PAIRS_A_REQUEST):
            batch = asked[start : start + PAIRS_A_REQUEST]
            vectors.update(zip(batch, self._ask(batch, WORK), strict=True))
        dims = {len(vector) for vector in vectors.values()}
        if len(dims) != 1:
            raise self._wrong("vectors of different lengths")
        return Measured(dims.pop(), curve_of(_Asked(vectors)))

    def _ask(self, batch: Sequence[str], patience: Patience) -> list[Vector]:
        """The vectors of some texts, in their order.

        Raises:
            Unavailable: after the last try, or at once where another would not help.
        """
        quiet = self._quiet
        if quiet is not None and time.monotonic() < quiet[0]:
            raise Unavailable(str(quiet[1]), hint=quiet[1].hint, retry_after=quiet[0] - time.monotonic())
        try:
            return self._read(self._post(batch, patience), len(batch))
        except Refused:
            raise
        except Unavailable as error:
            self._quiet = (time.monotonic() + min(error.retry_after, QUIET_S), error)
            raise

    def _post(self, batch: Sequence[str], patience: Patience) -> bytes:
        until = time.monotonic() + patience.seconds
        tried = 0
        while True:
            tried += 1
            status, body, told_s = self._try(batch, until)
            if status == 200:
                return body
            if status in TOO_MUCH and len(batch) == 1 and self._takes_others(batch[0], until):
                raise Refused(f"{self._address.origin} does not take this text (status {status})")
            wait_s = max(told_s, BACKOFF_S * 2 ** (tried - 1) * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
            is_worth_it = status == 0 or status in RETRIED
            if not is_worth_it or tried >= patience.tries or time.monotonic() + wait_s >= until:
                self._fail(status, told_s)
            time.sleep(wait_s)

    def _try(self, batch: Sequence[str], until: float) -> tuple[int, bytes, float]:
        """(status, body, seconds to wait that the server named); status 0: no answer in time.

        The body is read against the clock: a server that sends a byte now and then holds nobody for ever.
        """
        import httpx2  # noqa: PLC0415 - 80 ms that only a remote model is worth

        sent = {"model": self._address.model, "input": list(batch)}
        left = max(0.1, until - time.monotonic())
        timeout = httpx2.Timeout(left, connect=min(CONNECT_S, left))
        body = bytearray()
        try:
            with self._open().stream("POST", "embeddings", json=sent, timeout=timeout) as answer:
                for part in answer.iter_bytes():
                    body += part
                    if len(body) > ANSWER_BYTES_MAX:
                        raise self._wrong("an answer without end")
                    if time.monotonic() > until:
                        return 0, b"", 0.0
                return answer.status_code, bytes(body), _seconds(answer.headers.get("retry-after", ""))
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, RuntimeError):  # closed by drop: RuntimeError
            return 0, b"", 0.0

    def _open(self) -> httpx2.Client:
        import httpx2  # noqa: PLC0415 - as above

        with self._lock:
            if self._client is None:
                headers = {"Authorization": f"Bearer {self._address.key}"} if self._address.key else {}
                self._client = httpx2.Client(base_url=self._address.url + "/", headers=headers)
            return self._client

    def _takes_others(self, text: str, until: float) -> bool:
        """Whether it is the text that the server does not like, and not all that we send."""
        plain = "tea"
        return text != plain and self._try([plain], until)[0] == 200

    def _fail(self, status: int, told_s: float) -> NoReturn:
        where = self._address.origin
        if status == 0:
            raise Unavailable(f"{where} did not answer in time", hint="See whether it runs", retry_after=QUIET_S)
        hints = {
            401: "Set ENGRAM_EMBED_KEY to a key that it takes",
            403: "Set ENGRAM_EMBED_KEY to a key that it takes",
            404: "See whether it has this model, and whether the URL ends like /v1",
        }
        raise Unavailable(
            f"{where} answered with status {status}",
            hint=hints.get(status, "See its log; words are searched meanwhile"),
            retry_after=max(told_s, QUIET_S),
        )

    def _wrong(self, what: str) -> Unavailable:
        return Unavailable(
            f"{self._address.origin} answered with {what}",
            hint="See whether the URL and the name are those of an embedding model",
            retry_after=60.0,
        )

    def _read(self, body: bytes, count: int) -> list[Vector]:
        """The vectors of an answer, each of length 1.

        Raises:
            Unavailable: it holds something else.
        """
        import numpy as np  # noqa: PLC0415 - as above

        try:
            items = cast("list[dict[str, object]]", json.loads(body)["data"])
            order = sorted(range(len(items)), key=lambda i: cast("int", items[i].get("index", i)))
            places = sorted(cast("int", item.get("index", i)) for i, item in enumerate(items))
            rows = [np.asarray(items[i]["embedding"], np.float64) for i in order]
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise self._wrong("something that is no list of embeddings") from error
        if places != list(range(count)):
            raise self._wrong(f"{len(items)} embeddings to {count} texts, or with odd numbers")
        found: list[Vector] = []
        for row in rows:
            length = float(np.linalg.norm(row)) if row.ndim == 1 and row.size else 0.0
            if not np.isfinite(length) or length == 0.0:
                raise self._wrong("a vector that has no direction")
            found.append((row / length).astype(np.float32))
        return found


@dataclass(frozen=True, slots=True)
class _Asked:
    """An encoder of texts that were embedded before; questions have no prefix of their own."""

    vectors: Mapping[str, Vector]

    def embed_passage(self, text: str) -> Vector:
        return self.vectors[text]

    embed_query = embed_passage


def _seconds(header: str) -> float:
    """A Retry-After, which is a number or a date, in seconds from now; nonsense counts as none."""
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, OverflowError):
            return 0.0
    return min(max(seconds, 0.0), 3_600.0) if math.isfinite(seconds) else 0.0


def as_address(url: str, model: str, key: str) -> Address:
    """An address, its URL tidied."""
    return replace(Address(url, model, key), url=url.rstrip("/"))
