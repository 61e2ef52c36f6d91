"""What tests of workflows share: a world of a few tools, a worker on it, and missions to drive."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import pytest
from pydantic import JsonValue
from temporalio.api.enums.v1 import EventType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.client import (
    Client,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowUpdateFailedError,
)
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import ActivityEnvironment, WorkflowEnvironment
from temporalio.worker import Worker

from orchestrator.adapters.temporal.search_attributes import STATUS
from orchestrator.catalog.tool import Effect
from orchestrator.client.history_replay import Replays
from orchestrator.client.start import mission_start
from orchestrator.client.waits import waits_in
from orchestrator.confirmation.models import (
    Amend,
    Approve,
    ConfirmationCard,
    Decision,
    DecisionEnvelope,
    DecisionReceipt,
    Reject,
)
from orchestrator.confirmation.policy import ConfirmationPolicy, StandingApproval
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.leg import AnswerInput, LegResult, LegWaiting, Question
from orchestrator.messages.mission import (
    CarriedMission,
    MissionInput,
    MissionRequest,
    MissionResult,
)
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.open_waits import Waiting
from orchestrator.messages.rollback import (
    CollectLedgerInput,
    CollectLedgerOutput,
    ResolveInput,
    RollbackInput,
    RollbackReport,
    RollbackStatus,
)
from orchestrator.planning.models import AgentProfile, CallTool, GiveUp
from orchestrator.runtime.registration import INDEXED
from orchestrator.runtime.worker import workflow_runner
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation, Resolution
from orchestrator.saga.orders import Order
from orchestrator.workflows import ALL_WORKFLOWS
from tests.fakes import fake_leg, fake_tool
from tests.world import DecideStep, FakeWorld

T = TypeVar("T")


TIMEOUT_S = 120.0
"""Time in seconds for something to show up: far more than a busy machine needs."""

TOOLS = (
    fake_tool("find_flights"),
    fake_tool("book_flight", cancel_tool="cancel_flight"),
    fake_tool("book_hotel", cancel_tool="cancel_hotel"),
    fake_tool("book_car", cancel_tool="cancel_car"),
    fake_tool("book_tour", cancel_tool="cancel_tour", on_failure="continue"),
    fake_tool("send_parcel", cancel_tool="recall_parcel", idempotent=False),
    fake_tool("post_note", effect=Effect.WRITE),
    fake_tool(
        "buy_ticket",
        cancel_tool="refund_ticket",
        card_type="structured-payment",
        input_schema={
            "type": "object",
            "required": ["seat"],
            "properties": {"seat": {"type": "string", "minLength": 2}, "price": {"type": "object"}},
        },
    ),
    fake_tool("buy_pass", cancel_tool="refund_pass", card_type="structured-payment"),
)


OPERATORS = MissionPolicy(
    confirmation=ConfirmationPolicy(
        standing=(StandingApproval(name="any", tools=("*",)),),
        on_expiry="ask_again",
        max_rounds=100,
    )
)
"""The policy of the worker: wide, so that a test's own policy may say what it is about."""


class Mission:
    """One mission on the server, with what a person or an operator can do to it."""

    def __init__(
        self, client: Client, handle: WorkflowHandle[Any, MissionResult], task_queue: str
    ) -> None:
        """Take the handle that starting it gave: only such a one skips time for its result."""
        self.mission_id = handle.id
        self.handle = handle
        self._client = client
        self._task_queue = task_queue

    # -- its workflows ----------------------------------------------------------------------------

    @property
    def told(self) -> WorkflowHandle[Any, MissionResult]:
        """A handle that skips no time."""
        return self._client.get_workflow_handle(self.mission_id, result_type=MissionResult)

    @property
    def rollback_handle(self) -> WorkflowHandle[Any, RollbackReport]:
        return self._client.get_workflow_handle(
            names.rollback_workflow_id(self.mission_id), result_type=RollbackReport
        )

    async def start_rollback(self) -> WorkflowHandle[Any, RollbackReport]:
        """Roll it back from outside, as the command line does."""
        return await self._client.start_workflow(
            names.ROLLBACK_WORKFLOW,
            RollbackInput(mission_id=self.mission_id, reason="asked for"),
            id=names.rollback_workflow_id(self.mission_id),
            task_queue=self._task_queue,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            result_type=RollbackReport,
        )

    # -- what it shows ----------------------------------------------------------------------------

    async def snapshot(self) -> MissionResult:
        """Its result document as it stands: of its end, if that has one, else of its history."""
        if (ended := await self._document()) is not None:
            return ended
        result = await self.state(self.handle, lambda mission: mission.result())
        assert isinstance(result, MissionResult)
        return result

    async def _document(self) -> MissionResult | None:
        """What it has ended with; a leg's part of the ledger is that of its own calls."""
        if await self.status() in (WorkflowExecutionStatus.RUNNING, None):
            return None
        try:
            told = self._client.get_workflow_handle(self.mission_id, result_type=MissionResult)
            result: MissionResult = await told.result()
        except WorkflowFailureError as failed:
            if not isinstance(failed.cause, ApplicationError) or not failed.cause.details:
                return None
            result = MissionResult.model_validate(failed.cause.details[0])
        legs = (
            leg.model_copy(update={"ledger": _part_of(result.ledger, leg.leg_id)})
            for leg in result.legs
        )
        return result.model_copy(update={"legs": tuple(legs)})

    async def end(self) -> MissionResult:
        """Skip to its end; the result document, however it ended."""
        try:
            return await self.handle.result()
        except WorkflowFailureError:
            return await self.snapshot()

    async def over(self) -> MissionResult:
        """The result of one that leaves something parked, once it is over.

        No time is skipped, for the server would skip all that an operator may take as well.
        """

        async def look() -> MissionResult | None:
            result = await self.snapshot()
            return result if result.finished_at is not None else None

        return await self.eventually(look)

    async def failure(self) -> BaseException:
        """Skip to its end, which is a failure; what it failed with."""
        with pytest.raises(WorkflowFailureError) as failed:
            await self.handle.result()
        return failed.value.cause

    async def leg(self, leg_id: str) -> LegResult:
        """A leg as it stands, once its mission has it."""

        def read(mission: Any) -> LegResult | None:
            return next((leg for leg in mission.result().legs if leg.leg_id == leg_id), None)

        leg = await self.state(self.handle, read)
        assert isinstance(leg, LegResult)
        return leg

    async def waits(self) -> Waiting:
        """What it and its legs wait for, by its memo."""
        return await waits_in(await self.handle.describe())

    async def waiting(self, leg_id: str) -> LegWaiting:
        """What a leg waits for."""
        waits = await self.waits()
        cards = [c for c in waits.cards if names.leg_of(c.confirmation_id) == leg_id]
        questions = [q for q in waits.questions if names.leg_of(q.question_id) == leg_id]
        pauses = [p for p in waits.pauses if names.leg_of(p.pause_id) == leg_id]
        return LegWaiting(
            card=next(iter(cards), None),
            question=next(iter(questions), None),
            pause=next(iter(pauses), None),
        )

    async def card(self, leg_id: str) -> ConfirmationCard:
        """The open card of a leg, once there is one."""

        async def look() -> ConfirmationCard | None:
            return (await self.waiting(leg_id)).card

        return await self.eventually(look)

    async def question(self, leg_id: str) -> Question:
        """The open question of a leg, once there is one."""

        async def look() -> Question | None:
            return (await self.waiting(leg_id)).question

        return await self.eventually(look)

    async def plan_card(self, number: int = 1) -> ConfirmationCard:
        """The card of its plan, once there is so many a one."""

        async def look() -> ConfirmationCard | None:
            card = (await self.waiting("")).card
            wanted = names.plan_card_id(self.mission_id, number)
            return card if card is not None and card.confirmation_id == wanted else None

        return await self.eventually(look)

    async def plan_question(self, number: int = 1) -> Question:
        """What it asks about its plan, once it asks for the nth time."""

        async def look() -> Question | None:
            asked = (await self.waiting("")).question
            wanted = names.plan_question_id(self.mission_id, number)
            return asked if asked is not None and asked.question_id == wanted else None

        return await self.eventually(look)

    async def report(self) -> RollbackReport:
        """Where its rollback stands."""
        report = await self.state(self.rollback_handle, lambda rollback: rollback.report())
        assert isinstance(report, RollbackReport)
        return report

    async def parked(self, at_least: int = 1) -> tuple[Obligation, ...]:
        """What is parked, once so many are and the rollback shows that it waits for an operator.

        It shows so from the first one on, while it may still try others.
        """

        async def look() -> tuple[Obligation, ...] | None:
            shown = (await self.rollback_handle.describe()).typed_search_attributes
            waits = shown.get(STATUS) == RollbackStatus.PARKED
            found = (await self.report()).parked if waits else ()
            return found if len(found) >= at_least else None

        return await self.eventually(look)

    async def is_cancelling(self) -> None:
        """Wait until a cancel request has reached it."""

        async def look() -> bool | None:
            history = await self.handle.fetch_history()
            wanted = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED
            return any(event.event_type == wanted for event in history.events) or None

        await self.eventually(look)

    async def status(self) -> WorkflowExecutionStatus | None:
        """What Temporal says of it."""
        return (await self.handle.describe()).status

    async def state(self, handle: WorkflowHandle[Any, Any], read: Callable[[Any], Any]) -> Any:
        """What a workflow says of itself, by a replay of its history; waits for its first task."""

        async def look() -> Any | None:
            run = (await handle.describe()).run_id
            of_run = self._client.get_workflow_handle(handle.id, run_id=run)
            events = (await of_run.fetch_history()).events
            return await Replays(self._client).last_state(handle.id, events, read)

        return await self.eventually(look)

    async def rollback_status(self) -> WorkflowExecutionStatus | None:
        """What Temporal says of its rollback; None when there is none."""
        try:
            return (await self.rollback_handle.describe()).status
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise

    async def eventually(self, look: Callable[[], Awaitable[T | None]]) -> T:
        """What `look` finds, asked until it finds something; no time is skipped meanwhile.

        It rests as long as the look took: a worker that answers slowly has to get on with its work.
        """
        clock = asyncio.get_running_loop().time
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                began = clock()
                found = await _unless_missing(look)
                if found is not None:
                    return found
                await asyncio.sleep(max(0.03, clock() - began))

    # -- what people do ---------------------------------------------------------------------------

    async def refusal(self, update: Awaitable[object]) -> ApplicationError:
        """Send an update that is refused: the error its sender gets."""
        with pytest.raises(WorkflowUpdateFailedError) as failed:
            await update
        assert isinstance(failed.value.cause, ApplicationError)
        return failed.value.cause

    async def decide(self, decision: Decision) -> DecisionReceipt:
        receipt: DecisionReceipt = await self.told.execute_update(
            names.DECIDE_UPDATE,
            DecisionEnvelope(decision=decision),
            result_type=DecisionReceipt,
        )
        return receipt

    async def approve(self, card: ConfirmationCard) -> DecisionReceipt:
        return await self.decide(
            Approve(
                confirmation_id=card.confirmation_id, digest=card.digest, approver="ada@example.com"
            )
        )

    async def answer(self, question: Question, values: JsonObject) -> None:
        await self.told.execute_update(
            names.ANSWER_UPDATE,
            AnswerInput(question_id=question.question_id, values=values, answered_by="ada"),
            result_type=str,
        )

    async def amend(self, card: ConfirmationCard, **changes: JsonValue) -> ConfirmationCard:
        """The new card."""
        receipt = await self.decide(
            Amend(confirmation_id=card.confirmation_id, changes=changes, approver="ada@example.com")
        )
        assert receipt.card is not None
        return receipt.card

    async def reject(self, card: ConfirmationCard, reason: str) -> DecisionReceipt:
        return await self.decide(
            Reject(confirmation_id=card.confirmation_id, reason=reason, approver="ada@example.com")
        )

    async def resolve(
        self, obligation_id: str, resolution: Resolution, *, operator: str = "ops", note: str = ""
    ) -> RollbackReport:
        report: RollbackReport = await self.rollback_handle.execute_update(
            names.RESOLVE_UPDATE,
            ResolveInput(
                obligation_id=obligation_id, resolution=resolution, operator=operator, note=note
            ),
            result_type=RollbackReport,
        )
        return report


class Stage:
    """A worker that plays one world, and the missions started on it."""

    def __init__(self, env: WorkflowEnvironment, world: FakeWorld, name: str) -> None:
        self.env = env
        self.world = world
        self.task_queue = f"{name}-{uuid4().hex[:6]}"
        self._started = 0

    def worker(self, *, max_cached_workflows: int = 1_000) -> Worker:
        worker = Worker(
            self.env.client,
            task_queue=self.task_queue,
            workflows=ALL_WORKFLOWS,
            activities=self.world.activities(),
            workflow_runner=workflow_runner(),
            max_cached_workflows=max_cached_workflows,
        )
        return worker

    def lose_after(self, *tools: str) -> None:
        """Script one leg that calls these tools, and a later one that is lost."""
        self.world.plan(fake_leg("trip"), fake_leg("visa", after=("trip",)))
        self.world.decide("trip", *[CallTool(tool=tool) for tool in tools])
        self.world.decide("visa", GiveUp(reason="no visa"))

    async def start(
        self,
        *,
        goal: str = "go to Lisbon",
        inputs: JsonObject | None = None,
        budget: Money | None = None,
        policy: MissionPolicy | None = None,
        requester: str = "",
        read_only: bool = False,
        observe: bool = False,
        orders: Iterable[Order] = (),
        carried: CarriedMission | None = None,
    ) -> Mission:
        self._started += 1
        mission_id = f"{self.task_queue[-60:].lstrip('-_')}-{self._started}"
        request = MissionRequest(
            goal=goal,
            inputs=inputs or {},
            budget=budget,
            mission_id=mission_id,
            policy=policy or MissionPolicy(call_timeout=timedelta(seconds=4), call_attempts=3),
            requester=requester,
            read_only=read_only,
            observe=observe,
            orders=tuple(orders),
        )
        handle = await self.env.client.start_workflow(
            names.MISSION_WORKFLOW,
            MissionInput(request=request, carried=carried),
            task_queue=self.task_queue,
            result_type=MissionResult,
            **mission_start(request),
        )
        return Mission(self.env.client, handle, self.task_queue)

    async def start_leg(
        self,
        leg_id: str,
        *decisions: DecideStep,
        agent: AgentProfile | None = None,
        orders: Iterable[Order] = (),
        **started: Any,
    ) -> Mission:
        """Start a mission of one leg that decides so; `orders` are those of the leg."""
        self.world.plan(fake_leg(leg_id, agent=agent, orders=orders))
        self.world.decide(leg_id, *decisions)
        return await self.start(**started)

    async def run_leg(self, leg_id: str, *decisions: DecideStep, **started: Any) -> MissionResult:
        """The result of such a mission."""
        return await (await self.start_leg(leg_id, *decisions, **started)).end()


@pytest.fixture
async def booked(stage: Stage, world: FakeWorld) -> Mission:
    """A mission whose one leg, `trip`, has booked a flight and waits for a person."""
    world.plan(fake_leg("trip"))
    world.decide(
        "trip",
        CallTool(tool="book_flight"),
        CallTool(tool="buy_ticket", arguments={"seat": "12A"}),
    )
    mission = await stage.start()
    await mission.card("trip")
    return mission


CollectLedger = Callable[[Mission], Awaitable[CollectLedgerOutput]]


@pytest.fixture(scope="session")
async def core_at_rest() -> AsyncIterator[None]:
    """A moment after the last server: a call still under way at exit would abort the process."""
    yield
    await asyncio.sleep(0.1)


@pytest.fixture
async def time_skipping_env(core_at_rest: None) -> AsyncIterator[WorkflowEnvironment]:
    """A server for each test, which starts in a tenth of a second.

    Its clock skips for all that runs on it, and for nobody any more once a child has outlived its
    parent: a shared one would carry that into the next test.
    """
    async with await WorkflowEnvironment.start_time_skipping(
        data_converter=pydantic_data_converter,
        test_server_existing_path=str(Path(sys.executable).parent / "temporal-test-server"),
    ) as env:
        await env.client.operator_service.add_search_attributes(
            AddSearchAttributesRequest(
                namespace=env.client.namespace,
                search_attributes=INDEXED,
            )
        )
        yield env


@pytest.fixture
def world(workflow_env: WorkflowEnvironment) -> FakeWorld:
    """Activities that play what a test scripts, over TOOLS."""
    return FakeWorld(workflow_env.client, TOOLS, policy=OPERATORS)


@pytest.fixture
async def stage(
    workflow_env: WorkflowEnvironment, world: FakeWorld, request: pytest.FixtureRequest
) -> AsyncIterator[Stage]:
    """A running worker that plays `world`."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", request.node.name)
    made = Stage(workflow_env, world, name)
    async with made.worker():
        yield made


@pytest.fixture
async def forgetful(stage: Stage, world: FakeWorld) -> AsyncIterator[Stage]:
    """A stage whose worker replays the whole history for every task and every query."""
    made = type(stage)(stage.env, world, "forgetful")
    async with made.worker(max_cached_workflows=0):
        yield made


@pytest.fixture
def collect_ledger(world: FakeWorld) -> CollectLedger:
    """Run the activity that reads the ledger of a mission, as a rollback has it run."""
    collect = next(a for a in world.activities() if a.__name__ == "collect_ledger")

    async def run(mission: Mission) -> CollectLedgerOutput:
        output: CollectLedgerOutput = await ActivityEnvironment().run(
            collect, CollectLedgerInput(mission_id=mission.mission_id)
        )
        return output

    return run


_NOT_YET = (RPCStatusCode.NOT_FOUND, RPCStatusCode.CANCELLED, RPCStatusCode.DEADLINE_EXCEEDED)
"""The last two: a busy machine did not answer in the time that the client gives one query."""


def _part_of(ledger: Ledger, leg_id: str) -> Ledger:
    return Ledger(
        obligations=tuple(o for o in ledger.obligations if o.leg_id == leg_id),
        cancels=tuple(c for c in ledger.cancels if names.leg_of(c.call_id) == leg_id),
    )


async def _unless_missing(look: Callable[[], Awaitable[T | None]]) -> T | None:
    """What `look` finds; nothing while the workflow is not there yet, or does not answer."""
    try:
        return await look()
    except RPCError as error:
        if error.status in _NOT_YET:
            return None
        raise
