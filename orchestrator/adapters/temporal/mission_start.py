"""The start options of a mission, for clients and schedules."""

from typing import Any, Final

from temporalio.common import Priority, WorkflowIDReusePolicy

from orchestrator.adapters.temporal.search_attributes import search_attributes
from orchestrator.core.shown_text import markdown_summary, visible_block
from orchestrator.messages.mission import MissionRequest, MissionStatus, request_digest

DIGEST_MEMO: Final = "request"
"""The memo key for the digest of the request, so that a comparison needs no worker."""


def mission_start(request: MissionRequest) -> dict[str, Any]:
    """Return the start options of a mission whose request has an id."""
    assert request.mission_id is not None
    return {
        "id": request.mission_id,
        "id_reuse_policy": WorkflowIDReusePolicy.REJECT_DUPLICATE,
        "search_attributes": search_attributes(
            request.mission_id, MissionStatus.PLANNING, requester=request.requester
        ),
        "memo": {"goal": visible_block(request.goal), DIGEST_MEMO: request_digest(request)},
        "static_summary": markdown_summary(request.goal),
        # The legs, their calls and the rollback inherit this priority.
        "priority": Priority(priority_key=request.priority, fairness_key=request.tenant or None),
    }
