"""What a catalog's own words say: which domain a word belongs to, and which words are its verbs."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np

from orchestrator.routing.cards import CapabilityCard
from orchestrator.routing.terms import Floats, TermIndex

_TAG_WEIGHT, _NAME_WEIGHT, _TEXT_WEIGHT, _EXAMPLE_WEIGHT = 3.0, 2.0, 1.0, 1.0
_SATURATION = 3.0


class CatalogVocabulary:
    """The words of a catalog, by domain; learned once from its cards."""

    def __init__(self, cards: Iterable[CapabilityCard]) -> None:
        """Learn from the cards; no domain is known beforehand."""
        counts: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        verbs: set[str] = set()
        for card in cards:
            _count_words(counts[card.domain], card)
            if card.verb:
                verbs.add(card.verb)
        self.domains = tuple(sorted(counts))
        self.verbs = frozenset(verbs)
        self._index = _domain_index([counts[domain] for domain in self.domains])

    def domain_array(self, stems: Iterable[str]) -> Floats:
        """How strongly the words speak for each of `domains`; shape (n_domains,).

        A word counts the more, the fewer domains use it; repeats count once.
        """
        return self._index.sums(dict.fromkeys(stems, 1.0))

    def domain_scores(self, stems: Iterable[str]) -> dict[str, float]:
        """The same by the domain's name, 0 left out."""
        scores = self.domain_array(stems)
        return {self.domains[i]: float(scores[i]) for i in np.flatnonzero(scores)}

    def best_domain(self, stems: Iterable[str]) -> tuple[str | None, float]:
        """The domain the words speak for most, and its share of all that was said, 0 to 1."""
        scores = self.domain_array(stems)
        whole = float(scores.sum())
        if not whole:
            return None, 0.0
        best = len(scores) - 1 - int(scores[::-1].argmax())
        return self.domains[best], float(scores[best]) / whole


def _count_words(count: dict[str, float], card: CapabilityCard) -> None:
    weighted = (
        (card.tag_stems, _TAG_WEIGHT),
        (card.name_stems, _NAME_WEIGHT),
        (card.text_stems, _TEXT_WEIGHT),
        *((example, _EXAMPLE_WEIGHT) for example in card.example_stems),
    )
    for stems, weight in weighted:
        for word in stems:
            count[word] += weight


def _domain_index(counts: list[dict[str, float]]) -> TermIndex:
    """For each word, the domains that use it with a weight in [0, idf]."""
    uses = Counter(word for count in counts for word in count)
    idf = {word: math.log((len(counts) + 0.5) / (found - 0.5)) for word, found in uses.items()}
    return TermIndex.of(
        [{w: idf[w] * n / (n + _SATURATION) for w, n in count.items()} for count in counts]
    )
