"""The report of a rollback, read from its own events; a signal alone proves nothing."""

from datetime import timedelta
from typing import Any

import pytest
from temporalio.client import WorkflowExecutionStatus

from orchestrator.adapters.temporal.rollback_history import read_begun_rollback, read_rollback
from orchestrator.adapters.temporal.rollbacks import begun_rollback, described, start_rollback
from orchestrator.core.errors import UsageError
from orchestrator.messages import names
from orchestrator.messages.rollback import (
    CollectLedgerOutput,
    CompensateInput,
    ReadRollbackOutput,
    RollbackInput,
    RollbackReport,
)
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation, ObligationState
from orchestrator.saga.outcome import CompensationFailure, CompensationOutcome
from tests.fakes import fake_obligation
from tests.unit.adapters.temporal.made_histories import NOW, Run, Server

S = ObligationState
ID = "m.rollback"
MADE = [fake_obligation(f"m.1-trip.{n}", state=S.COMMITTED, committed_at=NOW) for n in (1, 2, 3)]


async def begun(**given: Any) -> Run:
    """A rollback that has collected what was made."""
    run = await Run("r").start(RollbackInput(mission_id="m", reason="it failed", **given))
    collecting = await run.schedule(names.COLLECT_LEDGER, {})
    await run.complete(collecting, CollectLedgerOutput(ledger=Ledger(obligations=tuple(MADE))))
    return run


async def compensate(run: Run, obligation: Obligation) -> int:
    return await run.schedule(names.COMPENSATE, CompensateInput(obligation=obligation))


async def report_of(server: Server) -> RollbackReport:
    run = await described(server.client.get_workflow_handle(ID))
    assert run is not None
    report, _ = await read_rollback(server.client, run)
    assert report is not None
    return report


async def test_each_attempt_counts_as_far_as_it_came() -> None:
    """One was answered, one failed before it arrived, one is on its way."""
    run = await begun()
    await run.complete(await compensate(run, MADE[2]), CompensationOutcome(state="cancelled"))
    failure = CompensationFailure(reason="HTTP 503", arrived=False)
    await run.fail(await compensate(run, MADE[1]), failure)
    await compensate(run, MADE[0])
    report = await report_of(Server().keep(ID, run))

    states = [(o.state, o.cancel_sent) for o in report.ledger.obligations]
    assert states == [(S.COMMITTED, True), (S.COMMITTED, False), (S.CANCELLED, False)]
    assert report.order.reason == "it failed"
    assert not report.settled


async def test_what_is_parked_meanwhile_is_in_the_memo() -> None:
    """Of the ledger's obligations alone: a memo may be of whoever started it."""
    run = await begun()
    parked = MADE[0].moved(S.PARKED, at=NOW, note="refused for good")
    forged = fake_obligation("m.1-trip.9", state=S.PARKED)
    other = MADE[1].moved(S.PARKED, at=NOW).model_copy(update={"arguments": {"to": "them"}})
    shown = RollbackReport(mission_id="m", ledger=Ledger(obligations=(parked, forged, other)))
    server = Server().keep(ID, run)
    server.memos[ID] = {names.PARKED_MEMO: shown}
    report = await report_of(server)

    assert [o.state for o in report.ledger.obligations] == [S.PARKED, S.COMMITTED, S.COMMITTED]


async def test_a_rollback_is_settled_once_it_has_told_its_mission_so() -> None:
    """In its own history; before that, and without a rollback, there is nothing to report."""
    run = await begun()
    server = Server().keep(ID, run)
    before = await read_begun_rollback(server.client, "m")
    told = RollbackReport(mission_id="m", ledger=Ledger(obligations=tuple(MADE)), settled=True)
    await run.signal("something_else", told)
    neither = await read_begun_rollback(server.client, "m")
    await run.signal(names.ROLLBACK_SETTLED_SIGNAL, told)

    assert (before, neither) == (ReadRollbackOutput(), ReadRollbackOutput())
    assert (await read_begun_rollback(server.client, "m")).settled == told
    assert await read_begun_rollback(Server().client, "m") == ReadRollbackOutput(refused=True)


async def test_one_that_has_collected_nothing_has_no_report() -> None:
    """It tells what it was started with, by which an earlier run is found."""
    server = Server().keep(ID, await Run("r").start(RollbackInput(mission_id="m", take_over="q")))
    server.status[ID] = WorkflowExecutionStatus.RUNNING
    found = await described(server.client.get_workflow_handle(ID))
    assert found is not None
    report, given = await read_rollback(server.client, found)

    assert report is None
    assert given is not None
    assert given.take_over == "q"


@pytest.mark.parametrize(("ended_s", "counts"), [(1, False), (-1, True)])
async def test_a_rollback_of_an_abandoned_branch_is_not_the_missions_own(
    ended_s: int, counts: bool
) -> None:
    """It had completed before the mission ended well, so all that stands can be rolled back."""
    rollback = await begun()
    server = Server().keep("m", await Run("1").start()).keep(ID, rollback)
    server.status = dict.fromkeys(("m", ID), WorkflowExecutionStatus.COMPLETED)
    server.closed["m"] = rollback.started_at + timedelta(seconds=ended_s)

    assert (await begun_rollback(server.client, "m") is not None) is counts


@pytest.mark.parametrize("status", WorkflowExecutionStatus)
async def test_a_sweeps_rollback_of_an_abandoned_branch_is_not_the_missions_own(
    status: WorkflowExecutionStatus,
) -> None:
    """It began after the mission had ended well; for one that ended otherwise it is its own."""
    rollback = await begun(abandoned=True)
    server = Server().keep("m", await Run("1").start()).keep(ID, rollback)
    server.status = {"m": status, ID: WorkflowExecutionStatus.COMPLETED}
    server.closed["m"] = rollback.started_at - timedelta(seconds=1)
    counts = status is not WorkflowExecutionStatus.COMPLETED

    assert (await begun_rollback(server.client, "m") is not None) is counts


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize(("later_s", "counts"), [(60, False), (-60, True)])
async def test_a_completed_rollback_from_before_a_mission_is_of_another(
    is_open: bool, later_s: int, counts: bool
) -> None:
    """Of an earlier mission of the same id, or of the branch before a reset."""
    rollback, mission = await begun(), await Run("1").start()
    mission.started_at = rollback.started_at + timedelta(seconds=later_s)
    server = Server().keep("m", mission).keep(ID, rollback)
    server.status = {
        "m": WorkflowExecutionStatus.RUNNING if is_open else WorkflowExecutionStatus.TERMINATED,
        ID: WorkflowExecutionStatus.COMPLETED,
    }
    if not is_open:
        server.closed["m"] = mission.started_at + timedelta(seconds=120)

    assert (await begun_rollback(server.client, "m") is not None) is counts


@pytest.mark.parametrize("approver", [None, "ann"])
async def test_a_person_asks_for_more_than_the_rollback_of_a_branch(approver: str | None) -> None:
    """Which is still open: its report would look as if all was cancelled."""
    server = Server().keep("m", await Run("1").start()).keep(ID, await begun(abandoned=True))
    server.status = {
        "m": WorkflowExecutionStatus.COMPLETED,
        ID: WorkflowExecutionStatus.RUNNING,
    }

    starting = start_rollback(
        server.client, "m", reason="wrong city", task_queue="q", approver=approver
    )

    if approver is None:
        assert await starting == "running"
    else:
        with pytest.raises(UsageError):
            await starting
