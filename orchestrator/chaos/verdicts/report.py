"""Reports of chaos runs and of trials of rollback pairs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil

from pydantic import Field

from orchestrator.catalog.operations import SkippedOperation
from orchestrator.chaos.verdicts.invariants import Account, HeldEffect, InvariantBreach
from orchestrator.core.record import Record
from orchestrator.saga.obligation import ObligationState

PARKS = "ORC047"
"""The linter's code of a tool that is parked when its answer is lost."""


class Percentiles(Record):
    """Percentiles of durations in seconds."""

    count: int = 0
    p50: float = 0.0
    p95: float = 0.0
    max: float = 0.0

    @staticmethod
    def of(seconds: Sequence[float]) -> "Percentiles":
        """Return percentiles by nearest rank; all zero without durations."""
        if not seconds:
            return Percentiles()
        ranked = sorted(seconds)
        half, most = (ranked[ceil(part * len(ranked)) - 1] for part in (0.5, 0.95))
        return Percentiles(count=len(ranked), p50=half, p95=most, max=ranked[-1])


class FaultCount(Record):
    """Planned and struck faults of one kind."""

    planned: int = 0
    fired: int = 0


class ChaosReport(Record):
    """The verdict of a run."""

    seed: int
    faults: str
    missions: int
    statuses: dict[str, int] = Field(description="missions by status")
    effects: int = Field(description="changes that providers made, cancels included")
    live: int = Field(description="of these, standing ones")
    duplicates: int
    orphans: int
    phantoms: int = Field(default=0, description="receipts without a standing effect")
    overcharges_unnoticed: int = 0
    prompts_during_rollback: int
    parked: int = Field(description="obligations that wait for an operator")
    parked_wrongly: int = Field(
        default=0, description="of these, those that the faults do not excuse"
    )
    rewound_left: int = Field(
        default=0, description="standing effects of missions on a restored server"
    )
    rollback_s: Percentiles
    mission_s: Percentiles
    fault_counts: dict[str, FaultCount]
    seconds: float
    breaches: tuple[InvariantBreach, ...] = ()
    reproduce: str | None = Field(default=None, description="repeats the first broken mission")
    logs: str = ""
    ok: bool


class Flaw(Record):
    """The reason why a pair failed, and the remedy."""

    why: str
    remedy: str
    code: str = ""
    """Code of the linter's equal finding; '' if only a trial finds it."""


class PairCheck(Record):
    """A check of a tool in one case."""

    document: str
    tool: str
    cancel: str | None = Field(description="None: the tool declares no cancel")
    case: str = Field(description="the case; contract: found by reading")
    ok: bool
    flaws: tuple[Flaw, ...] = ()
    mission_id: str | None = None
    made: int = Field(default=0, description="created resources in the sandbox's ledger")
    cancelled: int = Field(default=0, description="effective cancels in the same")
    prompts: int = Field(default=0, description="cards opened during the rollback")
    seconds: float = 0.0

    @property
    def only_parks(self) -> bool:
        """True if the only flaw is that a lost answer is parked."""
        return bool(self.flaws) and all(flaw.code == PARKS for flaw in self.flaws)


class PairsReport(Record):
    """Checks of all pairs of a catalog."""

    seed: int
    pairs: int
    checks: tuple[PairCheck, ...]
    seconds: float
    ok: bool
    skipped: tuple[SkippedOperation, ...] = Field(
        default=(), description="operations that could not be compiled; they were not tried"
    )


def compile_report(
    accounts: Sequence[Account],
    effects: Sequence[HeldEffect],
    breaches: Sequence[InvariantBreach],
    *,
    seed: int,
    faults: str,
    fault_counts: Mapping[str, FaultCount],
    seconds: float,
    logs: str,
    reproduce: str | None,
) -> ChaosReport:
    """Compile the report of a run."""
    ours = {account.mission_id for account in accounts}
    made = [effect for effect in effects if effect.mission_id in ours]
    counted = Counter(breach.invariant for breach in breaches)
    rewound = {account.mission_id for account in accounts if account.rewound}
    rollbacks = [account.rollback_s for account in accounts if account.rollback_s is not None]
    return ChaosReport(
        seed=seed,
        faults=faults,
        missions=len(accounts),
        statuses=dict(sorted(Counter(account.status for account in accounts).items())),
        effects=len(made),
        live=sum(effect.is_live for effect in made),
        duplicates=counted["duplicate"],
        orphans=counted["orphan"] + counted["stray"],
        phantoms=counted["phantom"],
        overcharges_unnoticed=counted["overcharge"],
        prompts_during_rollback=sum(account.prompts_during_rollback for account in accounts),
        parked=sum(
            obligation.state is ObligationState.PARKED
            for account in accounts
            for obligation in account.ledger.obligations
        ),
        parked_wrongly=counted["parked"],
        rewound_left=sum(effect.is_live and effect.mission_id in rewound for effect in made),
        rollback_s=Percentiles.of(rollbacks),
        mission_s=Percentiles.of([account.seconds for account in accounts]),
        fault_counts=dict(fault_counts),
        seconds=seconds,
        breaches=tuple(breaches),
        reproduce=reproduce if breaches else None,
        logs=logs,
        ok=not breaches,
    )
