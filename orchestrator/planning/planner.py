"""The planner protocol, and the checks that every plan and decision must pass."""

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Final, Protocol, runtime_checkable

from pydantic import Field

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.budget import Usage
from orchestrator.core.errors import DecisionInvalid, PlanInvalid
from orchestrator.core.pii import handle_for, is_handle
from orchestrator.core.record import Record
from orchestrator.json_schema.patterns import PatternUndecided
from orchestrator.json_schema.validation import SCHEMA_FAULTS, describe_violations
from orchestrator.json_schema.validator import REQUEST_FORMATS, SchemaValidator
from orchestrator.planning.models import (
    MOST_DROPPED,
    AgentProfile,
    AskUser,
    CallTool,
    CallTools,
    DiscoverTools,
    Dropped,
    Finish,
    GiveUp,
    GoalBrief,
    HandOver,
    LegPlan,
    MissionPlan,
    StepContext,
    StepDecision,
    StepGoal,
)
from orchestrator.planning.walls import Walls, is_inside, listed
from orchestrator.routing.selection import Selection
from orchestrator.saga.orders import Order

NO_PROFILES: Final = Walls()


class PlannedStep(Record):
    """A decision, with the usage of models for it and the calls that were dropped."""

    decision: StepDecision
    usage: Usage | None = Field(default=None, description="None if no model was asked")
    dropped: tuple[Dropped, ...] = Field(
        default=(), max_length=MOST_DROPPED, description="further wanted calls that are not made"
    )
    conversation: str = Field(
        default="", description="store key of the exchange that decided it; empty if none"
    )


def as_planned(answer: PlannedStep | StepDecision) -> PlannedStep:
    """Return the answer of a planner as a planned step."""
    if isinstance(answer, PlannedStep):
        return answer
    return PlannedStep.model_construct(decision=answer)


class StepPlanner(Protocol):
    """Decides the steps of the legs that it is given, and splits no goal."""

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> StepDecision | PlannedStep:
        """Return the next step of one leg; called again after each step until the leg ends.

        Args:
            context: the leg's goal, its inputs and facts, and the outcomes of its steps.
            selection: the tools that the router forwarded for this step, best first.
            catalog: the tools by name; those not in the selection have to be discovered first.

        Returns:
            A decision that `check_decision` accepts; in a `PlannedStep`, with its usage.
        """
        ...


class Planner(StepPlanner, Protocol):
    """Splits a goal into legs, and decides the next step of a leg from its situation.

    Both methods run in activities, never in a workflow: they may wait, ask a network, read a clock
    and differ from one call to the next, because their results are recorded and replayed. They must
    return within 120 seconds to split a goal, within 10 minutes to plan a step, and not block the
    event loop meanwhile. One object serves all missions of a worker, several at a time, and the
    next step of a leg may be planned by another worker: every decision must follow from the
    arguments, and any state is only a cache.

    Errors of a step: `DecisionInvalid`, and a decision that `check_decision` refuses, spends the
    step, up to the agent's `max_bad_answers`. `ModelUnavailable` and any other exception that is
    not an `OrchestratorError` are retried a few times; then, and after `ModelRefused` at once, the
    leg waits until its model is available again, and nothing is cancelled. Any other
    `OrchestratorError` ends the mission, which is rolled back. A planner that retries as well only
    multiplies these attempts. To end a leg for a known reason it returns `GiveUp`.
    """

    async def split_goal(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan:
        """Return the legs of a mission; called once, before anything is done.

        Args:
            brief: the goal, and the values given with it.
            catalog: the tools, pinned for the whole mission.
            agents: the worker's profiles; a leg may have one of them, or a new one under a new
                name. Under the name of a profile an agent may be allowed less, never more.

        Returns:
            A plan that `check_plan` accepts.

        Raises:
            GoalUnread: the planner does not read the language of a part of the goal, or no tool
                can do that part; nothing of the goal is begun then.
            PlanError: a part of the goal needs a tool that none of the agents may use.
        """
        ...


@runtime_checkable
class ModelChooser(Protocol):
    """A planner that reads `AgentProfile.model`: people may give a leg another model."""

    def model_problem(self, name: str) -> str:
        """Return why this worker cannot ask a model; empty if it can, as far as known."""
        ...

    def splits_by_rules(self, agents: Sequence[AgentProfile]) -> bool:
        """Return True if no model is asked for a plan unless the mission names one."""
        ...


def check_plan(plan: MissionPlan) -> None:
    """Refuse a plan that cannot be run; a refused plan ends the mission before it began.

    Raises:
        PlanInvalid: it is no plan; there is no leg; two legs have one id, or a leg is called
            `rollback`; a leg depends on one that does not exist; or legs wait for each other in a
            circle.
    """
    if not isinstance(plan, MissionPlan):
        raise PlanInvalid(f"the planner gives a {type(plan).__name__}, which is no MissionPlan")
    if not plan.legs:
        raise PlanInvalid("the plan has no leg; name at least one thing to do")
    ids = [leg.leg_id for leg in plan.legs]
    if twice := sorted({leg_id for leg_id in ids if ids.count(leg_id) > 1}):
        raise PlanInvalid(f"several legs are called {', '.join(twice)}; give each its own id")
    if "rollback" in ids:
        raise PlanInvalid("no leg can be called rollback; its workflow id is the rollback's own")
    for leg in plan.legs:
        if unknown := sorted(set(leg.depends_on) - set(ids)):
            raise PlanInvalid(f"leg {leg.leg_id} depends on {', '.join(unknown)}, which is no leg")
    try:
        TopologicalSorter({leg.leg_id: leg.depends_on for leg in plan.legs}).prepare()
    except CycleError as error:
        circle = " -> ".join(error.args[1])
        raise PlanInvalid(f"the legs wait for each other in a circle: {circle}") from error


def check_orders(plan: MissionPlan, catalog: Catalog, *, read_only: bool = False) -> None:
    """Refuse a plan with orders that no leg could serve; nothing of it was done.

    Raises:
        PlanInvalid: the mission is read-only, and a leg orders something; an order names no tool,
            an unknown or read-only tool, or none that the leg's agent may use; or it has more
            effects than its agent carries out in one leg.
    """
    for leg in plan.legs:
        for order in leg.orders:
            if why := _order_problem(order, leg, catalog, read_only=read_only):
                raise PlanInvalid(f"leg {leg.leg_id} orders {str(order)!r}, {why}")


def _order_problem(order: Order, leg: LegPlan, catalog: Catalog, *, read_only: bool) -> str:
    if read_only:
        return "and the mission is read-only (--read-only): start it without, or ask only"
    if unknown := [name for name in order.tools if name not in catalog.tools]:
        return f"and there is no tool {', '.join(unknown)}"
    tools = [catalog.tool(name) for name in order.tools]
    if reading := [tool.name for tool in tools if not tool.is_side_effect]:
        return f"and {', '.join(reading)} only reads; name the tool that does it"
    if not any(is_inside(tool, (leg.agent.wall,)) for tool in tools):
        named = " or ".join(order.tools) or "no tool"
        return f"and its agent {leg.agent.name} may not use {named}"
    if order.count > leg.agent.max_items:
        return f"{order.count} times; the agent {leg.agent.name} does {leg.agent.max_items} at most"
    return ""


def check_decision(
    decision: StepDecision,
    selection: Selection,
    context: StepContext,
    catalog: Catalog,
    walls: Walls = NO_PROFILES,
) -> None:
    """Refuse a decision that cannot be carried out: the planner learns why; the step is spent.

    With `walls`, the worker's profile of that agent is enforced as well.

    The values of a call's arguments are not checked here: a call that breaks the contract of its
    tool is not sent, and the planner sees why in an observation with the outcome `invalid`.

    Raises:
        ToolNotFound: the catalog has no such tool.
        OutsideWall: a call of a tool that the agent may not use, shown to it or not.
        PlanInvalid: it is no decision at all.
        DecisionInvalid: a call of a tool that was neither selected nor discovered nor is a core
            tool that the agent's prompts list; with an input that the tool does not have, or a
            personal one that is not given as its handle; or together with other calls though it
            does more than read. A question that names no field, only fields that were answered, or
            a personal one. A question, search or ending whose text is blank.
    """
    match decision:
        case CallTool():
            # First of all: a tool outside the wall is not discovered, so no other remedy can be
            # named.
            if (tool := catalog.tools.get(decision.tool)) is not None:
                walls.check(context.agent.wall, tool)
            _check_call(decision, selection, context, catalog)
        case CallTools(calls=calls):
            for call in calls:
                check_decision(call, selection, context, catalog, walls)
                if not only_reads(catalog.tool(call.tool)):
                    raise DecisionInvalid(f"{call.tool} does more than read: call it alone")
        case DiscoverTools(query=query):
            _check_text("a search for tools needs words to search for", query)
        case AskUser():
            _check_question(decision, context, catalog)
        case HandOver():
            _check_text("a hand-over needs a goal", decision.goal)
            names = [colleague.name for colleague in context.colleagues]
            if decision.agent not in names:
                raise DecisionInvalid(
                    f"nothing can be handed over to {decision.agent!r}, only to "
                    f"{', '.join(names) or 'nobody'}"
                )
        case StepGoal() if context.written is not None:
            pass
        case Finish(summary=summary):
            _check_text("a finished leg needs a summary of what was reached", summary)
            _check_outputs(decision, context)
        case GiveUp(reason=reason):
            _check_text("giving up needs a reason", reason)
        case _:
            # A bug in a program, not in a model: it would give the same answer the next time.
            raise PlanInvalid(
                f"the planner gives a {type(decision).__name__}, which is no decision"
            )


def _check_call(
    decision: CallTool, selection: Selection, context: StepContext, catalog: Catalog
) -> None:
    shown = {*selection.tools, *context.discovered, *context.forwarded}
    known = catalog.tools.get(decision.tool)
    is_core = known is not None and known.load_policy == "core" and listed([known], context.agent)
    if decision.tool not in shown and not is_core:
        raise DecisionInvalid(
            f"{decision.tool} was not among the {len(shown)} tools shown; discover it first"
        )
    tool = catalog.tool(decision.tool)
    if unknown := sorted(set(decision.arguments) - set(tool.properties)):
        raise DecisionInvalid(
            f"{tool.name} has no input {', '.join(unknown)}; it takes {', '.join(tool.properties)}"
        )
    for field in tool.pii_fields:
        value = decision.arguments.get(field)
        if value is not None and not is_handle(value):
            raise DecisionInvalid(
                f"{field} of {tool.name} is personal: give the handle {handle_for(field)}, no value"
            )


def only_reads(tool: Tool) -> bool:
    """Return True if calls can be made in parallel: the tool changes nothing, nobody is asked."""
    return not (tool.is_side_effect or tool.needs_confirmation)


def _check_question(decision: AskUser, context: StepContext, catalog: Catalog) -> None:
    _check_text("a question to the user needs text", decision.question)
    if not decision.fields:
        raise DecisionInvalid("a question to the user must name the values it asks for")
    if set(decision.fields) <= set(context.inputs):
        raise DecisionInvalid(f"{', '.join(sorted(decision.fields))} was already answered")
    personal = {name for tool in catalog.tools.values() for name in tool.pii_fields}
    if asked := sorted(personal & set(decision.fields)):
        raise DecisionInvalid(
            f"{', '.join(asked)} is personal, and an answer would be kept in the open: call the "
            f"tool with the handle {handle_for(asked[0])}; what the vault lacks is asked for then"
        )


def _check_outputs(decision: Finish, context: StepContext) -> None:
    if context.output_schema is None:
        return
    validator = SchemaValidator(context.output_schema, format_checker=REQUEST_FORMATS)
    try:
        faults = describe_violations(validator.iter_errors(decision.outputs))
    except (PatternUndecided, *SCHEMA_FAULTS) as error:
        faults = (f"they cannot be checked: {error}",)
    if faults:
        raise DecisionInvalid(f"the outputs do not fit what the workflow wants: {faults[0]}")


def _check_text(complaint: str, text: str) -> None:
    if not text.strip():
        raise DecisionInvalid(complaint)
