"""A leg's loop over the real router, with a provider that answers from the response schemas."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.prices import charged_price
from orchestrator.catalog.tool import Tool
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.planning.models import (
    AgentProfile,
    AskUser,
    CallTool,
    DiscoverTools,
    Fact,
    GoalBrief,
    LegPlan,
    MissionPlan,
    Observation,
    StepContext,
    StepDecision,
)
from orchestrator.planning.planner import check_decision, check_plan
from orchestrator.planning.route_context import route_context
from orchestrator.planning.rules.rule_planner import RulePlanner
from orchestrator.routing.discovery import DiscoveryIndex
from orchestrator.routing.router import Router

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)

Script = Callable[[Tool, JsonObject], JsonObject | None]


@dataclass
class Provider:
    """Answers every call from its response schema.

    What a call asked for is echoed; a thing that is booked has the fields of the offer that it was
    made from; the rest is made up, deterministically. `script` answers instead where it wants to.
    """

    script: Script = lambda tool, arguments: None
    listed: int = 3
    things: dict[str, JsonObject] = field(default_factory=dict)

    def answer(self, tool: Tool, arguments: JsonObject) -> JsonObject:
        """The body of a 2xx answer."""
        scripted = self.script(tool, arguments)
        if scripted is not None:
            self._remember(scripted)
            return scripted
        echoed: JsonObject = {}
        for value in arguments.values():
            echoed |= self.things.get(str(value), {})
        schema = tool.output_schema or {}
        body = self._make(schema, schema, tool.name, {**echoed, **arguments})
        assert isinstance(body, dict)
        self._remember(body)
        return body

    def _remember(self, body: JsonValue) -> None:
        if isinstance(body, list):
            for member in body:
                self._remember(member)
        if isinstance(body, dict):
            for name, value in body.items():
                if name.endswith("id") and isinstance(value, str):
                    self.things[value] = dict(body)
                self._remember(value)

    def _make(
        self, schema: JsonObject, root: JsonObject, path: str, known: JsonObject
    ) -> JsonValue:
        resolved = resolve(schema, root)
        properties = resolved.get("properties")
        if isinstance(properties, dict):
            made: JsonObject = {}
            for name, part in properties.items():
                if name in known:
                    made[name] = known[name]
                elif isinstance(part, dict) and name != "client_reference":
                    made[name] = self._make(part, root, f"{path}.{name}", known)
            return made
        if isinstance(items := resolved.get("items"), dict):
            return [self._make(items, root, f"{path}.{n}", known) for n in range(self.listed)]
        return _scalar(resolved, path)


def _scalar(schema: JsonObject, path: str) -> JsonValue:
    number = int(hashlib.sha256(path.encode()).hexdigest()[:4], 16)
    choices = schema.get("enum")
    if isinstance(choices, list):
        return choices[0]
    low = schema.get("minimum")
    match schema.get("type"):
        case "integer" | "number":
            return (
                (low if isinstance(low, int | float) else 0)
                + number % 5
                + (100 if path.endswith("amount") else 0)
            )
        case "boolean":
            return True
    if path.endswith("currency"):
        return "EUR"
    formats = {"date": "2026-12-05", "date-time": f"2026-11-0{1 + number % 9}T09:00:00Z"}
    if (known := formats.get(str(schema.get("format")))) is not None:
        return known
    return (
        "18:00"
        if "pattern" in schema and "time" in path
        else path.rsplit(".", 1)[-1] + (f"-{number}")
    )


@dataclass
class Run:
    """What a mission did: its plan, every decision by leg, and the facts it ended with."""

    plan: MissionPlan
    decisions: dict[str, list[StepDecision]]
    facts: dict[str, tuple[Fact, ...]]

    def calls(self, leg_id: str) -> list[CallTool]:
        """The calls of a leg, in order."""
        return [d for d in self.decisions[leg_id] if isinstance(d, CallTool)]

    def names(self, leg_id: str) -> list[str]:
        """What a leg did, step by step: tool names, else kinds of decision."""
        return [d.tool if isinstance(d, CallTool) else d.kind for d in self.decisions[leg_id]]

    def last(self, leg_id: str) -> StepDecision:
        """How a leg ended."""
        return self.decisions[leg_id][-1]


@dataclass
class Mission:
    """Runs goals the way the workflows do, without them."""

    catalog: Catalog
    router: Router
    provider: Provider = field(default_factory=Provider)
    agents: Sequence[AgentProfile] = ()
    inputs: JsonObject = field(default_factory=dict)
    answers: JsonObject = field(default_factory=dict)
    budget: Money | None = None
    outcomes: Callable[[Tool, JsonObject, int], Observation | None] = lambda t, a, n: None
    forwarded: Callable[[tuple[str, ...]], tuple[str, ...]] = lambda tools: tools

    async def run(self, goal: str) -> Run:
        """Split the goal and work off its legs in order."""
        planner = RulePlanner(lambda catalog: self.router)
        brief = GoalBrief(
            mission_id="m-1",
            goal=goal,
            inputs=self.inputs,
            now=NOW,
            catalog_digest=self.catalog.digest,
        )
        plan = await planner.split_goal(brief, self.catalog, self.agents)
        check_plan(plan)
        run = Run(plan, {}, {})
        for leg in plan.legs:
            facts = tuple(f for d in leg.depends_on for f in run.facts.get(d, ()))
            run.decisions[leg.leg_id] = []
            seen = await self._leg(planner, goal, leg, facts, run.decisions[leg.leg_id])
            run.facts[leg.leg_id] = _facts(leg, seen)
        return run

    async def _leg(
        self,
        planner: RulePlanner,
        goal: str,
        leg: LegPlan,
        facts: tuple[Fact, ...],
        decisions: list[StepDecision],
    ) -> list[Observation]:
        seen: list[Observation] = []
        discovered: tuple[str, ...] = ()
        inputs = dict(self.inputs)
        for step in range(1, (leg.agent.leg_limits.steps or 0) + 1):
            context = StepContext(
                mission_id="m-1",
                leg_id=leg.leg_id,
                step=step,
                mission_goal=goal,
                leg_goal=leg.goal,
                agent=leg.agent,
                inputs=inputs,
                facts=facts,
                observations=tuple(seen),
                discovered=discovered,
                orders=leg.orders,
                budget_left=self.budget,
                now=NOW,
                catalog_digest=self.catalog.digest,
            )
            selection = self.router.route(leg.goal, route_context(context), now=NOW)
            kept = self.forwarded(selection.tools)
            selection = selection.model_copy(update={"tools": kept})
            decision = await planner.plan_step(context, selection, self.catalog)
            check_decision(decision, selection, context, self.catalog)
            decisions.append(decision)
            match decision:
                case CallTool():
                    seen.append(self._call(decision, step))
                case DiscoverTools(query=query):
                    found = [m.name for m in DiscoveryIndex(self.catalog).search(query, limit=3)]
                    discovered = (*discovered, *found)
                    seen.append(
                        Observation(
                            step=step,
                            tool="tools.discover",
                            arguments={"query": query},
                            outcome="discovered",
                            body=list(found),
                        )
                    )
                case AskUser(fields=fields) if set(fields) <= set(self.answers):
                    inputs |= {name: self.answers[name] for name in fields}
                case _:
                    break
        return seen

    def _call(self, decision: CallTool, step: int) -> Observation:
        tool = self.catalog.tool(decision.tool)
        if (forced := self.outcomes(tool, decision.arguments, step)) is not None:
            return forced
        body = self.provider.answer(tool, decision.arguments)
        return Observation(
            step=step,
            tool=tool.name,
            arguments=decision.arguments,
            outcome="succeeded",
            side_effect=tool.is_side_effect,
            body=body,
            price=charged_price(tool, decision.arguments, body) if tool.is_side_effect else None,
        )


def _facts(leg: LegPlan, seen: Sequence[Observation]) -> tuple[Fact, ...]:
    good = [o for o in seen if o.outcome == "succeeded"]
    return tuple(
        Fact(
            source=f"{leg.leg_id}.{o.step}",
            tool=o.tool,
            side_effect=o.side_effect,
            arguments=o.arguments,
            body=o.body,
            price=o.price,
        )
        for o in [o for o in good if o.side_effect] or good[-1:]
    )


@pytest.fixture
def mission(shipped: Catalog, router: Router) -> Mission:
    """Missions over the shipped documents, with a fresh provider."""
    return Mission(shipped, router)


@pytest.fixture
def step_context() -> StepContext:
    """The first step of a leg that was told nothing yet."""
    return StepContext(
        mission_id="m-1",
        leg_id="1-x",
        step=1,
        mission_goal="",
        leg_goal="",
        agent=AgentProfile(name="agent"),
        now=NOW,
        catalog_digest="digest",
    )
