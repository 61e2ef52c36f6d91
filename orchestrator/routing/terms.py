"""Sparse sums over terms: which rows a term adds to, and how much."""

from collections.abc import KeysView, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]


class TermIndex:
    """Postings sorted by term; immutable once its weights are there.

    `starts` has shape (n_terms + 1,); `rows` and `weights` have shape (n_postings,), and a term
    holds each row at most once.
    """

    def __init__(self, entries: Sequence[Mapping[str, float]]) -> None:
        """Index rows, each a mapping from its terms to their weights."""
        self.size = len(entries)
        self.numbers: dict[str, int] = {}
        for entry in entries:
            for term in entry:
                self.numbers.setdefault(term, len(self.numbers))
        term_of = np.array([self.numbers[t] for entry in entries for t in entry], dtype=np.intp)
        row_of = np.repeat(np.arange(self.size, dtype=np.int32), [len(e) for e in entries])
        weight_of = np.array([w for entry in entries for w in entry.values()], dtype=np.float64)
        order = np.argsort(term_of, kind="stable")
        self.starts = np.zeros(len(self.numbers) + 1, dtype=np.intp)
        np.cumsum(np.bincount(term_of, minlength=len(self.numbers)), out=self.starts[1:])
        self.rows: NDArray[np.int32] = row_of[order]
        self.weights: Floats = weight_of[order]

    @property
    def terms(self) -> KeysView[str]:
        """Every term of the rows."""
        return self.numbers.keys()

    def frequencies(self) -> Positions:
        """In how many rows each term is; shape (n_terms,)."""
        return np.diff(self.starts)

    def sums(self, query: Mapping[str, float]) -> Floats:
        """For each row, the weights of the query's terms times the query's own; shape (size,)."""
        total = np.zeros(self.size)
        for term, weight in query.items():
            number = self.numbers.get(term)
            if number is not None:
                start, end = self.starts[number], self.starts[number + 1]
                added = self.weights[start:end]
                total[self.rows[start:end]] += added if weight == 1 else weight * added
        return total
