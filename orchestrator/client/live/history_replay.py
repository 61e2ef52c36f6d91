"""What a workflow would have answered after each of its recorded tasks: by replaying its history.

The project's own workflow code says what a history means, in this process: no worker is asked, and
nothing is sent anywhere. A task that has not completed is none: what it would lead to is not told.
"""

import functools
import logging
from bisect import bisect
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.client import WorkflowHistory
from temporalio.converter import (
    DataConverter,
    PayloadCodec,
)
from temporalio.worker import (
    Replayer,
    UnsandboxedWorkflowRunner,
    WorkflowInstance,
    WorkflowInstanceDetails,
)

from orchestrator.adapters.temporal.wrapped_runner import WrappedRun, WrappedRunner
from orchestrator.core.errors import EventsUnreadable

COMPLETED: Final = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
_STARTED: Final = EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED
_ACCEPTED: Final = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED
_OF_UPDATES: Final = (_ACCEPTED, EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED)
"""Written by a task like its commands, and without its number."""
_TASK: Final = "workflow_task_completed_event_id"
_LOST: Final = "no workflow of this release"


class AnsweredTask(NamedTuple):
    """What a query is answered after one task, or a part of it."""

    task: int
    """The event that started the task."""
    at: datetime
    payload: Payload


async def answers(
    workflow_id: str,
    events: Sequence[HistoryEvent],
    query: str,
    *,
    after: int,
    seen: int,
    converter: DataConverter,
) -> list[AnsweredTask]:
    """The answers after each completed task of a run, those that are the same left out.

    Args:
        workflow_id: whose history it is.
        events: of one run, from the first.
        query: what the workflow is asked.
        after: the task after which answers are wanted.
        seen: how far the history was read before: what stood there is told as it stood then.
        converter: of the client that read the history.

    Raises:
        EventsUnreadable: this release's code cannot have made it.
        OrchestratorError: what the client's codec says of a payload that it cannot open.
    """
    tasks = sorted(task_ends(events))
    found: list[AnsweredTask] = []
    for cut in _cuts(events, after, seen):
        runner = _AskingRunner(query, tasks, found[-1].task if found else after)
        await _replayed(WorkflowHistory(workflow_id, events[:cut]), runner, converter)
        found += runner.found
    return found


def task_ends(events: Sequence[HistoryEvent]) -> dict[int, int]:
    """For the event that started each completed task, how many events there are at its end."""
    ends: dict[int, int] = {}
    started, ended, completed = 0, 0, 0
    for place, event in enumerate(events, 1):
        if event.event_type == _STARTED:
            started = event.event_id
        elif event.event_type == COMPLETED:
            ended, completed = started, event.event_id
            ends[ended] = place
        elif ended and (_is_command_of(completed, event) or event.event_type in _OF_UPDATES):
            ends[ended] = place
    return ends


def _cuts(events: Sequence[HistoryEvent], after: int, seen: int) -> list[int]:
    """Up to where the history is replayed, one after the other, the last time to its end.

    The core applies an update that arrived while a task was under way together with that task,
    which did not know of it when it was recorded.
    """
    ends = task_ends(events)
    cuts: list[int] = []
    before = 0
    for task, end in ends.items():
        accepted = (e for e in events[before:end] if e.event_type == _ACCEPTED)
        if before and any(_is_merged(one, events, task) for one in accepted):
            cuts.append(before)
        if task == seen:
            cuts.append(end)
        before = end
    begun = ends.get(after, 0)
    return sorted({cut for cut in [*cuts, before] if cut > begun})


def _is_merged(accepted: HistoryEvent, events: Sequence[HistoryEvent], task: int) -> bool:
    """Whether an update was sent before the task that took it was even planned."""
    update = accepted.workflow_execution_update_accepted_event_attributes
    started = events[task - events[0].event_id].workflow_task_started_event_attributes
    return update.accepted_request_sequencing_event_id < started.scheduled_event_id


def _is_command_of(completed: int, event: HistoryEvent) -> bool:
    """Whether an event is a command of a task; a server for tests says of none which task's."""
    kind = event.WhichOneof("attributes")
    made_by = getattr(getattr(event, kind), _TASK, None) if kind else None
    return made_by in (completed, 0)


async def _replayed(
    history: WorkflowHistory, runner: "_AskingRunner", converter: DataConverter
) -> None:
    from workflows import ALL_WORKFLOWS  # only those who watch load them

    codec = _NotingCodec(converter.payload_codec)
    if converter.payload_codec is not None:
        converter = replace(converter, payload_codec=codec)
    replayer = Replayer(
        workflows=ALL_WORKFLOWS,
        workflow_runner=runner,
        unsandboxed_workflow_runner=runner,
        workflow_task_executor=_threads(),
        data_converter=converter,
        # A machine under load is no deadlock, and nobody waits for this but its reader.
        debug_mode=True,
    )
    with _quiet():
        result = await replayer.replay_workflow(history, raise_on_replay_failure=False)
    if codec.error is not None:
        raise codec.error
    failure = runner.failure or (str(result.replay_failure) if result.replay_failure else "")
    if failure:
        raise EventsUnreadable(history.workflow_id, " ".join(failure.split())[:400])


_IS_REPLAY: Final = ContextVar("is_replay", default=False)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the SDK from logging what comes of a replay: we say it in our own words, once."""
    _silence()
    token = _IS_REPLAY.set(True)
    try:
        yield
    finally:
        _IS_REPLAY.reset(token)


@functools.cache
def _silence() -> None:
    """Once for all replays; workers of the same process log as before."""
    logging.getLogger("temporalio.worker._workflow").addFilter(lambda _: not _IS_REPLAY.get())


class _NotingCodec(PayloadCodec):
    """Another codec, and what it could not decode: a replay says that in words of its own."""

    def __init__(self, inner: PayloadCodec | None) -> None:
        self._inner = inner
        self.error: Exception | None = None

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """As the inner one does."""
        return await self._inner.encode(payloads) if self._inner else list(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """As the inner one does; the first error is kept."""
        try:
            return await self._inner.decode(payloads) if self._inner else list(payloads)
        except Exception as error:
            self.error = self.error or error
            raise


@functools.cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=2, thread_name_prefix="replay")


class _AskingRunner(WrappedRunner):
    """Runs a workflow as it is, and asks it after each activation."""

    def __init__(self, query: str, tasks: Sequence[int], after: int) -> None:
        super().__init__(UnsandboxedWorkflowRunner())
        self._query = query
        self._tasks = tasks
        self._after = after
        self.found: list[AnsweredTask] = []
        self.failure = ""

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """An instance that is asked."""
        return _Asked(self._inner.create_instance(det), self)

    def ask(self, instance: WorkflowInstance, act: WorkflowActivation) -> None:
        """Keep what the instance answers now, where that is wanted and new."""
        task = self._task_of(act)
        if not act.is_replaying or task <= self._after:
            return
        asking = WorkflowActivation(
            run_id=act.run_id,
            timestamp=act.timestamp,
            is_replaying=True,
            history_length=act.history_length,
        )
        job = asking.jobs.add().query_workflow
        job.query_id, job.query_type = "events", self._query
        completion = instance.activate(asking)
        for command in completion.successful.commands:
            answered = command.respond_to_query
            if answered.HasField("succeeded"):
                self._keep(task, act, answered.succeeded.response)
            elif answered.HasField("failed"):
                self.failure = self.failure or answered.failed.message or _LOST

    def _task_of(self, act: WorkflowActivation) -> int:
        """The task that it belongs to: at the end of a history the core counts that as well."""
        return self._tasks[bisect(self._tasks, act.history_length) - 1]

    def _keep(self, task: int, act: WorkflowActivation, payload: Payload) -> None:
        if self.found and self.found[-1].payload.data == payload.data:
            return
        self.found.append(AnsweredTask(task, act.timestamp.ToDatetime(tzinfo=UTC), payload))


class _Asked(WrappedRun):
    """One run, asked after each activation that moved it."""

    def __init__(self, inner: WorkflowInstance, runner: _AskingRunner) -> None:
        super().__init__(inner)
        self._runner = runner

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        completion = self._inner.activate(act)
        evicted = any(job.HasField("remove_from_cache") for job in act.jobs)
        if not evicted and completion.HasField("successful"):
            self._runner.ask(self._inner, act)
        return completion
