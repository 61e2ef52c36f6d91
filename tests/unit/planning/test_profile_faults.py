"""Agent profiles: what is wrong is said with its key and remedy, and limits hold in any plan."""

from datetime import timedelta
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.limits import Limits
from orchestrator.planning.llm.model_providers import model_problem
from orchestrator.planning.models import AgentProfile, LegPlan, MissionPlan
from orchestrator.planning.profile_faults import catalog_faults, read_profiles
from orchestrator.planning.walls import within_profiles

GOOD: list[Any] = [
    {"name": "travel", "domains": ["flights", "hotels"], "prefers": ["hotels"]},
    {"name": "office", "tools": ["message_*", "calendar_get_event"], "model": "test"},
    {"name": "anyone", "instructions": "Be brief.", "prefers": ["weather"]},
]


def test_good_profiles_have_no_fault(shipped: Catalog) -> None:
    """Domains, names, patterns, preferences inside the wall or without one."""
    profiles, faults = read_profiles(GOOD)

    assert [profile.name for profile in profiles] == ["travel", "office", "anyone"]
    assert (faults, catalog_faults(profiles, shipped)) == ((), ())


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ([{"name": "a", "domians": ["x"]}], "agent a: domians: there is no such key; did you mean"),
        ([{"name": "a", "domains": "flights"}], "agent a: domains: "),
        ([{"domains": ["flights"]}], "agent number 1: name: Field required; every profile needs"),
        (["just"], "agent number 1: profile: it is no mapping"),
        ([{"name": "a"}, {"name": "a"}], "agent a: name: 2 profiles are called that"),
        ([{"name": "a"}, {"name": "a", "x": 1}], "agent a: name: 2 profiles are called that"),
        ([{"name": "a", "domains": []}], "agent a: domains: nothing is listed, which would allow"),
        ([{"name": "a", "tools": [], "domains": []}], "agent a: domains and tools: nothing is"),
        ([{"name": "", "tools": ["x"]}], "agent number 1: name: "),
    ],
)
def test_what_is_not_a_profile_is_told(written: list[Any], told: str) -> None:
    """A wall that lists nothing is one: it would let everything through."""
    _, faults = read_profiles(written)

    assert any(str(fault).startswith(told) for fault in faults), faults


@pytest.mark.parametrize(
    ("profile", "told"),
    [
        ({"domains": ["mesages"]}, "domains: no tool is of the domain 'mesages'; did you mean"),
        ({"domains": ["message_send"]}, "domains: no tool is of the domain 'message_send'; that"),
        ({"domains": ["zzzz"]}, "domains: no tool is of the domain 'zzzz'; there are calendar, "),
        ({"prefers": ["mesages"]}, "prefers: no tool is of the domain 'mesages'; did you mean"),
        ({"tools": ["flihgt_book_offer"]}, "tools: no tool is called 'flihgt_book_offer'; did you"),
        ({"tools": ["zzzz_*"]}, "tools: no tool is called 'zzzz_*'; see"),
        ({"tools": ["cars"]}, "tools: no tool is called 'cars'; that is a domain"),
        ({"domains": ["cars"], "prefers": ["weather"]}, "prefers: it may touch no tool of weather"),
    ],
)
def test_what_the_catalog_does_not_hold_is_told(
    shipped: Catalog, profile: dict[str, Any], told: str
) -> None:
    """With what was probably meant."""
    profiles, faults = read_profiles([{"name": "a", **profile}])

    assert faults == ()
    (fault,) = catalog_faults(profiles, shipped)
    assert str(fault).startswith(f"agent a: {told}")


def test_all_faults_are_told_at_once(shipped: Catalog) -> None:
    """Of form, of names and of what is not there, of every profile."""
    written = [{"name": "a", "colour": "red"}, {"name": "b", "domains": ["x1", "x2"]}, 7]

    profiles, faults = read_profiles(written)
    assert [fault.agent for fault in (*faults, *catalog_faults(profiles, shipped))] == [
        "a",
        "number 3",
        "b",
        "b",
    ]


@pytest.mark.parametrize(
    ("name", "problem", "remedy"),
    [
        ("gpt-5", "names no provider", "PROVIDER:MODEL"),
        ("opnai:gpt-5", "no provider of models is called 'opnai'", "did you mean openai?"),
        ("zzzz:gpt-5", "no provider of models is called 'zzzz'", "PROVIDER:MODEL"),
        # Of this one nothing is installed here.
        ("groq:llama-3.3-70b-versatile", "cannot be asked from here", "groq"),
    ],
)
def test_a_model_that_cannot_exist_is_told(name: str, problem: str, remedy: str) -> None:
    """By its provider, without a key; the library's own test model has none."""
    found = model_problem(name)

    assert found is not None
    assert problem in found[0] and remedy in found[1]
    assert model_problem("test") is None


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
