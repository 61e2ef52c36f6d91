"""What a chaos run found out: missions counted, rollback pairs one by one."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil

from pydantic import Field

from orchestrator.catalog.operations import SkippedOperation
from orchestrator.chaos.verdicts.evidence import Account, HeldEffect
from orchestrator.chaos.verdicts.invariants import InvariantBreach
from orchestrator.core.record import Record
from orchestrator.saga.ledger import ObligationState

PARKS = "ORC047"
"""The linter's code of what is parked once its answer is lost, and undone else."""


class Percentiles(Record):
    """How long something took, in seconds."""

    count: int = 0
    p50: float = 0.0
    p95: float = 0.0
    max: float = 0.0

    @staticmethod
    def of(seconds: Sequence[float]) -> "Percentiles":
        """By nearest rank; all zero when there is nothing to count."""
        if not seconds:
            return Percentiles()
        ranked = sorted(seconds)
        half, most = (ranked[ceil(part * len(ranked)) - 1] for part in (0.5, 0.95))
        return Percentiles(count=len(ranked), p50=half, p95=most, max=ranked[-1])


class FaultCount(Record):
    """How much of one kind of fault was planned, and how often it struck."""

    planned: int = 0
    fired: int = 0


class ChaosReport(Record):
    """The verdict of a run."""

    seed: int
    faults: str
    missions: int
    statuses: dict[str, int] = Field(description="missions by how they ended")
    effects: int = Field(description="changes that providers made, cancels included")
    live: int = Field(description="of these, what was made and still stands")
    duplicates: int
    orphans: int
    phantoms: int = Field(default=0, description="receipts of what does not stand")
    overcharges_unnoticed: int = 0
    prompts_during_rollback: int
    parked: int = Field(description="obligations that wait for an operator")
    parked_wrongly: int = Field(
        default=0, description="of these, what the faults did not make impossible to undo"
    )
    rewound_left: int = Field(
        default=0, description="what stands of missions whose server was restored from a copy"
    )
    rollback_s: Percentiles
    mission_s: Percentiles
    fault_counts: dict[str, FaultCount]
    seconds: float
    breaches: tuple[InvariantBreach, ...] = ()
    reproduce: str | None = Field(default=None, description="runs the first broken mission again")
    logs: str = ""
    ok: bool


class Flaw(Record):
    """Why a pair did not hold, and what to change."""

    why: str
    mend: str
    code: str = ""
    """Of the linter's finding that says the same by reading; '' where only a trial tells."""


class PairCheck(Record):
    """One tool, tried in one way."""

    document: str
    tool: str
    cancel: str | None = Field(description="None: no tool is declared")
    case: str = Field(description="the way it was tried; contract: found by reading alone")
    ok: bool
    flaws: tuple[Flaw, ...] = ()
    mission_id: str | None = None
    made: int = Field(default=0, description="things it made, by the sandbox's ledger")
    cancelled: int = Field(default=0, description="cancels that had an effect, by the same")
    prompts: int = Field(default=0, description="confirmations asked for while it was rolled back")
    seconds: float = 0.0

    @property
    def only_parks(self) -> bool:
        """Whether all that is wrong is that an operator is asked where the answer was lost."""
        return bool(self.flaws) and all(flaw.code == PARKS for flaw in self.flaws)


class PairsReport(Record):
    """Every pair of a catalog, tried in every way."""

    seed: int
    pairs: int
    checks: tuple[PairCheck, ...]
    seconds: float
    ok: bool
    skipped: tuple[SkippedOperation, ...] = Field(
        default=(), description="what is marked as a tool and cannot be one; it was not tried"
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
    """Count what missions and providers say."""
    ours = {told.mission_id for told in accounts}
    made = [effect for effect in effects if effect.mission_id in ours]
    counted = Counter(breach.invariant for breach in breaches)
    rewound = {told.mission_id for told in accounts if told.rewound}
    rollbacks = [told.rollback_s for told in accounts if told.rollback_s is not None]
    return ChaosReport(
        seed=seed,
        faults=faults,
        missions=len(accounts),
        statuses=dict(sorted(Counter(told.status for told in accounts).items())),
        effects=len(made),
        live=sum(effect.is_live for effect in made),
        duplicates=counted["duplicate"],
        orphans=counted["orphan"] + counted["stray"],
        phantoms=counted["phantom"],
        overcharges_unnoticed=counted["overcharge"],
        prompts_during_rollback=sum(told.prompts_during_rollback for told in accounts),
        parked=sum(
            obligation.state is ObligationState.PARKED
            for told in accounts
            for obligation in told.ledger.obligations
        ),
        parked_wrongly=counted["parked"],
        rewound_left=sum(effect.is_live and effect.mission_id in rewound for effect in made),
        rollback_s=Percentiles.of(rollbacks),
        mission_s=Percentiles.of([told.seconds for told in accounts]),
        fault_counts=dict(fault_counts),
        seconds=seconds,
        breaches=tuple(breaches),
        reproduce=reproduce if breaches else None,
        logs=logs,
        ok=not breaches,
    )
