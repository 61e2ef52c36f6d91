"""A world without router, planner or provider: the activities of missions, played from a script."""

# Before the activities: it finds them, whatever files a user's folder has.
import orchestrator.runtime.own_packages  # noqa: F401

# isort: split
import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import httpx
from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from activities.authority import Authority
from activities.boundary import heartbeats, translated_errors
from activities.cancel_review import CancelReview, approved_as
from activities.catalog_activities import CatalogActivities
from activities.hand_over_activities import HandOverActivities
from activities.kept_messages import KeptMessages
from activities.key_activities import await_key
from activities.metered import metered
from activities.model_troubles import spent_on, translated_troubles
from activities.overcharge_activities import OverchargeActivities
from activities.plan_activities import PlanActivities
from activities.prepare_activities import PrepareActivities
from activities.reserved_money import ReservedMoney
from activities.rollback_activities import RollbackActivities
from activities.sweep_activities import SweepActivities
from activities.tool_activities import check_grant, held_back, with_cancel_arguments
from activities.wall_guard import WallGuard
from orchestrator.adapters.approval_keys import ApprovalKeys
from orchestrator.adapters.http.pinning import PersonalValues
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.stated_prices import stated_price
from orchestrator.catalog.tool import Tool
from orchestrator.core.budget import Usage
from orchestrator.core.errors import (
    DecisionInvalid,
    GrantMissing,
    NotReserved,
    OrchestratorError,
)
from orchestrator.core.plan_origin import PlanOrigin
from orchestrator.core.record import Record
from orchestrator.messages import names
from orchestrator.messages.begin import BeginInput
from orchestrator.messages.hand_over import HandOverInput, HandOverPlan
from orchestrator.messages.kept import KeptMessage
from orchestrator.messages.mission_policy import CatalogPin, MissionPolicy
from orchestrator.messages.model_trouble import ModelCheck
from orchestrator.messages.plan_preview import (
    BegunPlan,
    PlanInput,
    PlanPreview,
    PlanReview,
    PlanReviewInput,
)
from orchestrator.messages.rollback import CompensateInput, FindStrandedInput, FindStrandedOutput
from orchestrator.messages.step import DiscoverInput, DiscoverOutput, PlanStepInput, PlanStepOutput
from orchestrator.messages.thought import ThinkInput, Thought
from orchestrator.messages.tool_call import OverchargeInput, PreparedCall, PrepareInput, ToolCall
from orchestrator.planning.effects import doubt_about_finish, doubt_about_orders, nothing_read
from orchestrator.planning.models import (
    AgentProfile,
    CallTool,
    Doubt,
    Finish,
    LegPlan,
    MissionPlan,
    StepContext,
    StepDecision,
)
from orchestrator.planning.one_step import inside_wall
from orchestrator.planning.planner import PlannedStep, as_planned
from orchestrator.routing.selection import Selection
from orchestrator.saga.ledger import Obligation
from orchestrator.saga.orders import MOST_EFFECTS, Order
from orchestrator.saga.outcome import CompensationOutcome, ToolOutcome
from orchestrator.testing.fakes import fake_selection
from orchestrator.testing.memory import (
    MemoryCatalogs,
    MemoryGrants,
    MemoryObservations,
    MemoryPii,
    MemorySecrets,
)

DecideStep = StepDecision | PlannedStep | Callable[[StepContext], StepDecision | PlannedStep]
"""A decision, or what makes one from all that the planner of the step was told."""
PlayCall = ToolOutcome | Exception | Callable[[ToolCall], Awaitable[ToolOutcome]]
"""What a call comes to; an exception is an attempt that failed, and Temporal tries again."""
PlayCompensation = (
    CompensationOutcome | Exception | Callable[[Obligation], Awaitable[CompensationOutcome]]
)
"""What a compensation comes to; an exception as above."""
_T = TypeVar("_T")


@dataclass(frozen=True)
class FakeCall:
    """One attempt of one activity, as a `FakeWorld` recorded it."""

    activity: str
    subject: str
    """The leg that thinks, the tool that is called, or the tool whose obligation is taken back."""
    message: Record
    at: datetime
    """When it began, by the server's clock, which may skip."""


class Hold:
    """Keeps an activity from answering, so that a test can act while it is on its way.

    ```python
    booking = world.hold(names.INVOKE_TOOL, "book_flight")
    ...                                                           # start a mission
    async with booking:                                           # once it is on its way
        ...                                                       # for instance, cancel
    ```
    """

    def __init__(self) -> None:
        self._reached = asyncio.Event()
        self._released = asyncio.Event()

    async def __aenter__(self) -> None:
        """Wait until the activity is being held; see `reached`."""
        await self.reached()

    async def __aexit__(self, *_: object) -> None:
        """Let it answer."""
        self.release()

    async def reached(self, *, timeout_s: float = 20.0) -> None:
        """Wait until the activity is being held.

        Raises:
            TimeoutError: nobody called it in time.
        """
        async with asyncio.timeout(timeout_s):
            await self._reached.wait()

    def release(self) -> None:
        """Let it answer, now and from now on."""
        self._released.set()

    async def passed(self) -> None:
        """Called by the activity: be held, with a heartbeat."""
        self._reached.set()
        async with heartbeats():
            await self._released.wait()


class FakeWorld:
    """The activities of missions, played from a script: no router, no planner, no provider.

    Real are the catalog, the cards with their digests, the checks of grants and of a leg's own
    cancels, the walls of agents, the reading of legs from the server, and the recovery of missions
    that were stopped. Every attempt is recorded in order.

    ```python
    world = FakeWorld(client, [fake_tool("book_flight", cancel_tool="cancel_flight")])
    world.plan(fake_leg("flight"), fake_leg("hotel", after=("flight",)))
    world.decide("flight", CallTool(tool="book_flight"))          # then it finishes
    world.decide("hotel", GiveUp(reason="everything is full"))
    async with Worker(client, task_queue="tests", workflows=ALL_WORKFLOWS,
                      activities=world.activities()):
        ...                                                       # start a mission, wait for it
    assert world.subjects(names.COMPENSATE) == ["book_flight"]
    ```

    What the script leaves out goes well: legs finish, calls succeed, obligations are cancelled.
    """

    def __init__(
        self,
        client: Client,
        tools: Iterable[Tool] | Catalog,
        *,
        pii: PersonalValues | None = None,
        policy: MissionPolicy | None = None,
        approval_keys: ApprovalKeys | None = None,
    ) -> None:
        """Take the server that missions run on, the tools they have, and the vault: empty if None.

        A call that needs what the vault lacks makes its leg ask for it. `policy` and
        `approval_keys` are those of the worker: no mission may go beyond that policy, and with keys
        decisions have to be signed.
        """
        made = tools if isinstance(tools, Catalog) else Catalog({}, {t.name: t for t in tools})
        self.catalog = made
        self.calls: list[FakeCall] = []
        self._plan = MissionPlan(legs=())
        self._decisions: dict[str, list[DecideStep]] = {}
        self._outcomes: dict[str, list[PlayCall]] = {}
        self._compensations: dict[str, list[PlayCompensation]] = {}
        self._found: dict[str, tuple[str, ...]] = {}
        self._forwarded: tuple[str, ...] = tuple(made.tools)
        self.usage: Usage | None = None
        """What each planner step takes, as a model would."""
        self.checks_orders = False
        """Whether a leg that states no orders may have no effect without a person."""
        self.wants_proof = False
        """Whether a leg that orders nothing has to read something, as it has with a real worker."""
        self.model_problems: dict[str, str] = {}
        """Why models cannot be asked, by name; all others can."""
        self._holds: dict[tuple[str, str], Hold] = {}
        catalogs = self.catalogs = MemoryCatalogs()
        catalogs.put(made)
        wire = _NoWire(secrets=MemorySecrets(), pii=pii or MemoryPii(), http=_no_wire())
        self._client, self._catalogs, self._wire = client, catalogs, wire
        self._cancels = CancelReview(wire, client)
        self._reserved = ReservedMoney(client)
        self.observations = MemoryObservations()
        self._kept = KeptMessages(self.observations)
        self._plans: list[MissionPlan | OrchestratorError] = []
        self.govern(policy or MissionPolicy(), approval_keys)
        self._rollback = RollbackActivities(catalogs, wire, client, MemoryGrants())
        self._swept = SweepActivities(client)
        self.staff()
        self._stranded: tuple[tuple[str, ...], ...] = ((),)

    # -- the script -------------------------------------------------------------------------------

    def govern(self, policy: MissionPolicy, approval_keys: ApprovalKeys | None = None) -> None:
        """From now on, what the worker's policy is, and with which keys decisions are signed."""
        self._authority = Authority(policy, approval_keys)
        self._prepare = _Prepare(
            self, self._catalogs, self._wire, self._client, authority=self._authority
        )
        self._overcharges = OverchargeActivities(self._catalogs, self._client, self._authority)
        plans = _ScriptedPlans(self._begun)
        self._plan_reviews = PlanActivities(self.catalog, self._catalogs, plans, self._authority)

    def plan(self, *legs: LegPlan) -> None:
        """The legs of every mission."""
        self._plan = self._plan.model_copy(update={"legs": legs})

    def staff(self, *agents: AgentProfile) -> None:
        """The worker's profiles, by which legs hand parts of theirs over; none by default."""
        self._hand_overs = HandOverActivities(self._catalogs, agents)

    def doubt(self, *doubts: Doubt) -> None:
        """What of the goal of every mission is in doubt."""
        self._plan = self._plan.model_copy(update={"doubts": doubts})

    def plan_anew(self, *plans: MissionPlan | OrchestratorError) -> None:
        """What each goal is planned as from the next one on; the last one again and again."""
        self._plans = list(plans)

    def plan_by_model(self) -> None:
        """Let the plan be one that a model made: its orders are nobody's yet."""
        origin = PlanOrigin(planner="model", model="test:model")
        self._plan = self._plan.model_copy(update={"made_by": origin})

    def uncover(self, *texts: str) -> None:
        """What of the goal of every mission no leg says it serves."""
        self._plan = self._plan.model_copy(update={"uncovered": texts})

    def decide(self, leg_id: str, *decisions: DecideStep) -> None:
        """What the planner decides at each step of a leg; after the last one the leg finishes."""
        self._decisions[leg_id] = list(decisions)

    def answer(self, tool: str, *outcomes: PlayCall) -> None:
        """What each attempt to call a tool comes to; the last one again and again."""
        self._outcomes[tool] = list(outcomes)

    def compensate(self, tool: str, *outcomes: PlayCompensation) -> None:
        """What each attempt to compensate a call of a tool comes to; the last one repeats."""
        self._compensations[tool] = list(outcomes)

    def forward(self, *tools: str) -> None:
        """The tools that every step sees; all of the catalog when this is not called."""
        self._forwarded = tools

    def find(self, query: str, *tools: str) -> None:
        """What `tools.discover` finds for a query."""
        self._found[query] = tools

    def strand(self, *pages: tuple[str, ...]) -> None:
        """The ids of missions that a sweep finds to be stopped, page by page."""
        self._stranded = pages

    def lack(self, tool: str, *obstacles: str) -> None:
        """What must be configured before a tool can be called from now on; nothing: it can be."""
        self._wire.lacking = {**self._wire.lacking, tool: obstacles}

    def hold(self, activity_name: str, subject: str = "") -> Hold:
        """Hold every attempt of an activity on a subject until it is released."""
        hold = self._holds[activity_name, subject] = Hold()
        return hold

    # -- what happened ----------------------------------------------------------------------------

    def attempts(self, activity_name: str, subject: str | None = None) -> list[FakeCall]:
        """The recorded attempts of an activity, on one subject or on all, in order."""
        return [
            call
            for call in self.calls
            if call.activity == activity_name and subject in (None, call.subject)
        ]

    def subjects(self, activity_name: str) -> list[str]:
        """The subjects of an activity's attempts, in order."""
        return [call.subject for call in self.attempts(activity_name)]

    def contexts(self, leg_id: str) -> list[StepContext]:
        """What the planner was told at each step of a leg."""
        messages = [call.message for call in self.attempts(names.PLAN_STEP, leg_id)]
        return [m.context for m in messages if isinstance(m, PlanStepInput)]

    def sent(self, tool: str) -> list[ToolCall]:
        """The calls of a tool that went out, one for each attempt."""
        messages = [call.message for call in self.attempts(names.INVOKE_TOOL, tool)]
        return [m for m in messages if isinstance(m, ToolCall)]

    def compensated(self) -> list[Obligation]:
        """The obligations that were to be taken back, one for each attempt."""
        messages = [call.message for call in self.attempts(names.COMPENSATE)]
        return [m.obligation for m in messages if isinstance(m, CompensateInput)]

    # -- the activities ---------------------------------------------------------------------------

    def activities(self) -> list[Callable[..., Any]]:
        """All that a worker registers."""
        return [
            self._pin_catalog,
            self._split_goal,
            self._preview_plan,
            self._review_plan,
            self._plan_hand_over,
            self._select_tools,
            self._plan_step,
            self._think,
            self._kept.read_kept,
            await_key,
            self._check_model,
            self._discover_tools,
            CatalogActivities(self.catalog, self.catalogs).await_state,
            self._prepare_call,
            self._prepare_overcharge,
            self._invoke_tool,
            self._rollback.collect_legs,
            self._rollback.read_rollback,
            self._compensate,
            self._find_stranded,
            self._swept.recover_mission,
        ]

    @activity.defn(name=names.PIN_CATALOG)
    async def _pin_catalog(self) -> CatalogPin:
        pin = CatalogPin(digest=self.catalog.digest, size=len(self.catalog))
        await self._enter(names.PIN_CATALOG, "", pin)
        return pin

    @activity.defn(name=names.SPLIT_GOAL)
    async def _split_goal(self, mission: BeginInput) -> BegunPlan:
        with translated_errors():
            self._authority.check_begin(mission)
        await self._enter(names.SPLIT_GOAL, "", mission)
        async with metered() as meter:
            try:
                return await self._begun(mission)
            except ApplicationError:
                meter.count(self.usage or Usage())
                raise

    async def _begun(self, mission: BeginInput) -> BegunPlan:
        """The scripted plan, as the worker's policy lets it begin."""
        with translated_errors():
            self._authority.check_begin(mission)
            plan = _next({"": self._plans}, "") or self._plan
            if isinstance(plan, OrchestratorError):
                raise plan
            return self._authority.begun(plan, mission)

    @activity.defn(name=names.PREVIEW_PLAN)
    async def _preview_plan(self, wanted: PlanInput) -> PlanPreview:
        await self._enter(names.PREVIEW_PLAN, "", wanted)
        return await self._plan_reviews.preview_plan(wanted)

    @activity.defn(name=names.REVIEW_PLAN)
    async def _review_plan(self, wanted: PlanReviewInput) -> PlanReview:
        await self._enter(names.REVIEW_PLAN, "", wanted)
        return await self._plan_reviews.review_plan(wanted)

    @activity.defn(name=names.PLAN_HAND_OVER)
    async def _plan_hand_over(self, wanted: HandOverInput) -> HandOverPlan:
        await self._enter(names.PLAN_HAND_OVER, wanted.asked.leg_id, wanted)
        return await self._hand_overs.plan_hand_over(wanted)

    @activity.defn(name=names.SELECT_TOOLS)
    async def _select_tools(self, wanted: StepContext | KeptMessage) -> Selection:
        with translated_errors():
            context = await self._kept.context(wanted)
        await self._enter(names.SELECT_TOOLS, context.leg_id, context)
        tools = tuple(dict.fromkeys([*self._forwarded, *context.discovered]))
        selection = fake_selection(*tools, catalog_size=len(self.catalog), band="moderate")
        with translated_errors():
            return await self._kept.keep(wanted, selection)

    @activity.defn(name=names.PLAN_STEP)
    async def _plan_step(self, wanted: PlanStepInput | KeptMessage) -> PlanStepOutput:
        with translated_errors():
            step = await self._kept.step(wanted)
        context = step.context
        await self._enter(names.PLAN_STEP, context.leg_id, step)
        script = self._decisions.get(context.leg_id, [])
        if context.step > len(script):
            scripted: DecideStep = Finish(summary=f"{context.leg_id} is done.")
        else:
            scripted = script[context.step - 1]
        with translated_errors(), translated_troubles():
            try:
                planned = as_planned(scripted(context) if callable(scripted) else scripted)
            except DecisionInvalid as error:
                return spent_on(error, self.usage)
        planned = inside_wall(planned, lambda call: self._refusal(context, call))
        decision = planned.decision
        refusal = self._refusal(context, decision)
        ends = isinstance(decision, Finish) and refusal is None
        return PlanStepOutput(
            decision=decision,
            refusal=refusal,
            usage=planned.usage or self.usage,
            dropped=planned.dropped,
            unproved=nothing_read(context) if ends and self.wants_proof else "",
        )

    @activity.defn(name=names.THINK)
    async def _think(self, wanted: ThinkInput) -> Thought:
        selection = await self._select_tools(wanted.step)
        with translated_errors():
            context = await self._kept.context(wanted.step)
            await self._kept.learn(wanted.call)
        planned = await self._plan_step(PlanStepInput(context=context, selection=selection))
        call, prepared = planned.decision, None
        if isinstance(call, CallTool) and not (planned.refusal or planned.unusable):
            decided = call.model_dump(mode="json", include={"tool", "arguments", "reason"})
            changes = {**wanted.call.changes, **decided}
            told = wanted.call.model_copy(update={"changes": changes})
            prepared = await self._prepare_call(told)
        return Thought(selection=selection, planned=planned, prepared=prepared)

    @activity.defn(name=names.CHECK_MODEL)
    async def _check_model(self, wanted: ModelCheck) -> ModelCheck:
        await self._enter(names.CHECK_MODEL, wanted.model, wanted)
        problem = self.model_problems.get(wanted.model, "")
        return wanted.model_copy(update={"problem": problem})

    def _refusal(self, context: StepContext, decision: StepDecision) -> str | None:
        """Why the agent may not make the call, or not end yet, as a real worker says it."""
        if isinstance(decision, Finish):
            asked = doubt_about_finish if self.wants_proof else doubt_about_orders
            return asked(decision, context)
        if not isinstance(decision, CallTool) or decision.tool not in self.catalog.tools:
            return None
        guard = WallGuard()
        tool = self.catalog.tool(decision.tool)
        return guard.refusal(context.agent.wall, tool, at="decision")

    @activity.defn(name=names.DISCOVER_TOOLS)
    async def _discover_tools(self, wanted: DiscoverInput) -> DiscoverOutput:
        await self._enter(names.DISCOVER_TOOLS, wanted.query, wanted)
        return DiscoverOutput(tools=self._found.get(wanted.query, ()))

    @activity.defn(name=names.PREPARE_CALL)
    async def _prepare_call(self, message: PrepareInput | KeptMessage) -> PreparedCall:
        with translated_errors():
            wanted = await self._kept.prepared(message, PrepareInput)
        await self._enter(names.PREPARE_CALL, wanted.tool, wanted)
        return await self._prepare.prepare_call(wanted)

    @activity.defn(name=names.PREPARE_OVERCHARGE)
    async def _prepare_overcharge(self, message: OverchargeInput | KeptMessage) -> PreparedCall:
        with translated_errors():
            wanted = await self._kept.prepared(message, OverchargeInput)
        await self._enter(names.PREPARE_OVERCHARGE, wanted.tool, wanted)
        return await self._overcharges.prepare_overcharge(wanted)

    @activity.defn(name=names.INVOKE_TOOL)
    async def _invoke_tool(self, call: ToolCall) -> ToolOutcome:
        with translated_errors():
            tool = self.catalog.tool(call.tool)
            refusal = await self._authority.refusal_of(call, approved_as(tool, call))
            if refusal is not None:
                return ToolOutcome(kind="rejected", reason=refusal)
            check_grant(tool, call)
            try:
                await self._reserved.check(call)
                await self._cancels.check(self.catalog, tool, call)
            except (GrantMissing, NotReserved) as doubt:
                return ToolOutcome(kind="rejected", reason=str(doubt))
        await self._enter(names.INVOKE_TOOL, call.tool, call)
        played = _next(self._outcomes, call.tool) or _went_well(call)
        if isinstance(played, Exception):
            raise played.with_traceback(None)  # one instance may be played many times
        outcome = await played(call) if callable(played) else played
        outcome = with_cancel_arguments(self.catalog, tool, call, outcome)
        return await self._kept.shortened(outcome, call) if call.past else outcome

    @activity.defn(name=names.COMPENSATE)
    async def _compensate(self, wanted: CompensateInput) -> CompensationOutcome:
        tool = wanted.obligation.tool
        await self._enter(names.COMPENSATE, tool, wanted)
        played = _next(self._compensations, tool) or CompensationOutcome(state="cancelled")
        if isinstance(played, Exception):
            raise played.with_traceback(None)  # one instance may be played many times
        return await played(wanted.obligation) if callable(played) else played

    @activity.defn(name=names.FIND_STRANDED)
    async def _find_stranded(self, wanted: FindStrandedInput) -> FindStrandedOutput:
        await self._enter(names.FIND_STRANDED, wanted.page_token, wanted)
        page = int(wanted.page_token or 0)
        more = page + 1 < len(self._stranded)
        return FindStrandedOutput(
            mission_ids=self._stranded[page], page_token=str(page + 1) if more else ""
        )

    async def _enter(self, activity_name: str, subject: str, message: Record) -> None:
        at = activity.info().started_time
        self.calls.append(FakeCall(activity_name, subject, message, at))
        hold = self._holds.get((activity_name, subject))
        if hold is not None:
            await hold.passed()
        with held_back(message) if isinstance(message, ToolCall) else translated_errors():
            self.catalogs.get(self.catalog.digest)


class _Prepare(PrepareActivities):
    """Prepares calls; a leg that states no orders may do what its script says."""

    def __init__(self, world: FakeWorld, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._world = world

    async def _checked(self, wanted: PrepareInput, catalog: Catalog, tool: Tool) -> PreparedCall:
        if not (wanted.orders or self._world.checks_orders):
            every = Order(tools=tuple(self._world.catalog.tools), count=MOST_EFFECTS)
            changes = {"orders": (every,), "covered": (every,), "effects": ()}
            wanted = wanted.model_copy(update=changes)
        return await super()._checked(wanted, catalog, tool)


class _ScriptedPlans:
    """What plans in the place of a planner and a router."""

    def __init__(self, begun: Callable[[BeginInput], Awaitable[BegunPlan]]) -> None:
        self._begun = begun

    async def split_goal(self, mission: BeginInput) -> BegunPlan:
        """The scripted plan."""
        return await self._begun(mission)

    async def first_selection(self, context: StepContext, catalog: Catalog) -> Selection:
        """Every tool."""
        return fake_selection(*catalog.tools, catalog_size=len(catalog), band="moderate")


class _NoWire(ToolClient):
    """A tool client for tools that no document describes."""

    lacking: Mapping[str, tuple[str, ...]] = {}

    async def obstacles(self, catalog: Catalog, tool: Tool) -> tuple[str, ...]:
        """What a test says."""
        return self.lacking.get(tool.name, ())


def _no_wire() -> httpx.AsyncClient:
    """An HTTP client that reaches nobody."""

    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("a fake world has no wire", request=request)

    return httpx.AsyncClient(transport=httpx.MockTransport(refuse))


def _next(scripts: Mapping[str, list[_T]], name: str) -> _T | None:
    script = scripts.get(name)
    if not script:
        return None
    return script.pop(0) if len(script) > 1 else script[0]


def _went_well(call: ToolCall) -> ToolOutcome:
    return ToolOutcome(
        kind="succeeded",
        status=201,
        body={"reference": call.call_id},
        price=stated_price(call.arguments),
    )
