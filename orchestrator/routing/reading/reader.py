"""What a request says by one catalog's words: clauses, their slips mended, and their values."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from orchestrator.language.clauses import clause_spans, without_lead
from orchestrator.language.intent import Action, Slot
from orchestrator.language.slots import read_slots
from orchestrator.language.words import STOP_WORDS, is_verb, name_stems, stem, tokens
from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.cards.vocabulary import CatalogVocabulary
from orchestrator.routing.reading.frame import ClauseReading, read_clause
from orchestrator.routing.reading.reference import resolve
from orchestrator.routing.selection import RouteContext

# A command and what it is to be done to or for: "sell my car", "paint the house".
_ORDER: Final = re.compile(
    r"(?P<verb>[a-z]+)\s+(?:me|us|my|our|him|her|them|the|a|an)\s+\w", re.IGNORECASE
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


class RequestReader:
    """Reads requests; immutable."""

    def __init__(
        self,
        cards: Sequence[CapabilityCard],
        vocabulary: CatalogVocabulary,
        knows: Callable[[str], bool],
    ) -> None:
        """Take what the catalog's words are told by.

        Args:
            cards: the catalog's.
            vocabulary: of the same cards.
            knows: whether the catalog has a stem in any form.
        """
        self._cards = {card.name: card for card in cards}
        self._actions = {(card.domain, card.action) for card in cards}
        self._verbs = {(card.domain, stem(card.verb)) for card in cards}
        self._vocabulary = vocabulary
        self._knows = knows

    def read(
        self, text: str, context: RouteContext, now: datetime | None, *, mend: bool = False
    ) -> RequestReading:
        """The clauses and values of a request; `mend`: its slips read as meant."""
        verbs = self._vocabulary.verbs
        spans = clause_spans(text, verbs=verbs)
        slots = read_slots(text, now=now)
        own = [[s for s in slots if start <= s.position < end] for start, end in spans]
        clauses = [
            self.clause(text[start:end], values, mend=mend)
            for (start, end), values in zip(spans, own, strict=True)
        ]
        resolved = resolve(
            clauses,
            own,
            context,
            cards=self._cards,
            skill=self._skill,
            owner=self._owner,
            verbs=verbs,
        )
        return RequestReading(resolved, slots, own)

    def clause(self, clause: str, slots: Sequence[Slot], *, mend: bool = False) -> ClauseReading:
        """One clause; `mend`, or if it says nothing that is known: its slips read as meant."""
        read = read_clause(clause, verbs=self._vocabulary.verbs)
        things = [word for name in read.objects for word in name_stems(name)]
        told = not things or any(self._knows(word) for word in things)
        if told and read.action is not Action.UNKNOWN and not mend:
            return read
        meant = self.mended(clause, slots)
        if meant == clause:
            return read
        return replace(read_clause(meant, verbs=self._vocabulary.verbs), text=clause)

    def mended(self, text: str, slots: Sequence[Slot] = ()) -> str:
        """The text with the catalog's words in place of their slips, values left alone."""
        values = {word for slot in slots for word in tokens(slot.text)}

        def mended(match: re.Match[str]) -> str:
            word = match.group()
            if word in values or word in STOP_WORDS or is_verb(word):
                return word
            return self._vocabulary.meant(stem(word)) or word

        return _PLAIN_WORD.sub(mended, text)

    def knows_order(self, text: str) -> bool:
        """Whether the verb of an order, and what it is to be done to, mean anything here.

        "Sell my car" where nothing is sold, or "book me a massage" where nobody gives any, shares
        a word with tools that do something else.
        """
        reading = self.clause(text, (), mend=True)
        ordered = _ORDER.match(without_lead(text))
        verb = ordered["verb"].lower() if ordered else ""
        if verb and verb not in STOP_WORDS and not reading.is_negated and not is_verb(verb):
            if reading.verb != verb and reading.action is not Action.UNKNOWN:
                return True
            return self._knows(stem(verb))
        if not reading.asks_side_effect or not self._is_vague(reading.verb):
            return True
        if any(not word.islower() for word in reading.objects):
            return True
        objects = [word for name in reading.objects for word in name_stems(name)]
        return not objects or any(self._knows(word) for word in objects)

    def _is_vague(self, verb: str) -> bool:
        """Whether tools of several domains have that verb, so that it says little on its own."""
        return len({card.domain for card in self._cards.values() if card.verb == verb}) > 1

    def _owner(self, verb: str) -> str:
        """The only domain that has the verb; empty when none or several have."""
        owners = [domain for domain, own in self._verbs if own == stem(verb)]
        return owners[0] if len(owners) == 1 else ""

    def _skill(self, domain: str, clause: ClauseReading) -> int:
        """2 where the domain has a tool with the clause's verb, 1 for its action, else 0."""
        if (domain, stem(clause.verb)) in self._verbs:
            return 2
        return int((domain, clause.action) in self._actions)
