"""Whether what a request orders is what a tool is for, by its action and its effect."""

from orchestrator.catalog.tool import Effect
from orchestrator.language.clause_reading import ClauseReading
from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Action
from orchestrator.routing.cards.capability_card import CapabilityCard

_READING = frozenset({Action.READ, Action.SEARCH})


def action_agreement(reading: ClauseReading, card: CapabilityCard, *, own_verb: bool) -> float:
    """How well what is asked agrees with what the tool does, -1 to 1.

    A cancel tool is for those who ask to cancel, and a tool that changes something is not for
    those who only ask to know; finding and reading are close. `own_verb`: the request used the
    tool's own verb.
    """
    asked = reading.action
    if own_verb:
        return 1.0
    if card.effect is Effect.CANCEL and asked is not Action.CANCEL:
        return -1.0
    if asked is Action.UNKNOWN or card.action is Action.UNKNOWN:
        return 0.0
    if asked is card.action:
        return 1.0
    if {asked, card.action} <= _READING:
        return 0.7
    if {asked, card.action} <= SIDE_EFFECT_ACTIONS:
        return 0.3
    return -0.5 if card.is_mutation else 0.0


def effect_agreement(reading: ClauseReading, card: CapabilityCard, *, own_verb: bool) -> float:
    """Whether the effect that the tool declares is what was ordered: 1, 0 (it has none) or -1.

    Unlike the action, which is read from words, the effect is a fact of the contract.
    """
    if card.effect is Effect.READ:
        return 0.0
    if reading.asks_side_effect and own_verb:
        return 1.0
    wants_cancel = reading.action is Action.CANCEL
    if reading.asks_side_effect and (card.effect is Effect.CANCEL) <= wants_cancel:
        return 1.0
    return -1.0 if reading.action is not Action.UNKNOWN else 0.0
