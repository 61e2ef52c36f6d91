"""Child processes made by `fork`: one that dies is replaced within milliseconds."""

import math
import multiprocessing
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait

_FORK = multiprocessing.get_context("fork")
_STOP_S = 4.0
"""What children have to end: less than whoever stops this process gives it."""
_PAUSE_S = 0.5
"""Before a child that failed is replaced; one that was killed is replaced at once."""


def keep_alive(
    serve: Callable[[str], None], names: Sequence[str], *, started: Callable[[], object]
) -> None:
    """Have a child for each name, and another for each that dies, until SIGTERM.

    Args:
        serve: what a child does with its name; one that returns from it is not replaced.
        names: of the children.
        started: called once all have begun.
    """
    is_stopping = False
    last = math.inf
    """When those that have not ended by themselves are killed, by the monotonic clock."""

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
