"""What a step writes to history, and what a long leg carries on: on a real server, over HTTP.

One leg asks a provider once in each step, and every answer has about 20 kB. The longest is planned
once more by a scripted model, which is asked over a real wire. A mission of 2,000 short answers
runs next to a leg that is busy as well and one that waits for a person all the time.
"""

import asyncio
import functools
import json
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import httpx
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHistory

from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.store import Store
from orchestrator.catalog.catalog import Catalog
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.core.limits import Limits
from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.llm.model_planner import LlmPlanner
from orchestrator.planning.models import (
    AgentProfile,
    AskUser,
    CallTool,
    Finish,
    GoalBrief,
    LegPlan,
    MissionPlan,
    StepContext,
    StepDecision,
)
from orchestrator.planning.planner import PlannedStep
from orchestrator.routing.router import Router
from orchestrator.routing.selection import Selection
from orchestrator.runtime.registration import register_search_attributes
from orchestrator.runtime.worker import build
from orchestrator.settings import Settings, bundled_specs
from orchestrator.testing.installation import running_temporal
from orchestrator.testing.model_server import ModelAnswer, ModelServer, ReceivedRequest, call
from tests.benchmarks.figure import Figure
from tests.fakes import MemoryPii, MemorySecrets

_STEPS: Final = (10, 100, 500)
_LONG, _BUSY, _ASKING = "1-long", "2-busy", "3-asking"
_LONG_STEPS: Final = {_LONG: 2_000, _BUSY: 1_000}
_LOOK_S: Final = 2.0
_MODEL: Final = "openai:gpt-5"
_LEG: Final = "1-archive"
_GOAL: Final = "Look through the archive of old invoices, page by page"
_ANSWER: Final = [
    {"invoice": f"INV-{number:05}", "customer": "Harbour Lights", "note": "paid on time " * 60}
    for number in range(24)
]


class Cost(NamedTuple):
    """Of a whole leg: what the server keeps of it, and how long it took."""

    steps: int
    events: int
    size: int
    runs: int
    largest: int
    """Bytes of the largest payload in it."""
    last_step: int
    """Bytes of the messages of its last full step, the median of some."""
    seconds: float


class Reader:
    """A planner that asks for the next page until it has read as many as it should."""

    def __init__(self, pages: int) -> None:
        self._pages = pages

    async def split_goal(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan:
        """One leg."""
        most = self._pages + 1
        agent = AgentProfile(name="reader", limits=Limits(steps=most, tool_calls=most))
        return MissionPlan(legs=(LegPlan(leg_id=_LEG, goal=_GOAL, agent=agent),))

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> StepDecision | PlannedStep:
        """The next page; all that were read before are to be there."""
        read = [seen for seen in context.observations if seen.outcome == "succeeded"]
        if len(read) != context.step - 1 or any(seen.body != _ANSWER for seen in read):
            raise AssertionError(f"step {context.step} is not told of all {context.step - 1} pages")
        if context.step > self._pages:
            return Finish(summary=f"{len(read)} pages were read")
        return CallTool(tool="archive_read_page", arguments={"page": context.step})


class SeveralReaders(Reader):
    """Two legs that read side by side, and one that asks a person."""

    async def split_goal(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan:
        """Three legs."""
        most = self._pages + 1
        limits = Limits(steps=most, tool_calls=most)
        return MissionPlan(
            legs=tuple(
                LegPlan(leg_id=one, goal=_GOAL, agent=AgentProfile(name=one, limits=limits))
                for one in (_LONG, _BUSY, _ASKING)
            )
        )

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> StepDecision | PlannedStep:
        """The next page, or the question."""
        pages = _LONG_STEPS.get(context.leg_id)
        if pages is None:
            if "day" in context.inputs:
                return Finish(summary="answered")
            return AskUser(question="Which day?", fields={"day": {"type": "string"}})
        if len(context.observations) != context.step - 1:
            raise AssertionError(f"step {context.step} does not see all pages before")
        if context.step > pages:
            return Finish(summary=f"{pages} pages were read")
        return CallTool(tool="archive_read_page", arguments={"page": context.step})


class ModelReader(Reader):
    """The same leg, its steps decided by a model."""

    def __init__(self, pages: int, model: LlmPlanner) -> None:
        super().__init__(pages)
        self._model = model

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> PlannedStep:
        """As the product asks a model."""
        return await self._model.plan_step(context, selection, catalog)


def run(steps: tuple[int, ...] = _STEPS) -> list[Figure]:
    """Events and bytes per step, the largest payload and the runs of legs of some lengths."""
    costs = [(f"{size} steps", asyncio.run(measured(size))) for size in steps]
    costs.append((f"{steps[-1]} steps by a model", asyncio.run(measured(steps[-1], by_model=True))))
    costs.append((f"{_LONG_STEPS[_LONG]} steps next to others", asyncio.run(_measured_long())))
    return [figure for name, cost in costs for figure in _figures(name, cost)]


def _figures(name: str, cost: Cost) -> Iterator[Figure]:
    row = (name,)
    yield Figure(name="events a step", value=cost.events / cost.steps, unit="", row=row)
    yield Figure(name="a step", value=cost.size / cost.steps / 1000, unit="kB", row=row)
    yield Figure(name="messages of the last", value=cost.last_step / 1000, unit="kB", row=row)
    yield Figure(name="largest payload", value=cost.largest / 1000, unit="kB", row=row)
    yield Figure(name="runs", value=cost.runs, unit="", row=row)
    yield Figure(name="took", value=cost.seconds, unit="s", row=row)


async def measured(steps: int, *, by_model: bool = False) -> Cost:
    """Run one leg of so many steps."""
    with tempfile.TemporaryDirectory() as name, _provider() as port:
        folder = Path(name)
        async with running_temporal(folder) as temporal, _planner(steps, folder, by_model) as plans:
            began = time.perf_counter()
            await _run(temporal, folder, port, steps, plans)
            seconds = time.perf_counter() - began
            return await _cost(temporal, steps, seconds)


async def _measured_long() -> Cost:
    """Run the mission of three legs; the question is answered when the others have ended."""
    steps = _LONG_STEPS[_LONG]
    with tempfile.TemporaryDirectory() as name, _provider(_ANSWER[:1]) as port:
        async with running_temporal(Path(name)) as temporal:
            began = time.perf_counter()
            await _run(temporal, Path(name), port, steps, SeveralReaders(steps), answer=True)
            return await _cost(temporal, sum(_LONG_STEPS.values()), time.perf_counter() - began)


async def _answered(mission: MissionHandle) -> None:
    """Answer its question once no other leg is under way."""
    while True:
        legs = {leg.leg_id: leg.status for leg in (await mission.snapshot()).legs}
        if legs and all(legs[one] is LegStatus.SUCCEEDED for one in _LONG_STEPS):
            break
        await asyncio.sleep(_LOOK_S)
    (question,) = (await mission.waiting()).questions
    await mission.answer(question.question_id, {"day": "Monday"})


@asynccontextmanager
async def _planner(steps: int, folder: Path, by_model: bool) -> AsyncIterator[Reader]:
    if not by_model:
        yield Reader(steps)
        return

    def script(asked: ReceivedRequest) -> ModelAnswer:
        if asked.number > steps:
            return call("part_done", summary=f"{steps} pages were read")
        return call("archive_read_page", page=asked.number)

    async with ModelServer(script) as server:
        kept = Store(folder).observations
        model = LlmPlanner(default_model=_MODEL, models=server.model, pieces=kept)
        yield ModelReader(steps, model)


async def _run(
    temporal: Client,
    folder: Path,
    port: int,
    steps: int,
    planner: Reader,
    *,
    answer: bool = False,
) -> None:
    documents = Catalog.load(bundled_specs()).documents
    catalog = Catalog.from_documents({**documents, "archive": _document(port)})
    settings = Settings.model_construct(
        specs=(), state_dir=folder, task_queue="bench", allowed_private_hosts=("127.0.0.1",)
    )
    await register_search_attributes(temporal)
    router = functools.cache(lambda made: Router(made).without_deadline())
    async with httpx.AsyncClient(trust_env=False) as http:
        tools = ToolClient(secrets=MemorySecrets(), pii=MemoryPii(), http=http)
        (worker,) = build(
            temporal,
            settings,
            catalog=catalog,
            routers=router,
            planner=planner,
            agents=(),
            tools=tools,
        )
        async with worker:
            client = MissionClient(temporal, settings)
            request = MissionRequest(goal=_GOAL, mission_id="bench", policy=MissionPolicy())
            mission = await client.start(request)
            if answer:
                await _answered(mission)
            result = await mission.result()
    if f"{steps} pages" not in result.summary:
        raise AssertionError(f"the leg did not finish: {result.error}")


async def _cost(temporal: Client, steps: int, seconds: float) -> Cost:
    events = size = runs = largest = 0
    last: list[int] = []
    async for run in temporal.list_workflows("WorkflowId = 'bench'"):
        runs += 1
        handle = temporal.get_workflow_handle("bench", run_id=run.run_id)
        history = await handle.fetch_history()
        events += len(history.events)
        size += sum(event.ByteSize() for event in history.events)
        largest = max([largest, *(len(p) for p in _payloads(history))])
        if run.status is not None and run.status.name == "COMPLETED":
            last = _step_sizes(history)[-5:]
    return Cost(steps, events, size, runs, largest, int(median(last or [0])), seconds)


def _payloads(history: WorkflowHistory) -> Iterator[bytes]:
    for event in history.events:
        attributes = getattr(event, event.WhichOneof("attributes") or "")
        for part in ("input", "result"):
            if hasattr(attributes, part):
                yield from (payload.data for payload in getattr(attributes, part).payloads)


def _step_sizes(history: WorkflowHistory) -> list[int]:
    """Bytes of all events of each step, but for the answer itself."""
    sizes: list[int] = []
    for event in history.events:
        kind = event.event_type
        if kind == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            scheduled = event.activity_task_scheduled_event_attributes
            if scheduled.activity_type.name == names.THINK:
                sizes.append(0)
        if sizes:
            sizes[-1] += event.ByteSize()
    return sizes[:-1]


# -- the provider ---------------------------------------------------------------------------------


class _Pages(BaseHTTPRequestHandler):
    answer = _ANSWER

    def do_GET(self) -> None:
        body = json.dumps(self.answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing is logged."""


@contextmanager
def _provider(answer: Sequence[object] = _ANSWER) -> Iterator[int]:
    handler = type("_Answering", (_Pages,), {"answer": answer})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def _document(port: int) -> dict[str, Any]:
    invoice = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in _ANSWER[0]},
    }
    page = {"name": "page", "in": "query", "required": True, "schema": {"type": "integer"}}
    answer = {"application/json": {"schema": {"type": "array", "items": invoice}}}
    operation = {
        "operationId": "archive_read_page",
        "summary": "Read a page of the archive of old invoices",
        "description": "Use this to look through old invoices. Returns the invoices of one page.",
        "x-orchet-tool": True,
        "parameters": [page],
        "responses": {"200": {"description": "The invoices.", "content": answer}},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Archive", "version": "1"},
        "servers": [{"url": f"http://127.0.0.1:{port}"}],
        "paths": {"/pages": {"get": operation}},
    }
