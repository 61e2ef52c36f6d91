"""What a sweep does about one mission, and what a rollback begins with."""

import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
import sqlalchemy as sa
from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import ApplicationFailureInfo, Failure
from temporalio.api.history.v1 import HistoryEvent, WorkflowExecutionFailedEventAttributes
from temporalio.client import Client, WorkflowExecutionStatus

from orchestrator.activities import rollback_activities as sweep_activities
from orchestrator.activities.rollback_activities import (
    RollbackActivities,
    SweepActivities,
    stranded_query,
)
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.protocols import SentCall
from orchestrator.adapters.storage.schema import sent_calls
from orchestrator.adapters.temporal.search_attributes import STATUS
from orchestrator.catalog.catalog import Catalog
from orchestrator.messages import names
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.rollback import (
    CollectLedgerInput,
    CollectLedgerOutput,
    ConcludeInput,
    FindStrandedInput,
    FindStrandedOutput,
    MissionRef,
    Recovery,
    RollbackInput,
    RollbackReport,
)
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation, ObligationState
from tests.fakes import MemoryCatalogs, MemoryGrants, fake_obligation
from tests.unit.activities.environments import of_mission, of_rollback
from tests.unit.activities.made_calls import failure_of, made_call
from tests.unit.adapters.temporal.made_histories import NOW, Run, Server

ENDS = WorkflowExecutionStatus
MADE = fake_obligation("m.1-trip.1")
BROKEN_OFF = {"Terminated", "TimedOut", "Failed", "Canceled"}


class Sweep:
    """A sweep of a server that is made up; it notes the rollbacks that it starts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server = Server()
        self.grants = MemoryGrants()
        self.started: dict[str, str] = {}
        """Task queues by reasons."""
        self.spares_the_rest = False

        async def start(
            _: Client,
            mission_id: str,
            *,
            reason: str,
            task_queue: str,
            workflow_id: str,
            abandoned: bool,
        ) -> str:
            assert (mission_id, workflow_id) == ("m", "")
            self.started[reason] = task_queue
            self.spares_the_rest = abandoned
            return "started"

        monkeypatch.setattr(sweep_activities, "start_rollback", start)

    async def mission(
        self, status: ENDS, *, has_called: bool = True, failed: str = "", run: Run | None = None
    ) -> None:
        """The server keeps a mission that has made a call, and ended so."""
        has_called = has_called and run is None
        run = run or await Run("1").start()
        if has_called:
            await run.schedule(names.INVOKE_TOOL, made_call(MADE.obligation_id, obligation=MADE))
        if status is ENDS.FAILED:
            run.events.append(_failed(failed))
        self.server.keep("m", run)
        self.server.status["m"] = status

    async def rollback(self, status: ENDS, *, failed: str = "") -> None:
        """The server keeps a rollback of it that ended so."""
        run = await Run("r").start(RollbackInput(mission_id="m"))
        if failed:
            run.events.append(_failed(failed))
        self.server.keep("m.rollback", run)
        self.server.status["m.rollback"] = status

    def note(self, origin: str = "") -> None:
        """Let the store know the call."""
        ledger = Ledger(obligations=(MADE.model_copy(update={"origin": origin}),))
        self.grants.send(SentCall(MADE.obligation_id, "m", "u", (), ledger))

    @property
    def activities(self) -> SweepActivities:
        client = cast("Any", self.server.client)
        client.namespace = "default"
        client.workflow_service = SimpleNamespace(describe_namespace=_namespace)
        return SweepActivities(client, self.grants)

    async def recover(self) -> str:
        environment = of_mission("s", task_queue="sweeps")
        done = await environment.run(self.activities.recover_mission, MissionRef(mission_id="m"))
        assert isinstance(done, Recovery)
        return done.done

    @property
    def unfinished(self) -> bool:
        """True if the store still has something to look for."""
        return bool(self.grants.unfinished(after="", most=9))


def _failed(kind: str) -> HistoryEvent:
    failure = Failure(application_failure_info=ApplicationFailureInfo(type=kind))
    attributes = WorkflowExecutionFailedEventAttributes(failure=failure)
    return HistoryEvent(
        event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
        workflow_execution_failed_event_attributes=attributes,
    )


async def _namespace(_: Any) -> Any:
    kept = SimpleNamespace(ToTimedelta=lambda: timedelta(days=3))
    return SimpleNamespace(config=SimpleNamespace(workflow_execution_retention_ttl=kept))


@pytest.fixture
def sweep(monkeypatch: pytest.MonkeyPatch) -> Sweep:
    """A sweep of a server that keeps nothing yet."""
    return Sweep(monkeypatch)


CONCLUDED = pytest.mark.parametrize(
    ("status", "failed"),
    [
        (ENDS.CANCELED, ""),
        (ENDS.FAILED, names.MISSION_FAILED),
        (ENDS.FAILED, names.MISSION_INCOMPLETE),
        (ENDS.COMPLETED, ""),
    ],
)


def stands(status: ENDS, failed: str) -> bool:
    """True if what such a mission did is to stay."""
    return status is ENDS.COMPLETED or failed == names.MISSION_INCOMPLETE


@CONCLUDED
async def test_a_call_of_a_branch_that_a_reset_abandoned_is_cancelled(
    sweep: Sweep, status: ENDS, failed: str
) -> None:
    """Where its mission was to leave nothing, and its history has never heard of it."""
    is_cancelled = not stands(status, failed)
    await sweep.mission(status, failed=failed, has_called=False)
    sweep.note()
    await sweep.recover()

    assert list(sweep.started) == (["it was reset after it had called"] if is_cancelled else [])
    assert sweep.unfinished is is_cancelled


@pytest.mark.parametrize("concluded", [False, True])
@CONCLUDED
async def test_a_call_in_the_history_of_an_abandoned_branch_is_cancelled(
    sweep: Sweep, status: ENDS, failed: str, *, concluded: bool
) -> None:
    """The store was away as the newest branch ended, which had called nothing of it itself.

    Also where the abandoned branch had ended well. Effects of the newest one stay as they are.
    """
    await sweep.mission(ENDS.TERMINATED)
    (base,) = sweep.server.runs["m"]
    newest = await Run("2", first="1").start()
    newest.reset_from(base)
    await sweep.mission(status, failed=failed, run=newest)
    sweep.note(origin="1")
    if concluded:
        sweep.grants.conclude("m")
    sweep.server.keep("m", base, newest)

    assert await sweep.recover() == "started"
    assert list(sweep.started) == ["it was reset after it had called"]
    assert sweep.spares_the_rest is stands(status, failed)


@pytest.mark.parametrize("status", [ENDS.CANCELED, ENDS.COMPLETED])
async def test_a_call_that_the_newest_branch_made_as_well_is_its_own(
    sweep: Sweep, status: ENDS
) -> None:
    """It is in the newest history, or in the ledger that a new run was given."""
    await sweep.mission(ENDS.TERMINATED)
    (base,) = sweep.server.runs["m"]
    given = {"carried": {"results": [{"ledger": Ledger(obligations=(MADE,))}]}}
    newest = await Run("2", first="1").start(given, continued="1")
    newest.reset_from(base)
    sweep.server.keep("m", base, newest)
    sweep.server.status["m"] = status
    sweep.note(origin="1")

    assert await sweep.recover() == "nothing to do"
    assert not sweep.unfinished


@pytest.mark.parametrize(
    ("status", "failed", "reason"),
    [
        (ENDS.TERMINATED, "", "the mission was terminated"),
        (ENDS.TIMED_OUT, "", "the mission was timedout"),
        (ENDS.FAILED, "NondeterminismError", "the mission failed with NondeterminismError"),
    ],
)
async def test_a_mission_that_could_not_conclude_is_rolled_back(
    sweep: Sweep, status: ENDS, failed: str, reason: str
) -> None:
    """On its own task queue; unless it left nothing."""
    await sweep.mission(status, failed=failed)
    done = await sweep.recover()
    await sweep.mission(status, failed=failed, has_called=False)
    nothing = await sweep.recover()

    assert (done, nothing) == ("started", "nothing to do")
    assert sweep.started == {reason: "queue"}


@CONCLUDED
async def test_a_mission_that_concluded_is_left_as_it_is(
    sweep: Sweep, status: ENDS, failed: str
) -> None:
    """And the store has nothing to look for any more."""
    sweep.note()
    await sweep.mission(status, failed=failed)

    assert await sweep.recover() == "nothing to do"
    assert sweep.started == {}
    assert not sweep.unfinished


async def test_a_mission_under_way_is_left_alone(sweep: Sweep) -> None:
    """The store goes on knowing of it, until its rollback has completed."""
    sweep.note()
    await sweep.mission(ENDS.RUNNING)

    assert await sweep.recover() == "nothing to do"
    assert sweep.unfinished
    await sweep.mission(ENDS.TERMINATED)
    await sweep.rollback(ENDS.COMPLETED)
    assert await sweep.recover() == "nothing to do"
    assert (sweep.started, sweep.unfinished) == ({}, False)


async def test_a_deleted_mission_is_rolled_back_from_the_store(sweep: Sweep) -> None:
    """On the task queue of the worker that has the store."""
    sweep.note()

    assert await sweep.recover() == "started"
    assert sweep.started == {"the mission was deleted": "sweeps"}


async def test_what_the_server_may_have_forgotten_is_not_cancelled_on_a_guess(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No sweep came while it kept the mission, which may have ended well."""
    sweep.note()
    long_ago = datetime.now(UTC) - timedelta(days=4)
    monkeypatch.setattr(sweep.grants, "last_noted", lambda _: long_ago)

    assert await sweep.recover() == "nothing to do"
    assert sweep.started == {}


async def test_a_mission_that_a_sweep_has_seen_running_is_rolled_back_after_its_deletion(
    sweep: Sweep,
) -> None:
    """However long before that its last call was: it may have waited for a person since."""
    sweep.note()
    long_ago = datetime.now(UTC) - timedelta(days=4)
    sweep.grants._database.run(sa.update(sent_calls).values(noted_at=long_ago))
    forgotten = await sweep.recover()
    await sweep.mission(ENDS.RUNNING)

    page = FindStrandedInput(page_token=sweep_activities._IN_STORE)
    await of_mission("s").run(sweep.activities.find_stranded, page)
    del sweep.server.runs["m"], sweep.server.status["m"]

    assert (forgotten, await sweep.recover()) == ("nothing to do", "started")


@pytest.mark.parametrize("status", [ENDS.TERMINATED, ENDS.TIMED_OUT, ENDS.CANCELED, ENDS.FAILED])
async def test_a_rollback_that_was_broken_off_is_started_again(sweep: Sweep, status: ENDS) -> None:
    """Also of a mission that was deleted since."""
    await sweep.rollback(status)

    assert await sweep.recover() == "started"
    assert sweep.started == {"its rollback was broken off": "sweeps"}


async def test_a_rollback_that_was_turned_away_stands_for_none(sweep: Sweep) -> None:
    """A mission that waits for its own has it started."""
    await sweep.rollback(ENDS.FAILED, failed="MissionStillRuns")
    await sweep.mission(ENDS.RUNNING)
    under_way = await sweep.recover()
    sweep.server.attributes["m"] = {STATUS: MissionStatus.ROLLING_BACK}

    assert under_way == "nothing to do"
    assert await sweep.recover() == "started"


async def test_the_store_is_looked_through_after_the_server(sweep: Sweep) -> None:
    """Page by page, each mission once, but for those that run."""
    sweep.server.keep("m07", await Run("1").start())
    sweep.server.status["m07"] = ENDS.RUNNING
    for n in range(60):
        made = fake_obligation(f"m{n:02}.1-trip.1")
        ledger = Ledger(obligations=(made,))
        sweep.grants.send(SentCall(made.obligation_id, made.mission_id, "u", (), ledger))
    found: list[str] = []
    token = sweep_activities._IN_STORE

    while token:
        page = await of_mission("s").run(
            sweep.activities.find_stranded, FindStrandedInput(page_token=token)
        )
        assert isinstance(page, FindStrandedOutput)
        found += page.mission_ids
        token = page.page_token

    assert found == [f"m{n:02}" for n in range(60) if n != 7]


def test_every_end_that_leaves_something_behind_is_looked_for() -> None:
    """A mission that failed may have failed by its code, and one that was cancelled was reset.

    A later sweep begins where the last one stopped.
    """
    since = datetime(2026, 11, 22, 12, tzinfo=UTC)
    clause = r"WorkflowType = '(\w+)' AND ExecutionStatus IN \(([^)]*)\)"
    ends = re.findall(clause, stranded_query(FindStrandedInput()))

    assert {kind: set(re.findall(r"'(\w+)'", of_kind)) for kind, of_kind in ends} == {
        names.MISSION_WORKFLOW: BROKEN_OFF,
        names.ROLLBACK_WORKFLOW: BROKEN_OFF,
    }
    later = stranded_query(FindStrandedInput(closed_after=since))
    assert later.endswith(f" AND CloseTime > '{since.isoformat()}'")


S = ObligationState
ROLLBACK = "m.rollback"
RUNNING, TERMINATED = WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.TERMINATED
GIVEN = fake_obligation("m.1-trip.1", state=S.COMMITTED, committed_at=NOW)
SENT = fake_obligation("m.1-trip.2")


async def mission_of(*obligations: Obligation) -> Run:
    """A run that has scheduled calls which leave these."""
    run = await Run("1").start()
    for one in obligations:
        await run.schedule(names.INVOKE_TOOL, made_call(one.obligation_id, obligation=one))
    return run


async def server_of(
    *left: Obligation, status: WorkflowExecutionStatus = RUNNING, child: bool = False
) -> Server:
    """A mission that has made these, and its rollback, which may be its child."""
    rollback = await Run("r").start(RollbackInput(mission_id="m"))
    server = Server().keep("m", await mission_of(*left)).keep(ROLLBACK, rollback)
    server.status |= {"m": status, ROLLBACK: RUNNING}
    if child:
        server.parents[ROLLBACK] = "m"
    return server


def activities_of(server: Server, grants: MemoryGrants | None = None) -> RollbackActivities:
    return RollbackActivities(
        MemoryCatalogs(), cast("ToolClient", None), server.client, grants or MemoryGrants()
    )


async def collect(
    server: Server, grants: MemoryGrants | None = None, **wanted: Any
) -> CollectLedgerOutput:
    given = CollectLedgerInput(mission_id="m", **wanted)
    collecting = activities_of(server, grants).collect_ledger
    return await of_rollback("m", workflow_run_id="r").run(collecting, given)


def noted(*obligations: Obligation, mission_id: str = "m") -> MemoryGrants:
    """A store that knows the calls which left these."""
    grants = MemoryGrants()
    for one in obligations:
        grants.send(SentCall(one.key, mission_id, "u", (), Ledger(obligations=(one,))))
    return grants


def ids(collected: CollectLedgerOutput) -> list[str]:
    return [o.obligation_id for o in collected.ledger.obligations]


async def test_a_living_mission_gives_its_rollback_the_ledger() -> None:
    """Nothing of its history is read: the rollback is its child. What is another's is left out."""
    foreign = fake_obligation("other.1-trip.1")
    server = await server_of(SENT, child=True)
    collected = await collect(server, ledger=Ledger(obligations=(GIVEN, foreign)))

    assert ids(collected) == [GIVEN.obligation_id]
    assert len(collected.notes) == 1


async def test_a_ledger_that_somebody_else_gives_is_not_believed() -> None:
    """History is read in its place."""
    server = await server_of(SENT, status=TERMINATED)

    assert ids(await collect(server, ledger=Ledger(obligations=(GIVEN,)))) == [SENT.obligation_id]


async def test_nothing_is_collected_of_a_mission_under_way() -> None:
    """Unless it shows that it waits for its rollback. What never was may come later."""
    server = await server_of(SENT)

    for where, kind in ((server, "MissionStillRuns"), (Server(), "MissionUnknown")):
        refused = await failure_of(collect(where))
        assert (refused.type, refused.non_retryable) == (kind, True)
    server.attributes["m"] = {STATUS: MissionStatus.ROLLING_BACK}
    assert ids(await collect(server)) == [SENT.obligation_id]


@pytest.mark.parametrize("is_known", [True, False], ids=["reset", "deleted"])
async def test_what_only_the_store_knows_counts(is_known: bool) -> None:
    """The call of a branch that was reset and forgotten, or of a mission that was deleted."""
    server = await server_of(SENT, child=is_known)
    if not is_known:
        del server.runs["m"]
    lost = fake_obligation("m.1-trip.7")
    collected = await collect(server, noted(lost), ledger=Ledger(obligations=(GIVEN,)))

    assert lost.obligation_id in ids(collected)
    assert (GIVEN.obligation_id in ids(collected)) is is_known


async def test_what_a_mission_made_before_it_was_reset_counts_although_it_is_concluded() -> None:
    """What an earlier mission of that id made belongs to that one."""
    server = await server_of(SENT, child=True)
    origins = [server.runs["m"][0].run_id, "of an earlier mission"]
    grants = noted(
        *[
            fake_obligation(f"m.old.{n}", tool=f"tool_{n}").model_copy(update={"origin": origin})
            for n, origin in enumerate(origins)
        ]
    )
    grants.conclude("m")
    collected = await collect(server, grants, ledger=Ledger(obligations=(GIVEN,)))

    assert ids(collected) == [GIVEN.obligation_id, "m.old.0"]


@pytest.mark.parametrize("given", [True, False], ids=["by the mission", "by a sweep"])
async def test_what_a_mission_made_after_it_was_reset_stands(given: bool) -> None:
    """Only the calls of the abandoned branch are cancelled, once the mission has ended well.

    A stranger's rollback of this kind changes nothing for a mission that was stopped.
    """
    server = await server_of(GIVEN, child=given)
    first_run = server.runs["m"][0].run_id
    made = [one.model_copy(update={"origin": first_run}) for one in (GIVEN, SENT)]
    grants = noted(*made)
    grants.conclude("m")
    ledger = Ledger(obligations=(made[1],)) if given else None
    if not given:
        server.status["m"] = WorkflowExecutionStatus.COMPLETED
    collected = await collect(server, grants, ledger=ledger, abandoned=True)

    assert ids(collected) == [SENT.obligation_id]
    if not given:
        server.status["m"] = TERMINATED
        whole = await collect(server, grants, abandoned=True)
        assert ids(whole) == [GIVEN.obligation_id, SENT.obligation_id]


async def test_a_broken_off_rollback_is_taken_over_from() -> None:
    """What it settled stays so, also where the run in between had not begun."""
    server = await server_of(SENT, status=TERMINATED)
    cancelled = SENT.model_copy(update={"state": S.CANCELLED, "settled_at": NOW})
    first = await Run("q1").start(RollbackInput(mission_id="m"))
    told = RollbackReport(mission_id="m", ledger=Ledger(obligations=(cancelled,)), settled=True)
    await first.signal(names.ROLLBACK_SETTLED_SIGNAL, told)
    second = await Run("q2").start(RollbackInput(mission_id="m", take_over="q1"))
    server.runs[ROLLBACK] = [first, second, *server.runs[ROLLBACK]]
    collected = await collect(server, take_over="q2")

    assert [o.state for o in collected.ledger.obligations] == [S.CANCELLED]


async def test_the_catalogs_of_a_sagas_rollback_are_kept_for_it() -> None:
    """Its workflow may be gone while the rollback waits for an operator."""
    kept: dict[str, list[str]] = {}

    class Pinned(MemoryCatalogs):
        def put(self, catalog: Catalog, *, mission_id: str = "") -> None:
            super().put(catalog, mission_id=mission_id)
            kept.setdefault(catalog.digest, []).append(mission_id)

    saga = names.saga_id("trip", "order/7", "run-1")
    store, catalog = Pinned(), Catalog({}, {})
    store.put(catalog)
    made = fake_obligation(f"{saga}.call-1.1", state=S.COMMITTED, committed_at=NOW)
    made = made.model_copy(update={"catalog_digest": catalog.digest})
    grants = noted(made, mission_id=saga)
    activities = RollbackActivities(store, cast("ToolClient", None), Server().client, grants)
    given = CollectLedgerInput(mission_id=saga)
    await of_rollback(saga, workflow_run_id="r").run(activities.collect_ledger, given)

    assert kept == {catalog.digest: ["", saga]}


async def test_what_a_mission_that_ended_well_made_stands() -> None:
    """Nobody looks for it in the store any more; a call that a reset had it forget stays there."""
    forgotten = fake_obligation("m.1-trip.9")
    grants = noted(SENT, forgotten)
    activities = activities_of(Server(), grants)
    known = (SENT.obligation_id, forgotten.obligation_id)
    told = ConcludeInput(mission_id="m", known=known[:1])
    concluded = await of_mission("m").run(activities.conclude_mission, told)

    assert concluded == grants.ledger("m") == Ledger(obligations=(forgotten,))
    whole = ConcludeInput(mission_id="m", known=known)
    await of_mission("m").run(activities.conclude_mission, whole)
    assert not grants.unfinished(after="", most=9)


@pytest.mark.parametrize("had_ended", [False, True], ids=["under way", "ended well"])
async def test_a_worker_that_dies_after_it_concluded_gives_the_next_one_the_same(
    had_ended: bool,
) -> None:
    """The calls of the branch before a reset are reported again, until their rollback is noted."""
    forgotten = fake_obligation("m.old.1").model_copy(update={"origin": "run-1"})
    grants = noted(forgotten)
    if had_ended:
        grants.conclude("m")
    activities = activities_of(Server(), grants)
    ended = ConcludeInput(mission_id="m", origin="run-1")
    reports = [await of_mission("m").run(activities.conclude_mission, ended) for _ in range(2)]
    cancelled = forgotten.moved(S.COMMITTED, at=NOW).moved(S.CANCELLED, at=NOW)
    grants.settle(forgotten.key, Ledger(obligations=(cancelled,)))
    reports.append(await of_mission("m").run(activities.conclude_mission, ended))

    assert [len(one.obligations) for one in reports] == [1, 1, 0]
