"""The built-in embedder: a table of 32,000 word pieces that comes as a file in a wheel.

A text's vector is the weighted mean of its pieces' rows: no network, no GPU, microseconds. The
files are those of the package wordllama (MIT), which itself is never imported: that would load an
HTTP client, and set up the logging of the whole process.
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
DIMENSIONS: Final = 256
"""As many as the table has; half of them find up to .05 fewer of everyday requests' tools."""
_OF_A_WORD: Final = 64
"""Its rows are made so that the first numbers tell most: enough to compare piece with piece."""
_MOST_PIECES: Final = 96
"""Of so many of a tool's pieces a request's are sought among; they begin with its name."""
Numbers = NDArray[np.uint16]
"""Numbers of pieces, which are rows of the table."""
_RARE: Final = 0.4
"""A piece that this share of the tools has counts half of one that none has."""
_TELLING: Final = 0.05
"""The same where pieces are compared one by one: no mean makes up for what says nothing."""
_MORE_TOOLS: Final = 20
_MOST_CHARACTERS: Final = 4_000
"""What a text says is said by then, and a longer one would take more of a request's time."""
_MOST_KEPT: Final = 65_536


class BuiltInEmbedder:
    """Means of word-piece vectors; the files are read when the first text comes.

    Weighed by a catalog, a piece counts the less, the more of its tools have it: the plain mean of
    "get a list of all the" and one telling word would be near every tool.

    What is read is shared by all instances of a process, and by its threads.
    """

    def __init__(
        self, weights: Vectors | None = None, *, name: str = "", kept: "KeptPieces | None" = None
    ) -> None:
        """Read nothing yet.

        Args:
            weights: what each piece counts, shape (n_pieces,); all the same when None.
            name: of these weights.
            kept: the pieces of texts that were read before.
        """
        self._weights = weights
        self._name = name
        self._kept = kept or KeptPieces()

    @property
    def name(self) -> str:
        """What its vectors are kept by."""
        return f"{BUILT_IN}:l2_supercat_{DIMENSIONS}{self._name}"

    def weighed_by(self, texts: Sequence[str]) -> "BuiltInEmbedder":
        """The embedder for a catalog, of which these texts are the tools.

        A piece of which a share p of the tools speaks counts a / (a + p), the smooth inverse
        frequency; each share as if some more tools were there, so that few tools say little of it.

        Raises:
            EmbedderUnavailable: the files are not installed, or cannot be read.
        """
        _, table = _model()
        counts = np.ones(len(table), dtype=np.float32)
        for text in texts:
            counts[self._kept.of(text)] += 1  # once, however often a text has the piece
        shares = counts / np.float32(len(texts) + _MORE_TOOLS)
        weights = (_RARE / (_RARE + shares)).astype(np.float32)
        used = np.flatnonzero(counts > 1)
        told = (len(texts), used.tolist(), counts[used].tolist())
        name = hashlib.sha256(repr(told).encode()).hexdigest()
        return BuiltInEmbedder(weights, name=f":{name}", kept=self._kept)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A vector for each text, of length 1; all zeros for a text without a character.

        Raises:
            EmbedderUnavailable: the files are not installed, or cannot be read.
        """
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
        """Its different pieces, as `alike` takes them, of a long text the first.

        Raises:
            EmbedderUnavailable: the files are not installed, or cannot be read.
        """
        different = dict.fromkeys(self._kept.of(text).tolist())
        return np.array([*different][:_MOST_PIECES], dtype=np.uint16)

    def alike(self, texts: Sequence[Numbers], cards: Sequence[Numbers]) -> Floats:
        """How near each text's pieces are to the nearest one of each card, weighed by rarity.

        A mean blurs what many words say; here each word of a request finds its like by itself.

        Args:
            texts: the pieces of each.
            cards: likewise; one or more, none without a piece.

        Returns:
            Shape (n_texts, n_cards); at most 1, where a card has all pieces of a text.
        """
        asked = sorted(set(np.concatenate(texts).tolist()))
        place = {piece: column for column, piece in enumerate(asked)}
        counted = np.zeros((len(texts), len(asked)))
        for row, text in enumerate(texts):
            counted[row, [place[piece] for piece in text.tolist()]] = 1
        if self._weights is not None:
            # From the one weight the other, by the share of the tools that both are made of.
            shares = _RARE / self._weights[asked] - _RARE
            counted *= _TELLING / (_TELLING + shares)
        counted /= np.maximum(counted.sum(axis=1, keepdims=True), 1e-12)
        units = _units()
        starts = np.cumsum([0, *map(len, cards[:-1])])
        nearest = np.maximum.reduceat(units[np.concatenate(cards)] @ units[asked].T, starts)
        found: Floats = counted @ nearest.T
        return found


class KeptPieces:
    """The pieces of the texts that were read last, by digest, for the catalog's next version.

    Reading a text is most of what its vector takes; vectors of 128 numbers are four times as large.
    """

    def __init__(self, most: int = _MOST_KEPT) -> None:
        """Keep those of at most so many texts."""
        self._most = most
        self._pieces: OrderedDict[bytes, Numbers] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._pieces)

    def of(self, text: str) -> Numbers:
        """The numbers of a text's pieces, in its order.

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
    return partial(_embedded, embedder or BuiltInEmbedder())


def _embedded(embedder: Embedder, catalog: Catalog) -> CardSimilarity:
    try:
        return EmbeddedCards(catalog, embedder)
    except EmbedderUnavailable as error:
        return _Absent(error.reason)


_loading = threading.Lock()
_loaded: list[tuple["Tokenizer", Vectors]] = []


def _model() -> tuple["Tokenizer", Vectors]:
    """The pieces and the table of their vectors, shape (n_pieces, DIMENSIONS), in float16."""
    if not _loaded:
        with _loading:
            if not _loaded:
                _loaded.append(_read())
    return _loaded[0]


@cache
def _units() -> Vectors:
    """The first numbers of every piece's row, of length 1; shape (n_pieces, _OF_A_WORD)."""
    rows = _model()[1][:, :_OF_A_WORD].astype(np.float32)
    scaled: Vectors = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return scaled


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
            table = np.ascontiguousarray(file.get_tensor(_TENSOR)[:, :DIMENSIONS])
    except Exception as error:  # both libraries raise plain exceptions of their own
        raise EmbedderUnavailable(f"{type(error).__name__} in the files of {_PACKAGE}") from error
    pieces.no_padding()
    pieces.no_truncation()
    return pieces, table
