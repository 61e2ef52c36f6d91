"""The ways in which the call of a pair can go: well, or so that nobody knows what came of it."""

from datetime import timedelta
from enum import StrEnum

from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.sandbox.faults import FaultKind, FaultRule

LATENESS_S = 4.5
"""Seconds by which a late answer is late: beyond the time of an unclear call, far within the time
after which it can no longer arrive."""
_UNCLEAR = MissionPolicy(call_timeout=timedelta(seconds=3), call_attempts=1)
"""Short, for the rollback of an unclear call waits until it can no longer arrive."""


class PairCase(StrEnum):
    """One way in which a pair is tried."""

    CLEAN = "clean"
    """The call succeeds, and is cancelled."""
    ANSWER_LOST = "answer lost"
    """The call takes effect and its connection breaks."""
    REQUEST_LOST = "request lost"
    """The connection breaks before the call takes effect."""
    SERVER_ERROR = "server error"
    """The call takes effect and is answered with 503."""
    TOO_LATE = "too late"
    """The call takes effect after its time is up."""
    CANCEL_ANSWER_LOST = "cancel's answer lost"
    """The call succeeds; the cancel takes effect and its connection breaks."""

    @property
    def policy(self) -> MissionPolicy:
        """The limits of its call: short where its end is waited for."""
        return _UNCLEAR if self.is_ambiguous else MissionPolicy(call_attempts=1)

    @property
    def is_ambiguous(self) -> bool:
        """Whether the orchestrator is not told what became of the call."""
        return self not in (PairCase.CLEAN, PairCase.CANCEL_ANSWER_LOST)


_KINDS: dict[PairCase, FaultKind] = {
    PairCase.ANSWER_LOST: "drop_after",
    PairCase.REQUEST_LOST: "drop_before",
    PairCase.SERVER_ERROR: "status_after",
    PairCase.TOO_LATE: "latency",
    PairCase.CANCEL_ANSWER_LOST: "drop_after",
}


def faults_of(case: PairCase, tool: str, cancel: str, *, mission_id: str) -> tuple[FaultRule, ...]:
    """The fault that makes one mission's call of a tool go this way; both as they are served."""
    kind = _KINDS.get(case)
    if kind is None:
        return ()
    struck = cancel if case is PairCase.CANCEL_ANSWER_LOST else tool
    prefix = f"{mission_id}."
    return (
        FaultRule(
            operation_id=struck, kind=kind, times=1, delay_s=LATENESS_S, request_prefix=prefix
        ),
    )
