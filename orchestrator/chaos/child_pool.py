"""A pool of child processes made by `fork`, each replaced when it dies.

The module imports no worker: a child that is to run altered code imports that code itself.
"""

import math
import multiprocessing
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait

_FORK = multiprocessing.get_context("fork")
_STOP_S = 4.0
"""The time that children have to end, less than this process gets."""
_PAUSE_S = 0.5
"""Delay before a failed child is replaced; a killed one is replaced at once."""


def keep_alive(
    serve: Callable[[str], None], names: Sequence[str], *, started: Callable[[], object]
) -> None:
    """Run a child for each name and replace those that die, until SIGTERM.

    Args:
        serve: called in the child with its name; a child that returns is not replaced.
        names: of the children.
        started: called once all have started.
    """
    is_stopping = False
    last = math.inf
    """The time of the monotonic clock at which remaining children are killed."""

    def stop(*_: object) -> None:
        nonlocal is_stopping, last
        is_stopping, last = True, time.monotonic() + _STOP_S
        for child in children.values():
            child.terminate()

    def live(name: str) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        serve(name)

    def start(name: str) -> None:
        child = _FORK.Process(target=live, args=(name,))
        child.start()
        children[name] = child

    children: dict[str, multiprocessing.process.BaseProcess] = {}
    signal.signal(signal.SIGTERM, stop)
    for name in names:
        start(name)
    started()
    while children:
        wait([child.sentinel for child in children.values()], timeout=1.0)
        if time.monotonic() > last:
            for child in children.values():
                child.kill()
        for name in [name for name, child in children.items() if child.exitcode is not None]:
            exitcode = children.pop(name).exitcode or 0
            if exitcode > 0 and not is_stopping:
                time.sleep(_PAUSE_S)
            if exitcode != 0 and not is_stopping:
                start(name)
