"""Workers that die while they store a file, on machines with own folders and one PostgreSQL.

The provider's records are the witness.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
import yaml
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from orchestrator.adapters.storage.sql_vault import new_key
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.testing import run_to_end

LABELS = Path(__file__).parents[1] / "documents" / "labels.yaml"
GOAL = "Create a shipping label to 'Lisbon' and open a ticket 'torn label' with the label"
LARGE = 20_000_000
MACHINES = ("here", "there")


class Desk:
    """A print shop and its help desk: labels are files of 20 MB, tickets carry them."""

    def __init__(self) -> None:
        self.content = b"%PDF-1.7\n" + os.urandom(LARGE)
        self.asked: Counter[str] = Counter()
        self.standing: dict[str, dict[str, Any]] = {}
        self.sent: list[str] = []
        self.takes_tickets = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        what = scope["path"].split("/")[2]
        if request.method == "GET":
            self.asked["downloads"] += 1
            answer = Response(self.content, media_type="application/pdf")
        else:
            self.asked[what] += 1
            answer = await getattr(self, f"_{what}")(request)
        await answer(scope, receive, send)

    async def _labels(self, request: Request) -> Response:
        return self._made("label_id", f"L-{len(self.standing) + 1:06}", request)

    async def _tickets(self, request: Request) -> Response:
        if not self.takes_tickets:
            return JSONResponse({"title": "closed"}, 422)
        async with request.form(max_part_size=2 * LARGE) as form:
            document: Any = form["document"]
            self.sent.append(hashlib.sha256(await document.read()).hexdigest())
        return self._made("ticket_id", f"T-{len(self.standing) + 1:06}", request)

    def _made(self, name: str, number: str, request: Request) -> Response:
        key = request.headers["idempotency-key"]
        return JSONResponse(self.standing.setdefault(key, {name: number}), 201)

    async def _voids(self, request: Request) -> Response:
        return await self._cancelled("label_id", request)

    async def _withdrawals(self, request: Request) -> Response:
        return await self._cancelled("ticket_id", request)

    async def _cancelled(self, name: str, request: Request) -> Response:
        number = json.loads(await request.body())[name]
        for key, made in list(self.standing.items()):
            if made.get(name) == number:
                del self.standing[key]
                return JSONResponse({name: number, "status": "cancelled"})
        return JSONResponse({"title": "no such thing"}, 409)


class _Server(uvicorn.Server):
    """Leaves the signals of the test process alone."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def _serving(desk: Desk) -> AsyncIterator[int]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = _Server(uvicorn.Config(desk, log_level="critical", lifespan="off"))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            await serving


def _documents(folder: Path, port: int) -> Path:
    """The desk's document, turned to where it is, for files of its size."""
    document = yaml.safe_load(LABELS.read_text(encoding="utf-8"))
    document["servers"] = [{"url": f"http://127.0.0.1:{port}/labels"}]
    posted = document["paths"]["/tickets"]["post"]["requestBody"]["content"]
    sent = posted["multipart/form-data"]["schema"]["properties"]["document"]
    sent["maxLength"] = 2 * LARGE
    folder.mkdir(parents=True)
    (folder / "labels.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    return folder


@asynccontextmanager
async def _machines(folder: Path, port: int, store: str, dies: str) -> AsyncIterator[Stack]:
    """Two workers with folders of their own, each of which dies once as it keeps a file."""
    variables = {
        "ORCHESTRATOR_STORE": store,
        "ORCHESTRATOR_PII_KEY": new_key(),
        "ORCHESTRATOR_ONLY_HOSTS": f"127.0.0.1:{port}",
        "ORCHESTRATOR_MAX_FILE_BYTES": str(2 * LARGE),
        "ORCHESTRATOR_SWEEP_INTERVAL": "PT5S",
        "DIES": dies,
    }
    specs = _documents(folder / "documents", port)
    async with Stack(folder, (specs,), Ports.free(), variables=variables) as stack:
        await stack.kill("worker", gently=True)
        for machine in MACHINES:
            own = folder / machine
            own.mkdir()
            await stack.start_worker(
                machine,
                command=[sys.executable, "-m", "tests.chaos.deadly_workers", "filing"],
                variables={"ORCHESTRATOR_STATE_DIR": str(own)},
            )
        yield stack


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("dies", ["before", "within", "after"])
async def test_a_file_is_kept_whole_whenever_its_worker_dies(
    dies: str, postgres_url: str, tmp_path: Path
) -> None:
    """It is fetched again, sent on whole, once, and what carries it is taken back as all else."""
    desk = Desk()
    async with (
        _serving(desk) as port,
        _machines(tmp_path / "site", port, postgres_url, dies) as stack,
    ):
        client = await stack.client()
        sent = await run_to_end(await client.start(MissionRequest(goal=GOAL)), timeout_s=120)
        assert sent.status is MissionStatus.SUCCEEDED, sent.error
        assert any((stack.folder / machine / "died").exists() for machine in MACHINES)
        assert desk.sent == [hashlib.sha256(desk.content).hexdigest()]
        assert desk.asked["downloads"] >= 2
        assert len(desk.standing) == 2

        desk.takes_tickets = False
        lost = await run_to_end(await client.start(MissionRequest(goal=GOAL)), timeout_s=120)
        assert lost.status is MissionStatus.ROLLED_BACK, lost.error
        assert len(desk.standing) == 2

        report = await client.rollback(sent.mission_id, reason="not wanted", approver="ann")
        assert not report.parked
        assert not desk.standing
        assert (desk.asked["voids"], desk.asked["withdrawals"]) == (2, 1)
