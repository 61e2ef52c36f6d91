"""Wishes that order: "get me a table", where tables are found by one tool and booked by another.

What the verb leaves open the tools tell: to get, or need, one of what a listing of the catalog
offers and a tool of its domain takes, is to have it taken.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from orchestrator.catalog.tool import Effect
from orchestrator.language.clause_reading import ClauseReading
from orchestrator.language.intent import Action
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.wishes import wish_of
from orchestrator.language.words import stem
from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.cards.input_needs import identifies

_OPEN: Final = frozenset({Action.READ, Action.SEARCH, Action.UPDATE, Action.UNKNOWN, Action.CREATE})


class WishedFor:
    """Reads wishes over one catalog; immutable."""

    def __init__(self, cards: Sequence[CapabilityCard]) -> None:
        """Take the catalog's cards."""
        self._takers: dict[str, CapabilityCard] = {}
        takers = [card for card in cards if _takes_what_is_listed(card, cards)]
        # A word of several domains ("offer") says of none of them what is taken.
        self._several = Counter(card.domain for card in takers)
        domains = Counter(word for d, word in {(c.domain, w) for c in takers for w in _nouns(c)})
        for card in takers:
            for word in (word for word in _nouns(card) if domains[word] == 1):
                self._takers.setdefault(word, card)

    def read(self, reading: ClauseReading) -> ClauseReading:
        """The clause, as the order that it is where it wishes for what can be taken."""
        if not self._takers or reading.action not in _OPEN or reading.is_negated:
            return reading
        wish = wish_of(reading.text)
        if wish is None:
            return reading
        taker = self._takers.get(stem(wish.thing)) if wish.thing else self._doing(stem(wish.verb))
        if taker is None:
            return reading
        words = () if set(_nouns(taker)) & {*reading.stems} else tuple(_nouns(taker))
        return replace(
            reading, action=Action.CREATE, verb=taker.verb, stems=(*reading.stems, *words)
        )

    def _doing(self, verb: str) -> CapabilityCard | None:
        """The only tool of its domain for what a verb is another word for: to fly is by a flight.

        A taxi is not quite a car, so that a thing is wished for by its own name alone.
        """
        takers = (self._takers[word] for word in (verb, *synonyms_of(verb)) if word in self._takers)
        taker = next(takers, None)
        return taker if taker and self._several[taker.domain] == 1 else None


def _takes_what_is_listed(card: CapabilityCard, cards: Sequence[CapabilityCard]) -> bool:
    """Whether a tool makes something of what another one of its domain finds: it takes its id."""
    if card.action is not Action.CREATE or card.effect is not Effect.OBLIGATION:
        return False
    keys = {name for name in card.required if identifies(name)}
    reads = (other for other in cards if other.domain == card.domain and not other.is_change)
    return any(keys & other.produces for other in reads)


def _nouns(card: CapabilityCard) -> list[str]:
    return [word for word in card.name_stems if word != stem(card.verb)]
