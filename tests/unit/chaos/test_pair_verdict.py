"""Verdicts on trials of pairs: the flaw and its remedy."""

from dataclasses import replace

import pytest

from orchestrator.catalog.tool import Compensation, Effect, Tool, ToolCallTemplate
from orchestrator.chaos.verdicts.pair_verdict import (
    PairCase,
    Trial,
    faults_of,
    flaws_of_contract,
    flaws_of_trial,
)
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import ObligationState
from orchestrator.saga.outcome import TransportFault
from tests.fakes import fake_obligation, fake_tool

DROP = fake_tool("drop", effect=Effect.CANCEL)
BLIND = fake_tool("book", cancel_tool="drop", idempotent=False).model_copy(
    update={
        "compensation": Compensation(
            cancel=ToolCallTemplate(tool="drop", arguments={"id": "$response.body#/id"})
        )
    }
)


def trial(state: ObligationState, *, tool: Tool | None = None, **changes: object) -> Trial:
    tool = tool or fake_tool("book", cancel_tool="drop")
    stated = {"tool": tool.name, "cancel_tool": "drop", "note": changes.pop("note", "")}
    obligation = fake_obligation("m.1-script.1", state=state, **stated)
    ledger, status = Ledger(obligations=(obligation,)), MissionStatus.ROLLED_BACK
    result = MissionResult(mission_id="m", goal="a script", status=status, ledger=ledger)
    facts: dict[str, object] = {"case": PairCase.CLEAN, "leftovers": frozenset(), "prompts": 0}
    facts |= {"made": 1, "cancelled": 1, **changes}
    return Trial(tool=tool, result=result, **facts)  # type: ignore[arg-type]  # by name


def test_a_call_that_was_not_sent_in_time_is_to_be_repeated() -> None:
    """A busy machine says nothing about the document."""
    late = trial(ObligationState.VOID, case=PairCase.TOO_LATE, made=0)
    assert late.result is not None
    error = f"book: {TransportFault.DEADLINE_BEFORE_SENDING} (3 s)"
    unsent = replace(late, result=late.result.model_copy(update={"error": error}))
    (flaw,) = flaws_of_trial(unsent)
    assert "run it again" in flaw.remedy
    blind = trial(ObligationState.PARKED, tool=BLIND, case=PairCase.ANSWER_LOST, cancel=DROP)
    assert [flaw.code for flaw in flaws_of_trial(blind)] == ["ORC047"]


@pytest.mark.parametrize(
    ("case", "note", "why", "remedy"),
    [
        (PairCase.CANCEL_ANSWER_LOST, "drop was refused: HTTP 404", "sent twice", "repeatable"),
        (PairCase.CLEAN, "drop was refused: HTTP 409", "HTTP 409", "own id"),
        (PairCase.CLEAN, "reason is missing", "reason is missing", "every required input"),
    ],
)
def test_a_parked_one_gives_its_reason(case: PairCase, note: str, why: str, remedy: str) -> None:
    """The remedy depends on the reason why the rollback parked."""
    (flaw,) = flaws_of_trial(trial(ObligationState.PARKED, case=case, note=note))

    assert why in flaw.why
    assert remedy in flaw.remedy


@pytest.mark.parametrize(
    "found",
    [
        trial(ObligationState.VOID, leftovers=frozenset({"stands"})),
        trial(ObligationState.CANCELLED, leftovers=frozenset({"cancelled again"})),
        trial(ObligationState.CANCELLED, prompts=1),
        trial(ObligationState.VOID, made=0),
    ],
    ids=["stands", "cancelled again", "prompt", "no effect"],
)
def test_the_sandbox_is_believed_over_the_mission(found: Trial) -> None:
    """Leftovers, prompts of a rollback and a call without an effect are flaws."""
    assert len(list(flaws_of_trial(found))) == 1
    assert list(flaws_of_trial(trial(ObligationState.CANCELLED))) == []


def test_contracts_are_read_first() -> None:
    """A tool without a cancel, and a cancel that asks, are flaws without a trial."""
    loose = fake_tool("post_note", effect=Effect.WRITE)
    final = loose.model_copy(update={"irreversible": True})
    asking = fake_tool("drop", effect=Effect.CANCEL, card_type="structured-order")

    assert [f.code for f in flaws_of_contract(loose, None)] == ["ORC040"]
    assert list(flaws_of_contract(final, None)) == []
    assert [f.code for f in flaws_of_contract(fake_tool("book"), asking)] == ["ORC043"]


@pytest.mark.parametrize("case", list(PairCase))
def test_each_case_strikes_its_own_mission_once(case: PairCase) -> None:
    rules = faults_of(case, "book", "drop", mission_id="m1")

    assert len(rules) == (0 if case is PairCase.CLEAN else 1)
    assert all(rule.request_prefix == "m1." and rule.times == 1 for rule in rules)
