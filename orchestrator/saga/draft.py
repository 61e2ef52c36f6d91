"""The ledger entry of a call before it is sent."""

from datetime import datetime

from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.saga.cancel_arguments import cancel_arguments
from orchestrator.saga.ledger import Obligation


def draft_obligation(
    tool: Tool,
    arguments: JsonObject,
    *,
    call_id: str,
    mission_id: str,
    leg_id: str,
    catalog_digest: str,
    now: datetime,
) -> Obligation:
    """The ledger entry of one side-effect call, with what its request tells of how to cancel it.

    Its leg sets the times when it writes it.
    """
    compensation = tool.compensation
    key = call_id if tool.idempotency_header else None
    obligation = Obligation(
        obligation_id=call_id,
        mission_id=mission_id,
        leg_id=leg_id,
        tool=tool.name,
        cancel_tool=compensation.cancel.tool if compensation else None,
        catalog_digest=catalog_digest,
        arguments=arguments,
        idempotency_key=key,
        title=tool.title,
        spends=tool.spends,
        undo_arguments=cancel_arguments(tool, arguments, idempotency_key=key),
        written_at=now,
        deadline=now,
    )
    if compensation is None:
        return obligation
    return obligation.model_copy(
        update={
            "cancel_timeout": compensation.timeout,
            "cancel_max_attempts": compensation.max_attempts,
            "on_failure": compensation.on_failure,
        }
    )
