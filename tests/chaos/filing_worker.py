"""A worker that dies as it keeps a file: `python -m tests.chaos.filing_worker --ready-file F`.

`DIES` says when: `before`, `within` or `after` it is kept. It dies once, which the file `died` in
its state directory notes, and is there again at once.
"""

import argparse
import asyncio
import os
import signal
import threading
from pathlib import Path
from typing import Any

from orchestrator.adapters.storage.mission_files import MissionFiles
from orchestrator.chaos.process_pool import keep_alive
from orchestrator.client.connection import connect_temporal
from orchestrator.runtime.worker import run_worker
from orchestrator.settings import load_settings

_WITHIN_S = 0.02
"""After which a large file is being written still."""
_keep = MissionFiles.keep


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _deadly(files: MissionFiles, *given: Any, **more: Any) -> Any:
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


def main() -> None:
    """Keep the worker alive until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.filing_worker")
    parser.add_argument("--ready-file", type=Path, required=True)
    given = parser.parse_args()
    MissionFiles.keep = _deadly  # type: ignore[method-assign, assignment]
    keep_alive(lambda _: asyncio.run(_serve(given.ready_file)), ["worker"], started=lambda: None)


async def _serve(ready: Path) -> None:
    settings = load_settings()
    await run_worker(await connect_temporal(settings=settings), settings, ready=ready.touch)


if __name__ == "__main__":
    main()
