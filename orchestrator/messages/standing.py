"""How a mission stands in view of its rollback: what is over cannot change, its rollback can."""

from collections.abc import Mapping
from typing import Final

from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.rollback import RollbackReport, RollbackStatus

LEAVES_STANDING: Final = frozenset({MissionStatus.SUCCEEDED, MissionStatus.INCOMPLETE})
"""Ends after which what was done is meant to stand: to roll it back is somebody's decision."""

_AFTER: Final[Mapping[MissionStatus, MissionStatus]] = {
    MissionStatus.SUCCEEDED: MissionStatus.ROLLED_BACK_AFTER_SUCCESS,
    MissionStatus.INCOMPLETE: MissionStatus.ROLLED_BACK,
    MissionStatus.PARKED: MissionStatus.ROLLED_BACK,
}
"""What a mission is, by its own end, when nothing of it is left."""


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
        return MissionStatus.ROLLING_BACK
    if own is MissionStatus.PARKED and stopped:
        return MissionStatus.CANCELLED
    return _AFTER.get(own, own)


def after_rollback(result: MissionResult, report: RollbackReport) -> MissionResult:
    """A mission's own result with what its rollback has made of it since."""
    ledger = result.ledger.written(*report.ledger.obligations)
    return result.on(ledger, status_with(result.status, report.status, stopped=result.stopped))
