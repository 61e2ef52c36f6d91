"""Vectors as one more feature: what they add, and that nothing depends on them."""

from collections.abc import Sequence
from inspect import cleandoc
from itertools import chain, repeat
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import EmbedderUnavailable
from orchestrator.routing.learning.trace import record_of
from orchestrator.routing.profile import FeatureWeights, RoutingProfile
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import (
    EmbeddedCards,
    Embedder,
    Vectors,
    closeness,
)
from orchestrator.routing.sparse_index import Floats

MEANINGS = (
    {"crash", "sleep", "hotel", "room", "stay"},
    {"grub", "food", "restaurant", "meal", "eat"},
    {"wheels", "car", "drive", "rental"},
)


class Meanings:
    """A deterministic embedder: one dimension for each of a few meanings, and one for the rest."""

    def __init__(self, name: str = "meanings") -> None:
        self.name = name
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked.append(list(texts))
        rows = []
        for text in texts:
            words = set(text.lower().replace(".", " ").split())
            rows.append([*(float(len(words & m)) for m in MEANINGS), 0.1])
        return np.array(rows, dtype=np.float32)


class Broken:
    """A similarity that fails as it is told to."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def of(self, texts: Sequence[str]) -> Floats:
        raise self._error


@pytest.fixture(scope="module")
def near(shipped: Catalog) -> EmbeddedCards:
    """The shipped cards by their meanings."""
    return EmbeddedCards(shipped, Meanings())


def test_words_that_no_tool_has_are_found_by_their_meaning(
    shipped: Catalog, near: EmbeddedCards
) -> None:
    """Nothing here says "crash"; with vectors the hotels come, without them that nothing fits."""
    text = "crash in Porto"

    blind = Router(shipped).route(text)
    assert blind.tools == blind.padding
    assert not blind.fits
    found = Router(shipped, similarity=near).route(text)
    assert any(name.startswith("hotel_") for name in found.tools)
    assert found.embedder == "used"
    assert found.headers["x-orqen-embedder"] == "used"


def test_nearness_is_a_feature_like_any_other(shipped: Catalog, near: EmbeddedCards) -> None:
    """In the table that --explain prints, with a weight of its own: 0 leaves it out."""
    text = "find me a hotel in Porto"
    off = RoutingProfile(weights=FeatureWeights(embedding=0))
    (_, table), *_ = Router(shipped, similarity=near).explain(text).tables
    (_, without), *_ = Router(shipped, profile=off, similarity=near).explain(text).tables

    row = table.rows(1)[0]
    assert float(row["embedding"]) > 0.5
    assert table.fused[0] != without.fused[without.names.index(str(row["tool"]))]
    plain = Router(shipped).route(text)
    assert Router(shipped, profile=off, similarity=near).route(text).tools == plain.tools


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (EmbedderUnavailable("no answer in 30 ms"), "no answer in 30 ms"),
        (RuntimeError("crash in Porto"), "RuntimeError in the embedder"),
        (MemoryError(), "MemoryError in the embedder"),
    ],
)
def test_an_embedder_that_fails_leaves_the_other_features_to_decide(
    shipped: Catalog, error: Exception, said: str
) -> None:
    """The same tools as without it, no fail-open, and the reason in selection, header, record."""
    text = "find a hotel in Porto and book a table for two"
    selection = Router(shipped, similarity=Broken(error)).route(text)

    plain = Router(shipped).route(text)
    assert (plain.embedder, record_of(plain).embedder) == ("", "")
    assert "x-orqen-embedder" not in plain.headers
    assert selection == plain.model_copy(update={"embedder": said})
    assert selection.headers["x-orqen-embedder"] == "left_out"
    assert record_of(selection).embedder == said


def test_vectors_of_another_length_are_no_vectors(shipped: Catalog) -> None:
    """A model that was changed behind the endpoint is left out, not trusted."""

    class Changing(Meanings):
        def embed(self, texts: Sequence[str]) -> Vectors:
            width = 4 if not self.asked else 5
            self.asked.append(list(texts))
            return np.ones((len(texts), width), dtype=np.float32)

    small = Catalog.from_functions([{"name": "a", "description": "b"}])
    selection = Router(small, similarity=EmbeddedCards(small, Changing())).route("a b")

    assert selection.embedder == "vectors of another length than those of the cards"
    assert selection.band != "fail_open"


@pytest.mark.parametrize(
    "vectors",
    [np.zeros(3), np.zeros((1, 3)), np.array([[1.0], [np.nan]]), np.array([[1.0], [np.inf]])],
)
def test_what_is_no_vector_for_each_card_is_refused(vectors: Vectors) -> None:
    """Too few, of the wrong shape, or no numbers."""

    class Wrong(Meanings):
        def embed(self, texts: Sequence[str]) -> Vectors:
            return vectors

    two = Catalog.from_functions([{"name": "a"}, {"name": "b"}])
    with pytest.raises(EmbedderUnavailable, match="a vector for each text"):
        EmbeddedCards(two, Wrong())


def test_a_text_is_embedded_once() -> None:
    """The steps of a leg route the same words again and again."""
    embedder = Meanings()
    small = Catalog.from_functions([{"name": "book_hotel"}])
    cards = EmbeddedCards(small, embedder)

    first, second = cards.of(["a hotel", "a car"]), cards.of(["a car", "a hotel"])

    assert embedder.asked[1:] == [["a hotel", "a car"]]
    assert np.array_equal(first, second[::-1])


@pytest.mark.parametrize("size", [3, 17, 1001])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_equal_cards_are_equally_near(size: int, count: int) -> None:
    """Wherever in the catalog they stand, and however many texts are asked about at once."""

    class Random:
        name = "random"

        def embed(self, texts: Sequence[str]) -> Vectors:
            seeds = [len(text) for text in texts]
            return np.stack([np.random.default_rng(s).normal(size=128) for s in seeds])

    same = [{"name": f"t{n:04d}", "description": "b"} for n in range(size)]
    near = EmbeddedCards(Catalog.from_functions(same), Random())

    assert (np.ptp(near.of(["x" * n for n in range(1, count + 1)]), axis=1) == 0).all()


def test_an_empty_catalog_has_no_near_card() -> None:
    """Nothing is asked of the embedder."""
    embedder = Meanings()
    empty = Catalog.from_functions([])
    selection = Router(empty, similarity=EmbeddedCards(empty, embedder)).route("a hotel")

    assert selection.tools == ()
    assert embedder.asked == []


def test_time_the_embedder_took_counts(shipped: Catalog, near: EmbeddedCards) -> None:
    """One that takes more than the router has left ends in fail-open, named as that stage."""
    ticks = chain([0.0, 0.01], repeat(0.06))
    selection = Router(shipped, clock=lambda: next(ticks), similarity=near).route("a hotel")

    assert selection.band == "fail_open"
    assert selection.reason == "took over 50 ms, up to embedding"


def test_the_documented_embedder_is_one(shipped: Catalog) -> None:
    """What the protocol's docstring shows serves a router as it stands."""
    code = cleandoc(Embedder.__doc__ or "").split("```")[1].removeprefix("python")
    scope: dict[str, Any] = {"np": np}
    exec(code, scope)
    near = EmbeddedCards(shipped, scope["HashedLetters"]())

    assert Router(shipped, similarity=near).route("a flight to Rome").embedder == "used"


@given(st.lists(st.floats(-1, 1), max_size=30))
@example([0.0, 5e-324, -1.0])
def test_closeness_is_one_for_the_nearest_and_never_beyond(cosines: list[float]) -> None:
    """In [-1, 1], order kept; all zero when no card stands out."""
    found = closeness(np.array(cosines, dtype=np.float64))

    assert (np.abs(found) <= 1).all()
    assert (np.diff(found[np.argsort(cosines, kind="stable")]) >= 0).all()
    stands_out = max(cosines, default=0.0) - float(np.median(cosines or [0.0]))
    if stands_out > 1e-6:
        assert found.max() == 1.0
    if stands_out < 1e-8:
        assert not found.any()
