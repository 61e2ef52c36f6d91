"""The built-in embedder: a table of 32,000 word pieces that comes as a file in a wheel.

A text's vector is the weighted mean of its pieces' rows: no network, no GPU, microseconds. The
files are those of the package wordllama (MIT), which itself is never imported: that loads an HTTP
client and configures the logging of the whole process (docs/decisions/0028).
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import EmbedderUnavailable
from orchestrator.routing.scoring.embedding import CardSimilarity, EmbeddedCards, Embedder, Vectors
from orchestrator.routing.sparse_index import Floats

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BUILT_IN: Final = "built-in"
"""Its name in the setting; the default."""
NO_EMBEDDER: Final = "none"
"""The setting that turns vectors off."""
_PACKAGE: Final = "wordllama"
_WEIGHTS: Final = "weights/l2_supercat_256.safetensors"
_PIECES: Final = "tokenizers/l2_supercat_tokenizer_config.json"
_TENSOR: Final = "embedding.weight"
DIMENSIONS: Final = 256
"""Every column of the table; half of them find up to .05 fewer of everyday requests' tools."""
_OF_A_WORD: Final = 64
"""The first numbers of a row carry most information: enough to compare piece with piece."""
_MOST_PIECES: Final = 96
"""The maximum number of compared pieces of a tool; they begin with its name."""
Numbers = NDArray[np.uint16]
"""Numbers of pieces, which are rows of the table."""
_RARE: Final = 0.4
"""The share of tools with a piece that halves its weight."""
_RARE_PAIRWISE: Final = 0.05
"""The same share if pieces are compared one by one, without a mean to level common ones."""
_MORE_TOOLS: Final = 20
_MOST_CHARACTERS: Final = 4_000
"""The maximum number of characters that are read: more would cost time and add little."""
_MOST_KEPT: Final = 65_536


class BuiltInEmbedder:
    """Means of word-piece vectors; the files are read with the first text.

    Weighted by a catalog, pieces of many tools count less: the plain mean of "get a list of all
    the" and one distinctive word would be near every tool.

    The files are shared by all instances and threads of a process. Each method raises
    EmbedderUnavailable if they are not installed, or cannot be read.
    """

    def __init__(
        self, weights: Vectors | None = None, *, name: str = "", kept: "PieceCache | None" = None
    ) -> None:
        """Take the weights of pieces, shape (n_pieces,), with their name, and a cache of pieces.

        Without weights all count equally. Nothing is read yet.
        """
        self._weights = weights
        self._name = name
        self._kept = kept or PieceCache()

    @property
    def name(self) -> str:
        """The prefix of the keys of its vectors."""
        return f"{BUILT_IN}:l2_supercat_{DIMENSIONS}{self._name}"

    def weighed_by(self, texts: Sequence[str]) -> "BuiltInEmbedder":
        """Return the embedder weighted for a catalog, given the texts of its tools.

        A piece in a share p of the tools counts a / (a + p), the smooth inverse frequency; shares
        are smoothed by some more tools, so that few tools change little.
        """
        _, table = _model()
        counts = np.ones(len(table), dtype=np.float32)
        for text in texts:
            counts[self._kept.of(text)] += 1  # a piece counts once per text
        shares = counts / np.float32(len(texts) + _MORE_TOOLS)
        weights = (_RARE / (_RARE + shares)).astype(np.float32)
        used = np.flatnonzero(counts > 1)
        identity = (len(texts), used.tolist(), counts[used].tolist())
        name = hashlib.sha256(repr(identity).encode()).hexdigest()
        return BuiltInEmbedder(weights, name=f":{name}", kept=self._kept)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text, of length 1; zeros for an empty text."""
        _, table = _model()
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in enumerate(texts):
            numbers = self._kept.of(text)
            pieces = table[numbers].astype(np.float32)
            if self._weights is None:
                vectors[row] = pieces.sum(axis=0)
            else:
                vectors[row] = self._weights[numbers] @ pieces
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        scaled: Vectors = vectors / np.maximum(lengths, 1e-12)
        return scaled

    def pieces(self, text: str) -> Numbers:
        """Return the first distinct pieces of a text, for `alike`."""
        different = dict.fromkeys(self._kept.of(text).tolist())
        return np.array([*different][:_MOST_PIECES], dtype=np.uint16)

    def alike(self, texts: Sequence[Numbers], cards: Sequence[Numbers]) -> Floats:
        """Return how near each text's pieces are to each card's nearest, weighted by rarity.

        Unlike with a mean, each word of a request finds its own nearest word.

        Args:
            texts: the pieces of each text.
            cards: the pieces of each card; at least one card, none without pieces.

        Returns:
            Shape (n_texts, n_cards); at most 1, if a card has all pieces of a text.
        """
        asked = sorted(set(np.concatenate(texts).tolist()))
        place = {piece: column for column, piece in enumerate(asked)}
        counted = np.zeros((len(texts), len(asked)))
        for row, text in enumerate(texts):
            counted[row, [place[piece] for piece in text.tolist()]] = 1
        if self._weights is not None:
            # Derived from the other weight, by the share of tools that is in both.
            shares = _RARE / self._weights[asked] - _RARE
            counted *= _RARE_PAIRWISE / (_RARE_PAIRWISE + shares)
        counted /= np.maximum(counted.sum(axis=1, keepdims=True), 1e-12)
        units = _units()
        starts = np.cumsum([0, *map(len, cards[:-1])])
        nearest = np.maximum.reduceat(units[np.concatenate(cards)] @ units[asked].T, starts)
        found: Floats = counted @ nearest.T
        return found


class PieceCache:
    """A cache of the pieces of texts by digest, for the next version of a catalog.

    Tokenising takes most of the time of a vector, and pieces are smaller than vectors.
    """

    def __init__(self, most: int = _MOST_KEPT) -> None:
        self._most = most
        self._pieces: OrderedDict[bytes, Numbers] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._pieces)

    def of(self, text: str) -> Numbers:
        """Return the numbers of a text's pieces, in its order.

        Raises:
            EmbedderUnavailable: the files are not installed, or cannot be read.
        """
        readable = text[:_MOST_CHARACTERS].encode("utf-8", "replace")
        key = hashlib.blake2b(readable, digest_size=16).digest()
        with self._lock:
            known = self._pieces.get(key)
        if known is None:
            tokenizer, _ = _model()
            known = np.array(
                tokenizer.encode(readable.decode(), add_special_tokens=False).ids, dtype=np.uint16
            )
        with self._lock:
            self._pieces[key] = known
            self._pieces.move_to_end(key)
            while len(self._pieces) > self._most:
                self._pieces.popitem(last=False)
        return known


class _Absent:
    """Cards that could not be embedded: requests are routed without vectors, with the reason."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def of(self, texts: Sequence[str]) -> Floats:
        raise EmbedderUnavailable(self._reason)


def similarity_in_process(embedder: Embedder | None = None) -> Callable[[Catalog], CardSimilarity]:
    """Return the similarity of a catalog's cards by an embedder that is as fast as a look-up.

    Cards are embedded when their router is created, in the same thread.
    """
    return partial(_embedded, embedder or BuiltInEmbedder())


def _embedded(embedder: Embedder, catalog: Catalog) -> CardSimilarity:
    try:
        return EmbeddedCards(catalog, embedder)
    except EmbedderUnavailable as error:
        return _Absent(error.reason)


_loading = threading.Lock()
_loaded: list[tuple["Tokenizer", Vectors]] = []


def _model() -> tuple["Tokenizer", Vectors]:
    """Return the tokenizer and the table of vectors, shape (n_pieces, DIMENSIONS), in float16."""
    if not _loaded:
        with _loading:
            if not _loaded:
                _loaded.append(_read())
    return _loaded[0]


@cache
def _units() -> Vectors:
    """Return the first numbers of every row, of length 1; shape (n_pieces, _OF_A_WORD)."""
    rows = _model()[1][:, :_OF_A_WORD].astype(np.float32)
    scaled: Vectors = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return scaled


def _read() -> tuple["Tokenizer", Vectors]:
    """Read the package's files without importing it.

    Raises:
        EmbedderUnavailable: they are missing or invalid.
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
            table = np.ascontiguousarray(file.get_tensor(_TENSOR)[:, :DIMENSIONS])
    except Exception as error:  # both libraries raise plain exceptions
        raise EmbedderUnavailable(f"{type(error).__name__} in the files of {_PACKAGE}") from error
    pieces.no_padding()
    pieces.no_truncation()
    return pieces, table
