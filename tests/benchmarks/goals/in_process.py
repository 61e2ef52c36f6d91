"""Drives goals in this process: planner, router and sandbox, without a server or a worker.

Each goal has a world of its own, each consequence is approved, and each question has the answers
that its goal lists. Cards, grants, ledgers and rollback have no part in it.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any, Final

import httpx

from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.catalog.catalog import Catalog, load_documents
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.limits import Limits
from orchestrator.core.record import JsonObject
from orchestrator.planning.models import (
    AgentProfile,
    AskUser,
    CallTool,
    CallTools,
    DiscoverTools,
    Fact,
    Finish,
    GiveUp,
    GoalBrief,
    LegPlan,
    MissionPlan,
    Observation,
    StepContext,
    StepDecision,
)
from orchestrator.planning.planner import Planner, as_planned, check_decision, check_plan
from orchestrator.planning.route_context import route_context
from orchestrator.planning.rules.rule_planner import RulePlanner
from orchestrator.routing.discovery import DiscoveryIndex
from orchestrator.routing.router import Router
from orchestrator.runtime.devserver import SANDBOX_PROFILE
from orchestrator.saga.orders import Order, WhenRead
from orchestrator.settings import bundled_specs
from tests.benchmarks.goals.driving import Ending, Person
from tests.benchmarks.goals.models import CLINIC, DOCUMENTS, Goal
from tests.benchmarks.goals.town import Town
from tests.benchmarks.goals.verdict import Verdict, judge
from tests.fakes import MemoryPii, MemorySecrets

_AGENT: Final = AgentProfile(name="generalist", limits=Limits(steps=30))
_GO_ON: Final = "go on"
_SECRETS: Final = {"payments__payments_token": "sandbox", "expenses__expenses_key": "sandbox"}


class Place:
    """The catalog of one document, or of the bundled ones, and the town that serves it."""

    def __init__(self, document: str = "", *, now: datetime | None = None) -> None:
        """Take the name of a document of `documents/`; empty: the bundled ones and the clinic."""
        self.now = now or datetime.now(UTC)
        documents = _served(_documents(document))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.catalog = Catalog.from_documents(documents)
        self.town = Town(documents, self.now.date(), is_theirs=bool(document))
        self.index = DiscoveryIndex(self.catalog)

    @staticmethod
    def today() -> date:
        """Return the day from which the goals count theirs."""
        return datetime.now(UTC).date()

    @cached_property
    def router(self) -> Router:
        """The router of the catalog, without a time limit."""
        return Router(self.catalog).without_deadline()

    def router_of(self, _: Catalog) -> Router:
        """Return the router, as a planner asks for it."""
        return self.router


async def try_all(
    goals: Sequence[Goal],
    planner_of: Callable[[Place], Planner],
    *,
    done: Callable[[Verdict], None] = lambda verdict: None,
) -> list[Verdict]:
    """Return the verdicts on goals, in their order."""
    places: dict[str, Place] = {}
    verdicts = []
    for goal in goals:
        if goal.document not in places:
            places[goal.document] = Place(goal.document)
        place = places[goal.document]
        verdict = await try_out(goal, place, planner_of(place))
        done(verdict)
        verdicts.append(verdict)
    return verdicts


async def try_out(goal: Goal, place: Place, planner: Planner) -> Verdict:
    """Drive one goal in a world of its own and judge it."""
    mission_id = goal.id
    world = await place.town.open(mission_id, goal)
    try:
        ending = await Mission(goal, world.text_of(goal.goal), place, planner).run()
        return judge(goal, mission_id, ending, world)
    finally:
        place.town.close(mission_id)


class Stopped(Exception):
    """A question has no answer, so the mission ends."""


@dataclass
class Leg:
    """One leg while it runs."""

    plan: LegPlan
    facts: tuple[Fact, ...]
    inputs: JsonObject
    seen: list[Observation] = field(default_factory=list)
    discovered: list[str] = field(default_factory=list)
    step: int = 0
    summary: str = ""
    answer: str = ""
    conditions: tuple[WhenRead, ...] = ()

    def learned(self) -> tuple[Fact, ...]:
        """Return its side effects, else what it read last: the facts for the legs after it."""
        good = [
            Fact(
                source=f"{self.plan.leg_id}.{one.step}",
                tool=one.tool,
                side_effect=one.side_effect,
                arguments=one.arguments,
                body=one.body,
                at=one.at,
            )
            for one in self.seen
            if one.outcome == "succeeded"
        ]
        return tuple(fact for fact in good if fact.side_effect) or tuple(good[-1:])


class Mission:
    """One goal while it is driven; its legs hold what was called."""

    def __init__(
        self,
        goal: Goal,
        text: str,
        place: Place,
        planner: Planner,
        *,
        person: Person | None = None,
    ) -> None:
        """Take the goal, the words that are planned, and who answers."""
        self._goal, self._mission_id = goal, goal.id
        self._place, self._planner = place, planner
        self._person = person or Person(goal)
        self._text = text
        self.legs: list[Leg] = []
        self.ended = Ending("running", "", "")

    async def run(self) -> Ending:
        """Plan, run the legs in the order of the plan, and say how it ended."""
        transport = _Wire(self._place.town, self._goal.missing)
        http = httpx.AsyncClient(transport=transport)
        vault = MemoryPii(SANDBOX_PROFILE)
        async with ToolClient(secrets=MemorySecrets(_SECRETS), pii=vault, http=http) as tools:
            self._tools = tools
            try:
                plan = await self._settled_plan()
                for leg in _in_order(plan.legs):
                    await self._run_leg(leg)
            except Stopped:
                return self._ending("failed", "stopped: a question had no answer")
            except OrchestratorError as error:
                return self._ending("failed", f"{type(error).__name__}: {error}")
        return self._ending(self._status(plan), " ".join(leg.summary for leg in self.legs))

    def _ending(self, status: str, summary: str) -> Ending:
        said = " ".join(leg.answer for leg in self.legs)
        return Ending(status, summary, f"{summary} {said}", self._person.asked)

    async def _settled_plan(self) -> MissionPlan:
        """Return a plan whose doubts a person has settled: set aside, or said otherwise."""
        while True:
            plan = await self._planned()
            if not plan.doubts:
                return plan
            said = self._person.settle([f"{doubt.about}: {doubt.why}" for doubt in plan.doubts])
            if said is None:
                raise Stopped
            if said.casefold() == _GO_ON:
                return plan
            self._text = said

    async def _planned(self) -> MissionPlan:
        brief = GoalBrief(
            mission_id=self._mission_id,
            goal=self._text,
            inputs=dict(self._goal.inputs),
            now=self._place.now,
            catalog_digest=self._place.catalog.digest,
        )
        plan = await self._planner.split_goal(brief, self._place.catalog, [_AGENT])
        check_plan(plan)
        return plan

    def _ask(self, text: str, fields: dict[str, JsonObject]) -> dict[str, Any]:
        values = self._person.answer(text, fields)
        if values is None:
            raise Stopped
        return values

    async def _run_leg(self, plan: LegPlan) -> None:
        before = [leg for leg in self.legs if leg.plan.leg_id in plan.depends_on]
        facts = tuple(fact for leg in before for fact in leg.learned())
        leg = Leg(plan, facts, dict(self._goal.inputs))
        self.legs.append(leg)
        while leg.step < (plan.agent.leg_limits.steps or 0):
            leg.step += 1
            if await self._step(leg):
                return
        raise _NoEnd(f"{plan.leg_id} took {leg.step} steps")

    async def _step(self, leg: Leg) -> bool:
        """Carry out one decision; True when it ends the leg."""
        decision = await self._decided(leg)
        match decision:
            case Finish():
                leg.summary = decision.summary
                leg.answer = decision.model_dump_json()
                leg.conditions = decision.conditions
                return True
            case GiveUp(reason=reason):
                raise _GaveUp(reason)
            case AskUser(question=question, fields=fields):
                leg.inputs |= self._ask(question, fields)
            case DiscoverTools(query=query):
                index = self._place.index
                found = tuple(one.name for one in index.search(query, limit=8))
                leg.discovered += found
                leg.seen.append(_observed(leg, "tools.discover", {}, "discovered", list(found)))
            case CallTool():
                await self._call(leg, decision)
            case CallTools(calls=calls):
                for call in calls:
                    await self._call(leg, call)
            case _:
                raise _GaveUp(f"nobody takes a {decision.kind}")
        return False

    async def _decided(self, leg: Leg) -> StepDecision:
        context = StepContext(
            mission_id=self._mission_id,
            leg_id=leg.plan.leg_id,
            step=leg.step,
            mission_goal=self._text,
            leg_goal=leg.plan.goal,
            agent=leg.plan.agent,
            inputs=leg.inputs,
            facts=leg.facts,
            observations=tuple(leg.seen),
            discovered=tuple(leg.discovered),
            orders=leg.plan.orders,
            now=self._place.now,
            catalog_digest=self._place.catalog.digest,
        )
        known = route_context(context, context.agent.wall)
        selection = self._place.router.route(context.leg_goal, known, now=context.now)
        planned = await self._planner.plan_step(context, selection, self._place.catalog)
        decision = as_planned(planned).decision
        check_decision(decision, selection, context, self._place.catalog)
        return decision

    async def _call(self, leg: Leg, call: CallTool) -> None:
        tool = self._place.catalog.tool(call.tool)
        call_id = f"{self._mission_id}.{leg.plan.leg_id}.{leg.step}"
        try:
            outcome = await self._tools.call(
                self._place.catalog,
                tool,
                call.arguments,
                call_id=call_id,
                idempotency_key=call_id,
                timeout_s=20,
            )
        except OrchestratorError as error:
            leg.seen.append(_observed(leg, call.tool, call.arguments, "invalid", None, str(error)))
            return
        kind = "succeeded" if outcome.accepted else outcome.kind  # a 202: nobody probes here
        seen = _observed(leg, call.tool, call.arguments, kind, outcome.body, outcome.reason)
        effect = {"side_effect": tool.is_side_effect, "at": outcome.answered_at}
        leg.seen.append(seen.model_copy(update=effect))

    def _status(self, plan: MissionPlan) -> str:
        """Return `succeeded` if each order has an effect, or its condition did not hold."""
        served = all(_is_served(order, leg) for leg in self.legs for order in leg.plan.orders)
        return "succeeded" if served else "incomplete"


class _GaveUp(OrchestratorError):
    """The planner ended a leg without reaching its goal."""


class _NoEnd(OrchestratorError):
    """A leg took all of its steps."""


class _Wire(httpx.AsyncBaseTransport):
    """Requests to the town, but for ids that its goal calls missing: those are not found."""

    def __init__(self, town: Town, missing: Sequence[str]) -> None:
        self._town = httpx.ASGITransport(town)
        self._missing = frozenset(missing)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self._missing & set(request.url.path.split("/")):
            return httpx.Response(404, json={"title": "Not found", "status": 404}, request=request)
        return await self._town.handle_async_request(request)


def rules(place: Place) -> Planner:
    """Return the planner by rules."""
    return RulePlanner(place.router_of)


def _is_served(order: Order, leg: Leg) -> bool:
    conditions = {one.when: one.holds for one in leg.conditions}
    if order.when and conditions.get(order.when) is False:
        return True
    done = [
        one
        for one in leg.seen
        if one.side_effect and one.outcome == "succeeded" and one.tool in order.tools
    ]
    return len(done) >= (1 if order.each else order.count)


def _in_order(legs: Sequence[LegPlan]) -> list[LegPlan]:
    """Return the legs so that each follows those that it depends on."""
    ordered: list[LegPlan] = []
    left = list(legs)
    while left:
        done = {leg.leg_id for leg in ordered}
        ready = next(leg for leg in left if set(leg.depends_on) <= done)
        left.remove(ready)
        ordered.append(ready)
    return ordered


def _observed(
    leg: Leg, tool: str, arguments: JsonObject, outcome: Any, body: Any, error: str | None = None
) -> Observation:
    return Observation(
        step=leg.step,
        part=sum(one.step == leg.step for one in leg.seen),
        tool=tool,
        arguments=arguments,
        outcome=outcome,
        body=body,
        error=None if outcome in ("succeeded", "discovered") else error or "no reason",
    )


def _documents(name: str) -> dict[str, JsonObject]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not name:
            return load_documents(bundled_specs(), CLINIC)
        overlay = DOCUMENTS / "overlays" / f"{name}.yaml"
        return load_documents(
            DOCUMENTS / f"{name}.yaml", overlays=[overlay] if overlay.exists() else []
        )


def _served(documents: dict[str, JsonObject]) -> dict[str, JsonObject]:
    """Return the documents with the town as their server."""
    return {n: {**raw, "servers": [{"url": f"http://town/{n}"}]} for n, raw in documents.items()}
