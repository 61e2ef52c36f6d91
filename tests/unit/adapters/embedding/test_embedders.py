"""Embedders: the time that those from outside get, and the built-in one, which is silent."""

import json
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.adapters.embedding import built_in
from orchestrator.adapters.embedding.built_in import (
    DIMENSIONS,
    BuiltInEmbedder,
    PieceCache,
    similarity_in_process,
)
from orchestrator.adapters.embedding.embedders import TimedSimilarity
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import EmbedderUnavailable
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import CardSimilarity, EmbeddedCards, Vectors, card_text
from orchestrator.routing.sparse_index import Floats
from orchestrator.runtime.defaults import default_routers
from orchestrator.settings import Settings


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


_LOADED = """
import json, logging, socket, sys
def refused(*args): raise AssertionError("a connection was tried")
socket.socket.connect = refused
from orchestrator.adapters.embedding.built_in import BuiltInEmbedder
before = [m for m in ("tokenizers", "safetensors") if m in sys.modules]
BuiltInEmbedder().embed(["a room for two"])
wanted = ("wordllama", "requests", "torch", "huggingface_hub", "transformers")
print(json.dumps([before, [m for m in wanted if m in sys.modules], logging.root.handlers]))
"""


def test_near_meanings_have_near_vectors() -> None:
    """Directions of length 1, whose product is the cosine."""
    request, near, far = BuiltInEmbedder().embed(
        ["how hot will it be", "forecast of the temperature", "refund a payment"]
    )

    assert request @ near > request @ far + 0.1
    assert np.isclose(np.linalg.norm(request), 1.0)
    assert request.dtype == np.float32


def test_nothing_is_loaded_before_a_text_comes_and_nothing_beside_it_then() -> None:
    """No module of its package, no HTTP client, no handler of logs, no connection."""
    ran = subprocess.run(
        [sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True
    )

    assert json.loads(ran.stdout) == [[], [], []]
    assert ran.stderr == ""


@pytest.mark.parametrize("text", ["", "   ", "\ud800", "\0", "🛫" * 50, "x" * 2_000_000])
def test_any_text_has_a_vector(text: str) -> None:
    """Finite, and only the beginning of an endless one is read."""
    vectors = BuiltInEmbedder().embed([text, "a flight"])

    assert vectors.shape == (2, DIMENSIONS)
    assert np.isfinite(vectors).all()
    if len(text) > 100:
        assert np.array_equal(vectors[0], BuiltInEmbedder().embed([text[:5_000]])[0])


def test_threads_share_one_model() -> None:
    """All read the same, whoever comes first."""
    texts = [f"a table for {n} in Lisbon" for n in range(40)]
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda text: BuiltInEmbedder().embed([text])[0], texts))

    assert np.array_equal(np.stack(rows), BuiltInEmbedder().embed(texts))
    assert len(built_in._loaded) == 1


def test_what_every_tool_says_counts_little() -> None:
    """The plain means of all are near each other; weighed, what is their own tells.

    The words of a catalog of one are as telling as those that it lacks, more or less.
    """
    alone = BuiltInEmbedder().weighed_by(["send an email"])
    request, card = alone.embed(["please send an email to Bob", "send an email"])
    assert request @ card > 0.5
    usual = "This endpoint returns a list of all the {} of the authenticated account."
    texts = [usual.format(noun) for noun in ("invoices", "dogs", "hotels", "songs") * 10]
    plain, weighed = BuiltInEmbedder(), BuiltInEmbedder().weighed_by(texts)

    (a, b), (c, d) = plain.embed(texts[:2]), weighed.embed(texts[:2])
    assert a @ b > 0.8
    assert c @ d < a @ b - 0.2
    assert weighed.name != plain.name
    assert weighed.name == BuiltInEmbedder().weighed_by(texts).name
    assert weighed.name != BuiltInEmbedder().weighed_by(texts[1:]).name


def test_a_new_version_of_a_catalog_reads_what_changed(
    shipped: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stayed is known by its text."""
    similarity = similarity_in_process()
    similarity(shipped)
    tools = dict(shipped.tools)
    name = next(iter(tools))
    tools[name] = tools[name].model_copy(update={"description": "Something else by now."})
    tokenizer, table = built_in._model()
    read: list[str] = []

    class Reading:
        def encode(self, text: str, **options: bool) -> Any:
            read.append(text)
            return tokenizer.encode(text, **options)

    monkeypatch.setattr(built_in, "_loaded", [(Reading(), table)])
    similarity(Catalog({}, tools))

    assert read == [card_text(tools[name])]


def test_texts_read_first_are_forgotten_first() -> None:
    """A worker that sees many catalogs does not grow without end."""
    kept = PieceCache(most=2)
    first = kept.of("a")
    for text in ("b", "c"):
        kept.of(text)

    assert len(kept) == 2
    assert np.array_equal(kept.of("a"), first)


def test_workers_route_with_it_unless_it_is_turned_off(shipped: Catalog, tmp_path: Path) -> None:
    """The selection says so, and no file of vectors is written."""
    with_vectors = default_routers(Settings(state_dir=tmp_path))(shipped)
    without = default_routers(Settings(state_dir=tmp_path, embedder="none"))(shipped)

    assert with_vectors.without_deadline().route("a hotel in Rome").embedder == "used"
    assert without.without_deadline().route("a hotel in Rome").embedder == ""
    assert list(tmp_path.iterdir()) == []


def test_without_its_files_requests_are_routed_all_the_same(
    shipped: Catalog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """And each selection says why it had no vectors."""
    monkeypatch.setattr(built_in, "_loaded", [])
    monkeypatch.setattr(built_in, "_PACKAGE", "no_such_package")
    caplog.set_level(logging.DEBUG)
    text = "a hotel in Rome"
    selection = Router(shipped, similarity=similarity_in_process()(shipped)).route(text)

    said = "the package no_such_package is not installed"
    assert selection == Router(shipped).route(text).model_copy(update={"embedder": said})
    assert selection.headers["x-orqen-embedder"] == "left_out"


def test_files_of_another_kind_are_no_vectors(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A package of that name with something else in it."""
    monkeypatch.setattr(built_in, "_loaded", [])
    monkeypatch.setattr(built_in, "_PIECES", "__init__.py")

    with pytest.raises(EmbedderUnavailable, match="in the files of wordllama"):
        BuiltInEmbedder().embed(["a"])


def test_each_word_finds_its_like_in_a_tool(shipped: Catalog) -> None:
    """A tool that has all words of a text has 1; one with a word near by more than one without."""
    cards = EmbeddedCards(shipped, BuiltInEmbedder())
    names = [*shipped.tools]
    rows = np.array([names.index(n) for n in ("flight_get_status", "weather_get_forecast")])
    found = cards.alike(["flight status", "rain", ""], rows)

    assert found is not None
    assert found[0, 0] == pytest.approx(1, abs=1e-5)
    assert found[1, 1] > found[1, 0]
    assert found[2].tolist() == [0, 0]
