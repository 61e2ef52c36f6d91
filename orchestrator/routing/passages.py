"""The words of each card in their order: what only a closer look at promising cards can tell."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orchestrator.routing.cards import CapabilityCard
from orchestrator.routing.columns import Rows
from orchestrator.routing.spelling import Spelling
from orchestrator.routing.terms import Floats

FEATURES: Final = ("coverage", "held", "near", "order", "spelling")
_REACH = 3
_GAP: Final = (0,) * _REACH


class Hits(NamedTuple):
    """Words of the request where the looked-at cards have them; arrays of shape (n_hits,)."""

    place: NDArray[np.intp]
    """In the cards' words, ascending in each card; fields lie further apart than pairs."""
    row: NDArray[np.intp]
    """Of the card among those looked at."""
    word: NDArray[np.intp]
    """Of the request."""


class Passages:
    """Every card's words as numbers, field by field; 0 stands between fields."""

    def __init__(self, cards: Sequence[CapabilityCard]) -> None:
        """Lay out the words: first the name and the description, then all others."""
        self._numbers: dict[str, int] = {}
        words: list[int] = []
        starts, own_ends = [], []
        for card in cards:
            starts.append(len(words))
            words += self._fields((card.name_stems, card.text_stems))
            own_ends.append(len(words))
            words += self._fields((card.schema_stems, *card.example_stems, card.tag_stems))
        self._words = np.array(words, dtype=np.int32)
        self._starts = np.array(starts, dtype=np.intp)
        self._own_ends = np.array(own_ends, dtype=np.intp)
        self._ends = np.array([*starts[1:], len(words)], dtype=np.intp)[: len(starts)]
        self._spelling = Spelling(["", *self._numbers], self._uses().tolist(), len(cards))
        self._fresh = self._first_uses()
        self._length = self._own_length()

    def features(
        self, stems: Collection[str], values: Collection[str], idf: Mapping[str, float], rows: Rows
    ) -> dict[str, Floats]:
        """Each of FEATURES for the cards in those rows; arrays of shape (n_rows,).

        Args:
            stems: the request's words, in order.
            values: those that belong to values: coverage does not ask for them.
            idf: how telling each word is that the catalog knows in any form; the others are
                nothing that a card could be expected to hold.
            rows: positions of the cards.
        """
        query = tuple(dict.fromkeys(stems))
        weight = np.array([idf.get(word, 0.0) for word in query])
        asked = np.array([word not in values for word in query], dtype=bool) * weight
        hits = self._hits(query, rows)
        held = self._held(hits, len(rows), len(query))
        own = hits.place < self._own_ends[rows][hits.row]
        held_own = self._held(Hits(*(part[own] for part in hits)), len(rows), len(query))
        scale = float(weight.sum()) or 1.0
        near, order = _pairs(hits, tuple(stems), query, asked, len(rows))
        expected = float(asked.sum()) or 1.0
        return {
            "coverage": held @ asked / expected,
            "held": held_own @ weight / scale,
            "near": near / expected,
            "order": order / expected,
            "spelling": self._likeness(query, rows),
        }

    def _fields(self, fields: Sequence[Sequence[str]]) -> list[int]:
        numbers = self._numbers
        found: list[int] = []
        for field in fields:
            found += [numbers.setdefault(word, len(numbers) + 1) for word in field]
            found += _GAP
        return found

    def _hits(self, query: Sequence[str], rows: Rows) -> Hits:
        place, row = _ranges(self._starts[rows], self._ends[rows])
        numbers = np.full(len(self._numbers) + 1, -1, dtype=np.intp)
        for position, word in enumerate(query):
            numbers[self._numbers.get(word, 0)] = position
        numbers[0] = -1
        word_of = numbers[self._words[place]]
        found = np.flatnonzero(word_of >= 0)
        return Hits(place[found], row[found], word_of[found])

    def _held(self, hits: Hits, rows: int, words: int) -> Floats:
        """1 where a card holds a word, else 0; shape (rows, words)."""
        held = np.zeros((rows, words))
        held[hits.row, hits.word] = 1.0
        return held

    def _likeness(self, query: Sequence[str], rows: Rows) -> Floats:
        """Cosine of the letters of the request and of the name and description, 0 to 1."""
        scores, size = self._spelling.scores(query)
        place, row = _ranges(self._starts[rows], self._own_ends[rows])
        total = np.bincount(row, scores[self._words[place]] * self._fresh[place], len(rows))
        likeness: Floats = total / (self._length[rows] * (size or 1.0))
        return likeness

    def _uses(self) -> NDArray[np.intp]:
        """How many names and descriptions have each word; shape (n_words + 1,)."""
        place, row = _ranges(self._starts, self._own_ends)
        size = len(self._numbers) + 1
        distinct = np.unique(row * size + self._words[place])
        return np.bincount(distinct % size, minlength=size)

    def _first_uses(self) -> Floats:
        place, row = _ranges(self._starts, self._own_ends)
        size = len(self._numbers) + 1
        _, first = np.unique(row * size + self._words[place], return_index=True)
        fresh = np.zeros(len(self._words))
        fresh[place[first]] = 1.0
        return fresh

    def _own_length(self) -> Floats:
        place, row = _ranges(self._starts, self._own_ends)
        squares = np.bincount(
            row, self._spelling.squares[self._words[place]] * self._fresh[place], len(self._starts)
        )
        return np.sqrt(np.maximum(squares, 1e-9))


def _ranges(starts: Rows, ends: Rows) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Every position from each start to its end, and the number of the range it belongs to."""
    lengths = ends - starts
    row = np.repeat(np.arange(len(starts)), lengths)
    before = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) + (starts - before)[row], row


def _pairs(
    hits: Hits, stems: Sequence[str], query: Sequence[str], weight: Floats, rows: int
) -> tuple[Floats, Floats]:
    """For each card, what the pairs weigh that it has near each other, and in the same order.

    A pair is two words that stand near each other in the request; each counts once.
    """
    near, order = _pair_weights(stems, query, weight)
    size = len(query)
    found_near, found_order = [], []
    for step in range(1, _REACH + 1):
        apart = hits.place[step:] - hits.place[:-step]
        close = np.flatnonzero((apart > 0) & (apart <= _REACH))
        first, second = hits.word[:-step][close], hits.word[step:][close]
        base = hits.row[:-step][close] * size
        low, high = np.minimum(first, second), np.maximum(first, second)
        found_near.append((base + low) * size + high)
        if step == 1:
            found_order.append(((base + first) * size + second)[apart[close] == 1])
    return (
        _weigh(np.concatenate(found_near), near, size, rows),
        _weigh(np.concatenate(found_order), order, size, rows),
    )


def _pair_weights(
    stems: Sequence[str], query: Sequence[str], weight: Floats
) -> tuple[Floats, Floats]:
    """What each pair of the request's words weighs, by distance and by order; (words, words)."""
    numbers = {word: number for number, word in enumerate(query)}
    places = np.array([numbers[word] for word in stems], dtype=np.intp)
    both = (weight[:, None] + weight[None, :]) / 2
    near, order = np.zeros_like(both, dtype=bool), np.zeros_like(both, dtype=bool)
    for step in range(1, _REACH + 1):
        first, second = places[:-step], places[step:]
        near[np.minimum(first, second), np.maximum(first, second)] = True
    order[places[:-1], places[1:]] = True
    different = ~np.eye(len(query), dtype=bool)
    return both * (near & different), both * (order & different)


def _weigh(keys: NDArray[np.intp], weights: Floats, size: int, rows: int) -> Floats:
    """The sum over each card's distinct pairs."""
    worth = weights.ravel()[keys % (size * size)] if size else np.zeros(0)
    distinct = np.unique(keys[worth > 0])
    pairs = weights.size or 1
    total: Floats = np.bincount(distinct // pairs, weights.ravel()[distinct % pairs], rows).astype(
        np.float64
    )
    return total
