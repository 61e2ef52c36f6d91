"""Thinking: split the goal, select tools, plan a step, discover more; recorded, never replayed."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from inspect import isawaitable
from typing import Final, TypeVar

from temporalio import activity

from activities.authority import Authority
from activities.boundary import translated_errors
from activities.kept_messages import KeptMessages, NothingKept
from activities.metered import metered
from activities.model_troubles import spent_on, translated_troubles
from activities.wall_guard import WallGuard
from orchestrator.adapters.storage.catalog_store import CatalogStore
from orchestrator.adapters.storage.route_traces import RouteTraces
from orchestrator.adapters.telemetry.instruments import (
    Telemetry,
    count_selection,
    default_telemetry,
)
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Usage
from orchestrator.core.errors import (
    DecisionInvalid,
    ModelRefused,
    ModelUnavailable,
    OutsideWall,
    PlanInvalid,
    ToolNotFound,
)
from orchestrator.core.limits import left_of_limits
from orchestrator.core.model_errors import usage_in
from orchestrator.core.wall import Wall
from orchestrator.messages import names
from orchestrator.messages.begin import BeginInput
from orchestrator.messages.kept import KeptMessage
from orchestrator.messages.model_trouble import ModelCheck
from orchestrator.messages.plan_preview import BegunPlan
from orchestrator.messages.step import DiscoverInput, DiscoverOutput, PlanStepInput, PlanStepOutput
from orchestrator.planning.effects import doubt_about_finish, nothing_read, unheld_ids
from orchestrator.planning.metering import Meter
from orchestrator.planning.models import (
    AgentProfile,
    CallTool,
    Finish,
    GoalBrief,
    MissionPlan,
    StepContext,
    StepDecision,
)
from orchestrator.planning.one_call import plan_of_call, selection_of_call, step_of_call
from orchestrator.planning.one_step import calls_of, inside_wall, within_size
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
from orchestrator.planning.walls import Walls, colleagues_of, is_inside, within_profiles
from orchestrator.routing.discovery import DiscoveryIndexes, Match
from orchestrator.routing.learning.trace import record_of
from orchestrator.routing.router import Router, fail_open
from orchestrator.routing.selection import Selection
from orchestrator.saga.follow_ups import follow_ups
from orchestrator.saga.outcome import FollowUp

_T = TypeVar("_T")
_ATTEMPTS_TO_SPLIT: Final = 3
"""How often a model that is away is asked to split a goal."""


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
    ) -> None:
        self._kept = kept or KeptMessages(NothingKept())
        self._authority = authority or Authority()
        self._traces = traces
        self._telemetry = telemetry or default_telemetry()
        self._catalogs = catalogs
        self._routers = routers
        self._planner = planner
        self._agents = tuple(agents)
        self._guard = WallGuard(Walls(self._agents), self._telemetry)
        self._indexes = DiscoveryIndexes()
        self._turn = asyncio.Lock()

    @activity.defn(name=names.SPLIT_GOAL)
    async def split_goal(self, mission: BeginInput) -> BegunPlan:
        """The legs of a goal, checked; the worker's policy has to let its mission begin."""
        return self._authority.begun(await self._split(mission), mission)

    async def _split(self, mission: BeginInput) -> MissionPlan:
        async with metered(self._telemetry) as meter:
            with translated_errors():
                self._authority.check_begin(mission)
                left = left_of_limits(self._authority.limits(mission.policy), mission.used)
                brief = mission.brief.model_copy(update={"allowance": left.of_models()})
                catalog = await asyncio.to_thread(self._catalogs.get, brief.catalog_digest)
                plan = await self._planned(brief, catalog)
                check_plan(plan)
                check_orders(plan, catalog, read_only=brief.read_only)
                self._guard.walls.check_plan(plan, catalog)
                plan = within_profiles(plan, self._agents)
                return plan.model_copy(update={"usage": _taken(meter, plan.usage)})

    async def _planned(self, brief: GoalBrief, catalog: Catalog) -> MissionPlan:
        """The planner's plan; without its model, where that stays away.

        No mission is lost because a model was away at its start: nothing was done yet, and what the
        rules cannot split either is one leg, which waits for its model where everybody sees it.
        """
        if brief.call is not None:
            return plan_of_call(brief.call, brief, catalog, self._agents)
        try:
            return await _awaited(self._planner.split_goal(brief, catalog, self._agents))
        except (ModelUnavailable, ModelRefused) as error:
            if error.retryable and activity.info().attempt < _ATTEMPTS_TO_SPLIT:
                raise
            alone = brief.model_copy(update={"model_away": str(error)})
        return await _awaited(self._planner.split_goal(alone, catalog, self._agents))

    async def first_selection(self, context: StepContext, catalog: Catalog) -> Selection:
        """What the first step of a leg would be forwarded; nothing of it is recorded."""
        walls = self._guard.walls.around(context.agent.wall)
        async with self._turn:
            selection = await asyncio.to_thread(self._route, context, catalog, walls)
        return _inside(selection, catalog, walls)

    @activity.defn(name=names.SELECT_TOOLS)
    async def select_tools(self, wanted: StepContext | KeptMessage) -> Selection:
        """The tools of this step; a router that fails forwards them all and says so.

        All of those that the agent may touch: whatever routes them, nothing else leaves here.
        """
        with translated_errors():
            return await self.selected(await self._kept.context(wanted), wanted)

    async def selected(self, context: StepContext, wanted: StepContext | KeptMessage) -> Selection:
        """The tools of a step, which is what a message is about; traced, and kept with it."""
        catalog = await asyncio.to_thread(self._catalogs.get, context.catalog_digest)
        walls = self._guard.walls.around(context.agent.wall)
        # In a thread: a catalog's first request builds its router, and an embedder is waited for.
        # One at a time: they share the interpreter, so that several at once would only use up each
        # other's time.
        async with self._turn:
            selection = await asyncio.to_thread(self._route, context, catalog, walls)
        selection = _inside(selection, catalog, walls)
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
        selection = _with_discovered(selection, context, catalog, walls)
        return await self._kept.keep(wanted, selection)

    @activity.defn(name=names.PLAN_STEP)
    async def plan_step(self, wanted: PlanStepInput | KeptMessage) -> PlanStepOutput:
        """What to do next, checked against what the planner was shown."""
        async with metered(self._telemetry) as meter:
            with translated_errors(), translated_troubles():
                step = await self._kept.step(wanted)
                catalog = await asyncio.to_thread(self._catalogs.get, step.context.catalog_digest)
                walls = self._guard.walls
                step = _shown(step, catalog, walls.around(step.context.agent.wall))
                step = self._among_colleagues(step)
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
                    return spent_on(error, planned.usage)
                planned, too_large = within_size(planned)
                if too_large is not None:
                    return _refused(planned, too_large)
                decision = planned.decision
                await self._note_called(decision, step.context)
                standing = _standing(decision, step.context, catalog, planned.usage)
                said = {"dropped": planned.dropped, "conversation": planned.conversation}
                return standing.model_copy(update=said)

    async def _note_called(self, decision: StepDecision, context: StepContext) -> None:
        """Join what is called, the first of several, to the selection that it was chosen from."""
        for call in calls_of(decision)[:1]:
            await asyncio.to_thread(
                self._traces.called,
                mission_id=context.mission_id,
                leg_id=context.leg_id,
                step=context.step,
                tool=call.tool,
            )

    def _among_colleagues(self, step: PlanStepInput) -> PlanStepInput:
        """The step with the agents to which its leg may hand parts over, as this worker has it."""
        context = step.context
        others = colleagues_of(context.agent, self._agents)
        changed = context.model_copy(update={"colleagues": others})
        return step.model_copy(update={"context": changed})

    def _router_or_none(self, catalog: Catalog) -> Router | None:
        try:
            return self._routers(catalog)
        except Exception:  # a search goes by words alone, where a catalog cannot be indexed
            return None

    async def _decide(self, step: PlanStepInput, catalog: Catalog) -> PlannedStep | StepDecision:
        if step.context.call is not None:
            return step_of_call(step.context.call, step.context, catalog)
        return await _awaited(self._planner.plan_step(step.context, step.selection, catalog))

    def _discovered(
        self, wanted: DiscoverInput, catalog: Catalog, walls: Sequence[Wall]
    ) -> list[Match]:
        router = self._router_or_none(catalog)
        return self._indexes.of(catalog).search(
            wanted.query,
            limit=wanted.limit,
            walls=walls,
            similarity=router.similarity if router else None,
        )

    def _route(self, context: StepContext, catalog: Catalog, walls: Sequence[Wall]) -> Selection:
        if context.call is not None:
            return selection_of_call(context.call, catalog)
        try:
            router = self._routers(catalog)
        except Exception as error:  # a catalog that cannot be indexed can still be forwarded whole
            return fail_open(catalog, f"{type(error).__name__} while indexing the catalog", walls)
        text = route_text(context, catalog)
        made = router.route(text, route_context(context, *walls), now=context.now)
        return with_ordered(made, context, router.feeders)

    @activity.defn(name=names.CHECK_MODEL)
    async def check_model(self, wanted: ModelCheck) -> ModelCheck:
        """Whether a model can be asked from this worker, as far as that is known beforehand."""
        if not isinstance(self._planner, ModelChooser):
            told = "the planner of this worker takes no model by its name"
            return wanted.model_copy(update={"problem": told})
        with translated_errors():
            problem = self._planner.model_problem(wanted.model)
        return wanted.model_copy(update={"problem": problem})

    @activity.defn(name=names.DISCOVER_TOOLS)
    async def discover_tools(self, wanted: DiscoverInput) -> DiscoverOutput:
        """Tools that fit the query, of all that the agent may touch."""
        with translated_errors():
            catalog = await asyncio.to_thread(self._catalogs.get, wanted.catalog_digest)
            walls = self._guard.walls.around(wanted.agent)
            matches = await asyncio.to_thread(self._discovered, wanted, catalog, walls)
            return DiscoverOutput(tools=tuple(match.name for match in matches))


def _taken(meter: Meter, told: Usage) -> Usage:
    """What models took in all attempts; of a planner that counts nothing, what it tells."""
    if not meter.counted:
        meter.count(told)
    return meter.usage


def _standing(
    decision: StepDecision, context: StepContext, catalog: Catalog, usage: Usage | None
) -> PlanStepOutput:
    """A decision that was checked; an ending is refused once where nothing proves it."""
    if not isinstance(decision, Finish):
        return PlanStepOutput(decision=decision, usage=usage)
    doubt = doubt_about_finish(decision, context)
    if doubt is not None:
        return PlanStepOutput(decision=decision, refusal=doubt, usage=usage)
    return PlanStepOutput(
        decision=decision,
        usage=usage,
        unproved=nothing_read(context, decision),
        unheld=unheld_ids(decision.summary, context),
        follow_ups=_after_reading(context, catalog),
    )


def _after_reading(context: StepContext, catalog: Catalog) -> tuple[FollowUp, ...]:
    """What the last answer of a leg makes possible; after a consequence its receipt says it."""
    seen = [one for one in context.observations if one.outcome == "succeeded"]
    tool = catalog.tools.get(seen[-1].tool) if seen else None
    if tool is None or tool.is_side_effect:
        return ()
    last = seen[-1]
    return follow_ups(
        catalog,
        tool,
        call_id=names.call_id(context.mission_id, context.leg_id, last.step, last.part),
        arguments=last.arguments,
        body=last.body,
        at=last.at,
    )


async def _awaited(answer: Awaitable[_T]) -> _T:
    """What a planner answers.

    Raises:
        PlanInvalid: it answers at once, so that its next long thought would stop all missions.
    """
    if not isawaitable(answer):
        raise PlanInvalid("the planner's methods are to be coroutines: write `async def`")
    return await answer


def _outside(call: CallTool, step: PlanStepInput, catalog: Catalog, walls: Walls) -> str | None:
    """Why the agent may not make one of several calls; None when it may."""
    tool = catalog.tools.get(call.tool)
    try:
        if tool is not None:
            walls.check(step.context.agent.wall, tool)
    except OutsideWall as error:
        return str(error)
    return None


def _refused(planned: PlannedStep, reason: str) -> PlanStepOutput:
    """A call that is not made; what was to go with it was checked by nobody, and is not kept."""
    bare = planned.decision.model_copy(update={"arguments": {}})
    return PlanStepOutput(
        decision=bare,
        refusal=reason,
        usage=planned.usage,
        dropped=planned.dropped,
        conversation=planned.conversation,
    )


def _inside(selection: Selection, catalog: Catalog, walls: Sequence[Wall]) -> Selection:
    """A selection without the tools that the agent may not touch."""
    kept = _names_inside(selection.tools, catalog, walls)
    if kept == selection.tools:
        return selection
    prerequisites = tuple(name for name in selection.prerequisites if name in kept)
    scores = {name: score for name, score in selection.scores.items() if name in kept}
    padding = tuple(name for name in selection.padding if name in kept)
    changes = {
        "tools": kept,
        "prerequisites": prerequisites,
        "padding": padding,
        "scores": scores,
    }
    return selection.model_copy(update=changes)


def _names_inside(names: Iterable[str], catalog: Catalog, walls: Sequence[Wall]) -> tuple[str, ...]:
    tools = catalog.tools
    return tuple(name for name in names if name in tools and is_inside(tools[name], walls))


def _shown(step: PlanStepInput, catalog: Catalog, walls: Sequence[Wall]) -> PlanStepInput:
    """The step as its planner sees it: what was selected or discovered outside is not there."""
    discovered = _names_inside(step.context.discovered, catalog, walls)
    forwarded = _names_inside(step.context.forwarded, catalog, walls)
    seen = {"discovered": discovered, "forwarded": forwarded}
    context = step.context.model_copy(update=seen)
    selection = _inside(step.selection, catalog, walls)
    return step.model_copy(update={"context": context, "selection": selection})


def _with_discovered(
    selection: Selection, context: StepContext, catalog: Catalog, walls: Sequence[Wall]
) -> Selection:
    """Discovered tools join every later step of the leg."""
    found = _names_inside(context.discovered, catalog, walls)
    extra = tuple(name for name in found if name not in selection.tools)
    if not extra:
        return selection
    return selection.model_copy(update={"tools": (*selection.tools, *extra)})
