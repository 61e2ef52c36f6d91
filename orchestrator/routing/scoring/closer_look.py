"""What only a closer look at promising cards can tell: their words as they stand, and what for."""

from collections.abc import (
    Callable,
    Collection,
    Container,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from functools import lru_cache
from itertools import chain, pairwise
from typing import Final, NamedTuple, TypeVar

import numpy as np

from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, SlotKind
from orchestrator.language.words import stem
from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.cards.input_needs import share_filled
from orchestrator.routing.clause_reading import ClauseReading
from orchestrator.routing.indexes.terms import Floats, Positions
from orchestrator.routing.scoring.agreement import effect_agreement

FEATURES: Final = ("coverage", "near", "order", "name", "effect", "fit", "own", "negated")
_K = TypeVar("_K", bound=Hashable)
_Pair = tuple[str, str]
_REACH = 3
_CARDS_KEPT = 1 << 13
_SHARES_KEPT = 1 << 14


class Sought(NamedTuple):
    """One text, as far as its words tell."""

    reading: ClauseReading
    idf: Mapping[str, float]
    """How telling each word is that the catalog knows in any form; no card need hold the others."""
    values: Collection[str] = ()
    """Words that belong to values: a tool need not know a city or a day."""
    kinds: tuple[SlotKind, ...] = ()
    """Of its values, in any fixed order."""
    inputs: tuple[str, ...] = ()
    """Names of inputs whose values are there already."""

    @property
    def asked(self) -> dict[str, float]:
        """What the words weigh that the catalog knows, and a tool should have."""
        words = (word for word in self.reading.stems if word not in self.values)
        return {word: self.idf[word] for word in words if word in self.idf}

    @property
    def ownership(self) -> float:
        """1 where what somebody has is asked for, -1 where nothing says so, 0 for orders, ids."""
        if self.reading.action in SIDE_EFFECT_ACTIONS or "identifier" in self.kinds:
            return 0.0
        return 1.0 if self.reading.is_own else -1.0


class _View(NamedTuple):
    """A card, as a closer look sees it."""

    words: frozenset[str]
    name: Mapping[str, float]
    """The share of the name that each of its words is, by how telling it is."""
    verb: float
    """The share that its verb is."""
    card: CapabilityCard


class CloserLook:
    """The cards of a catalog; those that are looked at often are kept as they were read."""

    def __init__(self, cards: Sequence[CapabilityCard], idf: Callable[[str], float]) -> None:
        """Take the cards, and how telling each word of a name is."""
        self._cards = cards
        self._idf = idf
        self._view = lru_cache(maxsize=_CARDS_KEPT)(self._read)
        self._places = lru_cache(maxsize=_CARDS_KEPT)(self._read_places)
        # Requests with values of the same kinds are frequent, and tools with the same needs too.
        self._filled = lru_cache(maxsize=_SHARES_KEPT)(share_filled)

    def features(self, texts: Sequence[Sought], rows: Positions) -> Floats:
        """Each of FEATURES of each text and card, shape (len(FEATURES), n_texts, n_rows).

        All texts are read together: the calls of numpy cost more than what they compute.
        """
        views = [self._view(row) for row in rows.tolist()]
        asked = [text.asked for text in texts]
        near, order = (
            [
                {p: (a.get(p[0], 0.0) + a.get(p[1], 0.0)) / 2 for p in pairs(text.reading.stems)}
                for text, a in zip(texts, asked, strict=True)
            ]
            for pairs in (_near, _order)
        )
        words = {word for text in texts for word in text.reading.stems}
        # So few of a card's words are said that all else is quick.
        held = [words & view.words for view in views]
        places = [
            self._places(row) if len(own) > 1 else {}
            for row, own in zip(rows.tolist(), held, strict=True)
        ]
        said = [dict.fromkeys(text.reading.stems, 1.0) for text in texts]
        unwanted = [dict.fromkeys(text.reading.unwanted, 1.0) for text in texts]
        names = [view.name for view in views]
        expected = np.array([[sum(own.values()) or 1.0] for own in asked])
        return np.stack(
            [
                _shared(asked, [dict.fromkeys(own, 1.0) for own in held]) / expected,
                _shared(near, _meeting(near, held, places, range(-_REACH, _REACH + 1))) / expected,
                _shared(order, _meeting(order, held, places, (1,))) / expected,
                _shared(said, names) + _table(_verb_meant, texts, views),
                _table(_effect, texts, views),
                _table(self._fit, texts, views),
                np.outer([t.ownership for t in texts], [v.card.shows_own for v in views]),
                0.0 - (_shared(unwanted, names) > 0),
            ]
        )

    def _fit(self, text: Sought, view: _View) -> float:
        card = view.card
        return self._filled(card.needs, len(card.required), known=text.inputs, kinds=text.kinds)

    def _read_places(self, row: int) -> dict[str, list[int]]:
        """Where each word stands; those of different texts are never near each other."""
        places: dict[str, list[int]] = {}
        start = 0
        for words in _fields(self._cards[row]):
            for place, word in enumerate(words, start):
                if word in places:
                    places[word].append(place)
                else:
                    places[word] = [place]
            start += len(words) + _REACH
        return places

    def _read(self, row: int) -> _View:
        card = self._cards[row]
        telling = {word: max(0.0, self._idf(word)) for word in card.name_stems}
        # Infinite where a name says nothing, so that no share of it is ever said.
        mass = sum(telling.values()) or float("inf")
        name = {word: own / mass for word, own in telling.items()}
        return _View(
            words=frozenset(chain(*_fields(card))),
            name=name,
            verb=name.get(stem(card.verb), 0.0),
            card=card,
        )


def _shared(texts: Sequence[Mapping[_K, float]], cards: Sequence[Mapping[_K, float]]) -> Floats:
    """The sums of what both a text and a card hold, one's weight times the other's."""
    numbers = {key: number for number, key in enumerate(dict.fromkeys(chain(*texts)))}
    said = [
        (row, numbers[key], weight)
        for row, card in enumerate(cards)
        for key, weight in card.items()
        if key in numbers
    ]
    held = np.zeros((len(cards), len(numbers)))
    if said:
        rows, columns, weights = zip(*said, strict=True)
        held[rows, columns] = weights
    own = [[text.get(key, 0.0) for key in numbers] for text in texts]
    sums: Floats = np.array(own).reshape(len(texts), -1) @ held.T
    return sums


def _fields(card: CapabilityCard) -> Iterator[Sequence[str]]:
    yield from (card.name_stems, card.text_stems, card.schema_stems, card.tag_stems)
    yield from card.example_stems


def _meeting(
    texts: Iterable[Iterable[_Pair]],
    held: Iterable[Collection[str]],
    places: Iterable[Mapping[str, Sequence[int]]],
    steps: Container[int],
) -> list[dict[_Pair, float]]:
    """Of the pairs of the texts, those whose second word is so many after the first in a card.

    Args:
        texts: their pairs.
        held: the words of the texts that each card has.
        places: where the words of each card stand.
        steps: how many words later the second one may stand.
    """
    seconds: dict[str, list[str]] = {}
    for first, second in dict.fromkeys(chain(*texts)):
        seconds.setdefault(first, []).append(second)
    return [
        {
            (first, second): 1.0
            for first in words
            for second in seconds.get(first, ())
            if second in words and _meet(own[first], own[second], steps)
        }
        for words, own in zip(held, places, strict=True)
    ]


def _meet(ones: Iterable[int], others: Sequence[int], steps: Container[int]) -> bool:
    return any(other - one in steps for one in ones for other in others)


def _table(
    rule: Callable[[Sought, _View], float], texts: Sequence[Sought], views: Sequence[_View]
) -> Floats:
    found = [[rule(text, view) for view in views] for text in texts]
    return np.array(found).reshape(len(texts), len(views))


def _verb_meant(text: Sought, view: _View) -> float:
    """What the name's verb is of it, where another that means the same was said."""
    is_meant = text.reading.action is view.card.action and view.card.verb != text.reading.verb
    return view.verb if is_meant and stem(view.card.verb) not in text.reading.stems else 0.0


def _effect(text: Sought, view: _View) -> float:
    return effect_agreement(text.reading, view.card)


def _near(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pairs of different words that stand at most three apart, each in alphabetical order."""
    for step in range(1, _REACH + 1):
        for first, second in zip(words, words[step:], strict=False):
            if first != second:
                yield (first, second) if first < second else (second, first)


def _order(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pairs of different words that follow each other."""
    return ((first, second) for first, second in pairwise(words) if first != second)
