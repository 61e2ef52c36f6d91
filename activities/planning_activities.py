"""Planning: split the goal, plan a step, find tools; results are recorded and never replayed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from inspect import isawaitable
from typing import Final, TypeVar

from temporalio import activity

from orchestrator.activities.authority import Authority, WallGuard
from orchestrator.activities.boundary import (
    catalog_of,
    metered,
    spent_on,
    translated_errors,
    translated_troubles,
)
from orchestrator.activities.fair_slots import FairSlots, provider_of_model
from orchestrator.activities.kept_messages import KeptMessages, NothingKept
from orchestrator.activities.prepare_activities import PrepareActivities
from orchestrator.adapters.storage.files import BegunThoughts
from orchestrator.adapters.storage.protocols import CatalogStore, RouteTraces
from orchestrator.adapters.telemetry.instruments import (
    Telemetry,
    count_selection,
    default_telemetry,
)
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.budget import Usage
from orchestrator.core.errors import (
    THOUGHT_CUT_OFF,
    DecisionInvalid,
    ModelError,
    OutsideWall,
    PlanInvalid,
    ServiceUnavailable,
    ToolNotFound,
)
from orchestrator.core.limits import left_of_limits
from orchestrator.core.read_once import read_once
from orchestrator.core.record import shared_fields
from orchestrator.core.wall import Wall
from orchestrator.messages import names
from orchestrator.messages.failure_details import ModelCheck
from orchestrator.messages.leg import HandOverInput, HandOverPlan
from orchestrator.messages.mission import BegunPlan
from orchestrator.messages.mission_policy import BeginInput
from orchestrator.messages.step import (
    DiscoverInput,
    DiscoverOutput,
    KeptMessage,
    PlanStepInput,
    PlanStepOutput,
    SelectedTools,
    ThinkInput,
    Thought,
)
from orchestrator.messages.tool_call import PreparedCall, PrepareInput
from orchestrator.planning.effects import doubt_about_finish, foreign_ids, nothing_read
from orchestrator.planning.metering import Meter, usage_in
from orchestrator.planning.models import (
    CHAINING,
    AgentProfile,
    CallTool,
    Colleague,
    Finish,
    GiveUp,
    GoalBrief,
    LegPlan,
    MissionPlan,
    StepContext,
    StepDecision,
)
from orchestrator.planning.one_call import plan_of_call, selection_of_call, step_of_call
from orchestrator.planning.one_step import calls_of, inside_wall, within_size
from orchestrator.planning.per_agent import who_decides
from orchestrator.planning.planner import (
    ModelChooser,
    PlannedStep,
    Planner,
    as_planned,
    check_decision,
    check_orders,
    check_plan,
)
from orchestrator.planning.route_context import route_context, route_text, with_ordered
from orchestrator.planning.walls import (
    Walls,
    colleagues_of,
    handed_over_orders,
    is_inside,
    within_profiles,
)
from orchestrator.planning.written_steps import (
    agent_of_goal,
    plan_of_workflow,
    selection_of_workflow,
    step_of_workflow,
)
from orchestrator.routing.discovery import DiscoveryIndex, Match
from orchestrator.routing.learning.trace import record_of
from orchestrator.routing.router import Router, fail_open
from orchestrator.routing.selection import Selection
from orchestrator.saga.follow_ups import follow_ups
from orchestrator.saga.outcome import FollowUp

_T = TypeVar("_T")
_ATTEMPTS_TO_SPLIT: Final = 3
"""Attempts to split a goal while the model is unavailable."""


class PlanningActivities:
    """Routers and a planner over stored catalogs."""

    def __init__(
        self,
        catalogs: CatalogStore,
        routers: Callable[[Catalog], Router],
        planner: Planner,
        agents: Sequence[AgentProfile],
        traces: RouteTraces,
        telemetry: Telemetry | None = None,
        authority: Authority | None = None,
        *,
        kept: KeptMessages | None = None,
        slots: FairSlots | None = None,
    ) -> None:
        self._slots = slots or FairSlots()
        self._by_rules = isinstance(planner, ModelChooser) and planner.splits_by_rules(agents)
        self._kept = kept or KeptMessages(NothingKept())
        self._authority = authority or Authority()
        self._traces = traces
        self._telemetry = telemetry or default_telemetry()
        self._catalogs = catalogs
        self._routers = routers
        self._planner = planner
        self._agents = tuple(agents)
        self._guard = WallGuard(Walls(self._agents), self._telemetry)
        self._index_of = read_once(DiscoveryIndex, most=8)
        self._turn = asyncio.Lock()

    @activity.defn(name=names.SPLIT_GOAL)
    async def split_goal(self, mission: BeginInput) -> BegunPlan:
        """Return the checked plan of a goal, if the worker's policy lets it begin."""
        brief = mission.brief
        with self.place(brief.planner, brief.model, mission.mission_id):
            async with self.metered() as meter:
                with translated_errors():
                    self._authority.check_begin(mission)
                    left = left_of_limits(self._authority.limits(mission.policy), mission.used)
                    brief = brief.model_copy(update={"allowance": left.of_models()})
                    catalog = await catalog_of(self._catalogs, brief.catalog_digest)
                    plan = await self._planned(brief, catalog)
                    check_plan(plan)
                    check_orders(plan, catalog, read_only=brief.read_only)
                    self._guard.walls.check_plan(plan, catalog)
                    plan = within_profiles(plan, self._agents)
                    plan = plan.model_copy(update={"usage": _taken(meter, plan.usage)})
            return self._authority.begun(plan, mission)

    @contextmanager
    def place(self, planner: str | None, model: str | None, mission_id: str) -> Iterator[None]:
        """Hold one of the slots of a model's provider, unless rules decide in the workflow's task.

        Raises:
            ApplicationError: SlotsTaken; the workflow waits and tries again.
        """
        by_rules = planner == CHAINING or (self._by_rules and planner is None and model is None)
        if by_rules or activity.info().is_local:
            yield
            return
        with translated_errors(), self._slots.taken(provider_of_model(model), mission_id):
            yield

    async def _planned(self, brief: GoalBrief, catalog: Catalog) -> MissionPlan:
        """Return the planner's plan; plan without the model if it stays unavailable.

        No mission is lost because a model was unavailable at its start: there are no effects yet,
        and a goal that the rules cannot split becomes one leg, which waits visibly for its model.
        """
        if brief.workflow is not None:
            return plan_of_workflow(brief.workflow, brief, catalog, self._agents)
        if brief.call is not None:
            return plan_of_call(brief.call, brief, catalog, self._agents)
        try:
            return await _awaited(self._planner.split_goal(brief, catalog, self._agents))
        except ModelError as error:
            if error.retryable and activity.info().attempt < _ATTEMPTS_TO_SPLIT:
                raise
            alone = brief.model_copy(update={"model_away": str(error)})
        return await _awaited(self._planner.split_goal(alone, catalog, self._agents))

    async def first_selection(self, context: StepContext, catalog: Catalog) -> Selection:
        """Return the tools of a leg's first step, without recording them."""
        return await self._chosen(context, catalog, self._guard.walls.around(context.agent.wall))

    async def _chosen(
        self, context: StepContext, catalog: Catalog, walls: Sequence[Wall]
    ) -> Selection:
        if context.written is not None:
            written = context.written
            selection = await asyncio.to_thread(selection_of_workflow, written, context, catalog)
        elif context.call is not None:
            selection = selection_of_call(context.call, catalog)
        else:
            # In a thread: a catalog's first request builds its router, and the embedder may block.
            # One at a time: threads share the interpreter, so several at once would only slow each
            # other down.
            async with self._turn:
                selection = await asyncio.to_thread(self._route, context, catalog, walls)
        return _inside(selection, catalog, walls)

    async def selected(self, context: StepContext, wanted: StepContext | KeptMessage) -> Selection:
        """Return the tools of a step, stored with its message; a router's choice is traced."""
        catalog = await catalog_of(self._catalogs, context.catalog_digest)
        walls = self._guard.walls.around(context.agent.wall)
        selection = await self._chosen(context, catalog, walls)
        if not context.is_routed:
            return await self._kept.keep(wanted, selection)
        count_selection(self._telemetry, selection)
        await asyncio.to_thread(
            self._traces.record,
            record_of(
                selection,
                mission_id=context.mission_id,
                leg_id=context.leg_id,
                step=context.step,
                catalog_digest=context.catalog_digest,
            ),
        )
        # The discovered tools join every later step of the leg.
        found = _names_inside(context.discovered, catalog, walls)
        joined = tuple(dict.fromkeys((*selection.tools, *found)))
        selection = selection.model_copy(update={"tools": joined})
        return await self._kept.keep(wanted, selection)

    def metered(self) -> AbstractAsyncContextManager[Meter]:
        """Heartbeat while the body runs, and meter its model usage."""
        return metered(self._telemetry)

    async def plan_step(self, step: PlanStepInput) -> PlanStepOutput:
        """Return the next decision, checked against the forwarded tools."""
        async with self.metered() as meter:
            with translated_errors(), translated_troubles():
                catalog = await catalog_of(self._catalogs, step.context.catalog_digest)
                walls = self._guard.walls
                colleagues = colleagues_of(step.context.agent, self._agents)
                step = _shown(step, catalog, walls.around(step.context.agent.wall), colleagues)
                try:
                    planned = as_planned(await self._decide(step, catalog))
                except DecisionInvalid as error:
                    return spent_on(error, _taken(meter, usage_in(error)))
                planned = inside_wall(planned, lambda call: _outside(call, step, catalog, walls))
                for _ in filter(lambda one: one.is_refused, planned.dropped):
                    self._guard.count("decision")
                decision = planned.decision
                if planned.usage is not None:
                    planned = planned.model_copy(update={"usage": _taken(meter, planned.usage)})
                try:
                    check_decision(decision, step.selection, step.context, catalog, walls)
                except OutsideWall as error:
                    self._guard.count("decision")
                    return _refused(within_size(planned)[0], str(error))
                except (DecisionInvalid, ToolNotFound) as error:
                    is_fixed = bool(step.context.written or step.context.call)
                    if is_fixed or (isinstance(decision, Finish) and planned.usage is None):
                        # Not of a model: the next try would end in the same way.
                        return PlanStepOutput(decision=GiveUp(reason=str(error)))
                    return spent_on(error, planned.usage)
                planned, too_large = within_size(planned)
                if too_large is not None:
                    return _refused(planned, too_large)
                decision = planned.decision
                for call in calls_of(decision)[:1] if step.context.is_routed else ():
                    context = step.context
                    of = {"mission_id": context.mission_id, "leg_id": context.leg_id}
                    trace = partial(self._traces.called, **of, step=context.step, tool=call.tool)
                    await asyncio.to_thread(trace)
                standing = _standing(decision, step.context, catalog, planned.usage)
                said = {"dropped": planned.dropped, "conversation": planned.conversation}
                return standing.model_copy(update=said)

    async def _decide(self, step: PlanStepInput, catalog: Catalog) -> PlannedStep | StepDecision:
        if step.context.written is not None:
            return await asyncio.to_thread(step_of_workflow, step.context.written, step.context)
        if step.context.call is not None:
            return step_of_call(step.context.call, step.context, catalog)
        return await _awaited(self._planner.plan_step(step.context, step.selection, catalog))

    def _discovered(
        self, wanted: DiscoverInput, catalog: Catalog, walls: Sequence[Wall]
    ) -> list[Match]:
        try:
            similarity = self._routers(catalog).similarity
        except Exception:  # without an index, the search uses words alone
            similarity = None
        return self._index_of(catalog).search(
            wanted.query, limit=wanted.limit, walls=walls, similarity=similarity
        )

    def _route(self, context: StepContext, catalog: Catalog, walls: Sequence[Wall]) -> Selection:
        try:
            router = self._routers(catalog)
        except Exception as error:  # without an index, the whole catalog is forwarded
            return fail_open(catalog, f"{type(error).__name__} while indexing the catalog", walls)
        text = route_text(context, catalog)
        made = router.route(text, route_context(context, *walls), now=context.now)
        return with_ordered(made, context, router.feeders)

    @activity.defn(name=names.CHECK_MODEL)
    async def check_model(self, wanted: ModelCheck) -> ModelCheck:
        """Return the check with the reason why the model cannot be asked here, if any."""
        if not isinstance(self._planner, ModelChooser):
            problem = "the planner of this worker takes no model by its name"
            return wanted.model_copy(update={"problem": problem})
        with translated_errors():
            problem = self._planner.model_problem(wanted.model)
        return wanted.model_copy(update={"problem": problem})

    @activity.defn(name=names.DISCOVER_TOOLS)
    async def discover_tools(self, wanted: DiscoverInput) -> DiscoverOutput:
        """Return the tools that match the query, among those that the agent may touch."""
        with translated_errors():
            catalog = await catalog_of(self._catalogs, wanted.catalog_digest)
            walls = self._guard.walls.around(wanted.agent)
            matches = await asyncio.to_thread(self._discovered, wanted, catalog, walls)
            return DiscoverOutput(tools=tuple(match.name for match in matches))


def _taken(meter: Meter, own_figure: Usage) -> Usage:
    """Return the metered usage; for a planner without metering, its own figure."""
    if not meter.counted:
        meter.count(own_figure)
    return meter.usage


def _standing(
    decision: StepDecision, context: StepContext, catalog: Catalog, usage: Usage | None
) -> PlanStepOutput:
    """Return a checked decision; refuse once to finish without proof."""
    if not isinstance(decision, Finish):
        return PlanStepOutput(decision=decision, usage=usage)
    doubt = doubt_about_finish(decision, context)
    if doubt is not None:
        return PlanStepOutput(decision=decision, refusal=doubt, usage=usage)
    # The follow-ups of a leg's last read; the receipt of an effect has its own.
    follow: tuple[FollowUp, ...] = ()
    last = next((o for o in reversed(context.observations) if o.outcome == "succeeded"), None)
    tool = catalog.tools.get(last.tool) if last is not None else None
    if last is not None and tool is not None and not tool.is_side_effect:
        follow = follow_ups(
            catalog,
            tool,
            call_id=names.call_id(context.mission_id, context.leg_id, last.step, last.part),
            arguments=last.arguments,
            body=last.body,
            at=last.at,
        )
    return PlanStepOutput(
        decision=decision,
        usage=usage,
        unproved=nothing_read(context, decision),
        unverified_ids=foreign_ids(decision.summary, context),
        follow_ups=follow,
    )


async def _awaited(answer: Awaitable[_T]) -> _T:
    """Return a planner's answer.

    Raises:
        PlanInvalid: the method is not a coroutine, so a long call would block all missions.
    """
    if not isawaitable(answer):
        raise PlanInvalid("the planner's methods are to be coroutines: write `async def`")
    return await answer


def _outside(call: CallTool, step: PlanStepInput, catalog: Catalog, walls: Walls) -> str | None:
    tool = catalog.tools.get(call.tool)
    try:
        if tool is not None:
            walls.check(step.context.agent.wall, tool)
    except OutsideWall as error:
        return str(error)
    return None


def _refused(planned: PlannedStep, reason: str) -> PlanStepOutput:
    """Return the refusal of a call, without arguments that were not checked."""
    bare = planned.decision.model_copy(update={"arguments": {}})
    return PlanStepOutput(
        decision=bare,
        refusal=reason,
        usage=planned.usage,
        dropped=planned.dropped,
        conversation=planned.conversation,
    )


def _inside(selection: Selection, catalog: Catalog, walls: Sequence[Wall]) -> Selection:
    kept = _names_inside(selection.tools, catalog, walls)
    if kept == selection.tools:
        return selection
    changes = {
        "tools": kept,
        "prerequisites": tuple(name for name in selection.prerequisites if name in kept),
        "padding": tuple(name for name in selection.padding if name in kept),
        "scores": {name: score for name, score in selection.scores.items() if name in kept},
    }
    return selection.model_copy(update=changes)


def _names_inside(names: Iterable[str], catalog: Catalog, walls: Sequence[Wall]) -> tuple[str, ...]:
    tools = catalog.tools
    return tuple(name for name in names if name in tools and is_inside(tools[name], walls))


def _shown(
    step: PlanStepInput, catalog: Catalog, walls: Sequence[Wall], colleagues: tuple[Colleague, ...]
) -> PlanStepInput:
    """Return the step without tools outside the walls, with this worker's agents."""
    context = step.context.model_copy(
        update={
            "discovered": _names_inside(step.context.discovered, catalog, walls),
            "forwarded": _names_inside(step.context.forwarded, catalog, walls),
            "colleagues": colleagues,
        }
    )
    selection = _inside(step.selection, catalog, walls)
    return step.model_copy(update={"context": context, "selection": selection})


class HandOverActivities:
    """Makes legs of hand-overs, using this worker's profiles."""

    def __init__(self, catalogs: CatalogStore, agents: Sequence[AgentProfile]) -> None:
        """Take the catalogs and the worker's profiles."""
        self._catalogs = catalogs
        self._agents = tuple(agents)

    @activity.defn(name=names.PLAN_HAND_OVER)
    async def plan_hand_over(self, wanted: HandOverInput) -> HandOverPlan:
        """Return the leg for a hand-over, or the reason for refusing it."""
        return await asyncio.to_thread(self.planned, wanted)

    def planned(self, wanted: HandOverInput) -> HandOverPlan:
        """Return the plan of the hand-over, computed in the calling thread."""
        asked, asking = wanted.asked, wanted.asking
        with translated_errors():
            catalog = self._catalogs.get(wanted.catalog_digest)
        orders = [one for one in asked.orders if one.is_part_of(asking.orders)]
        if asking.written is not None:
            tools = [catalog.tool(name) for order in asked.orders for name in order.tools]
            agent = agent_of_goal(asked.agent, tools, [*self._own_and_others(asking.agent, tools)])
            refusal = f"no agent {asked.agent} may do it".replace("  ", " ")
            orders = [one.model_copy(update={"when": ""}) for one in orders]  # the step is reached
        else:
            allowed = {one.name for one in colleagues_of(asking.agent, self._agents)}
            fitting = (a for a in self._agents if a.name == asked.agent and a.name in allowed)
            agent = next(fitting, None)
            may = ", ".join(sorted(allowed)) or "nobody"
            refusal = f"{asking.agent.name} may hand over to {may}, not to {asked.agent}"
        if agent is None:
            return HandOverPlan(refusal=refusal)
        own = {"planner": asking.agent.planner, "model": asking.agent.model}
        if agent.planner is None and agent.model is None:
            agent = agent.model_copy(update=own)
        leg = LegPlan(
            leg_id=wanted.new_leg_id,
            goal=asked.goal,
            agent=agent,
            depends_on=asking.depends_on,
            orders=handed_over_orders(orders, agent, catalog),
            handed_over_by=asking.leg_id,
            inputs=asked.inputs,
            output_schema=asked.output_schema,
            planned_by=who_decides(agent) or ("" if asking.written else asking.planned_by),
        )
        return HandOverPlan(leg=leg)

    def _own_and_others(self, own: AgentProfile, tools: Iterable[Tool]) -> Iterator[AgentProfile]:
        """Yield the agent of a workflow, if it may use the tools, then the worker's other agents.

        Its wall travels with it, since this worker may have no profile of its name. The limits of a
        goal are those of a planner, lower than those of a workflow.
        """
        walls = Walls(self._agents).around(own.wall)
        if all(is_inside(tool, walls) for tool in tools):
            known = [one for one in self._agents if one.name == own.name]
            yield own.within((known or [AgentProfile(name=own.name)])[0].leg_limits)
        yield from (one for one in self._agents if one.name != own.name)


_BEGUN_AT_MOST: Final = 2
"""Number of times that a thought may begin in a workflow task without ending.

A machine that is switched off kills one worker; if two workers die, the thought is the likely
cause.
"""


class ThinkingActivities:
    """Selects, plans and prepares, one after the other."""

    def __init__(
        self,
        planning: PlanningActivities,
        preparing: PrepareActivities,
        kept: KeptMessages,
        begun: BegunThoughts | None = None,
    ) -> None:
        self._planning = planning
        self._preparing = preparing
        self._kept = kept
        self._begun = begun

    @activity.defn(name=names.THINK)
    async def think(self, wanted: ThinkInput) -> Thought:
        """Select tools, plan the step, and prepare the call that it decides on."""
        async with self._planning.metered():
            with translated_errors():
                context = await self._kept.context(wanted.step)
            agent = context.agent
            place = self._planning.place(agent.planner, agent.model, context.mission_id)
            async with self._noted(context):
                with place:
                    with translated_errors():
                        selection = await self._planning.selected(context, wanted.step)
                        kept = wanted.call
                        if isinstance(kept, KeptMessage):
                            kept = await self._kept.learn(kept)
                    step = PlanStepInput(context=context, selection=selection)
                    planned = await self._planning.plan_step(step)
                prepared = await self._prepared(kept, planned)
        forwarded = SelectedTools(step=context.step, **shared_fields(selection, SelectedTools))
        return Thought(selection=forwarded, planned=planned, prepared=prepared)

    async def _prepared(
        self, message: PrepareInput | KeptMessage, planned: PlanStepOutput
    ) -> PreparedCall | None:
        call = planned.decision
        if not isinstance(call, CallTool) or planned.refusal or planned.unusable:
            return None
        fields = ("tool", "arguments", "reason", "call_terms")
        changes = {name: getattr(call, name) for name in fields}
        if isinstance(message, KeptMessage):
            decided = call.model_dump(mode="json", include=set(fields))
            changes = {"changes": {**message.changes, **decided}}
        return await self._preparing.prepare_forward(message.model_copy(update=changes))

    @asynccontextmanager
    async def _noted(self, context: StepContext) -> AsyncIterator[None]:
        """Count the thoughts that do not end.

        A workflow task is retried for ever, so a thought that kills its worker would kill each
        worker that takes it. As a normal activity it has few attempts, and then the leg waits for a
        person.

        Raises:
            ApplicationError: ThoughtCutOff, in a workflow task, if the thought has killed workers.
        """
        if self._begun is None or not activity.info().is_local:
            yield
            return
        thought = context.mission_id, context.leg_id, context.step
        count = await asyncio.to_thread(self._begun.begin, *thought)
        if count > _BEGUN_AT_MOST:
            with translated_errors():
                raise ServiceUnavailable(
                    f"step {context.step} of the leg {context.leg_id} was begun {count - 1} times "
                    f"in a workflow task of {context.mission_id}, and its worker died each time",
                    code=THOUGHT_CUT_OFF,
                )
        try:
            yield
        finally:
            await asyncio.to_thread(self._begun.end, *thought)
