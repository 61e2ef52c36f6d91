"""Calls of a model as decisions: names, reasons, copied examples, and conditions of an ending."""

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Usage
from orchestrator.core.errors import DecisionInvalid
from orchestrator.core.record import JsonObject
from orchestrator.planning.llm.meta_tools import ENDED, meta_tools
from orchestrator.planning.llm.offered_tools import OfferedTools, offered_names
from orchestrator.planning.llm.prompt import tool_parameters
from orchestrator.planning.models import CallTool, Finish, StepContext
from orchestrator.planning.planner import PlannedStep
from orchestrator.saga.orders import Order
from orchestrator.testing import fake_selection

RESERVE = "dining_reserve_table"
SHOWN = (RESERVE, "dining_search_tables", "dining_list_reservations")
NEEDED: JsonObject = {
    "table_slot_id": "tbl_1",
    "traveler_name": "pii:traveler_name",
    "traveler_phone": "pii:traveler_phone",
}
COPIED: JsonObject = {"special_request": "A quiet corner, please."}


def _planned(
    catalog: Catalog, context: StepContext, name: str, arguments: JsonObject, said: str = ""
) -> PlannedStep:
    tools = offered_names(catalog.tools[one] for one in SHOWN)
    selection = fake_selection(*SHOWN, catalog_size=93, band="moderate")
    offered = OfferedTools(context, selection, catalog, tools, meta_tools(context))
    return offered.planned([(name, arguments)], said, Usage())


def _call(planned: PlannedStep) -> CallTool:
    assert isinstance(planned.decision, CallTool)
    return planned.decision


@pytest.mark.parametrize(
    "name",
    [
        f"{RESERVE} [confirm]",
        "Dining_Reserve_Table",
        "reserve_table",
        f"{RESERVE}<|channel|>commentary",
        f"to=functions.{RESERVE}:0",
        f"<|start|>assistant.{RESERVE}",
        f"mcp__diner__{RESERVE}",
        f"{RESERVE} json",
    ],
)
def test_a_name_is_forgiven_where_one_shown_tool_can_be_meant(
    shipped: Catalog, step_context: StepContext, name: str
) -> None:
    """A model's own marks of channels and namespaces are no part of a tool's name."""
    assert _call(_planned(shipped, step_context, name, NEEDED)).tool == RESERVE


@pytest.mark.parametrize(
    "name", ["dining", "Please reserve a table for me there", "hotel_book", f"cancel.{RESERVE}"]
)
def test_another_name_is_refused_with_the_list(
    shipped: Catalog, step_context: StepContext, name: str
) -> None:
    """Of several tools, of none, a sentence; and to cancel a thing is not to make it."""
    with pytest.raises(DecisionInvalid) as refused:
        _planned(shipped, step_context, name, NEEDED)

    assert "cancel" in name or all(tool in str(refused.value) for tool in SHOWN)


def test_a_consequence_takes_a_reason_which_is_not_sent(
    shipped: Catalog, step_context: StepContext
) -> None:
    """A tool that reads takes none; what stands next to the calls is the reason otherwise."""
    given = _planned(shipped, step_context, RESERVE, {**NEEDED, "reason": "The first one fits."})
    said = _planned(shipped, step_context, RESERVE, NEEDED, "It is  free.")

    assert (_call(given).reason, _call(given).arguments) == ("The first one fits.", NEEDED)
    assert _call(said).reason == "It is free."
    assert "'reason'" in str(tool_parameters(shipped.tools[RESERVE]))
    assert "'reason'" not in str(tool_parameters(shipped.tools[SHOWN[1]]))


def test_an_example_that_nobody_asked_for_is_left_out_with_a_note(
    shipped: Catalog, step_context: StepContext
) -> None:
    """Of an optional input of a consequence; a search keeps its own; null stands for nothing."""
    unsaid = _planned(shipped, step_context, RESERVE, {**NEEDED, "special_request": None})
    assert _call(unsaid).arguments == NEEDED
    planned = _planned(shipped, step_context, RESERVE, {**NEEDED, **COPIED})

    assert _call(planned).arguments == NEEDED
    assert [(note.tool, note.arguments) for note in planned.dropped] == [(RESERVE, COPIED)]
    assert all(note.is_left_out for note in planned.dropped)
    search: JsonObject = {"city": "Lisbon", "date": "2026-12-05", "cuisine": "italian"}
    assert _call(_planned(shipped, step_context, SHOWN[1], search)).arguments == search


@pytest.mark.parametrize(
    "said",
    [
        {"mission_goal": "Reserve a table. A quiet corner, please."},
        {"inputs": {"wish": "A quiet corner, please."}},
    ],
)
def test_an_example_that_somebody_stated_is_kept(
    shipped: Catalog, step_context: StepContext, said: JsonObject
) -> None:
    """By the goal, an input, a fact or an answer; other values are kept in any case."""
    context = step_context.model_copy(update=said)
    wish: JsonObject = {**NEEDED, "special_request": "By the window."}

    assert _call(_planned(shipped, context, RESERVE, {**NEEDED, **COPIED})).arguments == {
        **NEEDED,
        **COPIED,
    }
    assert _call(_planned(shipped, step_context, RESERVE, wish)).arguments == wish


def test_an_ending_says_of_conditional_orders_what_was_read(
    shipped: Catalog, step_context: StepContext
) -> None:
    """It is asked for where there is one, in the words of the order."""
    order = Order(tools=(RESERVE,), when="unless it rains")
    context = step_context.model_copy(update={"orders": (order,)})
    read: JsonObject = {"when": "it rains", "holds": False, "read": "rain 80 %"}
    ending: JsonObject = {"summary": "Not reserved.", "conditions": [read]}
    shown = {meta.name: meta.parameters["properties"] for meta in meta_tools(context)}
    plain = {meta.name: meta.parameters["properties"] for meta in meta_tools(step_context)}

    planned = _planned(shipped, context, ENDED, ending)

    assert isinstance(planned.decision, Finish)
    assert [(c.when, c.holds, c.read) for c in planned.decision.conditions] == [
        ("unless it rains", False, "rain 80 %")
    ]
    assert "conditions" in str(shown[ENDED])
    assert "conditions" not in str(plain[ENDED])
