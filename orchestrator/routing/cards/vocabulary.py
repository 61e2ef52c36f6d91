"""The vocabulary of a catalog: the domains of its words, and corrections of misspelt words."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from orchestrator.language.intent import Action
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.words import action_of_stem
from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.sparse_index import Floats, TermIndex

_TAG_WEIGHT, _NAME_WEIGHT = 3, 2
"""Weight of a word in a tag or a name; a word in a text or an example counts 1."""
_SATURATION = 3.0
_SHORTEST_SLIP = 5
_KEPT = 256


class CatalogVocabulary:
    """The words of a catalog by domain, learned once from its cards."""

    def __init__(self, cards: Iterable[CapabilityCard]) -> None:
        """Learn from the cards; no domain is predefined."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        named: set[str] = set()
        for card in cards:
            _count_words(counts[card.domain], card)
            named.update(card.name_stems, card.tag_stems)
        self.domains = tuple(sorted(counts))
        self._known = frozenset(word for count in counts.values() for word in count)
        self._named = frozenset(named)
        self._by_shape: dict[tuple[str, int], list[str]] = defaultdict(list)
        for word in self._named:
            self._by_shape[word[0], len(word)].append(word)
        self._index = _domain_index([counts[domain] for domain in self.domains])
        self._best = lru_cache(maxsize=_KEPT)(self._best_of)

    def meant(self, word: str) -> str:
        """Return the stem in names or tags of which a stem is a misspelling; empty if none.

        A misspelling has an extra or a missing letter, or two swapped letters, after the first
        letter. A replaced letter does not count, as different words differ in that way. Words that
        the catalog or the lexicon of verbs and synonyms knows are not misspelt.
        """
        if len(word) < _SHORTEST_SLIP or word in self._known or synonyms_of(word):
            return ""
        if action_of_stem(word) is not Action.UNKNOWN:
            return ""
        found = {near for near in (*_shorter(word), *_swapped(word)) if near in self._named}
        alike = self._by_shape.get((word[0], len(word) + 1), ())
        longer = [near for near in alike if word in _shorter(near)]
        found.update(longer if len(longer) == 1 else ())
        return found.pop() if len(found) == 1 else ""

    def domain_shares(self, stems: Iterable[str]) -> Floats:
        """Return how strongly the words speak for each of `domains`, 1 for the best; (n_domains,).

        The fewer domains use a word, the more it counts; repeats count once.
        """
        scores = self._index.sums(dict.fromkeys(stems, 1.0))
        shares: Floats = scores / (scores.max(initial=0.0) or 1.0)
        return shares

    def best_domain(self, stems: Iterable[str]) -> str | None:
        """Return the domain that the words speak for most; None if there is none."""
        return self._best((*stems,))

    def _best_of(self, stems: tuple[str, ...]) -> str | None:
        shares = self.domain_shares(stems)
        return self.domains[len(shares) - 1 - int(shares[::-1].argmax())] if shares.any() else None


def _shorter(word: str) -> Iterable[str]:
    return (word[:i] + word[i + 1 :] for i in range(1, len(word)))


def _swapped(word: str) -> Iterable[str]:
    return (word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(1, len(word) - 1))


def _count_words(count: Counter[str], card: CapabilityCard) -> None:
    for stems in (card.text_stems, *card.example_stems):
        count.update(stems)
    for stems, weight in ((card.tag_stems, _TAG_WEIGHT), (card.name_stems, _NAME_WEIGHT)):
        for word in stems:
            count[word] += weight


def _domain_index(counts: Sequence[Mapping[str, int]]) -> TermIndex:
    """Index the domains that use each word, with a weight in [0, idf]."""
    uses = Counter(word for count in counts for word in count)
    idf = {word: math.log((len(counts) + 0.5) / (found - 0.5)) for word, found in uses.items()}
    return TermIndex(
        [{w: idf[w] * n / (n + _SATURATION) for w, n in count.items()} for count in counts]
    )
