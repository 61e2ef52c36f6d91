"""Sparse sums over terms: which rows a term adds to, and how much."""

from collections.abc import Iterable, KeysView, Mapping, Sequence
from copy import copy
from itertools import chain

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]


class TermIndex:
    """Postings sorted by term: of each term, the rows that hold it and with what weight."""

    def __init__(
        self, terms: Iterable[str], counts: Positions, rows: Positions, weights: Floats, size: int
    ) -> None:
        """Take the postings.

        Args:
            terms: the distinct terms.
            counts: how many postings each has; shape (n_terms,).
            rows: of the postings, term by term; shape (n_postings,).
            weights: of the postings; same shape.
            size: the number of rows, those without any term counted.
        """
        self.size = size
        self.counts = counts
        self.rows = rows
        self.weights = weights
        self._numbers = {term: number for number, term in enumerate(terms)}
        self._bounds: list[int] = [0, *np.cumsum(counts).tolist()]

    @classmethod
    def of(cls, entries: Sequence[Mapping[str, float]]) -> "TermIndex":
        """The index of rows, each a mapping from its terms to their weights."""
        numbers = _numbered(entries)
        return _sorted(
            numbers,
            np.array([numbers[t] for t in chain.from_iterable(entries)], dtype=np.intp),
            np.repeat(np.arange(len(entries)), [len(entry) for entry in entries]),
            np.array([w for entry in entries for w in entry.values()], dtype=np.float64),
            len(entries),
        )

    @classmethod
    def stacked(cls, indexes: Sequence["TermIndex"]) -> "TermIndex":
        """Indexes of equal size as one: row r of the i-th becomes row i * size + r."""
        numbers = _numbered([index.terms for index in indexes])
        size = indexes[0].size
        terms_of = [
            np.repeat(np.array([numbers[t] for t in x.terms], dtype=np.intp), x.counts)
            for x in indexes
        ]
        return _sorted(
            numbers,
            np.concatenate(terms_of),
            np.concatenate([x.rows + i * size for i, x in enumerate(indexes)]),
            np.concatenate([x.weights for x in indexes]),
            size * len(indexes),
        )

    @property
    def terms(self) -> KeysView[str]:
        """Every term of the rows."""
        return self._numbers.keys()

    def number(self, term: str) -> int | None:
        """The term's place in `counts`."""
        return self._numbers.get(term)

    def reweighted(self, weights: Floats) -> "TermIndex":
        """The same postings with other weights."""
        other = copy(self)
        other.weights = weights
        return other

    def sums(self, query: Mapping[str, float]) -> Floats:
        """For each row, the weights of the query's terms times the query's own; shape (size,)."""
        rows, weights = self.gathered(query)
        total: Floats = np.bincount(rows, weights, self.size).astype(np.float64, copy=False)
        return total

    def gathered(self, query: Mapping[str, float]) -> tuple[Positions, Floats]:
        """What each term of a query adds, and to which row; a row may come several times."""
        found = [(p, w) for term, w in query.items() if (p := self._postings(term)) is not None]
        if not found:
            return self.rows[:0], self.weights[:0]
        rows = np.concatenate([own for (own, _), _ in found])
        weights = np.concatenate([added for (_, added), _ in found])
        factors = [factor for _, factor in found]
        if factors.count(1.0) < len(factors):
            weights = weights * np.repeat(factors, [len(own) for (own, _), _ in found])
        return rows, weights

    def _postings(self, term: str) -> tuple[Positions, Floats] | None:
        """The rows that hold a term, and with what weight."""
        number = self._numbers.get(term)
        if number is None:
            return None
        own = slice(self._bounds[number], self._bounds[number + 1])
        return self.rows[own], self.weights[own]


def _numbered(groups: Iterable[Iterable[str]]) -> dict[str, int]:
    """Every term, in the order of its first use, and its place in that order."""
    return {term: n for n, term in enumerate(dict.fromkeys(chain.from_iterable(groups)))}


def _sorted(
    numbers: Mapping[str, int], term_of: Positions, rows: Positions, weights: Floats, size: int
) -> TermIndex:
    order = np.argsort(term_of, kind="stable")
    counts = np.bincount(term_of, minlength=len(numbers))
    return TermIndex(numbers, counts, rows[order], weights[order], size)
