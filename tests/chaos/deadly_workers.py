"""Workers that die on purpose: `python -m tests.chaos.deadly_workers KIND --ready-file F`.

`thinking` dies at each planner step, and notes in the file `deaths` of its state directory where
the step ran; it ends when the file `fixed` is there. `filing` dies once while it stores a file:
`before`, `within` or `after` it, as the variable `DIES` says; the file `died` notes it. Both are
replaced at once.
"""

import argparse
import asyncio
import os
import signal
import threading
from pathlib import Path
from typing import Any

from temporalio import activity

from orchestrator.adapters.storage.sql_observations import MissionFiles
from orchestrator.chaos.child_pool import keep_alive
from orchestrator.client.connection import connect_temporal
from orchestrator.planning.rules.rule_planner import RulePlanner
from orchestrator.runtime.worker import run_worker
from orchestrator.settings import load_settings

_WITHIN_S = 0.02
"""Time after which a large file is still being written."""
_plan_step = RulePlanner.plan_step
_keep = MissionFiles.keep


async def _deadly_step(planner: RulePlanner, *given: Any) -> Any:
    folder = load_settings().state_dir
    if not (folder / "fixed").exists():
        with (folder / "deaths").open("a") as deaths:
            deaths.write("task\n" if activity.info().is_local else "activity\n")
        os._exit(1)
    return await _plan_step(planner, *given)


def _deadly_keep(files: MissionFiles, *given: Any, **more: Any) -> Any:
    note = load_settings().state_dir / "died"
    if note.exists():
        return _keep(files, *given, **more)
    note.write_text(os.environ["DIES"])
    if os.environ["DIES"] == "before":
        _die()
    if os.environ["DIES"] == "within":
        threading.Timer(_WITHIN_S, _die).start()
    kept = _keep(files, *given, **more)
    _die()
    return kept


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def _serve(ready: Path) -> None:
    settings = load_settings()
    await run_worker(await connect_temporal(settings=settings), settings, ready=ready.touch)


def main() -> None:
    """Keep the worker alive until SIGTERM; it touches the ready file each time it polls."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.deadly_workers")
    parser.add_argument("kind", choices=["thinking", "filing"])
    parser.add_argument("--ready-file", type=Path, required=True)
    given = parser.parse_args()
    if given.kind == "thinking":
        RulePlanner.plan_step = _deadly_step  # type: ignore[method-assign, assignment]
    else:
        MissionFiles.keep = _deadly_keep  # type: ignore[method-assign, assignment]
    ready: Path = given.ready_file
    keep_alive(lambda _: asyncio.run(_serve(ready)), ["worker"], started=lambda: None)


if __name__ == "__main__":
    main()
