"""How alike words are spelled: inflections, compounds and slips share pieces of a word."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from orchestrator.routing.indexes.terms import Floats, Positions, TermIndex

_SIZES: Final = (3, 4)
_PIECES_KEPT = 1 << 16
_WORDS_KEPT = 1 << 12


class _Like(NamedTuple):
    """The words of a vocabulary that share pieces with a word: which, and how much; its square."""

    rows: Positions
    products: Floats
    square: float


class Spelling:
    """The pieces of a vocabulary's words, each weighed by how few texts have it."""

    def __init__(self, words: Sequence[str], uses: Sequence[int], texts: int) -> None:
        """Cut the words.

        Args:
            words: the vocabulary; the number of a word is its place.
            uses: how many texts have each word.
            texts: how many texts there are.
        """
        cut = [pieces(word) for word in words]
        counts: dict[str, int] = defaultdict(int)
        for found, used in zip(cut, uses, strict=True):
            for piece in found:
                counts[piece] += used
        # A text with two words of one piece counts twice: close enough, and far cheaper.
        idf = {p: math.log((texts + 1) / (min(n, texts) + 0.5)) for p, n in counts.items()}
        self._idf = idf
        self._index = TermIndex.of([{p: idf[p] for p in found} for found in cut])
        # A request's words come again in its clauses, and common ones in the next request.
        self._like = lru_cache(maxsize=_WORDS_KEPT)(self._compare)
        self.squares = np.array([sum(idf[p] ** 2 for p in found) for found in cut])

    def scores(self, texts: Sequence[Iterable[str]]) -> tuple[Floats, Floats]:
        """For each word of the vocabulary its product with each text's words; and their lengths.

        Shapes (n_texts, n_words) and (n_texts,). A text without words is of length 0.
        """
        size = len(self.squares)
        rows, products, squares = [], [], []
        for i, words in enumerate(texts):
            found = [self._like(word) for word in words]
            squares.append(sum(like.square for like in found))
            if found:
                own = np.concatenate([like.rows for like in found])
                rows.append(own + i * size if i else own)
                products.extend([like.products for like in found])
        lengths = np.sqrt(squares)
        if not rows:
            return np.zeros((len(texts), size)), lengths
        scores: Floats = np.bincount(
            np.concatenate(rows), np.concatenate(products), len(texts) * size
        ).astype(np.float64, copy=False)
        return scores.reshape(len(texts), size), lengths

    def _compare(self, word: str) -> _Like:
        own = {piece: self._idf[piece] for piece in pieces(word) if piece in self._idf}
        products = self._index.sums(own)
        rows = np.flatnonzero(products)
        return _Like(rows, products[rows], sum(weight * weight for weight in own.values()))


@lru_cache(maxsize=_PIECES_KEPT)
def pieces(word: str) -> tuple[str, ...]:
    """The distinct runs of three and four letters of a word, its edges marked."""
    edged = f"^{word}$"
    return tuple(
        dict.fromkeys(edged[i : i + n] for n in _SIZES for i in range(len(edged) - n + 1) if word)
    )
