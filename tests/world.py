"""Plays the activities of missions from a script, without router, planner and provider."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import httpx
from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from orchestrator.activities.authority import Authority, WallGuard, check_sender
from orchestrator.activities.boundary import (
    heartbeats,
    metered,
    spent_on,
    translated_errors,
    translated_troubles,
)
from orchestrator.activities.cancel_review import CancelReview, approved_as
from orchestrator.activities.catalog_activities import CatalogActivities, await_key
from orchestrator.activities.kept_messages import KeptMessages
from orchestrator.activities.observe_activities import ObserveActivities
from orchestrator.activities.offer_activities import OfferActivities
from orchestrator.activities.plan_activities import PlanActivities
from orchestrator.activities.planning_activities import HandOverActivities
from orchestrator.activities.prepare_activities import PrepareActivities
from orchestrator.activities.rollback_activities import RollbackActivities, SweepActivities
from orchestrator.activities.tool_activities import check_grant, postponed, with_cancel_arguments
from orchestrator.adapters.approval_keys import ApprovalKeys
from orchestrator.adapters.http.personal_arguments import PersonalValues
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.money import stated_price
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.budget import Usage
from orchestrator.core.errors import (
    DecisionInvalid,
    GrantMissing,
    OrchestratorError,
)
from orchestrator.core.plan_origin import PlanOrigin
from orchestrator.core.record import Record, shared_fields
from orchestrator.messages import names
from orchestrator.messages.failure_details import ModelCheck
from orchestrator.messages.leg import HandOverInput, HandOverPlan
from orchestrator.messages.mission import BegunPlan
from orchestrator.messages.mission_policy import BeginInput, CatalogPin, MissionPolicy
from orchestrator.messages.observed import ObservedCall, ObserveInput
from orchestrator.messages.plan_preview import PlanInput, PlanPreview, PlanReview, PlanReviewInput
from orchestrator.messages.rollback import CompensateInput, FindStrandedInput, FindStrandedOutput
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
from orchestrator.routing.router import Router
from orchestrator.routing.selection import Selection
from orchestrator.saga.obligation import Obligation
from orchestrator.saga.orders import MOST_EFFECTS, Order
from orchestrator.saga.outcome import CompensationOutcome, ToolOutcome
from orchestrator.testing.installation import fake_selection
from tests.fakes import MemoryCatalogs, MemoryGrants, MemoryObservations, MemoryPii, MemorySecrets

DecideStep = StepDecision | PlannedStep | Callable[[StepContext], StepDecision | PlannedStep]
"""A decision, or a function that makes one from the context of the step."""
PlayCall = ToolOutcome | Exception | Callable[[ToolCall], Awaitable[ToolOutcome]]
"""The outcome of a call; an exception is a failed attempt, which Temporal retries."""
PlayCompensation = (
    CompensationOutcome | Exception | Callable[[Obligation], Awaitable[CompensationOutcome]]
)
"""The outcome of a compensation; an exception is a failed attempt."""
_T = TypeVar("_T")
SELECT_TOOLS = "select_tools"
PLAN_STEP = "plan_step"
"""Parts of the activity THINK, recorded one by one."""


@dataclass(frozen=True)
class FakeCall:
    """An attempt of an activity, recorded by a `FakeWorld`."""

    activity: str
    subject: str
    """The leg that thinks, the called tool, or the tool whose obligation is cancelled."""
    message: Record
    at: datetime
    """Start by the server's clock, which may skip."""


class Hold:
    """Keeps an activity from answering, so that a test can act while it runs.

    ```python
    booking = world.hold(names.INVOKE_TOOL, "book_flight")
    ...                                                           # start a mission
    async with booking:                                           # once it runs
        ...                                                       # for instance, cancel
    ```
    """

    def __init__(self) -> None:
        self._reached = asyncio.Event()
        self._released = asyncio.Event()

    async def __aenter__(self) -> None:
        """Wait until the activity is held; see `reached`."""
        await self.reached()

    async def __aexit__(self, *_: object) -> None:
        """Release the activity."""
        self.release()

    async def reached(self, *, timeout_s: float = 20.0) -> None:
        """Wait until the activity is held.

        Raises:
            TimeoutError: the activity was not called in time.
        """
        async with asyncio.timeout(timeout_s):
            await self._reached.wait()

    def release(self) -> None:
        """Let the activity answer, now and in later attempts."""
        self._released.set()

    async def passed(self) -> None:
        """Block the calling activity, with heartbeats."""
        self._reached.set()
        async with heartbeats():
            await self._released.wait()


class FakeWorld:
    """The activities of missions, played from a script: no router, no planner, no provider.

    The catalog, the cards with their digests, the checks of senders, grants and own cancels, the
    walls of agents, the reading of ledgers and the recovery of stopped missions are real. Every
    attempt is recorded in order.

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

    By default legs finish, calls succeed and obligations are cancelled.
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
        """Create a world; with approval keys, decisions must be signed."""
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
        """Usage of each planner step, like that of a model."""
        self.checks_orders = False
        """True if a leg without orders may have an effect only with a person's approval."""
        self.wants_proof = False
        """True if a leg without orders must read something, as with a real worker."""
        self.may_observe = False
        """True, before `govern`, if the worker lets calls run without guards."""
        self.model_problems: dict[str, str] = {}
        """Reasons why models are unavailable, by name."""
        self._holds: dict[tuple[str, str], Hold] = {}
        catalogs = self.catalogs = MemoryCatalogs()
        catalogs.put(made)
        wire = _NoWire(secrets=MemorySecrets(), pii=pii or MemoryPii(), http=_no_wire())
        self._client, self._catalogs, self._wire = client, catalogs, wire
        self._cancels = CancelReview(wire)
        self.grants = MemoryGrants()
        self.observations = MemoryObservations()
        self._kept = KeptMessages(self.observations)
        self._plans: list[MissionPlan | OrchestratorError] = []
        self.govern(policy or MissionPolicy(), approval_keys)
        self._rollback = RollbackActivities(catalogs, wire, client, self.grants, serves_sagas=True)
        self._swept = SweepActivities(client, self.grants)
        self.staff()
        self._stranded: tuple[tuple[str, ...], ...] = ((),)

    # -- the script -------------------------------------------------------------------------------

    def govern(self, policy: MissionPolicy, approval_keys: ApprovalKeys | None = None) -> None:
        """Set the worker's policy and the keys of signed decisions."""
        self._authority = Authority(
            policy, approval_keys, serves_sagas=True, may_observe=self.may_observe
        )
        self._prepare = _Prepare(
            self, self._catalogs, self._wire, authority=self._authority, grants=self.grants
        )
        plans = _ScriptedPlans(self._begun)
        self._plan_reviews = PlanActivities(self.catalog, self._catalogs, plans, self._authority)

    def plan(self, *legs: LegPlan) -> None:
        """Set the legs of every mission."""
        self._plan = self._plan.model_copy(update={"legs": legs})

    def staff(self, *agents: AgentProfile) -> None:
        """Set the worker's profiles, to which legs can hand over; none by default."""
        self._hand_overs = HandOverActivities(self._catalogs, agents)

    def doubt(self, *doubts: Doubt) -> None:
        """Set the doubts about the goal of every mission."""
        self._plan = self._plan.model_copy(update={"doubts": doubts})

    def replan(self, *plans: MissionPlan | OrchestratorError) -> None:
        """Set the plans of the next goals; the last one repeats."""
        self._plans = list(plans)

    def plan_by_model(self) -> None:
        """Make the plan a model's, whose orders nobody has confirmed."""
        origin = PlanOrigin(planner="model", model="test:model")
        self._plan = self._plan.model_copy(update={"made_by": origin})

    def uncover(self, *texts: str) -> None:
        """Set the parts of every goal that no leg serves."""
        self._plan = self._plan.model_copy(update={"uncovered": texts})

    def decide(self, leg_id: str, *decisions: DecideStep) -> None:
        """Set the decisions of a leg, step by step; after the last decision it finishes."""
        self._decisions[leg_id] = list(decisions)

    def answer(self, tool: str, *outcomes: PlayCall) -> None:
        """Set the outcomes of the attempts to call a tool; the last one repeats."""
        self._outcomes[tool] = list(outcomes)

    def compensate(self, tool: str, *outcomes: PlayCompensation) -> None:
        """Set the outcomes of the attempts to compensate a tool's call; the last one repeats."""
        self._compensations[tool] = list(outcomes)

    def forward(self, *tools: str) -> None:
        """Set the tools that every step sees; all of the catalog by default."""
        self._forwarded = tools

    def find(self, query: str, *tools: str) -> None:
        """Set the results of `tools.discover` for a query."""
        self._found[query] = tools

    def strand(self, *pages: tuple[str, ...]) -> None:
        """Set the ids of stopped missions that a sweep finds, page by page."""
        self._stranded = pages

    def lack(self, tool: str, *obstacles: str) -> None:
        """Set the missing configuration of a tool; without obstacles it can be called."""
        self._wire.missing = {**self._wire.missing, tool: obstacles}

    def hold(self, activity_name: str, subject: str = "") -> Hold:
        """Hold every attempt of an activity on a subject until it is released."""
        hold = self._holds[activity_name, subject] = Hold()
        return hold

    # -- what happened ----------------------------------------------------------------------------

    def attempts(self, activity_name: str, subject: str | None = None) -> list[FakeCall]:
        """Return the recorded attempts of an activity, on one subject or on all, in order."""
        return [
            call
            for call in self.calls
            if call.activity == activity_name and subject in (None, call.subject)
        ]

    def subjects(self, activity_name: str) -> list[str]:
        """Return the subjects of an activity's attempts, in order."""
        return [call.subject for call in self.attempts(activity_name)]

    def contexts(self, leg_id: str) -> list[StepContext]:
        """Return the context of each step of a leg."""
        messages = [call.message for call in self.attempts(PLAN_STEP, leg_id)]
        return [m.context for m in messages if isinstance(m, PlanStepInput)]

    def sent(self, tool: str) -> list[ToolCall]:
        """Return the sent calls of a tool, one for each attempt."""
        messages = [call.message for call in self.attempts(names.INVOKE_TOOL, tool)]
        return [m for m in messages if isinstance(m, ToolCall)]

    def compensated(self) -> list[Obligation]:
        """Return the compensated obligations, one for each attempt."""
        messages = [call.message for call in self.attempts(names.COMPENSATE)]
        return [m.obligation for m in messages if isinstance(m, CompensateInput)]

    # -- the activities ---------------------------------------------------------------------------

    def activities(self) -> list[Callable[..., Any]]:
        """Return the activities for a worker."""
        return [
            self._pin_catalog,
            self._split_goal,
            self._preview_plan,
            self._review_plan,
            self._plan_hand_over,
            self._think,
            self._kept.read_kept,
            await_key,
            self._check_model,
            self._discover_tools,
            CatalogActivities(self.catalog, self.catalogs).await_state,
            OfferActivities(self.catalogs, Router).offer_tools,
            self._prepare_call,
            self._prepare_overcharge,
            self._invoke_tool,
            self._observe_call,
            self._rollback.collect_ledger,
            self._rollback.read_rollback,
            self._rollback.conclude_mission,
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

    async def _select_tools(self, wanted: StepContext | KeptMessage) -> Selection:
        with translated_errors():
            context = await self._kept.context(wanted)
        await self._enter(SELECT_TOOLS, context.leg_id, context)
        tools = tuple(dict.fromkeys([*self._forwarded, *context.discovered]))
        selection = fake_selection(*tools, catalog_size=len(self.catalog), band="moderate")
        with translated_errors():
            return await self._kept.keep(wanted, selection)

    async def _plan_step(self, step: PlanStepInput) -> PlanStepOutput:
        context = step.context
        await self._enter(PLAN_STEP, context.leg_id, step)
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
            if isinstance(wanted.call, KeptMessage):
                await self._kept.learn(wanted.call)
        planned = await self._plan_step(PlanStepInput(context=context, selection=selection))
        call, prepared = planned.decision, None
        if isinstance(call, CallTool) and not (planned.refusal or planned.unusable):
            tool = self.catalog.tools.get(call.tool)
            if tool is None or tool.effect is not Effect.CANCEL:
                prepared = await self._prepare_call(_decided(wanted.call, call))
        forwarded = SelectedTools(step=context.step, **shared_fields(selection, SelectedTools))
        return Thought(selection=forwarded, planned=planned, prepared=prepared)

    @activity.defn(name=names.CHECK_MODEL)
    async def _check_model(self, wanted: ModelCheck) -> ModelCheck:
        await self._enter(names.CHECK_MODEL, wanted.model, wanted)
        problem = self.model_problems.get(wanted.model, "")
        return wanted.model_copy(update={"problem": problem})

    def _refusal(self, context: StepContext, decision: StepDecision) -> str | None:
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
        return await self._prepare.prepare_overcharge(wanted)

    @activity.defn(name=names.INVOKE_TOOL)
    async def _invoke_tool(self, call: ToolCall) -> ToolOutcome:
        with translated_errors():
            check_sender(call, serves_sagas=self._authority.serves_sagas)
            tool = self.catalog.tool(call.tool)
            refusal = await self._authority.refusal_of(call, approved_as(tool, call), tool)
            if refusal is not None:
                return ToolOutcome(kind="rejected", reason=refusal)
            check_grant(tool, call)
            try:
                self._cancels.check(self.catalog, tool, call)
            except GrantMissing as doubt:
                return ToolOutcome(kind="rejected", reason=str(doubt))
        await self._enter(names.INVOKE_TOOL, call.tool, call)
        played = _next(self._outcomes, call.tool) or _went_well(call)
        if isinstance(played, Exception):
            raise played.with_traceback(None)  # one instance may be played many times
        outcome = await played(call) if callable(played) else played
        outcome = with_cancel_arguments(self.catalog, tool, call, outcome)
        return await self._kept.shortened(outcome, call)

    @activity.defn(name=names.OBSERVE_CALL)
    async def _observe_call(self, wanted: ObserveInput) -> ObservedCall:
        await self._enter(names.OBSERVE_CALL, wanted.tool, wanted)
        observing = _Observe(
            self._catalogs, self._wire, self.grants, authority=self._authority, kept=self._kept
        )
        observing.play = lambda: _next(self._outcomes, wanted.tool)
        return await observing.observe_call(wanted)

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
        with postponed(message) if isinstance(message, ToolCall) else translated_errors():
            self.catalogs.get(self.catalog.digest)


def _decided(message: PrepareInput | KeptMessage, call: CallTool) -> PrepareInput | KeptMessage:
    decided = {"tool": call.tool, "arguments": call.arguments, "reason": call.reason}
    if isinstance(message, KeptMessage):
        return message.model_copy(update={"changes": {**message.changes, **decided}})
    return message.model_copy(update=decided)


class _Prepare(PrepareActivities):
    """Prepares calls; a leg without orders may do everything in its script."""

    def __init__(self, world: FakeWorld, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._world = world

    async def _check_and_draft(
        self, wanted: PrepareInput, catalog: Catalog, tool: Tool
    ) -> PreparedCall:
        if not (wanted.orders or self._world.checks_orders):
            every = Order(tools=tuple(self._world.catalog.tools), count=MOST_EFFECTS)
            changes = {"orders": (every,), "covered": (every,), "effects": ()}
            prepared = await super()._check_and_draft(
                wanted.model_copy(update=changes), catalog, tool
            )
            made = prepared.obligation
            unlike = None if made is None else made.model_copy(update={"essence": ""})
            return prepared.model_copy(update={"obligation": unlike})
        return await super()._check_and_draft(wanted, catalog, tool)


class _Observe(ObserveActivities):
    """Observes calls whose answers are scripted."""

    play: Callable[[], PlayCall | None]

    async def _sent_once(
        self, catalog: Catalog, tool: Tool, call: ToolCall, attempts: int
    ) -> ToolOutcome:
        played = self.play() or _went_well(call)
        if isinstance(played, Exception):
            raise played.with_traceback(None)
        outcome = await played(call) if callable(played) else played
        return with_cancel_arguments(catalog, tool, call, outcome)


class _ScriptedPlans:
    """Plans from the script instead of a planner and a router."""

    def __init__(self, begun: Callable[[BeginInput], Awaitable[BegunPlan]]) -> None:
        self._begun = begun

    async def split_goal(self, mission: BeginInput) -> BegunPlan:
        """Return the scripted plan."""
        return await self._begun(mission)

    async def first_selection(self, context: StepContext, catalog: Catalog) -> Selection:
        """Select every tool."""
        return fake_selection(*catalog.tools, catalog_size=len(catalog), band="moderate")


class _NoWire(ToolClient):
    """A tool client for tools that no document describes."""

    missing: Mapping[str, tuple[str, ...]] = {}

    async def obstacles(self, catalog: Catalog, tool: Tool) -> tuple[str, ...]:
        """Return the scripted obstacles."""
        return self.missing.get(tool.name, ())


def _no_wire() -> httpx.AsyncClient:
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
