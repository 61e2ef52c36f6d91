"""Whether what a request orders is what a tool is for."""

from orchestrator.catalog.tool import Effect
from orchestrator.language.intent import Action
from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.clause_reading import ClauseReading


def effect_agreement(reading: ClauseReading, card: CapabilityCard) -> float:
    """Whether the effect that the tool declares is what was ordered: 1, 0 (it has none) or -1.

    Unlike an action, which is read from words, the effect is a fact of the contract. A cancel tool
    is for those who ask to cancel, and a tool that changes something is not for those who only ask
    to know.
    """
    if card.effect is Effect.READ:
        return 0.0
    if reading.asks_side_effect and card.verb and card.verb == reading.verb:
        return 1.0
    wants_cancel = reading.action is Action.CANCEL
    if reading.asks_side_effect and (card.effect is Effect.CANCEL) <= wants_cancel:
        return 1.0
    return -1.0 if reading.action is not Action.UNKNOWN else 0.0
