"""The words of each card in their order: what only a closer look at promising cards can tell."""

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
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


class Sought(NamedTuple):
    """One text, and the cards that are looked at for it."""

    stems: Sequence[str]
    """The text's words, in order."""
    values: Collection[str]
    """Those of them that belong to values: coverage does not ask for them."""
    idf: Mapping[str, float]
    """How telling each word is that the catalog knows in any form; no card need hold the others."""
    rows: Rows
    """Positions of the cards."""


class Hits(NamedTuple):
    """Words of the texts where the looked-at cards have them; arrays of shape (n_hits,)."""

    place: NDArray[np.intp]
    """In the cards' words, ascending in each card; fields lie further apart than pairs."""
    row: NDArray[np.intp]
    """Of the card among those looked at."""
    word: NDArray[np.intp]
    """Of the text, among its distinct words."""


class _Looked(NamedTuple):
    """Several texts laid end to end: the calls of numpy cost more than what they compute."""

    queries: tuple[tuple[str, ...], ...]
    """The distinct words of each text."""
    rows: Rows
    """The looked-at cards of the first text, then those of the next."""
    text: NDArray[np.intp]
    """The number of the text that each of these rows is looked at for."""
    bounds: tuple[int, ...]
    """Where the rows of each text start, and where those of the last one end."""
    width: int
    """The most distinct words that a text has."""


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
        self._own_words, self._own_bounds = self._distinct_own()
        uses = np.bincount(self._own_words, minlength=len(self._numbers) + 1)
        self._spelling = Spelling(["", *self._numbers], uses.tolist(), len(cards))
        self._length = self._own_length()

    def features(self, texts: Sequence[Sought]) -> list[dict[str, Floats]]:
        """For each text each of FEATURES; arrays of shape (n_rows,), one value per card.

        Texts that are scored together are read together, which costs little more than one.
        """
        looked = _laid_out(texts)
        queries = looked.queries
        weights = [
            np.array([t.idf.get(w, 0.0) for w in q]) for t, q in zip(texts, queries, strict=True)
        ]
        asked = [
            np.array([word not in text.values for word in query], dtype=bool) * weight
            for text, query, weight in zip(texts, queries, weights, strict=True)
        ]
        hits = self._hits(looked)
        own = hits.place < self._own_ends[looked.rows][hits.row]
        held = _held(hits.row, hits.word, looked)
        held_own = _held(hits.row[own], hits.word[own], looked)
        near, order = _pairs(hits, looked, [t.stems for t in texts], asked)
        spelling = self._likeness(looked)
        found = []
        for i, query in enumerate(queries):
            part = slice(looked.bounds[i], looked.bounds[i + 1])
            scale = float(weights[i].sum()) or 1.0
            expected = float(asked[i].sum()) or 1.0
            found.append(
                {
                    "coverage": held[part, : len(query)] @ asked[i] / expected,
                    "held": held_own[part, : len(query)] @ weights[i] / scale,
                    "near": near[part] / expected,
                    "order": order[part] / expected,
                    "spelling": spelling[part],
                }
            )
        return found

    def _fields(self, fields: Sequence[Sequence[str]]) -> list[int]:
        numbers = self._numbers
        found: list[int] = []
        for field in fields:
            found += [numbers.setdefault(word, len(numbers) + 1) for word in field]
            found += _GAP
        return found

    def _hits(self, looked: _Looked) -> Hits:
        place, row = _ranges(self._starts[looked.rows], self._ends[looked.rows])
        numbers = {w: n for q in looked.queries for w in q if (n := self._numbers.get(w))}
        # Few of the cards' words are said at all: those are found first, and then told apart.
        said = np.zeros(len(self._numbers) + 1, dtype=np.int32)
        said[list(numbers.values())] = np.arange(1, len(numbers) + 1)
        said_at = said[self._words[place]]
        found = np.flatnonzero(said_at)
        place, row, said_at = place[found], row[found], said_at[found]
        position = [{w: i for i, w in enumerate(query)} for query in looked.queries]
        meant = np.array([[-1, *(own.get(w, -1) for w in numbers)] for own in position])
        word = meant[looked.text[row], said_at]
        own = np.flatnonzero(word >= 0)
        return Hits(place[own], row[own], word[own])

    def _likeness(self, looked: _Looked) -> Floats:
        """Cosine of the letters of the text and of the name and description, 0 to 1."""
        found = []
        for query, start, end in zip(
            looked.queries, looked.bounds, looked.bounds[1:], strict=False
        ):
            rows = looked.rows[start:end]
            scores, size = self._spelling.scores(query)
            place, row = _ranges(self._own_bounds[rows], self._own_bounds[rows + 1])
            total = np.bincount(row, scores[self._own_words[place]], len(rows))
            found.append(total / (self._length[rows] * (size or 1.0)))
        return np.concatenate(found)

    def _distinct_own(self) -> tuple[NDArray[np.int32], Rows]:
        """The words of each name and description, each once, and where those of a card start."""
        place, row = _ranges(self._starts, self._own_ends)
        size = len(self._numbers) + 1
        _, first = np.unique(row * size + self._words[place], return_index=True)
        first = np.sort(first)
        counts = np.bincount(row[first], minlength=len(self._starts))
        return self._words[place[first]], np.concatenate([[0], np.cumsum(counts)])

    def _own_length(self) -> Floats:
        place, row = _ranges(self._own_bounds[:-1], self._own_bounds[1:])
        squares = np.bincount(
            row, self._spelling.squares[self._own_words[place]], len(self._starts)
        )
        return np.sqrt(np.maximum(squares, 1e-9))


def _laid_out(texts: Sequence[Sought]) -> _Looked:
    queries = tuple(tuple(dict.fromkeys(text.stems)) for text in texts)
    counts = [len(text.rows) for text in texts]
    return _Looked(
        queries=queries,
        rows=np.concatenate([text.rows for text in texts]),
        text=np.repeat(np.arange(len(texts)), counts),
        bounds=(0, *accumulate(counts)),
        width=max(map(len, queries)),
    )


def _ranges(starts: Rows, ends: Rows) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Every position from each start to its end, and the number of the range it belongs to."""
    lengths = ends - starts
    row = np.repeat(np.arange(len(starts)), lengths)
    before = np.cumsum(lengths) - lengths
    return np.arange(len(row)) + (starts - before)[row], row


def _held(row: NDArray[np.intp], word: NDArray[np.intp], looked: _Looked) -> Floats:
    """1 where a card holds a word of its text, else 0; shape (rows, width)."""
    held = np.zeros((len(looked.rows), looked.width))
    held[row, word] = 1.0
    return held


def _pairs(
    hits: Hits, looked: _Looked, stems: Sequence[Sequence[str]], weights: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """For each card, what the pairs weigh that it has near each other, and in the same order.

    A pair is two words that stand near each other in the text; each counts once.
    """
    near, order = _pair_weights(looked, stems, weights)
    size = looked.width
    close_rows, close_pairs = [], []
    next_rows, next_pairs = hits.row[:0], hits.word[:0]
    for step in range(1, _REACH + 1):
        apart = hits.place[step:] - hits.place[:-step]
        same = hits.row[step:] == hits.row[:-step]
        close = np.flatnonzero((apart <= _REACH) & same)
        row, first, second = hits.row[close], hits.word[close], hits.word[close + step]
        close_rows.append(row)
        close_pairs.append(np.minimum(first, second) * size + np.maximum(first, second))
        if step == 1:
            adjacent = apart[close] == 1
            next_rows, next_pairs = row[adjacent], (first * size + second)[adjacent]
    return (
        _weigh(np.concatenate(close_rows), np.concatenate(close_pairs), near, looked),
        _weigh(next_rows, next_pairs, order, looked),
    )


def _pair_weights(
    looked: _Looked, stems: Sequence[Sequence[str]], weights: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """What each pair of a text's words weighs, by nearness and by order.

    Both of shape (n_texts, width * width): first word times width plus second.
    """
    size = looked.width
    near: dict[int, float] = {}
    order: dict[int, float] = {}
    for text, (query, words, weight) in enumerate(zip(looked.queries, stems, weights, strict=True)):
        number = {word: i for i, word in enumerate(query)}
        places, worth = [number[word] for word in words], weight.tolist()
        base = text * size * size
        for step in range(1, _REACH + 1):
            for first, second in zip(places, places[step:], strict=False):
                if first == second:
                    continue
                both = (worth[first] + worth[second]) / 2
                low, high = (first, second) if first < second else (second, first)
                near[base + low * size + high] = both
                if step == 1:
                    order[base + first * size + second] = both
    return _filled(near, len(stems), size), _filled(order, len(stems), size)


def _filled(weights: Mapping[int, float], texts: int, size: int) -> Floats:
    filled = np.zeros(texts * size * size)
    filled[list(weights)] = list(weights.values())
    return filled.reshape(texts, size * size)


def _weigh(
    rows: NDArray[np.intp], pairs: NDArray[np.intp], weights: Floats, looked: _Looked
) -> Floats:
    """The sum over each card's distinct pairs."""
    worth = np.flatnonzero(weights[looked.text[rows], pairs])
    rows, pairs = rows[worth], pairs[worth]
    key = rows * weights.shape[1] + pairs
    order = np.argsort(key)
    key = key[order]
    fresh = np.ones(len(key), dtype=bool)
    np.not_equal(key[1:], key[:-1], out=fresh[1:])
    chosen = order[fresh]
    rows, pairs = rows[chosen], pairs[chosen]
    total: Floats = np.bincount(rows, weights[looked.text[rows], pairs], len(looked.rows)).astype(
        np.float64, copy=False
    )
    return total
