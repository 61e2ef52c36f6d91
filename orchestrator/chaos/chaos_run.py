"""A chaos run: missions under faults on a started stack, and the verdict."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Final

from pydantic import TypeAdapter

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.compensation_contract import is_lost_with_its_answer
from orchestrator.chaos.conductor import Conductor, OnEnd
from orchestrator.chaos.crew import Crew, FaultInjector, Rewind, VaultChanges
from orchestrator.chaos.scenarios.chaos_faults import ChaosFault, format_faults
from orchestrator.chaos.scenarios.plan import LATEST_S, MissionScript, fault_of, schedule_strikes
from orchestrator.chaos.user_code import UserWorkflow
from orchestrator.chaos.user_workflows import missions_of
from orchestrator.chaos.verdicts.invariants import (
    Account,
    ApprovedCall,
    HeldEffect,
    HeldRequest,
    RunEvidence,
    judge,
)
from orchestrator.chaos.verdicts.report import ChaosReport, FaultCount, compile_report
from orchestrator.core.errors import UsageError
from orchestrator.json_schema.walker import properties_of
from orchestrator.messages.mission import MissionRequest
from orchestrator.planning.models import LLM
from orchestrator.runtime.devserver import Stack
from orchestrator.saga.cancel_arguments import tool_of
from orchestrator.sandbox import SandboxClient
from orchestrator.sandbox.faults import FaultRule
from orchestrator.settings import MODEL_VARIABLE, PLANNER_VARIABLE
from orchestrator.testing.model_server import (
    ModelReply,
    ModelServer,
    ReceivedRequest,
    broken_call,
    broken_json,
    call,
    cut_body,
    drop,
    no_json,
    nothing,
    rate_limited,
    refuse,
    say,
    server_error,
)
from orchestrator.testing.model_server.rule_model import RuleModel
from orchestrator.testing.postgres import PostgresServer

MODEL: Final = "openai:gpt-5"
"""The name of the model, which selects the API."""
SERVED: Final = ("openai", "openai-responses", "openai-chat", "anthropic")
_TROUBLE: Final[tuple[Callable[[], ModelReply], ...]] = (
    cut_body,
    drop,
    no_json,
    broken_json,
    server_error,
    lambda: server_error(503),
    lambda: rate_limited(1),
    nothing,
    refuse,
    lambda: say("I would book it."),
    lambda: call("no_such_tool"),
    lambda: broken_call("part_done", '{"summary": "D'),
)


class FaultyModel:
    """A model that decides by rules, with faults drawn by the seed of a run."""

    def __init__(self, model: RuleModel, seed: int, faults: frozenset[ChaosFault]) -> None:
        """Create a model; `model` answers requests without a fault."""
        self._model = model
        self._seed = seed
        self._is_faulty = ChaosFault.MODEL in faults
        self._asked: Counter[str] = Counter()
        self.fired = 0
        """Number of requests with a fault."""

    async def __call__(self, request: ReceivedRequest) -> ModelReply:
        """Reply with a fault that the prompt draws at its first request, else with the answer.

        One fault for a prompt is below the limit of bad answers that ends a leg.
        """
        prompt = hashlib.sha256(request.prompt.encode()).hexdigest()
        self._asked[prompt] += 1
        rng = Random(f"{self._seed}:{prompt}")
        is_struck = self._is_faulty and rng.random() < 0.1
        if not is_struck or self._asked[prompt] > 1:
            return await self._model(request)
        self.fired += 1
        return rng.choice(_TROUBLE)()


class ModelledRun:
    """A run whose missions are planned by a model on a server of this process."""

    def __init__(self, server: ModelServer, script: FaultyModel, model: str) -> None:
        """Create a run; `model` is the model's name."""
        self._server = server
        self._script = script
        self._model = model

    @property
    def variables(self) -> dict[str, str]:
        """Variables of the worker processes."""
        planning = {PLANNER_VARIABLE: LLM, MODEL_VARIABLE: self._model}
        return {**self._server.environment, **planning}

    @property
    def fired(self) -> Counter[ChaosFault]:
        """The number of requests with a fault."""
        return Counter({ChaosFault.MODEL: self._script.fired})

    @property
    def options(self) -> str:
        """Options of the command that repeats the run."""
        return f" --planner {LLM} --model {self._model}"


@asynccontextmanager
async def modelled_run(
    seed: int, faults: frozenset[ChaosFault], catalog: Catalog, model: str | None
) -> AsyncIterator[ModelledRun]:
    """Serve a model that decides by rules, until the block ends.

    Raises:
        UsageError: the model's provider has an API that is not served here.
        AssertionError: a provider would have refused a request.
    """
    name = model or MODEL
    if name.partition(":")[0] not in SERVED:
        raise UsageError(f"--model {name}: a chaos run serves models of {', '.join(SERVED)} alone")
    script = FaultyModel(RuleModel(catalog), seed, faults)
    async with ModelServer(script) as server:
        yield ModelledRun(server, script, name)


WORKER_VARIABLES: Mapping[str, str] = {
    "ORCHESTRATOR_SWEEP_INTERVAL": "PT5S",
    "ORCHESTRATOR_DRAIN": "PT1S",
}
"""Variables of the workers: frequent sweeps, which the run waits for, and a short drain."""


@dataclass(frozen=True)
class RunOptions:
    """Options of a run that do not change what happens to a mission."""

    seed: int
    faults: frozenset[ChaosFault]
    at_once: int = 32
    workers: int = 3
    settle_within_s: float = 480.0
    postgres: PostgresServer | None = None
    """The shared store of workers with separate folders; None: one SQLite file."""
    written: MissionRequest | None = None
    """The request of each mission, for its workflow; None: missions have goals."""
    late_s: float = LATEST_S + 1.0
    """Seconds after the last mission within which late requests still arrive."""


class _Struck(FaultRule):
    """A rule and how often it struck."""

    fired: int


_STRUCK = TypeAdapter(list[_Struck])
Reproduce = Callable[[int], str]


async def run_scripts(
    stack: Stack,
    options: RunOptions,
    scripts: Sequence[MissionScript],
    reproduce: Reproduce,
    *,
    on_end: OnEnd,
    modelled: ModelledRun | None = None,
    workflow: UserWorkflow | None = None,
) -> ChaosReport:
    """Run the missions of these scripts on a started stack and return the verdict.

    `on_end` is called with each settled mission; `modelled` is the model that plans them, if any.
    With a `workflow`, its runs take the place of missions.
    """
    case = RunJudge(stack, options, reproduce)
    client, vault = await stack.client(), VaultChanges(stack)
    strikes = schedule_strikes(
        options.seed, options.faults, workers=options.workers, lasts_s=24 * 3600.0
    )
    async with (
        SandboxClient(stack.sandbox_url, timeout_s=60.0) as sandbox,
        Crew(stack, options.workers, options.faults) as crew,
    ):
        await sandbox.set_faults([rule for script in scripts for rule in script.rules])
        rewind = Rewind(stack)
        missions = missions_of(client, sandbox, workflow, stack, options.written)
        conductor = Conductor(
            missions,
            settle_within_s=options.settle_within_s,
            on_end=on_end,
            rewound=rewind.over,
        )
        pilots: Sequence[str] = ()
        async with missions.approver(scripts) as approver:
            if workflow is not None:
                pilot = MissionScript(index=-1, mission_id="pilot", goal=workflow.target)
                await missions.run_pilot(pilot)
                pilots = await missions.ids(pilot)
            async with FaultInjector(stack, crew, vault, strikes, options.postgres) as injector:
                forward = [script for script in scripts if not script.is_rewound]
                accounts = await conductor.play_all(forward, at_once=options.at_once)
            rewound = [script for script in scripts if script.is_rewound]
            if rewound:
                # Alone, because the restored server forgets other missions too.
                async with asyncio.TaskGroup() as acting:
                    acting.create_task(rewind.strike())
                    playing = conductor.play_all(rewound, at_once=len(rewound))
                    played = acting.create_task(playing)
                accounts += played.result()
        decided = {ChaosFault.REJECT: approver.rejected, ChaosFault.EXPIRE: approver.ignored}
        fired = conductor.fired + injector.fired + Counter(decided)
        newer = [one for one in accounts if one.catalog == crew.newer_catalog]
        fired[ChaosFault.TWO_VERSIONS] += len(newer)
        fired += Counter() if modelled is None else modelled.fired
        fired[ChaosFault.RESTORE_SERVER] += rewind.over.is_set()
        seen = Seen(tuple(approver.approved), vault.values, frozenset(pilots))
        return await case.verdict(
            sandbox, scripts, accounts, fired=fired, planned=Counter(), seen=seen
        )


@dataclass(frozen=True)
class Seen:
    """Records of the kit about its own actions."""

    approved: tuple[ApprovedCall, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)
    others: frozenset[str] = frozenset()


class RunJudge:
    """Judges a run; created at its start, because the verdict says how long it took."""

    def __init__(self, stack: Stack, options: RunOptions, reproduce: Reproduce) -> None:
        """Create a judge; `reproduce` returns the command that repeats a mission."""
        self._stack = stack
        self._options = options
        self._reproduce = reproduce
        self._began = asyncio.get_running_loop().time()

    async def verdict(
        self,
        sandbox: SandboxClient,
        scripts: Sequence[MissionScript],
        accounts: Sequence[Account],
        *,
        fired: Counter[ChaosFault],
        planned: Counter[ChaosFault],
        seen: Seen,
    ) -> ChaosReport:
        """Compare the accounts of the missions with the sandbox's ledger.

        `planned` and `fired` count faults outside the scripts and the sandbox's rules.
        """
        fired, planned = Counter(fired), planned + _planned(scripts)
        for struck in _STRUCK.validate_python((await sandbox.faults())["rules"]):
            fired[fault_of(struck)] += struck.fired
        await sandbox.clear_faults()
        await asyncio.sleep(self._options.late_s)
        catalog = Catalog.load(*self._stack.specs, overlays=self._stack.overlays)
        blind = set()
        for one in (o for account in accounts for o in account.ledger.obligations):
            tool = tool_of(catalog, one) if one.tool in catalog.tools else None
            contract = None if tool is None else tool.compensation
            cancel = None if contract is None else catalog.tools.get(contract.cancel.tool)
            if tool is None or contract is None or cancel is None:
                continue
            if is_lost_with_its_answer(tool, contract, cancel):
                blind.add(one.obligation_id)
        evidence = RunEvidence(
            effects=tuple(map(HeldEffect.model_validate, await sandbox.ledger())),
            requests=tuple(map(HeldRequest.model_validate, await sandbox.requests())),
            approved=seen.approved,
            values=dict(seen.values),
            defaults={
                name: {
                    field: schema["default"]
                    for field, schema in properties_of(tool.input_schema).items()
                    if isinstance(schema, dict) and "default" in schema
                }
                for name, tool in catalog.tools.items()
            },
            keyed=frozenset(n for n, tool in catalog.tools.items() if tool.idempotency_key),
            unprobed=frozenset(
                name
                for name, tool in catalog.tools.items()
                if tool.compensation is not None and tool.compensation.probe is None
            ),
            blind=frozenset(blind),
            spending=frozenset(name for name, tool in catalog.tools.items() if tool.spends),
            reads=frozenset(n for n, tool in catalog.tools.items() if not tool.is_side_effect),
            others=seen.others,
            cuts=fired[ChaosFault.PARTITION_WORKER],
            deaths=fired[ChaosFault.KILL_WORKER],
        )
        breaches = judge(accounts, evidence)
        return compile_report(
            accounts,
            evidence.effects,
            breaches,
            seed=self._options.seed,
            faults=format_faults(self._options.faults),
            fault_counts={
                fault.value: FaultCount(planned=planned[fault], fired=fired[fault])
                for fault in ChaosFault
                if planned[fault] or fired[fault]
            },
            seconds=asyncio.get_running_loop().time() - self._began,
            logs=str(self._stack.folder),
            reproduce=self._reproduce(max(breaches[0].index, 0)) if breaches else None,
        )


def _planned(scripts: Sequence[MissionScript]) -> Counter[ChaosFault]:
    planned = Counter(fault_of(rule) for script in scripts for rule in script.rules)
    planned.update(
        ChaosFault(interruption.kind) for script in scripts for interruption in script.interruptions
    )
    planned[ChaosFault.REJECT] += sum(script.rejected_card is not None for script in scripts)
    planned[ChaosFault.EXPIRE] += sum(script.ignored_card is not None for script in scripts)
    return planned
