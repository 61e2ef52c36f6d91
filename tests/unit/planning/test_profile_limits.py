"""Limits of profiles: read from a file, and held to whatever plan a planner makes."""

from datetime import timedelta

from orchestrator.core.limits import Limits
from orchestrator.planning.models import AgentProfile, LegPlan, MissionPlan
from orchestrator.planning.profile_faults import read_profiles
from orchestrator.planning.walls import within_profiles

SCOUT = AgentProfile(name="scout", limits=Limits(requests=10, steps=20))


def test_a_plan_allows_no_agent_more_than_its_profile() -> None:
    """Under a profile's name; an agent of another name is the planner's own."""
    wide = SCOUT.model_copy(update={"limits": Limits(requests=50, input_tokens=9, steps=90)})
    legs = (
        LegPlan(leg_id="a", goal="a", agent=wide),
        LegPlan(leg_id="b", goal="b", agent=SCOUT),
        LegPlan(leg_id="c", goal="c", agent=AgentProfile(name="other", limits=Limits(steps=90))),
    )

    held = within_profiles(MissionPlan(legs=legs), [SCOUT])

    assert held.legs[0].agent.leg_limits == Limits(
        requests=10, input_tokens=9, steps=20, tool_calls=32
    )
    assert held.legs[0].agent.limits.steps == 20
    assert held.legs[1:] == legs[1:]


def test_limits_of_a_profile_are_read_from_a_file() -> None:
    """Time as ISO 8601 writes it; a wrong limit is named, with what there is in its place."""
    limits = {"requests": 40, "cost_usd": "1.50", "wall_clock": "PT1H", "steps": 500}

    (profile,), faults = read_profiles([{"name": "scout", "limits": limits}])
    _, (unknown,) = read_profiles([{"name": "scout", "limits": {"request": 40}}])
    _, (wrong,) = read_profiles([{"name": "scout", "limits": {"requests": 0}}])

    assert faults == ()
    assert profile.limits.wall_clock == timedelta(hours=1)
    assert (profile.leg_limits.steps, profile.leg_limits.tool_calls) == (500, 32)
    assert (unknown.agent, unknown.key) == ("scout", "limits.request")
    assert "did you mean requests?" in str(unknown)
    assert wrong.key == "limits.requests"
