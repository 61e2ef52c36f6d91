"""OrchestratorPlugin: everything that a worker of Temporal's SDK needs to serve a ToolSaga."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.common import VersioningBehavior
from temporalio.plugin import SimplePlugin
from temporalio.worker import ReplayerConfig, Worker, WorkerConfig

from orchestrator.activities import all_activities
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.files import private_folder
from orchestrator.adapters.storage.store import Store
from orchestrator.adapters.temporal.plain_records import client_for_records, with_plain_records
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.python_functions import FunctionTool
from orchestrator.client.stores import store_of
from orchestrator.core.errors import UsageError
from orchestrator.core.record import build_records
from orchestrator.messages.observed import MODES, Mode
from orchestrator.runtime.defaults import default_approval_keys, default_routers, default_tools
from orchestrator.runtime.notice_parts import default_notices
from orchestrator.runtime.retention_rounds import keep_retention
from orchestrator.runtime.worker import introduce, load_catalog, workflow_runner
from orchestrator.runtime.worker_state import LockedCalls
from orchestrator.settings import Settings, load_policy, load_settings
from orchestrator.temporal.session_service import SessionService
from orchestrator.workflows import (
    NoticesWorkflow,
    NoticeWorkflow,
    RollbackWorkflow,
    SessionCallWorkflow,
    SessionWorkflow,
    SweepWorkflow,
)
from orchestrator.workflows.notices_workflow import UpgradedNoticesWorkflow, UpgradedNoticeWorkflow
from orchestrator.workflows.saga_desk import SagaRouting

_POLL: Final = timedelta(seconds=70)
"""A poll lasts a minute: a live worker begins another poll within this time."""
_PROCESS: Final = re.compile(r"\d+@(?P<host>.+)")
"""The SDK's default identity of a worker."""


class OrchestratorPlugin(SimplePlugin):
    """Lets the workflows of a client's workers make guarded calls.

        client = await Client.connect(
            "localhost:7233", plugins=[OrchestratorPlugin(specs=["specs/"])]
        )
        worker = Worker(client, task_queue="trips", workflows=[Trip])

    Each worker gets the activities, the rollback and the sweep of `ToolSaga`, and a desk for each
    workflow, where people decide on its cards. The client's data converter, codec and interceptors
    are not changed: the messages of sagas are JSON under any of them.
    """

    def __init__(
        self,
        *,
        specs: str | Path | Sequence[str | Path] = (),
        overlays: Sequence[str | Path] = (),
        functions: Sequence[FunctionTool[Any, Any]] = (),
        store: str | Path | None = None,
        settings: Settings | None = None,
        mode: Mode = "guard",
    ) -> None:
        """Prepare the plugin; nothing is read until a worker is created.

        Args:
            specs: OpenAPI documents, as files and folders; none: the documents of
                ORCHESTRATOR_SPECS.
            overlays: applied to the documents, in this order.
            functions: further tools, as Python functions with `@tool`.
            store: URL of the PostgreSQL database that all workers share, or a folder for workers on
                one machine; None: the store of the settings.
            settings: all other settings; None: those of the ORCHESTRATOR_* variables. The task
                queue is the worker's.
            mode: of sagas that state none. `observe` makes their calls as they are, and only
                records what a guard would have done; ORCHESTRATOR_OBSERVE=true only allows that.
        """
        super().__init__("orchestrator.OrchestratorPlugin")
        if mode not in MODES:
            raise UsageError(f"{mode!r} is no mode of sagas; use one of: {', '.join(MODES)}")
        self._specs = (specs,) if isinstance(specs, str | Path) else tuple(specs)
        self._overlays = tuple(overlays)
        self._functions = tuple(functions)
        self._store = store
        self._settings = settings
        self._mode = mode

    def configure_worker(self, config: WorkerConfig) -> WorkerConfig:
        """Add the workflows, activities and interceptors of sagas to a worker.

        Raises:
            UsageError: there are no documents, the worker serves sagas already, or its deployment
                has no default behavior.
            DocumentInvalid, DocumentUnreadable: a document is at fault.
        """
        _check_not_served(config)
        _check_versioning(config)
        settings = self._settings_of(config["task_queue"])
        client = client_for_records(config["client"])
        parts = _Parts(settings, client, self._functions, observes=self._mode == "observe")
        config["client"] = client
        config["activities"] = [*config.get("activities", ()), *parts.activities()]
        deployment = config.get("deployment_config")
        ours = _workflows(has_builds=deployment is not None and deployment.use_worker_versioning)
        config["workflows"] = [*config.get("workflows", ()), *ours]
        services = config.get("nexus_service_handlers", ())
        config["nexus_service_handlers"] = [*services, SessionService()]
        config["workflow_runner"] = workflow_runner(config.get("workflow_runner"))
        added = [LockedCalls(), _ServedSagas(parts)]
        config["interceptors"] = [*config.get("interceptors", ()), *added]
        return config

    def configure_replayer(self, config: ReplayerConfig) -> ReplayerConfig:
        """Let a replayer read histories of workflows with sagas."""
        if (converter := config.get("data_converter")) is not None:
            config["data_converter"] = with_plain_records(converter)
        config["workflow_runner"] = workflow_runner(config.get("workflow_runner"))
        config["interceptors"] = [*config.get("interceptors", ()), SagaRouting()]
        return config

    async def run_worker(self, worker: Worker, next: Callable[[Worker], Awaitable[None]]) -> None:
        """Run a worker while its store is open.

        Raises:
            UsageError: its store is a file, and workers on other machines serve its task queue.
            StoreRefused, StoreUnavailable: the store cannot be used.
        """
        added = worker.config(active_config=True)["interceptors"]
        (served,) = (one for one in added if isinstance(one, _ServedSagas))
        async with served.parts.opened():
            build_records()
            await next(worker)

    def _settings_of(self, task_queue: str) -> Settings:
        settings = self._settings or load_settings()
        changes: dict[str, object] = {"task_queue": task_queue}
        if self._specs:
            changes |= {"specs": tuple(map(Path, self._specs)), "overlays": ()}
        if self._overlays:
            changes["overlays"] = tuple(map(Path, self._overlays))
        if self._store is not None and "://" in str(self._store):
            changes["store"] = SecretStr(str(self._store))
        elif self._store is not None:
            changes |= {"state_dir": Path(self._store), "store": None, "store_file": None}
        if not self._specs and "specs" not in settings.model_fields_set:
            changes["specs"] = ()
        if not (self._functions or changes.get("specs", settings.specs)):
            raise UsageError(
                "OrchestratorPlugin has no tools: name the OpenAPI documents of their services, as "
                'OrchestratorPlugin(specs=["specs/"]) or in ORCHESTRATOR_SPECS'
            )
        return settings.model_copy(update=changes)


class _Parts:
    """Dependencies of the activities of one worker."""

    def __init__(
        self,
        settings: Settings,
        client: Client,
        functions: Sequence[FunctionTool[Any, Any]],
        *,
        observes: bool,
    ) -> None:
        self.settings = settings
        self.observes = observes
        self.client = client
        self.catalog: Catalog = load_catalog(settings, functions)
        self.store: Store = store_of(settings)
        self.tools: ToolClient = default_tools(settings, self.store, self.catalog)

    def activities(self) -> list[Callable[..., Any]]:
        """Return the activities of sagas, and of notices about their cards."""
        return all_activities(
            catalog=self.catalog,
            catalogs=self.store.catalogs,
            routers=default_routers(self.settings),
            planner=None,
            agents=(),
            tools=self.tools,
            grants=self.store.grants,
            traces=self.store.traces,
            client=self.client,
            policy=load_policy(self.settings.mission_policy),
            approval_keys=default_approval_keys(self.settings),
            observations=self.store.observations,
            serves_sagas=True,
            may_observe=self.observes or self.settings.observe,
            observes_sagas=self.observes,
            notices=default_notices(self.settings, self.client, self.store),
        )

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Keep the store and the connections open, and remove expired data meanwhile."""
        with contextlib.suppress(OSError):  # the store reports the fault of its folder
            private_folder(self.settings.state_dir)
        async with self.store, self.tools:
            if self.store.is_file:
                await check_one_machine(self.client, self.settings.task_queue)
            await asyncio.to_thread(self.store.catalogs.put, self.catalog)
            await introduce(self.client, self.settings)
            rounds = asyncio.create_task(keep_retention(self.client, self.settings, self.store))
            try:
                yield
            finally:
                rounds.cancel()


class _ServedSagas(SagaRouting):
    """The routing of one worker, with the worker's dependencies."""

    def __init__(self, parts: _Parts) -> None:
        self.parts = parts


def _workflows(*, has_builds: bool) -> tuple[type, ...]:
    """Return the workflows that a worker with sagas serves in addition to its own."""
    notices = (
        (UpgradedNoticesWorkflow, UpgradedNoticeWorkflow)
        if has_builds
        else (NoticesWorkflow, NoticeWorkflow)
    )
    return (RollbackWorkflow, SweepWorkflow, SessionWorkflow, SessionCallWorkflow, *notices)


def _check_not_served(config: WorkerConfig) -> None:
    if RollbackWorkflow in config.get("workflows", ()):
        raise UsageError(
            "the worker serves sagas already, by run_worker(workflows=[...]) or a second plugin: "
            "leave one OrchestratorPlugin out"
        )


def _check_versioning(config: WorkerConfig) -> None:
    deployment = config.get("deployment_config")
    if deployment is None or not deployment.use_worker_versioning:
        return
    if deployment.default_versioning_behavior is VersioningBehavior.UNSPECIFIED:
        raise UsageError(
            "the rollbacks of sagas need a default of the worker's deployment: give its "
            "WorkerDeploymentConfig default_versioning_behavior=VersioningBehavior.PINNED"
        )


async def check_one_machine(client: Client, task_queue: str) -> None:
    """Refuse a store in a file while workers on other machines serve the task queue.

    The server remembers dead workers for minutes, so only workers that poll again meanwhile count.

    Raises:
        UsageError: there is such a worker.
    """
    own = _PROCESS.fullmatch(client.identity)
    if own is None:
        return
    first = await _polls_elsewhere(client, task_queue, own["host"])
    until = datetime.now(UTC) + _POLL
    now = first
    while now and datetime.now(UTC) < until:
        if alive := next((host for host in now if now[host] > first.get(host, now[host])), None):
            raise UsageError(
                f"the store of this worker is a file of its machine, and a worker on {alive} "
                f"serves the task queue {task_queue!r} too: give all of them one PostgreSQL store, "
                'as OrchestratorPlugin(store="postgresql://...") or in ORCHESTRATOR_STORE'
            )
        await asyncio.sleep(1)
        now = await _polls_elsewhere(client, task_queue, own["host"])


async def _polls_elsewhere(
    client: Client, task_queue: str, own_host: str
) -> Mapping[str, datetime]:
    """Return the last poll of workers on other machines, by host; dead workers are left out.

    A worker with a custom identity names no machine.
    """
    found: dict[str, datetime] = {}
    now = datetime.now(UTC)
    for kind in (TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY):
        answer = await client.workflow_service.describe_task_queue(
            DescribeTaskQueueRequest(
                namespace=client.namespace,
                task_queue=TaskQueue(name=task_queue),
                task_queue_type=kind,
            )
        )
        for poller in answer.pollers:
            named = _PROCESS.fullmatch(poller.identity)
            at = poller.last_access_time.ToDatetime(tzinfo=UTC)
            if named and named["host"] != own_host and now - at < _POLL:
                found[named["host"]] = max(at, found.get(named["host"], at))
    return found
