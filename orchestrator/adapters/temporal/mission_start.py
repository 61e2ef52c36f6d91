"""What a mission is started with, whoever starts it: a client, or a schedule."""

from typing import Any, Final

from temporalio.common import Priority, WorkflowIDReusePolicy

from orchestrator.adapters.temporal.search_attributes import search_attributes
from orchestrator.core.shown_text import markdown_summary, visible_block
from orchestrator.messages.mission import MissionRequest, MissionStatus, request_digest

DIGEST_MEMO: Final = "request"
"""Where a mission's start says what was asked for, so that no worker is needed to compare it."""


def mission_start(request: MissionRequest) -> dict[str, Any]:
    """The options of its start: of a request that has an id."""
    assert request.mission_id is not None
    return {
        "id": request.mission_id,
        "id_reuse_policy": WorkflowIDReusePolicy.REJECT_DUPLICATE,
        "search_attributes": search_attributes(request.mission_id, MissionStatus.PLANNING),
        "memo": {"goal": visible_block(request.goal), DIGEST_MEMO: request_digest(request)},
        "static_summary": markdown_summary(request.goal),
        # Its legs, their calls and its rollback inherit it.
        "priority": Priority(priority_key=request.priority, fairness_key=request.tenant or None),
    }
