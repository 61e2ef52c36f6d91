"""Judges trials of rollback pairs: what the ledgers say, and what to change in the contract."""

from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.catalog.compensation_contract import is_lost_with_its_answer
from orchestrator.catalog.tool import Compensation, Effect, Tool
from orchestrator.chaos.scenarios.pair_cases import PairCase
from orchestrator.chaos.verdicts.report import PARKS, Flaw
from orchestrator.core.errors import ArgumentsInvalid
from orchestrator.messages.mission import MissionResult
from orchestrator.saga.ledger import Obligation, ObligationState
from orchestrator.saga.outcome import TransportFault

_LEFT = {
    "stands": "what {} made still stands",
    "cancelled again": "what {} made was cancelled more than once",
    "made again": "{} took effect more than once",
}
_EXAMPLES = (
    "give the inputs that it names examples: nothing fits their schemas that could be made up"
)
_NOT_JUDGED = (
    "nothing is said of the pair: where the document asks more of an input than its schema says, "
    "give the input an example; else the sandbox is at fault, so tell its makers"
)
_AGAIN = "nothing is said of the pair: this machine was too busy to send it in time; run it again"
_FILL = (
    "fill every required input of the cancel by x-orchet-compensation-args, from $request where "
    "the answer may be missing"
)
_NAMES_IT = (
    "feed the cancel by x-orchet-compensation-args with what names this very thing: its id from "
    "$response, or a reference of the call's own from $request"
)
_REPEATABLE = (
    "let the cancel be repeatable: give it an Idempotency-Key header, and answer a second cancel "
    "like the first"
)
_SURVIVE = (
    "let the caller send a client reference and cancel by it, or add x-orchet-compensation-probe "
    "that finds the resource by what was sent, or an Idempotency-Key header; where its provider "
    "has none of these, it stays so: what a lost answer left is on `orchestrator rollback list`"
)


@dataclass(frozen=True)
class Trial:
    """What one trial came to."""

    tool: Tool
    case: PairCase
    result: MissionResult | None
    """None: it did not end in time."""
    leftovers: frozenset[str]
    """The kinds of what was left behind."""
    made: int
    cancelled: int
    prompts: int
    cancel: Tool | None = None
    """What undoes the tool."""


def flaws_of_contract(tool: Tool, cancel: Tool | None) -> Iterator[Flaw]:
    """What is wrong before anything is tried."""
    if tool.effect is Effect.WRITE and not tool.irreversible:
        yield Flaw(
            code="ORC040",
            why=f"{tool.name} changes something and names no tool that undoes it",
            mend="add x-orchet-cancels with the operationId of its cancel counterpart, "
            "x-orchet-irreversible: true if nothing undoes it, or x-orchet-read-only: true if it "
            "changes nothing",
        )
    if cancel is not None and cancel.needs_confirmation:
        yield Flaw(
            code="ORC043",
            why=f"{cancel.name} undoes {tool.name} and asks for a confirmation",
            mend=f"set x-orchet-requires-confirmation: false on {cancel.name}",
        )


def no_arguments(error: ArgumentsInvalid) -> Flaw:
    """That no arguments could be made for a tool."""
    return Flaw(why=f"no call could be made: {error}", mend=_EXAMPLES)


def not_served(tool: Tool, reason: str) -> Flaw:
    """That the sandbox cannot stand in for the provider of a tool."""
    return Flaw(
        why=f"{tool.name} cannot be tried: {reason}",
        mend="mend the document there, or add an --overlay that does",
    )


def asked(tool: Tool, question: str) -> Flaw:
    """That the made-up call was held back to ask a person something."""
    return Flaw(
        why=f"{tool.name} was not called: it was asked instead: {question}",
        mend=_NOT_JUDGED,
    )


def flaws_of_trial(trial: Trial) -> Iterator[Flaw]:
    """What is wrong with the outcome of a trial; nothing when all of it was taken back."""
    if trial.result is None:
        yield Flaw(
            why=f"the rollback of {trial.tool.name} did not end in time",
            mend="shorten x-orchet-compensation-timeout, or lower -max-attempts",
        )
        return
    obligation = _obligation(trial.result, trial.tool)
    if obligation is None or not _was_tried(trial, obligation):
        refusal = _refusal(trial.result)
        yield Flaw(
            why=f"the made-up call of {trial.tool.name} did not take effect: {refusal}",
            mend=_AGAIN if TransportFault.DEADLINE_BEFORE_SENDING in refusal else _NOT_JUDGED,
        )
        return
    if obligation.is_live:
        yield _why_parked(trial, obligation)
    if trial.prompts:
        yield Flaw(
            why=f"undoing {trial.tool.name} asked {trial.prompts} times for a confirmation",
            mend="set x-orchet-requires-confirmation: false on the cancel",
        )
    for left in () if obligation.is_live else sorted(trial.leftovers):
        yield Flaw(
            why=f"{_LEFT[left].format(trial.tool.name)}, while the mission's ledger says it is "
            f"{obligation.state.value}",
            mend=_mend_of_leftover(obligation),
        )


def _obligation(result: MissionResult, tool: Tool) -> Obligation | None:
    return next((o for o in result.ledger.obligations if o.tool == tool.name), None)


def _was_tried(trial: Trial, obligation: Obligation) -> bool:
    """Whether the call got where its case wants it: most cases need one that took effect."""
    return trial.made > 0 or trial.case is PairCase.REQUEST_LOST or obligation.is_live


def _refusal(result: MissionResult) -> str:
    errors = [step.error for leg in result.legs for step in leg.steps if step.error]
    return errors[0] if errors else result.error or "nobody says why"


def _why_parked(trial: Trial, obligation: Obligation) -> Flaw:
    contract = trial.tool.compensation
    assert contract is not None
    if trial.case.is_ambiguous and _is_blind(trial, contract):
        return Flaw(
            code=PARKS,
            why=f"when the answer never comes, {contract.cancel.tool} cannot be called: it needs "
            "something of the answer, and no probe finds what was made",
            mend=_SURVIVE,
        )
    if trial.case is PairCase.CANCEL_ANSWER_LOST and trial.cancelled:
        return Flaw(why=f"the cancel was sent twice: {obligation.note}", mend=_REPEATABLE)
    if "was refused" in obligation.note or "attempts are spent" in obligation.note:
        return Flaw(why=obligation.note, mend=_NAMES_IT)
    if _is_blind(trial, contract) and trial.made:
        # Not even a good answer said so: a 202 only tells that the call was taken on.
        return Flaw(why=f"{obligation.note}, though its answer came", mend=_SURVIVE)
    return Flaw(why=obligation.note, mend=_FILL)


def _is_blind(trial: Trial, contract: Compensation) -> bool:
    cancel = trial.cancel
    return cancel is not None and is_lost_with_its_answer(trial.tool, contract, cancel)


def _mend_of_leftover(obligation: Obligation) -> str:
    if obligation.state is ObligationState.ACCEPTED:
        return "its contract says to continue: set x-orchet-compensation-on-failure: park"
    if obligation.state is ObligationState.VOID:
        return (
            "the probe or the cancel must find what was made by what was sent, and nothing else: "
            "read a client reference of the call's own"
        )
    return "the cancel must undo what the call made, by the id or the reference of this very call"
