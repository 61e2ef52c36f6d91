"""What a mission asks about its plan, and what an answer means: pure, and replayed for ever."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final, Literal

from pydantic import Field

from orchestrator.core.record import JsonObject, Record
from orchestrator.messages.question_field import open_choice
from orchestrator.planning.models import Doubt, LegPlan, MissionPlan

GO_ON: Final = "go on"
STOP: Final = "stop"
ANSWER: Final = "answer"
"""The one field of such a question."""
MOST_ROUNDS: Final = 5
"""How often the goal of one mission may be said otherwise."""
LONGEST_GOAL: Final = 4000
ANSWER_FIELDS: Final[dict[str, JsonObject]] = {
    ANSWER: {
        **open_choice(
            {
                GO_ON: "as it is planned; the result says what was not understood",
                STOP: "nothing is done",
            },
            other="the whole goal said otherwise",
        ),
        "title": "your answer",
        "pattern": r"\S",
        "maxLength": LONGEST_GOAL,
    }
}
UNANSWERED: Final = "if nobody answers until then, the mission ends; nothing was done"

_UNDERSTOOD: Final = frozenset({"not_matched", "impossible", "unchecked", "unordered"})
"""Doubts about what was read, and may be meant so: who goes on past them has settled them."""
_ASKED_FOR: Final = frozenset({"clause", "verb", "thing", "quality"})
"""Of what is left over, what may ask for something by itself."""

Came = Literal["go on", "stop", "said otherwise", "expired"]
_MEANS: Final[dict[str, Came]] = {GO_ON: "go on", "yes": "go on", STOP: "stop", "no": "stop"}
"""Few, and none is ever added: what an answer meant is read anew in every replay."""


class PlanAnswer(Record):
    """What came of asking about a plan, once: kept in the mission's record."""

    id: str = Field(description="of the question or the card")
    came_to: Came
    text: str = Field(default="", description="the goal as it was said otherwise, or the reason")
    by: str = Field(default="", description="who answered, as they say or as a signature proves")
    at: datetime
    doubts: tuple[Doubt, ...] = Field(default=(), description="that it was asked because of")


def what_it_means(text: str) -> Came:
    """What an answer means: one of a few words as they are; all else is the goal said otherwise."""
    plain = " ".join(re.sub(r"[^\w\s]", " ", text).casefold().split())
    return _MEANS.get(plain, "said otherwise")


def asks_first(plan: MissionPlan) -> bool:
    """Whether a plan is asked about before it begins: a doubt may change a consequence.

    Who only wants to be told something is asked only where nothing of it could be read, or where it
    does not say that it is no more than that.
    """
    if any(doubt.kind in ("language", "deed", "untold") for doubt in plan.doubts):
        return True
    return bool(plan.doubts) and _orders(plan)


def why_asked(plan: MissionPlan) -> str:
    """What an answer about a plan is needed for."""
    if any(doubt.kind == "language" for doubt in plan.doubts):
        return "its goal could not be read with certainty"
    if any(doubt.kind == "deed" for doubt in plan.doubts):
        return "it does not say whether anything is to be done"
    if any(doubt.kind == "untold" for doubt in plan.doubts) and not _orders(plan):
        return "it asks for what no tool here is known to tell"
    return "part of its goal is in doubt, and it would change something"


def plan_question(plan: MissionPlan, problem: str = "") -> str:
    """What a person is asked about a plan, in sentences.

    Args:
        plan: what would be done.
        problem: why the goal as it was said otherwise could not be planned; empty: it was not.
    """
    parts = [
        f"That cannot be planned: {problem.rstrip('.')}." if problem else "",
        f"I would do this: {'; '.join(_deeds(plan.legs))}.",
        f"I have not understood: {'; '.join(map(doubt_told, plan.doubts))}." if plan.doubts else "",
        f"Nothing was done yet. Answer '{GO_ON}' (as above; the result says what was not "
        f"understood), '{STOP}' (nothing is done), or say the whole goal otherwise.",
    ]
    return " ".join(part for part in parts if part)


def doubt_told(doubt: Doubt) -> str:
    """A doubt, as a person reads it."""
    found = f" (found: {', '.join(doubt.choices)})" if doubt.choices else ""
    return f"{doubt.about!r}: {doubt.why.rstrip('.')}{found}"


def in_note(condition: str) -> str:
    """What a leg depends on, within a sentence: "Unless it rains" may have begun one."""
    return f"{condition[:1].lower()}{condition[1:]}"


def gone_past(plan: MissionPlan, answers: Iterable[PlanAnswer]) -> tuple[tuple[str, str], ...]:
    """What of the goal was left when a plan began, in its words, with why it stands so.

    A person who went on past what does not match, or cannot be, has said that it is meant so. A
    goal that orders nothing is not asked about: what it asks for, and no leg takes up, is told.
    """
    went = next((a for a in reversed([*answers]) if a.came_to == "go on"), None)
    if went is None:
        why = "it was not understood"
    else:
        why = f"it was not understood, and {went.by or 'somebody'} said to go on"
    doubts = [(doubt.about, why) for doubt in plan.doubts if doubt.kind not in _UNDERSTOOD]
    return (*doubts, *(() if _orders(plan) else _unasked(plan)))


def _orders(plan: MissionPlan) -> bool:
    """Whether anything of its goal orders a consequence."""
    return bool(plan.orders) or any(leg.orders for leg in plan.legs)


def _unasked(plan: MissionPlan) -> Iterable[tuple[str, str]]:
    """What a goal asks for that nothing takes up."""
    for one in plan.mentions:
        if not (one.leg_id or one.used_as) and one.kind in _ASKED_FOR:
            yield one.text, "nothing of the plan takes it up"


def _deeds(legs: Iterable[LegPlan]) -> Iterable[str]:
    numbers = {leg.leg_id: number for number, leg in enumerate(legs, start=1)}
    for number, leg in enumerate(legs, start=1):
        after = " and ".join(str(numbers[i]) for i in leg.depends_on if i in numbers)
        told = [
            f"after {after}" if after else "",
            *(in_note(str(one)) for one in leg.only_if),
            "changes something" if leg.orders else "",
        ]
        note = ", ".join(part for part in told if part)
        yield f"({number}) {leg.goal}{f' [{note}]' if note else ''}"
