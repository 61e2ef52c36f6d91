"""What trying the rollback pairs of a catalog showed: one line for each pair and case."""

from pydantic import Field

from orchestrator.core.record import Record


class Flaw(Record):
    """Why a pair did not hold, and how to mend it."""

    why: str
    mend: str


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


class PairsReport(Record):
    """Every pair of a catalog, tried in every way."""

    seed: int
    pairs: int
    checks: tuple[PairCheck, ...]
    seconds: float
    ok: bool
