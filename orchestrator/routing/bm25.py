"""BM25 over a sparse term index: the scores of rank_bm25.BM25Okapi at a fraction of the time."""

import math
from collections import Counter
from collections.abc import Iterable, KeysView, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class SparseBm25:
    """An immutable index; `scores` gives what `BM25Okapi(corpus).get_scores` gives.

    A query touches only the postings of its own terms, so its cost follows the number of documents
    that share a word with it.
    """

    def __init__(
        self,
        corpus: Iterable[Sequence[str]],
        *,
        k1: float = 1.5,
        b: float = 0.75,
        epsilon: float = 0.25,
    ) -> None:
        """Index the documents, each a sequence of terms.

        Args:
            corpus: the documents; none at all is allowed, and scores nothing.
            k1: how slowly repeats of a term saturate.
            b: how much longer documents are held back, 0 to 1.
            epsilon: the share of the mean idf given to terms that more than half of them hold.
        """
        counts = [Counter(document) for document in corpus]
        lengths = np.array([c.total() for c in counts], dtype=np.float64)
        self.size = len(counts)
        self.k1 = k1
        self._terms = _number_terms(counts)
        self._starts, self._documents, frequencies = _postings(counts, self._terms)
        self._idf = _idf(np.diff(self._starts), self.size, epsilon)
        mean_length = float(lengths.mean()) if self.size and lengths.any() else 1.0
        damping = k1 * (1 - b + b * lengths / mean_length)
        weights = frequencies * (k1 + 1) / (frequencies + damping[self._documents])
        self._weights = weights * np.repeat(self._idf, np.diff(self._starts))

    def scores(self, query: Iterable[str]) -> Floats:
        """The score of every document; shape (size,). A repeated query term counts each time."""
        return self.weighted_scores(Counter(query))

    def weighted_scores(self, query: Mapping[str, float]) -> Floats:
        """The scores of a query whose terms count as often as they are weighted; shape (size,)."""
        total = np.zeros(self.size)
        for term, weight in query.items():
            number = self._terms.get(term)
            if number is not None:
                span = slice(self._starts[number], self._starts[number + 1])
                total[self._documents[span]] += weight * self._weights[span]
        return total

    @property
    def terms(self) -> KeysView[str]:
        """Every term of the documents."""
        return self._terms.keys()

    def idf(self, term: str) -> float:
        """The term's inverse document frequency; of an unknown term, that of one in no document."""
        number = self._terms.get(term)
        if number is None:
            return math.log(self.size + 0.5) - math.log(0.5)
        return float(self._idf[number])


def _number_terms(counts: Sequence[Counter[str]]) -> dict[str, int]:
    terms: dict[str, int] = {}
    for document in counts:
        for term in document:
            terms.setdefault(term, len(terms))
    return terms


def _postings(
    counts: Sequence[Counter[str]], terms: dict[str, int]
) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """Postings sorted by term: starts (n_terms + 1,), documents and frequencies (n_postings,)."""
    term_of = np.array([terms[t] for c in counts for t in c], dtype=np.intp)
    document_of = np.repeat(np.arange(len(counts)), [len(c) for c in counts])
    frequency_of = np.array([f for c in counts for f in c.values()], dtype=np.float64)
    order = np.argsort(term_of, kind="stable")
    starts = np.zeros(len(terms) + 1, dtype=np.intp)
    np.cumsum(np.bincount(term_of, minlength=len(terms)), out=starts[1:])
    return starts, document_of[order], frequency_of[order]


def _idf(document_frequency: NDArray[np.intp], size: int, epsilon: float) -> Floats:
    """Okapi's idf, with `epsilon` times their mean in place of negative values."""
    if not len(document_frequency):
        return np.zeros(0)
    idf: Floats = np.log(size - document_frequency + 0.5) - np.log(document_frequency + 0.5)
    idf[idf < 0] = epsilon * idf.mean()
    return idf
