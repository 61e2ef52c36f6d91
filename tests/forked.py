"""Commands of ours as processes that are forked from one which has imported them already.

A command that is started anew imports for a second or two before it begins, which a test run would
pay for many hundreds of times. A fork has signals, an environment, a folder, standard streams and
an end of its own like any process; what starting one involves is tested where one is started.
"""

import asyncio
import atexit
import contextlib
import functools
import multiprocessing
import os
import runpy
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from typing import Final, cast

from orchestrator.adapters.storage.files import PRIVATE_UMASK
from orchestrator.runtime.devserver import Stack

_IMPORTED: Final = "tests.imported_commands"
_WORKERS: Final = ("tests.agent_worker", "tests.deadly_function_worker", "worker.py")
"""Programs that are run like commands of ours: modules, and a file of the examples."""
_OF_CONSOLES: Final = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")
"""What a console is told by when it is made, which is before a command has its environment."""


@functools.cache
def _forking() -> ForkServerContext:
    """What forks; made by the first command, and then it imports for seconds."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([_IMPORTED])
    own = dict(os.environ)
    os.environ["PYTHONPATH"] = os.pathsep.join((str(Path(__file__).parents[1]), *sys.path))
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # or NumPy begins threads, which no fork has
    for name in _OF_CONSOLES:
        os.environ.pop(name, None)
        os.unsetenv(name)  # Python's readline sets it where os.environ does not show it
    try:
        ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(own)
    return context


@dataclass(frozen=True)
class Command:
    """What is run, and where."""

    arguments: Sequence[str]
    """Those after `orchestrator`."""
    environment: Mapping[str, str]
    """All of it."""
    stdout: Path
    stderr: Path
    """Files that it writes at the end of."""
    folder: Path | None = None
    umask: int | None = None
    program: str = "orchestrator"
    """The module or the file that is run."""

    def run(self) -> None:
        """Become that command, in a process that was forked for it."""
        os.setsid()
        if self.folder is not None:
            os.chdir(self.folder)
        if self.umask is not None:
            os.umask(self.umask)
        os.environ.clear()
        os.environ.update(self.environment)
        for number, file in ((1, self.stdout), (2, self.stderr)):
            with file.open("ab") as opened:
                os.dup2(opened.fileno(), number)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = [self.program, *self.arguments]
        assert _IMPORTED in sys.modules  # an import that fails before the fork is not told
        try:
            self._run_program()
        except Exception:  # as an interpreter ends: told by our hook, and exit code 1
            sys.excepthook(*sys.exc_info())
            sys.exit(1)
        finally:
            atexit._run_exitfuncs()

    def _run_program(self) -> None:
        if self.program == "orchestrator":
            from orchestrator.cli import main

            main()
        elif self.program.endswith(".py"):
            sys.path.insert(0, str(Path(self.program).parent))
            runpy.run_path(self.program, run_name="__main__")
        else:
            runpy.run_module(self.program, run_name="__main__", alter_sys=True)


class Forked:
    """A command that runs, used like a process of `asyncio.subprocess`."""

    def __init__(self, process: ForkServerProcess) -> None:
        """Take one that was started."""
        self._process = process
        self._gone = asyncio.Event()
        asyncio.get_running_loop().add_reader(process.sentinel, self._end)

    @classmethod
    def start(cls, command: Command) -> "Forked":
        """Start a command; the first time this waits until all is imported, for seconds."""
        process = _forking().Process(target=command.run, daemon=True)
        process.start()
        return cls(process)

    @property
    def pid(self) -> int:
        """Its id."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit code, less than 0 for a signal; None while it runs."""
        return self._process.exitcode if self._gone.is_set() else None

    async def wait(self) -> int:
        """The exit code, once it has ended."""
        await self._gone.wait()
        assert self._process.exitcode is not None
        return self._process.exitcode

    def terminate(self) -> None:
        """Ask it to stop."""
        self._tell(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self._tell(signal.SIGKILL)

    def _tell(self, number: signal.Signals) -> None:
        if not self._gone.is_set():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._process.sentinel)
        self._process.join()
        self._gone.set()


class ForkedStack(Stack):
    """An installation whose sandbox and workers are forked."""

    async def start_process(
        self, command: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> asyncio.subprocess.Process:
        """Fork what is a command or a worker of ours, and start what is another program."""
        python, *words = command
        while words[:1] in (["-P"], ["-m"]):
            del words[0]
        program, *arguments = words
        if python != sys.executable or not program.endswith(("orchestrator", *_WORKERS)):
            return await super().start_process(command, environment, log)
        started = Forked.start(
            Command(arguments, environment, log, log, umask=PRIVATE_UMASK, program=program)
        )
        return cast(asyncio.subprocess.Process, started)
