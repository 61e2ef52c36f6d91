"""What the workers that die on purpose share: how they are served again and again."""

import argparse
import asyncio
from pathlib import Path

from orchestrator.chaos.process_pool import keep_alive
from orchestrator.client.connection import connect_temporal
from orchestrator.runtime.worker import run_worker
from orchestrator.settings import load_settings


def serve_kept_alive(prog: str) -> None:
    """Keep a worker alive until SIGTERM; it touches the file of `--ready-file` each time it polls.

    Args:
        prog: the command, for its help.
    """
    parser = argparse.ArgumentParser(prog=prog)
    parser.add_argument("--ready-file", type=Path, required=True)
    ready: Path = parser.parse_args().ready_file
    keep_alive(lambda _: asyncio.run(_serve(ready)), ["worker"], started=lambda: None)


async def _serve(ready: Path) -> None:
    settings = load_settings()
    await run_worker(await connect_temporal(settings=settings), settings, ready=ready.touch)
