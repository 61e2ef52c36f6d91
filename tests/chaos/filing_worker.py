"""A worker that dies as it keeps a file: `python -m tests.chaos.filing_worker --ready-file F`.

`DIES` says when: `before`, `within` or `after` it is kept. It dies once, which the file `died` in
its state directory notes, and is there again at once.
"""

import os
import signal
import threading
from typing import Any

from orchestrator.adapters.storage.mission_files import MissionFiles
from orchestrator.settings import load_settings
from tests.chaos.kept_alive_worker import serve_kept_alive

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
    MissionFiles.keep = _deadly  # type: ignore[method-assign, assignment]
    serve_kept_alive("python -m tests.chaos.filing_worker")


if __name__ == "__main__":
    main()
