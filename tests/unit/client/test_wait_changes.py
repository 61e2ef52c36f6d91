"""Changes of what waits, from the lists of the server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, nullcontext
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from temporalio.api.common.v1 import Memo, Payload
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.adapters.temporal.search_attributes import REQUESTER
from orchestrator.client.connection import Connection
from orchestrator.client.run_histories import RunHistories
from orchestrator.client.wait_changes import history_changes, wait_changes
from orchestrator.messages import names
from orchestrator.messages.leg import LegWaiting
from tests.unit.cards import open_card
from tests.unit.client.test_run_histories import Server
from tests.unit.client.test_run_histories import run as description

MEMO = f"{names.WAITS_MEMO}:1"


def run(mission_id: str, content: str) -> Any:
    """A mission that waits, as a list shows it; its card has this title."""
    card = open_card(f"{mission_id}.1-leg.1", "book", "structured-order", title=content)
    memo = Memo(fields={MEMO: Payload(data=content.encode())})

    async def value(*_: object, **__: object) -> LegWaiting:
        return LegWaiting(card=card)

    return SimpleNamespace(
        id=mission_id,
        run_id=f"run-{mission_id}",
        status=WorkflowExecutionStatus.RUNNING,
        raw_info=SimpleNamespace(memo=memo),
        typed_search_attributes={REQUESTER: f"{mission_id}@example.com"},
        memo_value=value,
    )


async def test_only_what_differs_between_two_looks_is_a_change() -> None:
    """One opened, one amended, one closed; what stays is no change."""
    looks = [
        [run("a", "first"), run("b", "stays"), run("c", "closes")],
        [run("a", "amended"), run("b", "stays"), run("d", "opens")],
        [run("a", "amended"), run("b", "stays"), run("d", "opens")],
        [],
    ]

    async def list_workflows(_: str) -> AsyncIterator[Any]:
        for one in looks.pop(0):
            yield one

    temporal = SimpleNamespace(list_workflows=list_workflows)
    connection = cast("Connection", SimpleNamespace(temporal=temporal, explaining=nullcontext))
    found = []
    async with aclosing(cast("Any", wait_changes(connection, every_s=0))) as changes:
        async for several in changes:
            found.append([one.mission_id for one in several])
            if len(found) == 2:
                titles = {one.mission_id: [c.title for c in one.cards] for one in several}
                requesters = {one.requester for one in several}
            if len(found) == 3:
                break

    assert found == [[], ["a", "c", "d"], ["a", "b", "d"]]
    assert titles == {"a": ["first", "amended"], "c": ["closes"], "d": ["opens"]}
    assert requesters == {"a@example.com", "c@example.com", "d@example.com"}


async def test_a_history_that_grows_is_a_change() -> None:
    """Not by what a page has shown already; it ends with an error when the server is away."""
    now = datetime.now(UTC)
    server = Server(3)
    server.at = now - timedelta(minutes=1)

    class Handle:
        """Of the mission, or of its rollback, which has not begun."""

        def __init__(self, workflow_id: str) -> None:
            self.workflow_id = workflow_id
            self.fetch_history_events = server.get_workflow_handle().fetch_history_events

        async def describe(self) -> Any:
            if self.workflow_id != "trip":
                raise RPCError("no such workflow", RPCStatusCode.NOT_FOUND, b"")
            return SimpleNamespace(run_id="run", **vars(description(server.length)))

    temporal = cast("Any", SimpleNamespace(get_workflow_handle=lambda one, **_: Handle(one)))
    connection = cast(
        "Connection",
        SimpleNamespace(
            temporal=temporal, explaining=lambda _: nullcontext(), histories=RunHistories(temporal)
        ),
    )
    seen = 0
    asyncio.get_running_loop().call_later(0.05, server.add, 1)
    async with asyncio.timeout(5):
        try:
            async for _ in history_changes(connection, "trip", since=now - timedelta(seconds=5)):
                seen += 1
                server.errors = [RPCStatusCode.UNAVAILABLE]
                server.add(1)
        except RPCError as away:
            assert away.status is RPCStatusCode.UNAVAILABLE

    assert seen == 1
