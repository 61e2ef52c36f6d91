"""Child processes made by `fork`: one that dies is replaced within milliseconds."""

import os
import signal
import time
import traceback
from collections.abc import Callable
from types import FrameType

_PAUSE_S = 0.5
"""Before a child that failed is replaced; one that was killed is replaced at once."""


class ProcessPool:
    """Keeps a child alive for each name, until it is asked to stop."""

    def __init__(self, serve: Callable[[str], None]) -> None:
        """Take what a child does with its name; one that returns from it is not replaced."""
        self._serve = serve
        self._children: dict[int, str] = {}
        self._stopping = False

    def run(self, names: list[str], *, started: Callable[[], object]) -> None:
        """Have all children, and another for each that dies; returns when all have stopped."""
        signal.signal(signal.SIGTERM, self._stop)
        for name in names:
            self._start_child(name)
        started()
        while self._children:
            pid, status = os.wait()
            name = self._children.pop(pid)
            if status == 0 or self._stopping:
                continue
            if not os.WIFSIGNALED(status):
                time.sleep(_PAUSE_S)
            self._start_child(name)

    def _start_child(self, name: str) -> None:
        child = os.fork()
        if child == 0:
            self._run_child(name)
        self._children[child] = name

    def _run_child(self, name: str) -> None:
        """Be the child; never returns into what its parent was doing."""
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            self._serve(name)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)

    def _stop(self, signum: int, _: FrameType | None) -> None:
        self._stopping = True
        for child in self._children:
            os.kill(child, signum)
