"""Missions whose legs agents of other frameworks decide, on real parts, from a profile alone."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from orchestrator.client.connection import connect_temporal
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.planning.models import AgentProfile
from orchestrator.runtime.defaults import default_tools
from orchestrator.runtime.worker import build
from orchestrator.testing import approve, run_to_end
from orchestrator.testing.model_server import ModelServer, ReceivedRequest, call, say
from orchestrator.testing.model_server.replies import ModelAnswer
from tests.own_agents import EXAMPLES, Asked, FakeChat, Model, Reply, example

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import Witness

GOAL = "Message the finance team that the budget review is on Friday"
_CHANNEL = re.compile(r'"channel_id":"([^"]+)"')


def _next(results: list[str]) -> tuple[str, dict[str, str]] | None:
    """What the agent calls after these results: it looks for a channel, and writes to it."""
    if not results:
        return "message_find_channels", {"query": "finance"}
    if len(results) > 1:
        return None
    found = _CHANNEL.search(results[0])
    assert found is not None
    return "message_send", {"channel_id": found[1], "text": "The budget review is on Friday."}


def _over_the_wire(asked: ReceivedRequest) -> ModelAnswer:
    wanted = _next([turn.text for turn in asked.turns if turn.role == "tool"])
    return say("They know.") if wanted is None else call(wanted[0], **wanted[1])


def _in_process(asked: Asked) -> Reply:
    wanted = _next(asked.results)
    return Reply(text="They know.") if wanted is None else Reply([wanted])


@asynccontextmanager
async def _served(stack: Stack, planner: str) -> AsyncIterator[MissionClient]:
    """A worker whose one agent has this planner, and no setting that names any."""
    queue = planner.partition(":")[0]
    changes = {"task_queue": queue, "routing_timeout_ms": 5000}
    settings = stack.settings.model_copy(update=changes)
    agents = (AgentProfile(name="inbox", domains=("messages",), planner=planner),)
    temporal = await connect_temporal(stack.address)
    async with AsyncExitStack() as running:
        tools = await running.enter_async_context(default_tools(settings))
        for worker in build(temporal, settings, agents=agents, tools=tools):
            await running.enter_async_context(worker)
        yield MissionClient(temporal, settings)


@pytest.mark.parametrize(
    "name",
    [
        "langgraph_inbox",
        # The way of their calls is the same; what differs is tried without a server.
        pytest.param("pydantic_ai_inbox", marks=pytest.mark.long),
        pytest.param("openai_agents_inbox", marks=pytest.mark.long),
    ],
)
async def test_an_agent_of_another_framework_carries_out_a_mission(
    stack: Stack, sandbox: Witness, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named in a profile; its message waits for a person, and is sent once."""
    monkeypatch.syspath_prepend(EXAMPLES)
    waiting: list[ConfirmationCard] = []

    async def decide(mission: MissionHandle, card: ConfirmationCard) -> None:
        waiting.append(card)
        assert await sandbox.live(mission.mission_id) == []
        await approve(mission, card)

    async with ModelServer(_over_the_wire) as server:
        for variable, value in server.environment.items():
            monkeypatch.setenv(variable, value)
        _with_fake_chat(name, monkeypatch.setitem)
        async with _served(stack, f"{name}:planner") as client:
            mission = await client.start(MissionRequest(goal=GOAL))
            result = await run_to_end(mission, decide)

    assert result.status is MissionStatus.SUCCEEDED
    assert result.summary == "They know."
    effects = [effect["operation"] for effect in await sandbox.live(result.mission_id)]
    assert effects == ["message_send"]
    assert [step.did.split()[0] for step in result.legs[0].steps] == ["call", "call", "finish"]
    assert len(waiting) == 1
    assert result.usage.requests == 3


def _with_fake_chat(name: str, set_item: Callable[..., Any]) -> None:
    """Have the graph think by a fake of its framework: no LangChain package of OpenAI's is here."""
    import sys

    module = example(name)
    if name == "langgraph_inbox":
        module.chat_model = lambda: FakeChat(model=Model(_in_process))  # type: ignore[attr-defined]
    set_item(sys.modules, name, module)
