"""Conditions of a goal: a leg settles what it decides, and the mission leaves out what follows."""

from collections.abc import Mapping, Sequence
from typing import Final

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.record import JsonObject
    from orchestrator.messages import names
    from orchestrator.messages.leg import AnswerInput, LegResult, LegStatus
    from orchestrator.planning.models import AskUser, Decided, Fact, GoalCondition, LegPlan, OnlyIf
    from workflows.progress import Progress
    from workflows.questions import Questions

HOLDS: Final = "holds"
"""The field of the answer."""
_CHOICES: Final[JsonObject] = {
    "type": "string",
    "enum": ["yes", "no"],
    "title": "whether this is so",
}


# -- in the leg that decides ----------------------------------------------------------------------


async def settle(
    decided: Sequence[Decided], progress: Progress, questions: Questions
) -> tuple[Decided, ...]:
    """What each condition came to; where the answers leave it open, a person says.

    Raises:
        LegLost: nobody answered in time.
    """
    settled: list[Decided] = []
    conditions = {one.clause: one for one in progress.leg.leg.decides}
    for number, one in enumerate(decided, 1):
        condition = conditions.get(one.clause)
        if one.met is None and condition is not None:
            question_id = names.condition_question_id(progress.leg.call_id, number)
            answer = await questions.ask_about(_question(condition, one), question_id=question_id)
            settled.append(_answered(condition, one, answer))
        else:
            settled.append(one)
    return tuple(settled)


def _question(condition: GoalCondition, found: Decided) -> AskUser:
    return AskUser(
        question=f"Is this so: {condition.told}? {found.why}",
        why=f"what is done depends on it ({condition.clause!r}), and no answer tells it for sure",
        fields={HOLDS: _CHOICES},
    )


def _answered(condition: GoalCondition, found: Decided, answer: AnswerInput) -> Decided:
    """What the condition comes to, as somebody says."""
    said = answer.values.get(HOLDS)
    why = f"{answer.answered_by or 'a person'} was asked whether {condition.told}, and said {said}"
    met = (said == "yes") is not condition.is_unless
    return found.model_copy(update={"met": met, "why": why, "by_person": True})


def told_of(summary: str, decided: Sequence[Decided]) -> str:
    """How such a leg ended: what it found, and what it came to."""
    came = [f"{one.clause!r} is {'' if one.met else 'not '}met: {one.why}." for one in decided]
    return " ".join([summary, *came]).strip()


# -- in the mission -------------------------------------------------------------------------------


def not_called_for(legs: Sequence[LegPlan], results: Mapping[str, LegResult]) -> list[LegResult]:
    """The legs to leave out now: their condition was decided, and it is the other case.

    One that only goes on about such legs is left out with them.
    """
    out = {leg_id for leg_id, result in results.items() if result.not_called_for}
    found: list[LegResult] = []
    for leg in legs:
        if leg.leg_id in results:
            continue
        why = _unmet(leg, results) or _goes_on_about(leg, legs, out)
        if why:
            out.add(leg.leg_id)
            found.append(_left_out(leg, why))
    return found


def facts_for(
    leg: LegPlan, legs: Sequence[LegPlan], results: Mapping[str, LegResult]
) -> tuple[Fact, ...]:
    """What a leg is told of those it depends on; not what only tells whether it is run at all.

    The forecast decides whether a table is booked, and is no part of the booking.
    """
    looking = {one.leg_id for one in legs if one.only_looks}
    told = [needed for needed in leg.depends_on if needed not in looking]
    return tuple(fact for needed in told for fact in results[needed].facts)


def _unmet(leg: LegPlan, results: Mapping[str, LegResult]) -> str:
    """Why a leg is not to be run; empty while that is not known, and where it is."""
    for wanted in leg.only_if:
        found = _found(wanted, results)
        if found is not None and found.met is not wanted.met:
            case = "not met" if wanted.met else "met"
            return f"{wanted.clause!r} is {case}: {found.why}"
    return ""


def _found(wanted: OnlyIf, results: Mapping[str, LegResult]) -> Decided | None:
    result = results.get(wanted.leg_id)
    decided = result.decided if result is not None else ()
    return next((one for one in decided if one.clause == wanted.clause), None)


def _goes_on_about(leg: LegPlan, legs: Sequence[LegPlan], out: set[str]) -> str:
    """Why a leg has nothing left to go on about; empty where it has, or was about nothing."""
    looking = {one.leg_id for one in legs if one.only_looks}
    about = [needed for needed in leg.depends_on if needed not in looking]
    if not about or not all(needed in out for needed in about):
        return ""
    return f"it goes on about {', '.join(about)}, which was not called for"


def _left_out(leg: LegPlan, why: str) -> LegResult:
    return LegResult(
        leg_id=leg.leg_id,
        agent=leg.agent.name,
        goal=leg.goal,
        status=LegStatus.SKIPPED,
        summary=f"Not done: {leg.goal!r}, for {why}.",
        error=f"left out: {why}",
        not_called_for=True,
    )
