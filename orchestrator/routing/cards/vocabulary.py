"""The vocabulary of a catalog: the domains of its words, and corrections of misspelt words."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from orchestrator.language.intent import Action, Slot
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.words import action_of_stem, name_stems
from orchestrator.routing.cards.capability_card import UNTYPED, CapabilityCard
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.sparse_index import K1, Bm25Field, Floats, TermIndex, joint_field

_SHORTEST_SLIP = 5


class CatalogVocabulary:
    """The words of a catalog by domain, learned once from its cards."""

    def __init__(self, cards: Iterable[CapabilityCard]) -> None:
        """Learn from the cards; no domain is predefined."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        named: set[str] = set()
        for card in cards:
            count = counts[card.domain]
            for stems in (card.text_stems, *card.example_stems):
                count.update(stems)
            # A word in a tag or a name weighs more than one in a text or an example.
            for stems, weight in ((card.tag_stems, 3), (card.name_stems, 2)):
                for word in stems:
                    count[word] += weight
            named.update(card.name_stems, card.tag_stems)
        self.domains = tuple(sorted(counts))
        self._known = frozenset(word for count in counts.values() for word in count)
        self._named = frozenset(named)
        self._by_shape: dict[tuple[str, int], list[str]] = defaultdict(list)
        for word in self._named:
            self._by_shape[word[0], len(word)].append(word)
        uses = Counter(word for count in counts.values() for word in count)
        idf = {word: math.log((len(counts) + 0.5) / (found - 0.5)) for word, found in uses.items()}
        domains = [counts[domain] for domain in self.domains]
        # Saturated, so that a word that a domain repeats counts three more times at most.
        self._index = TermIndex(
            [{w: idf[w] * n / (n + 3.0) for w, n in count.items()} for count in domains]
        )

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
        inner = range(1, len(word) - 1)
        swapped = (word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in inner)
        found = {near for near in (*_shorter(word), *swapped) if near in self._named}
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
        shares = self.domain_shares(stems)
        return self.domains[len(shares) - 1 - int(shares[::-1].argmax())] if shares.any() else None


def _shorter(word: str) -> Iterable[str]:
    return (word[:i] + word[i + 1 :] for i in range(1, len(word)))


FIELDS: Final = ("text", "schema_text", "examples")

_WEIGHT_POWER = 0.1
_LEAST_IDF = 0.05


class _Word(NamedTuple):
    """A word in the form that the catalog uses."""

    synonyms: tuple[str, ...]
    idf: float
    is_known: bool


@dataclass(frozen=True, slots=True)
class Evidence:
    """BM25 scores of every card for one text.

    - fields: scores for each of FIELDS, shape (len(FIELDS), n_cards)
    - total: their weighted sum, shape (n_cards,)
    - joint: scores over all fields as one, so that a word in several fields counts once; same shape
    - mass: the score of a card with every word of the text. Words that no card has weigh most, so
      total / mass is the part of the text that the catalog has words for
    - known: idf of each word that the catalog has, or a synonym of it
    """

    fields: Floats
    joint: Floats
    total: Floats
    mass: float
    known: Mapping[str, float]

    @property
    def weight(self) -> Floats:
        """Evidence that separates requests that some tool fits from others; shape (n_cards,).

        The divisor is a lower power of the mass than in `strength`: long requests with much
        evidence seldom lack a fitting tool. The power was chosen on training halves of public data.
        """
        return self.total / self.mass**_WEIGHT_POWER if self.mass > 0 else np.zeros_like(self.total)

    @property
    def strength(self) -> float:
        """Strength of the evidence for the best card, comparable between texts; 0 without cards.

        The total is divided by the square root of the mass. This lies between the total, which
        grows with the length of the text, and the share, which one common word of a short text
        makes perfect.
        """
        best = float(self.total.max(initial=0.0))
        return best / math.sqrt(self.mass) if self.mass > 0 else 0.0


class EvidenceIndex:
    """The BM25 indexes of a catalog, one for each field."""

    def __init__(self, cards: Sequence[CapabilityCard], profile: RoutingProfile) -> None:
        """Index the cards."""
        self._size = len(cards)
        self._synonym = profile.synonym
        corpora: list[list[Sequence[str]]] = [
            [(*c.name_stems, *c.text_stems) for c in cards],
            [(*c.schema_stems, *c.tag_stems) for c in cards],
            [[w for e in c.example_stems for w in e] for c in cards],
        ]
        fields = []
        for corpus in corpora:
            # Padded to at least twelve cards with empty ones. Otherwise the words of a single tool
            # would count as words of every tool.
            missing = 12 - len(corpus) if corpus else 0
            length = round(sum(map(len, corpus)) / max(1, len(corpus)))
            fields.append(Bm25Field([*corpus, *([("\0",) * length] * missing)]))
        self._text = fields[0]
        self._weights = np.array([getattr(profile.weights, name) for name in FIELDS])
        rows = [field.weights for field in fields]
        joint = joint_field(fields, self._weights.tolist())
        # All fields are concatenated in one index, so that a query is summed once.
        self._stack = TermIndex([*chain(*rows), *joint])
        self._full = float(self._weights[[any(field) for field in rows]].sum())
        # Cached, as a request, its clauses and other requests share words.
        self._word = lru_cache(maxsize=1 << 15)(self._look_up)

    def find(self, stems: Iterable[str], slots: Sequence[Slot] = ()) -> Evidence:
        """Return the evidence of a text given as stems; repeats count once.

        Args:
            stems: the stems of the content words.
            slots: the values of the text. A tool need not know a city or a day, so they add to the
                evidence but never to its mass.
        """
        values = value_stems(slots)
        words = {word: self._word(word) for word in stems}
        known, asked = {}, 0.0
        for word, found in words.items():
            if found.is_known:
                known[word] = max(_LEAST_IDF, found.idf)
            if word not in values:
                asked += max(0.0, found.idf)
        query = dict.fromkeys(words, 1.0)
        for word in [*query]:
            for synonym in self._word(word).synonyms:
                query.setdefault(synonym, self._synonym)
        sums = self._stack.sums(query).reshape(len(FIELDS) + 1, -1)[:, : self._size]
        return Evidence(
            fields=sums[:-1],
            joint=sums[-1],
            total=self._weights @ sums[:-1],
            mass=self._full * asked * (K1 + 1),
            known=known,
        )

    def knows(self, word: str) -> bool:
        """Return True if the catalog has the word or a synonym of it."""
        return self._word(word).is_known

    def idf(self, word: str) -> float:
        """Return the idf of a word among names and descriptions."""
        return self._text.idf(word)

    def _look_up(self, word: str) -> _Word:
        synonyms = tuple(one for one in synonyms_of(word) if one in self._stack.terms)
        is_known = bool(synonyms) or word in self._stack.terms
        return _Word(synonyms, self._text.idf(word), is_known)


def value_stems(slots: Iterable[Slot]) -> frozenset[str]:
    """Return stems of the values' words, except names and quoted words, which may carry meaning."""
    return frozenset(w for slot in slots if slot.kind not in UNTYPED for w in name_stems(slot.text))
