"""Planners that say what a test has written down."""

import asyncio
from collections.abc import Sequence
from typing import Any

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Usage
from orchestrator.messages.mission_policy import BeginInput
from orchestrator.planning.models import (
    AgentProfile,
    CallTool,
    Finish,
    GoalBrief,
    LegPlan,
    StepContext,
    StepDecision,
)
from orchestrator.planning.models import MissionPlan as Plan
from orchestrator.planning.planner import PlannedStep
from orchestrator.routing.selection import Selection
from tests.unit.activities.made_calls import NOW


def step_context(goal: str = "look around", **stated: Any) -> StepContext:
    """Return the context of the first step of a leg with this goal."""
    fields = {
        "mission_id": "m",
        "leg_id": "1-a",
        "step": 1,
        "mission_goal": goal,
        "leg_goal": goal,
        "agent": AgentProfile(name="any"),
        "now": NOW,
        "catalog_digest": "d",
    }
    return StepContext.model_validate({**fields, **stated})


def mission_of(catalog: Catalog, goal: str = "x", **stated: Any) -> BeginInput:
    """Return a mission with this goal, which is to be split."""
    fields = {"mission_id": "m", "goal": goal, "now": NOW, "catalog_digest": catalog.digest}
    return BeginInput.model_validate({**fields, **stated})


class Scripted:
    """Plans what it is given; without a plan, the whole goal is one leg."""

    def __init__(self, *legs: LegPlan, call: CallTool | None = None, plan: Plan | None = None):
        self.plan = plan or (Plan(legs=legs) if legs else None)
        self.call = call
        self.shown: list[tuple[str, ...]] = []

    async def split_goal(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> Plan:
        agent = agents[0] if agents else AgentProfile(name="any")
        whole = LegPlan(leg_id="1-whole", goal=brief.goal, agent=agent)
        return self.plan or Plan(legs=(whole,))

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> StepDecision | PlannedStep:
        self.shown.append((*selection.tools, *context.discovered))
        return self.call or Finish(summary="done")


class Metered(Scripted):
    """Finishes at once, for the price of one request."""

    usage = Usage(requests=1, input_tokens=100, output_tokens=7)

    async def plan_step(self, *_: Any) -> PlannedStep:
        return PlannedStep(decision=Finish(summary="done"), usage=self.usage)


class Careless(Scripted):
    """Answers whatever it is given, as a coroutine or at once."""

    def __init__(self, answer: Any, *, at_once: bool = False) -> None:
        super().__init__()
        self.answer = answer
        self.at_once = at_once

    def split_goal(self, *_: Any) -> Any:
        return self.answer if self.at_once else asyncio.sleep(0, self.answer)

    def plan_step(self, *_: Any) -> Any:
        return self.split_goal()
