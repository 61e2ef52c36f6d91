"""Evidence of a request's words for each card: BM25 over text, schema and examples."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from orchestrator.language.intent import Slot
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.words import name_stems
from orchestrator.routing.cards.capability_card import UNTYPED, CapabilityCard
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.sparse_index import K1, Bm25Field, Floats, TermIndex, joint_field

FIELDS: Final = ("text", "schema_text", "examples")

_WEIGHT_POWER = 0.1
_FEWEST = 12
_NOTHING = "\0"
_LEAST_IDF = 0.05
_WORDS_KEPT = 1 << 15


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
        fields = [
            _index([(*c.name_stems, *c.text_stems) for c in cards]),
            _index([(*c.schema_stems, *c.tag_stems) for c in cards]),
            _index([[w for e in c.example_stems for w in e] for c in cards]),
        ]
        self._text = fields[0]
        self._weights = np.array([getattr(profile.weights, name) for name in FIELDS])
        rows = [field.weights for field in fields]
        joint = joint_field(fields, self._weights.tolist())
        # All fields are concatenated in one index, so that a query is summed once.
        self._stack = TermIndex([*chain(*rows), *joint])
        self._full = float(self._weights[[any(field) for field in rows]].sum())
        # Cached, as a request, its clauses and other requests share words.
        self._word = lru_cache(maxsize=_WORDS_KEPT)(self._look_up)

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
        sums = self._stack.sums(self._query(words)).reshape(len(FIELDS) + 1, -1)[:, : self._size]
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

    def _query(self, words: Iterable[str]) -> dict[str, float]:
        """Return the words and their synonyms with weights."""
        query = dict.fromkeys(words, 1.0)
        for word in [*query]:
            for synonym in self._word(word).synonyms:
                query.setdefault(synonym, self._synonym)
        return query

    def _look_up(self, word: str) -> _Word:
        synonyms = tuple(one for one in synonyms_of(word) if one in self._stack.terms)
        is_known = bool(synonyms) or word in self._stack.terms
        return _Word(synonyms, self._text.idf(word), is_known)


def _index(corpus: list[Sequence[str]]) -> Bm25Field:
    """Index a field, padded to at least twelve cards with empty ones.

    Otherwise the words of a single tool would count as words of every tool.
    """
    missing = _FEWEST - len(corpus) if corpus else 0
    length = round(sum(map(len, corpus)) / max(1, len(corpus)))
    return Bm25Field([*corpus, *([(_NOTHING,) * length] * missing)])


def value_stems(slots: Iterable[Slot]) -> frozenset[str]:
    """Return stems of the values' words, except names and quoted words, which may carry meaning."""
    return frozenset(w for slot in slots if slot.kind not in UNTYPED for w in name_stems(slot.text))
