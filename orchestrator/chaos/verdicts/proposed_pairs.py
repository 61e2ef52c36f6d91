"""What trials of proposed rollback pairs make of the proposal: one that failed is not proposed."""

from collections.abc import Iterator, Sequence
from typing import Literal

from orchestrator.catalog.suggest.proposal import Proposal, ProposedPair
from orchestrator.chaos.scenarios.pair_cases import PairCase
from orchestrator.chaos.verdicts.report import PairCheck, PairsReport
from orchestrator.core.record import Record

Standing = Literal["held", "parks", "failed", "untried"]
"""held: all was taken back; parks: but not where the answer was lost, which an operator is asked
about; untried: no call of it could be made."""


class TriedPair(Record):
    """One proposed pair, and what became of it in the sandbox."""

    tool: str
    cancel: str
    standing: Standing
    why: str = ""


def judge_pairs(proposal: Proposal, report: PairsReport) -> tuple[Proposal, tuple[TriedPair, ...]]:
    """The proposal without the pairs that failed, which it asks about; and the verdict on each."""
    tried = tuple(
        _judged(pair, [check for check in report.checks if check.tool == pair.tool])
        for pair in proposal.pairs
    )
    failed = {t.tool: f"in the sandbox: {t.why}" for t in tried if t.standing == "failed"}
    untried = {
        t.tool: f"not tried in the sandbox: {t.why}" for t in tried if t.standing == "untried"
    }
    return proposal.checking(untried).asking(failed), tried


def _judged(pair: ProposedPair, checks: Sequence[PairCheck]) -> TriedPair:
    told = {check.case: _why(check) for check in checks if not check.ok}
    clean = next((check for check in checks if check.case == PairCase.CLEAN), None)

    def judged(standing: Standing, why: str = "") -> TriedPair:
        return TriedPair(tool=pair.tool, cancel=pair.cancel, standing=standing, why=why)

    if clean is None or (clean.made == 0 and not clean.ok):
        return judged("untried", told.get(PairCase.CLEAN) or "; ".join(told.values()))
    for case, why in told.items():
        if not (pair.is_blind and _is_ambiguous(case)):
            return judged("failed", f"{case}: {why}")
    return judged("parks", next(iter(told.values()))) if told else judged("held")


def _is_ambiguous(case: str) -> bool:
    return case in [*PairCase] and PairCase(case).is_ambiguous


def _why(check: PairCheck) -> str:
    return "; ".join(_sentences(check))


def _sentences(check: PairCheck) -> Iterator[str]:
    for flaw in check.flaws:
        yield f"{flaw.why}; to mend it: {flaw.mend}"
