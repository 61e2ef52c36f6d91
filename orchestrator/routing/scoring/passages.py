"""The words of each card as they stand: what only a closer look at promising cards can tell."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.scoring.columns import Rows

FEATURES: Final = ("coverage", "held", "near", "order")
_REACH = 3
_CARDS_KEPT = 1 << 13


class Sought(NamedTuple):
    """One text, as far as words tell."""

    stems: Sequence[str]
    """Its words, in order."""
    values: Collection[str]
    """Those of them that belong to values: only `held` asks for them."""
    idf: Mapping[str, float]
    """How telling each word is that the catalog knows in any form; no card need hold the others."""


class _Passage(NamedTuple):
    """What a card holds: its words, those of its name and description, and neighbours."""

    words: frozenset[str]
    own: frozenset[str]
    near: frozenset[tuple[str, str]]
    order: frozenset[tuple[str, str]]


class Passages:
    """The words of a catalog's cards; those that are looked at often are kept."""

    def __init__(self, cards: Sequence[CapabilityCard]) -> None:
        """Take the cards."""
        self._cards = cards
        self._passage = lru_cache(maxsize=_CARDS_KEPT)(self._read)

    def features(self, texts: Sequence[Sought], rows: Rows) -> Floats:
        """Each of FEATURES of each text and card, shape (len(FEATURES), n_texts, n_rows)."""
        passages = [self._passage(row) for row in rows.tolist()]
        found = np.array([_shares(text, passages) for text in texts]).reshape(
            len(texts), len(rows), len(FEATURES)
        )
        return np.moveaxis(found, 2, 0)

    def _read(self, row: int) -> _Passage:
        card = self._cards[row]
        own = (card.name_stems, card.text_stems)
        fields = (*own, card.schema_stems, *card.example_stems, card.tag_stems)
        return _Passage(
            frozenset(word for field in fields for word in field),
            frozenset(word for field in own for word in field),
            frozenset(pair for field in fields for pair in _near(field)),
            frozenset(pair for field in fields for pair in zip(field, field[1:], strict=False)),
        )


def _shares(text: Sought, passages: Iterable[_Passage]) -> list[tuple[float, ...]]:
    """How much of a text's words, and of its neighbours, each card has; mostly 0 to 1."""
    known = {word: text.idf[word] for word in text.stems if word in text.idf}
    asked = {word: worth for word, worth in known.items() if word not in text.values}
    near = {p: (asked.get(p[0], 0.0) + asked.get(p[1], 0.0)) / 2 for p in _near(text.stems)}
    order = {
        p: (asked.get(p[0], 0.0) + asked.get(p[1], 0.0)) / 2
        for p in zip(text.stems, text.stems[1:], strict=False)
        if p[0] != p[1]
    }
    expected, scale = sum(asked.values()) or 1.0, sum(known.values()) or 1.0
    return [
        (
            _sum(asked, passage.words) / expected,
            _sum(known, passage.own) / scale,
            _sum(near, passage.near) / expected,
            _sum(order, passage.order) / expected,
        )
        for passage in passages
    ]


def _sum(worth: Mapping[object, float], held: Collection[object]) -> float:
    return sum([value for key, value in worth.items() if key in held])


def _near(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pairs of different words that stand at most three apart, each in alphabetical order."""
    for step in range(1, _REACH + 1):
        for first, second in zip(words, words[step:], strict=False):
            if first != second:
                yield (first, second) if first < second else (second, first)
