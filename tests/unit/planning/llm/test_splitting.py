"""Splitting by a model: orders and quotes, what is forgiven, corrected and left out."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import JsonValue
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage
from rs_bpe.bpe import openai

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import ModelRefused, PlanInvalid
from orchestrator.core.record import JsonObject
from orchestrator.planning.llm.splitting import ModelSplitter, split_parameters, split_request
from orchestrator.planning.models import AgentProfile, GoalBrief, MissionPlan
from orchestrator.planning.per_agent import PerAgentPlanner

NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)
TABLE = "Reserve a table for 4 in Lisbon on 6 December 2026 at 20:00"
TELL = "tell Ana in #travel"
GOAL = f"{TABLE} and {TELL}"


def order(tool: str, **more: JsonValue) -> JsonObject:
    """One order as a model writes it."""
    return {"tool": tool, **more}


def leg(
    *serves: str, orders: Sequence[JsonObject] = (), needs: Sequence[str] = (), **more: JsonValue
) -> JsonObject:
    """One leg as a model writes it."""
    return {"quotes": [*serves], "orders": [*orders], "needs": [*needs], **more}


TABLE_TOOL = "dining_reserve_table"
SUBSCRIBING = ("subscribe", "unsubscribe")
WALLED = (
    AgentProfile(name="diner", domains=("dining",)),
    AgentProfile(name="writer", domains=("messages",)),
)
RESERVE = leg(TABLE, id="1-table", orders=[order("dining_reserve_table")])
SEND = leg(TELL, id="2-ana", orders=[order("message_send")], needs=["1-table"])


def _said(request: ModelRequest) -> str:
    return "\n".join(str(p.content) for p in request.parts if isinstance(p, UserPromptPart))


class Scripted:
    """Answers what it was scripted to, the last one again and again; keeps what it was asked."""

    def __init__(self, *answers: JsonObject | str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        last = messages[-1]
        assert isinstance(last, ModelRequest)
        self.asked.append(" ".join(str(getattr(part, "content", "")) for part in last.parts))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        part = TextPart(answer) if isinstance(answer, str) else ToolCallPart("plan_mission", answer)
        return ModelResponse(parts=[part], usage=RequestUsage(input_tokens=900, output_tokens=90))


class NoRules:
    """Rules that split nothing for a model."""

    async def split_goal(self, *_: object) -> MissionPlan:
        raise AssertionError("rules split a goal for a model")

    async def plan_step(self, *_: object) -> Any:
        raise AssertionError("no step is planned here")


class Split:
    """Splits goals over the documents that ship."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    async def __call__(
        self,
        model: Scripted,
        goal: str = GOAL,
        agents: Sequence[AgentProfile] = (),
        *,
        away: str = "",
        is_split: bool = True,
        **more: Any,
    ) -> MissionPlan:
        def models(name: str) -> FunctionModel:
            if name == away:
                raise UserError("its provider is not installed here")
            return FunctionModel(model)

        rules: Any = NoRules()
        planner = PerAgentPlanner(
            rules,
            lambda: pytest.fail("no step is planned here"),
            default_model="a:model",
            splitter=(lambda: ModelSplitter(models)) if is_split else None,
        )
        return await planner.split_goal(self.brief(goal, **more), self.catalog, agents)

    def brief(self, goal: str, **more: Any) -> GoalBrief:
        return GoalBrief(
            mission_id="m", goal=goal, now=NOW, catalog_digest=self.catalog.digest, **more
        )


@pytest.fixture
def split(shipped: Catalog) -> Split:
    """Splits over the documents that ship."""
    return Split(shipped)


async def test_a_plan_states_its_orders_and_quotes_what_each_leg_serves(split: Split) -> None:
    """Nothing else is read of the goal; the clause of an order is the quote."""
    model = Scripted({"legs": [RESERVE, SEND]})

    plan = await split(model)

    assert [one.leg_id for one in plan.legs] == ["1-table", "2-ana"]
    assert [one.serves for one in plan.legs] == [(TABLE,), (TELL,)]
    assert [o.tools for one in plan.legs for o in one.orders] == [
        ("dining_reserve_table",),
        ("message_send",),
    ]
    assert plan.legs[0].orders[0].clause == TABLE
    assert plan.legs[1].depends_on == ("1-table",)
    assert plan.uncovered == ()
    assert plan.doubts == ()
    assert (plan.made_by.planner, plan.made_by.usage.requests) == ("model", 1)


@pytest.mark.parametrize(
    "said", ["`dining_reserve_table`", "reserveTable", "dining_reserve_table(city, date)", "title"]
)
async def test_a_name_is_forgiven_where_one_tool_can_be_meant(
    shipped: Catalog, split: Split, said: str
) -> None:
    """Marks, a missing prefix, the title; a tool that only reads is no order."""
    named = shipped.tools["dining_reserve_table"].title if said == "title" else said
    orders = [order("dining_search_tables"), order(named)]
    plan = await split(Scripted({"legs": [leg(TABLE, orders=orders)]}), TABLE)

    assert [o.tools for o in plan.legs[0].orders] == [("dining_reserve_table",)]
    assert plan.made_by.corrected == ()


@pytest.mark.parametrize("said", [f"{TABLE} and tell everybody", "cancel", "teleport_everybody"])
async def test_another_name_is_refused_with_the_list(split: Split, said: str) -> None:
    """A sentence, a word that several tools have, a tool that there is not."""
    model = Scripted({"legs": [leg(TABLE, orders=[order(said)])]}, {"legs": [RESERVE]})

    plan = await split(model, TABLE)

    assert "dining_cancel_reservation" in model.asked[1]
    assert len(plan.made_by.corrected) == 1


async def test_two_legs_for_the_same_words_and_tool_are_one(split: Split) -> None:
    """One table is booked; whoever waits for the second one waits for the first."""
    again = leg("Reserve a table for 4 in Lisbon", id="2-again", orders=RESERVE["orders"])  # type: ignore[arg-type]
    after: JsonObject = {**SEND, "id": "3-ana", "needs": ["2-again"]}

    plan = await split(Scripted({"legs": [RESERVE, again, after]}))

    assert [one.leg_id for one in plan.legs] == ["1-table", "3-ana"]
    assert plan.legs[0].orders[0].count == 1
    assert plan.legs[1].depends_on == ("1-table",)


async def test_lines_of_context_are_no_part_of_the_goal(split: Split) -> None:
    """A leg for the time of day or for the inputs is none."""
    now = leg("Now: 2026-11-23T09:00+00:00", id="2-now", orders=[order("message_send")])
    given = leg("seats", id="3-given")

    plan = await split(Scripted({"legs": [RESERVE, now, given]}), TABLE, inputs={"seats": 3})

    assert [one.leg_id for one in plan.legs] == ["1-table"]
    assert plan.made_by.corrected == ()


async def test_text_that_no_leg_quotes_is_corrected_once_and_then_stands_on_the_plan(
    split: Split,
) -> None:
    """Joining words are nobody's; what is set aside is quoted."""
    stubborn = Scripted({"legs": [RESERVE]})
    heedful = Scripted({"legs": [RESERVE]}, {"legs": [RESERVE, SEND]})

    left, whole = await split(stubborn), await split(heedful)

    assert left.uncovered == (TELL,)
    assert (len(stubborn.asked), TELL in stubborn.asked[1]) == (2, True)
    assert (left.made_by.planner, [one.leg_id for one in left.legs]) == ("model", ["1-table"])
    assert whole.uncovered == ()
    assert [one.leg_id for one in whole.legs] == ["1-table", "2-ana"]


@pytest.mark.parametrize(
    ("goal", "quotes", "uncovered"),
    [
        ("Do not book a table", ("book a table",), ("Do not",)),
        ("Reserviere einen Tisch und sag Ana Bescheid", ("Reserviere einen Tisch",), None),
        (
            "リスボンで4人のテーブルを予約して、アナに伝えて",
            ("リスボンで4人のテーブルを予約して",),
            None,
        ),
        ("リスボンでテーブルを予約して", ("リスボンで", "テーブルを予約して"), ()),
        ("Book a table, and then, please, tell Ana", ("Book a table", "tell Ana"), ()),
    ],
)
async def test_coverage_is_of_words_in_any_language(
    split: Split, goal: str, quotes: Sequence[str], uncovered: tuple[str, ...] | None
) -> None:
    """A denial that nobody quotes is seen, a particle is not."""
    plan = await split(Scripted({"legs": [leg(*quotes, orders=RESERVE["orders"])]}), goal)  # type: ignore[arg-type]

    if uncovered is None:
        assert plan.uncovered
    else:
        assert plan.uncovered == uncovered


async def test_conditions_and_lists_stand_on_the_orders(split: Split) -> None:
    """In the words of the goal, which count as quoted."""
    goal = "Pay all my overdue invoices, and tell Ana in #travel if it rains in Lisbon"
    legs: list[JsonValue] = [
        leg("Pay", id="pay", orders=[order("payment_pay_invoice", each="all my overdue invoices")]),
        leg(TELL, id="ana", orders=[order("message_send", when="if it rains in Lisbon")]),
    ]

    plan = await split(Scripted({"legs": legs}), goal)

    assert [(o.each, o.when) for one in plan.legs for o in one.orders] == [
        ("all my overdue invoices", ""),
        ("", "if it rains in Lisbon"),
    ]
    assert plan.uncovered == ()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("I think two legs would do.", "call plan_mission, once"),
        ({"legs": []}, "legs: "),
        ({}, "legs: Field required"),
        ({"legs": [leg("inform the board")]}, "no leg quotes the goal"),
        ({"legs": [{**RESERVE, "agent": "press"}, SEND]}, "there are: diner, writer"),
        ({"legs": [RESERVE, {**SEND, "agent": "diner"}]}, "which may not use message_send"),
        ({"legs": [RESERVE, {**SEND, "needs": ["9"]}]}, "depends on 9, which is no leg"),
        ({"legs": [RESERVE, {**SEND, "id": "1-table", "agent": "writer"}]}, "are called 1-table"),
        ({"legs": [{**RESERVE, "orders": [order(TABLE_TOOL, count=31)]}, SEND]}, "at most 20"),
    ],
)
async def test_what_is_wrong_is_answered_to_the_model(
    split: Split, wrong: JsonObject | str, told: str
) -> None:
    """It answers again; the plan says how often it was corrected, and why."""
    right = [{**RESERVE, "agent": "diner"}, {**SEND, "agent": "Writer"}]
    if isinstance(wrong, dict):
        given = {"1-table": "diner", "2-ana": "writer"}
        legs = wrong.get("legs", [])
        assert isinstance(legs, list)
        for one in legs:
            assert isinstance(one, dict)
            one.setdefault("agent", given.get(str(one.get("id")), "diner"))
    model = Scripted(wrong, {"legs": [*right]})

    plan = await split(model, agents=WALLED)

    assert told in model.asked[1]
    assert [one.agent.name for one in plan.legs] == ["diner", "writer"]
    assert told in "; ".join(plan.made_by.corrected[0])


@pytest.mark.parametrize("is_split", [True, False], ids=["two failed corrections", "split by none"])
async def test_a_split_that_fails_is_no_split(split: Split, is_split: bool) -> None:
    """One leg without orders for one agent: rules never split for a model."""
    model = Scripted("I would rather not.")

    plan = await split(model, is_split=is_split)

    assert [(one.goal, one.orders, one.agent.name) for one in plan.legs] == [
        (GOAL, (), "generalist")
    ]
    assert len(model.asked) == (3 if is_split else 0)
    assert plan.made_by.planner == "one leg"
    assert bool(plan.made_by.fallback) is is_split


async def test_a_withheld_split_is_called_so(split: Split) -> None:
    """A refusal or a content filter is not corrected, and the next model is asked."""

    def withholds(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[], finish_reason="content_filter")

    splitter = ModelSplitter(lambda _: FunctionModel(withholds))
    with pytest.raises(ModelRefused, match="content filter held the answer back"):
        await splitter.split(split.brief(GOAL), split.catalog, [], "a:model")


async def test_no_agent_gets_a_whole_goal_that_its_wall_does_not_admit(split: Split) -> None:
    """Where several have walls, a split that fails says so before anything is done."""
    with pytest.raises(PlanInvalid):
        await split(Scripted("I would rather not."), agents=WALLED)


async def test_goals_for_agents_of_ones_own_are_split_by_the_model(split: Split) -> None:
    """A leg for rules says the goal's own words."""
    agents = [
        AgentProfile(name="mine", planner="mine:planner", domains=("dining",)),
        AgentProfile(name="plain", planner="chaining", domains=("messages",)),
    ]
    legs = [{**RESERVE, "agent": "mine"}, {**SEND, "agent": "plain", "goal": "Write to Ana."}]
    rules: Any = NoRules()
    own: Any = {"mine:planner": rules}
    planner = PerAgentPlanner(
        rules,
        lambda: pytest.fail("no step is planned here"),
        default_model="a:model",
        own=own,
        splitter=lambda: ModelSplitter(lambda _: FunctionModel(Scripted({"legs": [*legs]}))),
    )

    plan = await planner.split_goal(split.brief(GOAL), split.catalog, agents)

    assert [one.planned_by for one in plan.legs] == ["mine:planner", "rules"]
    assert [one.goal for one in plan.legs] == [TABLE, TELL]


async def test_the_next_model_splits_where_the_first_one_is_away(split: Split) -> None:
    """Those that a profile names; the plan says which one made it."""
    agent = AgentProfile(name="anyone", fallback=("b:model",))
    plan = await split(Scripted({"legs": [RESERVE]}), TABLE, [agent], away="a:model")

    assert plan.made_by.model == "b:model"


async def test_a_split_shows_no_personal_value_and_no_tool_that_it_cannot_call(
    split: Split,
) -> None:
    """Nor one for orders where nothing may change; goal and inputs come last, for caches."""
    brief = split.brief(GOAL, inputs={"traveler_id": "pii:traveler_id"})
    request = split_request(brief, split.catalog, ())
    text = str(_said(request))

    assert text.index("# Goal") < text.index("pii:traveler_id")
    assert "tools_discover" not in text + str(request.instructions)
    assert GOAL not in str(request.instructions)
    reading = split_request(split.brief(GOAL, read_only=True), split.catalog, ())
    assert "dining_reserve_table" not in str(reading.instructions)


def test_a_split_takes_at_most_a_thousand_tokens(split: Split) -> None:
    """Over the documents that ship, its tool included."""
    request = split_request(split.brief(GOAL), split.catalog, ())
    [tool] = split_parameters(split.catalog, ()).function_tools
    texts = [request.instructions, _said(request), tool.parameters_json_schema]

    assert sum(openai.o200k_base().count(str(text)) for text in texts) <= 1_000


@pytest.mark.parametrize(
    "filled", [{"when": "now"}, {"when": "2026-12-06T20:00+00:00"}, {"each": "4"}]
)
async def test_optional_fields_that_a_small_model_fills_say_nothing(
    split: Split, filled: JsonObject
) -> None:
    """A line of the context or a mere value is no condition and no list; no leg needs itself."""
    table = leg(TABLE, orders=[order("dining_reserve_table", **filled)], needs=["1"])

    plan = await split(Scripted({"legs": [table]}), TABLE)

    ((one,), waits) = plan.legs[0].orders, plan.legs[0].depends_on
    assert (one.when, one.each, waits) == ("", "", ())


async def test_two_consequences_for_the_same_words_are_corrected(split: Split) -> None:
    """Neither is carried out as ordered where the model insists: the goal is one leg then."""
    asked = "weather in Lisbon"
    both: list[JsonValue] = [
        leg(asked, orders=[order(f"weather_{one}_alerts")]) for one in SUBSCRIBING
    ]
    model = Scripted({"legs": both})

    plan = await split(model, asked)

    assert len(model.asked) == 3
    assert "weather_unsubscribe_alerts" in model.asked[1]
    assert plan.made_by.planner == "one leg"
    assert not plan.has_orders
