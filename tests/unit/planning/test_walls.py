"""Walls in force: what travels with an agent, and the worker's own profile of that name."""

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import OutsideWall, PlanInvalid
from orchestrator.core.wall import Wall
from orchestrator.planning.models import AgentProfile, CallTool, LegPlan, MissionPlan, StepContext
from orchestrator.planning.planner import check_decision
from orchestrator.planning.walls import Walls, listed
from orchestrator.testing import fake_selection

OFFICE = AgentProfile(name="office", domains=("messages", "calendar"))
FORGED = Wall(agent="office")
"""What a leg brings that claims to be of the office, with a profile of its own making."""


@pytest.mark.parametrize(
    ("travelling", "tool", "is_allowed"),
    [
        (OFFICE.wall, "message_send", True),
        (OFFICE.wall, "flight_cancel_booking", False),
        (FORGED, "message_send", True),
        (FORGED, "flight_cancel_booking", False),
        (Wall(agent="office", domains=("messages", "flights")), "flight_cancel_booking", False),
        (Wall(agent="office", domains=("flights",)), "message_send", False),
        (Wall(agent="other"), "flight_cancel_booking", True),
        (None, "flight_cancel_booking", True),
    ],
    ids=["own", "own, outside", "forged", "forged, outside", "wider", "other", "unknown", "none"],
)
def test_an_agent_is_held_to_what_it_brings_and_to_the_workers_profile(
    shipped: Catalog, travelling: Wall | None, tool: str, is_allowed: bool
) -> None:
    """A name that the worker does not know is held to what travels.

    A call that was made before calls named their agent is held to nothing.
    """
    # Of two profiles with one name both hold: they are not checked for that when given so.
    for walls in (Walls([OFFICE]), Walls([OFFICE, AgentProfile(name="office")])):
        if is_allowed:
            walls.check(travelling, shipped.tool(tool))
        else:
            with pytest.raises(OutsideWall, match=f"{tool} is not for the agent office"):
                walls.check(travelling, shipped.tool(tool))


@pytest.mark.parametrize(
    ("agent", "too_much"),
    [
        (OFFICE, None),
        (AgentProfile(name="office", domains=("messages",)), None),
        (AgentProfile(name="office", tools=("message_*", "calendar_get_event")), None),
        (AgentProfile(name="guest"), None),
        (AgentProfile(name="office"), "car_book_offer"),
        (AgentProfile(name="office", domains=("messages", "weather")), "weather_get_air_quality"),
        (AgentProfile(name="office", tools=("*_cancel_*",)), "car_cancel_booking"),
    ],
)
def test_a_plan_may_narrow_a_profile_and_never_widen_it(
    shipped: Catalog, agent: AgentProfile, too_much: str | None
) -> None:
    """Compared over the mission's catalog, however it is written; other names are free."""
    plan = MissionPlan(legs=(LegPlan(leg_id="1-it", goal="do it", agent=agent),))

    if too_much is None:
        Walls([OFFICE]).check_plan(plan, shipped)
    else:
        with pytest.raises(PlanInvalid, match=f"1-it lets the agent office use {too_much}"):
            Walls([OFFICE]).check_plan(plan, shipped)


@pytest.mark.parametrize("tool", ["flight_cancel_booking", "flight_search_offers"])
@pytest.mark.parametrize("shown", ["selected", "discovered", "neither"])
def test_a_decision_for_a_tool_outside_is_refused_however_it_was_shown(
    shipped: Catalog, step_context: StepContext, tool: str, shown: str
) -> None:
    """A core tool too; and never with the advice to discover it."""
    found = (tool,) if shown == "discovered" else ()
    context = step_context.model_copy(update={"agent": OFFICE, "discovered": found})
    selection = fake_selection(*((tool,) if shown == "selected" else ()), catalog_size=93)

    with pytest.raises(OutsideWall, match=r"only the domains messages, calendar; .* do without it"):
        check_decision(CallTool(tool=tool), selection, context, shipped)


def test_a_decision_is_held_to_the_workers_profile(
    shipped: Catalog, step_context: StepContext
) -> None:
    """Where the worker's are given, whatever the context claims."""
    forged = step_context.model_copy(update={"agent": AgentProfile(name="office")})
    decision = CallTool(tool="weather_get_current", arguments={"city": "Oslo"})
    selection = fake_selection(decision.tool, catalog_size=93)

    check_decision(decision, selection, forged, shipped)
    with pytest.raises(OutsideWall):
        check_decision(decision, selection, forged, shipped, Walls([OFFICE]))


@pytest.mark.parametrize(
    ("agent", "shown"),
    [
        (AgentProfile(name="a"), {"message_send", "weather_get_current", "file_get_file"}),
        (AgentProfile(name="a", prefers=("messages",)), {"message_send"}),
        (AgentProfile(name="a", domains=("messages",), prefers=("weather",)), set()),
        (
            AgentProfile(name="a", domains=("messages",), tools=("file_*",)),
            {"message_send", "file_get_file"},
        ),
    ],
)
def test_prompts_list_what_is_inside_and_preferred(
    shipped: Catalog, agent: AgentProfile, shown: set[str]
) -> None:
    """A preference leaves the rest to be discovered; a wall leaves nothing."""
    names = ("message_send", "weather_get_current", "file_get_file")

    assert {tool.name for tool in listed(map(shipped.tool, names), agent)} == shown
