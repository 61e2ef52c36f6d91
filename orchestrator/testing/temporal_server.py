"""Temporal's dev server as a child process: in memory, on a free port, without its Web UI."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from temporalio.client import Client
from temporalio.runtime import LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter

from orchestrator.adapters.storage.files import PRIVATE_UMASK, private_file
from orchestrator.adapters.temporal.mission_converter import mission_converter
from orchestrator.core.errors import ServiceUnavailable
from orchestrator.messages import names
from orchestrator.runtime.devserver import Ports, end_process, temporal_binary

_START_S = 40.0


@asynccontextmanager
async def running_temporal(folder: Path) -> AsyncIterator[Client]:
    """Start a server with the product's search attributes and yield a client of it.

    Args:
        folder: for the server's log, temporal.log.
    """
    port = Ports.free().temporal
    with private_file(folder / "temporal.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            temporal_binary(),
            *("server", "start-dev", "--headless", "--ip=127.0.0.1", f"--port={port}"),
            "--log-level=error",
            *(f"--search-attribute={n}={kind}" for n, kind in names.SEARCH_ATTRIBUTES.items()),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            umask=PRIVATE_UMASK,
        )
    try:
        yield await _connected(f"127.0.0.1:{port}", process)
    finally:
        await end_process(process)


async def _connected(address: str, process: asyncio.subprocess.Process) -> Client:
    runtime = Runtime(telemetry=_quiet())
    deadline = asyncio.get_running_loop().time() + _START_S
    while True:
        try:
            client = await Client.connect(
                address, data_converter=mission_converter(), runtime=runtime
            )
            await client.count_workflows("WorkflowType = 'none'")
        except (RuntimeError, OSError) as error:
            is_late = asyncio.get_running_loop().time() > deadline
            if is_late or process.returncode is not None:
                raise ServiceUnavailable("the Temporal server did not start") from error
            await asyncio.sleep(0.05)
        else:
            return client


def _quiet() -> TelemetryConfig:
    """Log errors only, as planned faults make the SDK's core warn endlessly."""
    level = TelemetryFilter(core_level="ERROR", other_level="ERROR")
    return TelemetryConfig(logging=LoggingConfig(filter=level))
