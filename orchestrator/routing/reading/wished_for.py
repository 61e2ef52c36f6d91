"""Wishes that order: "get me a table", where tables are found by one tool and booked by another.

What the verb leaves open the tools tell: to get, or need, one of what a listing of the catalog
offers and a tool of its domain takes, is to have it taken.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from orchestrator.catalog.tool import Effect
from orchestrator.language.clause_reading import ClauseReading
from orchestrator.language.clauses import without_lead
from orchestrator.language.deeds import is_vague
from orchestrator.language.intent import Action
from orchestrator.language.numbers import NUMBER_WORDS
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, is_verb, stem
from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.cards.input_needs import identifies

_LISTS: Final = WordLists("clauses")
_NUMBER: Final = "|".join(sorted({*NUMBER_WORDS, "an?", "another", r"\d+"}, key=len, reverse=True))
_WISH: Final = re.compile(
    rf"(?:(?:i|we)(?:['\u2019]d|\s+would)?\s+)?(?:{'|'.join(_LISTS.words('wishing'))})\s+"
    rf"(?:(?:me|us)\s+)?(?:{_NUMBER})\s+",
    re.IGNORECASE,
)
_GETTING: Final = re.compile(
    rf"(?P<verb>[a-z]+)\s+(?:(?P<for>me|us)\s+)?(?:(?P<particle>{'|'.join(_LISTS.words('resolving'))})\s+)?"
    rf"(?:for\s+)?(?:{_NUMBER})\s+",
    re.IGNORECASE,
)
_CARRYING: Final = re.compile(r"(?P<verb>[a-z]+)\s+(?:me|us)\s+(?:from|to)\s", re.IGNORECASE)


class Wishes:
    """Reads wishes over one catalog; immutable."""

    def __init__(self, cards: Sequence[CapabilityCard]) -> None:
        """Take the catalog's cards."""
        self._takers: dict[str, CapabilityCard] = {}
        takers = [card for card in cards if _takes_what_is_listed(card, cards)]
        # A word of several domains ("offer") says of none of them what is taken.
        domains = Counter(word for d, word in {(c.domain, w) for c in takers for w in _nouns(c)})
        for card in takers:
            for word in (word for word in _nouns(card) if domains[word] == 1):
                self._takers.setdefault(word, card)

    def read(self, reading: ClauseReading) -> ClauseReading:
        """The clause, as the order that it is where it wishes for what can be taken."""
        if not self._takers or reading.action not in _OPEN or reading.is_negated:
            return reading
        bare = without_lead(reading.text)
        taker = self._carrying(bare) or (self._taker(reading) if _wishes(bare) else None)
        if taker is None:
            return reading
        return replace(reading, action=Action.CREATE, verb=taker.verb)

    def _taker(self, reading: ClauseReading) -> CapabilityCard | None:
        """The tool that takes what is wished for: its last noun before a preposition."""
        things = [thing for thing in reading.objects if thing.lower() != reading.verb]
        return self._named(stem(things[-1].lower())) if things else None

    def _carrying(self, bare: str) -> CapabilityCard | None:
        """The tool for "fly me to Rome": its verb is another word for what can be taken."""
        match = _CARRYING.match(bare)
        verb = match["verb"].lower() if match else ""
        return self._named(stem(verb)) if verb and not is_verb(verb) else None

    def _named(self, word: str) -> CapabilityCard | None:
        return next(
            (self._takers[w] for w in (word, *synonyms_of(word)) if w in self._takers), None
        )


_OPEN: Final = frozenset({Action.READ, Action.SEARCH, Action.UPDATE, Action.UNKNOWN, Action.CREATE})


def _wishes(bare: str) -> bool:
    """Whether a clause only says that something is to be had: no verb of its own says how."""
    if _WISH.match(bare):
        return True
    match = _GETTING.match(bare)
    if match is None:
        return False
    verb = match["verb"].lower()
    if match["particle"] or is_vague(verb):
        return True
    return bool(match["for"]) and verb not in STOP_WORDS and not is_verb(verb)


def _takes_what_is_listed(card: CapabilityCard, cards: Sequence[CapabilityCard]) -> bool:
    """Whether a tool makes something of what another one of its domain finds: it takes its id."""
    if card.action is not Action.CREATE or card.effect is not Effect.OBLIGATION:
        return False
    keys = {name for name in card.required if identifies(name)}
    reads = (other for other in cards if other.domain == card.domain and not other.is_change)
    return any(keys & other.produces for other in reads)


def _nouns(card: CapabilityCard) -> list[str]:
    return [word for word in card.name_stems if word != stem(card.verb)]
