"""The checks that plans and decisions pass before anything is run."""

from collections.abc import Sequence

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import DecisionInvalid, PlanInvalid, ToolNotFound
from orchestrator.core.record import JsonObject
from orchestrator.planning.models import (
    AgentProfile,
    AskUser,
    CallTool,
    DiscoverTools,
    Finish,
    GiveUp,
    LegPlan,
    MissionPlan,
    StepContext,
    StepDecision,
)
from orchestrator.planning.planner import check_decision, check_plan
from orchestrator.testing import fake_selection

_INPUTS: JsonObject = {"book_id": {"type": "string"}, "card_number": {"type": "string"}}
BOOK = Tool(
    name="loan_borrow_book",
    document="library",
    domain="library",
    input_schema={"type": "object", "required": [*_INPUTS], "properties": _INPUTS},
    pii_fields=("card_number",),
)
CATALOG = Catalog({}, {BOOK.name: BOOK})


def leg(leg_id: str, *depends_on: str) -> LegPlan:
    return LegPlan(leg_id=leg_id, goal="do it", agent=AgentProfile(name="a"), depends_on=depends_on)


@pytest.fixture
def context(step_context: StepContext) -> StepContext:
    return step_context.model_copy(update={"inputs": {"known": 1}})


@pytest.mark.parametrize(
    ("legs", "complaint"),
    [
        ((), "no leg"),
        ((leg("a"), leg("a")), "called a"),
        ((leg("a", "b"),), "depends on b"),
        ((leg("a", "a"),), "a -> a"),
        ((leg("a", "c"), leg("b", "a"), leg("c", "b")), "circle"),
    ],
    ids=["empty", "twice", "unknown", "itself", "circle"],
)
def test_plan_that_cannot_run_is_refused(legs: tuple[LegPlan, ...], complaint: str) -> None:
    """The refusal says which leg is at fault."""
    with pytest.raises(PlanInvalid, match=complaint):
        check_plan(MissionPlan(legs=legs))


def check(
    decision: StepDecision, context: StepContext, *, shown: Sequence[str] = (BOOK.name,)
) -> None:
    check_decision(decision, fake_selection(*shown, catalog_size=1), context, CATALOG)


def test_what_can_run_passes(context: StepContext) -> None:
    """A plan whose third leg waits for two; calls of a forwarded and of a discovered tool."""
    personal: JsonObject = {"book_id": "b1", "card_number": "pii:card_number"}
    found = context.model_copy(update={"discovered": (BOOK.name,)})

    check_plan(MissionPlan(legs=(leg("a"), leg("b"), leg("c", "a", "b"))))
    check(CallTool(tool=BOOK.name, arguments=personal), context)
    check(CallTool(tool=BOOK.name, arguments={"book_id": "b1"}), found, shown=())


@pytest.mark.parametrize(
    ("decision", "complaint"),
    [
        (CallTool(tool="other_tool"), "not among the 1 tools shown"),
        (CallTool(tool=BOOK.name, arguments={"colour": "red"}), "no input colour"),
        (CallTool(tool=BOOK.name, arguments={"card_number": "4711"}), "pii:card_number"),
        (DiscoverTools(query=" "), "needs words"),
        (AskUser(question="?", fields={}), "name the values"),
        (AskUser(question=" ", fields={"a": {}}), "needs text"),
        (AskUser(question="?", fields={"known": {}}), "already answered"),
        (Finish(summary=""), "summary"),
        (GiveUp(reason=""), "reason"),
    ],
    ids=lambda value: value.kind if not isinstance(value, str) else "",
)
def test_decision_that_cannot_be_carried_out_is_refused(
    decision: StepDecision, complaint: str, context: StepContext
) -> None:
    """The refusal says what is wrong, never a personal value."""
    with pytest.raises(DecisionInvalid, match=complaint) as refused:
        check(decision, context)

    assert "4711" not in str(refused.value)


def test_call_of_a_tool_the_catalog_lost_is_refused(context: StepContext) -> None:
    """A selection made from another catalog does not make its tools callable."""
    with pytest.raises(ToolNotFound):
        check(CallTool(tool="gone_tool"), context, shown=("gone_tool",))


@pytest.mark.parametrize(
    ("prefers", "is_allowed"), [((), True), (("library",), True), (("x",), False)]
)
def test_core_tools_that_the_agent_prefers_may_be_called_without_being_selected(
    context: StepContext, prefers: tuple[str, ...], is_allowed: bool
) -> None:
    """They are in every prompt of that agent."""
    core = BOOK.model_copy(update={"load_policy": "core", "pii_fields": ()})
    selection = fake_selection(catalog_size=1)
    agent = AgentProfile(name="a", prefers=prefers)
    told = context.model_copy(update={"agent": agent})

    def decide() -> None:
        check_decision(CallTool(tool=BOOK.name), selection, told, Catalog({}, {core.name: core}))

    if is_allowed:
        decide()
    else:
        with pytest.raises(DecisionInvalid, match="discover it first"):
            decide()
