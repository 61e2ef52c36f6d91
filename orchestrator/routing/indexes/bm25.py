"""BM25 over a sparse term index: the scores of rank_bm25.BM25Okapi at a fraction of the time."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from orchestrator.routing.indexes.terms import Floats, Positions, TermIndex

_LEAST_IDF = 0.05


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
        index = TermIndex.of(counts)
        idf = _idf(index.counts, self.size, epsilon)
        self._idf: list[float] = idf.tolist()
        mean_length = float(lengths.mean()) if self.size and lengths.any() else 1.0
        spread = 1 - b + b * lengths / mean_length
        weights = index.weights * (k1 + 1) / (index.weights + k1 * spread[index.rows])
        self.index = index.reweighted(weights * np.repeat(idf, index.counts))
        # A document without terms has no postings, so that none is divided by a spread of 0.
        self.densities = index.reweighted(index.weights / spread[index.rows])

    def scores(self, query: Iterable[str]) -> Floats:
        """The score of every document; shape (size,). A repeated query term counts each time."""
        return self.index.sums(Counter(query))

    def idf(self, term: str) -> float:
        """The term's inverse document frequency; of an unknown term, that of one in no document."""
        number = self.index.number(term)
        if number is None:
            return math.log(self.size + 0.5) - math.log(0.5)
        return self._idf[number]


def joint_index(fields: Sequence[SparseBm25], shares: Sequence[float]) -> TermIndex:
    """The fields of the same documents as one (BM25F): a term of several fields counts once.

    What a field adds saturates together with what the others add, not for itself.

    Args:
        fields: of the documents, in the same order.
        shares: what a term counts in each field; nothing where that is not positive.
    """
    stack = TermIndex.stacked([field.densities for field in fields])
    size, k1 = fields[0].size, fields[0].k1
    share = np.maximum(np.array(shares), 0.0)[stack.rows // size]
    term = np.repeat(np.arange(len(stack.terms)), stack.counts)
    postings, place = np.unique(term * size + stack.rows % size, return_inverse=True)
    density = np.bincount(place, stack.weights * share, len(postings))
    counts = np.bincount(postings // size, minlength=len(stack.terms))
    idf = np.maximum(np.log(size - counts + 0.5) - np.log(counts + 0.5), _LEAST_IDF)
    weights = np.repeat(idf, counts) * density / (density + k1)
    return TermIndex(stack.terms, counts, postings % size, weights, size)


def _idf(document_frequency: Positions, size: int, epsilon: float) -> Floats:
    """Okapi's idf, with `epsilon` times their mean in place of negative values."""
    if not len(document_frequency):
        return np.zeros(0)
    idf: Floats = np.log(size - document_frequency + 0.5) - np.log(document_frequency + 0.5)
    idf[idf < 0] = epsilon * idf.mean()
    return idf
