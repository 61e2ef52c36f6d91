"""The proof in a mission's ledger: receipts, cancelled effects, and orders without effect."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from pydantic import Field, JsonValue

from orchestrator.core.budget import Money
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject, Record, shared_fields
from orchestrator.messages.leg import LegResult, LegStatus
from orchestrator.planning.models import LegPlan, MissionPlan
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation, ObligationState
from orchestrator.saga.orders import Effect, done_though_unmet, effects_of, unserved, why_unserved
from orchestrator.saga.outcome import FollowUp

_DEPTH: Final = 4
"""The depth to which an answer is searched for identifiers."""
_IDENTIFIER: Final = re.compile(
    r"(?:^|.*[_.\s-])(?i:id|reference|number)|.*[a-z0-9](?:I[dD]|Reference|Number)"
)


class Receipt(Record):
    """Proof of one side effect that stands."""

    call_id: str
    leg_id: str
    tool: str
    title: str
    price: Money | None = Field(default=None, description="None if the answer does not state it")
    approved_price: Money | None = None
    overcharged: Money | None = Field(default=None, description="amount charged above the approval")
    confirmed_by: str | None = None
    observed: bool = Field(default=False, description="True if its call was not guarded")
    reference: JsonObject = Field(default_factory=dict, description="ids that the provider gave it")
    follow_ups: tuple[FollowUp, ...] = ()
    """Possible next calls, the cancel of this effect first."""


class Left(Receipt):
    """An effect that a rollback left, and that stands or may stand."""

    state: ObligationState
    note: str = Field(default="", description="reason why it was left")


class Cancelled(Record):
    """An effect that a leg or the rollback cancelled at its provider."""

    call_id: str = Field(description="the leg's own cancel, or the call of the obligation")
    tool: str = Field(description="the tool that cancelled it")
    title: str = Field(default="", description="of the cancelled effect, if the mission made it")
    reference: JsonObject = Field(default_factory=dict, description="ids by which it was cancelled")
    at: datetime | None = None
    confirmed_by: str | None = None
    """None: the cancel needed no approval."""
    by_rollback: bool = False


def receipts_of(ledger: Ledger) -> tuple[Receipt, ...]:
    """Return a receipt for each obligation that stands, in ledger order."""
    return tuple(_receipt(o) for o in ledger.obligations if o.state is ObligationState.COMMITTED)


def left_of(ledger: Ledger) -> tuple[Left, ...]:
    """Return the effects that a rollback left to an operator, or by an operator's decision."""
    kept = (ObligationState.PARKED, ObligationState.ACCEPTED)
    return tuple(
        Left(**_receipt(o).model_dump(exclude={"follow_ups"}), state=o.state, note=o.note)
        for o in ledger.obligations
        if o.state in kept
    )


def cancelled_of(ledger: Ledger) -> tuple[Cancelled, ...]:
    """Return cancelled effects, first those cancelled by legs, then those by the rollback."""
    made = {o.cancelled_by: o for o in ledger.obligations if o.cancelled_by is not None}
    own = [
        Cancelled(
            call_id=cancel.call_id,
            tool=cancel.tool,
            title=made[cancel.call_id].title if cancel.call_id in made else "",
            reference={
                name: value
                for name, value in (cancel.names or cancel.arguments).items()
                if _is_name(value)
            },
            at=cancel.settled_at,
            confirmed_by=cancel.confirmed_by,
        )
        for cancel in ledger.cancels
        if cancel.outcome == "succeeded"
    ]
    known = {c.call_id for c in ledger.cancels}
    rolled_back = [
        Cancelled(
            call_id=o.obligation_id,
            tool=o.cancel_tool or o.tool,
            title=o.title or o.tool,
            reference=reference_of(o),
            at=o.settled_at,
            confirmed_by=o.rollback.approver if o.rollback is not None else None,
            by_rollback=o.cancelled_by is None,
        )
        for o in ledger.obligations
        if o.state is ObligationState.CANCELLED and o.cancelled_by not in known
    ]
    return (*own, *rolled_back)


def reference_of(obligation: Obligation) -> JsonObject:
    """Return the identifiers by which a provider knows an effect.

    These are the identifiers of its answer, and other values of the answer that its cancel needs;
    if there are none, the identifiers nested in the answer, or the arguments of the call itself.
    """
    answered = _identifiers(obligation.response, depth=1)
    sent = [*obligation.arguments.values(), obligation.idempotency_key]
    asked = {n: v for n, v in obligation.cancel_inputs.items() if _is_name(v)}
    given = {n: v for n, v in asked.items() if v not in sent and v not in answered.values()}
    return {**answered, **given} or _identifiers(obligation.response, depth=_DEPTH) or asked


def _receipt(obligation: Obligation) -> Receipt:
    # A cancel has the fee that the budget reserves.
    fee = {"fee": obligation.fee}
    follow_ups = tuple(
        one
        if one.tool != obligation.cancel_tool or one.fee is not None
        else one.model_copy(update=fee)
        for one in obligation.follow_ups
    )
    return Receipt(
        **{**shared_fields(obligation, Receipt), "follow_ups": follow_ups},
        call_id=obligation.obligation_id,
        reference=reference_of(obligation),
    )


def _identifiers(body: JsonValue, *, depth: int) -> JsonObject:
    return dict(_named(body, "", depth))


def _named(body: JsonValue, within: str, depth: int) -> Iterator[tuple[str, JsonValue]]:
    """Yield the identifiers of an object, then those of nested objects."""
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
    """Return True if a value may identify something; personal values never do."""
    if isinstance(value, str):
        return bool(value) and not is_handle(value)
    return isinstance(value, int) and not isinstance(value, bool)


class Unserved(Record):
    """An order without its effects, or a leg that was left out or proves nothing."""

    clause: str = Field(description="words of the goal, or of the leg's goal")
    reason: str
    leg_id: str | None = None

    def __str__(self) -> str:
        return f"{self.clause!r}: {self.reason}"


def unserved_of(
    plan: MissionPlan, legs: Iterable[LegResult], ledger: Ledger
) -> tuple[Unserved, ...]:
    """Return the reasons that a mission with ended legs has not succeeded."""
    results = {leg.leg_id: leg for leg in legs}
    effects = effects_of(ledger, (order for leg in plan.legs for order in leg.orders))
    return tuple(one for leg in plan.legs for one in _of_leg(leg, plan.legs, results, effects))


def _of_leg(
    plan: LegPlan,
    legs: Sequence[LegPlan],
    results: Mapping[str, LegResult],
    effects: Sequence[Effect],
) -> Iterator[Unserved]:
    result = results.get(plan.leg_id)
    if result is not None and result.status is LegStatus.SKIPPED:
        reason = result.error or "its leg was skipped"
        yield Unserved(clause=plan.goal, reason=reason, leg_id=plan.leg_id)
        return
    for_it = done_for(plan.leg_id, legs)
    own = [effect for effect in effects if effect.leg_id in for_it]
    read = [one for leg_id in sorted(for_it & {*results}) for one in results[leg_id].conditions]
    # A part that was handed over is also an order of the asking leg, and is reported missing once.
    orders = () if plan.handed_over_by else plan.orders
    for order in unserved(orders, own, read):
        reason = why_unserved(order, own)
        yield Unserved(clause=str(order), reason=reason, leg_id=plan.leg_id)
    for order, said in done_though_unmet(orders, own, read):
        reason = f"done, although its condition does not hold: {said.read}"
        yield Unserved(clause=str(order), reason=reason, leg_id=plan.leg_id)
    if result is not None and result.unproved_why and result.status is LegStatus.SUCCEEDED:
        yield Unserved(clause=plan.goal, reason=result.unproved_why, leg_id=plan.leg_id)


def proved(legs: Iterable[LegResult], missing: Sequence[Unserved]) -> Iterator[LegResult]:
    """Yield the legs, marked unproved if nothing proves their planner's claim."""
    unproved = {one.leg_id for one in missing}
    for leg in legs:
        claims = leg.status is LegStatus.SUCCEEDED and leg.leg_id in unproved
        yield leg.model_copy(update={"unproved": True}) if claims else leg


def done_for(leg_id: str, legs: Iterable[LegPlan]) -> frozenset[str]:
    """Return a leg and all legs that it handed parts of its goal to."""
    own = {leg_id}
    for leg in legs:  # each follows the leg that handed it over
        if leg.handed_over_by in own:
            own.add(leg.leg_id)
    return frozenset(own)
