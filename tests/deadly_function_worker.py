"""A worker whose function dies once after its effect: `-m tests.deadly_function_worker`.

The file `died` in the state directory notes that it has.
"""

import argparse
import asyncio
import os
import signal
from pathlib import Path

from temporalio.client import Client
from temporalio.envconfig import ClientConfig
from temporalio.worker import Worker

from orchestrator.settings import load_settings
from orchestrator.temporal import OrchestratorPlugin
from tests.guarded_examples import example

theatre = example("theatre")
_write = theatre._write


def _deadly_write(booked: dict[str, str]) -> None:
    _write(booked)
    died = load_settings().state_dir / "died"
    if not died.exists():
        died.touch()
        os.kill(os.getpid(), signal.SIGKILL)


async def _serve(ready: Path) -> None:
    plugin = OrchestratorPlugin(functions=[theatre.book_seat])
    client = await Client.connect(**ClientConfig.load_client_connect_config(), plugins=[plugin])
    evening = example("evening_workflow").Evening
    async with Worker(client, task_queue="deadly", workflows=[evening]):
        ready.touch()  # noqa: ASYNC240  # before anything waits for it
        await asyncio.Event().wait()


if __name__ == "__main__":
    vars(theatre)["_write"] = _deadly_write
    parser = argparse.ArgumentParser()
    parser.add_argument("--ready-file", type=Path, required=True)
    asyncio.run(_serve(parser.parse_args().ready_file))
