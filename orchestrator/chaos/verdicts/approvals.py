"""What arrived at the providers, and what they took, held against what was approved."""

from collections.abc import Iterator, Mapping
from decimal import Decimal

from pydantic import JsonValue

from orchestrator.chaos.verdicts.evidence import Account, ApprovedCall, HeldEffect, RunEvidence
from orchestrator.core.pii import Handle, handle_of, replace_handles
from orchestrator.core.record import JsonObject
from orchestrator.saga.ledger import Obligation, ObligationState

OVERCHARGE_CARD = "structured-overcharge"
_CENT = Decimal("0.01")


class ApprovedCalls:
    """The approver's yeses of a run, by the calls that they are about."""

    def __init__(self, evidence: RunEvidence) -> None:
        """Take what was approved, and what the vault held for its handles."""
        self._evidence = evidence
        self._calls = {a.call_id: a for a in evidence.approved if a.card_type != OVERCHARGE_CARD}
        self._kept = {a.call_id for a in evidence.approved if a.card_type == OVERCHARGE_CARD}

    def deviations(self, told: Account) -> Iterator[str]:
        """Requests of a mission that say something else than what was approved."""
        written = {o.obligation_id: o for o in told.ledger.obligations}
        for request in self._evidence.requests:
            name = request.request_id or ""
            approved = self._calls.get(name)
            wanted = self._wanted(approved, written.get(name))
            if request.arguments is None or wanted is None:
                continue
            if approved is not None and approved.tool != request.operation:
                yield f"{name} was approved as {approved.tool} and sent as {request.operation}"
            added = self._evidence.defaults.get(request.operation, {})
            for what in _differences(wanted, request.arguments, added):
                yield f"{request.operation} ({name}): {what}"

    def _wanted(
        self, approved: ApprovedCall | None, written: Obligation | None
    ) -> JsonObject | None:
        """The arguments that a call was to be sent with; None when nobody approved or wrote any."""
        known = approved or written
        return (
            None
            if known is None
            else {name: self._revealed(value) for name, value in known.arguments.items()}
        )

    def _revealed(self, value: JsonValue) -> JsonValue:
        if isinstance(value, dict):
            return {name: self._revealed(held) for name, held in value.items()}
        if isinstance(value, list):
            return [self._revealed(held) for held in value]
        if not isinstance(value, str):
            return value
        if handle_of(value) is not None:
            return self._value_of(handle_of(value))
        fields = {handle.field for text in self._evidence.values if (handle := handle_of(text))}
        return replace_handles(value, fields, self._value_of)

    def _value_of(self, handle: Handle | None) -> str:
        return self._evidence.values.get(str(handle), str(handle))

    def unnoticed_overcharges(self, told: Account, effects: list[HeldEffect]) -> Iterator[str]:
        """What stands at a provider for more than was approved, and nobody was told of."""
        written = {o.obligation_id: o for o in told.ledger.obligations}
        for effect in effects:
            approved, obligation = self._calls.get(effect.cause), written.get(effect.cause)
            if not effect.is_live or effect.operation not in self._evidence.spending:
                continue
            if approved is None or obligation is None:
                continue
            more = _charged_above(approved, effect)
            if more is None or obligation.state is not ObligationState.COMMITTED:
                continue
            if not _is_marked(obligation):
                yield f"{effect.cause} cost {more} more than was approved, and is not marked"
            elif told.status == "succeeded" and effect.cause not in self._kept:
                yield f"{effect.cause} cost {more} more than was approved, and nobody was asked"


def _is_marked(obligation: Obligation) -> bool:
    return getattr(obligation, "overcharged", None) is not None


def _charged_above(approved: ApprovedCall, effect: HeldEffect) -> Decimal | None:
    """How much more than approved was taken; None when it was not more, or cannot be compared."""
    price = approved.price
    if price is None or effect.amount is None or price.currency != effect.currency:
        return None
    more = (Decimal(str(effect.amount)) - price.amount).quantize(_CENT)
    return more if more > 0 else None


def _differences(
    wanted: JsonObject, received: JsonObject, added: Mapping[str, JsonValue]
) -> Iterator[str]:
    """Names alone: values may be personal."""
    for name in sorted({*wanted, *received}):
        if name not in received:
            yield f"{name} was approved and did not arrive"
        elif name not in wanted:
            if name not in added or added[name] != received[name]:
                yield f"{name} arrived and was not approved"
        elif wanted[name] != received[name]:
            yield f"{name} arrived with another value than was approved"
