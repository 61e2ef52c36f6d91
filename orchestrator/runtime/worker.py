"""The composition root: everything a worker needs, wired; and the worker process itself."""

import asyncio
import contextlib
import logging
import signal
import sys
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import timedelta
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from temporalio.client import Client
from temporalio.worker import Interceptor, Plugin, Worker

from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.catalog_store import CatalogStore
from orchestrator.adapters.storage.files import private_folder
from orchestrator.adapters.storage.grant_book import GrantBook
from orchestrator.adapters.storage.observation_store import ObservationStore
from orchestrator.adapters.storage.route_traces import RouteTraces
from orchestrator.adapters.temporal.deployment_versions import versioned
from orchestrator.adapters.temporal.locked_calls import LockedCalls
from orchestrator.adapters.temporal.lost_tasks import LostTasks
from orchestrator.adapters.temporal.thinking_time import ThinkingTime
from orchestrator.adapters.temporal.workflow_runner import TaskOrderedRunner
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.overlay import unmarked
from orchestrator.client.connection import Connection, connect_temporal
from orchestrator.client.stores import store_of
from orchestrator.core.errors import UnreadWarning
from orchestrator.planning.models import AgentProfile
from orchestrator.planning.planner import Planner
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import Embedder
from orchestrator.runtime.agent_profiles import load_profiles
from orchestrator.runtime.awaited_parts import AwaitedParts, StoppedWaiting
from orchestrator.runtime.builds import log_build, told_build
from orchestrator.runtime.defaults import (
    default_approval_keys,
    default_planner,
    default_routers,
    default_tools,
)
from orchestrator.runtime.extensions import check_given
from orchestrator.runtime.own_build import own_build_id
from orchestrator.runtime.own_packages import ALL_WORKFLOWS, all_activities
from orchestrator.runtime.registration import register_search_attributes, schedule_sweep
from orchestrator.runtime.retention_rounds import keep_retention
from orchestrator.runtime.worker_limits import worker_limits
from orchestrator.runtime.worker_state import CountsActivities, Phase, WorkerState
from orchestrator.settings import Settings, load_policy, load_settings

if TYPE_CHECKING:  # imports a database library
    from orchestrator.adapters.storage.store import Store

_log = logging.getLogger(__name__)
_STICKY = timedelta(seconds=3)
"""How long a workflow task waits for the worker that has its history cached, before any other may
have it: short, so that missions go on soon after a worker dies."""

_STUCK_S = 8
"""A little less than the 10 s after which the server gives a workflow's task to another worker."""
_BEATS_AT_MOST = timedelta(seconds=1)
"""Between two heartbeats to the server: the SDK's own, four fifths of the time after which a worker
is missed, left a busy one a second."""
THREAD_TURN_S = 0.0005
"""How long a thread computes while others wait. A routing lets go of the interpreter many times,
and with Python's own 5 ms it waits so long for every busy thread each time."""


def build(
    client: Client,
    settings: Settings,
    *,
    catalog: Catalog | None = None,
    store: "Store | None" = None,
    catalogs: CatalogStore | None = None,
    routers: Callable[[Catalog], Router] | None = None,
    planner: Planner | None = None,
    embedder: Embedder | None = None,
    agents: Sequence[AgentProfile] | None = None,
    tools: ToolClient | None = None,
    grants: GrantBook | None = None,
    traces: RouteTraces | None = None,
    observations: ObservationStore | None = None,
    plugins: Sequence[Plugin] = (),
    interceptors: Sequence[Interceptor] = (),
) -> list[Worker]:
    """One worker per task queue: the settings' own, and each that an agent profile names.

    Everything is an argument with a real default; tests pass their own. An embedder is for the
    default routers. What is kept goes to the store, but for the parts that are given apart.
    """
    catalog = catalog or Catalog.load(*settings.specs, overlays=settings.overlays)
    store = store or store_of(settings)
    routers = routers or default_routers(settings, embedder, store)
    if agents is None:
        agents = load_profiles(settings, catalog, own_planner=planner is not None)
    observations = observations or store.observations
    activities = all_activities(
        catalog=catalog,
        catalogs=catalogs or store.catalogs,
        routers=routers,
        planner=planner or default_planner(settings, routers, agents, observations),
        agents=agents,
        tools=tools or default_tools(settings, store, observations),
        grants=grants or store.grants,
        traces=traces or store.traces,
        client=client,
        policy=load_policy(settings.mission_policy),
        approval_keys=default_approval_keys(settings),
        observations=observations,
    )
    versions = told_build(settings)
    lost_tasks = LostTasks(client)
    queues = dict.fromkeys([settings.task_queue, *(a.task_queue for a in agents if a.task_queue)])
    workers = [
        Worker(
            client,
            task_queue=queue,
            workflows=ALL_WORKFLOWS,
            activities=activities,
            workflow_runner=lost_tasks.watching(versioned(TaskOrderedRunner(), versions)),
            deployment_config=versions,
            build_id=None if versions else own_build_id(),
            sticky_queue_schedule_to_start_timeout=_STICKY,
            max_heartbeat_throttle_interval=_BEATS_AT_MOST,
            interceptors=[LockedCalls(), lost_tasks, ThinkingTime(), *interceptors],
            plugins=plugins,
            **worker_limits(settings),
        )
        for queue in queues
    ]
    for worker in workers:
        let_tasks_last(worker)
    return workers


def let_tasks_last(worker: Worker) -> None:
    """Have a workflow's task taken for stuck only when the server is about to give it to another.

    After the SDK's own two seconds, by the clock, it throws an error at whatever a thread is doing
    that may only be waiting for its turn; the run is left with tasks that nothing ends, and gets no
    answer from this worker any more. None of its options say how long.
    """
    worker._workflow_worker._deadlock_timeout_seconds = _STUCK_S  # type: ignore[union-attr]


def prepare(catalog: Catalog, catalogs: CatalogStore, routers: Callable[[Catalog], Router]) -> None:
    """Have what the first mission needs at hand: its catalog and router, and slow imports.

    What cannot be made now is tried again by that mission, which says why it fails.
    """
    with contextlib.suppress(Exception):
        catalogs.put(catalog)
        routers(catalogs.get(catalog.digest))
    import_module("orchestrator.adapters.http.operation_contract")


def _with_private_state(settings: Settings) -> Settings:
    """The same; nobody else may look into its state directory."""
    with contextlib.suppress(OSError):  # whoever needs the folder says what is wrong with it
        private_folder(settings.state_dir)
    return settings


def _load(settings: Settings) -> Catalog:
    """The catalog of the settings; what of it cannot be read is logged as an error.

    Missions that began with a tool of it keep the catalog they are pinned to.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreadWarning)
        catalog = Catalog.load(*settings.specs, overlays=settings.overlays)
    for file in catalog.unread:
        _log.error(
            "%s, and start the worker again; until then new missions have no tool of it, and those "
            "that began with one keep it",
            file,
        )
    return catalog


def _tell_unmarked(catalog: Catalog, settings: Settings) -> None:
    """Log that no operation is marked, if so: the worker runs, and has no tools."""
    for line in (unmarked(catalog.documents, settings.specs) or "").splitlines():
        _log.warning("%s", line)


async def run_worker(
    client: Client | None = None,
    settings: Settings | None = None,
    *,
    planner: Planner | None = None,
    embedder: Embedder | None = None,
    catalog: Catalog | None = None,
    tools: ToolClient | None = None,
    store: "Store | None" = None,
    plugins: Sequence[Plugin] = (),
    ready: Callable[[], None] | None = None,
    connected: Callable[[Client], None] | None = None,
    metrics: Callable[[], tuple[bytes, str]] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; a server or a store that is away is waited for.

    Args:
        client: one that `connect_temporal` made; None: as TEMPORAL_ADDRESS and the SDK's other
            variables and files say.
        settings: None: as the ORCHESTRATOR_* variables say.
        planner: splits goals and decides steps, in place of the settings' own.
        embedder: gives the router vectors, in place of the settings' own.
        catalog: what new missions are pinned to, in place of the settings' documents.
        tools: calls providers, with credentials and personal values of its own stores; closed when
            this ends. None: as `default_tools` makes it.
        store: where all that is kept goes, in place of the settings' own; closed when this ends.
        plugins: of Temporal's worker.
        ready: called once, when polling has begun.
        connected: called once, with the client, before polling begins.
        metrics: what /metrics answers, where the settings have it asked: its body and content type.

    Raises:
        UsageError: the planner or the embedder is none, or the file of agent profiles is wrong.
        StoreRefused, StoreNewer: the store cannot be used.
        StoreUnavailable: it is a file that cannot be opened.
    """
    check_given(planner, embedder)
    settings = _with_private_state(settings or load_settings())
    sys.setswitchinterval(THREAD_TURN_S)
    stop = _stop_signals()
    state = WorkerState()
    parts = AwaitedParts(state, stop)
    async with AsyncExitStack() as stack:
        stack.enter_context(contextlib.suppress(StoppedWaiting))
        if settings.health is not None:
            await stack.enter_async_context(_served_health(settings.health, state, metrics))
        if client is None:
            client = await parts.once_there(partial(connect_temporal, settings=settings))
        catalog = catalog or _load(settings)
        _tell_unmarked(catalog, settings)
        store = await _opened(store or store_of(settings), stack, parts)
        routers = default_routers(settings, embedder, store)
        workers = build(
            client,
            settings,
            catalog=catalog,
            store=store,
            routers=routers,
            planner=planner,
            agents=load_profiles(settings, catalog, own_planner=planner is not None),
            tools=await stack.enter_async_context(tools or default_tools(settings, store)),
            plugins=plugins,
            interceptors=[CountsActivities(state)],
        )
        await parts.once_there(partial(_introduce, client, settings))
        if connected is not None:
            connected(client)
        # In a thread: what comes meanwhile is begun, and waits for what is being made already.
        made = asyncio.to_thread(prepare, catalog, store.catalogs, routers)
        beside = (made, keep_retention(client, settings, store))
        async with _polling(workers, beside):
            state.polls(client, workers, store.check)
            log_build(settings)
            if ready is not None:
                ready()
            await stop.wait()
            await drain(workers, state, settings.drain)


async def _opened(store: "Store", stack: AsyncExitStack, parts: AwaitedParts) -> "Store":
    """The store, to be closed with the others; a server is waited for, a file is there or not."""

    async def opened() -> "Store":
        return await stack.enter_async_context(store)

    return await (opened() if store.is_file else parts.once_there(opened))


async def _introduce(client: Client, settings: Settings) -> None:
    """Tell the server what it has to know before workflows run.

    Raises:
        ServerUnreachable: it went away meanwhile.
    """
    with Connection(client, settings.task_queue).explaining():
        await register_search_attributes(client)
        await schedule_sweep(client, settings.task_queue, settings.sweep_interval)


@asynccontextmanager
async def _polling(
    workers: Sequence[Worker], beside: Iterable[Coroutine[None, None, None]]
) -> AsyncIterator[None]:
    """Take tasks while the block runs, and do what is to be done beside that."""
    async with AsyncExitStack() as stack:
        for worker in workers:
            await stack.enter_async_context(worker)
        for work in beside:
            stack.callback(asyncio.create_task(work).cancel)
        yield


def _served_health(
    address: str, state: WorkerState, metrics: Callable[[], tuple[bytes, str]] | None
) -> AbstractAsyncContextManager[str]:
    from orchestrator.runtime.health_server import served_health  # with a server, for few

    return served_health(address, state, metrics)


def _stop_signals() -> asyncio.Event:
    """Set by SIGTERM and SIGINT."""
    stop = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signum, stop.set)
    return stop


async def drain(workers: Sequence[Worker], state: WorkerState, longest: timedelta) -> None:
    """Take no new task, and end those that run: of all task queues at once."""
    state.phase = Phase.DRAINING
    _log.info(
        "draining: %d activities in flight, for %.0f s at most",
        state.running,
        longest.total_seconds(),
    )
    await asyncio.gather(*(worker.shutdown() for worker in workers))
