"""A worker whose planner kills it: `python -m tests.chaos.deadly_worker --ready-file F`.

Each death is noted as a line of the file `deaths` in the state directory: where the step was
thought. It ends when the file `mended` is there.
"""

import argparse
import asyncio
import os
from pathlib import Path
from typing import Any

from temporalio import activity

from orchestrator.chaos.process_pool import keep_alive
from orchestrator.client.connection import connect_temporal
from orchestrator.planning.rules.chaining import ChainingPlanner
from orchestrator.runtime.worker import run_worker
from orchestrator.settings import load_settings

_plan_step = ChainingPlanner.plan_step


async def _deadly(planner: ChainingPlanner, *given: Any) -> Any:
    folder = load_settings().state_dir
    if not (folder / "mended").exists():
        with (folder / "deaths").open("a") as deaths:
            deaths.write("task\n" if activity.info().is_local else "activity\n")
        os._exit(1)
    return await _plan_step(planner, *given)


def main() -> None:
    """Keep the worker alive until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.deadly_worker")
    parser.add_argument("--ready-file", type=Path, required=True)
    given = parser.parse_args()
    ChainingPlanner.plan_step = _deadly  # type: ignore[method-assign, assignment]
    keep_alive(lambda _: asyncio.run(_serve(given.ready_file)), ["worker"], started=lambda: None)


async def _serve(ready: Path) -> None:
    settings = load_settings()
    await run_worker(await connect_temporal(settings=settings), settings, ready=ready.touch)


if __name__ == "__main__":
    main()
