"""Read the states of a workflow by replaying its history in this process.

No worker is asked, and the history does not grow. The workflow calls its attribute `observer` after
each change of its visible state; workers never set it. The state is also read where an activity
begins.
"""

import asyncio
import functools
import logging
from bisect import bisect
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, NamedTuple

from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHistory
from temporalio.converter import DataConverter, PayloadCodec
from temporalio.worker import (
    ExecuteWorkflowInput,
    Interceptor,
    Replayer,
    StartActivityInput,
    StartLocalActivityInput,
    UnsandboxedWorkflowRunner,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)

from orchestrator.core.errors import EventsUnreadable

Read = Callable[[Any], Any]
"""Reads the state of a workflow instance: an immutable, comparable value."""

COMPLETED: Final = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
_STARTED: Final = EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED
_ACCEPTED: Final = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED
_OF_UPDATES: Final = (_ACCEPTED, EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED)
"""Types of events that belong to a task but carry no task number."""
_TASK: Final = "workflow_task_completed_event_id"
_AT_ONCE: Final = 2
"""Replays that run in one process at the same time."""
_TRIES: Final = 6
"""Attempts of one replay: where a task has no processor for two seconds, the SDK reports a
deadlock. Its debug mode would not, and would run workflow code on the reader's event loop."""
_DEADLOCK: Final = "TMPRL1101"
_LAST_TASKS: Final = 2
"""The number of final tasks that are searched first for the last state: nearly each task has one,
and each state that is read costs."""
_RECENT: Final = 256
"""Last states that stay in memory."""


class SeenState(NamedTuple):
    """A state of a workflow."""

    task: int
    """The event that started the task."""
    at: datetime
    state: Any


class Replays:
    """Replays histories, a few at a time."""

    def __init__(
        self, client: Client, workflows: Callable[[], Sequence[type]] | None = None
    ) -> None:
        """Take the client, whose converter decodes payloads, and the workflow classes.

        Without them, all classes of this release are used.
        """
        self._client = client
        self._workflows = workflows
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._under_way: set[asyncio.Future[str]] = set()
        self._recent: OrderedDict[Hashable, asyncio.Future[Any]] = OrderedDict()

    @property
    def converter(self) -> DataConverter:
        """Decodes the payloads of histories."""
        return self._client.data_converter

    async def once(self, key: Hashable, read: Callable[[], Awaitable[Any]]) -> Any:
        """Return what a read returns, from memory if the same was read lately.

        Those who read the same at the same time share one read, as do all who have a page open. The
        key is the run, the length of its history, and the kind of state: they determine it.
        """
        found = self._recent.pop(key, None)
        if found is None or (found.done() and (found.cancelled() or found.exception())):
            found = asyncio.ensure_future(read())
            found.add_done_callback(_retrieved)
        self._recent[key] = found
        if len(self._recent) > _RECENT:
            self._recent.popitem(last=False)
        return await asyncio.shield(found)

    async def states(
        self,
        workflow_id: str,
        events: Sequence[HistoryEvent],
        read: Read,
        *,
        after: int = 0,
        seen: int = 0,
    ) -> list[SeenState]:
        """Return the states after changes in completed tasks, without equal neighbours.

        Args:
            workflow_id: the id of the workflow.
            events: the events of one run, from the first.
            read: returns the state of an instance.
            after: the task after which states are wanted.
            seen: the task up to which the history was read before.

        Raises:
            EventsUnreadable: this release's code cannot have made the history.
            OrchestratorError: the client's codec cannot open a payload.
        """
        ends = task_ends(events)
        tasks = sorted(ends)
        # The lengths to which the history is replayed in turn. The core applies an update that
        # arrived while a task was running together with that task, although the recorded task did
        # not know of the update.
        cuts: set[int] = set()
        before = 0
        for task, end in ends.items():
            started = events[task - events[0].event_id].workflow_task_started_event_attributes
            updates = (
                event.workflow_execution_update_accepted_event_attributes
                for event in events[before:end]
                if event.event_type == _ACCEPTED
            )
            # Sent before the task that took it was even scheduled.
            sent = (one.accepted_request_sequencing_event_id for one in updates)
            if before and any(one < started.scheduled_event_id for one in sent):
                cuts.add(before)
            if task == seen:
                cuts.add(end)
            before = end
        found: list[SeenState] = []
        for cut in sorted({one for one in (*cuts, before) if one > ends.get(after, 0)}):
            notes = _Notes(read, tasks, after=found[-1].task if found else after)
            await self._replay(WorkflowHistory(workflow_id, events[:cut]), notes)
            is_same = found and notes.found and notes.found[0].state == found[-1].state
            found += notes.found[1:] if is_same else notes.found
        return found

    async def last_state(
        self, workflow_id: str, events: Sequence[HistoryEvent], read: Read
    ) -> Any | None:
        """Return the state after the last completed task; None before the first."""
        ends = task_ends(events)
        if not ends:
            return None
        tasks = sorted(ends)
        starts = {([0] * (_LAST_TASKS + 1) + tasks)[-_LAST_TASKS - 1], 0}
        for after in sorted(starts, reverse=True):
            notes = _Notes(read, tasks, after=after)
            await self._replay(WorkflowHistory(workflow_id, events[: max(ends.values())]), notes)
            if notes.found:
                return notes.found[-1].state
        return None

    async def _replay(self, history: WorkflowHistory, notes: "_Notes") -> None:
        for tries in range(1, _TRIES + 1):
            # A reader who leaves does not end a replay: the SDK would drop its workflow half run.
            replay = asyncio.ensure_future(self._replay_once(history, notes))
            self._under_way.add(replay)
            replay.add_done_callback(self._under_way.discard)
            replay.add_done_callback(_retrieved)
            failure = await asyncio.shield(replay)
            if _DEADLOCK not in failure or tries == _TRIES:
                break
            await asyncio.sleep(tries)
        if failure:
            raise EventsUnreadable(history.workflow_id, " ".join(failure.split())[:400])

    async def _replay_once(self, history: WorkflowHistory, notes: "_Notes") -> str:
        """Replay a history once; return why it cannot be read, or an empty string."""
        from orchestrator.workflows import ALL_WORKFLOWS  # imported only to read states

        converter = self._client.data_converter
        codec = _NotingCodec(converter.payload_codec)
        if converter.payload_codec is not None:
            converter = replace(converter, payload_codec=codec)
        notes.found.clear()
        replayer = Replayer(
            workflows=self._workflows() if self._workflows else ALL_WORKFLOWS,
            interceptors=[notes],
            workflow_runner=UnsandboxedWorkflowRunner(),
            workflow_task_executor=_threads(),
            data_converter=converter,
            build_id="reader",  # the SDK's own is a digest of all loaded code: a second of work
        )
        async with self._places:
            with _quiet():
                result = await replayer.replay_workflow(history, raise_on_replay_failure=False)
        if codec.error is not None:
            raise codec.error
        return notes.failure or (str(result.replay_failure) if result.replay_failure else "")


def _retrieved(ended: "asyncio.Future[Any]") -> None:
    if not ended.cancelled():
        ended.exception()  # its readers may have left


# -- tasks of a history ---------------------------------------------------------------------------


def task_ends(events: Sequence[HistoryEvent]) -> dict[int, int]:
    """Map the start event of each completed task to the number of events up to the task's end."""
    ends: dict[int, int] = {}
    started, ended, completed = 0, 0, 0
    for place, event in enumerate(events, 1):
        if event.event_type == _STARTED:
            started = event.event_id
        elif event.event_type == COMPLETED:
            ended, completed = started, event.event_id
            ends[ended] = place
        elif ended:
            # Commands name the start or the completion of their task, a test server's also neither.
            kind = event.WhichOneof("attributes")
            made_by = getattr(getattr(event, kind), _TASK, None) if kind else None
            if made_by in (ended, completed, 0) or event.event_type in _OF_UPDATES:
                ends[ended] = place
    return ends


# -- notes of a replay ----------------------------------------------------------------------------


@dataclass
class _Notes(Interceptor):
    """Notes the states of the replayed workflow."""

    read: Read
    tasks: Sequence[int]
    after: int
    found: list[SeenState] = field(default_factory=list)
    failure: str = ""

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor]:
        """Return a class that observes the instance from the beginning of its run."""
        notes = self

        class Acting(WorkflowOutboundInterceptor):
            """Notes the state when an activity starts."""

            def start_activity(self, input: StartActivityInput) -> Any:
                notes.note(workflow.instance())
                return super().start_activity(input)

            def start_local_activity(self, input: StartLocalActivityInput) -> Any:
                notes.note(workflow.instance())
                return super().start_local_activity(input)

        class Observing(WorkflowInboundInterceptor):
            def init(self, outbound: WorkflowOutboundInterceptor) -> None:
                super().init(Acting(outbound))

            async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:
                instance = workflow.instance()
                instance.observer = functools.partial(notes.note, instance)
                try:
                    return await super().execute_workflow(input)
                finally:
                    notes.note(instance)

        return Observing

    def note(self, instance: Any) -> None:
        """Note the state after a change, if it is wanted."""
        info, now = workflow.info(), workflow.now()
        # An evicted run has no time of its own, and treats its eviction as a cancellation.
        if now < info.start_time or not workflow.unsafe.is_replaying():
            return
        # At the end of a history the core also counts the next task.
        task = self.tasks[bisect(self.tasks, info.get_current_history_length()) - 1]
        if task <= self.after:
            return
        try:
            state = self.read(instance)
        except Exception as error:
            self.failure = self.failure or f"its state cannot be read: {error!r}"
            return
        if not self.found or self.found[-1].state != state:
            self.found.append(SeenState(task, now, state))


class _NotingCodec(PayloadCodec):
    """A codec that stores its first decoding error, which a replay replaces by another error."""

    def __init__(self, inner: PayloadCodec | None) -> None:
        self._inner = inner
        self.error: Exception | None = None

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Encode as the inner codec does."""
        return await self._inner.encode(payloads) if self._inner else list(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Decode as the inner codec does."""
        try:
            return await self._inner.decode(payloads) if self._inner else list(payloads)
        except Exception as error:
            self.error = self.error or error
            raise


@functools.cache
def _threads() -> ThreadPoolExecutor:
    """Return the threads that replay workflow code, outside the caller's event loop."""
    return ThreadPoolExecutor(max_workers=2 * _AT_ONCE, thread_name_prefix="replay")


_IS_REPLAY: Final = ContextVar("is_replay", default=False)


def _not_of_replays(_: logging.LogRecord) -> bool:
    return not _IS_REPLAY.get()


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the SDK's log during a replay: the raised error has the reason."""
    for name, logger in list(logging.root.manager.loggerDict.items()):
        if name.startswith("temporalio.worker") and isinstance(logger, logging.Logger):
            logger.addFilter(_not_of_replays)  # once for each: a workers' log stays as it is
    token = _IS_REPLAY.set(True)
    try:
        yield
    finally:
        _IS_REPLAY.reset(token)
