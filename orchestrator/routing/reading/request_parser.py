"""A request, read with one catalog's words: clauses, slips corrected, values, the intent frame."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from orchestrator.language.goal_clauses import without_lead
from orchestrator.language.intent import Action, IntentFrame, Slot
from orchestrator.language.words import STOP_WORDS, is_verb, name_stems, stem, tokens
from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.cards.vocabulary import CatalogVocabulary
from orchestrator.routing.clause_reading import ClauseReading, read_clause, read_slots
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.reading.back_references import FollowUps
from orchestrator.routing.reading.conjuncts import Conjuncts, WordEvidence
from orchestrator.routing.selection import RouteContext

# A command and what it is to be done to or for: "sell my car", "paint the house".
_ORDER: Final = re.compile(
    r"(?P<verb>[a-z]+)\s+(?:me|us|my|our|him|her|them|the|a|an|\d+)\s+\w", re.IGNORECASE
)
_PLAIN_WORD: Final = re.compile(r"(?<![\w@./-])[a-z]{4,}(?![\w@/-])")


class RequestReading(NamedTuple):
    """A request, read."""

    clauses: list[ClauseReading]
    """In their order, follow-ups completed."""
    slots: tuple[Slot, ...]
    """All values."""
    own: list[list[Slot]]
    """The values of each clause."""
    frame: IntentFrame


class RequestParser:
    """Parses requests over one catalog; immutable."""

    def __init__(
        self,
        cards: Sequence[CapabilityCard],
        vocabulary: CatalogVocabulary,
        evidence: WordEvidence,
        profile: RoutingProfile,
    ) -> None:
        """Take what the catalog's words are told by.

        Args:
            cards: the catalog's.
            vocabulary: of the same cards.
            evidence: of the same cards.
            profile: says how far apart the parts of a clause must be.
        """
        self._domains: dict[str, set[str]] = {}
        for card in cards:
            self._domains.setdefault(card.verb, set()).add(card.domain)
        self._follow_ups = FollowUps(cards, vocabulary.verbs)
        self._vocabulary = vocabulary
        self._knows = evidence.knows
        self._conjuncts = Conjuncts(
            evidence,
            domains=[card.domain for card in cards],
            verbs=vocabulary.verbs,
            apart=profile.apart,
        )

    def parse(
        self, text: str, context: RouteContext, now: datetime | None, *, correct: bool = False
    ) -> RequestReading:
        """The clauses and values of a request; `correct`: its slips read as meant."""
        slots = read_slots(text, now=now)
        spans = self._conjuncts.spans(text, slots)
        own = [[s for s in slots if start <= s.position < end] for start, end in spans]
        clauses = [
            self.clause(clause, values, correct=correct)
            for clause, values in zip(self._conjuncts.texts(text, spans), own, strict=True)
        ]
        resolved = self._follow_ups.resolve(clauses, own, context)
        frame = _frame_of(
            resolved, slots, self._vocabulary, is_retry=context.last_error is not None
        )
        return RequestReading(resolved, slots, own, frame)

    def clause(self, clause: str, slots: Sequence[Slot], *, correct: bool = False) -> ClauseReading:
        """One clause; `correct`, or if it says nothing that is known: its slips read as meant."""
        read = read_clause(clause, verbs=self._vocabulary.verbs)
        things = [word for name in read.objects for word in name_stems(name)]
        told = not things or any(self._knows(word) for word in things)
        if told and read.action is not Action.UNKNOWN and not correct:
            return read
        meant = self.corrected(clause, slots)
        if meant == clause:
            return read
        return replace(read_clause(meant, verbs=self._vocabulary.verbs), text=clause)

    def corrected(self, text: str, slots: Sequence[Slot] = ()) -> str:
        """The text with the catalog's words in place of their slips, values left alone."""
        values = {word for slot in slots for word in tokens(slot.text)}

        def corrected(match: re.Match[str]) -> str:
            word = match.group()
            if word in values or word in STOP_WORDS or is_verb(word):
                return word
            return self._vocabulary.meant(stem(word)) or word

        return _PLAIN_WORD.sub(corrected, text)

    def knows_order(self, text: str) -> bool:
        """Whether the verb of an order, and what it is to be done to, mean anything here.

        "Sell my car" where nothing is sold, or "book me a massage" where nobody gives any, shares
        a word with tools that do something else.
        """
        reading = self.clause(text, (), correct=True)
        ordered = _ORDER.match(without_lead(text))
        verb = ordered["verb"].lower() if ordered else ""
        if verb and verb not in STOP_WORDS and not reading.is_negated and not is_verb(verb):
            if reading.verb != verb and reading.action is not Action.UNKNOWN:
                return True
            return self._knows(stem(verb))
        # A verb that tools of several domains have says little on its own.
        if not reading.asks_side_effect or len(self._domains.get(reading.verb, ())) < 2:
            return True
        if any(not word.islower() for word in reading.objects):
            return True
        objects = [word for name in reading.objects for word in name_stems(name)]
        return not objects or any(self._knows(word) for word in objects)


def _frame_of(
    readings: Collection[ClauseReading],
    slots: Collection[Slot],
    vocabulary: CatalogVocabulary,
    *,
    is_retry: bool,
) -> IntentFrame:
    """The intent frame of clauses and values; its verb and domain are of the first that orders."""
    asked = [r for r in readings if not r.is_negated]
    main = next((r for r in asked if r.action is not Action.UNKNOWN), None)
    main = main or next(iter(asked), None) or next(iter(readings), ClauseReading("", ()))
    return IntentFrame(
        domain=vocabulary.best_domain(main.stems),
        action=main.action,
        verb=main.verb,
        objects=tuple(dict.fromkeys(word for r in readings for word in r.objects)),
        references=tuple(r.reference for r in readings if r.reference),
        slots=tuple(slot for slot in slots if slot.value is not None),
        side_effect_allowed=any(r.asks_side_effect for r in readings),
        previous_tool_error=is_retry,
        clauses=tuple(r.text for r in readings),
    )
