"""Outcomes of answers; a large answer is checked in another process, with a limit of CPU time.

The provider decides how long its answer takes to validate and mask. In the worker's own process,
one such answer would delay every mission.
"""

import asyncio
import contextlib
import logging
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any, Final

from orchestrator.adapters.http.answer import Answer
from orchestrator.adapters.http.answer_outcome import outcome_of, unchecked_outcome
from orchestrator.adapters.http.endpoint import Endpoint
from orchestrator.adapters.http.masking import Mask
from orchestrator.core.record import JsonObject
from orchestrator.saga.outcome import ToolOutcome

_CPU_S: Final = 2.0
"""CPU time of a check; with wall time, a busy machine would reject honest answers."""
_STARTS_WITHIN_S: Final = 30.0
"""Time to import the modules of a check, and to compile a contract."""
_PROCESSES: Final = 2
_ENDPOINTS: Final = 64
"""Contracts that a process caches; a process that has more is replaced."""
_CODE: Final = "from orchestrator.adapters.http.answer_checks import serve; serve({})"
_READY: Final = b"ready"
_log = logging.getLogger(__name__)


class AnswerChecks:
    """Finds outcomes; large answers are checked in processes that end after two seconds of work.

    The processes start with the first large answer.
    """

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._own = threading.local()
        self._helpers: list[_Helper] = []

    async def outcome_of(
        self,
        endpoint: Endpoint,
        arguments: JsonObject,
        answer: Answer,
        mask: Mask,
        *,
        has_key: bool,
        within_s: float,
        is_checked: bool = True,
    ) -> ToolOutcome:
        """Return the outcome of a call; *unknown* if its answer is too costly to check.

        Args:
            endpoint: the called endpoint.
            arguments: of the tool, without personal values.
            answer: as received.
            mask: hides the values that were sent.
            has_key: True if the call carried an idempotency key.
            within_s: time limit for the check of a large answer, including its wait for a process.
            is_checked: False to take a small answer's shape as it is.
        """
        if not answer.is_large:
            return outcome_of(
                endpoint, arguments, answer, mask, has_key=has_key, is_checked=is_checked
            )
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_PROCESSES, thread_name_prefix="answer-checks")
        job = (arguments, replace(answer, file=None), mask, has_key)
        found: ToolOutcome | None = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                found = await asyncio.get_running_loop().run_in_executor(
                    self._threads, self._checked, endpoint, job, within_s
                )
        return found or unchecked_outcome(endpoint, answer, has_key=has_key)

    def close(self) -> None:
        """End the processes."""
        for helper in self._helpers:
            helper.end()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _checked(self, endpoint: Endpoint, job: Any, within_s: float) -> ToolOutcome | None:
        """Return the outcome found by this thread's process; None if the process ended before."""
        helper: _Helper | None = getattr(self._own, "helper", None)
        if helper is None:
            helper = self._own.helper = _Helper()
            self._helpers.append(helper)
        return helper.outcome_of(endpoint, job, within_s)


class _Helper:
    """A process that checks answers, restarted after its end."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._known: set[str] = set()

    def outcome_of(self, endpoint: Endpoint, job: Any, within_s: float) -> ToolOutcome | None:
        has_died = self._process is not None and self._process.poll() is not None
        if has_died or len(self._known) > _ENDPOINTS:
            self.end()
        if endpoint.key not in self._known:
            if self._asked((endpoint.key, endpoint), _STARTS_WITHIN_S) != _READY:
                return None
            self._known.add(endpoint.key)
        reply = self._asked((endpoint.key, job), within_s)
        outcome: ToolOutcome | None = pickle.loads(reply) if reply else None  # from this program
        return outcome

    def end(self) -> None:
        """Kill the process, if there is one; the next job starts another."""
        process, pipe, self._process, self._pipe = self._process, self._pipe, None, None
        self._known.clear()
        if pipe is not None:
            pipe.close()
        if process is not None:
            process.kill()
            process.wait()

    def _asked(self, message: Any, within_s: float) -> bytes:
        """Return the reply; empty if the process ended without one."""
        pipe = self._pipe or self._started()
        try:
            pipe.send_bytes(pickle.dumps(message))
            if pipe.poll(within_s):
                return pipe.recv_bytes()
        except (EOFError, OSError):
            pass
        self.end()
        return b""

    def _started(self) -> Connection:
        ours, theirs = multiprocessing.Pipe()
        with theirs:
            self._process = subprocess.Popen(  # no shell, and no input from outside
                [sys.executable, "-c", _CODE.format(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,
            )
        self._pipe = ours
        return ours


def serve(descriptor: int) -> None:
    """Reply to the jobs of the parent process until it ends.

    The kernel ends this process when a job uses too much CPU time, whatever code is running.
    """
    endpoints: dict[str, Endpoint] = {}
    pipe = Connection(descriptor)
    while True:
        try:
            key, job = pickle.loads(pipe.recv_bytes())  # written by this program's own process
        except EOFError:
            return
        if isinstance(job, Endpoint):
            endpoints[key] = job
            reply = _READY
        else:
            signal.setitimer(signal.ITIMER_PROF, _CPU_S)
            reply = _reply(endpoints[key], job)
            signal.setitimer(signal.ITIMER_PROF, 0)
        pipe.send_bytes(reply)


def _reply(endpoint: Endpoint, job: Any) -> bytes:
    arguments, answer, mask, has_key = job
    try:
        return pickle.dumps(outcome_of(endpoint, arguments, answer, mask, has_key=has_key))
    except Exception:
        # A provider's answer caused the error, and the process has to live for the next answer. Its
        # caller takes the empty reply for an answer that was not checked: unknown, and never a
        # success.
        _log.exception("an answer could not be checked")
        return b""
