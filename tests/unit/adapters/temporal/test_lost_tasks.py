"""Work of a workflow task that was lost again and again is not begun once more in one."""

import dataclasses
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.api.enums.v1 import EventType, TimeoutType
from temporalio.api.history.v1 import History, HistoryEvent, WorkflowTaskTimedOutEventAttributes
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, WorkflowRunner

from orchestrator.adapters.temporal.lost_tasks import LostTasks
from orchestrator.messages import names

_LOST = HistoryEvent(
    event_type=EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT,
    workflow_task_timed_out_event_attributes=WorkflowTaskTimedOutEventAttributes(
        timeout_type=TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE
    ),
)
_NOT_TAKEN = HistoryEvent(
    event_type=EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT,
    workflow_task_timed_out_event_attributes=WorkflowTaskTimedOutEventAttributes(
        timeout_type=TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START
    ),
)
_QUERIED = HistoryEvent(event_type=EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED)
_SIGNALED = HistoryEvent(event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED)
_THOUGHT = HistoryEvent(event_type=EventType.EVENT_TYPE_MARKER_RECORDED)


class _Server:
    """Says which attempt of its workflow task a run is at; None: it does not answer."""

    namespace = "default"

    def __init__(self, attempt: int | None, *events: HistoryEvent) -> None:
        self.attempt = attempt
        self.events = events
        self.asked: list[str | None] = []

    @property
    def workflow_service(self) -> "_Server":
        return self

    async def get_workflow_execution_history_reverse(self, *_: Any, **__: Any) -> Any:
        return SimpleNamespace(history=History(events=reversed(self.events)))

    def get_workflow_handle(self, _: str, *, run_id: str | None) -> "_Server":
        self.asked.append(run_id)
        return self

    async def describe(self, **_: Any) -> Any:
        if self.attempt is None:
            raise RPCError("no answer", RPCStatusCode.UNAVAILABLE, b"")
        task = SimpleNamespace(attempt=self.attempt)
        return SimpleNamespace(
            raw_description=SimpleNamespace(pending_workflow_task=task),
            history_length=3 + len(self.events),
        )


class _Work(ActivityInboundInterceptor):
    def __init__(self) -> None:
        self.done = 0

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        self.done += 1


async def _begin(tasks: LostTasks, work: _Work, *, is_local: bool = True, run: str = "r") -> None:
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(
        environment.info, is_local=is_local, workflow_id="m.l", workflow_run_id=run
    )
    intercepted = tasks.intercept_activity(work)
    await environment.run(intercepted.execute_activity, cast(ExecuteActivityInput, None))


@pytest.mark.parametrize(("attempt", "is_done"), [(1, True), (3, True), (4, False), (40, False)])
async def test_a_task_that_was_lost_three_times_is_tried_no_more(
    attempt: int, is_done: bool
) -> None:
    """Its failure is one that another activity may mend, and no retry of this one."""
    tasks, work = LostTasks(cast(Client, _Server(attempt))), _Work()

    if is_done:
        await _begin(tasks, work)
    else:
        with pytest.raises(ApplicationError, match=f"lost {attempt - 1} times") as lost:
            await _begin(tasks, work)
        assert lost.value.type == names.TASK_LOST
        assert not lost.value.non_retryable

    assert work.done == int(is_done)


@pytest.mark.parametrize(
    ("attempt", "events", "is_done"),
    [
        (1, [_LOST, _QUERIED] * 3, False),
        (1, [_LOST, _QUERIED] * 2, True),
        (1, [_LOST, _SIGNALED, _LOST, _SIGNALED, _LOST], False),
        (3, [_LOST, _QUERIED, _LOST], False),
        (3, [_LOST], True),
        (4, [_LOST], False),
        (1, [_LOST, _LOST, _THOUGHT, _LOST], True),
        (1, [_NOT_TAKEN] * 5, True),
    ],
)
async def test_a_task_that_answered_between_two_losses_is_the_same(
    attempt: int, events: list[HistoryEvent], is_done: bool
) -> None:
    """The server counts its attempts anew then; what a workflow did since makes it another one."""
    tasks, work = LostTasks(cast(Client, _Server(attempt, *events))), _Work()

    if is_done:
        await _begin(tasks, work)
    else:
        with pytest.raises(ApplicationError, match="lost 3 times"):
            await _begin(tasks, work)

    assert work.done == int(is_done)


async def test_an_ordinary_activity_is_never_refused() -> None:
    """It has attempts of its own, and nobody asks the server for it."""
    server, work = _Server(40), _Work()

    await _begin(LostTasks(cast(Client, server)), work, is_local=False)

    assert work.done == 1
    assert not server.asked


async def test_a_run_that_a_process_has_thought_for_is_not_asked_about_again() -> None:
    """A question for each run, and not for each step."""
    server, work = _Server(1), _Work()
    tasks = LostTasks(cast(Client, server))

    for run in ("a", "a", "b", "a"):
        await _begin(tasks, work, run=run)

    assert server.asked == ["a", "b"]
    assert work.done == 4


async def test_a_server_that_does_not_answer_holds_nothing_up() -> None:
    """The task will be lost or not; who counts is away just now."""
    work = _Work()

    await _begin(LostTasks(cast(Client, _Server(None))), work)

    assert work.done == 1


class _Inner:
    """A runner whose runs do nothing."""

    def create_instance(self, _: object) -> "_Inner":
        return self

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        return WorkflowActivationCompletion(run_id=act.run_id)


@pytest.mark.parametrize(("history_length", "asked"), [(3, []), (4, ["r"]), (6, ["r"])])
async def test_a_run_that_a_process_begins_is_not_asked_about(
    history_length: int, asked: list[str]
) -> None:
    """Its history is as short as one of a first attempt: a lost one would be in it."""
    server, work = _Server(1), _Work()
    tasks = LostTasks(cast(Client, server))
    runner = tasks.watching(cast(WorkflowRunner, _Inner()))

    runner.create_instance(cast(Any, None)).activate(
        WorkflowActivation(run_id="r", history_length=history_length)
    )
    await _begin(tasks, work)

    assert server.asked == asked
    assert work.done == 1
