"""A scripted model for any goal, which decides like the rule planner, from the prompt alone.

It holds no state between two requests: after a crash, any worker gets the same answer.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
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
    Observation,
    StepContext,
)
from orchestrator.planning.route_context import route_context
from orchestrator.planning.rules.rule_planner import RulePlanner
from orchestrator.routing.router import Router
from orchestrator.saga.orders import Order
from orchestrator.testing.model_server.replies import ModelAnswer, ReceivedRequest, call, say

PLAN_MISSION: Final = "plan_mission"
_GOAL: Final = re.compile(
    r"^Mission: (?P<mission>.*?)(?:\nYour part: (?P<part>.*?))?(?:\nOrders: (?P<orders>[^\n]*))?"
    r"\nNow: (?P<now>\S+)",
    re.M | re.S,
)
_ORDER: Final = re.compile(
    r"(?:(?P<count>\d+) x )?(?P<tools>\w+(?: or \w+)*)(?: for each of '(?P<each>[^']*)')?"
    r"(?: when '(?P<when>[^']*)')?"
)
_BRIEF: Final = re.compile(
    r"^# Goal\n(?P<goal>.*?)\n\n(?:# Tried .*?\n\n)?# Context[^\n]*\nNow: (?P<now>\S+)"
    r"(?:\nGiven: (?P<given>\{))?",
    re.M | re.S,
)
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
            legs: list[JsonValue] = []
            for leg in plan.legs:
                orders: list[JsonValue] = [
                    {"tool": one.tools[0], "count": one.count, "each": one.each, "when": one.when}
                    for one in leg.orders
                ]
                is_known = f"{leg.agent.name}:" in request.instructions
                legs.append(
                    {
                        "id": leg.leg_id,
                        "goal": leg.goal,
                        "agent": leg.agent.name if is_known else "generalist",
                        "quotes": [*(leg.serves or (leg.goal,))],
                        "orders": orders,
                        "needs": [*leg.depends_on],
                    }
                )
            return call(PLAN_MISSION, legs=legs)
        context = context_of(request, self._catalog)
        if context is None:
            return say("This is no step of a mission.")
        try:
            router = self._router.without_deadline()
            known = route_context(context)
            made = router.route(context.leg_goal, known, now=context.now)
            more = tuple(name for name in context.discovered if name not in made.tools)
            decision = await self._planner.plan_step(
                context, made.model_copy(update={"tools": (*made.tools, *more)}), self._catalog
            )
        except OrchestratorError as error:
            decision = GiveUp(reason=str(error))
        if isinstance(decision, CallTool):
            if decision.tool in catalog_names(request, self._catalog):
                return call(wire_name(decision.tool), **decision.arguments)
            decision = DiscoverTools(query=decision.tool.replace("_", " "))
        if isinstance(decision, DiscoverTools):
            query = decision.query
            searches = [seen for seen in context.observations if seen.outcome == "discovered"]
            if len(searches) >= 3:
                return call("part_lost", reason=f"no tool was found for {query}")
            return call("tools_discover", query=query)
        if isinstance(decision, AskUser):
            fields: list[JsonValue] = []
            for name, schema in decision.fields.items():
                kind, described = schema.get("type"), str(schema.get("description", ""))
                named = kind if kind in ("string", "number", "integer", "boolean") else "string"
                fields.append({"name": name, "type": named, "description": described})
            return call("user_ask", question=decision.question, fields=fields)
        if isinstance(decision, Finish):
            return call("part_done", summary=decision.summary or "Done.")
        reason = decision.reason if isinstance(decision, GiveUp) else type(decision).__name__
        return call("part_lost", reason=reason)


def context_of(request: ReceivedRequest, catalog: Catalog) -> StepContext | None:
    """Return the step in a prompt; None if it is not a planner's prompt."""
    text = "\n".join(turn.text for turn in request.turns if turn.role != "assistant")
    goal = _GOAL.search(text)
    if goal is None:
        return None
    seen = tuple(_observations(text, catalog))
    given: JsonObject = {}
    for title in re.finditer(r"^# Given\n", text, re.M):
        given |= _object(text, title.end())[0]
    facts = []
    for line in _FACT.finditer(text):
        arguments, end = _object(text, line.end())
        tool = catalog.tools.get(line[2])
        facts.append(
            Fact(
                source=line[1],
                tool=line[2],
                side_effect=tool is not None and tool.is_side_effect,
                arguments=arguments,
                body=_output(text, end),
            )
        )
    orders = []
    for part in goal["orders"].split("; ") if goal["orders"] else ():
        found = _ORDER.fullmatch(part)
        tools = tuple(found["tools"].split(" or ")) if found else ()
        count, each, when = found.group("count", "each", "when") if found else (None, None, None)
        orders.append(Order(tools=tools, count=int(count or 1), each=each or "", when=when or ""))
    left = [None, *re.findall(r"^Left of the budget: ([\d.,]+) ([A-Z]{3})", text, re.M)][-1]
    budget = None
    with suppress(InvalidOperation, ValidationError):
        if left is not None:
            budget = Money(amount=Decimal(left[0].replace(",", "")), currency=left[1])
    return StepContext(
        mission_id="m",
        leg_id="l",
        step=len(seen) + 1,
        mission_goal=goal["mission"],
        leg_goal=goal["part"] or goal["mission"],
        agent=AgentProfile(name="a"),
        inputs=given,
        facts=tuple(facts),
        observations=seen,
        orders=tuple(orders),
        discovered=tuple(catalog_names(request, catalog)),
        budget_left=budget,
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


def _moment(text: str) -> datetime:
    made = datetime.fromisoformat(text)
    return made if made.tzinfo else made.replace(tzinfo=UTC)
