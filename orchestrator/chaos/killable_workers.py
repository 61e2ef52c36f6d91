"""`python -m orchestrator.chaos.killable_workers`: workers that die at given points.

The process that is started imports everything and serves nothing. The workers are its children, one
for each task queue, made by `fork`: one that was killed is replaced at once.
"""

import argparse
import asyncio
from collections.abc import Mapping
from pathlib import Path

from orchestrator.catalog.catalog import Catalog
from orchestrator.chaos.kill_points import KillPoints, self_kill
from orchestrator.chaos.process_pool import keep_alive
from orchestrator.chaos.scenarios.points import KILL_POINTS, KillPoint
from orchestrator.client.connection import connect_temporal
from orchestrator.runtime.worker import run_worker
from orchestrator.settings import Settings, load_settings


def main() -> None:
    """Keep a worker alive on each task queue until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m orchestrator.chaos.killable_workers")
    parser.add_argument("--points", type=Path, required=True, help="what KILL_POINTS reads")
    parser.add_argument("--task-queue", action="append", required=True, dest="queues")
    parser.add_argument("--ready-file", type=Path, required=True, help="made when all have begun")
    given = parser.parse_args()
    settings = load_settings()
    catalog = Catalog.load(*settings.specs, overlays=settings.overlays)
    points = KILL_POINTS.validate_json(given.points.read_bytes())
    struck = given.points.with_suffix(".struck")
    struck.mkdir(exist_ok=True)

    def serve(queue: str) -> None:
        theirs = settings.model_copy(update={"task_queue": queue})
        asyncio.run(_serve(theirs, catalog, points, struck))

    keep_alive(serve, given.queues, started=given.ready_file.touch)


async def _serve(
    settings: Settings, catalog: Catalog, points: Mapping[str, KillPoint], struck: Path
) -> None:
    await run_worker(
        await connect_temporal(settings=settings),
        settings,
        ready=lambda: None,
        catalog=catalog,
        plugins=[self_kill(KillPoints(points, struck))],
    )


if __name__ == "__main__":
    main()
