"""What the ledger is told of a call before it is sent."""

from datetime import datetime
from typing import Any

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.prices import states_price, takes_money
from orchestrator.catalog.tool import Tool
from orchestrator.core.budget import Money
from orchestrator.core.call_ref import CallRef
from orchestrator.core.record import JsonObject
from orchestrator.saga.cancel_arguments import cancel_arguments, names_in
from orchestrator.saga.ledger import CancelCall, Obligation


def draft_obligation(
    call: CallRef,
    tool: Tool,
    arguments: JsonObject,
    *,
    now: datetime,
    verify_cancel: bool = True,
    fee: Money | None = None,
    agreed: JsonObject | None = None,
) -> Obligation:
    """The ledger entry of one side-effect call, with what its request tells of how to cancel it.

    Its leg sets the times when it writes it; `verify_cancel` is the mission's policy, `fee` what
    undoing it may cost, `agreed` the days that it is of.
    """
    contract = tool.compensation
    limits: dict[str, Any] = {}
    if contract is not None:
        limits["cancel_timeout"] = contract.timeout
        limits["cancel_max_attempts"] = contract.max_attempts
        limits["on_failure"] = contract.on_failure
    key = tool.key_of(call.call_id)
    return Obligation(
        obligation_id=call.call_id,
        mission_id=call.mission_id,
        leg_id=call.leg_id,
        tool=call.tool,
        cancel_tool=contract.cancel.tool if contract else None,
        catalog_digest=call.catalog_digest,
        arguments=arguments,
        idempotency_key=key,
        title=tool.title,
        agreed=agreed or {},
        spends=takes_money(tool),
        has_price=states_price(tool),
        undo_arguments=cancel_arguments(tool, arguments, idempotency_key=key),
        verify_cancel=verify_cancel,
        fee=fee,
        written_at=now,
        deadline=now,
        **limits,
    )


def draft_cancel(
    call: CallRef, catalog: Catalog, arguments: JsonObject, *, now: datetime
) -> CancelCall:
    """The ledger's note of a leg's own call of a cancel tool, maybe of an obligation it has."""
    tool = catalog.tool(call.tool)
    return CancelCall(
        call_id=call.call_id,
        tool=call.tool,
        arguments=arguments,
        names=names_in(catalog, tool, arguments),
        idempotency_key=tool.key_of(call.call_id),
        written_at=now,
    )
