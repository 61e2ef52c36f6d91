"""What the words of a request say for each card: BM25 over text, schema and examples."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from orchestrator.language.identifiers import marks_of
from orchestrator.language.intent import Slot
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.words import name_stems
from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.cards.input_needs import UNTYPED
from orchestrator.routing.indexes.bm25 import SparseBm25, joint_index
from orchestrator.routing.indexes.terms import Floats, Positions, TermIndex
from orchestrator.routing.profile import RoutingProfile

FIELDS: Final = ("text", "schema_text", "examples")
_EXAMPLES: Final = FIELDS.index("examples")

_WEIGHT_POWER = 0.1
_FAMILY_PREFIX = 5
_FAMILY_REACH = 3
_LAST = "\U0010ffff"
_FEWEST = 12
_NOTHING = "\0"
_LEAST_IDF = 0.05
_MARK_COUNTS = 2.0
"""An id belongs to the tools that take such; a word only speaks for those that have it."""
_WORDS_KEPT = 1 << 15


class _Word(NamedTuple):
    """A word as the catalog has it: related words and what each counts."""

    related: tuple[tuple[str, float], ...]
    idf: float
    is_known: bool


@dataclass(frozen=True, slots=True)
class Evidence:
    """BM25 scores of every card for one text.

    `fields` holds those of each of FIELDS, shape (len(FIELDS), n_cards); `total`, shape (n_cards,),
    is the weighted sum of the fields. `joint`, same shape, takes them as one, so that a word of
    several fields counts once. `mass` is what a card would score that held every word of the
    text: words that no card holds weigh most, so total / mass tells how much of the text the
    catalog has words for. `known` holds how telling each word is that the catalog has in any form,
    its own or a related one.
    """

    fields: Floats
    joint: Floats
    total: Floats
    mass: float
    known: Mapping[str, float]

    @property
    def weight(self) -> Floats:
        """Evidence to tell requests that some tool fits from others by, shape (n_cards,).

        Divided by a lower power of the mass than `strength`: long requests that much speaks for
        are seldom ones that nothing fits. The power was chosen on training halves of public data.
        """
        return self.total / self.mass**_WEIGHT_POWER if self.mass > 0 else np.zeros_like(self.total)

    @property
    def strength(self) -> float:
        """How strong the evidence for the best card is, comparable between texts; 0 without cards.

        The total over the square root of the mass: between the total, which grows with the length
        of the text, and the share, which one common word of a short text makes perfect.
        """
        best = float(self.total.max(initial=0.0))
        return best / math.sqrt(self.mass) if self.mass > 0 else 0.0


class EvidenceIndex:
    """The BM25 indexes of a catalog, one for each field."""

    def __init__(self, cards: Sequence[CapabilityCard], profile: RoutingProfile) -> None:
        """Index the cards."""
        self._size = len(cards)
        self._profile = profile
        indexes = {
            "text": _index([(*c.name_stems, *c.text_stems) for c in cards]),
            "schema_text": _index([(*c.schema_stems, *c.tag_stems) for c in cards]),
            "examples": _index([[w for e in c.example_stems for w in e] for c in cards]),
        }
        self._text = indexes["text"]
        self._weights = np.array([getattr(profile.weights, name) for name in FIELDS])
        self._marks = _index([c.id_marks for c in cards]).index
        joint = joint_index([indexes[name] for name in FIELDS], self._weights.tolist())
        self._stack = TermIndex.stacked([*(indexes[name].index for name in FIELDS), joint])
        used = [bool(indexes[name].index.terms) for name in FIELDS]
        self._full = float(self._weights[used].sum())
        self._height = self._stack.size // (len(FIELDS) + 1)
        self._sorted = sorted(self._stack.terms)
        # The whole of a request and its clauses have the same words, and so have other requests.
        self._word = lru_cache(maxsize=_WORDS_KEPT)(self._look_up)

    def find(self, stems: Iterable[str], slots: Sequence[Slot] = ()) -> Evidence:
        """The evidence of a text given as stems; repeats count once.

        Args:
            stems: of the words that say something.
            slots: its values. A tool need not know a city or a day, so they add to the evidence but
                never to its mass; an id is as two words of the examples of tools that take such.
        """
        values = value_stems(slots)
        marks = marks_of(slot.text for slot in slots if slot.kind == "identifier")
        words = {word: self._word(word) for word in stems}
        query = self._query(words)
        known, asked = {}, 0.0
        for word, found in words.items():
            if found.is_known:
                known[word] = max(_LEAST_IDF, found.idf)
            if word not in values:
                asked += max(0.0, found.idf)
        sums = self._stack.sums(query).reshape(len(FIELDS) + 1, -1)[:, : self._size]
        if marks:
            sums[_EXAMPLES] += self._marks.sums(dict.fromkeys(marks, _MARK_COUNTS))[: self._size]
        return Evidence(
            fields=sums[:-1],
            joint=sums[-1],
            total=self._weights @ sums[:-1],
            mass=self._full * asked * (self._text.k1 + 1),
            known=known,
        )

    def totals(self, texts: Sequence[Iterable[str]]) -> tuple[Positions, Floats]:
        """The totals of several texts at once, over the cards that any of them speaks for.

        Args:
            texts: each given as its stems.

        Returns:
            Positions of cards in their order, the first one always among them, and what each text
            says for each of these; shape (n_texts, n_positions).
        """
        found = [self._stack.gathered(self._query(dict.fromkeys(text))) for text in texts]
        field, card = np.divmod(np.concatenate([rows for rows, _ in found]), self._height)
        counted = np.append(self._weights, 0.0)[field]
        weights = np.concatenate([weights for _, weights in found]) * counted
        is_meant = np.zeros(self._height, dtype=bool)
        is_meant[card] = True
        is_meant[0] = True
        cards = np.flatnonzero(is_meant)
        text = np.repeat(np.arange(len(texts)), [len(rows) for rows, _ in found])
        place = text * len(cards) + (np.cumsum(is_meant) - 1)[card]
        sums: Floats = np.bincount(place, weights, len(texts) * len(cards)).astype(np.float64)
        return cards, sums.reshape(len(texts), -1)

    def _query(self, words: Iterable[str]) -> dict[str, float]:
        """Words with their related ones, and what each counts."""
        query = dict.fromkeys(words, 1.0)
        for word in [*query]:
            for relative, weight in self._word(word).related:
                query.setdefault(relative, weight)
        return query

    def knows(self, word: str) -> bool:
        """Whether the catalog has the word, one of its family or a synonym."""
        return self._word(word).is_known

    def idf(self, word: str) -> float:
        """How telling a word is among names and descriptions."""
        return self._text.idf(word)

    def _look_up(self, word: str) -> _Word:
        """What the catalog has of a word: itself, and at a lower weight its family and synonyms."""
        related: dict[str, float] = {}
        for relative in self._family(word):
            if relative != word and abs(len(relative) - len(word)) <= _FAMILY_REACH:
                related.setdefault(relative, self._profile.related)
        for synonym in synonyms_of(word):
            if synonym in self._stack.terms:
                related.setdefault(synonym, self._profile.synonym)
        is_known = bool(related) or word in self._stack.terms
        return _Word(tuple(related.items()), self._text.idf(word), is_known)

    def _family(self, word: str) -> Sequence[str]:
        """Stems with the same first letters: analysi(s) and analyz(e); short words have none."""
        prefix = word[:_FAMILY_PREFIX]
        if len(prefix) < _FAMILY_PREFIX:
            return ()
        end = bisect_left(self._sorted, f"{prefix}{_LAST}")
        return self._sorted[bisect_left(self._sorted, prefix) : end]


def _index(corpus: list[Sequence[str]]) -> SparseBm25:
    """The index of a field; beside a handful of cards stand others that say nothing.

    What every card of so few says would else count as what every tool says: with one tool, all.
    """
    missing = _FEWEST - len(corpus) if corpus else 0
    length = round(sum(map(len, corpus)) / max(1, len(corpus)))
    return SparseBm25([*corpus, *([(_NOTHING,) * length] * missing)])


def value_stems(slots: Iterable[Slot]) -> frozenset[str]:
    """Stems of the words that are values; names and quoted words may say what is asked."""
    return frozenset(w for slot in slots if slot.kind not in UNTYPED for w in name_stems(slot.text))
