"""A worker of one's own with nothing of ours but the plugin, over a real server and provider."""

from __future__ import annotations

import asyncio
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai.durable_exec.temporal import PydanticAIPlugin
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.common import WorkerDeploymentVersion
from temporalio.contrib.opentelemetry import OpenTelemetryPlugin, create_tracer_provider
from temporalio.openai_agents import ModelActivityParameters, OpenAIAgentsPlugin
from temporalio.openai_agents.testing import TestModel, TestModelProvider
from temporalio.worker import Replayer, Worker, WorkerDeploymentConfig

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.obstacles import absence
from orchestrator.core.errors import UsageError
from orchestrator.runtime.worker import build
from orchestrator.sandbox import FaultRule
from orchestrator.temporal import OrchestratorPlugin
from orchestrator.temporal.orchestrator_plugin import check_one_machine
from orchestrator.testing import eventually
from tests.guarded_examples import (
    all_approved,
    approve_next,
    example,
    saga_of,
    until_sent,
    worker_process,
)
from tests.guarded_workflows import Clumsy, Note, Noted, Table, TakenName, Unclosed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import Witness

LEAVING, RETURNING = ((date.today() + timedelta(days=days)).isoformat() for days in (7, 10))


async def start_trip(client: Client, queue: str = "trips") -> WorkflowHandle[Any, Any]:
    """Start a trip for next week, by a client that knows nothing of ours."""
    return await client.start_workflow(
        "Trip", args=["Lisbon", LEAVING, RETURNING], id=f"trip/{uuid4()}", task_queue=queue
    )


async def test_a_trip_is_booked_and_replays(
    stack: Stack, client: MissionClient, sandbox: Witness
) -> None:
    """Under the SDK's own data converter; its cards stand in the list of all cards."""
    plugin = OrchestratorPlugin(settings=stack.settings)
    theirs = await Client.connect(stack.address, plugins=[plugin])
    trip = example("trip_workflow").Trip
    queue = f"trips-{uuid4().hex[:6]}"
    worker = Worker(theirs, task_queue=queue, workflows=[trip])
    async with worker, all_approved(client, "trip") as cards:
        handle = await start_trip(theirs, queue)
        booked = await handle.result()

    live = await sandbox.live(saga_of(cards[0]))
    assert {e["resource_id"] for e in live} == set(booked.values())
    replayer = Replayer(workflows=[trip], plugins=[plugin])
    await replayer.replay_workflow(await handle.fetch_history())


async def test_a_trip_whose_worker_dies_is_cancelled_when_its_last_call_is_refused(
    stack: Stack, client: MissionClient, sandbox: Witness
) -> None:
    """The worker is killed between the call and its answer: nothing twice, and nothing left."""
    theirs = await Client.connect(stack.address)
    await sandbox.set_faults(
        [
            FaultRule(operation_id="flight_book_offer", kind="latency", delay_s=2, times=1),
            FaultRule(operation_id="hotel_book_room", kind="status_before", status=409),
        ]
    )
    async with worker_process(stack, "first"):
        handle = await start_trip(theirs)
        saga = await approve_next(client, "trip", "flight_book_offer")
        await until_sent(sandbox, saga, "flight_book_offer")
        await stack.kill("first")
    async with worker_process(stack, "second"), all_approved(client, "trip"):
        with pytest.raises(WorkflowFailureError):
            await handle.result()

    assert await sandbox.live(saga) == []
    assert await sandbox.duplicates(saga) == []
    report = await client.rollback_report(saga)
    assert [o.state for o in report.ledger.obligations] == ["cancelled", "void"]


# -- with other plugins ---------------------------------------------------------------------------


def _openai_agents() -> OpenAIAgentsPlugin:
    provider = TestModelProvider(TestModel.returning_responses([]))
    limits = ModelActivityParameters(start_to_close_timeout=timedelta(seconds=9))
    return OpenAIAgentsPlugin(model_params=limits, model_provider=provider)


@pytest.mark.parametrize(
    ("theirs", "is_first"),
    [
        (PydanticAIPlugin, False),
        (_openai_agents, True),
        # test_guarded_agents.py runs the other order of each in every run.
        pytest.param(PydanticAIPlugin, True, marks=pytest.mark.long),
        pytest.param(_openai_agents, False, marks=pytest.mark.long),
    ],
)
async def test_plugins_of_agents_keep_their_converter(
    stack: Stack, client: MissionClient, theirs: Callable[[], Any], is_first: bool
) -> None:
    """It writes the values of users; our messages are JSON under it."""
    connected = await _connected(stack, theirs(), is_first=is_first)
    before = connected.data_converter.payload_converter_class
    queue = f"tables-{uuid4().hex[:6]}"
    worker = Worker(connected, task_queue=queue, workflows=[Noted])
    async with worker, all_approved(client, "table") as cards:
        result = await connected.execute_workflow(
            Noted.run,
            args=[LEAVING, Note(text="by the window")],
            id=f"noted/{uuid4()}",
            task_queue=queue,
        )

    assert result == Note(text="by the window")
    assert [card.tool for card in cards] == ["dining_reserve_table"]
    assert connected.data_converter.payload_converter_class is before


@pytest.mark.parametrize("is_first", [True, pytest.param(False, marks=pytest.mark.long)])
async def test_the_plugin_that_traces_sees_workflow_and_calls(
    stack: Stack, client: MissionClient, is_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its interceptors stay, whichever plugin comes first."""
    provider, spans = create_tracer_provider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    connected = await _connected(
        stack, OpenTelemetryPlugin(add_temporal_spans=True), is_first=is_first
    )
    queue = f"tables-{uuid4().hex[:6]}"
    worker = Worker(connected, task_queue=queue, workflows=[Table])
    async with worker, all_approved(client, "table"):
        await _run(connected, queue, "Table", LEAVING)

    seen = {span.name for span in spans.get_finished_spans()}
    assert {"RunWorkflow:Table", "RunActivity:invoke_tool"} <= seen


async def _connected(stack: Stack, theirs: Any, *, is_first: bool) -> Client:
    ours = _plugin(stack)
    plugins = [ours, theirs] if is_first else [theirs, ours]
    return await Client.connect(stack.address, plugins=plugins)


async def test_a_client_of_missions_decides_through_a_client_of_ones_own(
    stack: Stack, sandbox: Witness
) -> None:
    """Also where its data converter writes no models."""
    plain = await Client.connect(stack.address, plugins=[_plugin(stack)])
    queue = f"tables-{uuid4().hex[:6]}"
    client = MissionClient(plain, stack.settings)
    async with Worker(plain, task_queue=queue, workflows=[Table]), all_approved(client, "table"):
        saga, reservation = await _run(plain, queue, "Table", LEAVING)

    (effect,) = await sandbox.live(saga)
    assert effect["resource_id"] == reservation


# -- wrong use ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
async def run_alone(stack: Stack) -> AsyncIterator[Callable[..., Awaitable[Any]]]:
    """Run one of these workflows on a worker that has the plugin itself; return its result."""
    client = await Client.connect(stack.address)
    queue = f"alone-{uuid4().hex[:6]}"
    workflows, plugins = [Clumsy, TakenName, Unclosed], [_plugin(stack)]
    async with Worker(client, task_queue=queue, workflows=workflows, plugins=plugins):
        yield partial(_run, client, queue)


@pytest.mark.parametrize(
    ("how", "remedy"),
    [
        ("one name twice", "give each a name of its own"),
        ("no such tool", "dining_reserve_table"),
        ("outside of its block", "async with ToolSaga"),
    ],
)
async def test_wrong_use_gets_a_sentence_with_the_remedy(
    run_alone: Callable[..., Awaitable[Any]], how: str, remedy: str
) -> None:
    """In the error that the workflow gets."""
    assert remedy in await run_alone("Clumsy", how)


async def test_a_workflow_with_an_update_of_that_name_is_served_as_before(
    run_alone: Callable[..., Awaitable[Any]],
) -> None:
    """Only a saga in it is refused, and says which name is taken."""
    assert await run_alone("TakenName", False) == "no saga"
    assert "'decide'" in await run_alone("TakenName", True)


async def test_a_saga_that_is_open_at_the_end_is_cancelled(
    run_alone: Callable[..., Awaitable[Any]], client: MissionClient, sandbox: Witness
) -> None:
    """The workflow fails with the reason, and leaves nothing behind."""
    async with all_approved(client, "table") as cards:
        with pytest.raises(WorkflowFailureError) as failed:
            await run_alone("Unclosed", LEAVING)

    assert "was open" in str(failed.value.cause)
    assert await sandbox.live(saga_of(cards[0])) == []


async def test_a_worker_without_the_plugin_leaves_the_workflow_to_one_that_has_it(
    stack: Stack, client: MissionClient, caplog: pytest.LogCaptureFixture
) -> None:
    """Its workflow tasks fail with a sentence; the workflow, and what it has made, stay."""
    plain = await Client.connect(stack.address)
    queue = f"tables-{uuid4().hex[:6]}"
    async with Worker(plain, task_queue=queue, workflows=[Table]):
        handle = await plain.start_workflow(
            "Table", LEAVING, id=f"table/{uuid4()}", task_queue=queue
        )

        async def has_said_so() -> bool:
            return "plugins=[OrchestratorPlugin(...)]" in caplog.text

        await eventually(has_said_so)
    served = await Client.connect(stack.address, plugins=[_plugin(stack)])
    async with Worker(served, task_queue=queue, workflows=[Table]), all_approved(client, "table"):
        saga, _ = await handle.result()

    assert saga.startswith("table-")


async def test_a_plugin_without_documents_is_refused(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The documents of the demo are nobody's."""
    monkeypatch.delenv("ORCHESTRATOR_SPECS", raising=False)
    client = await Client.connect(stack.address, plugins=[OrchestratorPlugin()])
    with pytest.raises(UsageError, match="ORCHESTRATOR_SPECS"):
        Worker(client, task_queue="trips", workflows=[Table])


async def test_a_deployment_without_a_default_is_refused(stack: Stack) -> None:
    """The workflows of the plugin would have no behavior."""
    client = await Client.connect(stack.address, plugins=[_plugin(stack)])
    version = WorkerDeploymentVersion("trips", "1")
    deployment = WorkerDeploymentConfig(version=version, use_worker_versioning=True)
    with pytest.raises(UsageError, match="default_versioning_behavior"):
        Worker(client, task_queue="trips", workflows=[Table], deployment_config=deployment)


async def test_a_worker_that_serves_sagas_takes_no_plugin(stack: Stack) -> None:
    """Two of each activity would be there."""
    client = await Client.connect(stack.address, plugins=[_plugin(stack)])
    with pytest.raises(UsageError, match="leave one OrchestratorPlugin out"):
        build(client, stack.settings, workflows=[Table])


async def test_a_file_of_one_machine_is_refused_where_another_machine_serves_the_queue(
    stack: Stack,
) -> None:
    """What the other worker has sent would be in its own file."""
    client = await Client.connect(stack.address, identity="7@elsewhere")
    queue = f"tables-{uuid4().hex[:6]}"
    async with Worker(client, task_queue=queue, workflows=[TakenName]):
        busy = asyncio.create_task(_keep_busy(client, queue))
        try:
            await eventually(lambda: _is_polled(client, queue))
            with pytest.raises(UsageError, match="elsewhere"):
                await check_one_machine(await Client.connect(stack.address), queue)
        finally:
            busy.cancel()
    await check_one_machine(client, queue)


async def _keep_busy(client: Client, queue: str) -> None:
    while True:
        await _run(client, queue, "TakenName", False)


async def _is_polled(client: Client, queue: str) -> bool:
    return await absence(client, queue) is None


def _plugin(stack: Stack) -> OrchestratorPlugin:
    return OrchestratorPlugin(settings=stack.settings)


async def _run(client: Client, queue: str, workflow: str, given: Any) -> Any:
    return await client.execute_workflow(
        workflow, given, id=f"{workflow}/{uuid4()}", task_queue=queue
    )
