"""The words of each card in their order: what only a closer look at promising cards can tell."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.indexes.spelling import Spelling
from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.scoring.columns import Rows

FEATURES: Final = ("coverage", "held", "near", "order", "spelling")
_REACH = 3
_GAP: Final = (0,) * _REACH


class Sought(NamedTuple):
    """One text, as far as words tell."""

    stems: Sequence[str]
    """Its words, in order."""
    values: Collection[str]
    """Those of them that belong to values: coverage does not ask for them."""
    idf: Mapping[str, float]
    """How telling each word is that the catalog knows in any form; no card need hold the others."""


class Hits(NamedTuple):
    """Words of the texts where the looked-at cards have them; arrays of shape (n_hits,)."""

    place: NDArray[np.intp]
    """In the cards' words, ascending in each card; fields lie further apart than pairs."""
    row: NDArray[np.intp]
    """Of the card among those looked at."""
    word: NDArray[np.intp]
    """Of the texts, among their distinct words."""


class _Words(NamedTuple):
    """The distinct words of texts that are read together; arrays of shape (n_texts, n_words)."""

    numbers: Mapping[str, int]
    """Each word's column."""
    known: Floats
    """How telling a word of the text is that the catalog knows; 0 for words of other texts."""
    asked: Floats
    """The same, 0 for values."""


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

    def features(self, texts: Sequence[Sought], rows: Rows) -> Floats:
        """Each of FEATURES of each text and card, shape (len(FEATURES), n_texts, n_rows).

        All texts are read together: the calls of numpy cost more than what they compute.

        Args:
            texts: at least one.
            rows: positions of the cards, ascending.
        """
        words = _words_of(texts)
        hits = self._hits(words, rows)
        shape = (len(rows), len(words.numbers))
        own = hits.place < self._own_ends[rows][hits.row]
        near, order = _pairs(hits, words, [text.stems for text in texts], len(rows))
        expected = _or_one(words.asked.sum(axis=1))[:, None]
        scale = _or_one(words.known.sum(axis=1))[:, None]
        held = _held(hits.row, hits.word, shape)
        held_own = _held(hits.row[own], hits.word[own], shape)
        return np.stack(
            [
                words.asked @ held.T / expected,
                words.known @ held_own.T / scale,
                near / expected,
                order / expected,
                self._likeness(texts, rows),
            ]
        )

    def _fields(self, fields: Sequence[Sequence[str]]) -> list[int]:
        numbers = self._numbers
        found: list[int] = []
        for field in fields:
            found += [numbers.setdefault(word, len(numbers) + 1) for word in field]
            found += _GAP
        return found

    def _hits(self, words: _Words, rows: Rows) -> Hits:
        places, lengths = _ranges(self._starts[rows], self._ends[rows])
        columns = {self._numbers[w]: i for w, i in words.numbers.items() if w in self._numbers}
        said = np.full(len(self._numbers) + 1, -1, dtype=np.intp)
        said[list(columns)] = list(columns.values())
        word = said[self._words[places]]
        # Few of the cards' words are said at all.
        found = np.flatnonzero(word >= 0)
        return Hits(places[found], _rows_of(lengths)[found], word[found])

    def _likeness(self, texts: Sequence[Sought], rows: Rows) -> Floats:
        """Cosine of the letters of text and of name and description, 0 to 1; (n_texts, n_rows)."""
        places, lengths = _ranges(self._own_bounds[rows], self._own_bounds[rows + 1])
        scores, sizes = self._spelling.scores([dict.fromkeys(text.stems) for text in texts])
        total = _summed(scores[:, self._own_words[places]], lengths)
        likeness: Floats = total / (_or_one(sizes)[:, None] * self._length[rows])
        return likeness

    def _distinct_own(self) -> tuple[NDArray[np.int32], Rows]:
        """The words of each name and description, each once, and where those of a card start.

        Each card has one at least: the 0 between its fields.
        """
        places, lengths = _ranges(self._starts, self._own_ends)
        row = _rows_of(lengths)
        size = len(self._numbers) + 1
        _, first = np.unique(row * size + self._words[places], return_index=True)
        first = np.sort(first)
        counts = np.bincount(row[first], minlength=len(self._starts))
        return self._words[places[first]], np.concatenate([[0], np.cumsum(counts)])

    def _own_length(self) -> Floats:
        squares = self._spelling.squares[self._own_words]
        return np.sqrt(np.maximum(_summed(squares, np.diff(self._own_bounds)), 1e-9))


def _words_of(texts: Sequence[Sought]) -> _Words:
    words = dict.fromkeys(word for text in texts for word in text.stems)
    known = np.array([[text.idf.get(word, 0.0) for word in words] for text in texts])
    typed = np.array([[word not in text.values for word in words] for text in texts], dtype=bool)
    return _Words({word: i for i, word in enumerate(words)}, known, known * typed)


def _ranges(starts: Rows, ends: Rows) -> tuple[Rows, Rows]:
    """Every position from each start to its end, range after range; and how many each has."""
    lengths = ends - starts
    before = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths), lengths


def _rows_of(lengths: Rows) -> Rows:
    """For each position of ranges of these lengths, the number of its range."""
    return np.repeat(np.arange(len(lengths)), lengths)


def _summed(values: Floats, lengths: Rows) -> Floats:
    """The sums over ranges of the last axis, none of them empty."""
    sums: Floats = np.add.reduceat(values, np.cumsum(lengths) - lengths, axis=-1)
    return sums


def _or_one(values: Floats) -> Floats:
    """The values, 1 for each that is 0, to divide by."""
    return np.where(values == 0, 1.0, values)


def _held(row: NDArray[np.intp], word: NDArray[np.intp], shape: tuple[int, int]) -> Floats:
    """1 where a card holds a word, else 0; shape (n_rows, n_words)."""
    held = np.zeros(shape)
    held[row, word] = 1.0
    return held


class _Pairs(NamedTuple):
    """Pairs of words that stand near each other in some text, numbered from 1."""

    number: NDArray[np.intp]
    """Of each pair (first word's column times n_words plus the second's), 0 where it is none."""
    weights: Floats
    """What each pair of a text weighs, 0 for pairs of other texts; shape (n_texts, n_pairs + 1)."""


def _pairs(
    hits: Hits, words: _Words, stems: Sequence[Sequence[str]], cards: int
) -> tuple[Floats, Floats]:
    """What the pairs weigh that each card has near each other, and in the text's order.

    Both of shape (n_texts, cards). A pair is two words that stand near each other in a text; each
    counts once.
    """
    near, order = _pairs_said(words, stems)
    firsts, seconds = [], []
    for step in range(1, _REACH + 1):
        close = np.flatnonzero(hits.place[step:] - hits.place[:-step] <= _REACH)
        firsts.append(close)
        seconds.append(close + step)
    first, second = np.concatenate(firsts), np.concatenate(seconds)
    row, pair = hits.row[first], hits.word[first] * len(words.numbers) + hits.word[second]
    next_to = np.flatnonzero(hits.place[second] - hits.place[first] == 1)
    return _weigh(row, pair, near, cards), _weigh(row[next_to], pair[next_to], order, cards)


def _pairs_said(words: _Words, stems: Sequence[Sequence[str]]) -> tuple[_Pairs, _Pairs]:
    """The pairs of the texts, the word that was said first anywhere first; and those in order."""
    size = len(words.numbers)
    near: dict[int, float] = {}
    order: dict[int, float] = {}
    for text, said in enumerate(stems):
        columns, worth = [words.numbers[word] for word in said], words.asked[text].tolist()
        start = text * size * size
        for step in range(1, _REACH + 1):
            for first, second in zip(columns, columns[step:], strict=False):
                if first == second:
                    continue
                both = (worth[first] + worth[second]) / 2
                low, high = (first, second) if first < second else (second, first)
                near[start + low * size + high] = both
                if step == 1:
                    order[start + first * size + second] = both
    return _numbered(near, words, mirrored=True), _numbered(order, words)


def _numbered(weights: Mapping[int, float], words: _Words, *, mirrored: bool = False) -> _Pairs:
    """The pairs by their weights, each found by n_words squared times its text plus the pair.

    `mirrored` ones are the same the other way round.
    """
    texts, size = words.asked.shape
    text, pair = np.divmod(np.array([*weights], dtype=np.intp), max(1, size * size))
    number = np.zeros(size * size, dtype=np.intp)
    number[pair] = 1
    distinct = np.flatnonzero(number)
    number[distinct] = np.arange(1, len(distinct) + 1)
    if mirrored:
        square = number.reshape(size, size)
        number = (square + square.T).ravel()
    weighed = np.zeros((texts, len(distinct) + 1))
    weighed[text, number[pair]] = [*weights.values()]
    return _Pairs(number, weighed)


def _weigh(rows: NDArray[np.intp], pairs: NDArray[np.intp], said: _Pairs, cards: int) -> Floats:
    """The sum over each card's distinct pairs; shape (n_texts, cards)."""
    held = _held(rows, said.number[pairs], (cards, said.weights.shape[1]))
    return said.weights @ held.T
