"""Similarity by an embedder from outside, within a time limit: a slow one delays no request."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import Final, TypeVar

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import EmbedderUnavailable
from orchestrator.routing.scoring.embedding import CardSimilarity, EmbeddedCards, Embedder
from orchestrator.routing.sparse_index import Floats

_T = TypeVar("_T")

ANSWER_S: Final = 0.03
"""Default time that a request waits for vectors, in seconds; a proxy's limit is 0.05."""
REST_S: Final = 10.0
"""Pause after a failure of an embedder, in seconds."""


def similarity_by(
    embedder: Embedder, *, timeout_s: float = ANSWER_S
) -> Callable[[Catalog], "TimedSimilarity"]:
    """Return the similarity of a catalog's cards by an embedder, within a time limit."""
    return lambda catalog: TimedSimilarity(
        lambda: EmbeddedCards(catalog, embedder), timeout_s=timeout_s
    )


class TimedSimilarity:
    """Similarity to cards that are embedded in the background.

    It is unavailable until the cards are embedded, and for some time after a failure. A vector that
    arrives too late is used by the next step of its leg.
    """

    def __init__(
        self,
        prepare: Callable[[], CardSimilarity],
        *,
        timeout_s: float = ANSWER_S,
        rest_s: float = REST_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin to embed the cards by `prepare`, which may take minutes.

        Each request waits for `timeout_s`; after a failure there is none for `rest_s`.
        """
        self._prepare = prepare
        self._timeout_s = timeout_s
        self._rest_s = rest_s
        self._clock = clock
        self._lock = threading.Lock()
        self._resting_until = 0.0
        self._preparing = _in_background(prepare)

    def of(self, texts: Sequence[str]) -> Floats:
        """Return cosines, shape (n_texts, n_cards).

        Raises:
            EmbedderUnavailable: the cards are not embedded yet, or there is no answer in time.
        """
        if self._clock() < self._resting_until:
            raise EmbedderUnavailable("it failed a moment ago")
        cards = self._prepared()
        try:
            return _in_background(lambda: cards.of(texts)).result(self._timeout_s)
        except TimeoutError as error:
            self._rest()
            raise EmbedderUnavailable(f"no answer in {self._timeout_s * 1000:g} ms") from error
        except Exception:  # re-raised to the router; here it only starts the pause
            self._rest()
            raise

    def wait(self) -> None:
        """Wait until the cards are embedded, or have failed."""
        wait([self._preparing])

    def _prepared(self) -> CardSimilarity:
        with self._lock:
            if not self._preparing.done():
                raise EmbedderUnavailable("the cards are being embedded")
            error = self._preparing.exception()
            if error is None:
                return self._preparing.result()
            self._preparing = _in_background(self._prepare)
        self._rest()
        reason = error.reason if isinstance(error, EmbedderUnavailable) else type(error).__name__
        raise EmbedderUnavailable(reason) from error

    def _rest(self) -> None:
        self._resting_until = self._clock() + self._rest_s


def _in_background(work: Callable[[], _T]) -> Future[_T]:
    """Run the work in a thread that does not prevent the process from exiting."""
    future: Future[_T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="embedder", daemon=True).start()
    return future
