"""Whether what a request orders is what a tool is for."""

from typing import NamedTuple

from orchestrator.catalog.tool import Effect
from orchestrator.language.clause_reading import ClauseReading
from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Action
from orchestrator.routing.cards.capability_card import CapabilityCard

_READING = frozenset({Action.READ, Action.SEARCH})


class Purpose(NamedTuple):
    """What a tool is for: few distinct ones in a catalog, however large."""

    action: Action
    effect: Effect

    @property
    def is_mutation(self) -> bool:
        """Whether the tool's verb orders a change, whatever its effect was declared as."""
        return self.action in SIDE_EFFECT_ACTIONS


def purpose_of(card: CapabilityCard) -> Purpose:
    """The purpose of a card."""
    return Purpose(card.action, card.effect)


def action_agreement(reading: ClauseReading, purpose: Purpose, *, own_verb: bool) -> float:
    """How well what is asked agrees with what the tool does, -1 to 1.

    A cancel tool is for those who ask to cancel, and a tool that changes something is not for
    those who only ask to know; finding and reading are close. `own_verb`: the request used the
    tool's own verb.
    """
    asked = reading.action
    if own_verb:
        return 1.0
    if purpose.effect is Effect.CANCEL and asked is not Action.CANCEL:
        return -1.0
    if asked is Action.UNKNOWN or purpose.action is Action.UNKNOWN:
        return 0.0
    if asked is purpose.action:
        return 1.0
    if {asked, purpose.action} <= _READING:
        return 0.7
    if {asked, purpose.action} <= SIDE_EFFECT_ACTIONS:
        return 0.3
    return -0.5 if purpose.is_mutation else 0.0


def effect_agreement(reading: ClauseReading, purpose: Purpose, *, own_verb: bool) -> float:
    """Whether the effect that the tool declares is what was ordered: 1, 0 (it has none) or -1.

    Unlike the action, which is read from words, the effect is a fact of the contract.
    """
    if purpose.effect is Effect.READ:
        return 0.0
    if reading.asks_side_effect and own_verb:
        return 1.0
    wants_cancel = reading.action is Action.CANCEL
    if reading.asks_side_effect and (purpose.effect is Effect.CANCEL) <= wants_cancel:
        return 1.0
    return -1.0 if reading.action is not Action.UNKNOWN else 0.0
