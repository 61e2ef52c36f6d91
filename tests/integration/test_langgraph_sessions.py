"""An agent of LangGraph over a session, with the real library and a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from orchestrator.client.mission_client import MissionClient
from orchestrator.sandbox import FaultRule
from orchestrator.testing import eventually
from tests.guarded_examples import all_approved, approve_next, example, until_sent, worker_process
from tests.guarded_workflows import PERSON

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import Witness

DAY = (date.today() + timedelta(days=7)).isoformat()
SEARCH = {"city": "Lisbon", "date": DAY}


class Waiter(BaseChatModel):
    """A scripted model: it searches, reserves one table, and then another."""

    offered: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        self.offered[:] = [one.name for one in tools]
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        answers = [one for one in messages if isinstance(one, ToolMessage)]
        said = AIMessage("done")
        if not answers:
            said = _asking("dining_search_tables", SEARCH, 0)
        elif len(answers) < 3:
            slots = [one["table_slot_id"] for one in json.loads(str(answers[0].content))["tables"]]
            wanted = {"table_slot_id": slots[len(answers)], **PERSON}
            said = _asking("dining_reserve_table", wanted, len(answers))
        return ChatResult(generations=[ChatGeneration(message=said)])


def _asking(tool: str, arguments: dict[str, Any], number: int) -> AIMessage:
    call = {"name": tool, "args": arguments, "id": f"call_{number}XyZ", "type": "tool_call"}
    return AIMessage("", tool_calls=[call])


async def test_an_agent_whose_process_and_worker_die_reserves_nothing_twice(
    stack: Stack, client: MissionClient, sandbox: Witness
) -> None:
    """The agent goes on from its checkpoint, the session from the server's."""
    await sandbox.set_faults(
        [FaultRule(operation_id="dining_reserve_table", kind="latency", delay_s=2, times=1)]
    )
    mine = _on_trips(client, stack)
    dinner, saver, dine = f"dinner-{uuid4().hex[:6]}", InMemorySaver(), _dine()
    async with worker_process(stack, "first"):
        dying = asyncio.create_task(dine(mine, Waiter(), saver, dinner))
        saga = await approve_next(client, "session", "dining_reserve_table")
        await until_sent(sandbox, saga, "dining_reserve_table")
        await stack.kill("first")
        dying.cancel()
    async with worker_process(stack, "second"), all_approved(client, "session"):
        waiter = Waiter()
        messages = await dine(mine, waiter, saver, dinner)

    assert messages[-1].content == "done"
    assert "dining_reserve_table" in waiter.offered
    assert len(await sandbox.live(saga)) == 2
    assert await sandbox.duplicates(saga) == []


async def test_an_agent_whose_last_call_is_refused_leaves_nothing(
    stack: Stack, client: MissionClient, sandbox: Witness
) -> None:
    """Its worker is killed between the first reservation and its answer."""
    slow = FaultRule(operation_id="dining_reserve_table", kind="latency", delay_s=2, times=1)
    await sandbox.set_faults([slow])
    dinner, dine = f"dinner-{uuid4().hex[:6]}", _dine()
    async with worker_process(stack, "first"):
        dining = asyncio.create_task(
            dine(_on_trips(client, stack), Waiter(), InMemorySaver(), dinner)
        )
        saga = await approve_next(client, "session", "dining_reserve_table")
        await until_sent(sandbox, saga, "dining_reserve_table")
        await stack.kill("first")
    async with worker_process(stack, "second"):

        async def is_answered() -> bool:
            return len(await sandbox.live(saga)) == 1

        await eventually(is_answered)
        refusing = FaultRule(operation_id="dining_reserve_table", kind="status_before", status=409)
        await sandbox.set_faults([refusing])
        async with all_approved(client, "session"):
            messages = await dining

    assert [one.status for one in messages if isinstance(one, ToolMessage)][-1] == "error"
    assert await sandbox.live(saga) == []
    assert await sandbox.duplicates(saga) == []
    report = await client.rollback_report(saga)
    assert [o.state for o in report.ledger.obligations] == ["cancelled", "void"]


def _on_trips(client: MissionClient, stack: Stack) -> MissionClient:
    """A client of the queue that the example's worker serves."""
    settings = stack.settings.model_copy(update={"task_queue": "trips"})
    return MissionClient(client.temporal, settings)


def _dine() -> Callable[..., Any]:
    dine: Callable[..., Any] = example("langgraph_agent").dine
    return dine
