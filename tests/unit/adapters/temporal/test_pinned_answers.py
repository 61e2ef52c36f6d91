"""What is pinned to a build, and asked while no worker of that build is there."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from temporalio.api.deployment.v1 import WorkerDeploymentVersion
from temporalio.api.enums.v1 import EventType, VersioningBehavior
from temporalio.api.workflow.v1 import WorkflowExecutionVersioningInfo
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.adapters.temporal.rollbacks import query_or_none
from orchestrator.core.errors import NoAnswer

PINNED = WorkflowExecutionVersioningInfo(
    behavior=VersioningBehavior.VERSIONING_BEHAVIOR_PINNED,
    deployment_version=WorkerDeploymentVersion(deployment_name="q", build_id="1"),
)


class Silent:
    """A workflow that once did something, and whose queries fail so."""

    def __init__(
        self, status: RPCStatusCode, versioning: WorkflowExecutionVersioningInfo | None
    ) -> None:
        info = SimpleNamespace(versioning_info=versioning or WorkflowExecutionVersioningInfo())
        raw = SimpleNamespace(workflow_execution_info=info)
        self.status = status
        self.described = SimpleNamespace(task_queue="q", raw_description=raw)

    async def fetch_history_events(self, **_: Any) -> Any:
        yield SimpleNamespace(event_type=EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED)

    async def query(self, *_: Any, **__: Any) -> str:
        raise RPCError("no poller seen", self.status, b"")

    async def describe(self) -> Any:
        return self.described


async def asked(silent: Any) -> str | None:
    return await query_or_none(silent, "ledger", str, timedelta(seconds=2))


@pytest.mark.parametrize(
    "status",
    [
        RPCStatusCode.CANCELLED,
        RPCStatusCode.DEADLINE_EXCEEDED,
        RPCStatusCode.FAILED_PRECONDITION,
    ],
)
async def test_the_build_is_named_that_has_to_be_there(status: RPCStatusCode) -> None:
    """A rollback that waits for a leg's ledger says why, and is tried again."""
    with pytest.raises(NoAnswer) as waits:
        await asked(Silent(status, PINNED))

    assert waits.value.retryable
    assert str(waits.value) == (
        "no worker of build '1' of the task queue 'q' answered within 2 s: all of them are busy, "
        "or the last one has just died (start one with: "
        "ORCHESTRATOR_BUILD_ID=1 ORCHESTRATOR_TASK_QUEUE=q orchestrator worker)"
    )


@pytest.mark.parametrize(
    ("status", "versioning"),
    [(RPCStatusCode.DEADLINE_EXCEEDED, None), (RPCStatusCode.UNAVAILABLE, PINNED)],
)
async def test_what_no_build_explains_is_told_as_it_came(
    status: RPCStatusCode, versioning: WorkflowExecutionVersioningInfo | None
) -> None:
    """A server that is away has nothing to do with builds."""
    with pytest.raises(RPCError) as failed:
        await asked(Silent(status, versioning))

    assert failed.value.status is status
