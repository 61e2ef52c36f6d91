"""The composition root, which wires everything a worker needs; and the worker process."""

import asyncio
import contextlib
import hashlib
import logging
import signal
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from temporalio.client import Client
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.worker import (
    Interceptor,
    Plugin,
    PollerBehaviorAutoscaling,
    PollerBehaviorSimpleMaximum,
    UnsandboxedWorkflowRunner,
    Worker,
    WorkerDeploymentConfig,
    WorkflowRunner,
)
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from orchestrator.activities import all_activities
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.files import FOLDER as THOUGHTS
from orchestrator.adapters.storage.files import BegunThoughts, private_folder
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.overlay import unmarked
from orchestrator.catalog.python_functions import FunctionTool
from orchestrator.client.connection import Connection, connect_temporal
from orchestrator.client.stores import store_of
from orchestrator.core import command_lines
from orchestrator.core.errors import UnreadWarning, UsageError
from orchestrator.core.record import build_records
from orchestrator.planning.models import AgentProfile
from orchestrator.planning.planner import Planner
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import Embedder
from orchestrator.runtime.defaults import (
    default_approval_keys,
    default_planner,
    default_routers,
    default_tools,
    list_mcp_servers,
)
from orchestrator.runtime.extensions import check_given, load_profiles
from orchestrator.runtime.notice_parts import default_notices
from orchestrator.runtime.registration import (
    keep_registered,
    register_search_attributes,
    registration_fault,
    schedule_sweep,
    start_notices,
)
from orchestrator.runtime.retention_rounds import keep_retention
from orchestrator.runtime.worker_state import (
    AwaitedParts,
    CountsActivities,
    LockedCalls,
    Phase,
    StoppedWaiting,
    WorkerState,
)
from orchestrator.settings import Settings, load_policy, load_settings
from orchestrator.workflows import ALL_WORKFLOWS, WORKFLOWS_OF_BUILDS
from orchestrator.workflows.saga_desk import SagaRouting

if TYPE_CHECKING:  # imports a database library
    from orchestrator.adapters.storage.store import Store

_log = logging.getLogger(__name__)
_PATIENCE_S = 30.0
"""Time in which an MCP server that is down when the worker starts may still come up."""
_STICKY = timedelta(seconds=3)
"""How long a workflow task waits for the worker that has its history cached, before other workers
may take it: short, so that missions continue soon after a worker dies."""

_BEATS_AT_MOST = timedelta(seconds=1)
"""Maximum time between two heartbeats to the server. The SDK's default, four fifths of the time
after which a worker counts as lost, left a busy worker only one second."""
PASSED_THROUGH: Final = ("orchestrator", "opentelemetry")
"""Modules that all runs of a process share: the SDK's sandbox does not re-import them for each run.

Workflow modules hold no state and read no clock, no random numbers, no file and no socket:
`tests/unit/test_public_sdk.py` checks every module that they import."""


def workflow_runner(runner: WorkflowRunner | None = None) -> WorkflowRunner:
    """Return a runner, the SDK's by default, with our own modules imported once for all runs."""
    runner = runner or SandboxedWorkflowRunner()
    if not isinstance(runner, SandboxedWorkflowRunner):
        return runner
    passed = runner.restrictions.with_passthrough_modules(*PASSED_THROUGH)
    return replace(runner, restrictions=passed)


def build(
    client: Client,
    settings: Settings,
    *,
    catalog: Catalog | None = None,
    store: "Store | None" = None,
    routers: Callable[[Catalog], Router] | None = None,
    planner: Planner | None = None,
    embedder: Embedder | None = None,
    agents: Sequence[AgentProfile] | None = None,
    tools: ToolClient | None = None,
    workflows: Sequence[type] = (),
    plugins: Sequence[Plugin] = (),
    interceptors: Sequence[Interceptor] = (),
) -> list[Worker]:
    """Return one worker per task queue: the settings' own, and those of agents that it serves.

    Everything is an argument with a real default; tests pass their own. An embedder is for the
    default routers. All stored data goes to the store. `workflows` are the user's own, whose calls
    go through a `ToolSaga`.
    """
    catalog = catalog or Catalog.load(*settings.specs, overlays=settings.overlays)
    store = store or store_of(settings)
    routers = routers or default_routers(settings, embedder)
    if agents is None:
        agents = load_profiles(settings, catalog, own_planner=planner is not None)
    activities = all_activities(
        catalog=catalog,
        catalogs=store.catalogs,
        routers=routers,
        planner=planner or default_planner(settings, routers, agents, store.observations),
        agents=agents,
        tools=tools or default_tools(settings, store, catalog),
        grants=store.grants,
        traces=store.traces,
        client=client,
        policy=load_policy(settings.mission_policy),
        approval_keys=default_approval_keys(settings),
        observations=store.observations,
        begun_thoughts=BegunThoughts(settings.state_dir / THOUGHTS),
        serves_sagas=bool(workflows),
        may_observe=settings.observe,
        slots=settings.max_activities,
        check_store=store.check,
        notices=default_notices(settings, client, store),
    )
    versions = worker_deployment(settings)
    return [
        Worker(
            client,
            task_queue=queue,
            workflows=[*(WORKFLOWS_OF_BUILDS if versions else ALL_WORKFLOWS), *workflows],
            activities=activities,
            # The sandbox guards only workflows of others, and takes a tenth of a worker's CPU.
            workflow_runner=workflow_runner() if workflows else UnsandboxedWorkflowRunner(),
            deployment_config=versions,
            build_id=None if versions else own_build_id(),
            sticky_queue_schedule_to_start_timeout=_STICKY,
            max_heartbeat_throttle_interval=_BEATS_AT_MOST,
            interceptors=[LockedCalls(), *([SagaRouting()] if workflows else []), *interceptors],
            plugins=plugins,
            **worker_limits(settings),
        )
        for queue in served_queues(settings, agents)
    ]


def served_queues(settings: Settings, agents: Sequence[AgentProfile]) -> Iterable[str]:
    """Return the task queues of a worker: its own, and those of agents that it must serve."""
    queues = dict.fromkeys(agent.task_queue for agent in agents if agent.task_queue)
    match settings.agent_queues:
        case ():
            wanted = tuple(queues)
        case ("none",):
            wanted = ()
        case wanted:
            if unknown := sorted({*wanted} - {*queues, settings.task_queue}):
                raise UsageError(
                    f"ORCHESTRATOR_AGENT_QUEUES: no agent profile of this worker names the task "
                    f"queue {unknown[0]!r}; name it in the profile of its agent, or leave it out"
                )
    return dict.fromkeys([settings.task_queue, *wanted])


def load_catalog(settings: Settings, functions: Iterable[FunctionTool[Any, Any]] = ()) -> Catalog:
    """Return the catalog of settings and functions; unreadable parts are logged as errors.

    Missions that began with a tool of such a part keep their pinned catalog.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreadWarning)
        catalog = Catalog.load(
            *settings.specs,
            overlays=settings.overlays,
            functions=functions,
            mcp=list_mcp_servers(settings, patience_s=_PATIENCE_S),
        )
    for file in catalog.unread:
        _log.error(
            "%s, and start the worker again; until then new missions have no tool of it, and those "
            "that began with one keep it",
            file,
        )
    return catalog


async def run_worker(
    client: Client | None = None,
    settings: Settings | None = None,
    *,
    planner: Planner | None = None,
    embedder: Embedder | None = None,
    catalog: Catalog | None = None,
    tools: ToolClient | None = None,
    store: "Store | None" = None,
    workflows: Sequence[type] = (),
    plugins: Sequence[Plugin] = (),
    ready: Callable[[], None] | None = None,
    connected: Callable[[Client], None] | None = None,
    metrics: Callable[[], tuple[bytes, str]] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; wait for an unavailable server or store.

    Args:
        client: from `connect_temporal`; None: as the SDK's variables and files say.
        settings: None: read from the ORCHESTRATOR_* variables.
        planner: splits goals and decides steps, in place of the settings' own.
        embedder: gives the router vectors, in place of the settings' own.
        catalog: the catalog to which new missions are pinned, in place of the settings' documents.
        tools: calls providers; closed when this function ends. None: from `default_tools`.
        store: holds all stored data, in place of the settings' own; closed when this function ends.
        workflows: the user's own, whose calls go through a `ToolSaga`.
        plugins: plugins for Temporal's worker.
        ready: called once, when polling has begun.
        connected: called once, with the client, before polling begins.
        metrics: returns body and content type of /metrics, if the settings enable it.

    Raises:
        UsageError: the planner or the embedder is invalid, or the file of agent profiles is.
        StoreRefused: the store cannot be used, or its key does not match its personal values.
        StoreUnavailable: the store is a file that cannot be opened.
    """
    check_given(planner, embedder)
    settings = settings or load_settings()
    with contextlib.suppress(OSError):  # whatever needs the folder reports the problem
        private_folder(settings.state_dir)
    stop = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signum, stop.set)
    state = WorkerState()
    parts = AwaitedParts(state, stop)
    async with AsyncExitStack() as stack:
        stack.enter_context(contextlib.suppress(StoppedWaiting))
        if settings.health is not None:
            from orchestrator.runtime.health_server import served_health  # rarely needed

            await stack.enter_async_context(served_health(settings.health, state, metrics))
        if client is None:
            client = await parts.retry_until_available(partial(connect_temporal, settings=settings))
        if catalog is None:
            catalog = await asyncio.to_thread(load_catalog, settings)
        for line in (unmarked(catalog.documents, settings.specs) or "").splitlines():
            _log.warning("%s", line)
        store = store or store_of(settings)
        opening = partial(stack.enter_async_context, store)
        # Only a server is waited for: a file that cannot be opened stays so.
        await (opening() if store.is_file else parts.retry_until_available(opening))
        await asyncio.to_thread(store.check)
        # Missions may be pinned to a catalog that the store has lost. If this fails, the next
        # mission stores it, and reports why it cannot.
        with contextlib.suppress(Exception):
            await asyncio.to_thread(store.catalogs.put, catalog)
        routers = default_routers(settings, embedder)
        workers = build(
            client,
            settings,
            catalog=catalog,
            store=store,
            routers=routers,
            planner=planner,
            agents=load_profiles(settings, catalog, own_planner=planner is not None),
            tools=await stack.enter_async_context(tools or default_tools(settings, store, catalog)),
            workflows=workflows,
            plugins=plugins,
            interceptors=[CountsActivities(state)],
        )
        await parts.retry_until_available(partial(introduce, client, settings))
        if connected is not None:
            connected(client)
        build_records()
        for worker in workers:
            await stack.enter_async_context(worker)
        stack.callback(asyncio.create_task(keep_retention(client, settings, store)).cancel)
        stack.callback(asyncio.create_task(keep_registered(client, settings, state)).cancel)
        state.polls(client, workers, store.check, registration_fault)
        log_build(settings)
        if ready is not None:
            ready()
        await stop.wait()
        await drain(workers, state, settings.drain)


async def introduce(client: Client, settings: Settings) -> None:
    """Register at the server what workflows need before they run."""
    with Connection(client, settings.task_queue).explaining():
        await register_search_attributes(client)
        await schedule_sweep(client, settings.task_queue, settings.sweep_interval)
        if settings.notices is not None:
            await start_notices(client, settings.task_queue)


async def drain(workers: Sequence[Worker], state: WorkerState, longest: timedelta) -> None:
    """Take no new task, and end the running ones, on all task queues at once."""
    state.phase = Phase.DRAINING
    _log.info(
        "draining: %d activities in flight, for %.0f s at most",
        state.running,
        longest.total_seconds(),
    )
    await asyncio.gather(*(worker.shutdown() for worker in workers))


def worker_deployment(settings: Settings) -> WorkerDeploymentConfig | None:
    """Return the deployment version for the server; None if no build is named.

    Every workflow is pinned: it stays on the build on which it began until it ends. An ended
    workflow is read from its history, which needs no build.

    Raises:
        UsageError: the server would not accept the name of the deployment.
    """
    if settings.build_id is None:
        return None
    named = settings.deployment or settings.task_queue
    if set(named) & set(".:") or named.startswith("__"):
        raise UsageError(
            f"a deployment cannot be called {named!r}: set ORCHESTRATOR_DEPLOYMENT to a name "
            "without '.' and ':', and without '__' before it (unset, it is the task queue's)"
        )
    return WorkerDeploymentConfig(
        version=WorkerDeploymentVersion(named, settings.build_id),
        use_worker_versioning=True,
        default_versioning_behavior=VersioningBehavior.PINNED,
    )


def log_build(settings: Settings) -> None:
    """Log the remaining step: a build that polls and is not current gets no new missions."""
    if (named := worker_deployment(settings)) is not None:
        version = named.version
        _log.info(
            "polling as build %s of the deployment %s; new missions come to it once it is "
            "current: %s",
            version.build_id,
            version.deployment_name,
            command_lines.set_current(version.deployment_name, version.build_id),
        )


_ROOT = Path(__file__).parents[2]
_PACKAGES = ("orchestrator", "orchestrator/workflows", "orchestrator/activities")
"""In a checkout, the last two are links, which a search of the first does not follow."""


@cache
def own_build_id() -> str:
    """Return a digest of our packages: workers with the same code name the same build.

    Temporal's SDK would read and digest the code of every imported module, including libraries,
    which takes a tenth of a second at each start.
    """
    digest = hashlib.sha256()
    modules = {module for package in _PACKAGES for module in (_ROOT / package).rglob("*.py")}
    for module in sorted(modules):
        digest.update(str(module.relative_to(_ROOT)).encode() + b"\0")
        digest.update(module.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


def worker_limits(settings: Settings) -> dict[str, Any]:
    """Return the options that limit the work of Temporal's worker, the same on each task queue."""
    pollers = (
        PollerBehaviorAutoscaling()
        if settings.pollers == "auto"
        else PollerBehaviorSimpleMaximum(maximum=settings.pollers)
    )
    return {
        "graceful_shutdown_timeout": settings.drain,
        "max_concurrent_activities": settings.max_activities,
        "max_concurrent_workflow_tasks": settings.max_workflow_tasks,
        "max_cached_workflows": settings.max_cached_workflows,
        "max_activities_per_second": settings.activities_per_s,
        "max_task_queue_activities_per_second": settings.queue_activities_per_s,
        "workflow_task_poller_behavior": pollers,
        "activity_task_poller_behavior": pollers,
    }
