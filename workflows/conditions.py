"""Conditions of a goal: a leg settles what it decides, and the mission leaves out what follows."""

from collections.abc import Mapping, Sequence
from typing import Final

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.record import JsonObject
    from orchestrator.messages.leg import LegResult, LegStatus
    from orchestrator.planning.models import AskUser, Condition, Decided, LegPlan, OnlyIf
    from workflows.progress import Progress
    from workflows.questions import Questions

_HOLDS: Final = "holds"
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
    for one in decided:
        condition = conditions.get(one.clause)
        if one.met is None and condition is not None:
            one = await _asked(condition, one, progress, questions)
        settled.append(one)
    return tuple(settled)


async def _asked(
    condition: Condition, found: Decided, progress: Progress, questions: Questions
) -> Decided:
    question = (
        f"Is this so: {condition.told}? What is to be done depends on it "
        f"({condition.clause!r}), and it is not clear. {found.why}"
    )
    why = "what is done depends on it, and no answer of a tool tells it for sure"
    await questions.ask(AskUser(question=question, why=why, fields={_HOLDS: _CHOICES}))
    said = progress.state.answers.get(_HOLDS)
    met = (said == "yes") is not condition.is_unless
    why = f"somebody was asked whether it is so, and said {said}"
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


def still_needed(leg: LegPlan, skipped: str, results: Mapping[str, LegResult]) -> bool:
    """Whether a leg is run though one that it depends on was not called for."""
    return results[skipped].not_called_for


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
