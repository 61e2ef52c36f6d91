"""What a mission asks about its plan, and what an answer means: pure, and replayed for ever."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final, Literal

from pydantic import Field

from orchestrator.core.record import JsonObject, Record
from orchestrator.messages.field_kinds import open_choice
from orchestrator.planning.models import Doubt, LegPlan, MissionPlan

GO_ON: Final = "go on"
STOP: Final = "stop"
ANSWER: Final = "answer"
"""The one field of such a question."""
MOST_ROUNDS: Final = 5
"""How often the goal of one mission may be said otherwise."""
LONGEST_GOAL: Final = 4000
UNANSWERED: Final = "if nobody answers until then, the mission ends; nothing was done"

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
    """True if a person is asked about a plan before it begins.

    Words left over in a plan that only reads are listed in its result instead.
    """
    return any(plan.has_orders or doubt.kind != "left_over" for doubt in plan.doubts)


def why_asked(plan: MissionPlan) -> str:
    """What an answer about a plan is needed for."""
    if any(doubt.kind == "language" for doubt in plan.doubts):
        return "its goal could not be read with certainty"
    return "a part of its goal is not carried out as it stands"


def answer_fields(plan: MissionPlan) -> dict[str, JsonObject]:
    """The one field of a question about a plan, with the choices that it has."""
    choices = {
        GO_ON: "as it is planned; the result lists what was set aside",
        STOP: "nothing is done",
    }
    schema = open_choice(choices, other="the whole goal said otherwise")
    told: JsonObject = {"title": "your answer", "pattern": r"\S", "maxLength": LONGEST_GOAL}
    return {ANSWER: {**schema, **told}}


def plan_question(plan: MissionPlan, problem: str = "") -> str:
    """What a person is asked about a plan, in sentences.

    Args:
        plan: what would be done.
        problem: why the goal as it was said otherwise could not be planned; empty: it was not.
    """
    parts = [
        f"That cannot be planned: {problem.rstrip('.')}." if problem else "",
        f"I would do this: {'; '.join(_planned(plan.legs))}.",
        f"Not carried out: {'; '.join(map(doubt_text, plan.doubts))}." if plan.doubts else "",
        f"Nothing was done yet. Answer '{GO_ON}' (as above; the result lists what was set aside), "
        f"'{STOP}' (nothing is done), or say the whole goal otherwise.",
    ]
    return " ".join(part for part in parts if part)


def doubt_text(doubt: Doubt) -> str:
    """A doubt, as a person reads it."""
    found = f" (found: {', '.join(doubt.choices)})" if doubt.choices else ""
    return f"{doubt.about!r}: {doubt.why.rstrip('.')}{found}"


def set_aside(plan: MissionPlan, answers: Iterable[PlanAnswer]) -> tuple[str, ...]:
    """What of the goal the plan began without, in its words: by a person's answer, or unasked."""
    went = next((a for a in reversed([*answers]) if a.came_to == "go on"), None)
    by = f"; {went.by or 'somebody'} said to go on" if went is not None else ""
    return tuple(f"{doubt_text(doubt)}{by}" for doubt in plan.doubts)


def _planned(legs: Iterable[LegPlan]) -> Iterable[str]:
    numbers = {leg.leg_id: number for number, leg in enumerate(legs, start=1)}
    for number, leg in enumerate(legs, start=1):
        after = " and ".join(str(numbers[i]) for i in leg.depends_on if i in numbers)
        notes = [
            f"after {after}" if after else "",
            "changes something" if leg.orders else "",
        ]
        note = ", ".join(part for part in notes if part)
        yield f"({number}) {leg.goal}{f' [{note}]' if note else ''}"
