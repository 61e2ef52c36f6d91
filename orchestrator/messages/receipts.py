"""What a mission's ledger proves to people: receipts of what stands, and what was cancelled."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from pydantic import Field, JsonValue

from orchestrator.core.budget import Money, Spend
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject, Record
from orchestrator.saga.ledger import CancelCall, Ledger, Obligation, ObligationState
from orchestrator.saga.outcome import FollowUp

_DEPTH: Final = 4
"""How deep within an answer its identifiers are looked for."""
_IDENTIFIER: Final = re.compile(
    r"(?:^|.*[_.\s-])(?i:id|reference|number)|.*[a-z0-9](?:I[dD]|Reference|Number)"
)


class Receipt(Record):
    """Proof of one side effect that stands."""

    call_id: str
    leg_id: str
    tool: str
    title: str
    price: Money | None = Field(default=None, description="None: the answer does not state it")
    approved_price: Money | None = None
    overcharged: Money | None = Field(default=None, description="charged beyond what was approved")
    confirmed_by: str | None = None
    reference: JsonObject = Field(default_factory=dict, description="by what its provider knows it")
    follow_ups: tuple[FollowUp, ...] = Field(
        default=(), description="what can be done next, its cancel first"
    )


class Left(Receipt):
    """Something that was to be taken back, and stands or may stand."""

    state: ObligationState
    note: str = Field(default="", description="why it was left")


class Cancelled(Record):
    """Something that was cancelled at its provider, by a leg or by the rollback."""

    call_id: str = Field(description="the leg's own call that did it, or whose obligation it was")
    tool: str = Field(description="what cancelled it")
    title: str = Field(default="", description="what it was, where the mission had made it")
    reference: JsonObject = Field(default_factory=dict, description="by what it was cancelled")
    at: datetime | None = None
    confirmed_by: str | None = Field(
        default=None, description="who decided on it; None: it followed from what was approved"
    )
    by_rollback: bool = False


def receipts_of(ledger: Ledger) -> tuple[Receipt, ...]:
    """A receipt for each obligation that stands, in the order they were written."""
    return tuple(_receipt(o) for o in ledger.obligations if o.state is ObligationState.COMMITTED)


def left_of(ledger: Ledger) -> tuple[Left, ...]:
    """What a rollback left: to an operator, or by the decision of one."""
    kept = (ObligationState.PARKED, ObligationState.ACCEPTED)
    return tuple(
        Left(**_receipt(o).model_dump(exclude={"follow_ups"}), state=o.state, note=o.note)
        for o in ledger.obligations
        if o.state in kept
    )


def cancelled_of(ledger: Ledger) -> tuple[Cancelled, ...]:
    """What was cancelled, of the mission's own and of others': by its legs, then by rollback."""
    made = {o.cancelled_by: o for o in ledger.obligations if o.cancelled_by is not None}
    own = [_by_leg(c, made.get(c.call_id)) for c in ledger.cancels if c.outcome == "succeeded"]
    known = {c.call_id for c in ledger.cancels}
    rolled_back = [
        _by_rollback(o)
        for o in ledger.obligations
        if o.state is ObligationState.CANCELLED and o.cancelled_by not in known
    ]
    return (*own, *rolled_back)


def spend_of(ledger: Ledger) -> Spend:
    """What the obligations that still stand cost."""
    return ledger.spent


def reference_of(obligation: Obligation) -> JsonObject:
    """By what a provider knows what it holds.

    The identifiers of its answer, and what else the answer gives to cancel it by; without either,
    the identifiers of what the answer holds, or what the call itself said.
    """
    answered = _identifiers(obligation.response, depth=1)
    sent = [*obligation.arguments.values(), obligation.idempotency_key]
    undo = {n: v for n, v in obligation.undo_arguments.items() if _is_name(v)}
    given = {n: v for n, v in undo.items() if v not in sent and v not in answered.values()}
    return {**answered, **given} or _identifiers(obligation.response, depth=_DEPTH) or undo


def _receipt(obligation: Obligation) -> Receipt:
    return Receipt(
        call_id=obligation.obligation_id,
        leg_id=obligation.leg_id,
        tool=obligation.tool,
        title=obligation.title,
        price=obligation.price,
        approved_price=obligation.approved_price,
        overcharged=obligation.overcharged,
        confirmed_by=obligation.confirmed_by,
        reference=reference_of(obligation),
        follow_ups=tuple(_with_fee(one, obligation) for one in obligation.follow_ups),
    )


def _with_fee(one: FollowUp, obligation: Obligation) -> FollowUp:
    """A follow-up, where it cancels an obligation with the fee that its budget reserves."""
    if one.tool != obligation.cancel_tool or one.fee is not None:
        return one
    return one.model_copy(update={"fee": obligation.fee})


def _by_leg(cancel: CancelCall, made: Obligation | None) -> Cancelled:
    sent = cancel.names or cancel.arguments
    return Cancelled(
        call_id=cancel.call_id,
        tool=cancel.tool,
        title=made.title if made is not None else "",
        reference={name: value for name, value in sent.items() if _is_name(value)},
        at=cancel.settled_at,
        confirmed_by=cancel.confirmed_by,
    )


def _by_rollback(obligation: Obligation) -> Cancelled:
    return Cancelled(
        call_id=obligation.obligation_id,
        tool=obligation.cancel_tool or obligation.tool,
        title=obligation.title or obligation.tool,
        reference=reference_of(obligation),
        at=obligation.settled_at,
        confirmed_by=obligation.rollback.approver if obligation.rollback is not None else None,
        by_rollback=obligation.cancelled_by is None,
    )


def _identifiers(body: JsonValue, *, depth: int) -> JsonObject:
    return dict(_named(body, "", depth))


def _named(body: JsonValue, within: str, depth: int) -> Iterator[tuple[str, JsonValue]]:
    """The identifiers of an object, those of what it holds after its own."""
    if not isinstance(body, dict) or depth == 0:
        return
    for name, value in body.items():
        is_id = name.lower().endswith("id")  # a number that is no id counts something
        if _IDENTIFIER.fullmatch(name) and _is_name(value) and (is_id or isinstance(value, str)):
            yield (
                (f"{within}_{name}" if within and name.islower() and "_" not in name else name),
                value,
            )
    for name, value in body.items():
        yield from _named(value, name, depth - 1)


def _is_name(value: JsonValue) -> bool:
    """Whether a value may name one thing; what is personal is never shown."""
    if isinstance(value, str):
        return bool(value) and not is_handle(value)
    return isinstance(value, int) and not isinstance(value, bool)
