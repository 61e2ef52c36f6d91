"""Missions of exactly one call, planned without a model and without reading the goal."""

import re
from collections.abc import Sequence

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.plan_origin import PlanOrigin
from orchestrator.json_schema.references import with_definitions
from orchestrator.language.intent import IntentFrame
from orchestrator.planning.models import (
    RULES,
    AgentProfile,
    AskUser,
    CallTool,
    Finish,
    GiveUp,
    GoalBrief,
    LegPlan,
    MissionPlan,
    OneCall,
    StepContext,
    StepDecision,
)
from orchestrator.planning.rules.endings import table_of
from orchestrator.planning.rules.items import read_items
from orchestrator.planning.walls import is_inside, none_may
from orchestrator.routing.selection import Selection
from orchestrator.saga.orders import Order


def plan_of_call(
    call: OneCall, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
) -> MissionPlan:
    """Return a plan of one leg, for the first agent that may make the call.

    Raises:
        ToolNotFound: the catalog has no such tool.
        PlanError: no agent may use it.
    """
    tool = catalog.tool(call.tool)
    able = [agent for agent in agents if is_inside(tool, (agent.wall,))]
    if agents and not able:
        raise none_may(brief.goal, tool)
    agent = able[0] if able else AgentProfile(name="generalist")
    ordered = (Order(tools=(tool.name,), clause=brief.goal),) if tool.is_side_effect else ()
    leg = LegPlan(
        leg_id=f"1-{re.sub(r'[^a-z0-9]+', '-', tool.name.lower()).strip('-')}"[:64],
        goal=brief.goal,
        agent=agent,
        orders=ordered,
        call=call,
        planned_by=RULES,
    )
    return MissionPlan(legs=(leg,), made_by=PlanOrigin(planner=RULES))


def selection_of_call(call: OneCall, catalog: Catalog) -> Selection:
    """Return the selection of a leg that makes one call: only that tool."""
    return Selection(
        tools=(call.tool,),
        k=1,
        band="crisp",
        reason="the mission is this one call",
        frame=IntentFrame(),
        catalog_size=len(catalog.tools),
    )


def step_of_call(call: OneCall, context: StepContext, catalog: Catalog) -> StepDecision:
    """Return the next step: ask for required inputs, make the call, and end with its outcome."""
    tool = catalog.tool(call.tool)
    made = [seen for seen in context.observations if seen.tool == call.tool]
    if made and made[-1].outcome == "succeeded":
        things = read_items(made[-1].body, tool=tool)
        listed = [one for one in things if one.label] or things
        return Finish(summary=f"{tool.title}: done.", table=table_of(listed))
    if made:
        return GiveUp(reason=f"{tool.name}: {made[-1].error or made[-1].outcome}")
    filled = {*call.arguments, *tool.reference_inputs, *tool.pii_fields}  # or filled later
    missing = [name for name in tool.required_inputs if name not in filled]
    asked = {name: value for name, value in context.inputs.items() if name in missing}
    if unknown := [name for name in missing if name not in asked]:
        return AskUser(
            question=f"{tool.title}: {', '.join(unknown)}?",
            why=f"{tool.name} cannot be called without it",
            fields={
                name: with_definitions(tool.properties.get(name, {}), tool.input_schema)
                for name in unknown
            },
        )
    return CallTool(tool=call.tool, arguments={**call.arguments, **asked})
