"""The sparse index of routing: BM25 of fields and other weighted sums over query terms."""

import math
from collections import Counter
from collections.abc import KeysView, Mapping, Sequence
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]
Rows = Sequence[Mapping[str, float]]
"""The terms of each row with their weights."""

K1: Final = 1.5
"""Saturation of repeated terms."""
B: Final = 0.75
"""Strength of the length normalisation."""
_LEAST_IDF = 0.05


class TermIndex:
    """The rows that contain each term, with weights."""

    def __init__(self, rows: Rows) -> None:
        """Index the rows."""
        numbers = {term: n for n, term in enumerate(dict.fromkeys(chain.from_iterable(rows)))}
        term_of = np.array([numbers[t] for t in chain.from_iterable(rows)], dtype=np.intp)
        weights = np.array([w for row in rows for w in row.values()], dtype=np.float64)
        order = np.argsort(term_of, kind="stable")
        self.size = len(rows)
        self._rows = np.repeat(np.arange(len(rows)), [len(row) for row in rows])[order]
        self._weights = weights[order]
        self._bounds = [0, *np.cumsum(np.bincount(term_of, minlength=len(numbers))).tolist()]
        self._numbers = numbers

    @property
    def terms(self) -> KeysView[str]:
        """Every term of the rows."""
        return self._numbers.keys()

    def sums(self, query: Mapping[str, float]) -> Floats:
        """Return the sum of weight times query weight for each row; shape (size,)."""
        found = [(self._numbers[term], w) for term, w in query.items() if term in self._numbers]
        if not found:
            return np.zeros(self.size)
        own = [slice(self._bounds[number], self._bounds[number + 1]) for number, _ in found]
        rows = np.concatenate([self._rows[part] for part in own])
        weights = [self._weights[part] * w for part, (_, w) in zip(own, found, strict=True)]
        return np.bincount(rows, np.concatenate(weights), self.size).astype(np.float64, copy=False)


class Bm25Field:
    """The terms of a field, weighted like `rank_bm25.BM25Okapi`, document by document.

    A query's score is the sum of the `weights` of its terms. `densities` are the frequencies of a
    document's terms, over its relative length.
    """

    def __init__(self, corpus: Sequence[Sequence[str]]) -> None:
        """Read documents, each a sequence of terms; the corpus may be empty."""
        self.size = len(corpus)
        self._idf: dict[str, float] = {}
        self.densities: Rows = [{}] * self.size
        if any(corpus):
            model = BM25Okapi(corpus, k1=K1, b=B)
            self._idf = model.idf
            spread = (1 - B + B * np.array(model.doc_len) / model.avgdl).tolist()
            counted = zip(model.doc_freqs, spread, strict=True)
            self.densities = [{t: n / own for t, n in counts.items()} for counts, own in counted]
        self.weights: Rows = [
            {t: self._idf[t] * d * (K1 + 1) / (d + K1) for t, d in document.items()}
            for document in self.densities
        ]

    def idf(self, term: str) -> float:
        """Return the term's inverse document frequency, even if no document contains the term."""
        return self._idf.get(term, math.log(self.size + 0.5) - math.log(0.5))


def joint_field(fields: Sequence[Bm25Field], shares: Sequence[float]) -> Rows:
    """Join the fields of the same documents into one (BM25F): a term in several counts once.

    Occurrences in all fields saturate together.

    Args:
        fields: fields of the same documents, in the same order.
        shares: weight of a term in each field; a field with weight 0 or less is left out.
    """
    rows: list[dict[str, float]] = []
    for parts in zip(*(field.densities for field in fields), strict=True):
        row: dict[str, float] = {}
        for part, share in zip(parts, shares, strict=True):
            for term, density in part.items():
                row[term] = row.get(term, 0.0) + max(share, 0.0) * density
        rows.append(row)
    held = Counter(chain.from_iterable(rows))
    size = len(rows)
    idf = {t: max(math.log((size - n + 0.5) / (n + 0.5)), _LEAST_IDF) for t, n in held.items()}
    return [{t: idf[t] * d / (d + K1) for t, d in row.items()} for row in rows]
