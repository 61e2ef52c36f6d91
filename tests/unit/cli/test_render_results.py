"""What people read of a mission whose effects were taken back after it had ended."""

from io import StringIO

import pytest
from rich.console import Console

from orchestrator.cli import render_missions
from orchestrator.core.received_files import ReceivedFile, handle_of_bytes
from orchestrator.messages.leg import LegResult, LegStatus
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.planning.models import Fact
from orchestrator.saga.ledger import Ledger, ObligationState
from orchestrator.testing import fake_obligation


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
    own = MissionResult(
        mission_id="m", goal="g", status=MissionStatus.SUCCEEDED, summary="Locker reserved."
    )
    result = own.on(Ledger(), status)
    written = StringIO()

    render_missions.mission(Console(file=written, width=200), result)

    text = written.getvalue()
    assert "Locker reserved." in text
    assert ("before its rollback it said:" in text) is is_past


@pytest.mark.parametrize("state", [ObligationState.PARKED, ObligationState.ACCEPTED])
def test_what_was_left_has_a_line_of_its_own(state: ObligationState) -> None:
    """By what its provider knows it, and, while somebody has to decide, where to."""
    made = fake_obligation(
        state=state, response={"booking_id": "b1"}, title="Book a room", note="refused: too late"
    )
    own = MissionResult(mission_id="m", goal="g", status=MissionStatus.SUCCEEDED, summary="Booked.")
    written = StringIO()
    render_missions.mission(
        Console(file=written, width=200),
        own.on(Ledger(obligations=(made,)), MissionStatus.ROLLED_BACK_AFTER_SUCCESS),
    )

    text = written.getvalue()
    assert f"left, {state}: Book a room" in text
    assert "booking_id b1" in text
    assert ("orchestrator rollback show m" in text) is (state is ObligationState.PARKED)


def test_files_are_told_with_the_command_that_writes_them() -> None:
    """Those that a leg received by their names, and those that only a call names."""
    received = ReceivedFile(handle=handle_of_bytes(b"1"), size_bytes=1, name="label.pdf")
    sent = handle_of_bytes(b"2")
    facts = (
        Fact(source="1.1", tool="label_download", body=received.as_answer()),
        Fact(source="1.2", tool="t", title="Open a ticket", arguments={"document": sent}),
    )
    leg = LegResult(
        leg_id="1", agent="a", goal="g", status=LegStatus.SUCCEEDED, summary="s", facts=facts
    )
    own = MissionResult(mission_id="m", goal="g", status=MissionStatus.SUCCEEDED, legs=(leg,))
    written = StringIO()

    render_missions.mission(Console(file=written, width=200), own)

    text = written.getvalue()
    assert f"file, label.pdf\n  orchestrator mission file m {received.handle} --out" in text
    assert f"file, sent with: Open a ticket\n  orchestrator mission file m {sent} --out" in text
