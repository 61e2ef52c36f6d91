"""Similarity of texts to the cards of a catalog by vectors: an optional feature of the router.

This module opens no connection and loads no model: an `Embedder` does, and the edge injects one.
"""

from collections.abc import Sequence
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import EmbedderUnavailable
from orchestrator.core.read_once import Recent
from orchestrator.routing.sparse_index import Floats, Positions

Vectors = NDArray[np.float32]
"""Vectors by row; shape (n_texts, n_dimensions)."""

Pieces = NDArray[np.uint16]

_BATCH: Final = 64
_TEXTS_KEPT: Final = 512
_EQUAL: Final = 1e-7
_DIGITS: Final = 5
"""Decimal places of a cosine: products of equal vectors differ in the seventh, by position."""


class Embedder(Protocol):
    """Turns texts into vectors whose cosines say how near their meanings are.

    Any class with these two members is one:

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
        """A name that is unique to this embedder and version."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text, in their order.

        Args:
            texts: at least one: up to 64 tools, or a request and its clauses.

        Returns:
            Shape (len(texts), n_dimensions), n_dimensions the same at every call; float32, or what
            numpy converts to it. Finite; of any norm, since only directions are compared.

        Raises:
            EmbedderUnavailable: no vectors are available now; its `reason` is recorded with the
                selection, so it must not quote a text. After any error the request is routed
                without vectors, and the embedder is not called for some seconds.
        """
        ...


@runtime_checkable
class WeighingEmbedder(Embedder, Protocol):
    """An embedder that also weights words: a word in half of a catalog says little about a tool."""

    def weighed_by(self, texts: Sequence[str]) -> Embedder:
        """Return an embedder for a catalog, given one text per tool; it has a name of its own."""
        ...


@runtime_checkable
class WordEmbedder(Embedder, Protocol):
    """An embedder with vectors for single words, which are compared one by one."""

    def pieces(self, text: str) -> Pieces:
        """Return the words of a text as numbers that only this embedder understands."""
        ...

    def alike(self, texts: Sequence[Pieces], cards: Sequence[Pieces]) -> Floats:
        """Return the similarity of each text's words to the nearest of each card, at most 1."""
        ...


class CardSimilarity(Protocol):
    """Similarity of the cards of one catalog to texts."""

    def of(self, texts: Sequence[str]) -> Floats:
        """Return cosines, shape (n_texts, n_cards), the cards in the catalog's order.

        Raises:
            EmbedderUnavailable: no vectors are available now; the router continues without.
        """
        ...


class EmbeddedCards:
    """The cards of a catalog as vectors, with a cache of recent texts' vectors."""

    def __init__(self, catalog: Catalog, embedder: Embedder) -> None:
        """Embed the cards.

        Raises:
            EmbedderUnavailable: the embedder does not answer.
        """
        texts = [card_text(tool) for tool in catalog.tools.values()]
        if texts and isinstance(embedder, WeighingEmbedder):
            embedder = embedder.weighed_by(texts)
        self._embedder: Embedder = embedder
        self._texts: Recent[str, Vectors] = Recent(_TEXTS_KEPT)
        starts = range(0, len(texts), _BATCH)
        made = [self._embedded(texts[start : start + _BATCH]) for start in starts]
        if len({vectors.shape[1] for vectors in made}) > 1:
            raise EmbedderUnavailable("vectors of different lengths")
        self._cards = np.concatenate(made) if made else np.zeros((0, 0), np.float32)
        self._words = embedder if isinstance(embedder, WordEmbedder) else None
        self._pieces = [self._words.pieces(text) for text in texts] if self._words else []

    @property
    def embedder(self) -> str:
        """The name of the embedder."""
        return self._embedder.name

    def of(self, texts: Sequence[str]) -> Floats:
        """Return cosines, shape (n_texts, n_cards).

        Raises:
            EmbedderUnavailable: the embedder does not answer.
        """
        if not len(self._cards):
            return np.zeros((len(texts), 0))
        known = {text: self._texts.get(text) for text in texts}
        if new := [text for text, vector in known.items() if vector is None]:
            for text, vector in zip(new, self._embedded(new), strict=True):
                known[text] = self._texts.put(text, vector)
        wanted = [vector for text in texts if (vector := known[text]) is not None]
        if any(len(vector) != self._cards.shape[1] for vector in wanted):
            raise EmbedderUnavailable("vectors of another length than those of the cards")
        # In one product from the cards' side, so that the cards are read once and not copied.
        products = (self._cards @ np.stack(wanted).T).T
        return np.ascontiguousarray(products, dtype=np.float64).round(_DIGITS)

    def alike(self, texts: Sequence[str], rows: Positions) -> Floats | None:
        """Return the similarity of these cards to the texts word by word, about 0 to 1.

        Args:
            texts: one or more.
            rows: the positions of the cards.

        Returns:
            Shape (n_texts, n_rows); None if the embedder has no vectors of words.
        """
        if self._words is None or not len(rows):
            return None
        cards = [self._pieces[row] for row in rows.tolist()]
        return self._words.alike([self._words.pieces(text) for text in texts], cards)

    def _embedded(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of length 1, so that a cosine is a product."""
        vectors = np.asarray(self._embedder.embed(texts), dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise EmbedderUnavailable("something else than a vector for each text")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        scaled: Vectors = vectors / np.maximum(lengths, 1e-12)
        return scaled


def card_text(tool: Tool) -> str:
    """Return the text to embed for a tool: name, summary, description and examples."""
    name = tool.name.replace("_", " ") + "."
    return ". ".join(
        part for part in (name, tool.summary, tool.description, *tool.examples) if part
    )


def closeness(cosines: Floats) -> Floats:
    """Scale cosines to a feature: 1 for the nearest card, 0 for the median card; same shape.

    Embedders differ in the similarity that they give to unrelated texts, so the median is the zero.
    If no card is nearer than that, beyond the precision of a float32, all are 0.
    """
    if not len(cosines):
        return cosines
    half = len(cosines) // 2
    parted = np.partition(cosines, half)
    upper = float(parted[half])
    middle = upper if len(cosines) % 2 else (float(parted[:half].max()) + upper) / 2
    spread = float(cosines.max()) - middle
    if spread < _EQUAL:
        return np.zeros_like(cosines)
    return np.clip((cosines - middle) / spread, -1.0, 1.0)
