"""A personal field that the vault lacks is a question; its value never passes through a history."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import pytest
from temporalio.client import WorkflowFailureError, WorkflowHandle, WorkflowUpdateFailedError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from orchestrator.client.history_replay import Replays
from orchestrator.client.waits import waits_in
from orchestrator.confirmation.models import (
    Amend,
    ConfirmationCard,
    DecisionEnvelope,
    DecisionReceipt,
)
from orchestrator.core.pii import as_written
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.leg import AnswerInput, LegWaiting
from orchestrator.messages.mission import MissionInput, MissionRequest, MissionResult, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import CallTool
from orchestrator.workflows import ALL_WORKFLOWS
from tests.fakes import MemoryPii, fake_leg, fake_tool
from tests.world import FakeWorld

BOOK = CallTool(
    tool="book_flight",
    arguments={"traveler_id": "pii:traveler_id", "contact": {"phone": "pii:phone"}},
)
PERSONAL = ("traveler_id", "phone")
STORED = "TRV-55120-QX"


class Flight:
    """One mission of one leg that books a flight, and the people around it."""

    def __init__(
        self, handle: WorkflowHandle[Any, MissionResult], env: WorkflowEnvironment
    ) -> None:
        self.handle = handle
        self.told = env.client.get_workflow_handle(handle.id)
        self._client = env.client

    async def waits_for(self, what: Callable[[LegWaiting], Any]) -> Any:
        """What the leg waits for, once it does."""
        async with asyncio.timeout(60):
            while True:
                if (found := what(await self.waits())) is not None:
                    return found
                await asyncio.sleep(0.03)

    async def waits(self) -> LegWaiting:
        waits = await waits_in(await self.handle.describe())
        return LegWaiting(
            card=next(iter(waits.cards), None), question=next(iter(waits.questions), None)
        )

    async def question(self) -> Any:
        return await self.waits_for(lambda waiting: waiting.question)

    async def answer(self, question_id: str, **values: Any) -> None:
        await self.told.execute_update(
            names.ANSWER_UPDATE, AnswerInput(question_id=question_id, values=values)
        )

    async def end(self) -> MissionResult:
        with contextlib.suppress(WorkflowFailureError):
            return await self.handle.result()
        events = (await self.handle.fetch_history()).events
        result = await Replays(self._client).last_state(
            self.handle.id, events, lambda mission: mission.result()
        )
        assert isinstance(result, MissionResult)
        return result

    async def activities(self) -> list[str]:
        """The activities that its mission scheduled, in order."""
        history = await self.handle.fetch_history()
        scheduled = (event.activity_task_scheduled_event_attributes for event in history.events)
        return [found.activity_type.name for found in scheduled if found.activity_type.name]

    async def histories(self) -> bytes:
        """Every event of the mission, and its memo."""
        history, described = await self.handle.fetch_history(), await self.handle.describe()
        events = (event.SerializeToString() for event in history.events)
        return b"".join((*events, described.raw_description.SerializeToString()))


@pytest.fixture
def vault() -> MemoryPii:
    return MemoryPii()


@pytest.fixture
def world(workflow_env: WorkflowEnvironment, vault: MemoryPii) -> FakeWorld:
    free = fake_tool("book_flight", cancel_tool="cancel_flight", personal=PERSONAL)
    asked = fake_tool(
        "buy_ticket", cancel_tool="refund", card_type="structured-payment", personal=PERSONAL
    )
    made = FakeWorld(workflow_env.client, [free, asked], pii=vault)
    made.plan(fake_leg("flight"))
    made.decide("flight", BOOK)
    return made


Start = Callable[..., Any]


@pytest.fixture
async def start(
    workflow_env: WorkflowEnvironment, world: FakeWorld, request: pytest.FixtureRequest
) -> AsyncIterator[Start]:
    """Starts the mission on a worker of its own."""
    queue = f"pii-{re.sub(r'[^a-z-]+', '-', request.node.name)[-30:]}-{uuid4().hex[:6]}"

    async def begin(**policy: Any) -> Flight:
        mission = MissionRequest(
            goal="fly", inputs={}, mission_id=queue, policy=MissionPolicy(**policy)
        )
        handle = await workflow_env.client.start_workflow(
            names.MISSION_WORKFLOW,
            MissionInput(request=mission),
            id=queue,
            task_queue=queue,
            result_type=MissionResult,
        )
        return Flight(handle, workflow_env)

    async with Worker(
        workflow_env.client,
        task_queue=queue,
        workflows=ALL_WORKFLOWS,
        activities=world.activities(),
    ):
        yield begin


async def test_a_missing_field_is_asked_for_and_the_call_is_made_once_it_is_stored(
    start: Start, world: FakeWorld, vault: MemoryPii
) -> None:
    """The question asks for no value; the call goes out, and no history holds the values."""
    flight = await start()
    question = await flight.question()
    asked_before = world.sent("book_flight")
    for name in question.personal:
        vault.put(name, f"{STORED}-{name}")
    await flight.answer(question.question_id)
    result = await flight.end()

    assert question.personal == ("phone", "traveler_id")
    assert question.fields == {}
    assert all(f"orchestrator pii {name}" in question.question for name in PERSONAL)
    assert asked_before == []
    assert result.status is MissionStatus.SUCCEEDED
    (sent,) = world.sent("book_flight")
    assert sent.arguments != BOOK.arguments
    assert as_written(sent.arguments) == BOOK.arguments
    assert [s.outcome for s in result.legs[0].steps] == ["answered", "succeeded", "done"]
    assert STORED.encode() not in await flight.histories()
    assert b"pii:traveler_id" in await flight.histories()


async def test_an_answer_is_not_believed(start: Start, vault: MemoryPii) -> None:
    """What was not stored is asked for again, and only that."""
    flight = await start()
    first = await flight.question()
    vault.put("phone", "+49301234567")
    await flight.answer(first.question_id)
    second = await flight.waits_for(
        lambda w: w.question if w.question and len(w.question.personal) == 1 else None
    )
    vault.put("traveler_id", STORED)
    await flight.answer(second.question_id)
    result = await flight.end()

    assert second.personal == ("traveler_id",)
    assert result.status is MissionStatus.SUCCEEDED


async def test_a_value_in_the_answer_is_refused_and_leaves_no_trace(
    start: Start, vault: MemoryPii
) -> None:
    """A person who sends the value itself is told not to; the server never keeps it."""
    flight = await start()
    question = await flight.question()

    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await flight.answer(question.question_id, traveler_id=STORED)
    still_open = await flight.question()
    history = await flight.histories()
    await flight.handle.terminate()

    assert "answer without a value" in str(refused.value.cause)
    assert STORED not in str(refused.value.cause)
    assert still_open == question
    assert STORED.encode() not in history


async def test_a_vault_that_holds_it_changes_nothing(
    start: Start, world: FakeWorld, vault: MemoryPii
) -> None:
    """The ordinary path schedules what it always did: each activity once."""
    for name in PERSONAL:
        vault.put(name, STORED)

    flight = await start()
    await flight.end()

    assert await flight.activities() == [
        names.SPLIT_GOAL,
        names.THINK,
        names.INVOKE_TOOL,
        names.THINK,
    ]
    assert world.subjects(names.PREPARE_CALL) == ["book_flight"]


async def test_no_card_is_shown_for_a_call_that_could_not_be_made(
    start: Start, world: FakeWorld, vault: MemoryPii
) -> None:
    """The field is asked for first; the card comes when it is there."""
    arguments: JsonObject = {"traveler_id": "pii:traveler_id"}
    world.decide("flight", CallTool(tool="buy_ticket", arguments=arguments))
    flight = await start()
    question = await flight.question()
    vault.put("traveler_id", STORED)
    await flight.answer(question.question_id)
    card: ConfirmationCard = await flight.waits_for(lambda waiting: waiting.card)

    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await flight.told.execute_update(
            names.DECIDE_UPDATE,
            DecisionEnvelope(
                decision=Amend(
                    confirmation_id=card.confirmation_id,
                    changes={"phone": "pii:phone"},
                    approver="ada@example.com",
                )
            ),
            result_type=DecisionReceipt,
        )
    await flight.handle.terminate()

    assert "the PII vault holds no phone" in str(refused.value.cause)


async def test_a_missing_credential_is_asked_for_like_a_missing_field(
    start: Start, world: FakeWorld, vault: MemoryPii
) -> None:
    """Both in one question; before a card is shown, and as long as one of them is missing."""
    world.decide("flight", CallTool(tool="buy_ticket", arguments={"phone": "pii:phone"}))
    world.lack("buy_ticket", "no secret 'payments'; set PAYMENTS")
    flight = await start()
    first = await flight.question()
    vault.put("phone", "+49301234567")
    await flight.answer(first.question_id)
    second = await flight.waits_for(
        lambda w: w.question if w.question and not w.question.personal else None
    )
    cards = (await flight.waits()).card
    world.lack("buy_ticket")
    await flight.answer(second.question_id)
    card: ConfirmationCard = await flight.waits_for(lambda waiting: waiting.card)
    await flight.handle.terminate()

    assert first.personal == ("phone",)
    assert "orchestrator pii phone" in first.question
    assert "set PAYMENTS" in first.question
    assert "set PAYMENTS" in second.question
    assert (cards, second.fields) == (None, {})
    assert card.tool == "buy_ticket"
    assert world.sent("buy_ticket") == []
