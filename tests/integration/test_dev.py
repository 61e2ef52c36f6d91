"""`orchestrator dev` over documents of a stranger: the sandbox stands in for every server."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from orchestrator.adapters.storage.store import Store
from orchestrator.adapters.temporal.payload_keys import new_payload_key
from orchestrator.client.connection import connect_temporal
from orchestrator.client.mission_client import MissionClient
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.runtime.demo import day_in
from orchestrator.runtime.devserver import Ports, ourselves, temporal_binary
from orchestrator.sandbox import SandboxClient
from orchestrator.settings import Settings
from orchestrator.testing import eventually, run_to_end
from tests.commands import run_apart

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
FOREIGN = Path(__file__).parents[1] / "documents" / "foreign"
GOAL = "Book a visit to the customer Northwind"


@dataclass
class RealHost:
    """A provider's own server, which nothing of `dev` may ever reach."""

    port: int = 0
    visits: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Note the visit."""
        self.visits.append((await reader.readline()).decode())
        writer.close()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"


@dataclass(frozen=True)
class Dev:
    """A running `orchestrator dev`, and the shell that has read its env.sh."""

    ports: Ports
    environment: dict[str, str]
    folder: Path
    originals: Path


def _environment() -> dict[str, str]:
    foreign = ("ORCHESTRATOR_", "TEMPORAL_")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}


def _documents(folder: Path, real: RealHost) -> None:
    """A CRM and a library whose servers of each kind are the real host's."""
    crm: dict[str, Any] = yaml.safe_load((EXAMPLES / "crm.yaml").read_text())
    servers = [{"url": f"{real.url}/api"}]
    crm["servers"] = servers
    crm["paths"]["/visits"]["servers"] = servers
    crm["paths"]["/customers"]["get"]["servers"] = servers
    (folder / "crm.yaml").write_text(yaml.safe_dump(crm, sort_keys=False))
    shutil.copy(EXAMPLES / "crm-overlay.yaml", folder / "crm-overlay.yaml")
    library: dict[str, Any] = yaml.safe_load((FOREIGN / "library.yaml").read_text())
    library["servers"] = servers
    (folder / "library.yaml").write_text(yaml.safe_dump(library, sort_keys=False))


async def _sourced(exports: Path) -> dict[str, str]:
    """The environment of a shell that has read the file."""
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", f". {exports} && env -0"),
        env={**_environment(), "ORCHESTRATOR_PROXY": "http://127.0.0.1:9"},
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await process.communicate()
    return dict(line.split("=", 1) for line in printed.decode().split("\0") if "=" in line)


@pytest.fixture(scope="module")
async def real() -> AsyncIterator[RealHost]:
    host = RealHost()
    server = await asyncio.start_server(host.serve, "127.0.0.1", 0)
    host.port = server.sockets[0].getsockname()[1]
    async with server:
        yield host


@pytest.fixture(scope="module")
async def dev(tmp_path_factory: pytest.TempPathFactory, real: RealHost) -> AsyncIterator[Dev]:
    """An installation of its own: the command itself is what is tried here."""
    folder = tmp_path_factory.mktemp("dev")
    originals = tmp_path_factory.mktemp("documents")
    _documents(originals, real)
    Store(folder).vault.put("contact_phone", "+4930555019283")
    keys = originals / "payload.keys"
    keys.write_text(f"k1:{new_payload_key()}\n")
    ports = replace(Ports.free(has_inbox=True), codec=Ports.free().sandbox)
    process = await asyncio.create_subprocess_exec(
        *(*ourselves(), "dev", f"--folder={folder}"),
        *(f"--temporal-port={ports.temporal}", f"--ui-port={ports.ui}"),
        *(f"--sandbox-port={ports.sandbox}", f"--codec-port={ports.codec}"),
        f"--inbox-port={ports.inbox}",
        *(f"--specs={originals / 'crm.yaml'}", f"--specs={originals / 'library.yaml'}"),
        # Of the environment; the one that is for another document is left out, and said.
        env={
            **_environment(),
            "ORCHESTRATOR_OVERLAYS": os.pathsep.join(
                [str(originals / "crm-overlay.yaml"), str(originals / "other.yaml")]
            ),
            "ORCHESTRATOR_SECRET_CRM__CRM_KEY": "sandbox",
            "ORCHESTRATOR_PROXY": "http://127.0.0.1:9",
            "ORCHESTRATOR_PAYLOAD_KEYS_FILE": str(keys),
            "COLUMNS": "200",
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    other = {
        "overlay": "1.0.0",
        "info": {"title": "Other", "version": "1"},
        "extends": "erp.yaml",
        "actions": [{"target": "$", "update": {"x-other": True}}],
    }
    (originals / "other.yaml").write_text(yaml.safe_dump(other))
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        async with asyncio.timeout(60):
            first = await process.stdout.readline()
        if f"inbox, API    http://127.0.0.1:{ports.inbox}\n" != first.decode():
            raise AssertionError((await process.stderr.read()).decode())
        shell = await _sourced(folder / "env.sh")
        yield Dev(ports, shell, folder, originals)
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = await process.communicate()
        assert re.search(r"other\.yaml of ORCHESTRATOR_OVERLAYS is left out", errors.decode())


async def test_a_mission_over_foreign_documents_reaches_the_sandbox_alone(
    dev: Dev, real: RealHost
) -> None:
    """Searched, asked which one and booked at the sandbox, whatever servers a document names."""
    settings = Settings(state_dir=dev.folder, payload_keys_file=dev.originals / "payload.keys")
    temporal = await connect_temporal(f"127.0.0.1:{dev.ports.temporal}", settings)
    client = MissionClient(temporal, settings)
    request = MissionRequest(goal=GOAL, inputs={"starts_at": f"{day_in(90)}T09:00:00Z"})
    mission = await client.start(request)
    (question,) = await eventually(mission.questions)
    (name,) = question.fields
    await mission.answer(question.question_id, {name: "1"})
    result = await run_to_end(mission)
    async with SandboxClient(f"http://127.0.0.1:{dev.ports.sandbox}") as sandbox:
        requests = await sandbox.requests(mission.mission_id)

    assert result.status is MissionStatus.SUCCEEDED, result.error
    called = [request["operation"] for request in requests]
    assert called == ["crm_find_customers", "crm_book_visit"]
    assert real.visits == []


async def test_what_the_shell_calls_reaches_the_sandbox_alone(dev: Dev, real: RealHost) -> None:
    """A read goes there; over the documents as they were it is refused; the proxy is unset."""
    command = ("tools", "call", "crm_find_customers", "--input", "q=Northwind", "--json")
    key = {"ORCHESTRATOR_SECRET_CRM__CRM_KEY": "sandbox"}
    here, there = await asyncio.gather(
        run_apart(*command, environment={**dev.environment, **key}),
        run_apart(
            *command,
            *("--specs", str(dev.originals / "crm.yaml")),
            *("--overlay", str(dev.originals / "crm-overlay.yaml")),
            environment={**dev.environment, **key},
        ),
    )

    assert here.exit_code == 0, here.stderr
    assert "customers" in here.json["body"]
    assert there.exit_code == 1
    assert "none of ORCHESTRATOR_ONLY_HOSTS" in there.stderr
    assert real.visits == []


async def test_the_inbox_lists_missions_without_sign_in_and_comes_back(dev: Dev) -> None:
    """It reads what is encrypted; killed, it is started again; no variable of a shell changes."""
    started = await run_apart(
        *("mission", "start", "Which tenants pay?", "--id", "inbox", "--json"),
        environment=dev.environment,
    )
    async with httpx.AsyncClient(
        trust_env=False, base_url=f"http://127.0.0.1:{dev.ports.inbox}"
    ) as http:
        listed = (await http.get("/api/v1/missions")).json()
        ready = await http.get("/readyz")
        measured = (await http.get("/metrics")).text
        os.kill(_listener(dev.ports.inbox), signal.SIGKILL)

        async def is_back() -> bool:
            try:
                return (await http.get("/healthz")).is_success
            except httpx.TransportError:
                return False

        back = await eventually(is_back, timeout_s=30)

    assert started.exit_code == 0, started.stderr
    assert "Which tenants pay?" in json.dumps(listed)
    assert back
    assert ready.json() == {"ready": True, "why_not": None}
    assert 'http_route="/api/v1/missions"' in measured
    assert not {name for name, value in dev.environment.items() if str(dev.ports.inbox) in value}


def _listener(port: int | None) -> int:
    """The process that serves the inbox of this port."""
    for commandline in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if f"--listen=127.0.0.1:{port}".encode() in commandline.read_bytes().split(b"\0"):
                return int(commandline.parent.name)
    raise AssertionError(f"nothing serves port {port}")


async def test_what_is_encrypted_is_shown_by_the_codec_server(dev: Dev) -> None:
    """The server's UI is pointed at it; whoever has read env.sh reads a history as it was meant."""
    goal = "Which tenants pay?"
    started = await run_apart(
        *("mission", "start", goal, "--id", "tenants", "--json"), environment=dev.environment
    )
    shown = [temporal_binary(), "workflow", "show", "--workflow-id=tenants", "--output=json"]
    blind = {k: v for k, v in dev.environment.items() if not k.startswith("TEMPORAL_CODEC_")}
    read, unread = [await _printed(shown, env) for env in (dev.environment, blind)]
    async with httpx.AsyncClient(trust_env=False) as http:
        ui = (await http.get(f"http://127.0.0.1:{dev.ports.ui}/api/v1/settings")).json()
        codec = f"http://127.0.0.1:{dev.ports.codec}"
        unproved = await http.post(f"{codec}/decode", json={"payloads": []})

    assert started.exit_code == 0, started.stderr
    summary = base64.b64encode(json.dumps(goal).encode()).decode()  # as the command prints payloads
    assert (summary in read, summary in unread) == (True, False)
    assert ui["Codec"]["Endpoint"] == codec
    assert unproved.status_code == 401


async def _printed(command: list[str], environment: dict[str, str]) -> str:
    """What a command prints on standard output."""
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=asyncio.subprocess.PIPE
    )
    return (await process.communicate())[0].decode()


async def test_documents_that_cannot_be_stood_in_for_are_named(tmp_path: Path) -> None:
    """The command does not start, and says which document it is."""
    broken = tmp_path / "hollow.yaml"
    broken.write_text("openapi: 3.1.0\ninfo: {title: Hollow, version: '1'}\nwebhooks: {}\n")
    ports = Ports.free(has_inbox=True)
    ran = await run_apart(
        *("dev", f"--folder={tmp_path}", f"--specs={broken}"),
        *(f"--temporal-port={ports.temporal}", f"--ui-port={ports.ui}"),
        *(f"--sandbox-port={ports.sandbox}", f"--inbox-port={ports.inbox}"),
        environment=_environment(),
    )

    assert ran.exit_code == 2
    assert "hollow" in ran.stderr.splitlines()[-1]
