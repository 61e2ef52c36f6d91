"""How one obligation is taken back: each next call follows from what the one before it came to."""

from collections.abc import Sequence

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Compensation, Tool, ToolCallTemplate
from orchestrator.core.errors import TransportFailed
from orchestrator.saga.compensation import CompensationCall, cancel_key, compensation
from orchestrator.saga.ledger import Obligation, ObligationState
from orchestrator.saga.outcome import CompensationOutcome, ToolOutcome
from orchestrator.testing import fake_obligation, fake_tool

DONE = ToolOutcome(kind="succeeded", status=200, body={"id": "b1"})
MISSING = ToolOutcome(kind="rejected", status=404, reason="HTTP 404")
REFUSED = ToolOutcome(kind="rejected", status=409, reason="too late")
BOOK = fake_tool("book", cancel_tool="cancel", cancel_arguments={"id": "$response.body#/id"})
CANCEL = fake_tool("cancel", cancels="book")
FIND = fake_tool("find")
COMMITTED = fake_obligation(state=ObligationState.COMMITTED, response={"id": "b1"})


def probed() -> Catalog:
    """The same, with a probe that finds a booking."""
    contract = Compensation(
        cancel=ToolCallTemplate(tool="cancel", arguments={"id": "$response.body#/id"}),
        probe=ToolCallTemplate(tool="find"),
    )
    return catalog(BOOK.model_copy(update={"compensation": contract}))


def catalog(book: Tool = BOOK) -> Catalog:
    """A booking, its cancel and its probe."""
    return Catalog({}, {t.name: t for t in (book, CANCEL, FIND)})


def played(
    known: Catalog, obligation: Obligation, outcomes: Sequence[ToolOutcome]
) -> tuple[CompensationOutcome, list[CompensationCall]]:
    """What it comes to when its calls have these outcomes, and the calls."""
    steps = compensation(known, known.tool("book"), obligation)
    calls: list[CompensationCall] = []
    try:
        call = next(steps)
        for outcome in outcomes:
            calls.append(call)
            call = steps.send(outcome)
    except StopIteration as settled:
        return settled.value, calls
    raise AssertionError(f"it makes another call: {call}")


def test_a_committed_one_takes_one_cancel_with_a_key_of_its_own() -> None:
    """Filled from the answer that it was committed by."""
    outcome, (call,) = played(catalog(), COMMITTED, [DONE])

    assert outcome.state == "cancelled"
    assert (call.tool.name, call.arguments, call.cancels) == ("cancel", {"id": "b1"}, True)
    assert call.idempotency_key == cancel_key(COMMITTED.obligation_id)


@pytest.mark.parametrize(
    ("outcomes", "state", "called"),
    [
        ([MISSING], "void", ["find"]),
        ([DONE, DONE], "cancelled", ["find", "cancel"]),
        ([DONE, REFUSED], "parked", ["find", "cancel"]),
    ],
    ids=["not there", "there", "there for good"],
)
def test_an_unclear_one_is_looked_for_first(
    outcomes: list[ToolOutcome], state: str, called: list[str]
) -> None:
    """What the probe does not find never was."""
    outcome, calls = played(probed(), fake_obligation(), outcomes)

    assert outcome.state == state
    assert [call.tool.name for call in calls] == called


def test_gone_counts_as_cancelled_only_after_an_unanswered_cancel() -> None:
    """A 404 is a gateway's as well: only a probe that finds nothing either proves it."""
    repeated = COMMITTED.model_copy(update={"cancel_sent": True})

    assert played(probed(), COMMITTED, [MISSING])[0].state == "parked"
    assert played(probed(), repeated, [MISSING, MISSING])[0].state == "cancelled"
    assert played(probed(), repeated, [MISSING, DONE])[0].state == "parked"


def test_without_a_contract_nothing_is_called() -> None:
    """An operator finds out."""
    outcome, calls = played(catalog(fake_tool("book")), COMMITTED, [])

    assert (outcome.state, calls) == ("parked", [])
    assert outcome.note == "no tool is declared that undoes book"


@pytest.mark.parametrize(
    ("state", "note"),
    [
        (ObligationState.COMMITTED, "nothing undoes book: its document declares it irreversible"),
        (
            ObligationState.INTENDED,
            "nothing undoes book, which its document declares irreversible; whether it took effect "
            "is unknown",
        ),
    ],
)
def test_what_nothing_undoes_is_parked_and_called_so(state: ObligationState, note: str) -> None:
    """The operator reads that looking for a way to cancel it is in vain, and whether it is."""
    final = fake_tool("book").model_copy(update={"irreversible": True})

    outcome, calls = played(catalog(final), fake_obligation(state=state), [])

    assert (outcome.state, outcome.note, calls) == ("parked", note, [])


@pytest.mark.parametrize(
    ("status", "counts", "arrived"), [(500, True, True), (503, False, True), (429, False, False)]
)
def test_a_deferred_attempt_is_not_counted(status: int, counts: bool, arrived: bool) -> None:
    """503 may hide a cancel that was carried out; 429 was not worked on."""
    call = CompensationCall(CANCEL, {}, "c", "k", cancels=True)

    failure = call.unclear(ToolOutcome(kind="unknown", status=status))

    assert (failure.counts, failure.arrived) == (counts, arrived)
    assert failure.reason == f"HTTP {status}"


@pytest.mark.parametrize("arrived", [True, False])
def test_no_answer_counts_when_the_request_may_have_arrived(arrived: bool) -> None:
    """And only a cancel can have been carried out."""
    error = TransportFailed("cancel", "timed out", may_have_arrived=arrived)
    cancels = CompensationCall(CANCEL, {}, "c", "k", cancels=True).unanswered(error)
    looks = CompensationCall(FIND, {}, "c", None).unanswered(error)

    assert (cancels.counts, cancels.arrived) == (arrived, arrived)
    assert (looks.counts, looks.arrived) == (arrived, False)
