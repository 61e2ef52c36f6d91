"""Child processes made by `fork`: one that dies is replaced within milliseconds."""

import multiprocessing
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait

_FORK = multiprocessing.get_context("fork")
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

    def stop(*_: object) -> None:
        nonlocal is_stopping
        is_stopping = True
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
        wait([child.sentinel for child in children.values()])
        for name in [name for name, child in children.items() if child.exitcode is not None]:
            exitcode = children.pop(name).exitcode or 0
            if exitcode > 0 and not is_stopping:
                time.sleep(_PAUSE_S)
            if exitcode != 0 and not is_stopping:
                start(name)
