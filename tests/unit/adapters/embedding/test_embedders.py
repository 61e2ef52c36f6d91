"""Embedders from outside: the time that they get."""

import threading
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from orchestrator.adapters.embedding.embedders import TimedSimilarity
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import EmbedderUnavailable
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import CardSimilarity, EmbeddedCards, Vectors
from orchestrator.routing.sparse_index import Floats


class Letters:
    """Counts letters, at once or when it is let go."""

    name = "letters"

    def __init__(self) -> None:
        self.go = threading.Event()
        self.go.set()

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.go.wait(10)
        rows = [[t.lower().count(letter) for letter in "abcdefghijklmnop"] for t in texts]
        return np.array(rows, dtype=np.float32)


def test_a_slow_embedder_does_not_hold_a_request() -> None:
    """The other features decide, in time, and the selection says why."""
    embedder = Letters()
    catalog = Catalog.from_functions(
        [{"name": "get_weather", "description": "The weather."}, {"name": "pay_bill"}]
    )
    similarity = TimedSimilarity(lambda: EmbeddedCards(catalog, embedder), timeout_s=0.05)
    similarity.wait()
    embedder.go.clear()

    selection = Router(catalog, similarity=similarity).route("what is the weather")
    embedder.go.set()

    assert selection.tools[0] == "get_weather"
    assert selection.embedder == "no answer in 50 ms"


class Cards:
    """Answers at once, or when it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.go.set()
        self.error: Exception | None = None
        self.asked = 0

    def of(self, texts: Sequence[str]) -> Floats:
        self.asked += 1
        self.go.wait(10)
        if self.error:
            raise self.error
        return np.ones((len(texts), 1))


class Clock:
    """A clock that is set by hand."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def cards() -> Iterator[Cards]:
    made = Cards()
    yield made
    made.go.set()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def timed(cards: Cards, clock: Clock) -> TimedSimilarity:
    similarity = TimedSimilarity(lambda: cards, timeout_s=0.05, rest_s=10, clock=clock)
    similarity.wait()
    return similarity


def test_a_late_answer_is_not_waited_for_and_the_embedder_rests(
    timed: TimedSimilarity, cards: Cards, clock: Clock
) -> None:
    """The next request asks nothing; after the rest, one does. One in time is passed on."""
    assert timed.of(["a", "b"]).shape == (2, 1)
    cards.go.clear()
    with pytest.raises(EmbedderUnavailable, match="no answer in 50 ms"):
        timed.of(["a"])
    cards.go.set()
    with pytest.raises(EmbedderUnavailable, match="a moment ago"):
        timed.of(["a"])
    assert cards.asked == 2

    clock.seconds = 10.0
    assert timed.of(["a"]).shape == (1, 1)


@pytest.mark.parametrize("error", [EmbedderUnavailable("it answered 503"), ValueError("503")])
def test_a_failure_rests_too(timed: TimedSimilarity, cards: Cards, error: Exception) -> None:
    """With its own reason first."""
    cards.error = error
    with pytest.raises(type(error), match="503"):
        timed.of(["a"])
    with pytest.raises(EmbedderUnavailable, match="a moment ago"):
        timed.of(["a"])


def test_until_the_cards_are_embedded_nothing_is_waited_for(clock: Clock) -> None:
    """A large catalog takes minutes; its requests do not."""
    go = threading.Event()

    def prepare() -> CardSimilarity:
        go.wait(10)
        return Cards()

    similarity = TimedSimilarity(prepare, clock=clock)
    with pytest.raises(EmbedderUnavailable, match="the cards are being embedded"):
        similarity.of(["a"])
    go.set()
    similarity.wait()
    assert similarity.of(["a"]).shape == (1, 1)


def test_cards_that_could_not_be_embedded_are_tried_again_after_the_rest(clock: Clock) -> None:
    """An endpoint that was down when the worker started is found when it comes up."""
    tries: list[int] = []

    def prepare() -> CardSimilarity:
        tries.append(len(tries))
        if len(tries) == 1:
            raise EmbedderUnavailable("ConnectError")
        return Cards()

    similarity = TimedSimilarity(prepare, rest_s=10, clock=clock)
    similarity.wait()
    with pytest.raises(EmbedderUnavailable, match="ConnectError"):
        similarity.of(["a"])

    similarity.wait()
    clock.seconds = 10.0
    assert similarity.of(["a"]).shape == (1, 1)
