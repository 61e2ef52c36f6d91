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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, Final

from pydantic import JsonValue

from orchestrator.adapters.http.answer import Answer
from orchestrator.adapters.http.endpoint import Endpoint
from orchestrator.adapters.http.masking import Mask
from orchestrator.adapters.http.operation_contract import ResponseCheck
from orchestrator.adapters.http.refusal import (
    MAX_REASON,
    is_in_progress,
    is_rate_limit,
    phrase_of,
    reason_of,
    retry_after_s,
)
from orchestrator.catalog.expressions import all_hold, parse_conditions
from orchestrator.catalog.prices import Settled, charged_price, named_amounts, settled_by_cancel
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.record import JsonObject
from orchestrator.saga.answer_names import names_another
from orchestrator.saga.cancel_arguments import answered_arguments
from orchestrator.saga.contradictions import contradiction, some_items_worked
from orchestrator.saga.outcome import OutcomeKind, ToolOutcome, classify, is_not_worked_on

_ACCEPTED = 202
_MAX_TEXT = 2_000
_MULTI_STATUS = 207


def outcome_of(
    endpoint: Endpoint,
    arguments: JsonObject,
    answer: Answer,
    mask: Mask,
    *,
    has_key: bool,
    is_checked: bool = True,
) -> ToolOutcome:
    """Return the outcome of a call, with sent secrets and personal values hidden.

    With `is_checked` false, the answer's shape is not compared with the document.
    """
    tool, contract = endpoint.tool, endpoint.contract
    in_progress = is_in_progress(answer, has_key=has_key)
    deferred = is_not_worked_on(answer.status) or is_rate_limit(answer)
    kind = classify(answer.status, in_progress=in_progress, changes=tool.is_side_effect)
    kind = "unknown" if deferred else kind
    # No document declares the answers of a failing gateway in front of the provider.
    skips = kind == "unknown" or not is_checked
    check = ResponseCheck() if skips else contract.check_response(answer)
    breach = answer.fault or check.breach
    another = reason = None
    if kind == "succeeded":
        another = names_another(endpoint.given_back, arguments, answer.body)
        if another is not None:
            breach = f"it is about another {another} than was sent"
        breach = breach or _gone(tool, answer)
        kind, reason = _of_success_status(tool, answer, breach, mask)
    else:
        reason = mask.cut(reason_of(answer), MAX_REASON)
    is_success = 200 <= answer.status < 300
    doubted = is_success and breach is None and _contradiction(tool, answer) is not None
    if kind == "rejected" and is_success and tool.is_side_effect:
        # The arguments of the cancel tool, or items of a batch that succeeded, show an effect,
        # although the document calls the answer no success.
        worked = answer.status == _MULTI_STATUS or some_items_worked(answer.value)
        if worked or answered_arguments(tool, answer.value, answer.headers):
            kind, doubted = "unknown", True
    spends = kind == "succeeded" and tool.effect in (Effect.OBLIGATION, Effect.WRITE)
    settled = Settled()
    if kind == "succeeded" and tool.effect is Effect.CANCEL:
        settled = settled_by_cancel(tool, arguments, answer.body)
    body: JsonValue = None  # an answer about another reference loses it: no cancel may use it
    if another is None and answer.is_text and isinstance(answer.body, str):
        body = mask.cut(answer.body, _MAX_TEXT)
    elif another is None:
        body = mask.json(answer.body)
    return ToolOutcome(
        kind=kind,
        status=answer.status,
        body=body,
        reason=mask.cut(reason, _MAX_TEXT) if reason else None,
        contract_breach=mask.cut(text, _MAX_TEXT) if (text := breach or check.note) else None,
        accepted=kind == "unknown" and answer.status == _ACCEPTED,
        deferred=deferred,
        doubted=doubted,
        declared=kind == "rejected" and contract.declares_refusal(answer),
        price=charged_price(tool, arguments, answer.body) if spends else None,
        named=named_amounts(tool, arguments, answer.body) if spends else settled.named,
        refund=settled.refund,
        fee=settled.fee,
        headers={
            name: mask.text(answer.header(name))
            for name in sorted(endpoint.kept_headers)
            if another is None and name in answer.headers
        },
        retry_after_s=retry_after_s(answer, now=datetime.now(UTC)) if kind != "succeeded" else None,
    )


def _gone(tool: Tool, answer: Answer) -> str | None:
    """Return a breach if the answer, like a probe's, shows that the new thing is gone already.

    This requires a value in the answer that equals the declared one, and a document that declares
    no condition of success.
    """
    conditions = parse_conditions(tool.compensation.gone_when if tool.compensation else ())
    if tool.success_when or not conditions or any(c.operator != "==" for c in conditions):
        return None
    is_gone, _ = all_hold(
        conditions, status=answer.status, headers=answer.headers, body=answer.value
    )
    return f"it answers that {' and '.join(c.text for c in conditions)}" if is_gone else None


def _of_success_status(
    tool: Tool, answer: Answer, breach: str | None, mask: Mask
) -> tuple[OutcomeKind, str | None]:
    """Return the outcome of a success status, and the reason if it is no success.

    A 202 means that the work is still to be done, unless the document gives its status a meaning.
    """
    phrase = phrase_of(answer.status)
    if breach is not None:
        return "unknown", f"{phrase}, but the answer breaks its contract: {breach}"
    against = _contradiction(tool, answer)
    if against is not None:
        return "unknown", f"{reason_of(answer)} (not believed: {against})"
    conditions = parse_conditions(tool.success_when)
    held, at_fault = all_hold(
        conditions, status=answer.status, headers=answer.headers, body=answer.value
    )
    names_status = any(one.reading is None for one in conditions)
    if answer.status == _ACCEPTED and not (held and names_status):
        return "unknown", f"{phrase}: accepted, which does not say that it is done"
    if held is None:
        return "unknown", f"{phrase}, but the answer does not show whether {at_fault}"
    if not held:
        refusal = mask.cut(reason_of(answer), MAX_REASON)
        return "rejected", f"{refusal} (no success: {at_fault} does not hold)"
    return "succeeded", None


def _contradiction(tool: Tool, answer: Answer) -> str | None:
    if tool.success_when or not tool.is_side_effect:
        return None
    return contradiction(tool, answer.status, answer.value)


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
        self._helpers = [_Helper() for _ in range(_PROCESSES)]
        self._idle: SimpleQueue[_Helper] = SimpleQueue()
        for helper in self._helpers:
            self._idle.put(helper)

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

        The check of a large answer may take `within_s`, with its wait for a process. If
        `is_checked` is false, a small answer's shape is taken as it is. The arguments are without
        personal values.
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
        if found is not None:
            return found
        # From the status alone.
        in_progress, tool = has_key and answer.status == 409, endpoint.tool
        kind = classify(answer.status, in_progress=in_progress, changes=tool.is_side_effect)
        return ToolOutcome(
            kind="unknown" if kind == "succeeded" else kind,
            status=answer.status,
            reason=f"{phrase_of(answer.status)}, but its answer is too costly to check",
            retry_after_s=retry_after_s(answer, now=datetime.now(UTC)),
        )

    def close(self) -> None:
        """End the processes."""
        for helper in self._helpers:
            helper.end()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _checked(self, endpoint: Endpoint, job: Any, within_s: float) -> ToolOutcome | None:
        helper = self._idle.get()
        try:
            return helper.outcome_of(endpoint, job, within_s)
        finally:
            self._idle.put(helper)


class _Helper:
    """A process that checks answers, started by its first job and again after its end."""

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
        if self._pipe is None:
            self._pipe, theirs = multiprocessing.Pipe()
            with theirs:
                self._process = subprocess.Popen(  # no shell, and no input from outside
                    [sys.executable, "-c", _CODE.format(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                    start_new_session=True,
                )
        pipe = self._pipe
        try:
            pipe.send_bytes(pickle.dumps(message))
            if pipe.poll(within_s):
                return pipe.recv_bytes()
        except (EOFError, OSError):
            pass
        self.end()
        return b""


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
            pipe.send_bytes(_READY)
            continue
        arguments, answer, mask, has_key = job
        reply = b""
        signal.setitimer(signal.ITIMER_PROF, _CPU_S)
        try:
            found = outcome_of(endpoints[key], arguments, answer, mask, has_key=has_key)
            reply = pickle.dumps(found)
        except Exception:
            # A provider's answer caused the error, and the process has to live for the next answer.
            # Its caller takes the empty reply for an answer that was not checked: unknown, and
            # never a success.
            _log.exception("an answer could not be checked")
        signal.setitimer(signal.ITIMER_PROF, 0)
        pipe.send_bytes(reply)
