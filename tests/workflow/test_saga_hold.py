"""Sagas that ask before they roll back: at the failed call, and at the end of the block."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from temporalio import workflow
from temporalio.client import WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from orchestrator import ToolCallFailed, ToolSaga
    from orchestrator.adapters.temporal.search_attributes import WAITING_FOR
    from orchestrator.client.waits import waits_in
    from orchestrator.core.record import JsonObject
    from orchestrator.messages import names
    from orchestrator.messages.leg import AnswerInput, Question
    from orchestrator.messages.mission_policy import MissionPolicy, OnFailure
    from orchestrator.runtime.worker import workflow_runner
    from orchestrator.saga.outcome import ToolOutcome
    from orchestrator.workflows import ALL_WORKFLOWS
    from orchestrator.workflows.saga_desk import SagaRouting
    from tests.replay.replaying import replayer
    from tests.world import FakeWorld

FULL = ToolOutcome(kind="rejected", status=409, reason="no room is left")
ROOM = ToolOutcome(kind="succeeded", status=201, body={"room": 7})


@dataclass
class Wanted:
    """The hotel's arguments, and how the block ends."""

    hotel: dict[str, Any] = field(default_factory=dict)
    catches: bool = False
    asks_at_call: bool = True
    ends: str = ""


@workflow.defn
class HeldTrip:
    """A workflow that books a flight and a hotel, and asks before it rolls back."""

    @workflow.run
    async def run(self, wanted: Wanted) -> str:
        """Book both."""
        policy = MissionPolicy(hold_limit=timedelta(hours=2), on_failure="ask")
        async with ToolSaga("trip", policy=policy) as saga:
            await saga.call("book_flight")
            try:
                at_once: OnFailure | None = None if wanted.asks_at_call else "rollback"
                room = await saga.call("book_hotel", wanted.hotel, on_failure=at_once)
            except ToolCallFailed as failed:
                if not wanted.catches:
                    raise
                return failed.outcome
            if wanted.ends:
                raise ApplicationError(wanted.ends, type="CustomerGone")
            return str(room)


class HeldTrips:
    """Such workflows on a worker."""

    def __init__(self, env: WorkflowEnvironment, world: FakeWorld) -> None:
        self.env, self.world = env, world
        self.queue = f"held-{uuid4().hex[:8]}"

    async def start(self, wanted: Wanted | None = None) -> WorkflowHandle[Any, Any]:
        return await self.env.client.start_workflow(
            HeldTrip.__name__,
            wanted or Wanted(),
            id=f"held/{uuid4().hex[:6]}",
            task_queue=self.queue,
        )

    async def question(self, trip: WorkflowHandle[Any, Any], after: str = "") -> Question:
        async with asyncio.timeout(60):
            while True:
                waiting = await waits_in(await trip.describe())
                if waiting.questions and waiting.questions[0].question_id != after:
                    return waiting.questions[0]
                await asyncio.sleep(0.05)

    async def answer(
        self, trip: WorkflowHandle[Any, Any], after: str = "", **values: Any
    ) -> Question:
        question = await self.question(trip, after)
        told = self.env.client.get_workflow_handle(trip.id)
        answer = AnswerInput(question_id=question.question_id, values=values, answered_by="ana")
        await told.execute_update(names.ANSWER_UPDATE, answer, result_type=str)
        return question

    def cancelled(self) -> list[str]:
        return [one.tool for one in self.world.compensated()]

    async def replays(self, trip: WorkflowHandle[Any, Any]) -> None:
        of_saga = replayer(
            [HeldTrip], interceptors=[SagaRouting()], data_converter=self.env.client.data_converter
        )
        await of_saga.replay_workflow(await trip.fetch_history())


@pytest.fixture
async def trips(workflow_env: WorkflowEnvironment, world: FakeWorld) -> AsyncIterator[HeldTrips]:
    made = HeldTrips(workflow_env, world)
    world.answer("book_hotel", FULL, ROOM)
    async with Worker(
        workflow_env.client,
        task_queue=made.queue,
        workflows=[*ALL_WORKFLOWS, HeldTrip],
        activities=world.activities(),
        workflow_runner=workflow_runner(),
        interceptors=[SagaRouting()],
    ):
        yield made


async def test_the_failed_call_is_amended(trips: HeldTrips) -> None:
    """A repair makes the call again with other arguments; the block never sees the failure."""
    trip = await trips.start(Wanted(hotel={"stars": 5}))

    changed: JsonObject = {"stars": 3}
    question = await trips.answer(trip, decision="repair", arguments=changed)
    result = await trip.result()

    assert question.hold is not None and question.hold.failed is not None
    assert question.hold.failed.arguments == {"stars": 5}
    assert [one.tool for one in question.hold.standing] == ["book_flight"]
    assert question.expires_at is not None and question.asked_at is not None
    assert question.expires_at - question.asked_at == timedelta(hours=2)
    assert result == str({"room": 7})
    assert [call.arguments for call in trips.world.sent("book_hotel")] == [{"stars": 5}, changed]
    assert len(trips.world.sent("book_flight")) == 1
    assert trips.cancelled() == []
    await trips.replays(trip)


async def test_a_repair_that_fails_again_is_asked_about_again(trips: HeldTrips) -> None:
    """Each failure of the call is a hold of its own."""
    trips.world.answer("book_hotel", FULL, FULL, ROOM)
    trip = await trips.start()

    first = await trips.answer(trip, decision="repair")
    second = await trips.answer(trip, after=first.question_id, decision="repair")

    assert await trip.result() == str({"room": 7})
    assert first.question_id != second.question_id
    assert len(trips.world.sent("book_hotel")) == 3


@pytest.mark.parametrize("catches", [False, True])
async def test_roll_back_cancels_all_even_if_the_block_catches(
    trips: HeldTrips, catches: bool
) -> None:
    """The person has decided: the failure is raised, and all is cancelled, asked about once."""
    trip = await trips.start(Wanted(catches=catches))

    await trips.answer(trip, decision="roll back")
    with pytest.raises(WorkflowFailureError) as failed:
        await trip.result()

    assert "no room is left" in str(failed.value.cause)
    assert trips.cancelled() == ["book_flight"]
    await trips.replays(trip)


async def test_keep_raises_and_leaves_all_standing(trips: HeldTrips) -> None:
    """The failure is raised, and nothing is cancelled; the list of what waits named the hold."""
    trip = await trips.start()

    await trips.question(trip)
    waiting_for = (await trip.describe()).typed_search_attributes.get(WAITING_FOR)
    await trips.answer(trip, decision="keep")
    with pytest.raises(WorkflowFailureError):
        await trip.result()

    assert waiting_for == ["hold"]
    assert trips.cancelled() == []
    await trips.replays(trip)


async def test_nobody_answers(trips: HeldTrips) -> None:
    """After the policy's limit all is rolled back."""
    trip = await trips.start()

    with pytest.raises(WorkflowFailureError):
        await trip.result()

    assert trips.cancelled() == ["book_flight"]


async def test_an_exception_of_the_block_is_asked_about(trips: HeldTrips) -> None:
    """At the end of the block nothing can be repaired: all is kept or rolled back."""
    trips.world.answer("book_hotel", ROOM)
    trip = await trips.start(Wanted(ends="the customer is gone"))

    question = await trips.answer(trip, decision="keep")
    with pytest.raises(WorkflowFailureError) as failed:
        await trip.result()

    assert isinstance(failed.value.cause, ApplicationError)
    assert failed.value.cause.type == "CustomerGone"
    assert "decision" in question.fields and question.hold is not None
    assert question.hold.no_repair and question.hold.failed is None
    assert trips.cancelled() == []
    await trips.replays(trip)


async def test_a_call_whose_failure_the_block_handles_asks_nobody(trips: HeldTrips) -> None:
    """`on_failure` of a call comes before that of its saga."""
    trip = await trips.start(Wanted(catches=True, asks_at_call=False))

    assert await trip.result() == "rejected"
    assert trips.cancelled() == []


@pytest.mark.parametrize("where", ["call", "end"])
async def test_a_cancel_request_ends_the_hold(trips: HeldTrips, where: str) -> None:
    """A person who cancels the workflow has decided."""
    if where == "end":
        trips.world.answer("book_hotel", ROOM)
    trip = await trips.start(Wanted(ends="the customer is gone" if where == "end" else ""))
    await trips.question(trip)

    await trip.cancel()
    with pytest.raises(WorkflowFailureError):
        await trip.result()

    assert trips.cancelled()[-1] == "book_flight"


async def test_an_unknown_outcome_is_rolled_back_at_once(trips: HeldTrips) -> None:
    """Only a rollback finds out what a call of unknown outcome did: nobody is asked."""
    trips.world.answer("book_hotel", ToolOutcome(kind="unknown", reason="no answer"))
    trip = await trips.start()

    with pytest.raises(WorkflowFailureError):
        await trip.result()

    assert trips.cancelled() == ["book_hotel", "book_flight"]
