"""The composition root: everything a worker needs, wired; and the worker process itself."""

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta

from temporalio.client import Client
from temporalio.worker import Plugin, Worker

from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.catalog_store import CatalogStore
from orchestrator.adapters.storage.files import private_folder
from orchestrator.adapters.storage.grant_book import FileGrantBook, GrantBook
from orchestrator.adapters.storage.observation_store import FOLDER_NAME as OBSERVATIONS
from orchestrator.adapters.storage.observation_store import FileObservations, ObservationStore
from orchestrator.adapters.storage.route_traces import FILE_NAME, RouteTraces
from orchestrator.adapters.temporal.workflow_runner import TaskOrderedRunner
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.marking import unmarked
from orchestrator.client.connection import connect_temporal
from orchestrator.planning.models import AgentProfile
from orchestrator.planning.planner import Planner
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import Embedder
from orchestrator.runtime.agent_profiles import load_profiles
from orchestrator.runtime.defaults import (
    default_approval_keys,
    default_planner,
    default_routers,
    default_tools,
)
from orchestrator.runtime.extensions import check_given
from orchestrator.runtime.own_packages import ALL_WORKFLOWS, all_activities
from orchestrator.runtime.registration import register_search_attributes, schedule_sweep
from orchestrator.runtime.retention_rounds import keep_retention
from orchestrator.settings import Settings, load_policy, load_settings

_log = logging.getLogger(__name__)
_STICKY = timedelta(seconds=3)
"""How long a workflow task waits for the worker that has its history cached, before any other may
have it: short, so that missions go on soon after a worker dies."""

THREAD_TURN_S = 0.0005
"""How long a thread computes while others wait. A routing lets go of the interpreter many times,
and with Python's own 5 ms it waits so long for every busy thread each time."""


def build(
    client: Client,
    settings: Settings,
    *,
    catalog: Catalog | None = None,
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
) -> list[Worker]:
    """One worker per task queue: the settings' own, and each that an agent profile names.

    Everything is an argument with a real default; tests pass their own. An embedder is for the
    default routers.
    """
    catalog = catalog or Catalog.load(*settings.specs, overlays=settings.overlays)
    catalogs = catalogs or CatalogStore(settings.state_dir / "catalogs")
    routers = routers or default_routers(settings, embedder)
    if agents is None:
        agents = load_profiles(settings, catalog, own_planner=planner is not None)
    observations = observations or FileObservations(settings.state_dir / OBSERVATIONS)
    activities = all_activities(
        catalog=catalog,
        catalogs=catalogs,
        routers=routers,
        planner=planner or default_planner(settings, routers, agents, observations),
        agents=agents,
        tools=tools or default_tools(settings),
        grants=grants or FileGrantBook(settings.state_dir / "grants"),
        traces=traces or RouteTraces(settings.state_dir / FILE_NAME),
        client=client,
        policy=load_policy(settings.mission_policy),
        approval_keys=default_approval_keys(settings),
        observations=observations,
    )
    queues = dict.fromkeys([settings.task_queue, *(a.task_queue for a in agents if a.task_queue)])
    return [
        Worker(
            client,
            task_queue=queue,
            workflows=ALL_WORKFLOWS,
            activities=activities,
            workflow_runner=TaskOrderedRunner(),
            sticky_queue_schedule_to_start_timeout=_STICKY,
            graceful_shutdown_timeout=timedelta(seconds=5),
            plugins=plugins,
        )
        for queue in queues
    ]


def prepare(catalog: Catalog, catalogs: CatalogStore, routers: Callable[[Catalog], Router]) -> None:
    """Have the catalog and the router of new missions at hand before the first of them begins.

    What cannot be made now is tried again by that mission, which says why it fails.
    """
    with contextlib.suppress(Exception):
        catalogs.put(catalog)
        routers(catalogs.get(catalog.digest))


def _with_private_state(settings: Settings) -> Settings:
    """The same; nobody else may look into its state directory."""
    with contextlib.suppress(OSError):  # whoever needs the folder says what is wrong with it
        private_folder(settings.state_dir)
    return settings


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
    plugins: Sequence[Plugin] = (),
    ready: Callable[[], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        client: one that uses the pydantic data converter; None: as TEMPORAL_ADDRESS and the SDK's
            other variables and files say.
        settings: None: as the ORCHESTRATOR_* variables say.
        planner: splits goals and decides steps, in place of the settings' own.
        embedder: gives the router vectors, in place of the settings' own.
        catalog: what new missions are pinned to, in place of the settings' documents.
        tools: calls providers, with credentials and personal values of its own stores; closed when
            this ends. None: as `default_tools` makes it.
        plugins: of Temporal's worker.
        ready: called once, when polling has begun.

    Raises:
        UsageError: the planner or the embedder is none, or the file of agent profiles is wrong.
    """
    check_given(planner, embedder)
    settings = _with_private_state(settings or load_settings())
    client = client or await connect_temporal()
    sys.setswitchinterval(THREAD_TURN_S)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, stop.set)
    catalog = catalog or Catalog.load(*settings.specs, overlays=settings.overlays)
    _tell_unmarked(catalog, settings)
    agents = load_profiles(settings, catalog, own_planner=planner is not None)
    catalogs = CatalogStore(settings.state_dir / "catalogs")
    routers = default_routers(settings, embedder)
    await register_search_attributes(client)
    await schedule_sweep(client, settings.task_queue, settings.sweep_interval)
    prepare(catalog, catalogs, routers)
    async with AsyncExitStack() as stack:
        for worker in build(
            client,
            settings,
            catalog=catalog,
            catalogs=catalogs,
            routers=routers,
            planner=planner,
            agents=agents,
            tools=await stack.enter_async_context(tools or default_tools(settings)),
            plugins=plugins,
        ):
            await stack.enter_async_context(worker)
        if ready is not None:
            ready()
        stack.callback(asyncio.create_task(keep_retention(client, settings)).cancel)
        await stop.wait()
