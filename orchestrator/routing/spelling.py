"""How alike words are spelled: inflections, compounds and slips share pieces of a word."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from orchestrator.routing.terms import Floats, Positions, TermIndex

_SIZES: Final = (3, 4)
_PIECES_KEPT = 1 << 16
_WORDS_KEPT = 1 << 10


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

    def scores(self, words: Iterable[str]) -> tuple[Floats, float]:
        """For each word of the vocabulary the product with these words, and their own length."""
        found = [self._like(word) for word in words]
        if not found:
            return np.zeros(len(self.squares)), 0.0
        rows = np.concatenate([like.rows for like in found])
        products = np.concatenate([like.products for like in found])
        length = math.sqrt(sum(like.square for like in found))
        scores: Floats = np.bincount(rows, products, len(self.squares)).astype(np.float64)
        return scores, length

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
