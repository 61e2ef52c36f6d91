"""Embedders from outside: their answers, their failures, and the time that they get."""

import json
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from orchestrator.adapters.embedding.embedders import (
    EndpointEmbedder,
    LocalEmbedder,
    TimedSimilarity,
    make_embedder,
)
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import EmbedderUnavailable, UsageError
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import CardSimilarity, EmbeddedCards
from orchestrator.routing.sparse_index import Floats
from orchestrator.runtime.defaults import default_routers
from orchestrator.settings import Settings
from tests.fakes import MemorySecrets


@dataclass
class Endpoint:
    """What the endpoint answers, and what it was asked."""

    port: int = 0
    status: int = 200
    body: bytes | None = None
    location: str = ""
    slow: threading.Event | None = None
    seen: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


def _vector(text: str) -> list[float]:
    """Letters counted: near texts have near vectors."""
    return [float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """An OpenAI-compatible endpoint on loopback."""
    told = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            told.seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}, asked))
            if told.slow:
                told.slow.wait(10)
            rows = [{"index": i, "embedding": _vector(t)} for i, t in enumerate(asked["input"])]
            body = told.body or json.dumps({"data": rows[::-1]}).encode()
            self.send_response(told.status)
            if told.location:
                self.send_header("location", told.location)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    told.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield told
    if told.slow:
        told.slow.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def embedder(endpoint: Endpoint) -> EndpointEmbedder:
    return EndpointEmbedder(endpoint.url, "small", MemorySecrets({"embedder_token": "k-123"}))


def test_an_endpoint_gives_a_vector_for_each_text(
    endpoint: Endpoint, embedder: EndpointEmbedder
) -> None:
    """In the order of the texts, whatever the order of the answer; with model and key."""
    vectors = embedder.embed(["abba", "cab"])

    assert vectors.tolist() == [_vector("abba"), _vector("cab")]
    ((path, headers, asked),) = endpoint.seen
    assert path == "/v1/embeddings"
    assert headers["authorization"] == "Bearer k-123"
    assert asked == {"model": "small", "input": ["abba", "cab"], "encoding_format": "float"}


def test_an_endpoint_without_a_key_gets_none(endpoint: Endpoint) -> None:
    """One of the own network wants none."""
    keyless = EndpointEmbedder(endpoint.url, "small", MemorySecrets())
    keyless.embed(["a"])

    assert "authorization" not in endpoint.seen[0][1]


@pytest.mark.parametrize("status", [401, 404, 429, 500, 503])
def test_a_refusal_is_no_answer(
    endpoint: Endpoint, embedder: EndpointEmbedder, status: int
) -> None:
    """The status is told, and nothing of the body."""
    endpoint.status, endpoint.body = status, b"the key k-123 is wrong"

    with pytest.raises(EmbedderUnavailable) as caught:
        embedder.embed(["a"])
    assert caught.value.reason == f"it answered {status}"


def test_a_redirect_to_another_host_is_not_followed(
    endpoint: Endpoint, embedder: EndpointEmbedder
) -> None:
    """Only the declared host sees the texts and the key."""
    endpoint.status, endpoint.location = 307, f"http://localhost:{endpoint.port}/v1/embeddings"

    with pytest.raises(EmbedderUnavailable, match="it answered 307"):
        embedder.embed(["a"])
    assert len(endpoint.seen) == 1


def test_no_proxy_of_the_environment_sees_the_texts(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HTTP_PROXY and its kin are not read."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    direct = EndpointEmbedder(endpoint.url, "small", MemorySecrets())

    assert direct.embed(["a"]).shape == (1, 26)


@pytest.mark.parametrize(
    "body",
    [
        b"no json",
        b"[]",
        b'{"data": 3}',
        b'{"data": [{"embedding": [1]}]}',
        b'{"data": [{"index": 1, "embedding": [1]}]}',
        b'{"data": []}',
        b'{"data": [{"index": 0, "embedding": "AAAA"}]}',
    ],
)
def test_what_is_no_embedding_is_no_answer(
    endpoint: Endpoint, embedder: EndpointEmbedder, body: bytes
) -> None:
    """Whatever an endpoint sends."""
    endpoint.body = body

    with pytest.raises(EmbedderUnavailable, match="something else than embeddings"):
        embedder.embed(["a"])


def test_nobody_there_is_no_answer() -> None:
    """The kind of error, and nothing of the text."""
    nobody = EndpointEmbedder("http://127.0.0.1:9/v1", "small", MemorySecrets())

    with pytest.raises(EmbedderUnavailable) as caught:
        nobody.embed(["secret words"])
    assert caught.value.reason == "ConnectError"


def test_a_slow_endpoint_does_not_hold_a_request(
    endpoint: Endpoint, embedder: EndpointEmbedder
) -> None:
    """The other features decide, in time, and the selection says why."""
    catalog = Catalog.from_functions(
        [{"name": "get_weather", "description": "The weather."}, {"name": "pay_bill"}]
    )
    similarity = TimedSimilarity(lambda: EmbeddedCards(catalog, embedder), timeout_s=0.05)
    similarity.wait()
    endpoint.slow = threading.Event()

    selection = Router(catalog, similarity=similarity).route("what is the weather")

    assert selection.tools[0] == "get_weather"
    assert selection.embedder == "no answer in 50 ms"


@pytest.mark.usefixtures("frozen")
def test_a_worker_embeds_its_cards_once_for_all_its_starts(
    endpoint: Endpoint, shipped: Catalog, tmp_path: Any
) -> None:
    """By settings alone: the vectors of cards are kept in the state directory."""
    settings = Settings(
        embedder=f"{endpoint.url}#small", state_dir=tmp_path, embedder_timeout_ms=5_000
    )
    for _ in range(2):
        router = default_routers(settings)(shipped)
        until = time.monotonic() + 60
        while router.route("weather in Oslo").embedder != "used":
            assert time.monotonic() < until
            time.sleep(0.01)

    texts = [text for _, _, asked in endpoint.seen for text in asked["input"]]
    assert len(texts) == len(shipped) + 2


@pytest.mark.parametrize(
    "named",
    ["", "local:", "minilm", "ftp://h/v1#m", "http://h/v1", "http:///v1#m", "https://u:p@h/v1#m"],
)
def test_what_is_no_embedder_is_refused_in_a_sentence(named: str) -> None:
    """With the way to name one, and no password in it."""
    with pytest.raises(UsageError, match="embedder") as caught:
        make_embedder(named, MemorySecrets())
    assert "u:p" not in str(caught.value)


def test_the_setting_tells_the_two_kinds_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """And so do the names under which vectors are kept."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", _library())

    local = make_embedder("local:mini", MemorySecrets())
    distant = make_embedder("https://host/v1#mini", MemorySecrets())

    assert (local.name, distant.name) == ("local:mini", "https://host/v1#mini")


def test_a_local_model_without_the_extra_is_refused_with_the_way_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """When the worker is built, in one line."""
    monkeypatch.setattr("orchestrator.adapters.embedding.embedders.find_spec", lambda name: None)

    with pytest.raises(UsageError) as caught:
        default_routers(Settings(embedder="local:all-MiniLM-L6-v2"))
    assert str(caught.value) == (
        "embedding with a local model needs the embedder extra: "
        "pip install 'orchestrator-missions[embedder]'"
    )


def _library(model: Any = None) -> ModuleType:
    """A stand-in for sentence-transformers, as far as it is used."""
    library = ModuleType("sentence_transformers")
    library.__spec__ = __spec__
    library.SentenceTransformer = model  # type: ignore[attr-defined]  # a module of ours
    return library


def test_a_local_model_is_loaded_once_and_when_it_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By its name."""
    loaded: list[str] = []

    class Model:
        def __init__(self, name: str) -> None:
            loaded.append(name)

        def encode(self, texts: list[str], *, show_progress_bar: bool) -> list[list[float]]:
            assert not show_progress_bar
            return [_vector(text) for text in texts]

    monkeypatch.setitem(sys.modules, "sentence_transformers", _library(Model))
    local = LocalEmbedder("mini")
    assert loaded == []

    assert np.array_equal(local.embed(["ab"]), np.array([_vector("ab")], dtype=np.float32))
    local.embed(["c"])
    assert loaded == ["mini"]


@pytest.mark.parametrize("error", [OSError("no such model"), ValueError(), RuntimeError()])
def test_a_local_model_that_cannot_be_loaded_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """The other features decide."""

    def fails(name: str) -> None:
        raise error

    monkeypatch.setitem(sys.modules, "sentence_transformers", _library(fails))

    with pytest.raises(EmbedderUnavailable, match="in the local model"):
        LocalEmbedder("mini").embed(["a"])


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


def test_an_answer_in_time_is_passed_on(timed: TimedSimilarity) -> None:
    """As it is."""
    assert timed.of(["a", "b"]).shape == (2, 1)


def test_a_late_answer_is_not_waited_for_and_the_embedder_rests(
    timed: TimedSimilarity, cards: Cards, clock: Clock
) -> None:
    """The next request asks nothing; after the rest, one does."""
    cards.go.clear()
    with pytest.raises(EmbedderUnavailable, match="no answer in 50 ms"):
        timed.of(["a"])
    cards.go.set()
    with pytest.raises(EmbedderUnavailable, match="a moment ago"):
        timed.of(["a"])
    assert cards.asked == 1

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
