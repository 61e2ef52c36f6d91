"""The connection to Temporal: asking, telling, finding out whether a worker is there.

What the server refuses comes out as our own errors, each saying what to do about it.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

from temporalio.client import (
    Client,
    WithStartWorkflowOperation,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
    WorkflowUpdateStage,
)
from temporalio.envconfig import ClientConfig
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.adapters.telemetry.connecting import tracing_plugins
from orchestrator.adapters.temporal.pinned_builds import Version, pinned_version
from orchestrator.client.message_size import check_size, is_about_size
from orchestrator.client.payloads import converter_of
from orchestrator.client.recent_answers import RecentAnswers
from orchestrator.client.stuck_workflows import stuck
from orchestrator.client.task_queues import absence
from orchestrator.core import errors
from orchestrator.core.payload_errors import PayloadLocked
from orchestrator.core.record import Record
from orchestrator.messages import names
from orchestrator.settings import Settings, load_settings

T = TypeVar("T")
_POLLER_WAIT_S = 3.0
PICK_UP = timedelta(seconds=6)
"""How long a worker may take to begin with a workflow before we say that it is queued."""
_SOON_S = 1.0
"""Without an answer for that long, we look whether there is anybody who could give it."""
_ABSENCE_S = 120.0
_ANSWER = timedelta(seconds=20)
"""How long a worker may take to answer: it may first have to replay a long history."""
_UNANSWERED = (
    RPCStatusCode.DEADLINE_EXCEEDED,
    RPCStatusCode.CANCELLED,
    RPCStatusCode.FAILED_PRECONDITION,
)
_CUT_OFF = ("transport error", "h2 protocol error", "error reading a body from connection")
"""How the SDK's gRPC library begins the message of a call whose connection broke."""
_NOT_LET_IN = ("Unauthenticated", "PermissionDenied")
_CLOSED = "it is closed, or never was"
_REPLAYS = 5
"""How often workers may send one query back, each while it replays the run."""
_SENDINGS = 5
"""How often one update is sent while the server drops the task that was to take it."""
_ANOTHER_MAY = (names.RUN_REPLAYED, PayloadLocked.UNKNOWN_HERE)
"""In the words with which a worker sends a query back that it, or another one, may answer next."""
_TASK_DROPPED = "unexpected workflow task failure"
"""The server's words for that: something else came to the workflow while the task was at work."""


class Connection:
    """A Temporal client, and the task queue that missions are started on."""

    def __init__(self, temporal: Client, task_queue: str) -> None:
        """Take a connected client, as `connect_temporal` makes it."""
        self.temporal = temporal
        self.task_queue = task_queue
        self._answers = RecentAnswers()

    async def query(self, workflow_id: str, name: str, kind: type[T]) -> T:
        """Ask a workflow, running or closed.

        Where nobody polls its task queue, that is said at once. What came to nothing because the
        SDK's core dropped it, while it let go of a run, is asked once more; what a worker sent
        back, as often as several workers may.
        """
        timeouts = [_ANSWER * 2 / 3, _ANSWER / 3]
        replays = 0
        while True:
            try:
                return await self._query_once(workflow_id, name, kind, rpc_timeout=timeouts[-1])
            except errors.NoAnswer:
                await self._check_goes_on(workflow_id)
                timeouts.pop()
                if not timeouts:
                    raise errors.NoAnswer(
                        await self._queue_of(workflow_id), _ANSWER.total_seconds()
                    ) from None
            except errors.RunReplayed:
                replays += 1
                if replays > _REPLAYS:
                    raise

    async def _query_once(
        self, workflow_id: str, name: str, kind: type[T], *, rpc_timeout: timedelta
    ) -> T:
        handle = self.temporal.get_workflow_handle(workflow_id)
        asking = asyncio.ensure_future(
            handle.query(name, result_type=kind, rpc_timeout=rpc_timeout)
        )
        try:
            with self.explaining(workflow_id):
                done, _ = await asyncio.wait([asking], timeout=_SOON_S)
                if not done:
                    await self._check_polled(workflow_id)
                answer: T = await asking
                self._answers.note(workflow_id)
                return answer
        finally:
            asking.cancel()

    async def _check_goes_on(self, workflow_id: str) -> None:
        """Say so where no worker can help, since its code cannot take what it is given.

        Raises:
            WorkflowStuck: its tasks fail.
        """
        if (why := await self.stuck(await self.describe(workflow_id))) is not None:
            raise why

    async def stuck(self, found: WorkflowExecutionDescription) -> errors.WorkflowStuck | None:
        """Why a workflow cannot go on; None while its tasks do not fail."""
        with self.explaining(found.id):
            return await stuck(self.temporal, found)

    async def _queue_of(self, workflow_id: str) -> str:
        """The task queue that a workflow waits on: that of its agent, or of its mission."""
        with self.explaining(workflow_id):
            return (await self.describe(workflow_id)).task_queue

    async def _check_polled(self, workflow_id: str) -> None:
        """Say so where nobody polls for a workflow.

        Raises:
            NoWorker: nobody does.
        """
        with self.explaining(workflow_id):
            found = await self.describe(workflow_id)
        if (missing := await self._absence_for(found)) is not None:
            raise missing

    async def _absence_for(self, found: WorkflowExecutionDescription) -> errors.NoWorker | None:
        info = found.raw_description.workflow_execution_info.versioning_info
        return await self.absence(found.task_queue, pinned_version(info))

    async def absence(
        self, task_queue: str, pinned_to: Version | None = None
    ) -> errors.NoWorker | None:
        """Why no worker would take what waits in a task queue; None when one would."""
        with self.explaining():
            return await absence(self.temporal, task_queue, pinned_to)

    async def has_poller(self) -> bool:
        """Whether a worker would take a new mission, as far as the server knows."""
        return await self.absence(self.task_queue) is None

    async def describe(self, workflow_id: str) -> WorkflowExecutionDescription:
        """What the server knows of a workflow without asking any worker.

        Raises:
            MissionNotFound: nothing.
        """
        with self.explaining(workflow_id):
            return await self.temporal.get_workflow_handle(workflow_id).describe()

    async def mission(self, mission_id: str) -> WorkflowExecutionDescription:
        """What the server knows of a mission without asking any worker.

        Raises:
            MissionNotFound: nothing; or what has that id is a leg, a rollback or a stranger's.
        """
        found = await self.describe(mission_id)
        if found.workflow_type != names.MISSION_WORKFLOW:
            raise errors.MissionNotFound(mission_id)
        return found

    async def update(
        self, workflow_id: str, name: str, message: Record, kind: type[T], *, about: str
    ) -> T:
        """Send an update and wait for its result; a refusal is raised as our own error.

        `about` is the id that the caller named, for an error to name it too.

        Raises:
            NothingSent: nobody is there to take it, so that it was not sent.
            NoAnswer: nobody answered in time; should a worker come back soon, it may still count.
            CardUnknown: the workflow is over, or there is none.
            MessageTooLarge: nothing was sent.
        """
        await check_size(self.temporal, message, what=f"what is sent about {about}")
        if not self._answers.is_recent(workflow_id):
            await self._check_taken(workflow_id, about)
        handle = self.temporal.get_workflow_handle(workflow_id)
        update_id = str(uuid.uuid4())

        async def send() -> T:
            answer: T = await handle.execute_update(
                name, message, id=update_id, result_type=kind, rpc_timeout=_ANSWER
            )
            return answer

        try:
            return await _sent_until_taken(send)
        except WorkflowUpdateRPCTimeoutOrCancelledError as error:
            queue, waited = await self._queue_of(workflow_id), _ANSWER.total_seconds()
            raise errors.NoAnswer(queue, waited, f"what was sent about {about}") from error
        except WorkflowUpdateFailedError as error:
            raise _refusal(error) from error
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                raise errors.CardUnknown(about, _CLOSED) from error
            raise self.explained(error, workflow_id) from error

    async def _check_taken(self, workflow_id: str, about: str) -> None:
        """Find out whether anybody would take what is sent to a workflow.

        Raises:
            NothingSent: nobody does.
            CardUnknown: it is over, or there is none.
        """
        try:
            taker = await self.describe(workflow_id)
        except errors.MissionNotFound:
            raise errors.CardUnknown(about, _CLOSED) from None
        if taker.status is not WorkflowExecutionStatus.RUNNING:
            raise errors.CardUnknown(about, _CLOSED)
        if (missing := await self._absence_for(taker)) is not None:
            raise errors.NothingSent(
                taker.task_queue, about, build=missing.build, waits_in=missing.waits_in
            )

    async def is_running(self, workflow_id: str, *, missing: bool | None = None) -> bool:
        """Whether a workflow runs; `missing` is the answer for one that does not exist."""
        try:
            description = await self.temporal.get_workflow_handle(workflow_id).describe()
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND and missing is not None:
                return missing
            raise self.explained(error, workflow_id) from error
        return description.status is WorkflowExecutionStatus.RUNNING

    @contextmanager
    def explaining(self, workflow_id: str = "") -> Iterator[None]:
        """Raise our own error for what the server answers in here, where there is one."""
        try:
            yield
        except (RPCError, WorkflowQueryFailedError) as error:
            raise self.explained(error, workflow_id) from error

    def explained(self, error: RPCError | WorkflowQueryFailedError, workflow_id: str) -> Exception:
        """Our own error for what the server answered, where there is one."""
        if isinstance(error, WorkflowQueryFailedError):
            again = any(words in str(error) for words in _ANOTHER_MAY)
            failed = errors.RunReplayed if again else errors.QueryFailed
            return failed(workflow_id, str(error))
        if error.status is RPCStatusCode.NOT_FOUND:
            return errors.MissionNotFound(workflow_id)
        if error.status is RPCStatusCode.UNAVAILABLE or _is_cut_off(error):
            return errors.ServerUnreachable(self.temporal.service_client.config.target_host)
        if is_about_size(error):
            return errors.UsageError(
                f"the Temporal server does not take a message of that size: {error.message}"
            )
        if error.status in _UNANSWERED:
            return errors.NoAnswer(self.task_queue, _ANSWER.total_seconds())
        return error

    async def await_poller(self) -> None:
        """Wait a few seconds for a worker: one that has just started is not known at once."""
        deadline = asyncio.get_running_loop().time() + _POLLER_WAIT_S
        while (missing := await self.absence(self.task_queue)) is not None:
            if asyncio.get_running_loop().time() > deadline:
                raise missing
            await asyncio.sleep(0.1)

    async def start_with(
        self,
        start: "WithStartWorkflowOperation[Any, Any]",
        name: str,
        message: Record,
        kind: type[T],
        *,
        update_id: str,
        within: timedelta | None = PICK_UP,
    ) -> T:
        """Start a workflow, unless it runs already, and send it an update in the same request.

        The same update id again is the same update, whoever sends it. Its answer is the proof that
        there is a worker: the server remembers dead pollers for minutes. No answer proves nothing:
        the workflow may have been started, and its worker be busy.

        Raises:
            OrchestratorError: the update was refused.
            WorkflowAlreadyStartedError: it ran, and is over.
            NoAnswer: no answer came in time.
        """
        started = asyncio.create_task(start.workflow_handle())
        try:
            update = await self.temporal.start_update_with_start_workflow(
                name,
                message,
                start_workflow_operation=start,
                wait_for_stage=WorkflowUpdateStage.COMPLETED,
                id=update_id,
                result_type=kind,
                rpc_timeout=within,
            )
            answer: T = await update.result()
            return answer
        except WorkflowUpdateFailedError as error:
            raise _refusal(error) from error
        except WorkflowUpdateRPCTimeoutOrCancelledError as error:
            waited = (within or _ANSWER).total_seconds()
            raise errors.NoAnswer(self.task_queue, waited) from error
        except RPCError as error:
            raise self.explained(error, "") from error
        finally:
            await _look_at(started)


async def _look_at(task: "asyncio.Task[Any]") -> None:
    """Wait for a task whose error is known already: asyncio reports those nobody looked at."""
    await asyncio.wait([task], timeout=1)
    if not task.done():
        task.cancel()
    elif not task.cancelled():
        task.exception()


def _is_cut_off(error: RPCError) -> bool:
    """Whether the connection broke during the call, for which gRPC has no status of its own."""
    broken = error.status in (RPCStatusCode.UNKNOWN, RPCStatusCode.INTERNAL)
    return broken and error.message.startswith(_CUT_OFF)


async def _sent_until_taken(send: Callable[[], Awaitable[T]]) -> T:
    """Send an update of one id again while the server drops the task that was to take it.

    A dropped task leaves nothing behind, and the same id is the same update.
    """
    for sending in range(1, _SENDINGS):
        try:
            return await send()
        except RPCError as error:
            dropped = error.status is RPCStatusCode.FAILED_PRECONDITION
            if not dropped or _TASK_DROPPED not in error.message:
                raise
        await asyncio.sleep(0.1 * sending)
    return await send()


async def until_answered(
    ask: Callable[[], Awaitable[T]], *, tell: Callable[[Exception], None] | None = None
) -> T:
    """The answer, waited for while no worker or no server gives it: they are soon replaced.

    Args:
        ask: asked again and again.
        tell: given what is in the way each time; with it, there is no end to the waiting.

    Raises:
        NoWorker, ServerUnreachable: there was none for minutes.
    """
    deadline = asyncio.get_running_loop().time() + _ABSENCE_S
    while True:
        try:
            return await ask()
        except (errors.NoWorker, errors.ServerUnreachable) as absence:
            if tell is not None:
                tell(absence)
            elif asyncio.get_running_loop().time() > deadline:
                raise
            await asyncio.sleep(0.5)


async def connect_temporal(address: str | None = None, settings: Settings | None = None) -> Client:
    """A Temporal client from the SDK's environment configuration, or for this address.

    Args:
        address: HOST:PORT, in place of what the SDK's variables and files say.
        settings: of how messages are written; None: as the ORCHESTRATOR_* variables say.

    Raises:
        ServerUnreachable: nothing answers at the address.
        ServerRefused: what answers takes neither key nor certificate.
        PayloadKeysInvalid: the keys of payloads are not written as they should be.
    """
    converter = converter_of(settings or load_settings())
    config = ClientConfig.load_client_connect_config()
    config["target_host"] = address or config.get("target_host") or "localhost:7233"
    try:
        return await Client.connect(**config, data_converter=converter, plugins=tracing_plugins())
    except RuntimeError as error:
        # The SDK has no type for what went wrong: its words hold the status that gRPC gave.
        is_refused = any(f"code: {status}" in str(error) for status in _NOT_LET_IN)
        failed = errors.ServerRefused if is_refused else errors.ServerUnreachable
        raise failed(config["target_host"]) from error


def _refusal(error: WorkflowUpdateFailedError) -> errors.OrchestratorError:
    """The refusal of an update as our own error, of the same kind as the workflow raised."""
    cause = error.cause
    if not isinstance(cause, ApplicationError):
        return errors.UsageError(str(cause))
    made = errors.error_named(cause.type or "", cause.details[0]) if cause.details else None
    return made or errors.UsageError(cause.message)
