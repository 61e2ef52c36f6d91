"""What the words of a request say for each card: BM25 over text, schema, examples and tags."""

import math
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from orchestrator.routing.bm25 import SparseBm25
from orchestrator.routing.cards import CapabilityCard
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.synonyms import synonyms_of
from orchestrator.routing.terms import Floats, TermIndex

FIELDS: Final = ("text", "schema_text", "examples", "tags")

_WEIGHT_POWER = 0.3
_FAMILY_PREFIX = 5
_FAMILY_REACH = 3
_FEWEST = 12
_NOTHING = "\0"


@dataclass(frozen=True, slots=True)
class Evidence:
    """BM25 scores of every card for one text; arrays of shape (n_cards,).

    `total` is the weighted sum of the fields. `mass` is what a card would score that held every
    word of the text: words that no card holds weigh most, so total / mass tells how much of the
    text the catalog has words for.
    """

    fields: Mapping[str, Floats]
    total: Floats
    mass: float

    @property
    def strength(self) -> Floats:
        """How strong the evidence is, comparable between texts, shape (n_cards,).

        The total over the square root of the mass: between the total, which grows with the length
        of the text, and the share, which one common word of a short text makes perfect.
        """
        return self.total / math.sqrt(self.mass) if self.mass > 0 else np.zeros_like(self.total)

    @property
    def weight(self) -> Floats:
        """Evidence to tell requests that some tool fits from others by, shape (n_cards,).

        Divided by a lower power of the mass than `strength`: long requests that much speaks for
        are seldom ones that nothing fits. The power was chosen on training halves of public data.
        """
        return self.total / self.mass**_WEIGHT_POWER if self.mass > 0 else np.zeros_like(self.total)

    @property
    def peak(self) -> float:
        """The greatest strength; 0 without cards."""
        best = float(self.total.max(initial=0.0))
        return best / math.sqrt(self.mass) if self.mass > 0 else 0.0


class EvidenceIndex:
    """The four BM25 indexes of a catalog."""

    def __init__(self, cards: Sequence[CapabilityCard], profile: RoutingProfile) -> None:
        """Index the cards."""
        self._size = len(cards)
        self._profile = profile
        indexes = {
            "text": _index([(*c.name_stems, *c.text_stems) for c in cards]),
            "schema_text": _index([c.schema_stems for c in cards]),
            "examples": _index([[w for e in c.example_stems for w in e] for c in cards]),
            "tags": _index([c.tag_stems for c in cards]),
        }
        self._text = indexes["text"]
        self._stack = TermIndex.stacked([indexes[name].index for name in FIELDS])
        weights = self._profile.weights
        used = (name for name in FIELDS if indexes[name].index.terms)
        self._full = sum(float(getattr(weights, name)) for name in used)
        self._families = _families(self._stack.terms)

    def find(self, stems: Iterable[str], *, values: Container[str] = ()) -> Evidence:
        """The evidence of a text given as stems; repeats count once.

        Args:
            stems: of the words that say something.
            values: those that belong to values (a city, a day). A tool need not know them, so they
                add to the evidence but never to its mass.
        """
        words = dict.fromkeys(stems)
        query = self._with_related(words)
        stack = self._stack.sums(query).reshape(len(FIELDS), -1)[:, : self._size]
        fields = dict(zip(FIELDS, stack, strict=True))
        total = np.zeros(self._size)
        for name, scores in fields.items():
            total += getattr(self._profile.weights, name) * scores
        asked = [word for word in words if word not in values]
        return Evidence(fields=fields, total=total, mass=self._mass(asked))

    def knows(self, word: str) -> bool:
        """Whether the catalog has the word, one of its family or a synonym."""
        return not self._stack.terms.isdisjoint(self._with_related([word]))

    def idf(self, word: str) -> float:
        """How telling a word is among names and descriptions."""
        return self._text.idf(word)

    def _with_related(self, words: Iterable[str]) -> dict[str, float]:
        """The words, and the catalog's words of the same family at a lower weight."""
        query = dict.fromkeys(words, 1.0)
        for word in list(query):
            for relative in self._families.get(word[:_FAMILY_PREFIX], ()):
                if abs(len(relative) - len(word)) <= _FAMILY_REACH:
                    query.setdefault(relative, self._profile.related)
            for synonym in synonyms_of(word):
                query.setdefault(synonym, self._profile.synonym)
        return query

    def _mass(self, words: Iterable[str]) -> float:
        """What a card that held every word in every field scores."""
        idf = sum(max(0.0, self._text.idf(word)) for word in words)
        return self._full * idf * (self._text.k1 + 1)


def _index(corpus: list[Sequence[str]]) -> SparseBm25:
    """The index of a field; beside a handful of cards stand others that say nothing.

    What every card of so few says would else count as what every tool says: with one tool, all.
    """
    missing = _FEWEST - len(corpus) if corpus else 0
    length = round(sum(map(len, corpus)) / max(1, len(corpus)))
    return SparseBm25([*corpus, *([(_NOTHING,) * length] * missing)])


def _families(words: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Stems by their first letters: analysi(s) and analyz(e) are one family, short words none."""
    families: dict[str, set[str]] = defaultdict(set)
    for word in words:
        if len(word) >= _FAMILY_PREFIX:
            families[word[:_FAMILY_PREFIX]].add(word)
    return {prefix: tuple(sorted(found)) for prefix, found in families.items()}
