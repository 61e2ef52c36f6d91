"""Deciding the conditions of a goal by what a leg found: pure, and recorded where it is done."""

import json
import re
from collections.abc import Iterable
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.language.intent import Slot
from orchestrator.language.slots import find_slots
from orchestrator.planning.answer_evidence import LookedAt, evidence_in
from orchestrator.planning.models import (
    AskUser,
    CallTool,
    Decided,
    Finish,
    GiveUp,
    GoalCondition,
    Observation,
    StepContext,
    StepDecision,
)
from orchestrator.planning.rules.parameters import DAYS, tool_parameters
from orchestrator.planning.rules.telling import tell
from orchestrator.planning.rules.utterance import read_utterance
from orchestrator.saga.judged import is_about

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_JOINED: Final = re.compile(r"\b(?:and|or|nor|but|while)\b", re.IGNORECASE)
_THAT_DAY: Final = re.compile(r"\b(?:that|the\s+same)\s+(?:day|date|evening|night)|\bthen\b", re.I)
_NOT: Final = re.compile(
    r"\b(?:not|no|nothing|nobody|none)\b\s*|(?<=\w)n['\u2019]t\b", re.IGNORECASE
)
_NOT_DENIED: Final = re.compile(r"\bno\s+(?:more|less|fewer|later|earlier)\b", re.IGNORECASE)


def is_asked_at_once(context: StepContext) -> bool:
    """Whether a leg is there for what no tool tells: a person is asked, nothing is looked up."""
    return bool(context.decides) and not any(one.tools for one in context.decides)


def decided_by(
    decision: StepDecision, context: StepContext, catalog: Catalog
) -> tuple[Decided, ...]:
    """What a leg's conditions came to, when the decision ends the leg; nothing before.

    A leg that only looks is not lost for want of an answer, and asks for nothing that would only
    help it to look: whether the condition is met is asked then.
    """
    if not context.decides:
        return ()
    if isinstance(decision, Finish):
        return tuple(_decided(one, context, catalog) for one in context.decides)
    if not context.only_looks or not isinstance(decision, GiveUp | AskUser):
        return ()
    # What it would take to look is no question of this goal's: "which expenses?"
    why = f": {decision.reason}" if isinstance(decision, GiveUp) else "."
    return tuple(_left_open(one, f"It could not be looked up{why}") for one in context.decides)


def deed_of_a_look(decision: StepDecision, context: StepContext, catalog: Catalog) -> str | None:
    """Why a call is not made by a leg that is there to look; None when it only reads."""
    if not context.only_looks or not isinstance(decision, CallTool):
        return None
    tool = catalog.tools.get(decision.tool)
    if tool is None or not tool.is_side_effect:
        return None
    return f"{tool.name} leaves something at a provider, and this leg only looks: read instead"


def _decided(condition: GoalCondition, context: StepContext, catalog: Catalog) -> Decided:
    if not condition.tools:
        return _left_open(condition, "No tool tells whether this is so.")
    seen = _answer(condition, context.observations)
    tool = catalog.tools.get(seen.tool) if seen is not None else None
    if seen is None or tool is None:
        return _left_open(condition, "Nothing that was looked up tells whether this is so.")
    asked = read_utterance(condition.told, now=context.now)
    answered = tell(tool, seen.arguments, seen.body, asked).sentence
    around = find_slots(context.mission_goal, now=context.now)
    slots = find_slots(condition.told, now=context.now)
    days = _days(slots) or (_days(around) if _THAT_DAY.search(condition.told) else [])
    if _JOINED.search(condition.told) or not is_about(seen.arguments, seen.body, days):
        return _left_open(condition, answered)
    if len(_days(slots)) > 1 and not _is_of_all(_days(slots), seen):
        return _left_open(condition, answered)
    if not days and _is_of_a_default_day(tool, seen, _days(around)):
        return _left_open(condition, answered)
    told, denied = _undenied(condition.told)
    times = dict.fromkeys(str(slot.value)[:5] for slot in around if slot.kind == "time")
    answer = LookedAt(seen.body, tool, seen.arguments, tuple(times), tuple(days))
    found = evidence_in(told, answer, now=context.now)
    if found.is_so is None:
        return _left_open(condition, answered)
    met = found.is_so is not (denied is not condition.is_unless)
    return Decided(clause=condition.clause, met=met, why=f"{seen.tool} answers {found.said}")


def _is_of_all(days: Iterable[str], seen: Observation) -> bool:
    """Whether a call was about every one of the days: one day of a stay tells not of the others."""
    return {*days} <= {*_DAY.findall(json.dumps([seen.arguments, seen.body]))}


def _is_of_a_default_day(tool: Tool, seen: Observation, days: Iterable[str]) -> bool:
    """Whether a provider chose the day that it told of, and none of those that the goal names."""
    named = set(days)
    dated = [p.name for p in tool_parameters(tool) if p.kind in DAYS]
    if not named or not dated or any(name in seen.arguments for name in dated):
        return False
    return named.isdisjoint(_DAY.findall(json.dumps(seen.body)))


def _days(slots: Iterable[Slot]) -> list[str]:
    return list(dict.fromkeys(str(slot.value) for slot in slots if slot.kind == "date"))


def _undenied(told: str) -> tuple[str, bool]:
    """A statement without its "not", and whether it had one."""
    if _NOT_DENIED.search(told):
        return told, False
    bare, denials = _NOT.subn("", told)
    return (bare, True) if denials == 1 else (told, False)


def _left_open(condition: GoalCondition, why: str) -> Decided:
    return Decided(clause=condition.clause, met=None, why=why)


def _answer(condition: GoalCondition, seen: Iterable[Observation]) -> Observation | None:
    """The last answer of a tool that tells of the condition."""
    good = [one for one in seen if one.outcome == "succeeded" and one.tool in condition.tools]
    return good[-1] if good else None
