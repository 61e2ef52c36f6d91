"""A whole chaos run: a stack of its own, missions under faults, and the verdict."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from orchestrator.catalog.catalog import Catalog
from orchestrator.chaos.approver import Approver
from orchestrator.chaos.conductor import Conductor, OnEnd
from orchestrator.chaos.fault_injector import FaultInjector, worker_names
from orchestrator.chaos.scenarios.chaos_faults import ChaosFault, format_faults
from orchestrator.chaos.scenarios.plan import MissionScript, fault_of, schedule_strikes
from orchestrator.chaos.verdicts.invariants import Account, HeldEffect, judge
from orchestrator.chaos.verdicts.report import ChaosReport, FaultCount, compile_report
from orchestrator.runtime.demo import DINNER, TRIP
from orchestrator.runtime.devserver import Stack
from orchestrator.sandbox import SandboxClient
from orchestrator.sandbox.faults import FaultRule

WORKER_VARIABLES: Mapping[str, str] = {"ORCHESTRATOR_SWEEP_INTERVAL": "PT5S"}
"""Of the workers of a chaos run: the sweep comes often, for the run waits for it."""

_LONGEST_S = 24 * 3600.0
_LATE_S = 2.0
"""After the last mission is settled: what still arrives at a provider has arrived by then."""


@dataclass(frozen=True)
class RunOptions:
    """How to run: nothing here changes what happens to a mission."""

    seed: int
    faults: frozenset[ChaosFault]
    at_once: int = 32
    workers: int = 3
    settle_within_s: float = 480.0


class _Struck(FaultRule):
    """A rule, with how often it struck."""

    fired: int


_STRUCK = TypeAdapter(list[_Struck])
_EFFECTS = TypeAdapter(list[HeldEffect])


GOALS = (
    TRIP,
    DINNER,
    "Rent a car in Lisbon from 2026-12-03 to 2026-12-06 and add it to my calendar",
    "Find the latest sales report file and share it with lee@example.com",
)
"""Trips, dinners, rentals and files: tools of nine of the bundled documents."""

Reproduce = Callable[[int], str]


async def run_scripts(
    stack: Stack,
    options: RunOptions,
    scripts: Sequence[MissionScript],
    reproduce: Reproduce,
    *,
    on_end: OnEnd,
) -> ChaosReport:
    """The verdict on the missions of these scripts, played on a started stack.

    `on_end` is told of each mission that is settled.
    """
    case = RunJudge(stack, options, reproduce)
    client = await stack.client()
    async with SandboxClient(stack.sandbox_url, timeout_s=60.0) as sandbox:
        await sandbox.set_faults([rule for script in scripts for rule in script.rules])
        for name in worker_names(options.workers):
            if not stack.runs(name):
                await stack.start_worker(name)
        conductor = Conductor(
            client, sandbox, settle_within_s=options.settle_within_s, on_end=on_end
        )
        strikes = schedule_strikes(
            options.seed, options.faults, workers=options.workers, lasts_s=_LONGEST_S
        )
        async with (
            Approver(client, scripts) as approver,
            FaultInjector(stack, strikes) as injector,
        ):
            told = await conductor.play_all(scripts, at_once=options.at_once)
        decided = {ChaosFault.REJECT: approver.rejected, ChaosFault.EXPIRE: approver.ignored}
        fired = conductor.fired + injector.fired + Counter(decided)
        return await case.verdict(sandbox, scripts, told, fired=fired, planned=Counter())


class RunJudge:
    """What a verdict is about; made when the run begins, for it says how long that took."""

    def __init__(self, stack: Stack, options: RunOptions, reproduce: Reproduce) -> None:
        """Take how a mission of this run is run again."""
        self._stack = stack
        self._options = options
        self._reproduce = reproduce
        self._began = asyncio.get_running_loop().time()

    async def verdict(
        self,
        sandbox: SandboxClient,
        scripts: Sequence[MissionScript],
        told: Sequence[Account],
        *,
        fired: Counter[ChaosFault],
        planned: Counter[ChaosFault],
    ) -> ChaosReport:
        """What the missions say, held against what the sandbox says.

        `planned` and `fired` count what is not in the scripts and the sandbox's rules.
        """
        fired, planned = Counter(fired), planned + _planned(scripts)
        for struck in _STRUCK.validate_python((await sandbox.faults())["rules"]):
            fired[fault_of(struck)] += struck.fired
        await sandbox.clear_faults()
        await asyncio.sleep(_LATE_S)
        effects = _EFFECTS.validate_python(await sandbox.ledger())
        catalog = Catalog.load(*self._stack.specs, overlays=self._stack.overlays)
        keyed = {name for name, tool in catalog.tools.items() if tool.idempotency_header}
        breaches = judge(told, effects, keyed=keyed)
        return compile_report(
            told,
            effects,
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
            reproduce=self._reproduce(breaches[0].index) if breaches else None,
        )


def _planned(scripts: Sequence[MissionScript]) -> Counter[ChaosFault]:
    planned = Counter(fault_of(rule) for script in scripts for rule in script.rules)
    planned.update(
        ChaosFault(interruption.kind) for script in scripts for interruption in script.interruptions
    )
    planned[ChaosFault.REJECT] += sum(script.rejected_card is not None for script in scripts)
    planned[ChaosFault.EXPIRE] += sum(script.ignored_card is not None for script in scripts)
    return planned
