"""Ask before a rollback: a durable question after a final failure, and what its answer changes.

Invariant: a hold ends by an answer, or at the latest when the rollback has to begin so that every
effect is cancelled within its window. A cancel request ends it at once.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.models import DecisionRecord
    from orchestrator.core.limits import LimitReached, Limits
    from orchestrator.core.record import JsonObject
    from orchestrator.messages.hold import (
        ARGUMENTS,
        DECISION,
        HINT,
        LIMIT,
        FailedCall,
        Hold,
        HoldRecord,
        answer_fields,
        hold_question,
        raised_limit,
        rolls_back_at,
        standing_of,
    )
    from orchestrator.messages.leg import (
        Acting,
        AnswerInput,
        LegInput,
        LegResult,
        LegStatus,
        Question,
    )
    from orchestrator.messages.mission import BegunPlan
    from orchestrator.messages.step import PlanStepOutput
    from orchestrator.planning.models import CallTool, Observation
    from orchestrator.saga.ledger import Ledger
    from orchestrator.workflows import ui
    from orchestrator.workflows.questions import QuestionDesk

_UNANSWERED = "if nobody decides until then, all that stands is rolled back"


def question_before_rollback(
    hold: Hold, ledger: Ledger, *, question_id: str, mission_id: str, limit: timedelta
) -> Question | None:
    """Return the question about a failure; None if nothing stands, or a window closes too soon."""
    now = workflow.now()
    expires_at = rolls_back_at(ledger, now, limit)
    if not ledger.live() or expires_at <= now:
        return None
    hold = hold.model_copy(update={"standing": standing_of(ledger)})
    return Question(
        question_id=question_id,
        mission_id=mission_id,
        leg_id=hold.leg_id,
        question=hold_question(hold),
        fields=answer_fields(hold),
        expires_at=expires_at,
        why="it failed, and it was started with on_failure ask",
        otherwise=_UNANSWERED,
        asked_at=now,
        hold=hold,
    )


def record_of(question: Question, answer: AnswerInput | None) -> HoldRecord:
    """Return the record of a hold that is over; without an answer it has expired."""
    values: JsonObject = {} if answer is None else answer.values
    changes = values.get(ARGUMENTS)
    return HoldRecord.model_validate(
        {
            "id": question.question_id,
            "error": question.hold.error if question.hold is not None else "",
            "decision": values.get(DECISION, "expired"),
            "by": "" if answer is None else answer.answered_by,
            "at": workflow.now(),
            "hint": values.get(HINT) or "",
            "arguments": changes or None,
            "limit": values.get(LIMIT) or "",
        }
    )


class MissionHold(QuestionDesk):
    """The holds of one mission, one after the other."""

    def __init__(self, question: Question | None, records: tuple[HoldRecord, ...]) -> None:
        """Take the open hold and the earlier ones of the previous run."""
        super().__init__("mission", question, {one.id: str(one) for one in records})
        self.records = records

    async def until_decided(self, is_interrupted: Callable[[], bool]) -> HoldRecord | None:
        """Return the end of the hold that is open; None: a new run has to go on with it.

        Raises:
            asyncio.CancelledError: a cancel request arrived, which ends the hold.
        """
        if self.asked is None:
            raise RuntimeError("no hold is open")
        question = self.asked.question
        if not await self.until_over(question.expires_at, ui.HOLD_EXPIRES, is_interrupted):
            return None
        record = record_of(question, self.close())
        self.closed[record.id] = str(record)
        self.records = (*self.records, record)
        return record


def failure_of(result: LegResult | None, leg: LegInput | None, error: str, refusal: str) -> Hold:
    """Return the subject of a hold after a leg failed, or, without a result, the whole mission.

    A refusal says why it cannot be repaired.
    """
    state = leg.state if leg is not None else None
    if state is not None and result is not None and state.acting is not None:
        was_sent = state.acting.sent is not None and result.limit is None
        refusal = refusal or ("the cost of its last call is not settled" if was_sent else "")
    unmade = state.unmade if state is not None else None
    return Hold(
        error=error,
        leg_id=result.leg_id if result is not None else "",
        failed=FailedCall(tool=unmade.tool, arguments=unmade.arguments) if unmade else None,
        no_repair=refusal,
    )


def rejected_for_good(decisions: Sequence[DecisionRecord]) -> bool:
    """Return True if a person rejected the last card and wants everything rolled back."""
    return bool(decisions) and decisions[-1].then == "rollback"


def repaired(leg: LegInput, hold: Hold, answer: HoldRecord) -> LegInput:
    """Return the state from which a leg continues after a repair.

    With changed arguments, or with neither these nor a hint, the failed call is made again, with
    checks and a card as any call; else the leg's planner decides. A written workflow decides
    nothing: its failed call is always made again.
    """
    is_lost = leg.leg.leg_id == hold.leg_id and leg.state.status is LegStatus.FAILED
    if not is_lost:
        return leg.reopened()
    failed, state = hold.failed, leg.state
    answers, seen = state.answers, state.observations
    written = state.unmade if leg.leg.written is not None else None
    if written is not None and failed is not None:
        pass  # nobody reads a hint
    elif answer.hint and failed is not None:
        hint = Observation(
            step=state.step,
            part=state.part,
            tool=failed.tool,
            arguments=failed.arguments,
            outcome="refused",
            error=f"{answer.by or 'a person'} wants it otherwise",
            refused_by=answer.by,
            hint=answer.hint,
            sent_back=True,
        )
        seen = (*seen, hint)
    elif answer.hint:
        answers = {**answers, HINT: answer.hint}
    opened = leg.reopened(answers=answers, observations=seen)
    is_remade = bool(written or answer.arguments) or not (answer.hint or answer.limit)
    if failed is None or not is_remade:
        return opened
    call = CallTool(
        tool=failed.tool,
        arguments={**failed.arguments, **(answer.arguments or {})},
        reason=answer.hint or "a person has the failed call made again",
    )
    if written is not None:
        stated = {
            "step_id": written.step_id,
            "headers": written.headers,
            "call_terms": written.call_terms,
            "replaces": True,
        }
        call = call.model_copy(update=stated)
    acting = Acting(planned=PlanStepOutput(decision=call))
    state = opened.state.model_copy(update={"acting": acting, "step": state.step + 1, "part": 0})
    return opened.model_copy(update={"state": state})


def raisable(hold: Hold, reached: LimitReached | None, plan: BegunPlan) -> Hold:
    """Return the hold with the limit that a repair may raise; an agent's own is not raised here."""
    most = {"the mission": plan.most, "each leg": plan.most_of_leg}
    if reached is None or reached.of not in most:
        return hold
    return hold.model_copy(update={"limit": reached, "most": most[reached.of]})


def raised(plan: BegunPlan, hold: Hold, text: str) -> tuple[BegunPlan, timedelta | None]:
    """Return the plan with the limit that was reached raised, and the mission's new deadline."""
    limit = raised_limit(hold, text)
    changed = {n: one for n in Limits.model_fields if (one := getattr(limit, n)) is not None}
    is_of_leg = hold.limit is not None and hold.limit.of == "each leg"
    name, time = ("leg_limits", None) if is_of_leg else ("limits", limit.wall_clock)
    limits: Limits = getattr(plan, name)
    if time is None or limits.wall_clock is not None:
        limits = limits.model_copy(update=changed)
    return plan.model_copy(update={name: limits}), time
