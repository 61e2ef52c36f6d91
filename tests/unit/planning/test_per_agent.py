"""Which planner handles a leg: the profile's model, the worker's default, or none."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Usage
from orchestrator.core.errors import GoalUnread, PlanError, UsageError
from orchestrator.planning.models import (
    AgentProfile,
    Finish,
    GoalBrief,
    LegPlan,
    MissionPlan,
    StepContext,
    StepDecision,
)
from orchestrator.planning.per_agent import PerAgentPlanner, with_choice
from orchestrator.planning.planner import PlannedStep
from orchestrator.routing.selection import Selection
from orchestrator.testing import fake_selection
from tests.refusals import raises_code

CATALOG = Catalog({}, {})
SELECTION = fake_selection(catalog_size=0)
BRIEF = GoalBrief(
    mission_id="m", goal="do it", now=datetime(2026, 11, 21, tzinfo=UTC), catalog_digest=""
)
MODELLED = AgentProfile(name="modelled", model="some:model")


class Lost:
    """Splits nothing, and finishes every step with its name."""

    def __init__(self, why: PlanError | None = None) -> None:
        """Take why a goal is not split; nothing fits when None."""
        self._why = why

    async def split_goal(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan:
        raise self._why or GoalUnread(brief.goal, code="NothingFits")

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> StepDecision | PlannedStep:
        return Finish(summary="chaining")


class Modelled(Lost):
    """Finishes every step for the price of one request."""

    summary = "model"

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> StepDecision | PlannedStep:
        return PlannedStep(decision=Finish(summary=self.summary), usage=Usage(requests=1))


def _planner(default_model: str | None = None) -> PerAgentPlanner:
    return PerAgentPlanner(Lost(), Modelled, default_model=default_model)


class Named(Modelled):
    """A planner of the user's own: every step ends with its name."""

    summary = "own"


@pytest.mark.parametrize(
    ("profile", "default", "summary"),
    [
        ({}, None, "chaining"),
        ({"model": "some:model"}, None, "model"),
        ({}, "some:model", "model"),
        ({"planner": "chaining"}, "a:model", "chaining"),
        ({"planner": "llm"}, "a:model", "model"),
        ({"planner": "mine:make"}, "a:model", "own"),
    ],
)
async def test_a_leg_is_planned_by_whom_its_profile_names(
    step_context: StepContext, profile: dict[str, str], default: str | None, summary: str
) -> None:
    """Else by a model where the worker has one, else by chaining, which has no usage."""
    agent = AgentProfile.model_validate({"name": "a", **profile})
    context = step_context.model_copy(update={"agent": agent})
    own = {"mine:make": Named()}
    planner = PerAgentPlanner(Lost(), Modelled, default_model=default, own=own)

    planned = await planner.plan_step(context, SELECTION, CATALOG)

    assert planned.decision == Finish(summary=summary)
    assert (planned.usage is None) is (summary == "chaining")


@pytest.mark.parametrize(
    ("agent", "default", "told"),
    [
        (AgentProfile(name="a"), None, "rules"),
        (AgentProfile(name="a"), "a:model", "a:model"),
        (AgentProfile(name="a", model="some:model"), "a:model", "some:model"),
        (AgentProfile(name="a", planner="chaining"), "a:model", "rules"),
        (AgentProfile(name="a", planner="mine:planner"), None, "mine:planner"),
    ],
)
async def test_a_plan_says_who_decides_each_leg(
    agent: AgentProfile, default: str | None, told: str
) -> None:
    """As the profile, the mission and the worker have it together."""

    class OneLeg(Lost):
        async def split_goal(
            self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
        ) -> MissionPlan:
            return MissionPlan(legs=(LegPlan(leg_id="1", goal=brief.goal, agent=agent),))

    own = {"mine:planner": Lost()}
    planner = PerAgentPlanner(OneLeg(), Modelled, default_model=default, own=own)
    plan = await planner.split_goal(BRIEF, CATALOG, (agent,))

    assert [leg.planned_by for leg in plan.legs] == [told]


async def test_a_goal_that_cannot_be_split_is_one_leg_of_a_model() -> None:
    """Of the agent for every domain that has one, or of a generalist; a model must be set."""
    unread = PerAgentPlanner(Lost(GoalUnread("KeyError", code="RequestUnread")), Lost)
    by_profile = await _planner().split_goal(BRIEF, CATALOG, [MODELLED])
    by_default = await _planner("some:model").split_goal(BRIEF, CATALOG, [])
    own = BRIEF.model_copy(update={"model": "its:own"})
    [by_mission] = (await _planner().split_goal(own, CATALOG, [])).legs

    assert [(leg.goal, leg.agent.name) for leg in by_profile.legs] == [("do it", "modelled")]
    assert await unread.split_goal(BRIEF, CATALOG, [MODELLED]) == by_profile
    assert [leg.agent.name for leg in by_default.legs] == ["generalist"]
    assert (by_mission.agent.name, by_mission.agent.model) == ("generalist", "its:own")
    with raises_code("NothingFits"):
        await _planner().split_goal(BRIEF, CATALOG, [AgentProfile(name="plain")])


async def test_what_rules_refuse_is_given_to_no_model() -> None:
    """What no agent may touch; and a mission by rules asks not even the worker's own model."""
    walled = PerAgentPlanner(Lost(PlanError("pay it", code="NothingAllowed")), Lost)

    with raises_code("NothingAllowed"):
        await walled.split_goal(BRIEF, CATALOG, [PLAIN_WALL])
    with pytest.raises(GoalUnread):
        by_rules = BRIEF.model_copy(update={"planner": "chaining"})
        await _planner("some:model").split_goal(by_rules, CATALOG, [])


WALLED = AgentProfile(name="walled", model="some:model", domains=("messages",))
PLAIN_WALL = AgentProfile(name="plain", domains=("flights",))


@pytest.mark.parametrize(
    ("agents", "default", "chosen"),
    [
        ([WALLED, MODELLED], None, "modelled"),
        ([WALLED, AgentProfile(name="free", prefers=("files",))], "some:model", "free"),
        ([WALLED], None, "walled"),
        ([PLAIN_WALL], "some:model", "plain"),
        ([WALLED, PLAIN_WALL], "some:model", None),
        ([WALLED, AgentProfile(name="free")], None, None),
        ([PLAIN_WALL], None, None),
    ],
    ids=["free", "prefers", "only one", "only one, default", "several", "no model", "nobody"],
)
async def test_a_whole_goal_is_for_an_agent_without_a_wall_or_the_only_one(
    agents: list[AgentProfile], default: str | None, chosen: str | None
) -> None:
    """None is made up beside the profiles, for it would be outside all of their walls."""
    split = _planner(default).split_goal(BRIEF, CATALOG, agents)

    if chosen is None:
        with pytest.raises(PlanError):
            await split
    else:
        assert [leg.agent.name for leg in (await split).legs] == [chosen]


async def test_a_planner_that_was_not_loaded_is_not_looked_for(step_context: StepContext) -> None:
    """A leg brings the name from outside: it is no way to have a module imported."""
    agent = AgentProfile(name="a", planner="os:system")

    with pytest.raises(UsageError, match="no planner 'os:system' for the agent a"):
        await _planner().plan_step(
            step_context.model_copy(update={"agent": agent}), SELECTION, CATALOG
        )


@pytest.mark.parametrize(
    ("agent", "choice", "planner", "model"),
    [
        (AgentProfile(name="a"), {"model": "its:own"}, None, "its:own"),
        (AgentProfile(name="a"), {"planner": "chaining"}, "chaining", None),
        (AgentProfile(name="a", planner="llm"), {"model": "its:own"}, "llm", "its:own"),
        (MODELLED, {"model": "its:own"}, None, "some:model"),
        (MODELLED, {"planner": "chaining"}, None, "some:model"),
        (AgentProfile(name="a", planner="mine:make"), {"model": "x:y"}, "mine:make", None),
        (AgentProfile(name="a", planner="chaining"), {"planner": "llm"}, "chaining", None),
    ],
    ids=["model", "rules", "model of llm", "profile", "profile, rules", "own", "profile's rules"],
)
def test_a_mission_chooses_where_the_profile_says_nothing(
    agent: AgentProfile, choice: dict[str, str], planner: str | None, model: str | None
) -> None:
    """Which provider sees what an agent handles is the decision of whoever wrote its profile."""
    brief = GoalBrief.model_validate({**BRIEF.model_dump(), **choice})
    plan = MissionPlan(legs=(LegPlan(leg_id="1", goal="do it", agent=agent),))

    [leg] = with_choice(plan, brief).legs

    assert (leg.agent.planner, leg.agent.model) == (planner, model)


async def test_a_model_that_cannot_be_asked_is_told_before_anything_is_begun() -> None:
    """Not by the leg that would need it, when others have booked."""

    def check(name: str | None) -> None:
        raise UsageError(f"{name} cannot be asked")

    planner = PerAgentPlanner(Lost(), Modelled, check_model=check)

    with pytest.raises(UsageError, match="foo:bar cannot be asked"):
        await planner.split_goal(BRIEF.model_copy(update={"model": "foo:bar"}), CATALOG, [])
