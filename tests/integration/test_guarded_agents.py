"""Agents of other frameworks whose tools are guarded, under their own Temporal plugins."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from pydantic_ai import Agent
from pydantic_ai.durable_exec.temporal import PydanticAIPlugin
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from temporalio.client import Client, WorkflowFailureError
from temporalio.openai_agents import ModelActivityParameters, OpenAIAgentsPlugin
from temporalio.openai_agents.testing import ResponseBuilders, TestModel, TestModelProvider
from temporalio.worker import Replayer, Worker

from orchestrator import Catalog, ReadTools
from orchestrator.core.errors import UsageError
from orchestrator.sandbox import FaultRule
from orchestrator.temporal import OrchestratorPlugin
from tests.guarded_examples import all_approved, example, saga_of

if TYPE_CHECKING:
    from agents import ModelResponse as OpenAIResponse

    from orchestrator.client.mission_client import MissionClient
    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import Witness

DAY = (date.today() + timedelta(days=7)).isoformat()
REQUEST = f"Reserve a table in Lisbon on {DAY}"
PERSON = {"traveler_name": "pii:traveler_name", "traveler_phone": "pii:traveler_phone"}
SEARCH = {"city": "Lisbon", "date": DAY}


class Waiter:
    """A scripted model: it searches, reserves the first tables, and says what came of it."""

    def __init__(self, tables: int = 1) -> None:
        self.tables = tables
        self.offered: list[list[str]] = []
        self.results: list[str] = []

    def next(self, offered: list[str], results: list[str]) -> list[tuple[str, dict[str, Any]]]:
        """Return the next calls; none: it is done."""
        self.offered.append(offered)
        self.results = results
        if not results:
            return [("dining_search_tables", SEARCH)]
        if len(results) > 1:
            return []
        slots = [one["table_slot_id"] for one in json.loads(results[0])["tables"]]
        return [
            ("dining_reserve_table", {"table_slot_id": slot, "reason": "asked for", **PERSON})
            for slot in slots[: self.tables]
        ]

    # -- as pydantic-ai asks it ---------------------------------------------------------------

    def as_model(self) -> FunctionModel:
        def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            parts = [part for message in messages for part in message.parts]
            results = [p.model_response_str() for p in parts if isinstance(p, ToolReturnPart)]
            wanted = self.next([tool.name for tool in info.function_tools], results)
            if not wanted:
                return ModelResponse(parts=[TextPart("; ".join(results[1:]) or "done")])
            return ModelResponse(parts=[ToolCallPart(name, given) for name, given in wanted])

        return FunctionModel(answer)


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


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "last"])
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


class Scripted(TestModel):
    """Asks the script, as the SDK of OpenAI asks a model."""

    def __init__(self, waiter: Waiter) -> None:
        super().__init__(lambda: ResponseBuilders.output_message("done"))
        self.waiter = waiter

    async def get_response(
        self, system_instructions: str | None, input: Any, *args: Any, **kwargs: Any
    ) -> OpenAIResponse:
        tools = kwargs.get("tools") or args[1]
        results = [str(one["output"]) for one in input if _is_output(one)]
        wanted = self.waiter.next([tool.name for tool in tools], results)
        if not wanted:
            return ResponseBuilders.output_message("; ".join(results[1:]) or "done")
        made = [
            ResponseBuilders.tool_call(json.dumps(given), name, call_id=f"{len(results)}-{at}")
            for at, (name, given) in enumerate(wanted)
        ]
        made[0].output[:] = [one.output[0] for one in made]
        return made[0]


def _is_output(one: Any) -> bool:
    return isinstance(one, dict) and one.get("type") == "function_call_output"


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


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "last"])
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
