"""How well a request's values fill a tool's required inputs."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from orchestrator.language.intent import Slot, SlotKind
from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.cards.input_needs import Need

UNTYPED: Final = frozenset({"name", "quoted"})
"""Kinds of slots whose words may as well say what is asked."""


def missing_inputs(
    card: CapabilityCard, *, known: Collection[str] = (), slots: Sequence[Slot] = ()
) -> tuple[str, ...]:
    """Required inputs that neither the request nor what is known can fill, in the schema's order.

    A value fills one input of its kind; money fills an amount and its currency. Inputs with a
    default or with listed values, and free text, are never missing.
    """
    return unmet(card.needs, known, [slot.kind for slot in slots])


def unmet(
    needs: Iterable[Need], known: Collection[str], kinds: Iterable[SlotKind]
) -> tuple[str, ...]:
    """The names of the needs that values of these kinds, and what is known, leave open."""
    left = list(kinds)
    missing: list[str] = []
    for name, wanted in needs:
        if name in known:
            continue
        for kind in wanted:
            if kind in left:
                if kind != "amount":
                    left.remove(kind)
                break
        else:
            missing.append(name)
    return tuple(missing)


def share_filled(
    needs: Sequence[Need], required: int, *, known: Collection[str], kinds: Iterable[SlotKind]
) -> float:
    """The share of required inputs that can be filled, 0 to 1; 1 when nothing is required.

    Args:
        needs: those that a request has to fill.
        required: how many inputs are required, the others included.
        known: names of the values that are there already.
        kinds: of the values in the request.
    """
    if not needs:
        return 1.0
    return 1.0 - len(unmet(needs, known, kinds)) / required
