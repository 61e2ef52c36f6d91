"""How a mission stands in view of its rollback: what is over cannot change, its rollback can."""

from collections.abc import Mapping
from typing import Final

from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.rollback import RollbackReport, RollbackStatus
from orchestrator.saga.ledger import ObligationState

LEAVES_STANDING: Final = frozenset({MissionStatus.SUCCEEDED, MissionStatus.INCOMPLETE})
"""Ends after which what was done is meant to stand: to roll it back is somebody's decision."""

_AFTER: Final[Mapping[MissionStatus, MissionStatus]] = {
    MissionStatus.SUCCEEDED: MissionStatus.ROLLED_BACK_AFTER_SUCCESS,
    MissionStatus.INCOMPLETE: MissionStatus.ROLLED_BACK,
    MissionStatus.PARKED: MissionStatus.ROLLED_BACK,
}
"""What a mission is, by its own end, when nothing of it is left."""
_FOLLOWS: Final = frozenset({*_AFTER, MissionStatus.ROLLING_BACK, MissionStatus.TERMINATED})


def status_with(
    own: MissionStatus, rollback: RollbackStatus | None, *, stopped: bool = False
) -> MissionStatus:
    """The status of a mission whose rollback has come that far.

    Args:
        own: as the mission itself says, or said at its end.
        rollback: what its rollback is doing; None: it has none.
        stopped: whether a person cancelled the mission.
    """
    if rollback is None:
        return own
    if rollback is RollbackStatus.PARKED:
        return MissionStatus.PARKED
    if rollback is not RollbackStatus.ROLLED_BACK:
        return MissionStatus.ROLLING_BACK if own in _FOLLOWS else own
    if own is MissionStatus.PARKED and stopped:
        return MissionStatus.CANCELLED
    return _AFTER.get(own, own)


def after_rollback(result: MissionResult, report: RollbackReport) -> MissionResult:
    """A mission's own result with what its rollback has made of it since."""
    ledger = result.ledger.written(*report.ledger.obligations)
    if report.status is RollbackStatus.ROLLED_BACK and not _took_back(report):
        return result.on(ledger, result.status)
    return result.on(ledger, status_with(result.status, report.status, stopped=result.stopped))


def _took_back(report: RollbackReport) -> bool:
    """Whether it changed anything: a mission that had left nothing is what it was."""
    settled = (ObligationState.CANCELLED, ObligationState.ACCEPTED)
    return any(o.state in settled and o.rollback is not None for o in report.ledger.obligations)
