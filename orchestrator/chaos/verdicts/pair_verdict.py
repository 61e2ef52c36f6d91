"""Trials of rollback pairs: their cases, their flaws, and which proposed pairs pass."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Literal

from orchestrator.catalog.compensation_contract import is_lost_with_its_answer
from orchestrator.catalog.suggest.suggest import Proposal
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.chaos.verdicts.report import PARKS, Flaw, PairsReport
from orchestrator.core.record import Record
from orchestrator.messages.mission import MissionResult
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.saga.obligation import Obligation, ObligationState
from orchestrator.saga.outcome import TransportFault
from orchestrator.sandbox.faults import FaultKind, FaultRule

LATENESS_S = 4.5
"""Delay of a late answer: beyond the call's timeout, but before it can no longer arrive."""
_UNCLEAR = MissionPolicy(call_timeout=timedelta(seconds=3), call_attempts=1)
"""Short, because a rollback waits until an unclear call can no longer arrive."""


class PairCase(StrEnum):
    """A case in which a pair is tried."""

    CLEAN = "clean"
    """The call succeeds, and is cancelled."""
    ANSWER_LOST = "answer lost"
    """The call takes effect and its connection breaks."""
    REQUEST_LOST = "request lost"
    """The connection breaks before the call takes effect."""
    SERVER_ERROR = "server error"
    """The call takes effect and is answered with 503."""
    TOO_LATE = "too late"
    """The call takes effect after its timeout."""
    CANCEL_ANSWER_LOST = "cancel's answer lost"
    """The call succeeds; the cancel takes effect and its connection breaks."""

    @property
    def policy(self) -> MissionPolicy:
        """The limits of its call, which are short if the rollback waits for them."""
        return _UNCLEAR if self.is_ambiguous else MissionPolicy(call_attempts=1)

    @property
    def is_ambiguous(self) -> bool:
        """True if the orchestrator does not learn the outcome of the call."""
        return self not in (PairCase.CLEAN, PairCase.CANCEL_ANSWER_LOST)


_KINDS: dict[PairCase, FaultKind] = {
    PairCase.ANSWER_LOST: "drop_after",
    PairCase.REQUEST_LOST: "drop_before",
    PairCase.SERVER_ERROR: "status_after",
    PairCase.TOO_LATE: "latency",
    PairCase.CANCEL_ANSWER_LOST: "drop_after",
}


def faults_of(case: PairCase, tool: str, cancel: str, *, mission_id: str) -> tuple[FaultRule, ...]:
    """Return the fault of a mission's case; `tool` and `cancel` are the sandbox's names."""
    if case not in _KINDS:
        return ()
    rule = FaultRule(
        operation_id=cancel if case is PairCase.CANCEL_ANSWER_LOST else tool,
        kind=_KINDS[case],
        times=1,
        delay_s=LATENESS_S,
        request_prefix=f"{mission_id}.",
    )
    return (rule,)


NOT_JUDGED = (
    "the pair was not judged: if an input needs more than its schema says, give it an example; "
    "otherwise report the sandbox"
)
_SURVIVE = (
    "let the caller send a client reference and cancel by it, or add x-orchet-compensation-probe "
    "that finds the resource by the request, or an Idempotency-Key header; if the provider has "
    "none of these, a lost answer ends on `orchestrator rollback list`"
)


@dataclass(frozen=True)
class Trial:
    """The outcome of a trial."""

    tool: Tool
    case: PairCase
    result: MissionResult | None
    """The result of its mission; None if it did not end in time."""
    leftovers: frozenset[str]
    """The kinds of leftovers."""
    made: int
    cancelled: int
    prompts: int
    cancel: Tool | None = None
    """The tool's cancel."""


def flaws_of_contract(tool: Tool, cancel: Tool | None) -> Iterator[Flaw]:
    """Yield the flaws that reading finds."""
    if tool.effect is Effect.WRITE and not tool.irreversible:
        yield Flaw(
            code="ORC040",
            why=f"{tool.name} changes something and declares no cancel",
            remedy="add x-orchet-cancels with the operationId of its cancel counterpart, "
            "x-orchet-irreversible: true if it cannot be cancelled, or x-orchet-read-only: true if "
            "it changes nothing",
        )
    if cancel is not None and cancel.needs_confirmation:
        yield Flaw(
            code="ORC043",
            why=f"{cancel.name} cancels {tool.name} and asks for a confirmation",
            remedy=f"set x-orchet-requires-confirmation: false on {cancel.name}",
        )


def flaws_of_trial(trial: Trial) -> Iterator[Flaw]:
    """Yield the flaws of a trial; none if everything was cancelled."""
    name, result = trial.tool.name, trial.result
    if result is None:
        yield Flaw(
            why=f"the rollback of {name} did not end in time",
            remedy="shorten x-orchet-compensation-timeout, or lower -max-attempts",
        )
        return
    obligation = next((o for o in result.ledger.obligations if o.tool == name), None)
    is_sent = trial.made > 0 or trial.case is PairCase.REQUEST_LOST
    if obligation is None or not (is_sent or obligation.is_live):
        errors = [step.error for leg in result.legs for step in leg.steps if step.error]
        refusal = errors[0] if errors else result.error or "no reason was given"
        remedy = NOT_JUDGED
        if TransportFault.DEADLINE_BEFORE_SENDING in refusal:
            remedy = "the pair was not judged: this machine was too busy to send it in time;"
            remedy += " run it again"
        why = f"the made-up call of {name} did not take effect: {refusal}"
        yield Flaw(why=why, remedy=remedy)
        return
    if obligation.is_live:
        yield _why_parked(trial, obligation)
    if trial.prompts:
        yield Flaw(
            why=f"the rollback of {name} asked {trial.prompts} times for a confirmation",
            remedy="set x-orchet-requires-confirmation: false on the cancel",
        )
    remedies = {
        ObligationState.ACCEPTED: "its contract says to continue: set "
        "x-orchet-compensation-on-failure: park",
        ObligationState.VOID: "the probe or the cancel must find this resource, and no other, by "
        "the request: use a client reference of the call",
    }
    found = {
        "stands": f"what {name} made still stands",
        "cancelled again": f"what {name} made was cancelled more than once",
        "made again": f"{name} took effect more than once",
    }
    for left in () if obligation.is_live else sorted(trial.leftovers):
        state = obligation.state
        yield Flaw(
            why=f"{found[left]}, while the mission's ledger says it is {state.value}",
            remedy=remedies.get(
                state, "the cancel must name the resource by the id or the reference of this call"
            ),
        )


def _why_parked(trial: Trial, obligation: Obligation) -> Flaw:
    contract, note = trial.tool.compensation, obligation.note
    assert contract is not None
    is_blind = trial.cancel is not None and is_lost_with_its_answer(
        trial.tool, contract, trial.cancel
    )
    if trial.case.is_ambiguous and is_blind:
        return Flaw(
            code=PARKS,
            why=f"when the answer is lost, {contract.cancel.tool} cannot be called: it needs "
            "something of the answer, and no probe finds the resource",
            remedy=_SURVIVE,
        )
    if trial.case is PairCase.CANCEL_ANSWER_LOST and trial.cancelled:
        return Flaw(
            why=f"the cancel was sent twice: {note}",
            remedy="make the cancel repeatable: give it an Idempotency-Key header, and answer a "
            "second cancel like the first",
        )
    if "was refused" in note or "attempts are spent" in note:
        return Flaw(
            why=note,
            remedy="give the cancel this resource's own id by x-orchet-compensation-args: an id "
            "from $response, or a reference of the call from $request",
        )
    if is_blind and trial.made:
        # Even a good answer may not contain enough: a 202 only accepts the call.
        return Flaw(why=f"{note}, though its answer came", remedy=_SURVIVE)
    return Flaw(
        why=note,
        remedy="fill every required input of the cancel by x-orchet-compensation-args, from "
        "$request where the answer may be missing",
    )


Standing = Literal["held", "parks", "failed", "untried"]
"""The verdict on a pair.

held: everything was cancelled; parks: except where the answer was lost; untried: no call of it
could be made.
"""


class TriedPair(Record):
    """A proposed pair and its trial in the sandbox."""

    tool: str
    cancel: str
    standing: Standing
    why: str = ""


def judge_pairs(proposal: Proposal, report: PairsReport) -> tuple[Proposal, tuple[TriedPair, ...]]:
    """Return the proposal with the failed pairs turned into questions, and the verdicts."""
    tried = []
    for pair in proposal.pairs:
        checks = [check for check in report.checks if check.tool == pair.tool]
        failures = {
            check.case: "; ".join(f"{flaw.why}; fix: {flaw.remedy}" for flaw in check.flaws)
            for check in checks
            if not check.ok
        }
        excused = {case for case in PairCase if pair.is_blind and case.is_ambiguous}
        clean = next((check for check in checks if check.case == PairCase.CLEAN), None)
        broken = next((case for case in failures if case not in excused), None)
        standing: Standing = "parks" if failures else "held"
        why = next(iter(failures.values()), "")
        if clean is None or (clean.made == 0 and not clean.ok):
            standing = "untried"
            why = failures.get(PairCase.CLEAN) or "; ".join(failures.values())
        elif broken is not None:
            standing, why = "failed", f"{broken}: {failures[broken]}"
        tried.append(TriedPair(tool=pair.tool, cancel=pair.cancel, standing=standing, why=why))
    failed = {t.tool: f"in the sandbox: {t.why}" for t in tried if t.standing == "failed"}
    untried = {
        t.tool: f"not tried in the sandbox: {t.why}" for t in tried if t.standing == "untried"
    }
    return proposal.checking(untried).asking(failed), tuple(tried)
