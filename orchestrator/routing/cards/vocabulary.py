"""What a catalog's own words say: which domain a word belongs to, and which words are its verbs."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from orchestrator.language.intent import Action
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.words import STOP_WORDS, action_of_stem, is_vague, is_verb
from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.clause_reading import CatalogVerbs
from orchestrator.routing.indexes.terms import Floats, TermIndex

_TAG_WEIGHT, _NAME_WEIGHT = 3, 2
"""What a word counts there; one of a text or an example counts 1."""
_SATURATION = 3.0
_SHORTEST_SLIP = 5


class CatalogVocabulary:
    """The words of a catalog, by domain; learned once from its cards."""

    def __init__(self, cards: Iterable[CapabilityCard]) -> None:
        """Learn from the cards; no domain is known beforehand."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        verbs: dict[str, Action] = {}
        named: set[str] = set()
        for card in cards:
            _count_words(counts[card.domain], card)
            named.update(card.name_stems, card.tag_stems)
            for verb in _verbs_of(card):
                own = card.action if card.is_change and not is_verb(verb) else Action.UNKNOWN
                # A verb that tools do different things by tells nothing of what is done.
                verbs[verb] = own if verbs.get(verb, own) is own else Action.UNKNOWN
        self.domains = tuple(sorted(counts))
        self.verbs = CatalogVerbs(verbs)
        self._known = frozenset(word for count in counts.values() for word in count)
        self._named = frozenset(named)
        self._by_shape: dict[tuple[str, int], list[str]] = defaultdict(list)
        for word in self._named:
            self._by_shape[word[0], len(word)].append(word)
        self._index = _domain_index([counts[domain] for domain in self.domains])

    def meant(self, word: str) -> str:
        """The stem in names or tags that a mistyped stem is a slip of; empty when it is of none.

        A slip is a letter too many or too few, or two that changed places, after the first letter.
        Another letter in its place is none: that is how different words differ. What the catalog
        or the lexicon of verbs and synonyms knows is not mistyped.
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
        """How strongly the words speak for each of `domains`, 1 for the best; (n_domains,).

        A word counts the more, the fewer domains use it; repeats count once.
        """
        scores = self._index.sums(dict.fromkeys(stems, 1.0))
        shares: Floats = scores / (scores.max(initial=0.0) or 1.0)
        return shares

    def best_domain(self, stems: Iterable[str]) -> str | None:
        """The domain that the words speak for most; None when they speak for none."""
        shares = self.domain_shares(stems)
        if not shares.any():
            return None
        return self.domains[len(shares) - 1 - int(shares[::-1].argmax())]


def _verbs_of(card: CapabilityCard) -> Iterable[str]:
    """What a tool is named by, and what its summary commands where that is no known verb."""
    said = card.commanded
    is_own = card.is_change and said not in STOP_WORDS and not (is_verb(said) or is_vague(said))
    return dict.fromkeys((*filter(None, [card.verb]), *([said] if said and is_own else [])))


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
    """For each word, the domains that use it with a weight in [0, idf]."""
    uses = Counter(word for count in counts for word in count)
    idf = {word: math.log((len(counts) + 0.5) / (found - 0.5)) for word, found in uses.items()}
    return TermIndex.of(
        [{w: idf[w] * n / (n + _SATURATION) for w, n in count.items()} for count in counts]
    )
