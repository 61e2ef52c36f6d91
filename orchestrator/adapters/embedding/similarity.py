"""Similarity within a time limit: a slow or dead embedder costs a request next to nothing."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import Final, TypeVar

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import EmbedderUnavailable
from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.scoring.embedding import (
    CardSimilarity,
    EmbeddedCards,
    Embedder,
    VectorStore,
)

_T = TypeVar("_T")

ANSWER_S: Final = 0.03
"""How long a request waits for vectors, in seconds, unless told; a proxy's limit is 0.05."""
REST_S: Final = 10.0
"""How long an embedder that failed is left alone, in seconds."""


def similarity_by(
    embedder: Embedder, store: VectorStore, *, timeout_s: float = ANSWER_S
) -> Callable[[Catalog], "TimedSimilarity"]:
    """What sees the cards of a catalog as an embedder does, within a time limit."""
    return lambda catalog: TimedSimilarity(
        lambda: EmbeddedCards(catalog, embedder, store), timeout_s=timeout_s
    )


class TimedSimilarity:
    """Cards are embedded in the background; until they are, and after a failure, it is not there.

    A text whose vector comes too late is not asked for again: the next step of its leg has it.
    """

    def __init__(
        self,
        prepare: Callable[[], CardSimilarity],
        *,
        timeout_s: float = ANSWER_S,
        rest_s: float = REST_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin to embed the cards.

        Args:
            prepare: makes the similarity, which may take minutes.
            timeout_s: how long a request waits.
            rest_s: how long nothing is asked after a failure.
            clock: seconds from any origin.
        """
        self._prepare = prepare
        self._timeout_s = timeout_s
        self._rest_s = rest_s
        self._clock = clock
        self._lock = threading.Lock()
        self._resting_until = 0.0
        self._preparing = _in_background(prepare)

    def of(self, texts: Sequence[str]) -> Floats:
        """Cosines, shape (n_texts, n_cards).

        Raises:
            EmbedderUnavailable: the cards are not embedded yet, or there is no answer in time.
        """
        if self._clock() < self._resting_until:
            raise EmbedderUnavailable("it failed a moment ago")
        cards = self._prepared()
        return self._answer(_in_background(lambda: cards.of(texts)))

    def wait(self) -> None:
        """Return when the cards are embedded, or cannot be; `of` tells which."""
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

    def _answer(self, asked: Future[Floats]) -> Floats:
        try:
            return asked.result(self._timeout_s)
        except TimeoutError as error:
            self._rest()
            raise EmbedderUnavailable(f"no answer in {self._timeout_s * 1000:g} ms") from error
        except Exception:  # whatever it was, the router is told; here it only starts the rest
            self._rest()
            raise

    def _rest(self) -> None:
        self._resting_until = self._clock() + self._rest_s


def _in_background(work: Callable[[], _T]) -> Future[_T]:
    """What the work comes to, in a thread that no process waits for when it ends."""
    future: Future[_T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="embedder", daemon=True).start()
    return future
