"""What a trial of a pair is told: why it does not hold, and how to mend it."""

from dataclasses import replace

import pytest

from orchestrator.catalog.tool import Compensation, Effect, Tool, ToolCallTemplate
from orchestrator.chaos.scenarios.pair_cases import PairCase, faults_of
from orchestrator.chaos.verdicts.pair_verdict import Trial, flaws_of_contract, flaws_of_trial
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.saga.ledger import Ledger, ObligationState
from orchestrator.saga.outcome import TransportFault
from orchestrator.testing import fake_obligation, fake_tool

DROP = fake_tool("drop", effect=Effect.CANCEL)
BLIND = Compensation(cancel=ToolCallTemplate(tool="drop", arguments={"id": "$response.body#/id"}))


def trial(state: ObligationState, *, tool: Tool | None = None, **changes: object) -> Trial:
    """A trial after which the one obligation of its mission stands so."""
    tool = tool or fake_tool("book", cancel_tool="drop")
    obligation = fake_obligation(
        "m.1-script.1",
        tool=tool.name,
        cancel_tool="drop",
        state=state,
        note=str(changes.pop("note", "")),
    )
    result = MissionResult(
        mission_id="m",
        goal="a script",
        status=MissionStatus.ROLLED_BACK,
        ledger=Ledger(obligations=(obligation,)),
    )
    facts: dict[str, object] = {
        "case": PairCase.CLEAN,
        "leftovers": frozenset(),
        "made": 1,
        "cancelled": 1,
        "prompts": 0,
        **changes,
    }
    return Trial(tool=tool, result=result, **facts)  # type: ignore[arg-type]  # by name


def test_what_was_taken_back_has_no_flaw() -> None:
    """A cancelled obligation, and nothing left: the pair holds."""
    assert list(flaws_of_trial(trial(ObligationState.CANCELLED))) == []


def test_a_cancel_fed_from_a_lost_answer_is_told() -> None:
    """Parked, since the answer never came and nothing else names what was made."""
    blind = fake_tool("book", cancel_tool="drop", idempotent=False).model_copy(
        update={"compensation": BLIND}
    )

    lost = trial(ObligationState.PARKED, tool=blind, case=PairCase.ANSWER_LOST, cancel=DROP)

    (flaw,) = flaws_of_trial(lost)

    assert "needs something of the answer, and no probe" in flaw.why
    assert "client reference" in flaw.mend
    assert "probe" in flaw.mend


def test_a_call_that_was_never_sent_says_nothing_of_the_document() -> None:
    """A machine with other work to do is no reason to ask for examples."""
    late = trial(ObligationState.VOID, case=PairCase.TOO_LATE, made=0)
    assert late.result is not None
    error = f"book: {TransportFault.DEADLINE_BEFORE_SENDING} (3 s)"
    unsent = replace(late, result=late.result.model_copy(update={"error": error}))

    (flaw,) = flaws_of_trial(unsent)

    assert "run it again" in flaw.mend


def test_a_cancel_that_is_not_repeatable_is_told_so() -> None:
    """It took effect once, and its second sending was refused."""
    lost = trial(
        ObligationState.PARKED, case=PairCase.CANCEL_ANSWER_LOST, note="drop was refused: HTTP 404"
    )

    (flaw,) = flaws_of_trial(lost)

    assert flaw.why == "the cancel was sent twice: drop was refused: HTTP 404"
    assert "repeatable" in flaw.mend


@pytest.mark.parametrize(
    ("note", "mend"),
    [("drop was refused: HTTP 409", "names this very thing"), ("reason is missing", "fill every")],
)
def test_a_parked_obligation_gives_its_own_reason(note: str, mend: str) -> None:
    """The words of the rollback, and what they ask for."""
    (flaw,) = flaws_of_trial(trial(ObligationState.PARKED, note=note))

    assert flaw.why == note
    assert mend in flaw.mend


def test_the_sandbox_is_believed_over_the_mission() -> None:
    """What still stands is a flaw, whatever the mission's own ledger says."""
    found = trial(ObligationState.VOID, leftovers=frozenset({"stands"}))

    (flaw,) = flaws_of_trial(found)

    assert flaw.why == "what book made still stands, while the mission's ledger says it is void"


def test_a_prompt_during_rollback_is_a_flaw() -> None:
    """A rollback that asks has a flaw even when it ends well."""
    (flaw,) = flaws_of_trial(trial(ObligationState.CANCELLED, prompts=1))

    assert "asked 1 times for a confirmation" in flaw.why


def test_a_call_that_was_never_made_is_no_success() -> None:
    """A clean case in which nothing was made has shown nothing."""
    (flaw,) = flaws_of_trial(trial(ObligationState.VOID, made=0))

    assert "the made-up call of" in flaw.why
    assert "nothing is said of the pair" in flaw.mend


def test_contracts_are_read_first() -> None:
    """A tool that nothing takes back, and a cancel that asks, are told without a trial."""
    loose = fake_tool("post_note", effect=Effect.WRITE)
    asking = fake_tool("drop", effect=Effect.CANCEL, card_type="structured-order")

    final = loose.model_copy(update={"irreversible": True})

    assert "names no tool that undoes it" in next(flaws_of_contract(loose, None)).why
    assert list(flaws_of_contract(final, None)) == []
    assert "asks for a confirmation" in next(flaws_of_contract(fake_tool("book"), asking)).why


@pytest.mark.parametrize("case", list(PairCase))
def test_each_case_strikes_its_own_mission_once(case: PairCase) -> None:
    """Trouble is for one mission, once; a clean case has none."""
    rules = faults_of(case, "book", "drop", mission_id="m1")

    assert len(rules) == (0 if case is PairCase.CLEAN else 1)
    assert all(rule.request_prefix == "m1." and rule.times == 1 for rule in rules)
