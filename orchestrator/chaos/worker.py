"""`python -m orchestrator.chaos.worker`: workers that die at given points, replaced at once.

The process that is started imports everything and serves nothing. The workers are its children, one
for each task queue, made by `fork`: when one has been killed, the next polls milliseconds later.
"""

import argparse
import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType

from orchestrator.catalog.catalog import Catalog
from orchestrator.chaos.points import KILL_POINTS, KillPoint
from orchestrator.chaos.selfkill import KillPoints, self_kill
from orchestrator.connection import connect_temporal
from orchestrator.settings import Settings, load_settings
from orchestrator.worker import run_worker


def main() -> None:
    """Keep a worker alive on each task queue until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m orchestrator.chaos.worker")
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

    Nursery(serve).run(given.queues, started=given.ready_file.touch)


class Nursery:
    """Keeps a child alive for each name, until it is asked to stop."""

    def __init__(self, serve: Callable[[str], None]) -> None:
        """Take what a child does with its name."""
        self._serve = serve
        self._children: dict[int, str] = {}
        self._stopping = False

    def run(self, names: list[str], *, started: Callable[[], object]) -> None:
        """Have all children, and another for each that is killed; returns when all have stopped."""
        signal.signal(signal.SIGTERM, self._stop)
        for name in names:
            self._bear(name)
        started()
        while self._children:
            pid, status = os.wait()
            name = self._children.pop(pid)
            killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
            if killed and not self._stopping:
                self._bear(name)

    def _bear(self, name: str) -> None:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._serve(name)
            os._exit(0)
        self._children[child] = name

    def _stop(self, signum: int, _: FrameType | None) -> None:
        self._stopping = True
        for child in self._children:
            os.kill(child, signum)


async def _serve(
    settings: Settings, catalog: Catalog, points: Mapping[str, KillPoint], struck: Path
) -> None:
    await run_worker(
        await connect_temporal(),
        settings,
        ready=lambda: None,
        catalog=catalog,
        plugins=[self_kill(KillPoints(points, struck))],
    )


if __name__ == "__main__":
    main()
