"""How alike words are spelled: inflections, compounds and slips share pieces of a word."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from orchestrator.routing.terms import Floats, TermIndex

_SIZES: Final = (3, 4)
_PIECES_KEPT = 1 << 16


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
        self.squares = np.array([sum(idf[p] ** 2 for p in found) for found in cut])

    def scores(self, words: Iterable[str]) -> tuple[Floats, float]:
        """For each word of the vocabulary the product with these words, and their own length."""
        query: dict[str, float] = {}
        for word in words:
            for piece in pieces(word):
                if piece in self._idf:
                    query[piece] = query.get(piece, 0.0) + self._idf[piece]
        return self._index.sums(query), math.sqrt(sum(w * w for w in query.values()))


@lru_cache(maxsize=_PIECES_KEPT)
def pieces(word: str) -> tuple[str, ...]:
    """The distinct runs of three and four letters of a word, its edges marked."""
    edged = f"^{word}$"
    return tuple(
        dict.fromkeys(edged[i : i + n] for n in _SIZES for i in range(len(edged) - n + 1) if word)
    )
