"""What a catalog's own words say: which domain a word belongs to, and which words are its verbs."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from orchestrator.routing.cards import CapabilityCard

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
        self._weights = _weights_by_stem(self.domains, counts)

    def domain_scores(self, stems: Iterable[str]) -> dict[str, float]:
        """How strongly the words speak for each domain, 0 left out.

        A word counts the more, the fewer domains use it; repeats count once.
        """
        scores: dict[str, float] = defaultdict(float)
        for word in set(stems):
            for domain, weight in self._weights.get(word, ()):
                scores[domain] += weight
        return dict(scores)

    def best_domain(self, stems: Iterable[str]) -> tuple[str | None, float]:
        """The domain the words speak for most, and its share of all that was said, 0 to 1."""
        scores = self.domain_scores(stems)
        if not scores:
            return None, 0.0
        best = max(scores, key=lambda domain: (scores[domain], domain))
        return best, scores[best] / sum(scores.values())


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


def _weights_by_stem(
    domains: Sequence[str], counts: dict[str, dict[str, float]]
) -> dict[str, tuple[tuple[str, float], ...]]:
    """For each word, the domains that use it with a weight in [0, idf]."""
    uses: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for domain in domains:
        for word, count in counts[domain].items():
            uses[word].append((domain, count / (count + _SATURATION)))
    return {
        word: tuple(
            (domain, share * math.log((len(domains) + 0.5) / (len(found) - 0.5)))
            for domain, share in found
        )
        for word, found in uses.items()
    }
