"""A scripted model for any goal, which decides like the rule planner, from the prompt alone.

It holds no state between two requests: after a crash, any worker gets the same answer.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Final, get_args

from pydantic import JsonValue, ValidationError

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Money
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.record import JsonObject
from orchestrator.planning.models import (
    AgentProfile,
    AskUser,
    CallTool,
    DiscoverTools,
    Fact,
    Finish,
    GiveUp,
    GoalBrief,
    LegPlan,
    Observation,
    StepContext,
)
from orchestrator.planning.route_context import route_context
from orchestrator.planning.rules.rule_planner import RulePlanner
from orchestrator.routing.router import Router
from orchestrator.routing.selection import Selection
from orchestrator.saga.orders import Order
from orchestrator.testing.model_server.replies import ModelAnswer, ReceivedRequest, call, say

_GENERALIST: Final = "generalist"
PLAN_MISSION: Final = "plan_mission"
_MOST_SEARCHES: Final = 3
_GOAL: Final = re.compile(
    r"^Mission: (?P<mission>.*?)(?:\nYour part: (?P<part>.*?))?(?:\nOrders: (?P<orders>[^\n]*))?"
    r"\nNow: (?P<now>\S+)",
    re.M | re.S,
)
_ORDER: Final = re.compile(
    r"(?:(?P<count>\d+) x )?(?P<tools>\w+(?: or \w+)*)(?: for each of '(?P<each>[^']*)')?"
    r"(?: when '(?P<when>[^']*)')?"
)
_LEFT: Final = re.compile(r"^Left of the budget: ([\d.,]+ [A-Z]{3})", re.M)
_BRIEF: Final = re.compile(
    r"^# Goal\n(?P<goal>.*?)\n\n(?:# Tried .*?\n\n)?# Context[^\n]*\nNow: (?P<now>\S+)"
    r"(?:\nGiven: (?P<given>\{))?",
    re.M | re.S,
)
_GIVEN: Final = re.compile(r"^# Given\n", re.M)
_FACT: Final = re.compile(r"^(\S+) called (\S+) (?=\{)", re.M)
_STEP: Final = re.compile(r"^(\d+)[a-z]?\. (\S+) (?=\{)", re.M)
_OUTCOME: Final = re.compile(r": (\w+)(?:, ([^\n]*))?")
_OUTPUT: Final = re.compile(r"\s*<tool_output tool=[^>]*>(.*?)</tool_output>", re.S)
_TAG: Final = re.compile(r"</?(?:tool_output|person)\b[^>]*>")
_OUTCOMES: Final = frozenset(
    name
    for choice in get_args(Observation.model_fields["outcome"].annotation)
    for name in (get_args(choice) or (choice,))
)
_DECODER: Final = json.JSONDecoder()


class RuleModel:
    """Answers requests of this product's planners.

    Example: `ModelServer(RuleModel(catalog))`
    """

    def __init__(self, catalog: Catalog, *, plans: Mapping[str, JsonObject] | None = None) -> None:
        """Create a model; `plans` are arguments of `plan_mission`, by goal."""
        self._catalog = catalog
        self._plans = dict(plans or {})
        self._router = Router(catalog)
        self._planner = RulePlanner(lambda _: self._router)

    async def __call__(self, request: ReceivedRequest) -> ModelAnswer:
        """Answer with the next step of a leg, or with the legs of a goal."""
        if PLAN_MISSION in request.tools:
            brief = brief_of(request, self._catalog)
            if brief is None:
                return say("This is no goal of a mission.")
            if (given := self._plans.get(brief.goal)) is not None:
                return call(PLAN_MISSION, **given)
            try:
                plan = await self._planner.split_goal(brief, self._catalog, ())
            except OrchestratorError as error:
                return say(str(error))
            legs: list[JsonValue] = [_leg(leg, request) for leg in plan.legs]
            return call(PLAN_MISSION, legs=legs)
        context = context_of(request, self._catalog)
        if context is None:
            return say("This is no step of a mission.")
        try:
            decision = await self._planner.plan_step(
                context, self._selection(context), self._catalog
            )
        except OrchestratorError as error:
            decision = GiveUp(reason=str(error))
        if isinstance(decision, CallTool):
            if decision.tool in catalog_names(request, self._catalog):
                return call(wire_name(decision.tool), **decision.arguments)
            decision = DiscoverTools(query=decision.tool.replace("_", " "))
        if isinstance(decision, DiscoverTools):
            query = decision.query
            made = [seen for seen in context.observations if seen.outcome == "discovered"]
            if len(made) >= _MOST_SEARCHES:
                return call("part_lost", reason=f"no tool was found for {query}")
            return call("tools_discover", query=query)
        if isinstance(decision, AskUser):
            fields = [_field(name, schema) for name, schema in decision.fields.items()]
            return call("user_ask", question=decision.question, fields=list(fields))
        if isinstance(decision, Finish):
            return call("part_done", summary=decision.summary or "Done.")
        reason = decision.reason if isinstance(decision, GiveUp) else type(decision).__name__
        return call("part_lost", reason=reason)

    def _selection(self, context: StepContext) -> Selection:
        """Return the tools that fit the leg, and the others that the request shows."""
        router = self._router.without_deadline()
        known = route_context(context)
        made = router.route(context.leg_goal, known, now=context.now)
        more = tuple(name for name in context.discovered if name not in made.tools)
        return made.model_copy(update={"tools": (*made.tools, *more)})


def _leg(leg: LegPlan, request: ReceivedRequest) -> JsonObject:
    is_known = f"{leg.agent.name}:" in request.instructions
    return {
        "id": leg.leg_id,
        "goal": leg.goal,
        "agent": leg.agent.name if is_known else _GENERALIST,
        "quotes": [*(leg.serves or (leg.goal,))],
        "orders": [
            {"tool": order.tools[0], "count": order.count, "each": order.each, "when": order.when}
            for order in leg.orders
        ],
        "needs": [*leg.depends_on],
    }


def _field(name: str, schema: JsonObject) -> JsonObject:
    kind = schema.get("type")
    named = kind if kind in ("string", "number", "integer", "boolean") else "string"
    return {"name": name, "type": named, "description": str(schema.get("description", ""))}


def context_of(request: ReceivedRequest, catalog: Catalog) -> StepContext | None:
    """Return the step in a prompt; None if it is not a planner's prompt."""
    text = "\n".join(turn.text for turn in request.turns if turn.role != "assistant")
    goal = _GOAL.search(text)
    if goal is None:
        return None
    seen = tuple(_observations(text, catalog))
    return StepContext(
        mission_id="m",
        leg_id="l",
        step=len(seen) + 1,
        mission_goal=goal["mission"],
        leg_goal=goal["part"] or goal["mission"],
        agent=AgentProfile(name="a"),
        inputs=_given(text),
        facts=tuple(_facts(text, catalog)),
        observations=seen,
        orders=tuple(map(_order, (goal["orders"] or "").split("; "))) if goal["orders"] else (),
        discovered=tuple(catalog_names(request, catalog)),
        budget_left=_money(_LEFT.findall(text)),
        now=_moment(goal["now"]),
        catalog_digest=catalog.digest,
    )


def brief_of(request: ReceivedRequest, catalog: Catalog) -> GoalBrief | None:
    """Return the goal that a prompt asks to split; None for other prompts."""
    goal = _BRIEF.search(request.prompt)
    if goal is None:
        return None
    given = {} if goal["given"] is None else _object(request.prompt, goal.start("given"))[0]
    return GoalBrief(
        mission_id="m",
        goal=goal["goal"],
        inputs=given,
        now=_moment(goal["now"]),
        catalog_digest=catalog.digest,
    )


def catalog_names(request: ReceivedRequest, catalog: Catalog) -> list[str]:
    """Return the catalog's tools whose schemas a request shows."""
    return [name for name in catalog.tools if wire_name(name) in request.tools]


def wire_name(name: str) -> str:
    """Return a tool's name as models see it."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64]


def _order(text: str) -> Order:
    found = _ORDER.fullmatch(text)
    if found is None:
        return Order(tools=())
    return Order(
        tools=tuple(found["tools"].split(" or ")),
        count=int(found["count"] or 1),
        each=found["each"] or "",
        when=found["when"] or "",
    )


def _observations(text: str, catalog: Catalog) -> Iterator[Observation]:
    for line in _STEP.finditer(text):
        arguments, end = _object(text, line.end())
        outcome = _OUTCOME.match(text, end)
        if outcome is None or outcome[1] not in _OUTCOMES:
            continue
        tool = catalog.tools.get(line[2])
        failed = outcome[1] not in ("succeeded", "discovered")
        yield Observation.model_validate(
            {
                "step": int(line[1]),
                "tool": line[2],
                "arguments": arguments,
                "outcome": outcome[1],
                "side_effect": tool is not None and tool.is_side_effect,
                "body": None if failed else _output(text, outcome.end()),
                "error": _TAG.sub("", outcome[2] or "") if failed else None,
            }
        )


def _facts(text: str, catalog: Catalog) -> Iterator[Fact]:
    for line in _FACT.finditer(text):
        arguments, end = _object(text, line.end())
        tool = catalog.tools.get(line[2])
        yield Fact(
            source=line[1],
            tool=line[2],
            side_effect=tool is not None and tool.is_side_effect,
            arguments=arguments,
            body=_output(text, end),
        )


def _given(text: str) -> JsonObject:
    given: JsonObject = {}
    for title in _GIVEN.finditer(text):
        given |= _object(text, title.end())[0]
    return given


def _object(text: str, start: int) -> tuple[JsonObject, int]:
    """Return the JSON object that begins there and its end; {} if it was cut."""
    try:
        made, end = _DECODER.raw_decode(text, start)
    except ValueError:
        return {}, max(text.find("\n", start), start)
    return (made if isinstance(made, dict) else {}), end


def _output(text: str, start: int) -> JsonValue:
    """Return the answer between the tags there; None if there is none or it was cut."""
    found = _OUTPUT.match(text, start)
    if found is None:
        return None
    try:
        body: JsonValue = json.loads(found[1])
    except ValueError:
        return None
    return body


def _money(amounts: list[str]) -> Money | None:
    amount, _, currency = (amounts[-1] if amounts else "").replace(",", "").partition(" ")
    try:
        return Money(amount=Decimal(amount), currency=currency)
    except (InvalidOperation, ValidationError):
        return None


def _moment(text: str) -> datetime:
    made = datetime.fromisoformat(text)
    return made if made.tzinfo else made.replace(tzinfo=UTC)
