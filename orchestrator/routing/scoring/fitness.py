"""Fitness: the chance that the best tool for a request fulfils it at all."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from orchestrator.language.intent import Slot
from orchestrator.language.words import name_stems
from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.clause_reading import ClauseReading
from orchestrator.routing.scoring.scorer import ScoreTable
from orchestrator.routing.sparse_index import Floats

FITTED_TO: Final = "built-in:"
"""Name prefix of the embedder whose cosines the model was fitted to; those of others only rank."""

# Logistic regressions on the training halves of public routing data, each set weighted alike, and
# the first part of the everyday requests. The levels (intercepts) are set by hand, .1 to .4 below
# the fitted ones. Signs: the weight of the words' evidence; the squared share of the tool's name in
# the request; how many pairs of words occur near each other in both its texts and the request;
# whether the order is known here; the cosine; how many words the tool does not have, values aside;
# and whether it needs a number where none was given.
_WITH_VECTORS: Final = np.array([2.26, 0.5, 0.6, 1.39, 2.67, -0.58, -0.66])
_LEVEL_WITH: Final = -4.21
_BY_WORDS: Final = np.array([2.86, 0.9, 0.81, 1.61, 0.0, -0.72, -1.43])
_LEVEL_BY_WORDS: Final = -4.44
_NUMBERS: Final = frozenset({"quantity", "amount"})


class FittedRequest(NamedTuple):
    """A text that requests something."""

    reading: ClauseReading
    slots: Sequence[Slot]
    table: ScoreTable
    is_known_order: bool
    """True if the catalog knows the verb of an order and its object."""


class Fitness:
    """Computes how well the cards of one catalog fit requests."""

    def __init__(self, cards: Iterable[CapabilityCard], *, has_vectors: bool) -> None:
        """Take the cards; `has_vectors`: cosines come from the embedder used in fitting."""
        self._cards = {card.name: card for card in cards}
        # In units of the highest possible idf.
        self._unit = float(np.log(2 * max(1, len(self._cards)) + 1))
        self._has_vectors = has_vectors
        self._traits = lru_cache(maxsize=None)(self._read_traits)

    def best(self, asked: FittedRequest) -> float:
        """Return how well the best-fitting candidate fits, 0 to 1; 0 without a candidate.

        The value is the chance to fit if half of all requests fit some tool; catalogs differ in how
        often they receive requests that no tool fits. It is not relative to the catalog's own best
        score, so it is comparable between catalogs of any size.
        """
        table = asked.table
        if not table.names:
            return 0.0
        has_vectors = self._has_vectors and table.cosines is not None
        coefficients = _WITH_VECTORS if has_vectors else _BY_WORDS
        level = _LEVEL_WITH if has_vectors else _LEVEL_BY_WORDS
        best = float((self._signs(asked) @ coefficients).max())
        return float(1 / (1 + np.exp(-(best + level))))

    def _signs(self, asked: FittedRequest) -> Floats:
        """Return the signs of each candidate, in the order of the coefficients."""
        table, stems = asked.table, frozenset(asked.reading.stems)
        words = without_values(stems, asked.slots)
        has_number = any(slot.kind in _NUMBERS for slot in asked.slots)
        traits = [self._traits(name) for name in table.names]
        count = len(traits)
        return np.stack(
            [
                np.log1p(table.weight / self._unit),
                table.features["name"] ** 2,
                np.log1p(table.features["near"] * len(stems)),
                np.full(count, float(asked.is_known_order)),
                np.zeros(count) if table.cosines is None else table.cosines,
                np.log1p([len(words - held) for held, _ in traits]),
                [float(wants_number and not has_number) for _, wants_number in traits],
            ],
            axis=1,
        )

    def words_of(self, tool: str) -> frozenset[str]:
        """Return every word of a tool, stemmed."""
        return self._traits(tool)[0]

    def _read_traits(self, tool: str) -> tuple[frozenset[str], bool]:
        """Return every word of a tool, and True if a request must state a count or a price."""
        card = self._cards[tool]
        texts = (card.name_stems, card.text_stems, card.schema_stems, card.tag_stems)
        words = frozenset(chain(*texts, *card.example_stems))
        return words, any("quantity" in need.kinds for need in card.needs)


def without_values(stems: frozenset[str], slots: Iterable[Slot]) -> frozenset[str]:
    """Return the words of a text except those of its values."""
    return stems.difference(*(name_stems(slot.text) for slot in slots))
