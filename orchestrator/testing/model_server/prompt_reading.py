"""A planner's prompt read back: the goal, what is given, and what the steps so far came to."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Final, get_args

from pydantic import JsonValue, ValidationError

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.planning.models import AgentProfile, Fact, GoalBrief, Observation, StepContext
from orchestrator.saga.orders import Order
from orchestrator.testing.model_server.received import ReceivedRequest

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


def context_of(request: ReceivedRequest, catalog: Catalog) -> StepContext | None:
    """The step that a prompt tells of, as far as it tells; None when it is no planner's."""
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
    """The goal that a prompt asks to split; None when it asks for something else."""
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
    """The tools of a catalog that a request shows with their schema."""
    return [name for name in catalog.tools if wire_name(name) in request.tools]


def wire_name(name: str) -> str:
    """A tool's name as models see it."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64]


def _order(text: str) -> Order:
    """An order as a briefing lists it."""
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
    """All that was given, what came later over what came before."""
    given: JsonObject = {}
    for title in _GIVEN.finditer(text):
        given |= _object(text, title.end())[0]
    return given


def _object(text: str, start: int) -> tuple[JsonObject, int]:
    """The JSON object that begins there, and where it ends; an empty one where it was cut."""
    try:
        made, end = _DECODER.raw_decode(text, start)
    except ValueError:
        return {}, max(text.find("\n", start), start)
    return (made if isinstance(made, dict) else {}), end


def _output(text: str, start: int) -> JsonValue:
    """The answer that stands there between its tags; None when none does, or it was cut."""
    found = _OUTPUT.match(text, start)
    if found is None:
        return None
    try:
        body: JsonValue = json.loads(found[1])
    except ValueError:
        return None
    return body


def _money(told: list[str]) -> Money | None:
    """The last amount that was told."""
    amount, _, currency = (told[-1] if told else "").replace(",", "").partition(" ")
    try:
        return Money(amount=Decimal(amount), currency=currency)
    except (InvalidOperation, ValidationError):
        return None


def _moment(text: str) -> datetime:
    made = datetime.fromisoformat(text)
    return made if made.tzinfo else made.replace(tzinfo=UTC)
