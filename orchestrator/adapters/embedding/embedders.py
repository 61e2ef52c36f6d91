"""Embedders other than the built-in one, and similarity within a time limit.

An embedder is a sentence-transformers model in this process, or an OpenAI-compatible endpoint. A
slow or dead one delays a request very little.
"""

import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, TypeVar
from urllib.parse import urldefrag, urlsplit

import httpx
import numpy as np

from orchestrator.adapters.secrets import SecretStore, wire_logs_dropped
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import EmbedderUnavailable, SecretMissing, UsageError
from orchestrator.core.secret_names import EMBEDDER_TOKEN, variable_of
from orchestrator.core.shown_text import address_shown
from orchestrator.routing.scoring.embedding import (
    CardSimilarity,
    EmbeddedCards,
    Embedder,
    Vectors,
    VectorStore,
)
from orchestrator.routing.sparse_index import Floats

ENDPOINT_ANSWER_S: Final = 10.0
"""Time limit of an endpoint for one batch of cards, in seconds."""
LOCAL: Final = "local:"
"""Prefix of the name of a model in this process."""
_WANTED: Final = "name local:MODEL, or an endpoint as https://HOST/v1#MODEL"


def make_embedder(named: str, secrets: SecretStore) -> Embedder:
    """Return the embedder of a setting.

    Examples:
        local:all-MiniLM-L6-v2            a name that sentence-transformers knows, or a folder
        https://api.openai.com/v1#text-embedding-3-small
        http://127.0.0.1:8080/v1#bge-small-en-v1.5

    Raises:
        UsageError: it is neither, or the extra for local models is not installed.
    """
    if named.startswith(LOCAL) and len(named) > len(LOCAL):
        return LocalEmbedder(named.removeprefix(LOCAL))
    url, model = urldefrag(named)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not model:
        raise UsageError(f"{address_shown(named)!r} is no embedder: {_WANTED}")
    if parts.username or parts.password:
        raise UsageError(
            f"an embedder's URL holds no credentials: set {variable_of(EMBEDDER_TOKEN.name)}"
        )
    return EndpointEmbedder(url, model, secrets)


class LocalEmbedder:
    """A model of sentence-transformers, loaded with the first text."""

    def __init__(self, model: str) -> None:
        """Check that the library is installed.

        Raises:
            UsageError: the library is not installed.
        """
        if find_spec("sentence_transformers") is None:
            raise UsageError(
                "embedding with a local model needs the embedder extra: "
                "pip install 'orchestrator-missions[embedder]'"
            )
        self._name = model
        self._lock = threading.Lock()
        self._model: Any = None

    @property
    def name(self) -> str:
        """The model's name."""
        return f"{LOCAL}{self._name}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text.

        Raises:
            EmbedderUnavailable: the model cannot be loaded or run.
        """
        try:
            with self._lock:
                if self._model is None:
                    library = import_module("sentence_transformers")
                    self._model = library.SentenceTransformer(self._name)
                vectors = self._model.encode(list(texts), show_progress_bar=False)
        except (ImportError, OSError, ValueError, RuntimeError) as error:
            raise EmbedderUnavailable(f"{type(error).__name__} in the local model") from error
        return np.asarray(vectors, dtype=np.float32)


class EndpointEmbedder:
    """A client of POST {url}/embeddings of OpenAI, vLLM, Ollama or text-embeddings-inference.

    It calls only the host of the URL: redirects are not followed, and no proxy is read from the
    environment.
    """

    def __init__(self, url: str, model: str, secrets: SecretStore) -> None:
        """Store the options; no connection is opened yet."""
        self._url = url.rstrip("/")
        self._model = model
        self._secrets = secrets
        self._client = httpx.Client(
            follow_redirects=False, trust_env=False, timeout=ENDPOINT_ANSWER_S
        )
        # Routers are created and dropped with their catalogs, and none is closed.
        weakref.finalize(self, self._client.close)

    @property
    def name(self) -> str:
        """The endpoint and the model."""
        return f"{self._url}#{self._model}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text.

        Raises:
            EmbedderUnavailable: the endpoint does not answer, or not with embeddings.
        """
        wanted = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        try:
            with wire_logs_dropped():
                answer = self._client.post(
                    f"{self._url}/embeddings", json=wanted, headers=self._headers()
                )
        except httpx.HTTPError as error:
            raise EmbedderUnavailable(type(error).__name__) from error
        if answer.status_code != httpx.codes.OK:
            raise EmbedderUnavailable(f"it answered {answer.status_code}")
        return _vectors(answer, len(texts))

    def _headers(self) -> dict[str, str]:
        try:
            return {"Authorization": f"Bearer {self._secrets.get(EMBEDDER_TOKEN.name)}"}
        except SecretMissing:  # an endpoint in the operator's own network needs none
            return {}


def _vectors(answer: httpx.Response, count: int) -> Vectors:
    try:
        rows = sorted(answer.json()["data"], key=lambda row: row["index"])
        if [row["index"] for row in rows] != list(range(count)):
            raise ValueError("an index for each text is wanted")
        return np.array([row["embedding"] for row in rows], dtype=np.float32)
    except (ValueError, KeyError, TypeError) as error:
        raise EmbedderUnavailable("it answered something else than embeddings") from error


_T = TypeVar("_T")

ANSWER_S: Final = 0.03
"""Default time that a request waits for vectors, in seconds; a proxy's limit is 0.05."""
REST_S: Final = 10.0
"""Pause after a failure of an embedder, in seconds."""


def similarity_by(
    embedder: Embedder, store: VectorStore, *, timeout_s: float = ANSWER_S
) -> Callable[[Catalog], "TimedSimilarity"]:
    """Return the similarity of a catalog's cards by an embedder, within a time limit."""
    return lambda catalog: TimedSimilarity(
        lambda: EmbeddedCards(catalog, embedder, store), timeout_s=timeout_s
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
        """Begin to embed the cards.

        Args:
            prepare: creates the similarity, which may take minutes.
            timeout_s: limit of each request.
            rest_s: pause after a failure.
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
        """Return cosines, shape (n_texts, n_cards).

        Raises:
            EmbedderUnavailable: the cards are not embedded yet, or there is no answer in time.
        """
        if self._clock() < self._resting_until:
            raise EmbedderUnavailable("it failed a moment ago")
        cards = self._prepared()
        return self._answer(_in_background(lambda: cards.of(texts)))

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

    def _answer(self, asked: Future[Floats]) -> Floats:
        try:
            return asked.result(self._timeout_s)
        except TimeoutError as error:
            self._rest()
            raise EmbedderUnavailable(f"no answer in {self._timeout_s * 1000:g} ms") from error
        except Exception:  # re-raised to the router; here it only starts the pause
            self._rest()
            raise

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
