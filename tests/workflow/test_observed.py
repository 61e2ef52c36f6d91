"""Observed missions and sagas: nothing is gated, nothing is cancelled, and lists say so."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from temporalio import workflow
from temporalio.client import WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from orchestrator import Money, ToolSaga
    from orchestrator.messages import names
    from orchestrator.messages.mission import MissionStatus
    from orchestrator.messages.mission_policy import MissionPolicy
    from orchestrator.messages.observed import Mode, ObservedRun
    from orchestrator.planning.models import CallTool, GiveUp
    from orchestrator.runtime.worker import workflow_runner
    from orchestrator.saga.outcome import ToolOutcome
    from orchestrator.workflows import ALL_WORKFLOWS
    from orchestrator.workflows.saga_desk import SagaRouting
    from orchestrator.workflows.tool_saga import SagaState
    from tests.fakes import fake_leg, states_of
    from tests.replay.replaying import replayer
    from tests.world import FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Stage

NO_ROOM = ToolOutcome(kind="rejected", status=409, reason="no room")


@dataclass
class Watched:
    """Calls to observe, and what follows them."""

    tools: list[str]
    mode: Mode | None = "observe"
    then: Mode | None = None
    passes_state: bool = True
    continues: bool = False
    state: SagaState | None = None


@workflow.defn
class WatchedTrip:
    """A user's workflow with an observed saga."""

    @workflow.run
    async def run(self, wanted: Watched) -> list[str]:
        """Make the calls; the answer says what the saga knows."""
        budget = Money(amount=Decimal(1), currency="EUR")
        try:
            async with ToolSaga(
                "trip", budget=budget, mode=wanted.mode, state=wanted.state
            ) as saga:
                for tool in wanted.tools:
                    await saga.call(tool, {"seat": "12A"} if tool == "buy_ticket" else {})
                if wanted.continues:
                    state = saga.state if wanted.passes_state else None
                    workflow.continue_as_new(Watched(["book_hotel"], mode=wanted.then, state=state))
        except ApplicationError as error:
            if error.type != "ToolSagaMisused":
                raise
            return [error.type, error.message]
        made = [f"{one.tool} {one.state}" for one in saga.ledger.obligations]
        return [str(saga.mode), *made]


@pytest.fixture
def lenient(world: FakeWorld) -> FakeWorld:
    """A worker whose operator allows observing."""
    world.may_observe = True
    world.govern(MissionPolicy())
    return world


class Watching:
    """Users' workflows on a worker."""

    def __init__(self, env: WorkflowEnvironment) -> None:
        self.env = env
        self.queue = f"observed-{uuid4().hex[:8]}"

    async def start(self, wanted: Watched) -> WorkflowHandle[Any, Any]:
        """Start one."""
        return await self.env.client.start_workflow(
            "WatchedTrip", wanted, id=f"watched/{uuid4().hex[:6]}", task_queue=self.queue
        )


@pytest.fixture
async def watching(workflow_env: WorkflowEnvironment, world: FakeWorld) -> AsyncIterator[Watching]:
    """A worker with a user's workflow."""
    made = Watching(workflow_env)
    async with Worker(
        workflow_env.client,
        task_queue=made.queue,
        workflows=[*ALL_WORKFLOWS, WatchedTrip],
        activities=world.activities(),
        workflow_runner=workflow_runner(),
        interceptors=[SagaRouting()],
    ):
        yield made


async def noted_in(handle: WorkflowHandle[Any, Any]) -> dict[str, ObservedRun]:
    memo = await (await handle.describe()).memo()
    notes = {k: v for k, v in memo.items() if k.startswith(names.OBSERVED_MEMO)}
    return {k: ObservedRun.model_validate(v) for k, v in notes.items() if v is not None}


async def test_an_observed_saga_asks_nobody_and_cancels_nothing(
    watching: Watching, lenient: FakeWorld
) -> None:
    """A card, a budget of 1 EUR and a refused last call change nothing; its memo has the reason."""
    lenient.answer("book_car", NO_ROOM)

    trip = await watching.start(Watched(["buy_ticket", "book_hotel", "book_car"]))
    with pytest.raises(WorkflowFailureError) as failed:
        await trip.result()

    assert isinstance(failed.value.cause, ApplicationError)
    assert failed.value.cause.type == "ToolCallFailed"
    assert lenient.subjects(names.OBSERVE_CALL) == ["buy_ticket", "book_hotel", "book_car"]
    assert not lenient.compensated()
    assert not lenient.grants.unfinished(after="", most=10)
    (noted,) = (await noted_in(trip)).values()
    assert "no room" in noted.failed
    assert noted.ended
    history = await trip.fetch_history()
    of_saga = replayer(
        [WatchedTrip],
        interceptors=[SagaRouting()],
        data_converter=watching.env.client.data_converter,
    )
    await of_saga.replay_workflow(history)


async def test_a_call_that_is_left_unknown_ends_no_saga(
    watching: Watching, lenient: FakeWorld
) -> None:
    """A success that a guard would not believe is the user's to read."""
    lenient.answer(
        "book_hotel", ToolOutcome(kind="unknown", status=202, body={}, reason="accepted")
    )

    trip = await watching.start(Watched(["book_flight", "book_hotel"]))

    assert await trip.result() == ["observe", "book_flight committed", "book_hotel intended"]


async def test_a_worker_that_guards_refuses_to_observe(
    watching: Watching, world: FakeWorld
) -> None:
    """Before anything is sent, in one sentence with the remedy."""
    trip = await watching.start(Watched(["book_flight"]))
    with pytest.raises(WorkflowFailureError) as failed:
        await trip.result()

    cause = failed.value.cause
    assert isinstance(cause, ApplicationError)
    assert cause.details[0]["outcome"] == "rejected"
    assert "ORCHESTRATOR_OBSERVE=true" in cause.details[0]["reason"]


@pytest.mark.parametrize("mode", ["guard", "observe"])
async def test_a_mode_does_not_change_with_a_new_run(
    watching: Watching, lenient: FakeWorld, mode: Mode
) -> None:
    """Neither way."""
    other: Mode = "observe" if mode == "guard" else "guard"
    trip = await watching.start(Watched(["book_flight"], mode=mode, then=other, continues=True))

    kind, told = await trip.result()

    assert kind == "ToolSagaMisused"
    assert "in the run before" in told


async def test_a_new_run_keeps_the_mode_and_needs_the_state(
    watching: Watching, lenient: FakeWorld
) -> None:
    """A mode that is not stated is that of the run before; it cannot become another."""
    goes_on = await watching.start(Watched(["book_flight"], continues=True))
    forgets = await watching.start(
        Watched(["book_flight"], then="guard", continues=True, passes_state=False)
    )

    assert await goes_on.result() == ["observe", "book_flight committed", "book_hotel committed"]
    kind, told = await forgets.result()
    assert kind == "ToolSagaMisused"
    assert "earlier run" in told


async def test_an_observed_mission_is_not_rolled_back(stage: Stage, lenient: FakeWorld) -> None:
    """Nobody approves, nothing is cancelled, no sweep wants it, and its result says why."""
    lenient.plan(fake_leg("trip"), fake_leg("visa", after=("trip",)))
    lenient.decide("trip", CallTool(tool="buy_ticket", arguments={"seat": "12A"}))
    lenient.decide("visa", GiveUp(reason="no visa"))

    mission = await stage.start(observe=True)
    result = await mission.end()

    assert result.status is MissionStatus.FAILED
    assert result.observed
    assert states_of(result.ledger) == {"buy_ticket": "committed"}
    assert [receipt.observed for receipt in result.receipts] == [True]
    assert not lenient.compensated()


async def test_a_mission_is_refused_by_a_worker_that_guards(stage: Stage, world: FakeWorld) -> None:
    """Before it is planned."""
    mission = await stage.start(observe=True)
    result = await mission.end()

    assert result.status is MissionStatus.FAILED
    assert "ORCHESTRATOR_OBSERVE=true" in str(result.error)
