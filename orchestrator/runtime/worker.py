"""The composition root: everything a worker needs, wired; and the worker process itself."""

import asyncio
import contextlib
import functools
import gc
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import (
    AddSearchAttributesRequest,
    ListSearchAttributesRequest,
)
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleIntervalSpec,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleUpdate,
    ScheduleUpdateInput,
)
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Plugin, Worker

from activities import all_activities
from orchestrator.adapters.embedding.similarity import ANSWER_S, similarity_by
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.secrets import EnvironmentSecrets
from orchestrator.adapters.storage.catalog_store import CatalogStore
from orchestrator.adapters.storage.grant_book import FileGrantBook, GrantBook
from orchestrator.adapters.storage.pii_vault import FilePiiVault
from orchestrator.adapters.storage.route_traces import FILE_NAME, RouteTraces
from orchestrator.adapters.storage.vector_store import FILE_NAME as VECTORS_FILE
from orchestrator.adapters.temporal.workflow_runner import TaskOrderedRunner
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import UsageError
from orchestrator.messages import names
from orchestrator.messages.rollback import SweepInput
from orchestrator.planning.models import AgentProfile
from orchestrator.planning.per_agent import PerAgentPlanner
from orchestrator.planning.planner import MeteredPlanner, Planner
from orchestrator.planning.rules.chaining import ChainingPlanner
from orchestrator.routing.cards.card_cache import CardCache
from orchestrator.routing.router import Router
from orchestrator.settings import Settings, load_agents, load_routing_profile
from workflows import ALL_WORKFLOWS

_STICKY = timedelta(seconds=3)
"""How long a workflow task waits for the worker that has its history cached, before any other may
have it: short, so that missions go on soon after a worker dies."""

_LONGEST_SWEEP = timedelta(hours=1)
THREAD_TURN_S = 0.0005
"""How long a thread computes while others wait. A routing lets go of the interpreter many times,
and with Python's own 5 ms it waits so long for every busy thread each time."""


def default_tools(settings: Settings) -> ToolClient:
    """A tool client with credentials from the environment and the vault of the state directory."""
    return ToolClient(
        secrets=EnvironmentSecrets(),
        pii=FilePiiVault(settings.state_dir / "pii"),
        server_variables=settings.server_variables,
        allowed_private_hosts=settings.allowed_private_hosts,
        proxy=settings.proxy,
    )


def default_planner(
    settings: Settings, routers: Callable[[Catalog], Router], agents: Sequence[AgentProfile]
) -> Planner:
    """The deterministic planner, and a model for the agents that have one.

    Raises:
        UsageError: a model is set and the extra that asks it is not installed.
    """
    chaining = ChainingPlanner(routers)

    @functools.cache
    def modelled() -> MeteredPlanner:
        return _model_planner(chaining, settings.planner_model)

    if settings.planner_model or any(agent.model for agent in agents):
        modelled()
    return PerAgentPlanner(chaining, modelled, default_model=settings.planner_model)


def _model_planner(splitter: Planner, default_model: str | None) -> MeteredPlanner:
    try:
        from orchestrator.planning.llm.model_planner import LlmPlanner
    except ImportError as error:
        raise UsageError(
            "planning with a model needs the llm extra: pip install 'orchestrator-missions[llm]'"
        ) from error
    return LlmPlanner(splitter, default_model=default_model)


def default_routers(settings: Settings) -> Callable[[Catalog], Router]:
    """Routers that forward every tool when they take too long, one for each catalog.

    Raises:
        UsageError: the embedder that is set is none, or its library is not installed.
    """
    profile = load_routing_profile(settings.routing_profile)
    waits_s = settings.embedder_timeout_ms / 1000
    similarity = settings.embedder and similarity_by(
        settings.embedder,
        vectors=settings.state_dir / VECTORS_FILE,
        secrets=EnvironmentSecrets(),
        timeout_s=waits_s,
    )
    timeout_s = settings.routing_timeout_ms / 1000
    if similarity:
        # What is waited for vectors beyond the default comes on top.
        timeout_s += max(0.0, waits_s - ANSWER_S)

    cards = CardCache()

    def make(catalog: Catalog) -> Router:
        router = Router(
            catalog,
            profile=profile,
            clock=time.monotonic,
            timeout_s=timeout_s,
            similarity=similarity(catalog) if similarity else None,
            cards=cards,
        )
        _spare_the_collector()
        return router

    made = functools.lru_cache(maxsize=8)(make)
    making = threading.Lock()

    def router_of(catalog: Catalog) -> Router:
        # Steps are routed in threads: the first ones of a catalog must not each build its router.
        with making:
            return made(catalog)

    return router_of


def _spare_the_collector() -> None:
    """Take what lives long out of the garbage collector's sight, what is garbage by now apart.

    A full collection stops everything for tens of milliseconds with a thousand tools, and for more
    than a router may take with several thousand.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def build(
    client: Client,
    settings: Settings,
    *,
    catalog: Catalog | None = None,
    catalogs: CatalogStore | None = None,
    routers: Callable[[Catalog], Router] | None = None,
    planner: Planner | None = None,
    agents: Sequence[AgentProfile] | None = None,
    tools: ToolClient | None = None,
    grants: GrantBook | None = None,
    traces: RouteTraces | None = None,
    plugins: Sequence[Plugin] = (),
) -> list[Worker]:
    """One worker per task queue: the settings' own, and each that an agent profile names.

    Everything is an argument with a real default; tests pass their own.
    """
    catalog = catalog or Catalog.load(*settings.specs, overlays=settings.overlays)
    catalogs = catalogs or CatalogStore(settings.state_dir / "catalogs")
    routers = routers or default_routers(settings)
    agents = load_agents(settings.agents) if agents is None else agents
    activities = all_activities(
        catalog=catalog,
        catalogs=catalogs,
        routers=routers,
        planner=planner or default_planner(settings, routers, agents),
        agents=agents,
        tools=tools or default_tools(settings),
        grants=grants or FileGrantBook(settings.state_dir / "grants"),
        traces=traces or RouteTraces(settings.state_dir / FILE_NAME),
        client=client,
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


async def register_search_attributes(client: Client) -> None:
    """Make the server know the search attributes that workflows set; those it knows are left."""
    known = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=client.namespace)
    )
    missing: Mapping[str, IndexedValueType.ValueType] = {
        name: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
        for name in names.SEARCH_ATTRIBUTES
        if name not in known.custom_attributes
    }
    if missing:
        await client.operator_service.add_search_attributes(
            AddSearchAttributesRequest(namespace=client.namespace, search_attributes=missing)
        )


async def schedule_sweep(client: Client, task_queue: str, interval: timedelta) -> None:
    """Have the server start a sweep at each interval; one that is scheduled already is kept so.

    Any number of workers may do this. An operator's pause stays; zero takes the schedule away.
    """
    schedule_id = names.sweep_schedule_id(task_queue)
    if not interval:
        await _unschedule(client, schedule_id)
        return
    wanted = _sweep_schedule(schedule_id, task_queue, interval)
    try:
        await client.create_schedule(schedule_id, wanted)
    except ScheduleAlreadyRunningError:

        def same_or_new(found: ScheduleUpdateInput) -> ScheduleUpdate | None:
            before = found.description.schedule
            if [spec.every for spec in before.spec.intervals] == [interval]:
                return None
            wanted.state = before.state
            return ScheduleUpdate(wanted)

        await client.get_schedule_handle(schedule_id).update(same_or_new)


def _sweep_schedule(schedule_id: str, task_queue: str, interval: timedelta) -> Schedule:
    return Schedule(
        action=ScheduleActionStartWorkflow(
            names.SWEEP_WORKFLOW,
            SweepInput(),
            id=schedule_id,
            task_queue=task_queue,
            # One that hangs must not keep all later ones from starting.
            execution_timeout=_LONGEST_SWEEP,
            static_summary="look for missions that were stopped",
        ),
        spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=interval)]),
        # The next sweep finds whatever one that was missed would have found.
        policy=SchedulePolicy(catchup_window=interval),
    )


async def _unschedule(client: Client, schedule_id: str) -> None:
    try:
        await client.get_schedule_handle(schedule_id).delete()
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise


def prepare(catalog: Catalog, catalogs: CatalogStore, routers: Callable[[Catalog], Router]) -> None:
    """Have the catalog and the router of new missions at hand before the first of them begins.

    What cannot be made now is tried again by that mission, which says why it fails.
    """
    with contextlib.suppress(Exception):
        catalogs.put(catalog)
        routers(catalogs.get(catalog.digest))


async def run_worker(
    client: Client,
    settings: Settings,
    *,
    ready: Callable[[], None],
    catalog: Catalog | None = None,
    plugins: Sequence[Plugin] = (),
) -> None:
    """Serve until SIGTERM or SIGINT; `ready` is called once when polling has begun."""
    sys.setswitchinterval(THREAD_TURN_S)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, stop.set)
    await register_search_attributes(client)
    await schedule_sweep(client, settings.task_queue, settings.sweep_interval)
    catalog = catalog or Catalog.load(*settings.specs, overlays=settings.overlays)
    catalogs = CatalogStore(settings.state_dir / "catalogs")
    routers = default_routers(settings)
    prepare(catalog, catalogs, routers)
    async with AsyncExitStack() as stack:
        tools = await stack.enter_async_context(default_tools(settings))
        for worker in build(
            client,
            settings,
            catalog=catalog,
            catalogs=catalogs,
            routers=routers,
            tools=tools,
            plugins=plugins,
        ):
            await stack.enter_async_context(worker)
        ready()
        await stop.wait()
