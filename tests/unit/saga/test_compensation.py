"""How one obligation is taken back: each next call follows from what the one before it came to."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Compensation, InputBinding, Tool, ToolCallTemplate
from orchestrator.core.budget import Money
from orchestrator.core.compensation_limits import SETTLES_AFTER
from orchestrator.core.errors import TransportFailed
from orchestrator.core.record import JsonObject
from orchestrator.saga.cancel_arguments import names_in
from orchestrator.saga.compensation import CompensationCall, cancel_key, compensation
from orchestrator.saga.obligation import CancelCall, Obligation, ObligationState
from orchestrator.saga.outcome import CompensationFailure, CompensationOutcome, ToolOutcome
from tests.fakes import KEY, fake_obligation, fake_tool

LONG_MISSING = {"missing_for": SETTLES_AFTER}
DONE = ToolOutcome(kind="succeeded", status=200, body={"id": "b1"})
MISSING = ToolOutcome(kind="rejected", status=404, reason="HTTP 404", declared=True)
REFUSED = ToolOutcome(kind="rejected", status=409, reason="too late")
GATEWAY = ToolOutcome(kind="rejected", status=404, reason="HTTP 404")
BROKEN = ToolOutcome(kind="unknown", status=200, reason="id is missing", contract_breach="x")
ACCEPTED = ToolOutcome(kind="unknown", status=202, reason="accepted", accepted=True)
STANDS = ToolOutcome(kind="succeeded", status=200, body={"id": "b1", "status": "confirmed"})
GONE = ToolOutcome(kind="succeeded", status=200, body={"id": "b1", "status": "cancelled"})
ANOTHERS = ToolOutcome(
    kind="succeeded",
    status=200,
    body={"id": "b9", "status": "cancelled", "client_reference": "theirs"},
)
BOOK = fake_tool("book", cancel_tool="cancel", cancel_arguments={"id": "$response.body#/id"})
CANCEL = fake_tool("cancel", cancels="book")
FIND = fake_tool("find")
COMMITTED = fake_obligation(
    state=ObligationState.COMMITTED,
    response={"id": "b1"},
    arguments={"client_reference": "m.1-leg.1"},
)


REFERENCE = COMMITTED.obligation_id
BY_REFERENCE = {"client_reference": "$request.body#/client_reference"}


def probed(
    *,
    gone_when: str | None = '$response.body#/status == "cancelled"',
    cancel: JsonObject | None = None,
    key: bool = True,
) -> Catalog:
    template: JsonObject = {"id": "$response.body#/id"} if cancel is None else cancel
    contract = Compensation(
        cancel=ToolCallTemplate(tool="cancel", arguments=template),
        probe=ToolCallTemplate(tool="find", arguments=dict(BY_REFERENCE)),
        gone_when=(gone_when,) if gone_when else (),
    )
    return catalog(with_reference(contract, key=key))


def with_reference(contract: Compensation, *, key: bool = True) -> Tool:
    binding = InputBinding(name="client_reference", location="body", field="client_reference")
    return BOOK.model_copy(
        update={
            "compensation": contract,
            "bindings": (binding,),
            "reference_inputs": ("client_reference",),
            "idempotency_key": KEY if key else None,
        }
    )


def unclear(**more: Any) -> Obligation:
    """A booking whose outcome is unknown, sent with a reference of its own."""
    return fake_obligation(arguments={"client_reference": REFERENCE}, **more)


def catalog(book: Tool = BOOK) -> Catalog:
    return Catalog({}, {t.name: t for t in (book, CANCEL, FIND)})


def played(
    known: Catalog, obligation: Obligation, outcomes: Sequence[ToolOutcome], **more: Any
) -> tuple[CompensationOutcome, list[CompensationCall]]:
    """What it comes to when its calls have these outcomes, and the calls."""
    settled, calls = attempted(known, obligation, outcomes, **more)
    assert isinstance(settled, CompensationOutcome), settled
    return settled, calls


def attempted(
    known: Catalog, obligation: Obligation, outcomes: Sequence[ToolOutcome], **more: Any
) -> tuple[CompensationOutcome | CompensationFailure, list[CompensationCall]]:
    steps = compensation(known, known.tool("book"), obligation, **more)
    calls: list[CompensationCall] = []
    try:
        call = next(steps)
        for outcome in outcomes:
            calls.append(call)
            call = steps.send(outcome)
    except StopIteration as settled:
        return settled.value, calls
    raise AssertionError(f"it makes another call: {call}")


def unsettled(*attempt: Any, **more: Any) -> CompensationFailure:
    """Return the failure of an attempt that settles nothing."""
    failure, _ = attempted(*attempt, **more)
    assert isinstance(failure, CompensationFailure), failure
    return failure


def test_a_committed_one_takes_one_cancel_with_a_key_of_its_own() -> None:
    outcome, (call,) = played(catalog(), COMMITTED, [DONE])

    assert outcome.state == "cancelled"
    assert (call.tool.name, call.arguments, call.cancels) == ("cancel", {"id": "b1"}, True)
    assert call.idempotency_key == cancel_key(COMMITTED.obligation_id)


@pytest.mark.parametrize(
    ("outcomes", "state", "called"),
    [
        ([MISSING], "void", ["find"]),
        ([GONE], "void", ["find"]),
        ([STANDS, DONE, GONE], "cancelled", ["find", "cancel", "find"]),
        ([STANDS, REFUSED, STANDS], "parked", ["find", "cancel", "find"]),
        ([STANDS, REFUSED, GONE], "cancelled", ["find", "cancel", "find"]),
    ],
    ids=["not there", "gone", "there", "there for good", "gone meanwhile"],
)
def test_an_unclear_one_is_probed(
    outcomes: list[ToolOutcome], state: str, called: list[str]
) -> None:
    """What the probe does not find never was."""
    outcome, calls = played(probed(), unclear(**LONG_MISSING), outcomes)

    assert outcome.state == state
    assert [call.tool.name for call in calls] == called


def test_what_is_not_found_is_looked_for_again_before_it_is_void() -> None:
    """It may come to light late; an answer that shows the very call, as over, needs no other."""
    shown = GONE.model_copy(update={"body": {"status": "cancelled", "client_reference": REFERENCE}})
    failure = unsettled(probed(), unclear(), [MISSING])
    assert (failure.counts, failure.settles_after) == (False, SETTLES_AFTER)
    assert played(probed(), unclear(), [shown])[0].state == "void"
    almost = unclear(missing_for=SETTLES_AFTER - timedelta(seconds=1))
    unsettled(probed(), almost, [MISSING])


@pytest.mark.parametrize(
    "answer",
    [GATEWAY, BROKEN, ANOTHERS, ACCEPTED],
    ids=["an undeclared 404", "a broken contract", "another's booking", "accepted"],
)
def test_a_probe_without_an_answer_settles_nothing(answer: ToolOutcome) -> None:
    """It is asked again later: nothing is void, nothing is cancelled, and no cancel was sent."""
    failure, calls = attempted(probed(), unclear(), [answer])

    assert isinstance(failure, CompensationFailure)
    assert (failure.counts, failure.arrived, failure.final) == (True, False, False)
    assert failure.reason.startswith("find settles nothing: ")
    assert [call.tool.name for call in calls] == ["find"]


def test_an_accepted_call_may_still_come_to_be() -> None:
    """So its probe that finds nothing settles nothing; one that finds it does."""
    accepted = unclear(accepted=True)
    unsettled(probed(), accepted, [MISSING])
    assert played(probed(), accepted, [STANDS, DONE, GONE])[0].state == "cancelled"
    by_reference = probed(cancel=dict(BY_REFERENCE), gone_when=None)
    left = accepted.model_copy(update={"idempotency_key": None})
    unsettled(by_reference, left, [REFUSED, MISSING])
    long = unclear(**LONG_MISSING)
    assert played(by_reference, long, [REFUSED, MISSING])[0].state == "void"
    unsettled(by_reference, unclear(), [REFUSED, MISSING])


@pytest.mark.parametrize(
    ("answers", "state", "says"),
    [
        ([DONE, GONE], "cancelled", ""),
        ([DONE, MISSING], "cancelled", ""),
        ([BROKEN, GONE], "cancelled", ""),
        ([ACCEPTED, GONE], "cancelled", ""),
        ([DONE, GATEWAY], None, "cancel says that it is done, but by find HTTP 404"),
        ([DONE, ANOTHERS], None, "answers about another id"),
        ([DONE, REFUSED], None, "too late"),
        ([BROKEN, STANDS], None, "id is missing"),
        ([BROKEN, GATEWAY], None, "id is missing"),
    ],
)
def test_a_cancel_is_done_by_its_probe(
    answers: list[ToolOutcome], state: str | None, says: str
) -> None:
    """Whatever the cancel itself answers; and until then it may have been carried out."""
    settled, calls = attempted(probed(), COMMITTED, answers)

    assert [call.tool.name for call in calls] == ["cancel", "find"]
    assert [call.after_cancel for call in calls] == [False, True]
    if state is None:
        assert isinstance(settled, CompensationFailure)
        assert says in settled.reason
        assert (settled.counts, settled.arrived) == (True, True)
    else:
        assert isinstance(settled, CompensationOutcome)
        assert settled.state == state


PENDING = ToolOutcome(kind="rejected", status=200, reason="pending", body={"cancellation_id": "c7"})


@pytest.mark.parametrize("answer", [DONE, ACCEPTED, PENDING], ids=["done", "202", "pending"])
def test_a_cancel_may_show_late(answer: ToolOutcome) -> None:
    """It is looked at again, without another cancel, until its time to settle is over."""
    failure, calls = attempted(probed(), COMMITTED, [answer, STANDS])
    waiting = COMMITTED.model_copy(
        update={"cancel_sent": True, "missing_for": timedelta(seconds=3)}
    )

    assert isinstance(failure, CompensationFailure)
    assert (failure.counts, failure.arrived) == (False, True)
    assert failure.settles_after == SETTLES_AFTER
    assert len(calls) == 2
    again, looks = attempted(probed(), waiting, [STANDS])
    assert isinstance(again, CompensationFailure)
    assert (again.settles_after, [call.tool.name for call in looks]) == (SETTLES_AFTER, ["find"])
    assert played(probed(), waiting, [GONE])[0].state == "cancelled"


def test_what_still_stands_after_that_time_is_cancelled_again_or_parked() -> None:
    """With the provider's words, and with the id of what was only begun."""
    late = COMMITTED.model_copy(update={"cancel_sent": True, **LONG_MISSING})
    done, calls = attempted(probed(), late, [STANDS, DONE, STANDS])
    begun, _ = played(probed(), late, [STANDS, PENDING, STANDS])

    assert isinstance(done, CompensationFailure)
    assert (done.counts, "by find it still stands" in done.reason) == (True, True)
    assert [call.tool.name for call in calls] == ["find", "cancel", "find"]
    assert begun.state == "parked"
    assert "cancellation_id c7" in begun.note


def test_the_id_of_another_mission_cancels_nothing() -> None:
    """Unless a probe that is asked by our own reference shows it, or another, as ours."""
    made = COMMITTED.model_copy(update={"answered_ids": {"id": "b1"}})
    shown = STANDS.model_copy(update={"body": {"id": "b7", "status": "confirmed"}})
    alone, none = played(catalog(), made, [], owner="m-2")
    ours, calls = played(probed(), made, [shown, DONE, GONE], owner="m-2")
    theirs, _ = played(probed(), made.model_copy(update=LONG_MISSING), [MISSING], owner="m-2")

    assert (alone.state, none, "m-2" in alone.note) == ("parked", [], True)
    assert ours.state == "cancelled"
    assert [call.arguments for call in calls if call.cancels] == [{"id": "b7"}]
    assert theirs.state == "void"
    assert played(probed(), made, [STANDS, DONE, GONE], owner="m-2")[0].state == "cancelled"


def test_what_is_not_found_right_after_the_call_may_not_show_yet() -> None:
    """After a cancel that was not answered as done: it is looked for again."""
    sent = COMMITTED.model_copy(update={"cancel_sent": True})
    soon, later = sent.deadline + timedelta(seconds=1), sent.deadline + SETTLES_AFTER
    shown = GONE.model_copy(update={"body": {"status": "cancelled", "client_reference": REFERENCE}})

    for answers in ([MISSING], [shown]):
        assert played(probed(), sent, answers, now=later)[0].state == "cancelled"
    assert played(probed(), sent, [shown], now=soon)[0].state == "cancelled"
    assert played(probed(), COMMITTED, [DONE, MISSING], now=soon)[0].state == "cancelled"
    # A provider may refuse the second cancel for the first.
    assert unsettled(probed(), sent, [STANDS, REFUSED, STANDS]).settles_after == SETTLES_AFTER
    for known, answers in ((sent, [MISSING]), (COMMITTED, [BROKEN, MISSING])):
        failure = unsettled(probed(), known, answers, now=soon)
        assert failure.settles_after == SETTLES_AFTER


def test_a_call_that_its_probe_shows_as_failed_never_was() -> None:
    """If its cancel is refused; one that was committed is parked, for it may stand all the same."""
    failed = STANDS.model_copy(update={"body": {"id": "b1", "status": "failed"}})

    assert played(probed(), unclear(), [failed, REFUSED, failed])[0].state == "void"
    assert played(probed(), COMMITTED, [REFUSED, failed])[0].state == "parked"


def test_a_policy_believes_a_cancel_that_honours_its_contract() -> None:
    """Without asking the probe; one that does not honour it is never believed."""
    trusting = COMMITTED.model_copy(update={"verify_cancel": False})
    believed, _ = played(probed(), trusting, [DONE])

    assert (believed.state, believed.note) == ("cancelled", "find was not asked, by policy")
    unsettled(probed(), trusting, [BROKEN, STANDS])


@pytest.mark.parametrize("answer", [BROKEN, ACCEPTED])
def test_without_a_probe_that_can_tell_the_cancels_own_answer_decides(answer: ToolOutcome) -> None:
    """Done when it honours its contract, else to be tried again."""
    for known in (catalog(), probed(gone_when=None)):
        assert played(known, COMMITTED, [DONE])[0].state == "cancelled"
        failure = unsettled(known, COMMITTED, [answer])
        assert failure.arrived


def test_gone_counts_as_cancelled_only_after_a_cancel_that_was_sent() -> None:
    """A 404 is a gateway's as well: only a probe that finds nothing proves it."""
    repeated = COMMITTED.model_copy(update={"cancel_sent": True})

    assert played(probed(), COMMITTED, [MISSING, STANDS])[0].state == "parked"
    over, _ = played(probed(), COMMITTED, [MISSING, GONE])
    assert (over.state, "was over already" in over.note) == ("cancelled", True)
    assert played(probed(), repeated, [MISSING])[0].state == "cancelled"
    assert played(probed(), repeated, [GONE])[0].state == "cancelled"
    assert played(probed(), repeated, [STANDS, MISSING, STANDS])[0].state == "parked"
    unsettled(probed(), repeated, [GATEWAY, GATEWAY, GATEWAY])


@pytest.mark.parametrize("status", [400, 403, 409, 422])
def test_a_refused_cancel_asks_the_probe(status: int) -> None:
    """What was cancelled by others, or is over, is done, with a note; what stands is parked."""
    refused = ToolOutcome(kind="rejected", status=status, reason="is canceled already")
    over, calls = played(probed(), COMMITTED, [refused, GONE])

    assert [call.tool.name for call in calls] == ["cancel", "find"]
    assert over.state == "cancelled"
    assert over.note == "it was over already: cancel was refused (is canceled already)"
    assert played(probed(), COMMITTED, [refused, STANDS])[0].state == "parked"
    assert played(catalog(), COMMITTED, [refused])[0].state == "parked"


def test_a_version_that_moved_is_read_again() -> None:
    """The cancel is sent once more with what the probe shows, under another key."""
    template: JsonObject = {"id": "$response.body#/id", "version": "$response.body#/version"}
    old = COMMITTED.model_copy(update={"response": {"id": "b1", "version": 1}})
    moved = ToolOutcome(kind="rejected", status=412, reason="has changed")
    newer = STANDS.model_copy(update={"body": {"id": "b1", "version": 2, "status": "confirmed"}})
    known = probed(cancel=template)
    outcome, calls = played(known, old, [moved, newer, DONE, GONE])

    assert outcome.state == "cancelled"
    sent = [call for call in calls if call.cancels]
    assert [call.arguments["version"] for call in sent] == [1, 2]
    assert len({call.idempotency_key for call in sent}) == 2
    assert played(known, old, [moved, newer, moved, newer])[0].state == "parked"


@pytest.mark.parametrize("probe", [REFUSED, ANOTHERS])
def test_a_version_that_moved_is_no_end_while_its_probe_settles_nothing(
    probe: ToolOutcome,
) -> None:
    """The probe may show the new version at the next attempt."""
    moved = ToolOutcome(kind="rejected", status=412, reason="it has changed")

    failed = unsettled(probed(), COMMITTED, [moved, probe])

    assert failed.counts


def versioned(*, reader: bool = True) -> Catalog:
    """A cancel that sends a version, and a GET of its path that shows the current one."""
    template: JsonObject = {"id": "$response.body#/id", "If-Match": "$response.body#/etag"}
    place, inputs = {"path": "/bookings/{id}"}, [("id", "path"), ("If-Match", "header")]
    book = BOOK.model_copy(
        update={
            "compensation": Compensation(cancel=ToolCallTemplate(tool="cancel", arguments=template))
        }
    )
    bindings = tuple(
        InputBinding.model_validate({"name": n, "location": w, "field": n}) for n, w in inputs
    )
    cancel = CANCEL.model_copy(update={**place, "method": "DELETE", "bindings": bindings})
    named = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}
    read = FIND.model_copy(update={**place, "method": "GET", "input_schema": named})
    return Catalog({}, {t.name: t for t in (book, cancel, *([read] if reader else []))})


def test_a_version_that_moved_is_read_from_the_address_of_its_cancel() -> None:
    """Without a probe the GET of the same path shows it; the thing stays the one that was made."""
    made = COMMITTED.model_copy(update={"response": {"id": "b1", "etag": "v1"}})
    moved = ToolOutcome(kind="rejected", status=412, reason="has changed")
    newer = STANDS.model_copy(update={"body": {"id": "0", "etag": "v2"}})
    outcome, calls = played(versioned(), made, [moved, newer, DONE])

    assert outcome.state == "cancelled"
    assert [(call.tool.name, call.arguments) for call in calls] == [
        ("cancel", {"id": "b1", "If-Match": "v1"}),
        ("find", {"id": "b1"}),
        ("cancel", {"id": "b1", "If-Match": "v2"}),
    ]
    assert played(versioned(), made, [moved, newer, moved])[0].state == "parked"
    assert played(versioned(), made, [moved, GATEWAY])[0].state == "parked"
    assert played(versioned(), made, [moved, MISSING], now=None)[0].state == "cancelled"
    assert played(versioned(reader=False), made, [moved])[0].state == "parked"


def test_a_cancel_that_shows_the_thing_as_it_was_is_not_believed() -> None:
    """A state that is still the one of the call says no; so that a person is asked soon."""
    made = COMMITTED.model_copy(update={"response": {"id": "b1", "status": "confirmed"}})
    failure, _ = attempted(catalog(), made, [STANDS])
    believed, _ = played(catalog(), made, [GONE])

    assert isinstance(failure, CompensationFailure)
    assert "confirmed, as before" in failure.reason
    assert (believed.state, believed.note) == ("cancelled", "")
    doubted = BROKEN.model_copy(update={"doubted": True})
    failures = [unsettled(catalog(), COMMITTED, [answer]) for answer in (doubted, BROKEN)]
    assert [failure.doubted for failure in failures] == [True, False]


@pytest.mark.parametrize("body", [None, {}])
def test_an_empty_answer_of_a_cancel_is_believed_and_not_verified(body: Any) -> None:
    outcome, _ = played(catalog(), COMMITTED, [DONE.model_copy(update={"body": body})])

    assert (outcome.state, outcome.note) == ("cancelled", "not verified: its answer is empty")


DELETE = CANCEL.model_copy(update={"method": "DELETE"})


@pytest.mark.parametrize(("found", "state"), [(STANDS, "parked"), (GONE, "cancelled")])
def test_a_probe_comes_before_a_delete_that_finds_nothing(found: ToolOutcome, state: str) -> None:
    """Also after one that was not answered: it may not have deleted anything."""
    known = Catalog({}, {**probed().tools, "cancel": DELETE})
    repeated = COMMITTED.model_copy(update={"cancel_sent": True})
    outcome, calls = played(known, repeated, [STANDS, MISSING, found])

    assert outcome.state == state
    assert [call.tool.name for call in calls] == ["find", "cancel", "find"]


def test_a_probe_that_cannot_tell_is_not_held_against_a_deleted_thing() -> None:
    """Nothing says how it shows what is gone: what it shows may be that."""
    known = Catalog({}, {**probed(gone_when=None).tools, "cancel": DELETE})
    repeated = COMMITTED.model_copy(update={"cancel_sent": True})
    outcome, _ = played(known, repeated, [MISSING])

    assert outcome.state == "cancelled"


@pytest.mark.parametrize(
    ("answer", "before", "state"),
    [
        (ToolOutcome(kind="rejected", status=410, reason="HTTP 410"), {}, "cancelled"),
        (MISSING, {}, "cancelled"),
        (GATEWAY, {"cancel_sent": True, "cancel_answered": True}, "cancelled"),
        (GATEWAY, {"cancel_sent": True}, None),
        (GATEWAY, {}, None),
    ],
    ids=["410", "declared", "after a 2xx", "after none", "undeclared"],
)
def test_a_delete_of_that_very_thing_that_finds_nothing_is_done(
    answer: ToolOutcome, before: dict[str, Any], state: str | None
) -> None:
    """Whoever declares it: HTTP says so of DELETE. Only a gateway's 404 is tried again."""
    thing = DELETE.model_copy(update={"path": "/bookings/{id}"})
    known = Catalog({}, {**catalog().tools, "cancel": thing})
    made = COMMITTED.model_copy(update={"answered_ids": {"id": "b1"}, **before})
    settled, _ = attempted(known, made, [answer])

    assert getattr(settled, "state", None) == state
    # By an id that the provider did not answer it may name another thing.
    assert played(known, COMMITTED, [MISSING])[0].state == "parked"


def test_an_undeclared_not_found_of_a_cancel_settles_nothing() -> None:
    """Neither void nor parked at once: it is tried again."""
    by_reference = probed(cancel=dict(BY_REFERENCE), gone_when=None)

    for obligation in (COMMITTED, unclear()):
        answers = [GATEWAY] if obligation is COMMITTED else [REFUSED, GATEWAY]
        named = obligation.model_copy(update={"arguments": {"client_reference": REFERENCE}})
        failure = unsettled(by_reference, named, answers)
        assert "does not declare" in failure.reason


@pytest.mark.parametrize(
    "template",
    [{}, {"reason": "rolled back"}, {"id": "$response.body#/nowhere"}],
    ids=["no inputs", "constants", "what finds nothing"],
)
@pytest.mark.parametrize("state", [ObligationState.COMMITTED, ObligationState.INTENDED])
def test_a_cancel_of_nothing_is_never_sent(template: JsonObject, state: ObligationState) -> None:
    """Whatever it would answer, it would be about anything, or about everything."""
    contract = Compensation(cancel=ToolCallTemplate(tool="cancel", arguments=template))
    known = catalog(with_reference(contract, key=False))
    obligation = fake_obligation(state=state, response={"id": "b1"}, idempotency_key=None)
    outcome, calls = played(known, obligation, [])

    assert (outcome.state, calls) == ("parked", [])


def test_a_repeated_call_that_breaks_its_contract_is_cancelled_by_what_it_names() -> None:
    """The id in a broken answer proves no booking, but it can be cancelled; else it is unclear."""
    known, keyed = catalog(), fake_obligation(idempotency_key="k")
    with_id = BROKEN.model_copy(update={"body": {"id": "b1", "status": 7}})
    outcome, calls = played(known, keyed, [with_id, DONE])
    assert (outcome.state, calls[1].arguments) == ("cancelled", {"id": "b1"})
    assert played(known, keyed, [with_id, MISSING])[0].state == "parked"
    failure, called = attempted(known, keyed, [BROKEN])
    assert isinstance(failure, CompensationFailure)
    assert [call.tool.name for call in called] == ["book"]


@pytest.mark.parametrize("status", [400, 402, 404, 409, 410, 422])
def test_a_refusal_of_the_repeated_call_settles_nothing(status: int) -> None:
    """It says what it thinks of this attempt."""
    refused = ToolOutcome(kind="rejected", status=status, reason="no", declared=True)
    outcome, _ = played(catalog(), fake_obligation(idempotency_key="k"), [refused])

    assert outcome.state == "parked"


@pytest.mark.parametrize(
    ("state", "is_sure"), [(ObligationState.COMMITTED, True), (ObligationState.INTENDED, False)]
)
def test_what_nothing_cancels_is_parked(state: ObligationState, is_sure: bool) -> None:
    """The operator reads that looking for a way to cancel it is in vain, and whether it is."""
    final = fake_tool("book").model_copy(update={"irreversible": True})
    outcome, calls = played(catalog(final), fake_obligation(state=state), [])

    assert (outcome.state, calls) == ("parked", [])
    assert "irreversible" in outcome.note
    assert ("whether it took effect is unknown" not in outcome.note) is is_sure
    outcome, calls = played(catalog(fake_tool("book")), COMMITTED, [])
    assert (outcome.state, calls) == ("parked", [])
    assert outcome.note == "no tool is declared that cancels book"


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


def test_a_gateways_gone_does_not_end_what_a_leg_cancelled_unclearly() -> None:
    """Its own cancel, repeated, must find nothing in the form that is declared."""
    named: dict[str, Any] = {"arguments": {"id": "b1"}, "names": {"id": "b1"}}
    sent = CancelCall(call_id="m.1-leg.2", tool="cancel", **named, written_at=COMMITTED.written_at)
    unsure = COMMITTED.model_copy(update={"cancel_call": sent})
    gone = ToolOutcome(kind="rejected", status=410, declared=True)
    gateway = gone.model_copy(update={"declared": False})

    assert played(catalog(), unsure, [gone])[0].state == "cancelled"
    unsettled(catalog(), unsure, [gateway, gateway])


def test_an_id_of_a_broken_answer_that_is_not_found_proves_nothing() -> None:
    cancel: JsonObject = {"id": "$response.body#/id", **BY_REFERENCE}
    known = catalog(
        with_reference(Compensation(cancel=ToolCallTemplate(tool="cancel", arguments=cancel)))
    )
    broken = unclear(cancel_inputs={"id": "b1", "client_reference": REFERENCE})

    assert played(known, unclear(**LONG_MISSING), [MISSING])[0].state == "void"
    assert played(known, broken, [MISSING])[0].state == "parked"


@pytest.mark.parametrize("state", [ObligationState.COMMITTED, ObligationState.INTENDED])
def test_an_id_of_two_obligations_cancels_only_the_first(state: ObligationState) -> None:
    """A cancel of the second by that id would be one of the first."""
    second = fake_obligation(
        state=state, response={"id": "b1"}, answered_ids={"id": "b1"}, namesake="m.1-leg.1"
    )
    outcomes = [] if state is ObligationState.COMMITTED else [DONE]
    outcome, calls = played(catalog(), second, outcomes)

    assert outcome.state == "parked"
    assert "m.1-leg.1" in outcome.note
    assert all(not call.cancels for call in calls)


def test_a_namesake_is_cancelled_by_the_id_that_its_probe_shows() -> None:
    """What is its own after all names it alone."""
    second = unclear(answered_ids={"id": "b9"}, namesake="m.1-leg.1", cancel_inputs={"id": "b9"})
    outcome, (_, cancel, _) = played(probed(), second, [named(STANDS), DONE, named(GONE)])

    assert (outcome.state, cancel.arguments) == ("cancelled", {"id": "b1"})


def named(outcome: ToolOutcome) -> ToolOutcome:
    body = {**outcome.body, "client_reference": REFERENCE}  # type: ignore[dict-item]
    return outcome.model_copy(update={"body": body})


def in_two_steps() -> Catalog:
    """A booking whose cancel is asked for by one call, and confirmed by another."""
    confirm = fake_tool("confirm", cancels="book")
    then = ToolCallTemplate(tool="confirm", arguments={"asked": "$response.body#/cancellation"})
    assert BOOK.compensation is not None
    contract = BOOK.compensation.model_copy(update={"then": (then,)})
    book = BOOK.model_copy(update={"compensation": contract})
    return Catalog({}, {t.name: t for t in (book, CANCEL, confirm)})


ASKED = ToolOutcome(kind="succeeded", status=201, body={"cancellation": "c1"})


def test_a_cancel_in_two_steps_is_done_by_the_second() -> None:
    """It is filled from the answer to the first, and has a key of its own."""
    outcome, calls = played(in_two_steps(), COMMITTED, [ASKED, DONE])

    assert outcome.state == "cancelled"
    assert [(c.tool.name, c.arguments) for c in calls] == [
        ("cancel", {"id": "b1"}),
        ("confirm", {"asked": "c1"}),
    ]
    assert len({call.idempotency_key for call in calls}) == 2


@pytest.mark.parametrize(
    ("answers", "state"),
    [
        ([REFUSED], "parked"),
        ([ASKED, REFUSED], "parked"),
        ([ASKED, BROKEN], None),
        ([BROKEN], None),
    ],
)
def test_a_cancel_that_was_only_asked_is_none(
    answers: list[ToolOutcome], state: str | None
) -> None:
    """Parked with what it was asked for by, or tried again."""
    settled, _ = attempted(in_two_steps(), COMMITTED, answers)

    assert getattr(settled, "state", None) == state
    if answers == [ASKED, REFUSED]:
        assert "only requested, not cancelled: confirm (asked c1)" in getattr(settled, "note", "")


@pytest.mark.parametrize(
    "first", [{"kind": "rejected", "status": 201}, {"kind": "unknown", "accepted": True}]
)
def test_the_first_of_two_steps_need_not_be_the_end(first: dict[str, Any]) -> None:
    """Its condition may speak of the end, or it is a 202: it names what the second confirms."""
    asked = ASKED.model_copy(update={"status": 202, "reason": "not yet", **first})
    outcome, calls = played(in_two_steps(), COMMITTED, [asked, DONE])

    assert outcome.state == "cancelled"
    assert [call.tool.name for call in calls] == ["cancel", "confirm"]
    unnamed = asked.model_copy(update={"body": {}})
    assert len(attempted(in_two_steps(), COMMITTED, [unnamed])[1]) == 1


def test_one_of_two_calls_that_cancel_together_cancels_nothing() -> None:
    """A leg that made the first of them has cancelled nothing; a rollback makes both."""
    known = in_two_steps()
    first = CancelCall(
        call_id="m.1-leg.2",
        tool="cancel",
        arguments={"id": "b1"},
        names={},
        written_at=COMMITTED.written_at,
    )

    assert names_in(known, known.tool("cancel"), {"id": "b1"}) == {}
    begun = COMMITTED.model_copy(update={"cancel_call": first})
    outcome, calls = played(known, begun, [ASKED, DONE])
    assert outcome.state == "cancelled"
    assert [(call.tool.name, call.call_id) for call in calls] == [
        ("cancel", "m.1-leg.2"),
        ("confirm", "m.1-leg.2.2"),
    ]


BATCH: JsonObject = {
    "items": [
        {"id": "i1", "status": 201},
        {"id": "i2", "status": 422},
        {"id": "i3", "error": "no such mailbox"},
        {"id": "i4"},
        {"id": " "},
    ]
}
EACH_ITEM = fake_tool(
    "book", cancel_tool="cancel", cancel_arguments={"id": "$response.body#/items/*/id"}
)
SENT = COMMITTED.model_copy(update={"response": BATCH})


@pytest.mark.parametrize(
    ("answers", "state"),
    [([DONE, DONE], "cancelled"), ([REFUSED, DONE], "parked"), ([DONE, BROKEN], None)],
)
def test_all_that_worked_of_a_batch_is_cancelled(
    answers: list[ToolOutcome], state: str | None
) -> None:
    """By its own id and key; what says that it failed is none, and keeps no other from it."""
    settled, calls = attempted(catalog(EACH_ITEM), SENT, answers)

    assert getattr(settled, "state", None) == state
    assert [call.arguments for call in calls] == [{"id": "i1"}, {"id": "i4"}]
    assert len({call.idempotency_key for call in calls}) == 2


def test_a_cancel_that_takes_a_list_gets_all_that_worked() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "array"}}}
    several = CANCEL.model_copy(update={"input_schema": schema})
    known = Catalog({}, {t.name: t for t in (EACH_ITEM, several, FIND)})
    outcome, (call,) = played(known, SENT, [DONE])

    assert (outcome.state, call.arguments) == ("cancelled", {"id": ["i1", "i4"]})
    assert played(catalog(EACH_ITEM), COMMITTED, [])[0].state == "parked"


PAIRED = fake_tool(
    "book",
    cancel_tool="cancel",
    cancel_arguments={
        "id": "$response.body#/items/*/id",
        "etag": "$response.body#/items/*/etag",
    },
)


def test_values_of_a_batch_are_paired_only_within_one_element() -> None:
    """An element without an etag must not take its neighbour's, nor be left out in silence."""
    whole = [{"id": f"i{n}", "etag": f"e{n}"} for n in (1, 2)]
    lacking = [{"id": "i1"}, *whole[1:]]

    answers = {
        name: COMMITTED.model_copy(update={"response": {"items": items}})
        for name, items in (("whole", whole), ("lacking", lacking))
    }
    done, calls = played(catalog(PAIRED), answers["whole"], [DONE, DONE])

    assert (done.state, [call.arguments for call in calls]) == ("cancelled", whole)
    assert played(catalog(PAIRED), answers["lacking"], [])[0].state == "parked"


def test_the_fees_of_all_cancels_of_a_batch_count() -> None:
    fee, back = (Money(amount=Decimal(n), currency="EUR") for n in (25, 40))
    paid = DONE.model_copy(update={"fee": fee, "refund": back, "named": (fee,)})
    foreign = paid.model_copy(update={"fee": Money(amount=Decimal(9), currency="USD")})

    outcome, _ = played(catalog(EACH_ITEM), SENT, [paid, paid])
    mixed, _ = played(catalog(EACH_ITEM), SENT, [paid, foreign])

    assert (str(outcome.fee), str(outcome.refund)) == ("50.00 EUR", "80.00 EUR")
    assert outcome.named == (fee, fee)
    assert mixed.fee is None


def test_values_that_others_may_share_cancel_nothing_unclear() -> None:
    """Without a key and a probe, a table of that evening may be anybody's: a person looks.

    The address of a PUT is the caller's.
    """
    template = ToolCallTemplate(tool="cancel", arguments={"table": "$request.body#/table"})
    sent = (InputBinding(name="table", location="body", field="table"),)
    contract = {"compensation": Compensation(cancel=template), "bindings": sent}
    book = BOOK.model_copy(update={**contract, "idempotency_key": None})
    lost = fake_obligation(arguments={"table": "t-1"}).model_copy(update={"idempotency_key": None})

    outcome, calls = played(catalog(book), lost, [])

    assert (outcome.state, calls) == ("parked", [])

    put = (InputBinding(name="table", location="path", field="table"),)
    placed = book.model_copy(update={"method": "PUT", "path": "/t/{table}", "bindings": put})
    addressed = ToolCallTemplate(tool="cancel", arguments={"table": "$request.path.table"})
    by_address = Compensation(cancel=addressed)
    at_its_address = placed.model_copy(update={"compensation": by_address})
    assert played(catalog(at_its_address), lost, [DONE])[0].state == "cancelled"


@pytest.mark.parametrize("change", [{"verify_cancel": False}, {"arguments": {}}])
def test_a_cancel_that_contradicts_itself_is_not_believed_without_its_probe(
    change: dict[str, Any],
) -> None:
    """Neither if the policy leaves the probe out, nor if its input is unknown."""
    response = {"id": "b1", "status": "confirmed"}
    made = COMMITTED.model_copy(update={"response": response, **change})
    known = probed()
    required: JsonObject = {"type": "object", "required": ["client_reference"]}
    find = FIND.model_copy(update={"input_schema": required})

    failed = unsettled(Catalog({}, {**known.tools, "find": find}), made, [STANDS])

    assert failed.doubted
