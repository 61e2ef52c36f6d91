"""A whole mission against a provider that repeats all it is sent: what planners and traces see."""

import json
import logging
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from orchestrator.activities.tool_activities import ToolActivities
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.store import Store
from orchestrator.adapters.telemetry.instruments import Telemetry
from orchestrator.catalog.catalog import Catalog
from orchestrator.client.mission_client import MissionClient
from orchestrator.core.record import build_records
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.planning.models import CallTool
from orchestrator.settings import Settings
from orchestrator.testing import run_to_end
from orchestrator.workflows import ALL_WORKFLOWS
from tests.fakes import MemoryGrants, MemoryPii, MemorySecrets, fake_leg
from tests.world import FakeWorld

QUEUE = "privacy-spans"
PERSON = {"traveler_id": "T-Planted-90417", "birth_year": "198417"}
SECRETS = {
    "shop__bearer": "planted-bearer-7f3a90",
    "shop__basic": "planted-user:planted-password-b81e44",
    "shop__key_query": "planted key&55310",
}
DERIVED = (
    "planted-password-b81e44",
    b64encode(SECRETS["shop__basic"].encode()).decode(),
    quote(SECRETS["shop__key_query"], safe=""),
)
"""The forms in which they travel."""
CALLS = (
    CallTool(tool="secured_bearer"),
    CallTool(tool="secured_basic"),
    CallTool(tool="secured_key_query"),
    CallTool(
        tool="booking_create",
        arguments={
            "offer_id": "o1",
            "traveler_id": "pii:traveler_id",
            "birth_year": "pii:birth_year",
            "note": "for pii:traveler_id",
        },
    ),
)


class Parrot:
    """Repeats whatever it is sent: in bodies, in headers, in refusals."""

    def __init__(self, provider: Any) -> None:
        self._provider = provider

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        seen = self._provider.seen[-1]
        heard = [seen.target, seen.body.decode(), *seen.headers.values()]
        is_booking = "/bookings" in seen.target
        sent = json.loads(seen.body) if is_booking else {}
        body = {
            "booking_id": f"B-{sent.get('traveler_id')}-1",
            "detail": " | ".join(heard),
            "heard": heard,
            "sent": sent,
        }
        location = {"Location": f"/bookings/{sent.get('traveler_id')}"}
        status = 201 if is_booking else 404
        await JSONResponse(body, status, location)(scope, receive, send)


class Traced:
    """A tool client's telemetry, and all of it as text."""

    def __init__(self) -> None:
        self.spans, self._metrics = InMemorySpanExporter(), InMemoryMetricReader()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self.spans))
        meters = MeterProvider([self._metrics])
        self.telemetry = Telemetry.on(tracers.get_tracer("t"), meters.get_meter("t"))

    def text(self) -> str:
        spans = [span.to_json() for span in self.spans.get_finished_spans()]
        return "\n".join([*spans, str(self._metrics.get_metrics_data())])


@pytest.fixture
def traced() -> Iterator[Traced]:
    yield Traced()


def leaks(values: Iterable[str], text: str) -> list[str]:
    """The values that a text holds, in whatever case."""
    return [value for value in values if value.lower() in text.lower()]


async def test_planners_and_traces_see_handles_while_the_provider_gets_values(
    workflow_env: WorkflowEnvironment,
    shop: Catalog,
    provider: Any,
    traced: Traced,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Step contexts, spans, metrics, logs, histories and the result hold nothing of a person."""
    provider.answer = Parrot(provider)
    planted = [*PERSON.values(), *SECRETS.values(), *DERIVED]
    store = Store(tmp_path).catalogs
    store.put(shop)
    vault = MemoryPii(PERSON)
    wire = ToolClient(
        secrets=MemorySecrets(SECRETS),
        pii=vault,
        server_variables={"shop": {"port": str(provider.port)}},
        allowed_private_hosts=["127.0.0.1"],
        telemetry=traced.telemetry,
    )
    world = FakeWorld(workflow_env.client, shop, pii=vault)
    world.plan(fake_leg("trip"))
    world.decide("trip", *CALLS)
    for call in CALLS:
        tools = ToolActivities(store, wire, MemoryGrants())
        world.answer(call.tool, tools.invoke_tool)
    client = MissionClient(workflow_env.client, Settings(task_queue=QUEUE, state_dir=tmp_path))

    with caplog.at_level(logging.DEBUG):
        async with wire, _worker(workflow_env, world):
            mission = await client.start(MissionRequest(goal="book it", mission_id=QUEUE))
            result = await run_to_end(mission)
            history = await _history(workflow_env, mission.mission_id)
    contexts = [context.model_dump_json() for context in world.contexts("trip")]
    arrived = "\n".join(
        f"{seen.target}\n{seen.headers}\n{seen.body.decode()}" for seen in provider.seen
    )

    # The provider was told everything, and said it all again where a planner reads it.
    assert result.status is MissionStatus.SUCCEEDED
    assert len(provider.seen) == len(CALLS)
    assert leaks(PERSON.values(), arrived) == list(PERSON.values())
    assert "Bearer planted-bearer-7f3a90" in arrived
    assert leaks(DERIVED[1:], arrived) == list(DERIVED[1:])
    assert len(contexts) == len(CALLS) + 1
    assert re.search(r"B-pii:traveler_id@\w+-1", contexts[-1])
    assert "[secret shop__bearer]" in contexts[-1]
    assert "[secret shop__basic]" in contexts[-1]
    assert len(traced.spans.get_finished_spans()) == len(CALLS)
    assert "booking_create" in traced.text()
    assert "pii:traveler_id" in history
    # And nobody else holds any of it.
    for text in (*contexts, traced.text(), caplog.text, result.model_dump_json(), history):
        assert leaks(planted, text) == []


def _worker(env: WorkflowEnvironment, world: FakeWorld) -> Worker:
    build_records()  # as a worker of the product does before it polls
    return Worker(
        env.client, task_queue=QUEUE, workflows=ALL_WORKFLOWS, activities=world.activities()
    )


async def _history(env: WorkflowEnvironment, mission_id: str) -> str:
    history = await env.client.get_workflow_handle(mission_id).fetch_history()
    events = [event.SerializeToString() for event in history.events]
    return b"".join(events).decode(errors="replace")
