"""A worker of one's own that serves the trip: `python worker.py`."""

import argparse
import asyncio
from collections.abc import Callable
from pathlib import Path

from temporalio.client import Client
from temporalio.envconfig import ClientConfig
from temporalio.worker import Worker
from trip_workflow import Trip

from orchestrator.temporal import OrchestratorPlugin


async def serve(ready: Callable[[], None]) -> None:
    """Serve until the process ends; ORCHESTRATOR_SPECS names the documents."""
    client = await Client.connect(
        **ClientConfig.load_client_connect_config(), plugins=[OrchestratorPlugin()]
    )
    async with Worker(client, task_queue="trips", workflows=[Trip]):
        ready()
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ready-file", type=Path, default=Path("worker.ready"))
    asyncio.run(serve(parser.parse_args().ready_file.touch))
