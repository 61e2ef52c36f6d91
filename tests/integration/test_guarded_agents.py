"""Agents of other frameworks whose tools are guarded, under their own Temporal plugins."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from pydantic_ai import Agent
from pydantic_ai.durable_exec.temporal import PydanticAIPlugin
from pydantic_ai.exceptions import UserError
from temporalio.client import Client, WorkflowFailureError
from temporalio.openai_agents import ModelActivityParameters, OpenAIAgentsPlugin
from temporalio.openai_agents.testing import TestModelProvider
from temporalio.worker import Replayer, Worker

from orchestrator import Catalog, ReadTools
from orchestrator.core.errors import UsageError
from orchestrator.sandbox import FaultRule
from orchestrator.temporal import OrchestratorPlugin
from orchestrator.testing import eventually
from tests.guarded_examples import all_approved, approve_next, example, saga_of
from tests.scripted_openai import Scripted
from tests.scripted_waiter import REQUEST, Waiter

if TYPE_CHECKING:
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import Witness

# The long ones have the plugins in the order that test_guarded_worker.py has in every run.

# -- pydantic-ai ----------------------------------------------------------------------------------


@asynccontextmanager
async def concierge(
    stack: Stack, waiter: Waiter, monkeypatch: pytest.MonkeyPatch, *, is_first: bool = True
) -> AsyncIterator[Any]:
    """Yield the agent of the example, under way in its workflow with this model."""
    module = example("pydantic_ai_trip")
    # Its durability has bound the model already.
    monkeypatch.setattr(module.agent.model, "request", waiter.as_model().request)
    plugins = [OrchestratorPlugin(settings=stack.settings), PydanticAIPlugin()]
    client = await Client.connect(
        stack.address, plugins=plugins if is_first else list(reversed(plugins))
    )
    queue = f"concierges-{uuid4().hex[:6]}"
    async with Worker(client, task_queue=queue, workflows=[module.Concierge]):
        yield await client.start_workflow(
            "Concierge", REQUEST, id=f"concierge/{uuid4()}", task_queue=queue
        )


async def _replayed(handle: Any, workflow: type, stack: Stack, theirs: Any) -> None:
    plugins = [theirs, OrchestratorPlugin(settings=stack.settings)]
    replayer = Replayer(workflows=[workflow], plugins=plugins)
    await replayer.replay_workflow(await handle.fetch_history())


@pytest.mark.parametrize("is_first", [True, pytest.param(False, marks=pytest.mark.long)])
async def test_an_agent_of_pydantic_ai_has_a_card_for_each_of_its_calls_at_once(
    stack: Stack,
    client: MissionClient,
    sandbox: Witness,
    monkeypatch: pytest.MonkeyPatch,
    is_first: bool,
) -> None:
    """Each is bound to its own arguments; each request has only the tools that fit it."""
    waiter = Waiter(tables=2)
    async with (
        all_approved(client, "concierge") as cards,
        concierge(stack, waiter, monkeypatch, is_first=is_first) as handle,
    ):
        assert "reservation_id" in await handle.result()
        await _replayed(handle, example("pydantic_ai_trip").Concierge, stack, PydanticAIPlugin())

    assert [card.tool for card in cards] == ["dining_reserve_table"] * 2
    assert len({card.digest for card in cards}) == 2
    assert len(await sandbox.live(saga_of(cards[0]))) == 2
    assert 0 < len(waiter.offered[0]) < 8


async def test_a_refused_call_is_read_by_the_model(
    stack: Stack, client: MissionClient, sandbox: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may decide otherwise; what stands is what it was answered."""
    await sandbox.set_faults(
        [FaultRule(operation_id="dining_reserve_table", kind="status_before", status=409)]
    )
    waiter = Waiter()
    async with (
        all_approved(client, "concierge"),
        concierge(stack, waiter, monkeypatch) as handle,
    ):
        assert "rejected" in await handle.result()


async def test_an_agent_whose_run_fails_leaves_nothing(
    stack: Stack, client: MissionClient, sandbox: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its model breaks after a reservation, which is cancelled."""
    waiter = Waiter()
    say = waiter.next

    def breaking(offered: list[str], results: list[str]) -> Any:
        if len(results) > 1:
            raise UserError("the model has no words")
        return say(offered, results)

    monkeypatch.setattr(waiter, "next", breaking)
    async with (
        all_approved(client, "concierge") as cards,
        concierge(stack, waiter, monkeypatch) as handle,
    ):
        with pytest.raises(WorkflowFailureError):
            await handle.result()

    assert await sandbox.live(saga_of(cards[0])) == []


# -- without a workflow ---------------------------------------------------------------------------


async def test_an_agent_without_a_workflow_may_read(stack: Stack) -> None:
    """The toolset has the tools that change nothing."""
    catalog = Catalog.load(*stack.settings.specs)
    waiter = Waiter(tables=0)
    async with ReadTools(catalog, settings=stack.settings) as reads:
        agent = Agent(waiter.as_model())
        await agent.run(REQUEST, toolsets=[reads.toolset(tools=["dining_*"], prune=False)])

    assert "table_slot_id" in waiter.results[0]
    assert "dining_reserve_table" not in waiter.offered[0]


async def test_an_agent_without_a_workflow_may_change_nothing(stack: Stack) -> None:
    """A sentence says where it may."""
    catalog = Catalog.load(*stack.settings.specs)
    async with ReadTools(catalog, settings=stack.settings) as reads:
        with pytest.raises(UsageError, match=r"ToolSaga\.toolset"):
            await reads.function_tools(tools=["dining_reserve_table"])
        with pytest.raises(UsageError, match=r"ToolSaga\.toolset"):
            await reads.call("dining_reserve_table", {})


# -- OpenAI Agents --------------------------------------------------------------------------------


@asynccontextmanager
async def butler(stack: Stack, waiter: Waiter, *, is_first: bool = True) -> AsyncIterator[Any]:
    """Yield the agent of the example, under way in its workflow with this model."""
    theirs = OpenAIAgentsPlugin(
        model_params=ModelActivityParameters(start_to_close_timeout=timedelta(seconds=9)),
        model_provider=TestModelProvider(Scripted(waiter)),
    )
    plugins: list[Any] = [OrchestratorPlugin(settings=stack.settings), theirs]
    client = await Client.connect(
        stack.address, plugins=plugins if is_first else list(reversed(plugins))
    )
    queue = f"butlers-{uuid4().hex[:6]}"
    workflow = example("openai_agents_trip").Butler
    async with Worker(client, task_queue=queue, workflows=[workflow]):
        yield await client.start_workflow(
            "Butler", REQUEST, id=f"butler/{uuid4()}", task_queue=queue
        )


@pytest.mark.parametrize("is_first", [pytest.param(True, marks=pytest.mark.long), False])
async def test_an_agent_of_openai_has_a_card_for_each_of_its_calls_at_once(
    stack: Stack, client: MissionClient, sandbox: Witness, is_first: bool
) -> None:
    """Under the plugin of its own SDK."""
    waiter = Waiter(tables=2)
    async with (
        all_approved(client, "butler") as cards,
        butler(stack, waiter, is_first=is_first) as handle,
    ):
        assert "reservation_id" in await handle.result()

    assert [card.tool for card in cards] == ["dining_reserve_table"] * 2
    assert len(await sandbox.live(saga_of(cards[0]))) == 2


# -- after a death --------------------------------------------------------------------------------


@pytest.mark.parametrize(("agent", "workflow"), [("concierge", "Concierge"), ("butler", "Butler")])
async def test_an_agent_whose_worker_dies_leaves_nothing_when_its_last_call_is_refused(
    stack: Stack,
    client: MissionClient,
    sandbox: Witness,
    monkeypatch: pytest.MonkeyPatch,
    agent: str,
    workflow: str,
) -> None:
    """The worker is killed between a call and its answer: nothing twice, and nothing left."""
    # A worker imports a framework first, for a minute where the machine is busy.
    monkeypatch.setattr("orchestrator.runtime.devserver._START_S", 200.0)
    command = [sys.executable, "-m", "tests.agent_worker", agent]
    variables = {"PYTHONPATH": os.getcwd()}
    await sandbox.set_faults(
        [FaultRule(operation_id="dining_reserve_table", kind="latency", delay_s=2, times=1)]
    )
    await stack.start_worker(agent, command=command, variables=variables)
    handle = await client.temporal.start_workflow(
        workflow, REQUEST, id=f"{agent}/{uuid4()}", task_queue=agent
    )
    saga = await approve_next(client, agent, "dining_reserve_table")

    async def is_sent() -> bool:
        asked = await sandbox.requests(saga)
        return any(one["operation"] == "dining_reserve_table" for one in asked)

    await eventually(is_sent)
    await stack.kill(agent)
    last = FaultRule(kind="status_before", status=409, request_prefix=f"{saga}.call-3.")
    await sandbox.add_faults([last])
    await stack.start_worker(agent, command=command, variables=variables)
    async with all_approved(client, agent) as cards:
        with pytest.raises(WorkflowFailureError):
            await handle.result()
    await stack.kill(agent)

    assert [saga_of(card) for card in cards] == [saga]
    assert await sandbox.live(saga) == []
    assert await sandbox.duplicates(saga) == []
    report = await client.rollback_report(saga)
    assert [o.state for o in report.ledger.obligations] == ["cancelled", "void"]
