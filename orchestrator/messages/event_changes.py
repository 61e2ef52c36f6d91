"""The events between two answers of one workflow: what differs, in the order in which it is told.

Pure: the same two answers give the same events. An answer of None is one before the workflow did
anything; what is there in the first answer of a rollback was told by the legs before.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final, TypedDict

from orchestrator.confirmation.models import ConfirmationCard, DecisionRecord
from orchestrator.messages.events import (
    CallEvent,
    CardEvent,
    DecisionEvent,
    Event,
    HeldUpEvent,
    LegEvent,
    MissionEvent,
    ObligationEvent,
    PauseEvent,
    PlanEvent,
    PlannedPart,
    QuestionEvent,
    RollbackEvent,
    SelectionEvent,
    StepEvent,
)
from orchestrator.messages.leg import LegStatus, LegWaiting, Question
from orchestrator.messages.leg_progress import CallMade, LegProgress
from orchestrator.messages.mission import MissionResult
from orchestrator.messages.model_trouble import ModelPause
from orchestrator.messages.rollback import RollbackReport
from orchestrator.messages.step import StepRecord
from orchestrator.saga.ledger import Ledger, Obligation, ObligationState

ASKED: Final = "ask the user"
"""What the record of a step is called that asked a person."""
_ENDED: Final = frozenset(
    {LegStatus.SUCCEEDED, LegStatus.FAILED, LegStatus.CANCELLED, LegStatus.SKIPPED}
)


class Where(TypedDict):
    """Of which part of which mission events are, and since when."""

    mission_id: str
    leg_id: str
    at: datetime


def leg_changes(before: LegProgress | None, now: LegProgress, where: Where) -> Iterator[Event]:
    """What a leg did between two answers."""
    was = before or LegProgress()
    over = now.status in _ENDED
    if now.selection is not None and now.selection != was.selection:
        yield SelectionEvent(**where, **now.selection.model_dump())
    steps = _new_steps(was, now)
    yield from _closed(was.waiting, now.waiting, now.decisions[len(was.decisions) :], steps, where)
    if now.status != was.status and not over:
        yield _leg(now, where)
    moved = list(_obligations(was.ledger, now.ledger, where))
    yield from (one for one in moved if one.state == ObligationState.INTENDED)
    yield from _calls(was.calls, now.calls, where)
    yield from (one for one in moved if one.state != ObligationState.INTENDED)
    for step in steps:
        yield StepEvent(
            **where, step=step.label, did=step.did, outcome=step.outcome, error=step.error
        )
    yield from _opened(was.waiting, now.waiting, where)
    if now.status != was.status and over:
        yield _leg(now, where)


def mission_changes(
    before: MissionResult | None, now: MissionResult, where: Where
) -> Iterator[Event]:
    """What a mission did itself between two answers; its legs and its rollback tell the rest."""
    legs = _planned(now)
    if legs and (before is None or legs != _planned(before)):
        yield PlanEvent(**where, legs=legs)
    was, waits = LegWaiting() if before is None else _waits(before), _waits(now)
    decided = now.plan_decisions[len(before.plan_decisions) if before else 0 :]
    answered = [
        StepRecord(
            step=0,
            tools_forwarded=(),
            catalog_size=0,
            band="",
            did=ASKED,
            outcome="expired" if one.came_to == "expired" else "answered",
        )
        for one in now.plan_answers[len(before.plan_answers) if before else 0 :]
    ]
    yield from _closed(was, waits, decided, answered, where)
    if _told_of(now) != (None if before is None else _told_of(before)):
        over = now.finished_at is not None
        yield MissionEvent(
            **where,
            status=now.status.value,
            goal=now.goal_became or now.goal,
            summary=now.summary if over else "",
            error=now.error,
            over=over,
        )
    yield from _opened(was, waits, where)


def rollback_changes(
    before: RollbackReport | None, now: RollbackReport, where: Where
) -> Iterator[Event]:
    """What a rollback did between two answers."""
    if before is None or (before.status, before.settled) != (now.status, now.settled):
        is_end = before is not None and (now.settled or now.parked)
        if is_end:
            yield from _taken_back(before, now, where)
        yield RollbackEvent(
            **where,
            status=now.status.value,
            reason=str(now.order),
            parked=len(now.parked),
            settled=now.settled,
        )
        if is_end:
            return
    yield from _taken_back(before, now, where)


def _taken_back(
    before: RollbackReport | None, now: RollbackReport, where: Where
) -> Iterator[ObligationEvent]:
    """What came to stand otherwise; what a rollback found is news of those who left it."""
    known = () if before is None else before.ledger.obligations
    seen = {one.obligation_id for one in known}
    for one in now.ledger.obligations:
        if one.obligation_id in seen:
            was = before.ledger if before is not None else Ledger()
            own = Where(mission_id=where["mission_id"], leg_id=one.leg_id, at=where["at"])
            yield from _obligations(was, Ledger(obligations=(one,)), own)


def _leg(now: LegProgress, where: Where) -> LegEvent:
    return LegEvent(
        **where,
        status=now.status.value,
        agent=now.agent,
        goal=now.goal,
        summary=now.summary,
        error=now.error,
    )


def _planned(result: MissionResult) -> tuple[PlannedPart, ...]:
    return tuple(
        PlannedPart(leg_id=leg.leg_id, agent=leg.agent, goal=leg.goal) for leg in result.legs
    )


def _waits(result: MissionResult) -> LegWaiting:
    """What the mission itself waits for."""
    return result.plan_waits.model_copy(update={"held_up": result.held_up})


def _told_of(result: MissionResult) -> tuple[object, ...]:
    return result.status, result.finished_at is not None, result.goal_became


def _new_steps(was: LegProgress, now: LegProgress) -> tuple[StepRecord, ...]:
    """Those recorded since; the oldest leave the list when it is long."""
    known = was.steps_before + len(was.steps)
    return now.steps[max(0, known - now.steps_before) :]


def _calls(
    was: tuple[CallMade, ...], now: tuple[CallMade, ...], where: Where
) -> Iterator[CallEvent]:
    known = {one.call_id: one for one in was}
    for call in now:
        before = known.get(call.call_id)
        sent = CallEvent(**where, call_id=call.call_id, tool=call.tool, state="sent")
        if before is None:
            yield sent
        if call.outcome is not None and (before is None or before.outcome is None):
            came = {"state": "answered", "outcome": call.outcome, "error": call.error}
            yield sent.model_copy(update=came)


def _obligations(was: Ledger, now: Ledger, where: Where) -> Iterator[ObligationEvent]:
    known = {one.obligation_id: one for one in was.obligations}
    for one in now.obligations:
        before = known.get(one.obligation_id)
        if before is None or _stands(before) != _stands(one):
            yield ObligationEvent(
                **where,
                obligation_id=one.obligation_id,
                tool=one.tool,
                state=one.state.value,
                title=one.title,
                price=one.price,
                confirmed_by=one.confirmed_by,
                cancel_tool=one.cancel_tool,
                note=one.note,
            )


def _stands(one: Obligation) -> tuple[object, ...]:
    return one.state, one.note, len(one.resolutions)


def _closed(
    was: LegWaiting,
    now: LegWaiting,
    decided: Iterable[DecisionRecord],
    steps: Iterable[StepRecord],
    where: Where,
) -> Iterator[Event]:
    """The end of what was waited for, and who decided."""
    verdicts = list(decided)
    for one in verdicts:
        if one.kind != "expired":
            yield DecisionEvent(
                **where,
                confirmation_id=one.confirmation_id,
                digest=one.digest,
                decision=one.kind,
                approver=one.approver,
                reason=one.reason,
                then=one.then,
            )
    card = was.card
    if card is not None and (now.card is None or _is_other(card, now.card)):
        kinds = [o.kind for o in verdicts if _names(o) == (card.confirmation_id, card.digest)]
        yield _card(card, kinds[-1] if kinds else "withdrawn", where)
    question = was.question
    if question is not None and question != now.question:
        ends = [one.outcome for one in steps if one.did == ASKED]
        yield _question(question, ends[0] if ends else "withdrawn", where)
    if was.pause is not None and (now.pause is None or now.pause.pause_id != was.pause.pause_id):
        yield _pause(was.pause, "closed", where)
    if was.held_up and not now.held_up:
        yield HeldUpEvent(**where, state="closed")


def _opened(was: LegWaiting, now: LegWaiting, where: Where) -> Iterator[Event]:
    """The beginning of what is waited for."""
    card, before = now.card, was.card
    if card is not None and (before is None or _is_other(before, card)):
        yield _card(card, "opened", where)
    elif card is not None and before is not None and card.reminded > before.reminded:
        yield _card(card, "reminded", where)
    if now.question is not None and now.question != was.question:
        yield _question(now.question, "opened", where)
    if now.pause is not None and now.pause != was.pause:
        is_same = was.pause is not None and was.pause.pause_id == now.pause.pause_id
        yield _pause(now.pause, "retried" if is_same else "opened", where)
    if now.held_up and now.held_up != was.held_up:
        yield HeldUpEvent(**where, state="opened", why=now.held_up)


def _is_other(card: ConfirmationCard, now: ConfirmationCard) -> bool:
    return (card.confirmation_id, card.digest) != (now.confirmation_id, now.digest)


def _names(decision: DecisionRecord) -> tuple[str, str]:
    return decision.confirmation_id, decision.digest


def _card(card: ConfirmationCard, state: str, where: Where) -> CardEvent:
    return CardEvent.model_validate(
        {
            **where,
            "confirmation_id": card.confirmation_id,
            "digest": card.digest,
            "state": state,
            "tool": card.tool,
            "card_type": card.card_type,
            "title": card.title,
            "agent": card.agent,
            "requester": card.requester,
            "price": card.price,
            "round": card.round,
            "expires_at": card.expires_at,
        }
    )


def _question(question: Question, state: str, where: Where) -> QuestionEvent:
    return QuestionEvent.model_validate(
        {
            **where,
            "question_id": question.question_id,
            "state": state,
            "question": question.question,
            "fields": tuple(question.fields),
            "personal": question.personal,
            "why": question.why,
            "expires_at": question.expires_at,
        }
    )


def _pause(pause: ModelPause, state: str, where: Where) -> PauseEvent:
    return PauseEvent.model_validate(
        {
            **where,
            "pause_id": pause.pause_id,
            "state": state,
            "model": pause.model,
            "reason": pause.reason,
            "attempts": pause.attempts,
            "retried_at": pause.retried_at,
        }
    )
