"""Guarded tools in the agents of two frameworks, over a source that makes no call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest
from agents import Agent as OpenAIAgent
from agents import Runner, set_tracing_disabled
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.capabilities import HandleDeferredToolCalls

from orchestrator import ToolSaga
from orchestrator.core.errors import UsageError
from orchestrator.messages.step import OfferedTool
from orchestrator.workflows.openai_agents_tools import function_tools
from orchestrator.workflows.pydantic_ai_tools import GuardedToolset
from tests.scripted_openai import Scripted
from tests.scripted_waiter import SEARCH, Waiter

if TYPE_CHECKING:
    from orchestrator.core.record import JsonObject

SLOTS = {"tables": [{"table_slot_id": "tbl_1"}, {"table_slot_id": "tbl_2"}]}


class Source:
    """Stands for a saga, whose calls have cards; it notes them."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, JsonObject]] = []

    async def offered(self, tools: Sequence[str], request: str) -> Sequence[OfferedTool]:
        return [
            OfferedTool(tool=name, name=name, description=name, parameters={"type": "object"})
            for name in ("dining_search_tables", "dining_reserve_table")
        ]

    async def call(self, tool: str, arguments: JsonObject, *, reason: str = "") -> Any:
        self.calls.append((tool, arguments))
        return SLOTS if tool == "dining_search_tables" else {"reservation_id": "r"}


async def test_deferred_approvals_of_pydantic_ai_are_answered_by_the_cards() -> None:
    """Each call of the toolset is approved to the framework once, and goes to the saga once."""
    source = Source()
    tools = GuardedToolset(source, ["dining_*"], prune=False)
    agent = Agent(Waiter(tables=2).as_model(), output_type=[str, DeferredToolRequests])

    async def run(*handlers: Any) -> Any:
        asked = tools.approval_required()
        return (await agent.run("a table", toolsets=[asked], capabilities=handlers)).output

    left_open = await run()
    unanswered = list(source.calls)
    said = await run(HandleDeferredToolCalls(handler=tools.answer))

    assert isinstance(left_open, DeferredToolRequests)
    assert unanswered == []
    assert "reservation_id" in said
    called = [name for name, _ in source.calls]
    assert called == ["dining_search_tables", *["dining_reserve_table"] * 2]


def test_a_saga_outside_of_a_workflow_is_refused() -> None:
    """The sentence says where it belongs, and what serves elsewhere."""
    with pytest.raises(UsageError, match="run method"):
        ToolSaga()


async def test_tools_of_openai_agents_need_no_second_approval() -> None:
    """Their `needs_approval` is off, because the card asks; nothing interrupts the run."""
    set_tracing_disabled(True)
    source = Source()
    tools = await function_tools(source, ["dining_*"])
    agent = OpenAIAgent(name="butler", tools=[*tools], model=Scripted(Waiter()))
    result = await Runner.run(agent, "a table")

    assert result.interruptions == []
    assert [tool.needs_approval for tool in tools] == [False, False]
    assert source.calls[0] == ("dining_search_tables", SEARCH)
    assert len(source.calls) == 2
