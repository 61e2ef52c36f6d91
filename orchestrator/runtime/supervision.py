"""Supervises the parts of an installation: shows their output and exits, and restarts them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

from orchestrator.core.errors import ServiceUnavailable
from orchestrator.runtime.devserver import Stack
from orchestrator.runtime.part_logs import PartLog, full_disk, how_it_ended

_LOOKS_EVERY_S: Final = 0.25
_LOOKS_AT_DISK_EVERY_S: Final = 2.0
_AT_ONCE: Final = 5
"""Maximum lines of a part to show out of those between two checks."""
_SETTLED_S: Final = 60.0
"""A part that ran this long had no fault of its own, so it is restarted at once."""
_LONGEST_PAUSE_S: Final = 30.0
_SHOWN_AS: Final = {
    "temporal": "Temporal",
    "sandbox": "the sandbox",
    "codec": "the codec server",
    "worker": "the worker",
    "inbox": "the inbox",
}
_SHOWN: Final = 8
"""Lines to show of a part that has ended, as the end of a traceback gives the reason."""


class Supervisor:
    """Keeps the parts of a started installation running, and reports their state."""

    def __init__(self, stack: Stack, report: Callable[[str], None]) -> None:
        self._stack = stack
        self._print = report
        starts: Mapping[str, Callable[[], Awaitable[None]]] = {
            "temporal": stack.start_server,
            "sandbox": stack.start_sandbox,
            "codec": stack.start_codec_server,
            "worker": stack.start_worker,
            "inbox": stack.start_inbox,
        }
        self._starts = {name: start for name, start in starts.items() if stack.runs(name)}
        self._logs = {name: PartLog(stack.log(name)) for name in self._starts}
        self._starting: set[str] = set()

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow())
            tasks.create_task(self._watch_disk())
            for name in self._starts:
                tasks.create_task(self._keep(name))

    async def _follow(self) -> None:
        """Show the lines that the parts print; of many at once, only the first."""
        while True:
            for name, log in self._logs.items():
                if name not in self._starting:
                    lines = log.new_lines()
                    self._print_lines(name, lines[:_AT_ONCE])
                    if len(lines) > _AT_ONCE:
                        more = f"... and {len(lines) - _AT_ONCE} more: {self._stack.log(name)}"
                        self._print_lines(name, [more])
            await asyncio.sleep(_LOOKS_EVERY_S)

    async def _watch_disk(self) -> None:
        """Report a full disk, and restart the server once there is room.

        The server does not resume its histories by itself after it could not write them.
        """
        was_full = None
        while True:
            full = full_disk(self._stack.folder)
            if full and not was_full:
                self._print(f"{full}: nothing goes on until there is more room")
            if was_full and not full and self._stack.runs("temporal"):
                self._print("there is room again")
                await self._stack.kill("temporal")
            was_full = full
            await asyncio.sleep(_LOOKS_AT_DISK_EVERY_S)

    async def _keep(self, name: str) -> None:
        clock = asyncio.get_running_loop().time
        failures, began = 0, clock()
        while True:
            how = how_it_ended(await self._stack.wait(name))
            failures = 0 if clock() - began > _SETTLED_S else failures
            self._print(f"{_SHOWN_AS[name]} has ended: {how}; its log: {self._stack.log(name)}")
            self._print_lines(name, self._logs[name].said_last(_SHOWN))
            is_back = False
            while not is_back:
                pause = restart_pause(failures)
                failures += 1
                later = f" in {pause:.0f} s" if pause else ""
                self._print(f"{_SHOWN_AS[name]} is started again{later}")
                await asyncio.sleep(pause)
                # Its output during the start is shown only if it does not come up.
                self._starting.add(name)
                try:
                    await self._starts[name]()
                    is_back = True
                except (ServiceUnavailable, OSError) as error:
                    self._print_lines(name, self._logs[name].said_last(_SHOWN))
                    self._print(str(error))
                else:
                    self._logs[name].new_lines()
                    self._print(f"{_SHOWN_AS[name]} is back")
                finally:
                    self._starting.discard(name)
            began = clock()

    def _print_lines(self, name: str, lines: Iterable[str]) -> None:
        for line in lines:
            self._print(f"{name:>8} | {line}")


def restart_pause(failures: int) -> float:
    """Return the seconds before a restart after consecutive failures: none, 1, 2, 4, ... 30."""
    return min(_LONGEST_PAUSE_S, 2.0 ** (failures - 1)) if failures else 0.0
