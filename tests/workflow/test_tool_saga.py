"""Guarded calls of workflows of one's own: confirmed, recorded, and cancelled when one fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any, Literal
from uuid import uuid4

import pytest
from temporalio import workflow
from temporalio.client import (
    WithStartWorkflowOperation,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
)
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from orchestrator import Money, ToolCallFailed, ToolSaga
    from orchestrator.adapters.storage.protocols import SentCall
    from orchestrator.client.waits import waits_in
    from orchestrator.confirmation.models import (
        Approve,
        ConfirmationCard,
        Decision,
        DecisionEnvelope,
        DecisionReceipt,
        Reject,
    )
    from orchestrator.core.errors import StoreUnavailable
    from orchestrator.core.record import JsonObject
    from orchestrator.messages import names
    from orchestrator.messages.rollback import RollbackReport
    from orchestrator.messages.tool_call import ToolCall
    from orchestrator.runtime.worker import workflow_runner
    from orchestrator.saga.ledger import Ledger
    from orchestrator.saga.obligation import Obligation
    from orchestrator.saga.outcome import CompensationOutcome, ToolOutcome
    from orchestrator.workflows import ALL_WORKFLOWS
    from orchestrator.workflows.saga_desk import SagaRouting
    from orchestrator.workflows.tool_saga import SagaState
    from tests.fakes import fake_obligation, states_of
    from tests.replay.replaying import replayer
    from tests.world import FakeWorld

NO_ROOM = ToolOutcome(kind="rejected", status=409, reason="no room")


@dataclass
class Wanted:
    """Calls to make, and how the block ends."""

    tools: list[str]
    seat: str = ""
    ends: str = "well"
    state: SagaState | None = None
    catches: bool = False


@workflow.defn
class Trip:
    """A user's workflow with one saga."""

    def __init__(self) -> None:
        self.is_free = False

    @workflow.run
    async def run(self, wanted: Wanted) -> dict[str, str]:
        """Make the calls one after the other."""
        budget = Money(amount=Decimal(900), currency="EUR")
        async with ToolSaga("trip", budget=budget, state=wanted.state) as saga:
            for tool in wanted.tools:
                arguments: JsonObject = {"seat": wanted.seat} if tool == "buy_ticket" else {}
                try:
                    await saga.call(tool, arguments)
                except ToolCallFailed as failed:
                    if not wanted.catches:
                        raise
                    workflow.logger.info("goes on without %s: %s", tool, failed.outcome)
            if wanted.ends == "waits":
                await workflow.wait_condition(lambda: self.is_free)
            if wanted.ends == "fails":
                raise ApplicationError("the customer is gone", type="CustomerGone")
            if wanted.ends == "a bug":
                raise KeyError("no such seat")
            if wanted.ends == "continues":
                more = Wanted(tools=["book_hotel"], ends="fails", state=saga.state)
                workflow.continue_as_new(more)
        return {o.tool: str(o.state) for o in saga.ledger.obligations}


@workflow.defn
class Both:
    """A user's workflow with two sagas, of which one fails, and calls at once."""

    @workflow.run
    async def run(self) -> dict[str, str]:
        """Book twice at once in one saga, and lose the other."""
        async with ToolSaga("keeps") as keeps:
            try:
                async with ToolSaga("loses") as loses:
                    await loses.call("book_car", key="car")
                    raise ApplicationError("not this one")
            except ApplicationError:
                pass
            await asyncio.gather(keeps.call("book_flight"), keeps.call("book_hotel"))
        both = (*keeps.ledger.obligations, *loses.ledger.obligations)
        return {o.tool: str(o.state) for o in both}


@workflow.defn
class Impatient:
    """A user's workflow that gives up on a call which is under way."""

    @workflow.run
    async def run(self) -> None:
        """Wait for a booking, but not long."""
        async with ToolSaga() as saga:
            await asyncio.wait_for(saga.call("book_flight"), timeout=1)


@workflow.defn
class Catching:
    """A user's workflow that goes on without a call, whatever its outcome."""

    @workflow.run
    async def run(self, tools: list[str]) -> str:
        """Make the calls; return the outcome of the one that failed."""
        outcome = ""
        async with ToolSaga(budget=Money(amount=Decimal(900), currency="EUR")) as saga:
            for tool in tools:
                price: JsonObject = {"price": {"amount": "78.00", "currency": "EUR"}}
                try:
                    await saga.call(tool, price if tool == "buy_pass" else {})
                except ToolCallFailed as failed:
                    outcome = failed.outcome
        return outcome


@workflow.defn
class Hasty:
    """A user's workflow whose block ends just after it began a call in a task of its own."""

    @workflow.run
    async def run(self, ends: str) -> dict[str, str]:
        """Begin a booking, and leave the block."""
        async with ToolSaga() as saga:
            booking = asyncio.create_task(saga.call("book_flight"))
            await asyncio.sleep(0)
            if ends == "fails":
                try:
                    raise ApplicationError("the customer is gone", type="CustomerGone")
                finally:
                    booking.add_done_callback(lambda task: task.cancelled() or task.exception())
        return {o.tool: str(o.state) for o in saga.ledger.obligations}


@workflow.defn
class InHandler:
    """A user's workflow whose saga is in an update handler of its own."""

    def __init__(self) -> None:
        self.is_over = False

    @workflow.update
    async def book(self, looks_at_state: bool) -> str:
        """Book in a saga."""
        try:
            async with ToolSaga("handler") as saga:
                booking = asyncio.create_task(saga.call("book_flight"))
                await workflow.wait_condition(lambda: saga.is_calling)
                if looks_at_state:
                    workflow.continue_as_new(saga.state)
                await booking
                return "booked"
        except ApplicationError as error:
            return error.message
        finally:
            self.is_over = True

    @workflow.run
    async def run(self) -> None:
        """Wait for the handler."""
        await workflow.wait_condition(lambda: self.is_over)


class Trips:
    """Users' workflows on a worker."""

    def __init__(self, env: WorkflowEnvironment, world: FakeWorld) -> None:
        self.env = env
        self.world = world
        self.queue = f"sagas-{uuid4().hex[:8]}"

    async def start(self, wanted: Wanted | None, of: type = Trip) -> WorkflowHandle[Any, Any]:
        """Start one under an id that no mission could have."""
        given: Any = wanted.tools if wanted is not None and of is Catching else wanted
        return await self.env.client.start_workflow(
            of.__name__,
            *([] if given is None else [given]),
            id=f"order.{uuid4().hex[:6]}/7",
            task_queue=self.queue,
        )

    async def card(self, trip: WorkflowHandle[Any, Any], kind: str = "") -> ConfirmationCard:
        """Return the card that it waits for, of one type or of any, as lists have it."""
        async with asyncio.timeout(60):
            while True:
                waiting = await waits_in(await trip.describe())
                for card in waiting.cards:
                    if kind in ("", card.card_type):
                        return card
                await asyncio.sleep(0.05)

    async def decide(self, trip: WorkflowHandle[Any, Any], decision: Decision) -> DecisionReceipt:
        """Send a decision as clients do."""
        receipt: DecisionReceipt = await trip.execute_update(
            names.DECIDE_UPDATE, DecisionEnvelope(decision=decision), result_type=DecisionReceipt
        )
        return receipt


@pytest.fixture
async def trips(workflow_env: WorkflowEnvironment, world: FakeWorld) -> AsyncIterator[Trips]:
    """A worker with missions and with users' workflows."""
    made = Trips(workflow_env, world)
    async with Worker(
        workflow_env.client,
        task_queue=made.queue,
        workflows=[*ALL_WORKFLOWS, Trip, Both, Impatient, Hasty, Catching, InHandler],
        activities=world.activities(),
        workflow_runner=workflow_runner(),
        interceptors=[SagaRouting()],
    ):
        yield made


def approval(card: ConfirmationCard, by: str = "ana@example.com") -> Approve:
    return Approve(confirmation_id=card.confirmation_id, digest=card.digest, approver=by)


async def test_calls_that_succeed_stand(trips: Trips, world: FakeWorld) -> None:
    """Nothing is rolled back, and the store is told that what was made stands."""
    trip = await trips.start(Wanted(["find_flights", "book_flight", "book_hotel"]))
    result = await trip.result()

    assert result == {"book_flight": "committed", "book_hotel": "committed"}
    assert not world.compensated()
    assert not world.grants.unfinished(after="", most=10)


async def test_a_call_that_fails_cancels_what_was_made(trips: Trips, world: FakeWorld) -> None:
    """Newest first; the error of the call is the workflow's."""
    world.answer("book_car", NO_ROOM)

    trip = await trips.start(Wanted(["book_flight", "book_hotel", "book_car"]))
    with pytest.raises(WorkflowFailureError) as failed:
        await trip.result()

    assert [o.tool for o in world.compensated()] == ["book_hotel", "book_flight"]
    assert isinstance(failed.value.cause, ApplicationError)
    assert failed.value.cause.type == "ToolCallFailed"
    assert failed.value.cause.details[0]["outcome"] == "rejected"


@pytest.mark.parametrize(("ends", "kind"), [("fails", "CustomerGone"), ("a bug", "KeyError")])
async def test_any_exception_that_leaves_the_block_rolls_back(
    trips: Trips, world: FakeWorld, ends: str, kind: str
) -> None:
    """It stays the workflow's first error, also if Temporal would try the task again for it."""
    trip = await trips.start(Wanted(["book_flight"], ends=ends))
    with pytest.raises(WorkflowFailureError) as failed:
        await trip.result()

    assert [o.tool for o in world.compensated()] == ["book_flight"]
    assert isinstance(failed.value.cause, ApplicationError)
    assert failed.value.cause.type == kind


async def test_a_call_that_has_just_begun_ends_within_the_block(
    trips: Trips, world: FakeWorld
) -> None:
    """A block without an exception waits for it; after one, it is never sent."""
    well = await trips.env.client.execute_workflow(
        Hasty.run, "well", id=uuid4().hex, task_queue=trips.queue
    )
    with pytest.raises(WorkflowFailureError) as failed:
        await trips.env.client.execute_workflow(
            Hasty.run, "fails", id=uuid4().hex, task_queue=trips.queue
        )

    assert well == {"book_flight": "committed"}
    assert isinstance(failed.value.cause, ApplicationError)
    assert failed.value.cause.type == "CustomerGone"
    assert world.subjects(names.INVOKE_TOOL) == ["book_flight"]


async def test_a_call_without_its_own_grant_is_not_sent_by_the_rollback_either(
    trips: Trips, world: FakeWorld
) -> None:
    """A worker that refuses it has sent nothing, so that nothing is unknown."""
    refusal = ApplicationError("other arguments", type="GrantMissing", non_retryable=True)
    world.answer("book_flight", refusal)

    trip = await trips.start(Wanted(["book_flight"]))
    with pytest.raises(WorkflowFailureError) as failed:
        await trip.result()

    assert isinstance(failed.value.cause, ApplicationError)
    assert failed.value.cause.details[0]["outcome"] == "rejected"
    assert not world.compensated()


async def test_a_cancel_request_rolls_back(trips: Trips, world: FakeWorld) -> None:
    """The workflow ends as cancelled, after its rollback."""
    booking = world.hold(names.INVOKE_TOOL, "book_flight")
    trip = await trips.start(Wanted(["book_flight"], ends="waits"))
    await booking.reached()
    await trip.cancel()
    booking.release()
    with pytest.raises(WorkflowFailureError):
        await trip.result()

    assert (await trip.describe()).status is WorkflowExecutionStatus.CANCELED
    assert [o.tool for o in world.compensated()] == ["book_flight"]


async def test_a_failure_that_the_workflow_catches_rolls_nothing_back(
    trips: Trips, world: FakeWorld, caplog: pytest.LogCaptureFixture
) -> None:
    """A workflow may go on without a call that left nothing; the log says that it did."""
    world.answer("book_car", NO_ROOM)

    trip = await trips.start(Wanted(["book_flight", "book_car"], catches=True))

    assert (await trip.result())["book_flight"] == "committed"
    assert not world.compensated()
    assert "stands although book_car was rejected" in caplog.text


async def test_an_unknown_outcome_is_never_left_behind(trips: Trips, world: FakeWorld) -> None:
    """Also where the workflow catches it: the block ends with a rollback."""
    world.answer("send_parcel", ApplicationError("gone", type=names.PROVIDER_BUSY))

    trip = await trips.start(Wanted(["send_parcel"], catches=True))
    with pytest.raises(WorkflowFailureError) as failed:
        await trip.result()

    assert isinstance(failed.value.cause, ApplicationError)
    assert failed.value.cause.details[0]["outcome"] == "unknown"
    assert [o.tool for o in world.compensated()] == ["send_parcel"]


@pytest.mark.parametrize("then", ["rollback", "replan"])
async def test_an_overcharge_that_is_not_settled_is_never_left_behind(
    trips: Trips, world: FakeWorld, then: Literal["rollback", "replan"]
) -> None:
    """A person wants all rolled back, or the cancel was refused: the workflow may not catch it."""
    price = Money(amount=Decimal("97.50"), currency="EUR")
    world.answer("buy_pass", ToolOutcome(kind="succeeded", status=201, price=price))
    if then == "replan":
        world.compensate("buy_pass", CompensationOutcome(state="parked", note="too late"))
    trip = await trips.start(Wanted(["buy_pass"]), of=Catching)
    await trips.decide(trip, approval(await trips.card(trip)))
    card = await trips.card(trip, "structured-overcharge")
    no = Reject(confirmation_id=card.confirmation_id, approver="ana", reason="no", then=then)
    await trips.decide(trip, no)

    with pytest.raises(WorkflowFailureError) as failed:
        await trip.result()

    assert isinstance(failed.value.cause, ApplicationError)
    assert failed.value.cause.details[0]["outcome"] == "unknown"
    assert [o.tool for o in world.compensated()][-1] == "buy_pass"


async def test_a_rejection_for_good_rolls_back_though_the_workflow_catches_it(
    trips: Trips, world: FakeWorld
) -> None:
    """The person who rejected the ticket wanted the flight cancelled as well."""
    trip = await trips.start(Wanted(["book_flight", "buy_ticket"], seat="12A", catches=True))
    card = await trips.card(trip)
    await trips.decide(
        trip,
        Reject(confirmation_id=card.confirmation_id, approver="ana", reason="no", then="rollback"),
    )
    with pytest.raises(WorkflowFailureError):
        await trip.result()

    assert [o.tool for o in world.compensated()] == ["book_flight"]


async def test_a_card_is_decided_on_from_outside(trips: Trips, world: FakeWorld) -> None:
    """Only with its digest; what runs is what was approved."""
    trip = await trips.start(Wanted(["buy_ticket"], seat="12A"))
    card = await trips.card(trip)
    forged = approval(card).model_copy(update={"digest": "0" * 64})
    with pytest.raises(Exception, match="failed"):
        await trips.decide(trip, forged)
    assert not world.subjects(names.INVOKE_TOOL)

    receipt = await trips.decide(trip, approval(card))

    assert receipt.accepted == "approved"
    assert (await trip.result()) == {"buy_ticket": "committed"}


async def test_a_rejection_is_the_calls_error(trips: Trips, world: FakeWorld) -> None:
    """What was made before is cancelled, unless the workflow catches it."""
    trip = await trips.start(Wanted(["book_flight", "buy_ticket"], seat="12A"))
    card = await trips.card(trip)
    await trips.decide(
        trip, Reject(confirmation_id=card.confirmation_id, approver="ana", reason="too dear")
    )
    with pytest.raises(WorkflowFailureError) as failed:
        await trip.result()

    assert isinstance(failed.value.cause, ApplicationError)
    assert failed.value.cause.details[0]["outcome"] == "refused"
    assert [o.tool for o in world.compensated()] == ["book_flight"]


async def test_sagas_of_one_workflow_are_apart(trips: Trips, world: FakeWorld) -> None:
    """One rolls back, the other keeps what it made; calls at once have keys of their own."""
    trip = await trips.start(None, of=Both)

    assert await trip.result() == {
        "book_flight": "committed",
        "book_hotel": "committed",
        "book_car": "cancelled",
    }
    assert [o.tool for o in world.compensated()] == ["book_car"]
    keys = {o.idempotency_key for o in _sent(world)}
    assert len(keys) == 3


async def test_a_saga_may_be_in_an_update_handler(trips: Trips, world: FakeWorld) -> None:
    """Its end waits for the decisions on its own cards, and for no other handler."""
    holder = await trips.start(None, of=InHandler)

    assert await holder.execute_update(InHandler.book, False) == "booked"
    await holder.result()
    assert not world.compensated()


async def test_a_saga_may_be_in_a_handler_that_runs_before_the_workflow(
    trips: Trips, world: FakeWorld
) -> None:
    """The update comes with the first workflow task."""
    start: WithStartWorkflowOperation[Any, Any] = WithStartWorkflowOperation(
        "InHandler",
        id=f"order.{uuid4().hex[:6]}/7",
        task_queue=trips.queue,
        id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
    )
    booked = await trips.env.client.execute_update_with_start_workflow(
        InHandler.book, False, start_workflow_operation=start
    )

    assert booked == "booked"
    await (await start.workflow_handle()).result()
    assert not world.compensated()


async def test_a_call_under_way_is_not_left_to_the_next_run(trips: Trips, world: FakeWorld) -> None:
    """The state is refused until it is settled; what was sent is cancelled with the block."""
    holder = await trips.start(None, of=InHandler)

    assert "under way" in await holder.execute_update(InHandler.book, True)
    await holder.result()
    assert not world.grants.unfinished(after="", most=10)


async def test_continue_as_new_rolls_nothing_back(trips: Trips, world: FakeWorld) -> None:
    """The next run has the ledger in its state, and rolls back all of it when it fails."""
    trip = await trips.start(Wanted(["book_flight"], ends="continues"))
    with pytest.raises(WorkflowFailureError):
        await trip.result()

    assert [o.tool for o in world.compensated()] == ["book_hotel", "book_flight"]


async def test_a_saga_that_was_reset_waits_for_the_store_as_it_fails(
    trips: Trips, world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The branch before had ended well, so that no sweep looks for its booking any more."""
    world.answer("book_flight", NO_ROOM)
    conclude, away = world.grants.conclude, [True] * 4

    def fails(mission_id: str, *, but: Sequence[str] = (), durable: bool = False) -> None:
        if away:
            away.pop()
            raise StoreUnavailable("the store", "it is away")
        conclude(mission_id, but=but, durable=durable)

    held = world.hold(names.INVOKE_TOOL, "book_flight")
    trip = await trips.start(Wanted(["book_flight"]))
    first_run = trip.first_execution_run_id or ""
    async with held:
        saga = names.saga_id("trip", trip.id, first_run)
        of_saga = {"mission_id": saga, "workflow_id": trip.id, "origin": first_run}
        made = fake_obligation(f"{saga}.call-9.1", tool="book_hotel").model_copy(update=of_saga)
        world.grants.send(SentCall(made.key, saga, "before", (), Ledger(obligations=(made,))))
        world.grants.conclude(saga)
        monkeypatch.setattr(world.grants, "conclude", fails)
    with pytest.raises(WorkflowFailureError):
        await trip.result()

    assert not away
    assert [o.tool for o in world.compensated()] == ["book_hotel"]


async def test_a_timeout_of_the_caller_abandons_no_call(trips: Trips, world: FakeWorld) -> None:
    """A booking that was sent is settled before the rollback, and then cancelled."""
    booking = world.hold(names.INVOKE_TOOL, "book_flight")

    trip = await trips.start(None, of=Impatient)
    await booking.reached()
    await trips.env.sleep(timedelta(seconds=5))
    assert not world.compensated()
    booking.release()
    with pytest.raises(WorkflowFailureError):
        await trip.result()

    assert states_of(await _rolled_back(trips, world)) == {"book_flight": "cancelled"}


async def test_a_run_that_its_worker_lets_go_of_rolls_nothing_back(
    workflow_env: WorkflowEnvironment, world: FakeWorld
) -> None:
    """A worker without a cache replays the block for each task, with live obligations."""
    made = Trips(workflow_env, world)
    async with Worker(
        workflow_env.client,
        task_queue=made.queue,
        workflows=[*ALL_WORKFLOWS, Trip],
        activities=world.activities(),
        workflow_runner=workflow_runner(),
        interceptors=[SagaRouting()],
        max_cached_workflows=0,
    ):
        trip = await made.start(Wanted(["book_flight", "buy_ticket"], seat="12A"))
        await made.decide(trip, approval(await made.card(trip)))
        result = await trip.result()

    assert result == {"book_flight": "committed", "buy_ticket": "committed"}
    assert not world.compensated()
    of_saga = replayer(
        [Trip], interceptors=[SagaRouting()], data_converter=workflow_env.client.data_converter
    )
    await of_saga.replay_workflow(await trip.fetch_history())


async def test_a_sender_of_another_workflows_calls_is_refused(
    trips: Trips, world: FakeWorld
) -> None:
    """The id of a saga derives from its workflow: nobody calls in the name of another's."""
    await (await trips.start(Wanted(["book_flight"]))).result()
    (sent,) = [c.message for c in world.calls if c.activity == names.INVOKE_TOOL]

    async with Worker(
        trips.env.client,
        task_queue=f"{trips.queue}-forger",
        workflows=[Forger],
        workflow_runner=workflow_runner(),
        interceptors=[SagaRouting()],
    ):
        forger = await trips.env.client.start_workflow(
            "Forger",
            args=[sent, trips.queue],
            id="forger",
            task_queue=f"{trips.queue}-forger",
        )
        with pytest.raises(WorkflowFailureError) as failed:
            await forger.result()

    assert isinstance(failed.value.cause, ActivityError)
    assert isinstance(failed.value.cause.cause, ApplicationError)
    assert failed.value.cause.cause.type == "CallUnowned"


@workflow.defn
class Forger:
    """A workflow that sends a call which is not its own."""

    @workflow.run
    async def run(self, call: dict[str, object], queue: str) -> None:
        """Send it."""
        await workflow.execute_activity(
            names.INVOKE_TOOL, call, task_queue=queue, start_to_close_timeout=timedelta(seconds=10)
        )


def _sent(world: FakeWorld) -> list[Obligation]:
    calls = [c.message for c in world.calls if isinstance(c.message, ToolCall)]
    return [call.obligation for call in calls if call.obligation is not None]


async def _rolled_back(trips: Trips, world: FakeWorld) -> Ledger:
    (obligation,) = world.compensated()
    handle = trips.env.client.get_workflow_handle(
        names.rollback_workflow_id(obligation.mission_id), result_type=RollbackReport
    )
    report: RollbackReport = await handle.result()
    return report.ledger
