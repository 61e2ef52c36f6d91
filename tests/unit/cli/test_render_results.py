"""What people read of a mission whose effects were taken back after it had ended."""

from io import StringIO

import pytest
from rich.console import Console

from orchestrator.cli import render_missions
from orchestrator.messages.mission import MissionResult, MissionStatus


@pytest.mark.parametrize(
    ("status", "is_past"),
    [
        (MissionStatus.SUCCEEDED, False),
        (MissionStatus.INCOMPLETE, False),
        (MissionStatus.ROLLING_BACK, True),
        (MissionStatus.PARKED, True),
        (MissionStatus.ROLLED_BACK_AFTER_SUCCESS, True),
    ],
)
def test_what_it_said_is_not_said_of_what_stands_now(status: MissionStatus, is_past: bool) -> None:
    """'Locker reserved' stood above a ledger in which it was cancelled."""
    result = MissionResult(mission_id="m", goal="g", status=status, summary="Locker reserved.")
    written = StringIO()

    render_missions.mission(Console(file=written, width=200), result)

    text = written.getvalue()
    assert "Locker reserved." in text
    assert ("before its rollback it said:" in text) is is_past
