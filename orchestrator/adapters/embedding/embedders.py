"""Embedders: a sentence-transformers model in this process, or an OpenAI-compatible endpoint."""

import threading
import weakref
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final
from urllib.parse import urldefrag, urlsplit

import httpx
import numpy as np

from orchestrator.adapters.secrets import SecretStore
from orchestrator.adapters.wire_logs import wire_logs_dropped
from orchestrator.core.errors import EmbedderUnavailable, SecretMissing, UsageError
from orchestrator.core.secret_names import SecretRef, variable_of
from orchestrator.core.shown_text import address_shown
from orchestrator.routing.scoring.embedding import Embedder, Vectors

TOKEN: Final = SecretRef("embedder_token")
"""The endpoint's key, if it wants one: ORCHESTRATOR_SECRET_EMBEDDER_TOKEN."""
ANSWER_S: Final = 10.0
"""How long an endpoint may take for one batch of cards, in seconds."""
LOCAL: Final = "local:"
"""What the name of a model in this process starts with."""
_WANTED: Final = "name local:MODEL, or an endpoint as https://HOST/v1#MODEL"


def make_embedder(named: str, secrets: SecretStore) -> Embedder:
    """The embedder of a setting.

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
        raise UsageError(f"an embedder's URL holds no credentials: set {variable_of(TOKEN.name)}")
    return EndpointEmbedder(url, model, secrets)


class LocalEmbedder:
    """A model of sentence-transformers, loaded when the first text comes."""

    def __init__(self, model: str) -> None:
        """Check that the library is there.

        Raises:
            UsageError: it is not.
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
        """A vector for each text.

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
    """POST {url}/embeddings, as OpenAI, vLLM, Ollama and text-embeddings-inference answer it.

    Only the host of the URL is spoken to: redirects are not followed, and no proxy is read from the
    environment.
    """

    def __init__(self, url: str, model: str, secrets: SecretStore) -> None:
        """Open nothing yet."""
        self._url = url.rstrip("/")
        self._model = model
        self._secrets = secrets
        self._client = httpx.Client(follow_redirects=False, trust_env=False, timeout=ANSWER_S)
        # Routers come and go with their catalogs, and nobody closes one.
        weakref.finalize(self, self._client.close)

    @property
    def name(self) -> str:
        """The endpoint and the model."""
        return f"{self._url}#{self._model}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A vector for each text.

        Raises:
            EmbedderUnavailable: it does not answer, or not as agreed.
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
            return {"Authorization": f"Bearer {self._secrets.get(TOKEN.name)}"}
        except SecretMissing:  # one in the own network wants none
            return {}


def _vectors(answer: httpx.Response, count: int) -> Vectors:
    try:
        rows = sorted(answer.json()["data"], key=lambda row: row["index"])
        if [row["index"] for row in rows] != list(range(count)):
            raise ValueError("an index for each text is wanted")
        return np.array([row["embedding"] for row in rows], dtype=np.float32)
    except (ValueError, KeyError, TypeError) as error:
        raise EmbedderUnavailable("it answered something else than embeddings") from error
