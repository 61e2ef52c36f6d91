"""Conjuncts: parts of a clause that are requests of their own, whether or not they hold a verb.

"Weather in London and list files" begins one request with a noun, "a flight to Rome and a hotel
there" both. What they are is told by the catalog: apart, each speaks for a tool of its own, and
the two say more than the best tool for all of it has. "Tom and Jerry" and "bread and butter" speak
for one tool or for none.
"""

import math
from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from orchestrator.language.clause_reading import read_clause
from orchestrator.language.clauses import clause_spans, joints
from orchestrator.language.intent import Slot
from orchestrator.language.words import name_stems
from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.scoring.word_evidence import EvidenceIndex

Span = tuple[int, int]

_FEWEST_CARDS: Final = 12
_MOST_ATOMS: Final = 24


class Conjuncts:
    """Finds the requests in texts over one catalog; immutable."""

    def __init__(
        self, evidence: EvidenceIndex, *, size: int, verbs: Collection[str], apart: float
    ) -> None:
        """Take what tells what words speak for.

        Args:
            evidence: of the catalog's cards.
            size: how many cards there are.
            verbs: those that its tools are named by.
            apart: what two parts must gain over the whole; see `RoutingProfile.apart`.
        """
        self._evidence = evidence
        self._verbs = verbs
        self._price = apart * math.log(max(size, _FEWEST_CARDS))

    def spans(self, text: str, slots: Sequence[Slot]) -> tuple[Span, ...]:
        """Where each request of a text starts and ends: clauses, cut where their parts stand alone.

        Args:
            text: the request.
            slots: its values, which are no sign of a tool: "from Rome and Milan".
        """
        clauses = clause_spans(text, verbs=self._verbs)
        values = {word for slot in slots for word in name_stems(slot.text)}
        return tuple(span for clause in clauses for span in self._apart(text, clause, values))

    def _apart(self, text: str, clause: Span, values: Collection[str]) -> Sequence[Span]:
        start, end = clause
        found = joints(text[start:end])[: _MOST_ATOMS - 1]
        if not found:
            return (clause,)
        starts = [start, *(start + joint[1] for joint in found)]
        ends = [*(start + joint[0] for joint in found), end]
        atoms = list(zip(starts, ends, strict=True))
        sums = np.cumsum([self._totals(text[a:b], values) for a, b in atoms], axis=0)
        cuts = [0, *_cuts(sums, self._price, 0, len(atoms)), len(atoms)]
        return [(starts[a], ends[b - 1]) for a, b in zip(cuts, cuts[1:], strict=False)]

    def _totals(self, part: str, values: Collection[str]) -> Floats:
        """What the words of a part say for each card; shape (n_cards,)."""
        stems = read_clause(part, verbs=self._verbs).stems
        return self._evidence.find([word for word in stems if word not in values]).total


def _cuts(sums: Floats, price: float, first: int, end: int) -> list[int]:
    """Where the atoms from `first` to `end` are best cut.

    Args:
        sums: evidence for each card of the atoms up to each; shape (n_atoms, n_cards).
        price: what the best tools of both sides must have more than the best of the whole.
        first: the first atom.
        end: the one after the last.
    """
    if end - first < 2 or not sums.shape[1]:
        return []
    before = sums[first - 1] if first else np.zeros(sums.shape[1])
    left, right = sums[first : end - 1] - before, sums[end - 1] - sums[first : end - 1]
    gains = left.max(axis=1) + right.max(axis=1) - (sums[end - 1] - before).max()
    best = int(gains.argmax())
    if gains[best] < price:
        return []
    middle = first + best + 1
    return [*_cuts(sums, price, first, middle), middle, *_cuts(sums, price, middle, end)]
