"""What a rollback begins with: a given ledger, raw history, the store, and a rollback before it."""

from typing import Any, cast

import pytest
from temporalio.client import WorkflowExecutionStatus

from orchestrator.activities.rollback_activities import RollbackActivities
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.protocols import SentCall
from orchestrator.adapters.temporal.search_attributes import STATUS
from orchestrator.catalog.catalog import Catalog
from orchestrator.messages import names
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.rollback import (
    CollectLedgerInput,
    CollectLedgerOutput,
    ConcludeInput,
    RollbackInput,
    RollbackReport,
)
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation, ObligationState
from tests.fakes import MemoryCatalogs, MemoryGrants, fake_obligation
from tests.unit.activities.environments import of_mission, of_rollback
from tests.unit.activities.made_calls import failure_of, made_call
from tests.unit.adapters.temporal.made_histories import NOW, Run, Server

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


async def test_a_mission_under_way_is_left_alone() -> None:
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
