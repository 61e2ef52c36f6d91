"""An installation in this process: Temporal, the sandbox and a worker, for any documents.

The documents' servers are replaced by the sandbox, credentials and personal values are fictitious,
and the worker connects to loopback only: no real host is called.
"""

import asyncio
import contextlib
import functools
import json
import threading
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import httpx
from temporalio.client import Client
from temporalio.plugin import SimplePlugin
from temporalio.runtime import LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter
from temporalio.worker import WorkerConfig

from orchestrator.adapters.http.destinations import AddressPolicy, AddressRefused
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.http.transport import CheckedTransport
from orchestrator.adapters.storage.files import (
    PRIVATE_UMASK,
    private_file,
    private_folder,
    replace_file,
)
from orchestrator.adapters.temporal.mission_converter import mission_converter
from orchestrator.catalog.catalog import Catalog
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.client.start import new_mission_id
from orchestrator.client.stores import open_vault
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.errors import (
    ConfirmationError,
    NoWorker,
    ServerUnreachable,
    ServiceUnavailable,
)
from orchestrator.core.limits import Limits
from orchestrator.language.intent import IntentFrame
from orchestrator.messages import names
from orchestrator.messages.mission import MissionRequest, MissionResult
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import (
    AgentProfile,
    CallTool,
    Finish,
    GoalBrief,
    LegPlan,
    MissionPlan,
    StepContext,
    StepDecision,
)
from orchestrator.planning.planner import PlannedStep, Planner
from orchestrator.routing.router import Router
from orchestrator.routing.selection import Band, RouteContext, Selection
from orchestrator.runtime.devserver import Ports, end_process, temporal_binary
from orchestrator.runtime.worker import build
from orchestrator.saga.orders import Order
from orchestrator.sandbox import (
    Playbook,
    RunningSandbox,
    SandboxClient,
    redirected,
    running_sandbox,
)
from orchestrator.settings import Settings
from orchestrator.testing.sample_arguments import make_up_person


@asynccontextmanager
async def running_temporal(folder: Path) -> AsyncIterator[Client]:
    """Start a server with the product's search attributes and yield a client of it.

    Args:
        folder: for the server's log, temporal.log.
    """
    port = Ports.free().temporal
    with private_file(folder / "temporal.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            temporal_binary(),
            *("server", "start-dev", "--headless", "--ip=127.0.0.1", f"--port={port}"),
            "--log-level=error",
            *(f"--search-attribute={n}={kind}" for n, kind in names.SEARCH_ATTRIBUTES.items()),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            umask=PRIVATE_UMASK,
        )
    # Errors only, as planned faults make the SDK's core warn endlessly.
    level = TelemetryFilter(core_level="ERROR", other_level="ERROR")
    runtime = Runtime(telemetry=TelemetryConfig(logging=LoggingConfig(filter=level)))
    clock = asyncio.get_running_loop().time
    deadline, client = clock() + 40.0, None
    try:
        while client is None:
            try:
                connected = await Client.connect(
                    f"127.0.0.1:{port}", data_converter=mission_converter(), runtime=runtime
                )
                await connected.count_workflows("WorkflowType = 'none'")
                client = connected
            except (RuntimeError, OSError) as error:
                if clock() > deadline or process.returncode is not None:
                    raise ServiceUnavailable("the Temporal server did not start") from error
                await asyncio.sleep(0.05)
        yield client
    finally:
        await end_process(process)


QUICK = MissionPolicy(call_timeout=timedelta(seconds=2), call_attempts=1)
"""Policy of scripted missions: after eleven seconds an unclear call can no longer arrive."""

_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Installation:
    """A running installation; usable from any event loop and any thread."""

    temporal: Client
    sandbox: RunningSandbox
    catalog: Catalog
    settings: Settings
    planner: "ScriptedPlanner"

    @property
    def sandbox_url(self) -> str:
        """The sandbox's base URL."""
        return self.sandbox.base_url

    @property
    def mission_client(self) -> MissionClient:
        """A client of the installation."""
        return MissionClient(self.temporal, self.settings)

    async def start_script(
        self, *script: StepDecision, mission_id: str = "", policy: MissionPolicy = QUICK
    ) -> MissionHandle:
        """Start a mission that takes these steps in order and then finishes.

        Example: `await installation.start_script(CallTool(tool="pay", arguments={...}),
        GiveUp(reason="the test wants a rollback"))`
        """
        mission_id = mission_id or new_mission_id("script")
        self.planner.write(mission_id, script)
        request = MissionRequest(goal="a script", mission_id=mission_id, policy=policy)
        return await self.mission_client.start(request)


@asynccontextmanager
async def installed(
    documents: Mapping[str, Mapping[str, Any]],
    folder: Path,
    *,
    seed: int = 0,
    own_providers: bool = False,
) -> AsyncIterator[Installation]:
    """Run an installation in this event loop until the block ends.

    Args:
        documents: OpenAPI documents by name, overlays applied.
        folder: stores catalogs and the PII vault.
        seed: seeds the sandbox's values and faults.
        own_providers: use the documents' own servers, which the test runs on this machine; the
            sandbox is not called.

    Raises:
        DocumentInvalid: one is not a document of a supported version.
        DocumentError: a document cannot be served.
    """
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(
            running_sandbox(
                redirected(documents, f"http://{_LOOPBACK}"),
                seed=seed,
                playbook=Playbook(),
                is_stocked=True,
            )
        )
        turned = redirected(documents, sandbox.base_url)
        if own_providers:
            turned = {name: dict(document) for name, document in documents.items()}
        catalog = Catalog.from_documents(turned)
        settings = _settings(turned, folder)
        temporal = await stack.enter_async_context(running_temporal(folder))
        vault = open_vault(settings)
        for field, value in make_up_person(catalog).items():
            vault.put(field, value)
        transport = CheckedTransport(OnlyThisMachine())
        http = httpx.AsyncClient(transport=transport, trust_env=False)
        tools = await stack.enter_async_context(
            ToolClient(secrets=MadeUpSecrets(), pii=vault, http=http)
        )
        usual = functools.cache(Router)
        from orchestrator.planning.rules.rule_planner import RulePlanner

        planner = ScriptedPlanner(RulePlanner(usual))
        for worker in build(
            temporal,
            settings,
            catalog=catalog,
            routers=lambda catalog: ScriptedRouter(catalog, usual),
            planner=planner,
            agents=(),
            tools=tools,
            plugins=[_Bare("bare")],
        ):
            await stack.enter_async_context(worker)
        yield Installation(temporal, sandbox, catalog, settings, planner)


@contextmanager
def installed_in_background(
    documents: Mapping[str, Mapping[str, Any]], folder: Path, *, seed: int = 0
) -> Iterator[Installation]:
    """Run an installation in a thread with its own event loop, for tests with or without a loop."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="installation", daemon=True)
    thread.start()
    held = installed(documents, folder, seed=seed)

    async def leave() -> None:
        await held.__aexit__(None, None, None)
        # A thread of the SDK that finishes a call while its loop ends can abort the process.
        await asyncio.sleep(0.1)

    try:
        running = asyncio.run_coroutine_threadsafe(held.__aenter__(), loop).result()
        try:
            yield running
        finally:
            asyncio.run_coroutine_threadsafe(leave(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class _Bare(SimplePlugin):
    """Runs workflows without the SDK's deadlock detector.

    It allows two seconds of wall time, which a process that also runs tests may exceed.
    """

    def configure_worker(self, config: WorkerConfig) -> WorkerConfig:
        configured = super().configure_worker(config)
        configured["debug_mode"] = True
        return configured


class OnlyThisMachine(AddressPolicy):
    """Refuses every host but loopback, public ones too."""

    def permitted(self, host: str, addresses: Any) -> list[str]:
        """Return the addresses of this machine's host; refuse all others."""
        if host != _LOOPBACK:
            raise AddressRefused(host, ", ".join(addresses), "not this machine")
        return list(addresses)


def _settings(documents: Mapping[str, Any], folder: Path) -> Settings:
    specs = private_folder(folder / "specs")
    for number, (name, document) in enumerate(documents.items()):
        safe = name if name.replace("-", "").replace("_", "").isalnum() else f"document-{number}"
        replace_file(specs / f"{safe}.json", json.dumps(document).encode())
    # Without reading the environment, which describes another installation.
    return Settings.model_construct(
        specs=(specs,),
        state_dir=folder,
        task_queue="installation",
        allowed_private_hosts=(_LOOPBACK,),
    )


_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 0.5
_GROWTH = 1.25

T = TypeVar("T")
Decide = Callable[[MissionHandle, ConfirmationCard], Awaitable[None]]


async def approve(mission: MissionHandle, card: ConfirmationCard) -> None:
    """Approve a card as `tester@example.com`."""
    await mission.approve(card, approver="tester@example.com")


async def run_to_end(
    mission: MissionHandle, decide: Decide = approve, *, timeout_s: float = 120.0
) -> MissionResult:
    """Return the result of a mission, deciding on each card that opens.

    It retries while no server or worker answers and when a decision is too late. The longer no card
    opens, the less often it polls, because each poll keeps a worker busy.

    Args:
        mission: a started mission.
        decide: called with each open card until the card is closed; it may leave the card open.
        timeout_s: seconds for the whole mission.

    Raises:
        AssertionError: the mission asks a question, which no test code can answer.
        TimeoutError: the mission did not end in time.
    """

    async def ended() -> MissionResult:
        """Wait for the result over restarts of the server."""
        while True:
            with contextlib.suppress(NoWorker, ServerUnreachable):
                return await mission.result()
            await asyncio.sleep(_LONGEST_PAUSE_S)

    pause_s = _FIRST_PAUSE_S
    ending = asyncio.create_task(ended())
    try:
        async with asyncio.timeout(timeout_s):
            while not ending.done():
                with contextlib.suppress(NoWorker, ServerUnreachable, ConfirmationError):
                    waiting = await mission.waiting()
                    for card in waiting.cards:
                        await decide(mission, card)
                        pause_s = _FIRST_PAUSE_S
                    for question in waiting.questions:
                        raise AssertionError(f"{question.question_id} asks: {question.question}")
                await asyncio.wait([ending], timeout=pause_s)
                pause_s = min(pause_s * _GROWTH, _LONGEST_PAUSE_S)
            return ending.result()
    finally:
        ending.cancel()
        await asyncio.wait([ending])


async def eventually(ask: Callable[[], Awaitable[T]], *, timeout_s: float = 60.0) -> T:
    """Return the first truthy answer, polling less and less often.

    Example: `cards = await eventually(mission.confirmations)`

    Raises:
        TimeoutError: there was none in time.
    """
    clock, pause_s = asyncio.get_running_loop().time, 0.05
    async with asyncio.timeout(timeout_s):
        while True:
            began = clock()
            if answer := await ask():
                return answer
            await asyncio.sleep(max(pause_s, clock() - began))
            pause_s = min(pause_s * _GROWTH, _LONGEST_PAUSE_S)


class Leftover(NamedTuple):
    """A flaw of a rollback, found in the sandbox's ledger."""

    kind: Literal["stands", "cancelled again", "made again"]
    sentence: str


async def find_leftovers(sandbox: SandboxClient, mission_id: str) -> list[Leftover]:
    """Return the flaws of a rollback; none if everything was made once and cancelled once."""
    found: list[Leftover] = []
    made: Counter[tuple[str, str, str]] = Counter()
    cancels: Counter[tuple[str, str, str]] = Counter()
    for effect in await sandbox.ledger(mission_id):
        provider, kind, named = (
            str(effect[key]) for key in ("provider", "resource_type", "resource_id")
        )
        made[provider, kind, named] += effect["kind"] == "create"
        cancels[provider, kind, named] += effect["kind"] == "cancel"
        if effect["kind"] == "create" and effect["status"] == "live":
            found.append(Leftover("stands", f"{kind} {named} of {effect['operation']} stands"))
    for thing, times in made.items():
        if 0 < times < cancels[thing]:
            sentence = f"{thing[1]} {thing[2]} was cancelled {cancels[thing]} times"
            found.append(Leftover("cancelled again", sentence))
    for one in await sandbox.duplicates(mission_id):
        sentence = f"the call {one['cause']} took effect {len(one['effects'])} times"
        found.append(Leftover("made again", sentence))
    return found


async def assert_nothing_left(sandbox: SandboxClient, mission: MissionHandle) -> None:
    """Fail if a finished mission left anything at a provider or to an operator.

    Raises:
        AssertionError: a sentence for each leftover.
    """
    await mission.result()
    # Not from the result, as a rollback may have followed it.
    ledger = (await mission.snapshot()).ledger
    found = [left.sentence for left in await find_leftovers(sandbox, mission.mission_id)]
    found += [
        f"{o.tool} is {o.state.value} in the mission's ledger: {o.note}" for o in ledger.live()
    ]
    assert not found, f"mission {mission.mission_id} left behind: " + "; ".join(found)


def fake_selection(
    *tools: str, catalog_size: int, band: Band = "crisp", reason: str = "scripted"
) -> Selection:
    """Return a selection of tools."""
    return Selection(
        tools=tools,
        k=len(tools),
        band=band,
        reason=reason,
        frame=IntentFrame(),
        catalog_size=catalog_size,
    )


LEG = "1-script"
"""Id of the only leg of a script."""


_GOAL = "call: "


Script = tuple[StepDecision, ...]
"""Decisions of a mission's only leg, step by step; after the last decision the leg finishes."""


class ScriptedPlanner:
    """Plans missions by their script, and missions without a script by another planner."""

    def __init__(self, usual: Planner) -> None:
        """Create a planner; `usual` plans missions without a script."""
        self._usual = usual
        self._scripts: dict[str, Script] = {}

    def write(self, mission_id: str, script: Script) -> None:
        """Set the script of a mission before it is started."""
        self._scripts[mission_id] = script

    async def split_goal(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan:
        """Return a plan with one leg, whose goal names the tools of the script."""
        script = self._scripts.get(brief.mission_id)
        if script is None:
            return await self._usual.split_goal(brief, catalog, agents)
        called = dict.fromkeys(step.tool for step in script if isinstance(step, CallTool))
        goal = _GOAL + ", ".join(called)
        # The leg finishes, and gets one more step if an order has no effect by then.
        agent = AgentProfile(name="script", limits=Limits(steps=len(script) + 2))
        effects = Counter(
            step.tool
            for step in script
            if isinstance(step, CallTool) and catalog.tool(step.tool).is_side_effect
        )
        orders = tuple(Order(tools=(tool,), count=count) for tool, count in effects.items())
        leg = LegPlan(leg_id=LEG, goal=goal, agent=agent, orders=orders)
        return MissionPlan(legs=(leg,))

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> StepDecision | PlannedStep:
        """Return the script's decision for this step."""
        script = self._scripts.get(context.mission_id)
        if script is None:
            return await self._usual.plan_step(context, selection, catalog)
        if context.step > len(script):
            return Finish(summary="the script is done")
        return script[context.step - 1]


class ScriptedRouter(Router):
    """Forwards the tools that a script's leg names, and routes other legs by another router."""

    def __init__(self, catalog: Catalog, usual: Callable[[Catalog], Router]) -> None:
        """Create a router; `usual` makes the router of other legs when first needed."""
        self._whole = catalog
        self._usual = usual

    def route(
        self,
        text: str,
        context: RouteContext | None = None,
        *,
        now: datetime | None = None,
        limit_s: float | None = None,
    ) -> Selection:
        """Return the tools for a request."""
        if text.startswith(_GOAL):
            names = text.removeprefix(_GOAL).split(", ")
            tools = [name for name in names if name in self._whole.tools]
            return fake_selection(
                *tools, catalog_size=len(self._whole), reason="a script names them"
            )
        return self._usual(self._whole).route(text, context, now=now, limit_s=limit_s)

    def without_deadline(self) -> Router:
        """Return the usual router."""
        return self._usual(self._whole).without_deadline()

    def __getattr__(self, name: str) -> object:
        """Return the attribute of the usual router."""
        if name in ("_whole", "_usual"):
            raise AttributeError(name)
        return getattr(self._usual(self._whole), name)


class MadeUpSecrets:
    """Fictitious values for all credentials that documents declare."""

    def get(self, name: str) -> str:
        """Return a value that is equal for equal names."""
        return f"made-up-{name}"
