"""Whether a tool fits a request at all: what tells it, and how much each sign of it counts."""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from orchestrator.language.intent import Slot
from orchestrator.language.words import content_stems
from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.clause_reading import ClauseReading
from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.scoring.scorer import ScoreTable

SIGNS: Final = ("evidence", "name", "near", "order", "vectors", "unheld", "number")
"""What the fitness of a tool is read from; see `Fitness.signs`."""
FITTED_TO: Final = "built-in:"
"""How the name of the embedder begins whose cosines were fitted; those of others only rank."""

# Logistic regressions on the training halves of public routing data, each set weighted alike, and
# the part of the everyday requests that is there to be fitted to: tests/benchmarks/fit_fitness.py.
# The levels are set by hand, .1 to .4 below those fitted.
_WITH_VECTORS: Final = np.array([2.26, 0.5, 0.6, 1.39, 2.67, -0.58, -0.66])
_LEVEL_WITH: Final = -4.21
_BY_WORDS: Final = np.array([2.86, 0.9, 0.81, 1.61, 0.0, -0.72, -1.43])
_LEVEL_BY_WORDS: Final = -4.44
_COSTLY: Final = 2
"""So many of the last signs are looked up card by card; they never speak for a tool."""
_NUMBERS: Final = frozenset({"quantity", "amount"})


class FittedRequest(NamedTuple):
    """One text that asks for something."""

    reading: ClauseReading
    slots: Sequence[Slot]
    table: ScoreTable
    is_known_order: bool
    """Whether the catalog knows the verb of an order and what it is to be done to."""


class _Traits(NamedTuple):
    words: frozenset[str]
    wants_number: bool


class Fitness:
    """Tells of one catalog's cards whether they fit; what it looks up of a card is kept."""

    def __init__(self, cards: Iterable[CapabilityCard], *, has_vectors: bool) -> None:
        """Take the cards; `has_vectors`: cosines come from the embedder that was fitted to."""
        self._cards = {card.name: card for card in cards}
        # In units of the most telling word that there can be.
        self._unit = float(np.log(2 * max(1, len(self._cards)) + 1))
        self._has_vectors = has_vectors
        self._kept: dict[str, _Traits] = {}

    def best(self, asked: FittedRequest) -> float:
        """How well the candidate that fits best does, 0 to 1; 0 without a candidate.

        The chance that it does, where as many requests fit as do not; how often a catalog is asked
        for what it does not have differs. It is not relative to the catalog's own best, so it is
        comparable between catalogs of any size. Only those that may be the best are looked up.
        """
        knows_vectors = self._has_vectors and asked.table.cosines is not None
        coefficients = _WITH_VECTORS if knows_vectors else _BY_WORDS
        level = _LEVEL_WITH if knows_vectors else _LEVEL_BY_WORDS
        most = self._quick(asked) @ coefficients[:-_COSTLY]
        said = _said(asked)
        best = -np.inf
        for row in np.argsort(-most, kind="stable").tolist():
            if most[row] <= best:
                break
            costly = self._costly(asked, *said, asked.table.names[row])
            best = max(best, float(most[row] + coefficients[-_COSTLY:] @ costly))
        return float(1 / (1 + np.exp(-(best + level)))) if best > -np.inf else 0.0

    def signs(self, asked: FittedRequest) -> Floats:
        """The signs of every candidate; shape (n_tools, len(SIGNS)).

        The weight of the words' evidence; the squared share of the tool's name that was said; how
        many words meet in its texts as they do in the request; whether the order is one that is
        known here; the cosine; how many words it has nothing for, values aside; and whether it
        wants a number where none was said.
        """
        quick = self._quick(asked)
        costly = map(partial(self._costly, asked, *_said(asked)), asked.table.names)
        return np.hstack([quick, np.array([*costly], dtype=float).reshape(-1, _COSTLY)])

    def _quick(self, asked: FittedRequest) -> Floats:
        """The signs that the feature table holds already."""
        table = asked.table
        count = len(table.names)
        words = len(frozenset(asked.reading.stems))
        return np.stack(
            [
                np.log1p(table.weight / self._unit),
                table.features["name"] ** 2,
                np.log1p(table.features["near"] * words),
                np.full(count, float(asked.is_known_order)),
                np.zeros(count) if table.cosines is None else table.cosines,
            ],
            axis=1,
        )

    def _costly(
        self, asked: FittedRequest, words: frozenset[str], has_number: bool, tool: str
    ) -> tuple[float, float]:
        traits = self._kept.get(tool)
        if traits is None:
            traits = self._kept[tool] = _traits_of(self._cards[tool])
        unheld = float(np.log1p(len(words - traits.words)))
        return unheld, float(traits.wants_number and not has_number)


def _said(asked: FittedRequest) -> tuple[frozenset[str], bool]:
    """The words that say what is asked, values aside, and whether a number was said."""
    values = (content_stems(slot.text) for slot in asked.slots)
    words = frozenset(asked.reading.stems).difference(*values)
    return words, any(slot.kind in _NUMBERS for slot in asked.slots)


def _traits_of(card: CapabilityCard) -> _Traits:
    """Every word that the tool has anywhere; and whether a count or a price must be said for it."""
    texts = (card.name_stems, card.text_stems, card.schema_stems, card.tag_stems)
    words = frozenset(chain(*texts, *card.example_stems))
    return _Traits(words, any("quantity" in need.kinds for need in card.needs))
