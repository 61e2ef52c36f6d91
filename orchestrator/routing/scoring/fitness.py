"""Whether a tool fits a request at all: what tells it, and how much each sign of it counts."""

from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from itertools import chain
from typing import Final

import numpy as np

from orchestrator.language.clause_reading import ClauseReading
from orchestrator.language.intent import Slot
from orchestrator.language.words import content_stems
from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.scoring.scorer import ScoreTable

SIGNS: Final = ("evidence", "name", "near", "unheld", "number")
"""What the fitness of a tool is read from; see `fitness_signs`."""

# A logistic regression on the training halves of public routing data, each set weighted alike:
# tests/benchmarks/fit_fitness.py.
_COEFFICIENTS: Final = np.array([2.88, 1.08, 0.61, -0.63, -0.62])
_LEVEL: Final = -2.39
_CLOSER = 24
"""So many of the tools that the words speak for most are looked at."""
_NUMBERS: Final = frozenset({"quantity", "amount"})


def fitness_signs(
    reading: ClauseReading,
    slots: Sequence[Slot],
    *,
    table: ScoreTable,
    weights: Mapping[str, float],
    cards: Mapping[str, CapabilityCard],
) -> Floats:
    """The signs of the most promising tools; shape (n_tools, len(SIGNS)).

    The weight of the words' evidence, in units of the most telling word that there can be; the
    squared share of the tool's name that was said; how many words meet in its texts as they do in
    the request; how many it has nothing for, values aside; and whether it wants a number where
    none was said.

    Args:
        reading: the request, read as one clause.
        slots: its values.
        table: its features; a tool that is not in it has none.
        weights: of the words' evidence, for the tools that may fit.
        cards: every card of the catalog by its name.
    """
    said = frozenset(reading.stems)
    asked = said.difference(*(content_stems(slot.text) for slot in slots))
    has_number = any(slot.kind in _NUMBERS for slot in slots)
    unit = float(np.log(2 * len(cards) + 1))
    names, nears = _column(table, "name"), _column(table, "near")
    signs = [
        (
            np.log1p(weights[tool] / unit),
            names.get(tool, 0.0) ** 2,
            np.log1p(nears.get(tool, 0.0) * len(said)),
            np.log1p(len(asked.difference(_words_of(cards[tool])))),
            # A count or a price that has to be said for it, and was not.
            not has_number and any("quantity" in need.kinds for need in cards[tool].needs),
        )
        for tool in nlargest(_CLOSER, weights, key=weights.__getitem__)
    ]
    return np.array(signs, dtype=np.float64).reshape(-1, len(SIGNS))


def fitness(signs: Floats) -> float:
    """How well the tool with the best signs fits, 0 to 1; 0 where there is none.

    The chance that it does, where as many requests fit as do not; how often a catalog is asked for
    what it does not have differs. Comparable between requests over one catalog.
    """
    best = float((signs * _COEFFICIENTS).sum(axis=1).max(initial=-np.inf))
    return float(1 / (1 + np.exp(-(best + _LEVEL))))


def _column(table: ScoreTable, feature: str) -> dict[str, float]:
    return dict(zip(table.names, table.features[feature].tolist(), strict=True))


def _words_of(card: CapabilityCard) -> Iterable[str]:
    """Every word that the tool has anywhere."""
    texts = (card.name_stems, card.text_stems, card.schema_stems, card.tag_stems)
    return chain(*texts, *card.example_stems)
