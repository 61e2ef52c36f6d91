"""The ways in which the call of a pair can go: well, or so that nobody knows what came of it."""

from datetime import timedelta
from enum import StrEnum

from orchestrator.catalog.tool import Tool
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.sandbox.faults import FaultKind, FaultRule

LATENESS_S = 4.5
"""Seconds by which a late answer is late: beyond the time of an unclear call, far within the time
after which it can no longer arrive."""
_UNCLEAR = MissionPolicy(call_timeout=timedelta(seconds=3), call_attempts=1)
"""Short, for the rollback of an unclear call waits until it can no longer arrive."""


class Case(StrEnum):
    """One way in which a pair is tried."""

    CLEAN = "clean"
    ANSWER_LOST = "answer lost"
    REQUEST_LOST = "request lost"
    SERVER_ERROR = "server error"
    TOO_LATE = "too late"
    CANCEL_ANSWER_LOST = "cancel's answer lost"

    @property
    def story(self) -> str:
        """What happens in it."""
        return _STORIES[self]

    @property
    def policy(self) -> MissionPolicy:
        """The limits of its call: short where its end is waited for."""
        return _UNCLEAR if self.is_ambiguous else MissionPolicy(call_attempts=1)

    @property
    def is_ambiguous(self) -> bool:
        """Whether the orchestrator is not told what became of the call."""
        return self not in (Case.CLEAN, Case.CANCEL_ANSWER_LOST)


_STORIES = {
    Case.CLEAN: "the call succeeds, and is undone",
    Case.ANSWER_LOST: "the call takes effect and its connection breaks",
    Case.REQUEST_LOST: "the connection breaks before the call takes effect",
    Case.SERVER_ERROR: "the call takes effect and is answered with 503",
    Case.TOO_LATE: "the call takes effect after its time is up",
    Case.CANCEL_ANSWER_LOST: "the call succeeds; the cancel takes effect and its connection breaks",
}

_KINDS: dict[Case, FaultKind] = {
    Case.ANSWER_LOST: "drop_after",
    Case.REQUEST_LOST: "drop_before",
    Case.SERVER_ERROR: "status_after",
    Case.TOO_LATE: "latency",
    Case.CANCEL_ANSWER_LOST: "drop_after",
}


def faults_of(case: Case, tool: Tool, cancel: str, *, mission_id: str) -> tuple[FaultRule, ...]:
    """The trouble that makes one mission's call of a tool go this way."""
    kind = _KINDS.get(case)
    if kind is None:
        return ()
    struck = cancel if case is Case.CANCEL_ANSWER_LOST else tool.name
    prefix = f"{mission_id}."
    return (
        FaultRule(
            operation_id=struck, kind=kind, times=1, delay_s=LATENESS_S, request_prefix=prefix
        ),
    )
