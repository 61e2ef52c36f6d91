"""The connection to Temporal: sends updates, starts workflows and checks for a worker.

Refusals of the server become our own errors, each with a remedy. No query is sent: state is read
from memos, from close events, and by replaying histories in this process.
"""

import asyncio
import json
import math
import random
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeVar
from weakref import WeakValueDictionary

from temporalio.api.enums.v1 import EventType, TaskQueueType
from temporalio.client import (
    Client,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.envconfig import ClientConfig
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.adapters.telemetry import tracing_plugins
from orchestrator.client.obstacles import Version, absence, no_answer, pinned_version, stuck
from orchestrator.client.payloads import converter_of
from orchestrator.client.run_histories import RunHistories
from orchestrator.core import errors
from orchestrator.core.record import Record
from orchestrator.json_schema.canonical import find_defect
from orchestrator.messages import names
from orchestrator.messages.mission import MissionRequest
from orchestrator.settings import Settings, load_settings

if TYPE_CHECKING:
    from orchestrator.client.history_replay import Replays

T = TypeVar("T")
Notify = Callable[[Exception], None]
"""Called with the reason while a call is retried, for example that the server is unavailable."""

LARGEST_MESSAGE: Final = 500_000
"""In bytes. The server accepts four times as much in one payload and eight times in a message, but
a request is sent again, together with the findings, in the messages of every step."""
MOST_INPUTS: Final = 1_000

_NUL: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""The character in JSON: the only one that PostgreSQL refuses, besides half a character."""
_TOO_LARGE: Final = ("larger than max", "exceeds size limit", "exceeds limit", "too large")
_SIZE_STATUS: Final = (RPCStatusCode.INVALID_ARGUMENT, RPCStatusCode.RESOURCE_EXHAUSTED)
_TASK_DONE: Final = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
_POLLER_WAIT_S = 3.0
PICK_UP = timedelta(seconds=6)
"""How long a worker may take to start a workflow before the caller is shown it as queued."""
_RECENT_S = 1.0
"""How long a worker that answered counts as present. The server counts a dead worker for a
minute."""
_ABSENCE_S = 120.0
_ANSWER = timedelta(seconds=20)
"""How long a worker may take to answer, as it may first have to replay a long history."""
_UNANSWERED = (
    RPCStatusCode.DEADLINE_EXCEEDED,
    RPCStatusCode.CANCELLED,
    RPCStatusCode.FAILED_PRECONDITION,
)
_CUT_OFF = ("transport error", "h2 protocol error", "error reading a body from connection")
"""How the SDK's gRPC library begins the message of a call whose connection broke."""
_NO_ACCESS = ("Unauthenticated", "PermissionDenied")
_SAGAS = 10_000
_CLOSED = "it is closed, or never was"
_SENDINGS = 5
"""Attempts to send an update while the server drops the task that should deliver it."""
_FULL_S = 120.0
"""How long an update waits for its place: the server takes ten of one workflow at once."""
_TASK_DROPPED = "unexpected workflow task failure"
"""The server's message for a dropped task: another event reached the workflow while the task
ran."""


class Connection:
    """A Temporal client and the task queue on which missions start."""

    def __init__(self, temporal: Client, task_queue: str) -> None:
        """Take a connected client, for example from `connect_temporal`."""
        self.temporal = temporal
        self.task_queue = task_queue
        self._answered_at: dict[str, float] = {}
        self._workflows: dict[str, str] = {}
        self._slots: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self.histories = RunHistories(temporal)

    def update_slots(self, workflow_id: str, number: int) -> asyncio.Semaphore:
        """Return the slots for updates of a workflow, the same for all that hold them."""
        return self._slots.setdefault(workflow_id, asyncio.Semaphore(number))

    @cached_property
    def replays(self) -> "Replays":
        """Return the reader of workflow states from histories."""
        from orchestrator.client.history_replay import Replays  # loads the SDK's worker

        return Replays(self.temporal)

    def note_worker(self, workflow_id: str) -> None:
        """Note that a worker has just worked on this workflow: calls need not check for one."""
        now = time.monotonic()
        self._answered_at = {i: at for i, at in self._answered_at.items() if now - at < _RECENT_S}
        self._answered_at[workflow_id] = now

    def note_saga(self, saga_id: str, workflow_id: str) -> None:
        """Note the workflow of a saga whose card was read: its decision need not search for it."""
        self._workflows[saga_id] = workflow_id
        if len(self._workflows) > _SAGAS:
            del self._workflows[next(iter(self._workflows))]

    def workflow_of(self, saga_id: str) -> str | None:
        """Return the noted workflow of a saga."""
        return self._workflows.get(saga_id)

    async def stuck(self, found: WorkflowExecutionDescription) -> errors.ServiceUnavailable | None:
        """Return why a workflow cannot continue: no worker can help if its tasks fail."""
        with self.explaining(found.id):
            return await stuck(self.temporal, found)

    async def absence_for(self, found: WorkflowExecutionDescription) -> errors.NoWorker | None:
        """Return why no worker would continue a workflow; None when one would."""
        info = found.raw_description.workflow_execution_info.versioning_info
        return await self.absence(found.task_queue, pinned_version(info))

    async def absence(
        self,
        task_queue: str,
        pinned_to: Version | None = None,
        *,
        kind: "TaskQueueType.ValueType" = TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    ) -> errors.NoWorker | None:
        """Return why no worker would take tasks of a queue; None when one would."""
        with self.explaining():
            return await absence(self.temporal, task_queue, pinned_to, kind=kind)

    async def describe(self, workflow_id: str) -> WorkflowExecutionDescription:
        """Return the server's description of a workflow, or raise MissionNotFound."""
        with self.explaining(workflow_id):
            return await self.temporal.get_workflow_handle(workflow_id).describe()

    async def mission(self, mission_id: str) -> WorkflowExecutionDescription:
        """Return the description of a mission; raise MissionNotFound for any other workflow."""
        found = await self.describe(mission_id)
        if found.workflow_type != names.MISSION_WORKFLOW:
            raise errors.MissionNotFound(mission_id)
        return found

    async def update(
        self,
        workflow_id: str,
        name: str,
        message: Record,
        kind: type[T],
        *,
        about: str,
        update_id: str | None = None,
    ) -> T:
        """Send an update and wait for its result; a refusal is raised as our own error.

        Errors name `about`, the id that the caller named. The server takes an `update_id` once: by
        it, the caller may send the update again if nobody answers.

        Raises:
            NoWorker: as NothingSent: no worker is there to handle the update.
            NoAnswer: nobody answered in time; if a worker returns soon, the update may still apply.
            CardUnknown: the workflow is over, or there is none.
            UsageError: nothing was sent.
        """
        await check_size(self.temporal, message, what=f"what is sent about {about}")
        answered_at = self._answered_at.get(workflow_id, -math.inf)
        if time.monotonic() - answered_at >= _RECENT_S:
            try:
                taker = await self.describe(workflow_id)
            except errors.MissionNotFound:
                raise errors.CardUnknown(about, _CLOSED) from None
            if taker.status is not WorkflowExecutionStatus.RUNNING:
                raise errors.CardUnknown(about, _CLOSED)
            if (missing := await self.absence_for(taker)) is not None:
                text = f"nothing was decided about {about}: {missing}, then decide again"
                raise errors.NoWorker(text, code="NothingSent")
        handle = self.temporal.get_workflow_handle(workflow_id)
        identity = update_id or str(uuid.uuid4())

        async def send() -> T:
            answer: T = await handle.execute_update(
                name, message, id=identity, result_type=kind, rpc_timeout=_ANSWER
            )
            self.note_worker(workflow_id)
            return answer

        try:
            return await _sent_until_taken(send)
        except WorkflowUpdateRPCTimeoutOrCancelledError as error:
            taker = await self.describe(workflow_id)
            if (why := await self.stuck(taker)) is not None:
                raise why from error
            sent = f"what was sent about {about}"
            raise no_answer(taker.task_queue, _ANSWER.total_seconds(), sent) from error
        except WorkflowUpdateFailedError as error:
            cause = error.cause
            if not isinstance(cause, ApplicationError):
                raise errors.UsageError(str(cause)) from error
            made = errors.error_named(cause.message, cause.details[0]) if cause.details else None
            if made is None or type(made) is errors.OrchestratorError:
                raise errors.UsageError(cause.message) from error
            raise made from error
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                raise errors.CardUnknown(about, _CLOSED) from error
            raise self.explained(error, workflow_id) from error

    async def is_running(self, workflow_id: str, *, missing: bool | None = None) -> bool:
        """Return True if a workflow runs; `missing` is the answer for one that does not exist."""
        try:
            description = await self.temporal.get_workflow_handle(workflow_id).describe()
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND and missing is not None:
                return missing
            raise self.explained(error, workflow_id) from error
        return description.status is WorkflowExecutionStatus.RUNNING

    @contextmanager
    def explaining(self, workflow_id: str = "") -> Iterator[None]:
        """Raise our own error in place of a server error that has one."""
        try:
            yield
        except RPCError as error:
            raise self.explained(error, workflow_id) from error

    def explained(self, error: RPCError, workflow_id: str) -> Exception:
        """Return our own error for a server error, or the same error if there is none."""
        if error.status is RPCStatusCode.NOT_FOUND:
            return errors.MissionNotFound(workflow_id)
        # A connection that breaks during a call leaves no gRPC status of its own.
        broken = error.status in (RPCStatusCode.UNKNOWN, RPCStatusCode.INTERNAL)
        is_cut_off = broken and error.message.startswith(_CUT_OFF)
        if error.status is RPCStatusCode.UNAVAILABLE or is_cut_off:
            return errors.ServerUnreachable(self.temporal.service_client.config.target_host)
        is_invalid = error.status is RPCStatusCode.INVALID_ARGUMENT
        if is_invalid and "search attribute" in error.message.lower():
            return errors.ServiceUnavailable(
                f"the namespace {self.temporal.namespace!r} has no search attributes of missions, "
                "perhaps because its database is new; a worker adds them when it starts, and "
                "within a minute while it runs: start one, and try again",
                code="NamespaceUnprepared",
            )
        if _is_about_size(error):
            return errors.UsageError(
                f"the Temporal server does not take a message of that size: {error.message}"
            )
        if error.status in _UNANSWERED:
            return no_answer(self.task_queue, _ANSWER.total_seconds())
        return error

    async def await_poller(self) -> None:
        """Wait a few seconds for a worker, as the server does not see a new worker at once."""
        deadline = asyncio.get_running_loop().time() + _POLLER_WAIT_S
        while (missing := await self.absence(self.task_queue)) is not None:
            if asyncio.get_running_loop().time() > deadline:
                raise missing
            await asyncio.sleep(0.1)

    async def taken_up(self, workflow_id: str, *, within: timedelta) -> None:
        """Wait until a worker has done the first task of a workflow.

        It shows in history, which costs the workflow nothing. Pollers prove no worker: the server
        remembers dead ones for minutes.

        Raises:
            NoAnswer: no worker has, in that time; the workflow stays.
        """
        handle = self.temporal.get_workflow_handle(workflow_id)
        events = handle.fetch_history_events(wait_new_event=True, skip_archival=True)
        try:
            with self.explaining(workflow_id):
                async with asyncio.timeout(within.total_seconds()):
                    async for event in events:
                        if event.event_type == _TASK_DONE:
                            return
        except TimeoutError:
            raise no_answer(self.task_queue, within.total_seconds()) from None


async def _sent_until_taken(send: Callable[[], Awaitable[T]]) -> T:
    """Retry an update under one id while the server has no place for it or drops its task.

    Neither leaves anything behind, and the same id names the same update.
    """
    deadline = asyncio.get_running_loop().time() + _FULL_S
    drops = 0
    while True:
        try:
            return await send()
        except RPCError as error:
            is_full = error.status is RPCStatusCode.RESOURCE_EXHAUSTED and not _is_about_size(error)
            is_dropped = (
                error.status is RPCStatusCode.FAILED_PRECONDITION and _TASK_DROPPED in error.message
            )
            drops += is_dropped
            is_due = asyncio.get_running_loop().time() < deadline
            if not ((is_full and is_due) or (is_dropped and drops < _SENDINGS)):
                raise
        await asyncio.sleep(random.uniform(0.2, 1) if is_full else 0.1 * drops)


async def until_answered(ask: Callable[[], Awaitable[T]], *, notify: Notify | None = None) -> T:
    """Retry a call while no worker or no server answers, as both are soon replaced.

    Without `notify`, which is called with each reason, the last reason is raised after minutes.
    """
    deadline = asyncio.get_running_loop().time() + _ABSENCE_S
    while True:
        try:
            return await ask()
        except (errors.NoWorker, errors.ServerUnreachable) as absence:
            if notify is not None:
                notify(absence)
            elif asyncio.get_running_loop().time() > deadline:
                raise
            await asyncio.sleep(0.5)


async def connect_temporal(address: str | None = None, settings: Settings | None = None) -> Client:
    """Connect to an address HOST:PORT, or as the SDK's environment configuration says.

    The settings, else those of the ORCHESTRATOR_* variables, determine the data converter.

    Raises:
        ServerUnreachable: nothing answers at the address.
        UsageError: as ServerRefused: the server accepts neither key nor certificate.
        UsageError: as PayloadKeysInvalid: the payload keys are malformed.
    """
    converter = converter_of(settings or load_settings())
    config = ClientConfig.load_client_connect_config()
    config["target_host"] = address or config.get("target_host") or "localhost:7233"
    try:
        return await Client.connect(**config, data_converter=converter, plugins=tracing_plugins())
    except RuntimeError as error:
        # The SDK has no type for this failure: its message holds the gRPC status.
        if not any(f"code: {status}" in str(error) for status in _NO_ACCESS):
            raise errors.ServerUnreachable(config["target_host"]) from error
        raise errors.UsageError(
            f"the Temporal server at {config['target_host']} does not let us in; give it the right "
            "key or certificate (TEMPORAL_API_KEY, TEMPORAL_TLS_CLIENT_CERT_PATH)",
            code="ServerRefused",
        ) from error


# -- sizes of messages -----------------------------------------------------------------------------


async def check_size(temporal: Client, message: Record, *, what: str) -> None:
    """Refuse a message that its workflow or a store could not take, which would block it for good.

    `what` is its name in errors.

    Raises:
        UsageError: the message is too large, is nested too deep, or holds half a character, the
            character NUL or too large a number.
    """
    try:
        encoded = message.model_dump_json()
        defect = find_defect(json.loads(encoded))
    except (ValueError, RecursionError):
        # Without pydantic's message, which may quote a value.
        raise errors.UsageError(f"{what} cannot be written as JSON in UTF-8") from None
    if defect is not None:
        place = ".".join(map(str, defect.path))
        raise errors.UsageError(f"{what}: {place}: {defect.reason}")
    if _NUL.search(encoded):
        raise errors.UsageError(
            f"{what} holds the character U+0000, which databases do not store; leave it out"
        )
    # Not encoded: a large payload would be stored, and only its reference measured.
    payloads = temporal.data_converter.payload_converter.to_payloads([message])
    size = sum(len(payload.data) for payload in payloads)
    if size > LARGEST_MESSAGE:
        raise errors.UsageError(
            f"{what} is {size / 1e6:.1f} MB large, and at most {LARGEST_MESSAGE / 1e6:.1f} MB are "
            "taken, for every step carries it on; give a reference, such as an id or a URL, in "
            "place of the content"
        )


async def check_request(temporal: Client, request: MissionRequest) -> None:
    """Refuse a mission whose request is too large, before any of its values is stored."""
    if len(request.inputs) > MOST_INPUTS:
        raise errors.UsageError(
            f"the mission has {len(request.inputs):,} inputs, and at most {MOST_INPUTS:,} are "
            "taken; give those that its tools need"
        )
    await check_size(temporal, request, what="the mission's request")


def _is_about_size(error: RPCError) -> bool:
    """Return True if the server, or a proxy in front of it, refused a message for its size."""
    return error.status in _SIZE_STATUS and any(part in error.message for part in _TOO_LARGE)
