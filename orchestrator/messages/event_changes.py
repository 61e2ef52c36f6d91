"""Derive the events between two states of one workflow, in reading order.

The same two states give the same events. A state of None precedes all work; the mission itself
reports what is there in the first state of its rollback.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final, TypedDict

from pydantic import Field

from orchestrator.confirmation.models import ConfirmationCard, DecisionRecord, expiry_of
from orchestrator.core.record import Record, shared_fields
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
from orchestrator.messages.failure_details import ModelPause
from orchestrator.messages.leg import (
    CallMade,
    LegProgress,
    LegResult,
    LegStatus,
    LegWaiting,
    MissionProgress,
    Question,
)
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.rollback import RollbackReport
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import ObligationState

ASKED: Final = "ask the user"
"""The `did` of a step that asked a person."""
_ENDED: Final = frozenset(
    {LegStatus.SUCCEEDED, LegStatus.FAILED, LegStatus.CANCELLED, LegStatus.SKIPPED}
)


class Where(TypedDict):
    """The mission, the leg and the time of events."""

    mission_id: str
    leg_id: str
    at: datetime


class MissionState(Record):
    """The state of a mission and its legs at one time."""

    result: MissionResult
    progress: MissionProgress


class SagaWaits(Record):
    """The waits of a workflow's sagas at one time, and the decisions and answers until then."""

    waits: dict[str, LegWaiting] = Field(default_factory=dict)
    """By saga and call: `SAGA.CALL`."""
    decisions: tuple[DecisionRecord, ...] = ()
    answered: frozenset[str] = frozenset()
    """Ids of questions."""

    @property
    def cards(self) -> tuple[ConfirmationCard, ...]:
        """The open cards."""
        return tuple(one.card for one in self.waits.values() if one.card is not None)


def state_changes(before: MissionState | None, now: MissionState, where: Where) -> Iterator[Event]:
    """Yield the events of a mission and its legs between two states, its end last."""
    own = list(mission_changes(None if before is None else before.result, now.result, where))
    ended = [one for one in own if isinstance(one, MissionEvent) and one.over]
    yield from (one for one in own if one not in ended)
    known = {} if before is None else {leg.leg_id: leg for leg in before.result.legs}
    was = {} if before is None else before.progress.legs
    legs = dict(now.progress.legs)
    for leg in now.result.legs:
        earlier, leg_id = known.get(leg.leg_id), leg.leg_id
        is_new = leg_id in was or earlier is None or earlier.status not in _ENDED
        if leg.status in _ENDED and leg_id not in now.progress.legs and is_new:
            seen = was.get(leg_id, LegProgress(agent=leg.agent, goal=leg.goal))
            if leg.status is not LegStatus.SKIPPED or leg_id in was:
                legs[leg_id] = _as_ended(seen, leg)
    for leg_id, progress in legs.items():
        of_leg = Where(mission_id=where["mission_id"], leg_id=leg_id, at=where["at"])
        before_it, result = was.get(leg_id), known.get(leg_id)
        if before_it is None and result is not None and result.status in _ENDED:
            # As it ended: a repair has reopened it since.
            before_it = _as_ended(LegProgress(agent=result.agent, goal=result.goal), result)
        yield from leg_changes(before_it, progress, of_leg)
    yield from ended


def _as_ended(seen: LegProgress, leg: LegResult) -> LegProgress:
    ended = {**_shared(leg, LegProgress), "waiting": LegWaiting()}
    return seen.model_copy(update=ended)


def stopped_changes(before: MissionState | None, where: Where, error: str) -> Iterator[Event]:
    """Yield the events of a mission that was stopped from outside."""
    if before is None:
        status = MissionStatus.TERMINATED.value
        yield MissionEvent(**where, status=status, error=error, over=True)
    elif before.result.finished_at is None:
        for leg_id, leg in before.progress.legs.items():
            if leg.status not in _ENDED:
                of_leg = Where(mission_id=where["mission_id"], leg_id=leg_id, at=where["at"])
                now = leg.model_copy(update={"waiting": LegWaiting()})
                yield from leg_changes(leg, now, of_leg)
                stopped_leg = {"status": "terminated", "error": error}
                yield _leg(leg, of_leg).model_copy(update={"summary": "", **stopped_leg})
        stopped = terminated(before, where["at"], error)
        yield from mission_changes(before.result, stopped.result, where)


def terminated(before: MissionState, at: datetime | None, error: str) -> MissionState:
    """Return the state of a mission that was stopped at this time, without any waits."""
    result = before.result.model_copy(
        update={
            "status": MissionStatus.TERMINATED,
            "error": before.result.error or error,
            "plan_waits": LegWaiting(),
            "stalled": "",
            "finished_at": at,
        }
    )
    nothing = {"waiting": LegWaiting(), "status": LegStatus.CANCELLED}
    legs = {
        leg_id: leg if leg.status in _ENDED else leg.model_copy(update=nothing)
        for leg_id, leg in before.progress.legs.items()
    }
    return MissionState(result=result, progress=MissionProgress(legs=legs))


def leg_changes(before: LegProgress | None, now: LegProgress, where: Where) -> Iterator[Event]:
    """Yield the events of a leg between two states."""
    was = before or LegProgress()
    over = now.status in _ENDED
    if now.selection is not None and now.selection != was.selection:
        yield SelectionEvent(**where, **now.selection.model_dump())
    # A long list has lost its oldest steps.
    steps = now.steps[max(0, was.steps_before + len(was.steps) - now.steps_before) :]
    answers = [one.outcome for one in steps if one.did == ASKED]
    decided = now.decisions[len(was.decisions) :]
    yield from _closed(was.waiting, now.waiting, decided, answers, where)
    if now.status != was.status and not over:
        yield _leg(now, where)
    moved = list(_obligations(was.ledger, now.ledger, where))
    yield from (one for one in moved if one.state == ObligationState.INTENDED)
    yield from _calls(was.calls, now.calls, where)
    yield from (one for one in moved if one.state != ObligationState.INTENDED)
    for step in steps:
        yield StepEvent(**where, **{**_shared(step, StepEvent), "step": step.label})
    yield from _opened(was.waiting, now.waiting, where)
    if now.status != was.status and over:
        yield _leg(now, where)


def mission_changes(
    before: MissionResult | None, now: MissionResult, where: Where
) -> Iterator[Event]:
    """Yield the events of a mission itself, without those of its legs and its rollback."""
    parts = [
        tuple(PlannedPart(leg_id=leg.leg_id, agent=leg.agent, goal=leg.goal) for leg in result.legs)
        for result in (before, now)
        if result is not None
    ]
    if parts[-1] and (before is None or parts[0] != parts[1]):
        yield PlanEvent(**where, legs=parts[-1])
    waits = now.plan_waits.model_copy(update={"stalled": now.stalled})
    was = LegWaiting()
    if before is not None:
        was = before.plan_waits.model_copy(update={"stalled": before.stalled})
    decided = now.plan_decisions[len(before.plan_decisions) if before else 0 :]
    answers = [
        *(one.outcome for one in now.plan_answers[len(before.plan_answers) if before else 0 :]),
        *(one.decision for one in now.holds[len(before.holds) if before else 0 :]),
    ]
    ends = ["expired" if one == "expired" else "answered" for one in answers]
    yield from _closed(was, waits, decided, ends, where)
    known = {one.rule.rule_id for one in before.again if one.revoked_at} if before else set()
    for one in now.again:
        if one.revoked_at is not None and one.rule.rule_id not in known:
            yield DecisionEvent(
                **where,
                confirmation_id=one.rule.rule_id,
                digest=one.rule.digest,
                decision="revoked",
                approver=one.revoked_by,
                reason=one.reason,
            )
    over = now.finished_at is not None
    shown = (now.status, now.goal_became, over)
    if before is None or shown != (
        before.status,
        before.goal_became,
        before.finished_at is not None,
    ):
        yield MissionEvent(
            **where,
            status=now.status.value,
            goal=now.goal_became or now.goal,
            summary=now.summary if over else "",
            error=now.error,
            over=over,
        )
    yield from _opened(was, waits, where)


def saga_changes(before: SagaWaits | None, now: SagaWaits, where: Where) -> Iterator[Event]:
    """Yield the events of a workflow's sagas between two states."""
    was, at = before or SagaWaits(), where["at"]
    new = now.decisions[len(was.decisions) :]
    for key in sorted(was.waits.keys() | now.waits.keys()):
        saga_id, _, call = key.partition(".")
        of_call = Where(mission_id=saga_id, leg_id=call, at=at)
        earlier, later = was.waits.get(key, LegWaiting()), now.waits.get(key, LegWaiting())
        card, question = earlier.card, earlier.question
        decided = [one for one in new if card and one.confirmation_id == card.confirmation_id]
        if (
            card
            and card != later.card
            and not decided
            and card.expires_at
            and card.expires_at <= at
        ):
            decided = [expiry_of(card, at)]
        answers = []
        if question and question.question_id in now.answered:
            answers = ["answered"]
        elif question and question.expires_at and question.expires_at <= at:
            answers = ["expired"]
        yield from _closed(earlier, later, decided, answers, of_call)
        yield from _opened(earlier, later, of_call)


def rollback_changes(
    before: RollbackReport | None, now: RollbackReport, where: Where
) -> Iterator[Event]:
    """Yield the events of a rollback between two states."""
    if before is None or (before.status, before.settled) != (now.status, now.settled):
        is_end = before is not None and (now.settled or now.parked)
        if is_end:
            yield from _resettled(before, now, where)
        yield RollbackEvent(
            **where,
            status=now.status.value,
            reason=str(now.order),
            parked=len(now.parked),
            settled=now.settled,
        )
        if is_end:
            return
    yield from _resettled(before, now, where)


def _resettled(
    before: RollbackReport | None, now: RollbackReport, where: Where
) -> Iterator[ObligationEvent]:
    """Yield changed obligations; the legs that made them have reported those that were found."""
    known = () if before is None else before.ledger.obligations
    seen = {one.obligation_id for one in known}
    for one in now.ledger.obligations:
        if one.obligation_id in seen:
            was = before.ledger if before is not None else Ledger()
            own = Where(mission_id=where["mission_id"], leg_id=one.leg_id, at=where["at"])
            yield from _obligations(was, Ledger(obligations=(one,)), own)


def _leg(now: LegProgress, where: Where) -> LegEvent:
    return LegEvent(**where, **{**_shared(now, LegEvent), "status": now.status.value})


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
        now_is = (one.state, one.note, len(one.resolutions))
        if before is None or now_is != (before.state, before.note, len(before.resolutions)):
            fields = {**_shared(one, ObligationEvent), "state": one.state.value}
            yield ObligationEvent(**where, **fields)


def _closed(
    was: LegWaiting,
    now: LegWaiting,
    decided: Iterable[DecisionRecord],
    answers: Sequence[str],
    where: Where,
) -> Iterator[Event]:
    """Yield decisions, and the end of each wait; the first answer is that of the question."""
    verdicts = list(decided)
    for one in verdicts:
        if one.kind != "expired":
            yield DecisionEvent(**where, **_shared(one, DecisionEvent), decision=one.kind)
    card = was.card
    if card is not None and (now.card is None or _card_key(card) != _card_key(now.card)):
        kinds = [o.kind for o in verdicts if _card_key(o) == _card_key(card)]
        yield _card(card, kinds[-1] if kinds else "withdrawn", where)
    question = was.question
    if question is not None and question != now.question:
        yield _question(question, answers[0] if answers else "withdrawn", where)
    if was.pause is not None and (now.pause is None or now.pause.pause_id != was.pause.pause_id):
        yield _pause(was.pause, "closed", where)
    if was.stalled and not now.stalled:
        yield HeldUpEvent(**where, state="closed")


def _opened(was: LegWaiting, now: LegWaiting, where: Where) -> Iterator[Event]:
    """Yield the beginning of each wait."""
    card, before = now.card, was.card
    if card is not None and (before is None or _card_key(before) != _card_key(card)):
        yield _card(card, "opened", where)
    elif card is not None and before is not None and card.reminded > before.reminded:
        yield _card(card, "reminded", where)
    if now.question is not None and now.question != was.question:
        yield _question(now.question, "opened", where)
    if now.pause is not None and now.pause != was.pause:
        is_same = was.pause is not None and was.pause.pause_id == now.pause.pause_id
        yield _pause(now.pause, "retried" if is_same else "opened", where)
    if now.stalled and now.stalled != was.stalled:
        yield HeldUpEvent(**where, state="opened", why=now.stalled)


def _card_key(one: ConfirmationCard | DecisionRecord) -> tuple[str, str]:
    return one.confirmation_id, one.digest


def _card(card: ConfirmationCard, state: str, where: Where) -> CardEvent:
    return CardEvent.model_validate({**where, **_shared(card, CardEvent), "state": state})


def _question(question: Question, state: str, where: Where) -> QuestionEvent:
    fields = {**_shared(question, QuestionEvent), "fields": tuple(question.fields)}
    return QuestionEvent.model_validate({**where, **fields, "state": state})


def _pause(pause: ModelPause, state: str, where: Where) -> PauseEvent:
    return PauseEvent.model_validate({**where, **_shared(pause, PauseEvent), "state": state})


def _shared(source: Record, kind: type[Record]) -> dict[str, Any]:
    """Return the fields that `source` and `kind` share, without the fields of all events."""
    found = shared_fields(source, kind).items()
    return {name: value for name, value in found if name not in Event.model_fields}
