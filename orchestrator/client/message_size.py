"""How large and deep a message to a workflow may be, measured as it would be sent, before it is.

A message that its workflow could not read would keep it at its first task for good.
"""

import json
from typing import Final

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.core.errors import MessageTooLarge, UsageError
from orchestrator.core.record import Record
from orchestrator.json_schema.wellformed import find_defect
from orchestrator.messages.mission import MissionRequest

LARGEST_MESSAGE: Final = 500_000
"""In bytes. The server takes four times that in one payload, and eight times in a message. But what
comes in is carried on, together with what is found, in the messages of every step."""
MOST_INPUTS: Final = 1_000

_TOO_LARGE: Final = ("larger than max", "exceeds size limit", "exceeds limit", "too large")
_ITS_STATUS: Final = (RPCStatusCode.INVALID_ARGUMENT, RPCStatusCode.RESOURCE_EXHAUSTED)


async def check_size(temporal: Client, message: Record, *, what: str) -> None:
    """Refuse a message that could not be carried through a mission: it is too large, or no JSON.

    Args:
        temporal: whose data converter would write it.
        message: what would be sent.
        what: how the error calls it.

    Raises:
        MessageTooLarge: it is; nothing was sent.
        UsageError: it is nested too deep, or holds half a character or too large a number.
    """
    try:
        defect = find_defect(json.loads(message.model_dump_json()))
    except (ValueError, RecursionError):
        # Not what pydantic says: it may quote a value.
        raise UsageError(f"{what} cannot be written as JSON in UTF-8") from None
    if defect is not None:
        place = ".".join(map(str, defect.path))
        raise UsageError(f"{what}: {place}: {defect.reason}")
    # Not encoded: what is large would be stored, and measured by its reference.
    payloads = temporal.data_converter.payload_converter.to_payloads([message])
    size = sum(len(payload.data) for payload in payloads)
    if size > LARGEST_MESSAGE:
        raise MessageTooLarge(what, size, LARGEST_MESSAGE)


async def check_request(temporal: Client, request: MissionRequest) -> None:
    """Refuse a mission whose request is too large, before any value of it is stored.

    Raises:
        MessageTooLarge: it is.
        UsageError: it has too many inputs, or holds what no message can.
    """
    if len(request.inputs) > MOST_INPUTS:
        raise UsageError(
            f"the mission has {len(request.inputs):,} inputs, and at most {MOST_INPUTS:,} are "
            "taken; give those that its tools need"
        )
    await check_size(temporal, request, what="the mission's request")


def is_about_size(error: RPCError) -> bool:
    """Whether the server, or what stands before it, did not take a message for its size."""
    return error.status in _ITS_STATUS and any(part in error.message for part in _TOO_LARGE)
