"""Guarded calls of a workflow of one's own, over a real server, store and provider."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from temporalio import workflow
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import WorkflowFailureError, WorkflowHandle

with workflow.unsafe.imports_passed_through():
    from orchestrator import ToolSaga
    from orchestrator.client.retention import remove_observations
    from orchestrator.client.stores import store_of
    from orchestrator.confirmation.models import ConfirmationCard
    from orchestrator.messages.leg import Question
    from orchestrator.messages.mission_policy import OnFailure
    from orchestrator.messages.rollback import SweepReport
    from orchestrator.runtime.defaults import default_tools
    from orchestrator.runtime.worker import build
    from orchestrator.testing import eventually

if TYPE_CHECKING:
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import SweepUntilFound, Witness

PERSON = {"traveler_name": "pii:traveler_name", "traveler_phone": "pii:traveler_phone"}


@workflow.defn
class Dinner:
    """A user's workflow: two tables, of which the second may be lost."""

    @workflow.run
    async def run(self, day: str, second: str, asks: bool) -> dict[str, str]:
        """Reserve a table, and one more where it is wanted."""
        rule: OnFailure = "ask" if asks else "rollback"
        async with ToolSaga("dinner", requester="ana@example.com", on_failure=rule) as saga:
            found: Any = await saga.call("dining_search_tables", {"city": "Lisbon", "date": day})
            slot = found["tables"][0]["table_slot_id"]
            table: Any = await saga.call("dining_reserve_table", {"table_slot_id": slot, **PERSON})
            if second:
                await saga.call("dining_reserve_table", {"table_slot_id": second, **PERSON})
        return {"saga": saga.saga_id, "reservation": table["reservation_id"]}


class Dinners:
    """Starts dinners, and decides on their cards."""

    def __init__(self, client: MissionClient, task_queue: str) -> None:
        self.client = client
        self.task_queue = task_queue

    async def start(self, *, second: str = "", asks: bool = False) -> WorkflowHandle[Any, Any]:
        """Start one for next week."""
        day = (date.today() + timedelta(days=7)).isoformat()
        return await self.client.temporal.start_workflow(
            Dinner.run, args=[day, second, asks], id=f"dinner/{uuid4()}", task_queue=self.task_queue
        )

    async def card(self, besides: str = "") -> ConfirmationCard:
        """Return the card that waits, as the list of all cards has it."""

        async def look() -> ConfirmationCard | None:
            cards = await self.client.confirmations()
            mine = [c for c in cards if c.confirmation_id.startswith("dinner-")]
            return next((c for c in mine if c.confirmation_id != besides), None)

        card = await eventually(look)
        assert card is not None
        return card

    async def approve(self, besides: str = "") -> ConfirmationCard:
        """Approve the card that waits, by its id alone, as the command line does."""
        card = await self.card(besides)
        shown = await self.client.confirmation(card.confirmation_id)
        await self.client.approve(shown.confirmation_id, shown.digest, approver="bob@example.com")
        return card


@pytest.fixture
async def dinners(client: MissionClient, stack: Stack) -> AsyncIterator[Dinners]:
    """A worker with the workflow, in this process, over the store of the installation."""
    queue = f"dinners-{uuid4().hex[:6]}"
    settings = stack.settings.model_copy(update={"task_queue": queue, "agent_queues": ("none",)})
    async with store_of(settings) as store, default_tools(settings, store) as tools:
        (worker,) = build(client.temporal, settings, store=store, tools=tools, workflows=[Dinner])
        async with worker:
            yield Dinners(client, queue)


async def saga_of(card: ConfirmationCard) -> str:
    return card.confirmation_id.partition(".")[0]


async def test_a_saga_is_approved_and_stands(dinners: Dinners, sandbox: Witness) -> None:
    """By a card in the list of all cards; the provider holds one reservation."""
    dinner = await dinners.start()
    await dinners.approve()
    result = await dinner.result()

    (effect,) = await sandbox.live(result["saga"])
    assert effect["resource_id"] == result["reservation"]
    assert result["saga"] not in (await dinners.client.sweep()).started


async def test_a_saga_that_fails_cancels_at_the_provider(
    dinners: Dinners, sandbox: Witness
) -> None:
    """Without asking anybody."""
    dinner = await dinners.start(second="tbl_nosuchslot")
    card = await dinners.approve()
    await dinners.approve(besides=card.confirmation_id)
    with pytest.raises(WorkflowFailureError):
        await dinner.result()

    saga = await saga_of(card)
    assert await sandbox.live(saga) == []
    report = await dinners.client.rollback_report(saga)
    assert [o.state for o in report.ledger.obligations] == ["cancelled", "void"]


@pytest.mark.parametrize(
    "end",
    # What is kept is tried on the time-skipping server in every run.
    [pytest.param("kept", marks=pytest.mark.long), "terminated"],
)
async def test_a_saga_on_hold(
    dinners: Dinners, sandbox: Witness, sweep_until_found: SweepUntilFound, end: str
) -> None:
    """What a person keeps is left alone by every sweep; a terminated hold is rolled back."""
    dinner = await dinners.start(second="tbl_nosuchslot", asks=True)
    card = await dinners.approve()
    await dinners.approve(besides=card.confirmation_id)
    saga = await saga_of(card)

    async def look() -> Question | None:
        asked = (await dinners.client.waiting()).questions
        return next((one for one in asked if one.question_id.startswith(saga)), None)

    question = await eventually(look)
    assert question is not None and question.hold is not None
    assert [one.tool for one in question.hold.standing] == ["dining_reserve_table"]
    if end == "kept":
        mission = dinners.client.get(saga)
        await mission.answer(question.question_id, {"decision": "keep"}, answered_by="ana")
        with pytest.raises(WorkflowFailureError):
            await dinner.result()
        assert saga not in (await dinners.client.sweep()).started
        assert len(await sandbox.live(saga)) == 1
    else:
        await dinner.terminate()
        await sweep_until_found(saga)

        async def is_cancelled() -> bool:
            return not await sandbox.live(saga)

        await eventually(is_cancelled)


@pytest.mark.parametrize(
    "end",
    # The terminated hold above is swept in the same way.
    [pytest.param("terminated", marks=pytest.mark.long), "deleted"],
)
async def test_a_saga_whose_workflow_is_gone_is_swept(
    dinners: Dinners, sandbox: Witness, sweep_until_found: SweepUntilFound, end: str
) -> None:
    """The store has its obligation, from before the request left."""
    dinner = await dinners.start(second="tbl_other")
    card = await dinners.approve()
    await dinners.card(besides=card.confirmation_id)
    saga = await saga_of(card)
    held = await sandbox.live(saga)
    swept_early: SweepReport = await dinners.client.sweep()
    if end == "terminated":
        await dinner.terminate()
    else:
        await _delete(dinners.client, dinner.id)
    await sweep_until_found(saga)

    async def is_cancelled() -> bool:
        return not await sandbox.live(saga)

    await eventually(is_cancelled)
    assert len(held) == 1
    assert saga not in swept_early.started


async def test_retention_spares_a_saga_whose_workflow_runs(dinners: Dinners, stack: Stack) -> None:
    """Its stored answers and obligations are those of its workflow, which has another id."""
    dinner = await dinners.start(second="tbl_nosuchslot")
    card = await dinners.approve()
    waiting = await dinners.card(besides=card.confirmation_id)
    saga, later = await saga_of(card), datetime.now(UTC) + timedelta(days=90)

    async def removed_later() -> tuple[str, ...]:
        month, find = timedelta(days=30), store.workflow_of
        temporal, seen = dinners.client.temporal, store.observations
        return await remove_observations(temporal, seen, month, now=later, workflow_of=find)

    with store_of(stack.settings) as store:
        store.observations.put(saga, "a long answer", b"{}")
        kept, workflows = store.observations.missions(), store.saga_workflows()
        while_it_waits = await removed_later()
        await dinners.approve(besides=card.confirmation_id)
        with pytest.raises(WorkflowFailureError):
            await dinner.result()
        once_over = await removed_later()

    assert saga in kept
    assert dinner.id in workflows
    assert saga not in while_it_waits
    assert waiting.mission_id == saga
    assert saga in once_over


async def _delete(client: MissionClient, workflow_id: str) -> None:
    await client.temporal.workflow_service.delete_workflow_execution(
        DeleteWorkflowExecutionRequest(
            namespace=client.temporal.namespace,
            workflow_execution=WorkflowExecution(workflow_id=workflow_id),
        )
    )
    await asyncio.sleep(0.5)
