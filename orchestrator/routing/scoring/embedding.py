"""How near the cards of a catalog are to a text, by vectors: an optional feature of the router.

Nothing here opens a connection or loads a model: an `Embedder` does, and the edge gives one.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import EmbedderUnavailable
from orchestrator.routing.indexes.terms import Floats, Positions

Vectors = NDArray[np.float32]
"""One vector per row; shape (n_texts, n_dimensions)."""

Pieces = NDArray[np.uint16]

_BATCH: Final = 64
_TEXTS_KEPT: Final = 512
_EQUAL: Final = 1e-7
_DIGITS: Final = 5
"""Decimal places of a cosine: products of equal vectors differ in the seventh, by their place."""


class Embedder(Protocol):
    """Turns texts into vectors whose cosines tell how near their meanings are.

    A class with these two members is one; it need not inherit from this:

    ```python
    class HashedLetters:
        name = "hashed-letters-1"

        def embed(self, texts):
            vectors = np.zeros((len(texts), 256), dtype=np.float32)
            for row, text in enumerate(texts):
                for letter in text.lower():
                    vectors[row, ord(letter) % 256] += 1
            return vectors
    ```

    It is called from several threads, and may have them wait for each other.
    """

    @property
    def name(self) -> str:
        """What tells its vectors from those of every other embedder and version.

        Vectors of cards are kept by this name and the card's text, beyond the process.
        """
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A vector for each text, in their order.

        Args:
            texts: one or more: up to 64 tools, or a request and its clauses.

        Returns:
            Shape (len(texts), n_dimensions), n_dimensions the same at every call; float32, or what
            numpy converts to it. Finite; of any length, since only directions are compared.

        Raises:
            EmbedderUnavailable: no vectors now; its `reason` is recorded with the selection, so it
                holds nothing of a text. Whatever is raised, the request is routed without vectors,
                and the embedder is left alone for some seconds.
        """
        ...


@runtime_checkable
class WeighingEmbedder(Embedder, Protocol):
    """An embedder that weighs words, too: what half of a catalog says tells little of a tool."""

    def weighed_by(self, texts: Sequence[str]) -> Embedder:
        """The embedder for the catalog of these texts, one of each tool, by a name of its own."""
        ...


@runtime_checkable
class WordEmbedder(Embedder, Protocol):
    """An embedder whose words have vectors of their own, which are compared one by one."""

    def pieces(self, text: str) -> Pieces:
        """The words of a text, as numbers that mean something to this embedder only."""
        ...

    def alike(self, texts: Sequence[Pieces], cards: Sequence[Pieces]) -> Floats:
        """How near the words of each text are to the nearest ones of each card, 1 at most."""
        ...


class VectorStore(Protocol):
    """Vectors that outlive a process, by the digest of what they were made from."""

    def get(self, keys: Sequence[str]) -> Mapping[str, Vectors]:
        """Those that are there, each of shape (n_dimensions,)."""
        ...

    def put(self, vectors: Mapping[str, Vectors]) -> None:
        """Keep vectors."""
        ...


class CardSimilarity(Protocol):
    """How near each card of one catalog is to texts."""

    def of(self, texts: Sequence[str]) -> Floats:
        """Cosines, shape (n_texts, n_cards), the cards in the catalog's order.

        Raises:
            EmbedderUnavailable: not now; the router goes on without.
        """
        ...


class EmbeddedCards:
    """The cards of a catalog as vectors; those of texts that were asked for last are kept too."""

    def __init__(
        self, catalog: Catalog, embedder: Embedder, store: VectorStore | None = None
    ) -> None:
        """Embed the cards that the store does not hold yet.

        Raises:
            EmbedderUnavailable: the embedder does not answer.
        """
        texts = [card_text(tool) for tool in catalog.tools.values()]
        if texts and isinstance(embedder, WeighingEmbedder):
            embedder = embedder.weighed_by(texts)
        self._embedder: Embedder = embedder
        self._texts: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = threading.Lock()
        self._cards = self._card_vectors(texts, store)
        self._words = embedder if isinstance(embedder, WordEmbedder) else None
        self._pieces = [self._words.pieces(text) for text in texts] if self._words else []

    @property
    def embedder(self) -> str:
        """The name of what made the vectors."""
        return self._embedder.name

    def of(self, texts: Sequence[str]) -> Floats:
        """Cosines, shape (n_texts, n_cards).

        Raises:
            EmbedderUnavailable: the embedder does not answer.
        """
        if not len(self._cards):
            return np.zeros((len(texts), 0))
        with self._lock:
            known = {text: self._texts[text] for text in texts if text in self._texts}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known |= dict(zip(new, self._embedded(new), strict=True))
            self._keep(known)
        wanted = [known[text] for text in texts]
        if any(len(vector) != self._cards.shape[1] for vector in wanted):
            raise EmbedderUnavailable("vectors of another length than those of the cards")
        # All at once and from the cards' side, so that they are read once and not copied.
        products = (self._cards @ np.stack(wanted).T).T
        return np.ascontiguousarray(products, dtype=np.float64).round(_DIGITS)

    def alike(self, texts: Sequence[str], rows: Positions) -> Floats | None:
        """What these cards have of each word of the texts, 0 to 1 or little below 0.

        Args:
            texts: one or more.
            rows: the positions of the cards.

        Returns:
            Shape (n_texts, n_rows); None where the embedder does not tell word by word.
        """
        if self._words is None or not len(rows):
            return None
        cards = [self._pieces[row] for row in rows.tolist()]
        return self._words.alike([self._words.pieces(text) for text in texts], cards)

    def _keep(self, vectors: Mapping[str, Vectors]) -> None:
        with self._lock:
            for text, vector in vectors.items():
                self._texts[text] = vector
                self._texts.move_to_end(text)
            while len(self._texts) > _TEXTS_KEPT:
                self._texts.popitem(last=False)

    def _card_vectors(self, texts: Sequence[str], store: VectorStore | None) -> Vectors:
        keys = [vector_key(self._embedder.name, text) for text in texts]
        known = dict(store.get(keys)) if store is not None else {}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        for start in range(0, len(missing), _BATCH):
            batch = [*missing][start : start + _BATCH]
            made = dict(zip(batch, self._embedded([missing[key] for key in batch]), strict=True))
            known |= made
            if store is not None:
                store.put(made)
        if len({vector.shape for vector in known.values()}) > 1:
            raise EmbedderUnavailable("vectors of different lengths")
        return np.stack([known[key] for key in keys]) if keys else np.zeros((0, 0), np.float32)

    def _embedded(self, texts: Sequence[str]) -> Vectors:
        """Vectors of length 1, for the cosine is then a product."""
        vectors = np.asarray(self._embedder.embed(texts), dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise EmbedderUnavailable("something else than a vector for each text")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        scaled: Vectors = vectors / np.maximum(lengths, 1e-12)
        return scaled


def card_text(tool: Tool) -> str:
    """What of a tool is embedded: its name in words, what it says of itself, and its examples."""
    name = tool.name.replace("_", " ") + "."
    return ". ".join(
        part for part in (name, tool.summary, tool.description, *tool.examples) if part
    )


def vector_key(embedder: str, text: str) -> str:
    """The name of a text's vector: hex SHA-256 of the embedder's name and the text."""
    return hashlib.sha256(f"{embedder}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()


def closeness(cosines: Floats) -> Floats:
    """Cosines as a feature: 1 for the nearest card, 0 for one in the middle; same shape.

    Embedders differ in how near they see what has nothing in common, so the middle is the zero.
    Where no card is nearer than that, beyond what a float32 can tell, all are 0.
    """
    if not len(cosines):
        return cosines
    middle = _median(cosines)
    spread = float(cosines.max()) - middle
    if spread < _EQUAL:
        return np.zeros_like(cosines)
    return np.clip((cosines - middle) / spread, -1.0, 1.0)


def _median(values: Floats) -> float:
    """As np.median, which takes ten times as long for few values, and seven for 50,000."""
    half = len(values) // 2
    parted = np.partition(values, half)
    upper = float(parted[half])
    return upper if len(values) % 2 else (float(parted[:half].max()) + upper) / 2
