"""What the server refuses, in our own words."""

from typing import cast

import pytest
from temporalio.client import Client, WorkflowQueryFailedError
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.connection import Connection
from orchestrator.errors import MissionNotFound, NoWorker, QueryFailed

CONNECTION = Connection(cast(Client, None), "missions")


def test_a_workflow_that_does_not_replay_is_one_sentence() -> None:
    """The worker's words, without their line breaks, and what to do."""
    error = CONNECTION.explained(WorkflowQueryFailedError("[TMPRL1100]\n no\tmatch"), "trip")
    assert isinstance(error, QueryFailed)
    assert str(error) == (
        "trip cannot be read ([TMPRL1100] no match); it goes on or waits in Temporal: "
        "run the workers with the code that it was started with, and ask again"
    )


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (RPCStatusCode.NOT_FOUND, MissionNotFound),
        (RPCStatusCode.DEADLINE_EXCEEDED, NoWorker),
        (RPCStatusCode.FAILED_PRECONDITION, NoWorker),
    ],
)
def test_each_status_has_its_error(status: RPCStatusCode, kind: type[Exception]) -> None:
    """A server that cannot answer means something that a user can mend."""
    assert isinstance(CONNECTION.explained(RPCError("no", status, b""), "trip"), kind)
