"""Conjuncts: parts of a clause that are requests of their own, whether or not they hold a verb.

"Weather in London and list files" begins one request with a noun, "a flight to Rome and a hotel
there" both. What they are is told by the catalog: apart, each speaks for a tool of its own, and
the two say more than the best tool for all of it has. "Tom and Jerry" and "bread and butter" speak
for one tool or for none.
"""

import math
import re
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from orchestrator.language.goal_clauses import begins_request, joints, split_goal, without_lead
from orchestrator.language.intent import Action, Slot
from orchestrator.language.words import QUESTION_WORDS, is_verb, name_stems, stem, tokens
from orchestrator.routing.clause_reading import CatalogVerbs, read_clause
from orchestrator.routing.indexes.terms import Floats, Positions

Span = tuple[int, int]

# What goes on about the thing before it: "returning on Friday", "with a pool", "not a small one".
_GOES_ON: Final = re.compile(
    r"(?:\w{3,}ing|that|who|whose|with|without|for|from|in|at|on|to|by|of|under|over|near|until|since"
    r"|because|so|if|unless|not|nor|neither|except|excluding)\b",
    re.IGNORECASE,
)
_CONTINUING: Final = frozenset({"time", "amount"})
_LENGTHS: Final = re.compile(r"(?:minute|min|hour|hr|day|night|week|fortnight)s?|h")
_NAMES_A_THING: Final = re.compile(r"\s*(?:an?|the|my|our|your|his|her|their|its)\s", re.I)
_SENTENCE: Final = frozenset(".;!?\n")
_FEWEST_CARDS: Final = 12
_MOST_ATOMS: Final = 24


def _goes_on(slot: Slot) -> bool:
    """Whether a value begins no request: an hour, an amount, how long something lasts."""
    return slot.kind in _CONTINUING or (
        slot.kind == "quantity" and bool(_LENGTHS.fullmatch(slot.hint))
    )


class WordEvidence(Protocol):
    """What tells which words of a catalog are known, and what they speak for."""

    def knows(self, word: str) -> bool:
        """Whether the catalog has a stem in any form."""
        ...

    def totals(self, texts: Sequence[Iterable[str]]) -> tuple[Positions, Floats]:
        """Cards, the first among them, and what the stems of each text say for each of these."""
        ...


class _Parts(NamedTuple):
    """What a clause might be cut into."""

    sums: Floats
    """Evidence of the parts up to each, for the cards that any speaks for; (n_parts, n_cards)."""

    domains: Positions
    """Numbers of these cards' domains; shape (n_cards,)."""

    orders: NDArray[np.bool_]
    """Whether each part begins with an order or a question; shape (n_parts,)."""


class Conjuncts:
    """Finds the requests in texts over one catalog; immutable."""

    def __init__(
        self,
        evidence: WordEvidence,
        *,
        domains: Sequence[str],
        verbs: CatalogVerbs,
        apart: float,
    ) -> None:
        """Take what tells what words speak for.

        Args:
            evidence: of the catalog's cards.
            domains: of each card.
            verbs: those that its tools are named by.
            apart: what two parts must gain over the whole, less where they share something; see
                `RoutingProfile.apart`.
        """
        self._evidence = evidence
        self._verbs = verbs
        numbers = {domain: number for number, domain in enumerate(dict.fromkeys(domains))}
        self._domains = np.array([numbers[domain] for domain in domains]) if domains else None
        self._has_several = len(numbers) > 1
        self._price = apart * math.log(max(len(domains), _FEWEST_CARDS))

    def spans(self, text: str, slots: Sequence[Slot]) -> tuple[Span, ...]:
        """Where each request of a text starts and ends: clauses, cut where their parts stand alone.

        Args:
            text: the request.
            slots: its values, which are no sign of a tool: "from Rome and Milan".
        """
        clauses = [(c.start, c.end) for c in split_goal(text, verbs=self._verbs)]
        values = {word for slot in slots for word in name_stems(slot.text)}
        kept = [(s.position, s.position + len(s.text)) for s in slots if s.kind == "name"]
        # "Tomorrow, 6 in the evening" and "30 EUR for lunch and 12 EUR for parking" go on.
        kept += [(s.position - 1, s.position + 1) for s in slots if _goes_on(s)]
        return tuple(span for clause in clauses for span in self._apart(text, clause, values, kept))

    def texts(self, text: str, spans: Sequence[Span]) -> list[str]:
        """The requests as they are written; what has no verb takes the order before it.

        "Book a flight to Rome and a hotel there" orders both, where hotels are booked as well;
        "rent a car and the weather" does not, for the weather is not rented.
        """
        found, order, last = [], "", 0
        for start, end in spans:
            piece, between, last = text[start:end], text[last:start], end
            if not _SENTENCE.isdisjoint(between):
                order = ""
            if self._tells_what_to_do(piece):
                reading = read_clause(piece, verbs=self._verbs)
                order = reading.verb if reading.asks_side_effect else ""
            elif order and self._is_done_to(order, piece):
                piece = f"{order} {piece}"
            found.append(piece)
        return found

    def _tells_what_to_do(self, piece: str) -> bool:
        """True if a part of a request has a verb of its own: "let Ana know", "keep it"."""
        if begins_request(piece, verbs=self._verbs):
            return True
        reading = read_clause(piece, verbs=self._verbs)
        if _NAMES_A_THING.match(piece) and not is_verb(reading.verb):
            return False  # "my hotel reservation": the noun of a verb, and no verb
        return bool(reading.verb) and reading.action is not Action.UNKNOWN

    def _is_done_to(self, verb: str, piece: str) -> bool:
        """Whether a tool of the domain that a text speaks for is described with a verb."""
        if self._domains is None:
            return False
        cards, (about, orders) = self._evidence.totals([self._stems(piece), [stem(verb)]])
        domains = self._domains[cards]
        return bool(about.any() and orders[domains == domains[about.argmax()]].any())

    def _apart(
        self, text: str, clause: Span, values: Collection[str], kept: Sequence[Span]
    ) -> Sequence[Span]:
        start, end = clause
        # "Papier & Co" is one name: what it joins are no requests.
        found = [
            (a, b)
            for a, b in self._joints(text[start:end])
            if not any(x < start + b and start + a < y for x, y in kept)
        ]
        if not found or self._domains is None:
            return (clause,)
        starts = [start, *(start + joint[1] for joint in found)]
        ends = [*(start + joint[0] for joint in found), end]
        atoms = list(zip(starts, ends, strict=True))
        told = [[w for w in self._stems(text[a:b]) if w not in values] for a, b in atoms]
        cards, totals = self._evidence.totals(told)
        orders = np.array([begins_request(text[a:end], verbs=self._verbs) for a in starts])
        parts = _Parts(totals.cumsum(axis=0), self._domains[cards], orders)
        cuts = [0, *self._cuts(parts, 0, len(atoms)), len(atoms)]
        pieces = [(starts[a], ends[b - 1]) for a, b in pairwise(cuts)]
        return (clause,) if self._is_one_question(text, pieces) else pieces

    def _is_one_question(self, text: str, pieces: Sequence[Span]) -> bool:
        """Whether what would be an order apart has its verb from the question that it goes on.

        "How much did Ana and the plumber charge us" charges nobody.
        """
        first, *rest = (text[start:end] for start, end in pieces)
        if not rest or not QUESTION_WORDS & {*tokens(without_lead(first))[:1]}:
            return False
        return any(
            read_clause(piece, verbs=self._verbs).asks_side_effect
            and not begins_request(piece, verbs=self._verbs)
            for piece in rest
        )

    def _joints(self, clause: str) -> list[Span]:
        """Where a clause may be cut: what somebody is told is cut where a sentence ends only."""
        found = [joint for joint in joints(clause) if not _GOES_ON.match(clause, joint[1])]
        if found and (reading := read_clause(clause, verbs=self._verbs)).action is Action.SEND:
            told = clause.lower().find(reading.verb)
            found = [(s, e) for s, e in found if clause[s] in _SENTENCE or e <= told]
        return found[: _MOST_ATOMS - 1]

    def _stems(self, part: str) -> tuple[str, ...]:
        return read_clause(part, verbs=self._verbs).stems

    def _cuts(self, parts: _Parts, first: int, end: int) -> list[int]:
        """Where the atoms from `first` to `end` are best cut.

        What begins with no order or question must gain twice as much if it is about the domain of
        what it follows, where the catalog has several.
        """
        if end - first < 2:
            return []
        sums = parts.sums
        before = sums[first - 1] if first else np.zeros(sums.shape[1])
        left, right = sums[first : end - 1] - before, sums[end - 1] - sums[first : end - 1]
        tops = np.stack([left.max(axis=1), right.max(axis=1)])
        gains = tops.sum(axis=0) - (sums[end - 1] - before).max()
        # All that the weaker side says, where nothing of it speaks for the tool of the other one.
        gains *= gains / np.maximum(tops.min(axis=0), 1e-9)
        if self._has_several:
            same = parts.domains[left.argmax(axis=1)] == parts.domains[right.argmax(axis=1)]
            gains[same & ~parts.orders[first + 1 : end]] /= 2
        best = int(gains.argmax())
        if gains[best] < self._price:
            return []
        middle = first + best + 1
        return [
            *self._cuts(parts, first, middle),
            middle,
            *self._cuts(parts, middle, end),
        ]
