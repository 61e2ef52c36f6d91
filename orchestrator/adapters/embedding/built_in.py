"""The built-in embedder: a table of 32,000 word pieces that comes as a file in a wheel.

A text's vector is the mean of the rows of its pieces, stop words left out: no network, no GPU, microseconds. The files are
those of the package wordllama (MIT), which itself is never imported: that would load an HTTP
client, and set up the logging of the whole process.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import EmbedderUnavailable
from orchestrator.language.words import STOP_WORDS, tokens
from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.scoring.embedding import (
    CardSimilarity,
    EmbeddedCards,
    Embedder,
    Vectors,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BUILT_IN: Final = "built-in"
"""What the setting calls it; it is the default."""
NO_EMBEDDER: Final = "none"
"""The setting that turns vectors off."""
_PACKAGE: Final = "wordllama"
_WEIGHTS: Final = "weights/l2_supercat_256.safetensors"
_PIECES: Final = "tokenizers/l2_supercat_tokenizer_config.json"
_TENSOR: Final = "embedding.weight"
_MOST_CHARACTERS: Final = 4_000
"""What a text says is said by then, and a longer one would take more of a request's time."""
_MOST_KEPT: Final = 65_536


class BuiltInEmbedder:
    """Means of word-piece vectors, 256 dimensions; the files are read when the first text comes.

    What is read is shared by all instances of a process, and by its threads.
    """

    @property
    def name(self) -> str:
        """What its vectors are kept by."""
        return f"{BUILT_IN}:l2_supercat_256"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A vector for each text, of length 1; all zeros for a text without a character.

        Raises:
            EmbedderUnavailable: the files are not installed, or cannot be read.
        """
        pieces, table = _model()
        vectors = np.zeros((len(texts), table.shape[1]), dtype=np.float32)
        for row, text in enumerate(texts):
            said = " ".join(word for word in tokens(_readable(text)) if word not in STOP_WORDS)
            numbers = pieces.encode(said or _readable(text), add_special_tokens=False).ids
            if numbers:
                vectors[row] = table[numbers].mean(axis=0, dtype=np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        scaled: Vectors = vectors / np.maximum(lengths, 1e-12)
        return scaled


class KeptVectors:
    """The vectors of the cards that were embedded last, in memory, for the catalog's next version.

    Making one again takes less time than reading it from a file would.
    """

    def __init__(self, most: int = _MOST_KEPT) -> None:
        """Keep at most so many."""
        self._most = most
        self._vectors: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, keys: Sequence[str]) -> Mapping[str, Vectors]:
        """Those that are there, each of shape (n_dimensions,)."""
        with self._lock:
            return {key: self._vectors[key] for key in keys if key in self._vectors}

    def put(self, vectors: Mapping[str, Vectors]) -> None:
        """Keep vectors; those that were put first go first."""
        with self._lock:
            self._vectors.update(vectors)
            while len(self._vectors) > self._most:
                self._vectors.popitem(last=False)


class _Absent:
    """Cards that could not be embedded: every request is routed without vectors, and says why."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def of(self, texts: Sequence[str]) -> Floats:
        raise EmbedderUnavailable(self._reason)


def similarity_in_process(embedder: Embedder | None = None) -> Callable[[Catalog], CardSimilarity]:
    """What sees the cards of a catalog as an embedder does that is as quick as a look-up.

    Nothing is awaited and no thread is asked: cards are embedded when their router is made.

    Args:
        embedder: the built-in one when None.
    """
    return partial(_embedded, embedder or BuiltInEmbedder(), KeptVectors())


def _embedded(embedder: Embedder, kept: KeptVectors, catalog: Catalog) -> CardSimilarity:
    try:
        return EmbeddedCards(catalog, embedder, kept)
    except EmbedderUnavailable as error:
        return _Absent(error.reason)


def _readable(text: str) -> str:
    """The beginning of a text, without the halves of characters that no tokenizer takes."""
    return text[:_MOST_CHARACTERS].encode("utf-8", "replace").decode()


_loading = threading.Lock()
_loaded: list[tuple["Tokenizer", Vectors]] = []


def _model() -> tuple["Tokenizer", Vectors]:
    """The pieces and the table of their vectors, shape (n_pieces, n_dimensions), in float16."""
    if not _loaded:
        with _loading:
            if not _loaded:
                _loaded.append(_read())
    return _loaded[0]


def _read() -> tuple["Tokenizer", Vectors]:
    """Read the package's files, without running anything of it.

    Raises:
        EmbedderUnavailable: they are not there, or are something else.
    """
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderUnavailable(f"the package {_PACKAGE} is not installed")
    folder = Path(spec.submodule_search_locations[0])
    try:
        from safetensors import safe_open
        from tokenizers import Tokenizer

        pieces = Tokenizer.from_file(str(folder / _PIECES))
        with safe_open(folder / _WEIGHTS, framework="numpy") as file:
            table = file.get_tensor(_TENSOR)
    except Exception as error:  # both libraries raise plain exceptions of their own
        raise EmbedderUnavailable(f"{type(error).__name__} in the files of {_PACKAGE}") from error
    pieces.no_padding()
    pieces.no_truncation()
    return pieces, table
