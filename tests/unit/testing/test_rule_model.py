"""The scripted model that decides by rules: its reading of a prompt, and its answers."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Money
from orchestrator.planning.llm.briefing import briefing
from orchestrator.planning.models import AgentProfile, Fact, Observation, StepContext
from orchestrator.testing.model_server import (
    ConversationTurn,
    ModelAnswer,
    ReceivedRequest,
    ShownTool,
    call,
)
from orchestrator.testing.model_server.rule_model import RuleModel, context_of

GOAL: Final = "Reserve a table for four at an Italian restaurant in Lisbon on 2027-03-04 at 20:00"
SEARCH: Final = "dining_search_tables"
BOOK: Final = "dining_reserve_table"


def _context(*seen: Observation, **more: Any) -> StepContext:
    return StepContext(
        mission_id="m",
        leg_id="l",
        step=len(seen) + 1,
        mission_goal=GOAL,
        leg_goal=GOAL,
        agent=AgentProfile(name="dining"),
        observations=seen,
        now=datetime(2027, 2, 1, 9, 0, tzinfo=UTC),
        catalog_digest="digest",
        **more,
    )


def _request(text: str, *tools: str, later: tuple[ConversationTurn, ...] = ()) -> ReceivedRequest:
    shown = {name: ShownTool(name, "", {}) for name in tools}
    turns = (ConversationTurn("user", text), *later)
    return ReceivedRequest("responses", "gpt-5", "", turns, shown, {})


def _prompt(context: StepContext) -> str:
    return briefing(context, most_tokens=30_000)


def test_a_briefing_is_read_back(shipped: Catalog) -> None:
    """A prompt holds goals, budget, inputs, facts, and each step with its answer or error."""
    context = _context(
        Observation(step=1, tool=SEARCH, arguments={"city": "L"}, outcome="succeeded", body=[1]),
        Observation(step=2, tool=BOOK, outcome="rejected", error="sold out", side_effect=True),
        inputs={"guests": 4},
        facts=(Fact(source="1-a.2", tool="hotel_book_room", side_effect=True, body={"id": "H"}),),
        budget_left=Money(amount=Decimal("1250.50"), currency="EUR"),
    )
    read = context_of(_request(_prompt(context)), shipped)

    assert read is not None
    assert (read.mission_goal, read.leg_goal, read.now) == (GOAL, GOAL, context.now)
    assert (read.inputs, read.budget_left) == (context.inputs, context.budget_left)
    assert read.facts == context.facts
    assert read.observations[0] == context.observations[0]
    assert (read.observations[1].outcome, read.observations[1].side_effect) == ("rejected", True)
    assert read.observations[1].error == "sold out"


def test_later_turns_are_read_too(shipped: Catalog) -> None:
    """Answers of tools are steps; later inputs and budgets replace earlier ones."""
    left = {"budget_left": Money(amount=Decimal(90), currency="EUR")}
    later = (
        ConversationTurn("assistant"),
        ConversationTurn(
            "tool", f'1. {SEARCH} {{}}: succeeded\n<tool_output tool="s">[]</tool_output>'
        ),
        ConversationTurn("user", '# Given\n{"time":"20:30"}\n\nLeft of the budget: 70.00 EUR'),
    )
    first = _prompt(_context(inputs={"guests": 4}, **left))
    read = context_of(_request(first, later=later), shipped)

    assert read is not None
    assert [seen.tool for seen in read.observations] == [SEARCH]
    assert read.inputs == {"guests": 4, "time": "20:30"}
    assert read.budget_left == Money(amount=Decimal(70), currency="EUR")


async def test_it_decides_like_the_rules(shipped: Catalog) -> None:
    """Equal requests get equal answers; a tool that is not shown is searched for."""
    model = RuleModel(shipped)
    text = _prompt(_context())
    searching = await model(_request(text, SEARCH, BOOK))

    assert searching.calls[0].name == SEARCH
    assert searching == await model(_request(text, SEARCH, BOOK))
    assert await model(_request(text)) == call("tools_discover", query="dining search tables")


@pytest.mark.parametrize("text", ["", "Who are you?", "Mission: x"])
async def test_other_prompts_are_answered_by_text(shipped: Catalog, text: str) -> None:
    answer = await RuleModel(shipped)(_request(text))

    assert isinstance(answer, ModelAnswer)
    assert not answer.calls


async def test_a_goal_is_split_like_the_rules_split_it(shipped: Catalog) -> None:
    goal = f"{GOAL} and message my team about it"
    context = "# Context, no part of the goal\nNow: 2027-02-01T09:00+00:00"
    asked = _request(f"# Goal\n{goal}\n\n{context}", "plan_mission")
    by_rules = await RuleModel(shipped)(asked)
    given = await RuleModel(shipped, plans={goal: {"legs": []}})(asked)
    legs: Any = by_rules.calls[0].arguments
    assert [leg["goal"] for leg in legs["legs"]] == [GOAL, "message my team about it"]
    assert [leg["quotes"] for leg in legs["legs"]] == [[GOAL], ["message my team about it"]]
    assert given == call("plan_mission", legs=[])
