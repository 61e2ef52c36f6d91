"""Preparing and sending calls: what is filled in, what is never sent, and what settles a call."""

import dataclasses
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError

from orchestrator.activities.prepare_activities import PrepareActivities
from orchestrator.activities.tool_activities import ToolActivities
from orchestrator.adapters.storage.protocols import CatalogStore, Claim, GrantBook, SentCall
from orchestrator.catalog.catalog import Catalog
from orchestrator.confirmation.models import Grant
from orchestrator.core.errors import (
    PiiMissing,
    StoreUnavailable,
    TransportFailed,
)
from orchestrator.core.record import JsonObject
from orchestrator.messages.failure_details import MissingState
from orchestrator.messages.mission_policy import MissionPolicy, widenings
from orchestrator.messages.tool_call import PreparedCall, PrepareInput, ToolCall
from orchestrator.planning.models import Observation
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import MemoryGrants
from tests.unit.activities.environments import of_mission

Shop = Callable[..., Catalog]
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
TOO_MANY = ToolOutcome(kind="unknown", status=429, reason="slow down")
BUSY = ToolOutcome(kind="unknown", status=503, reason="HTTP 503")
ORDERED = ToolOutcome(kind="succeeded", status=200, body={"order_id": "o1"})


async def prepare(
    store: CatalogStore, client: Any, catalog: Catalog, arguments: JsonObject, **more: Any
) -> PreparedCall:
    """Prepare an order as step 2 of a leg."""
    wanted = PrepareInput(
        call_id="m.1-shop.2",
        mission_id="m",
        leg_id="1-shop",
        arguments=arguments,
        catalog_digest=catalog.digest,
        now=NOW,
        **{"tool": "order_book", **more},
    )
    prepared = await of_mission().run(
        PrepareActivities(store, client.as_client).prepare_call,
        wanted,
    )
    assert isinstance(prepared, PreparedCall)
    return prepared


async def approved(store: CatalogStore, client: Any, catalog: Catalog) -> ToolCall:
    """An order of book b7 with the grant that its card's approval gives."""
    prepared = await prepare(store, client, catalog, {"book_id": "b7"})
    assert prepared.card is not None
    assert prepared.call is not None
    grant = Grant(
        confirmation_id=prepared.card.confirmation_id,
        digest=prepared.card.digest,
        approver="ann",
        granted_at=NOW,
    )
    return prepared.call.model_copy(update={"grant": grant})


async def invoke(
    store: CatalogStore,
    client: Any,
    call: ToolCall,
    *,
    attempt: int = 1,
    retry_policy: RetryPolicy | None = None,
    noted: tuple[int, ...] = (),
    beats: list[Any] | None = None,
    grants: GrantBook | None = None,
    started: datetime | None = None,
) -> ToolOutcome:
    """Send a call, after what the attempt before `noted`; `beats` gets what this one notes."""
    environment = of_mission()
    environment.info = dataclasses.replace(
        environment.info,
        attempt=attempt,
        retry_policy=retry_policy,
        heartbeat_details=noted,
        started_time=started or environment.info.started_time,
    )
    environment.on_heartbeat = lambda *details: (beats if beats is not None else []).append(details)
    activities = ToolActivities(
        store,
        client.as_client,
        grants or MemoryGrants(),
    )
    outcome = await environment.run(activities.invoke_tool, call)
    assert isinstance(outcome, ToolOutcome)
    return outcome


async def test_the_reference_is_filled_with_the_calls_id(
    store: CatalogStore, shop: Shop, scripted: Any
) -> None:
    """A client reference that the planner left out is ours: the id of the call."""
    prepared = await prepare(store, scripted({}), shop(), {"book_id": "b7"})

    assert prepared.call is not None
    assert prepared.call.arguments == {"book_id": "b7", "client_reference": "m.1-shop.2"}


async def test_a_reference_that_was_given_is_kept(
    store: CatalogStore, shop: Shop, scripted: Any
) -> None:
    """What the planner or a person chose is not replaced."""
    prepared = await prepare(
        store, scripted({}), shop(), {"book_id": "b7", "client_reference": "mine"}
    )

    assert prepared.call is not None
    assert prepared.call.arguments["client_reference"] == "mine"


async def test_wrong_arguments_are_told_apart_from_a_call(
    store: CatalogStore, shop: Shop, scripted: Any
) -> None:
    """Problems come back as words that name the field; there is nothing to send."""
    prepared = await prepare(store, scripted({}), shop(), {"book_id": 7, "colour": "red"})

    assert prepared.call is None
    assert prepared.obligation is None
    assert any("book_id" in problem for problem in prepared.problems)
    assert any("colour" in problem for problem in prepared.problems)


async def test_the_card_shows_the_offer_that_the_arguments_point_at(
    store: CatalogStore, shop: Shop, scripted: Any
) -> None:
    """What was found under the id is on the card, with its price."""
    found: JsonObject = {
        "books": [
            {"book_id": "b7", "title": "Emma", "price": {"amount": 12.5, "currency": "EUR"}},
            {"book_id": "b8", "title": "Persuasion"},
        ]
    }
    search = Observation(step=1, tool="search", outcome="succeeded", body=found)

    prepared = await prepare(store, scripted({}), shop(), {"book_id": "b7"}, observations=(search,))

    assert prepared.card is not None
    (goods,) = prepared.card.sections()[:1]
    assert ("Title", "Emma") in [(line.label, line.value) for line in goods.lines]
    assert str(prepared.card.price) == "12.50 EUR"
    assert str(prepared.price) == "12.50 EUR"


async def test_a_side_effect_without_a_key_is_not_repeatable(
    store: CatalogStore, shop: Shop, scripted: Any
) -> None:
    """Sending it twice could do it twice."""
    assert (await prepare(store, scripted({}), shop(), {"book_id": "b7"})).repeatable
    keyless = await prepare(store, scripted({}), shop(key=False), {"book_id": "b7"})
    assert not keyless.repeatable


async def test_an_approved_call_is_sent_with_its_key(
    store: CatalogStore, shop: Shop, scripted: Any
) -> None:
    """The idempotency key is the id of the call."""
    client = scripted({"order_book": [ORDERED]})
    call = await approved(store, client, shop())

    outcome = await invoke(store, client, call)

    assert outcome.kind == "succeeded"
    assert client.calls == [("order_book", call.arguments, "m.1-shop.2")]


@pytest.mark.parametrize(
    "change",
    [
        {"grant": None},
        {"arguments": {"book_id": "b8", "client_reference": "m.1-shop.2"}},
        {"call_id": "m.1-shop.3"},
    ],
    ids=["no grant", "other arguments", "another call's grant"],
)
async def test_what_was_not_approved_is_never_sent(
    store: CatalogStore, shop: Shop, scripted: Any, change: dict[str, Any]
) -> None:
    """The refusal is final, and the provider sees nothing."""
    client = scripted({"order_book": [ORDERED]})
    call = (await approved(store, client, shop())).model_copy(update=change)

    with pytest.raises(ApplicationError) as raised:
        await invoke(store, client, call)

    assert raised.value.type == "GrantMissing"
    assert raised.value.non_retryable
    assert client.calls == []


async def test_nothing_is_sent_after_the_deadline(
    store: CatalogStore, shop: Shop, scripted: Any
) -> None:
    """Rollback acts after the deadline: a call that left later would land behind its cancel."""
    client = scripted({"order_book": [ORDERED]})
    late = {"deadline": datetime.now(UTC) - timedelta(seconds=1)}
    call = (await approved(store, client, shop())).model_copy(update=late)

    with pytest.raises(ApplicationError) as raised:
        await invoke(store, client, call)

    assert raised.value.type == "NotInTime"
    assert client.calls == []


async def test_a_worker_with_its_clock_ahead_sends_nothing(
    store: CatalogStore, shop: Shop, scripted: Any
) -> None:
    """The call is left to another worker, as one that was not sent."""
    client = scripted({"order_book": [ORDERED]})
    call = await approved(store, client, shop())

    with pytest.raises(ApplicationError, match="600 s") as raised:
        await invoke(store, client, call, started=datetime.now(UTC) - timedelta(minutes=10))

    told = MissingState.found_in([d.model_dump() for d in raised.value.details])
    assert told is not None
    assert told.nothing_sent
    assert not raised.value.non_retryable
    assert client.calls == []


@pytest.mark.parametrize("ahead_s", [20, -600])
async def test_deadline_and_answer_are_timed_by_the_servers_clock(
    store: CatalogStore, shop: Shop, scripted: Any, ahead_s: int
) -> None:
    """Whatever the worker's clock says: rollback goes by these times."""
    client = scripted({"order_book": [ORDERED]})
    now = datetime.now(UTC) - timedelta(seconds=ahead_s)
    call = (await approved(store, client, shop())).model_copy(
        update={"deadline": now + timedelta(seconds=10)}
    )

    outcome = await invoke(store, client, call, started=now)

    assert outcome.kind == "succeeded"
    assert outcome.answered_at is not None
    assert now <= outcome.answered_at < now + timedelta(seconds=10)


async def test_nothing_is_sent_when_the_deadline_passes_on_the_way(
    store: CatalogStore, shop: Shop, scripted: Any
) -> None:
    """A process may be paused while it claims the grant: it looks at the clock after that."""

    class Slow(MemoryGrants):
        def send(self, call: SentCall) -> Claim:
            while datetime.now(UTC) <= soon:
                pass
            return super().send(call)

    client = scripted({"order_book": [ORDERED]})
    prepared = await approved(store, client, shop())
    soon = datetime.now(UTC) + timedelta(milliseconds=50)

    with pytest.raises(ApplicationError) as raised:
        await invoke(store, client, prepared.model_copy(update={"deadline": soon}), grants=Slow())

    assert raised.value.type == "NotInTime"
    assert client.calls == []


@pytest.mark.parametrize("attempt", [1, 2])
async def test_what_is_being_taken_back_is_not_sent_again(
    store: CatalogStore, shop: Shop, scripted: Any, attempt: int
) -> None:
    """A server restored from an older copy wants it sent; what it came to, a rollback finds out."""
    client, grants = scripted({"order_book": [ORDERED]}), MemoryGrants()
    call = await approved(store, client, shop())
    if attempt == 2:
        await invoke(store, client, call, grants=grants)
    sent = len(client.calls)
    grants.note_cancel(call.call_id)

    outcome = await invoke(store, client, call, grants=grants, attempt=attempt)

    assert outcome.kind == "unknown"
    assert "take this call back" in (outcome.reason or "")
    assert len(client.calls) == sent


async def test_a_deferred_call_is_left_to_its_workflow_to_wait_for(
    store: CatalogStore, shop: Shop, scripted: Any
) -> None:
    """Nothing was done, and a wait of Retry-After costs no attempt; after a lost one it does."""
    busy = ToolOutcome(kind="unknown", status=429, reason="slow down", retry_after_s=7)
    client = scripted({"order_book": [busy]})
    call = await approved(store, client, shop())

    outcome = await invoke(store, client, call)

    assert (outcome.kind, outcome.deferred) == ("rejected", True)
    assert 7 <= (outcome.retry_after_s or 0) < 9  # callers that wait equally long differ
    with pytest.raises(ApplicationError) as raised:
        await invoke(store, client, call, attempt=2)
    delay = raised.value.next_retry_delay
    assert delay is not None
    assert timedelta(seconds=7) <= delay < timedelta(seconds=9)
    assert not raised.value.non_retryable


async def test_a_doubted_answer_is_asked_for_once(
    store: CatalogStore, shop: Shop, scripted: Any
) -> None:
    """The provider's whole answer: no other attempt is on its way, and none ends otherwise."""
    doubted = ToolOutcome(kind="unknown", status=201, doubted=True, body={"order_id": "o1"})
    client = scripted({"order_book": [doubted], "find_order": [MISSING]})
    call = await approved(store, client, shop())

    first = await invoke(store, client, call)
    later = await invoke(store, client, call, attempt=2)

    assert (first.kind, first.alone, later.alone) == ("unknown", True, False)
    assert first.cancel_inputs["order_id"] == "o1"


@pytest.mark.parametrize(("shown", "kind"), [("confirmed", "succeeded"), ("declined", "unknown")])
async def test_a_probe_settles_a_doubted_answer_unless_it_shows_a_failure_too(
    store: CatalogStore, shop: Shop, scripted: Any, shown: str, kind: str
) -> None:
    """What is there in a failed state is no success, and is left to rollback."""
    doubted = ToolOutcome(kind="unknown", status=201, doubted=True, body={"errors": ["late"]})
    found = ORDERED.model_copy(update={"body": {"order_id": "o1", "status": shown}})
    client = scripted({"order_book": [doubted], "find_order": [found]})

    outcome = await invoke(store, client, await approved(store, client, shop()))

    assert outcome.kind == kind


async def test_an_attempt_that_ended_before_the_wire_is_a_rejection(
    store: CatalogStore, shop: Shop, scripted: Any
) -> None:
    """A personal field that the vault lacks is a reason the planner can read, not a crash."""
    client = scripted({"order_book": [PiiMissing(["traveler_name"])]})

    outcome = await invoke(store, client, await approved(store, client, shop()))

    assert outcome.kind == "rejected"
    assert "traveler_name" in (outcome.reason or "")


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 409, 422])
async def test_a_repeated_call_that_is_turned_away_stays_unclear(
    store: CatalogStore, shop: Shop, scripted: Any, status: int
) -> None:
    """The first attempt may have booked, and be what a conflict is with: nothing is void yet."""
    refused = ToolOutcome(kind="rejected", status=status, reason="go away")
    call = await approved(store, scripted({}), shop())

    client = scripted({"order_book": [refused], "find_order": [MISSING]})
    first = await invoke(store, client, call)
    with pytest.raises(ApplicationError) as raised:
        await invoke(store, client, call, attempt=2)

    assert first.kind == "rejected"
    assert raised.value.non_retryable
    assert "may have succeeded" in raised.value.message


REFUSED = ToolOutcome(kind="rejected", status=402, reason="no funds")
OURS = {"order_id": "o1", "client_reference": "m.1-shop.2"}


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (ToolOutcome(kind="succeeded", status=200, body={**OURS, "state": "open"}), "succeeded"),
        (ToolOutcome(kind="succeeded", status=200, body={**OURS, "state": "declined"}), "rejected"),
        (ToolOutcome(kind="succeeded", status=200, body={"state": "declined"}), None),
        (ToolOutcome(kind="succeeded", status=200, body={"order_id": "o1"}), None),
        (ToolOutcome(kind="rejected", status=404, declared=True), None),
        (BUSY, None),
        (TransportFailed("find_order", "broken", may_have_arrived=True), None),
    ],
    ids=["it stands", "it was declined", "nobody's", "no state", "not there", "busy", "no answer"],
)
async def test_a_probe_that_shows_the_call_itself_settles_a_refused_repetition(
    store: CatalogStore, shop: Shop, scripted: Any, found: Any, kind: str | None
) -> None:
    """At once: what the provider shows has arrived. What it does not may be on its way still."""
    gone_when = '$response.body#/state != "open"'
    catalog = shop(gone_when=gone_when)
    client = scripted({"order_book": [REFUSED], "find_order": [found]})
    call = await approved(store, client, catalog)
    sending = invoke(store, client, call, attempt=2)

    if kind is None:
        with pytest.raises(ApplicationError) as raised:
            await sending
        assert raised.value.non_retryable
        return
    outcome = await sending
    assert outcome.kind == kind
    assert client.called == ["order_book", "find_order"]
    if kind == "succeeded":
        assert outcome.cancel_inputs["order_id"] == "o1"
    else:
        assert outcome.reason == "no funds"


@pytest.mark.parametrize(
    ("noted", "is_clear"), [((1,), True), ((0,), False), ((), False)], ids=["1", "0", "nothing"]
)
async def test_a_refusal_settles_when_nothing_before_it_was_worked_on(
    store: CatalogStore, shop: Shop, scripted: Any, noted: tuple[int, ...], is_clear: bool
) -> None:
    """The attempt before noted that neither it nor one before it was: a 429, no connection."""
    sold_out = ToolOutcome(kind="rejected", status=422, reason="sold out")
    client = scripted({"order_book": [sold_out], "find_order": [MISSING]})
    call = await approved(store, client, shop())
    sending = invoke(store, client, call, attempt=2, noted=noted)

    if is_clear:
        assert (await sending).kind == "rejected"
        return
    with pytest.raises(ApplicationError):
        await sending


@pytest.mark.parametrize(
    ("attempt", "noted", "postponed", "nothing_sent"),
    [
        (1, (), {}, True),
        (2, (1,), {}, True),
        (2, (), {}, False),
        (1, (), {"postponed": 1}, True),
        (1, (), {"postponed": 1, "may_have_arrived": True}, False),
        (2, (1,), {"postponed": 1, "may_have_arrived": True}, False),
    ],
)
async def test_a_store_that_is_away_is_told_with_whether_anything_was_sent(
    store: CatalogStore,
    shop: Shop,
    scripted: Any,
    attempt: int,
    noted: tuple[int, ...],
    postponed: dict[str, Any],
    nothing_sent: bool,
) -> None:
    """By this attempt, by one before it, or before the call was held back."""
    client = scripted({"order_book": [StoreUnavailable("the store", "it restarts")]})
    call = (await approved(store, client, shop())).model_copy(update=postponed)

    with pytest.raises(ApplicationError) as lacking:
        await invoke(store, client, call, attempt=attempt, noted=noted)

    told = MissingState.found_in([d.model_dump() for d in lacking.value.details])
    assert told is not None
    assert told.nothing_sent is nothing_sent


async def test_a_call_lives_while_its_store_hangs(
    store: CatalogStore, shop: Shop, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says so while it waits for its catalog: nothing was sent, and none takes it for dead."""
    monkeypatch.setattr("orchestrator.activities.boundary._BEAT_S", 0.01)
    client = scripted({"order_book": [ToolOutcome(kind="succeeded", status=201)]})
    call = await approved(store, client, shop())
    beats, is_alive = [], threading.Event()

    class Hangs:
        def in_memory(self, digest: str) -> None:
            """It has to be read."""

        def get(self, digest: str) -> Catalog:
            assert is_alive.wait(10), "no sign of life"
            return store.get(digest)

    def beat(*details: object) -> None:
        beats.append(details)
        is_alive.set()

    environment = of_mission()
    environment.on_heartbeat = beat
    activities = ToolActivities(
        cast(CatalogStore, Hangs()),
        client.as_client,
        MemoryGrants(),
    )

    assert (await environment.run(activities.invoke_tool, call)).kind == "succeeded"
    assert beats


async def test_no_refusal_settles_a_call_that_may_have_arrived_before_it_was_held_back(
    store: CatalogStore, shop: Shop, scripted: Any
) -> None:
    """Its first attempt after the wait is no first one; an answer tells what came of it."""
    refused = ToolOutcome(kind="rejected", status=409, reason="go away")
    booked = ToolOutcome(kind="succeeded", status=201, body={"order": {"id": "o-1"}})
    call = (await approved(store, scripted({}), shop())).model_copy(
        update={"postponed": 1, "may_have_arrived": True}
    )

    with pytest.raises(ApplicationError, match="may have succeeded") as raised:
        client = scripted({"order_book": [refused], "find_order": [MISSING]})
        await invoke(store, client, call)
    answered = await invoke(store, scripted({"order_book": [booked]}), call)

    assert raised.value.non_retryable
    assert answered.kind == "succeeded"


@pytest.mark.parametrize(
    ("answer", "attempt", "noted", "notes"),
    [
        (TOO_MANY, 1, (), [1]),
        (TOO_MANY, 2, (1,), [2]),
        (TOO_MANY, 2, (), []),
        (BUSY, 1, (), []),
        (TransportFailed("order_book", "refused", may_have_arrived=False), 1, (), [1]),
        (TransportFailed("order_book", "lost", may_have_arrived=True), 1, (), []),
    ],
    ids=["429", "429 again", "429 after who knows what", "503", "no connection", "lost"],
)
async def test_an_attempt_that_was_not_worked_on_is_noted(
    store: CatalogStore,
    shop: Shop,
    scripted: Any,
    answer: ToolOutcome | Exception,
    attempt: int,
    noted: tuple[int, ...],
    notes: list[int],
) -> None:
    """For the next one, whose refusal then settles the call; an unclear one is never forgotten."""
    client = scripted({"order_book": [answer]})
    call = await approved(store, client, shop())
    beats: list[Any] = []

    with pytest.raises(ApplicationError):
        await invoke(store, client, call, attempt=attempt, noted=noted, beats=beats)

    assert [beat[0] for beat in beats if beat] == notes


async def test_how_to_cancel_it_is_kept_from_the_whole_answer(
    store: CatalogStore, shop: Shop, scripted: Any
) -> None:
    """A long answer is cut; what the cancel needs was read before that."""
    long: JsonObject = {"order_id": "o" * 3000, "notes": ["x" * 2000] * 40}
    client = scripted({"order_book": [ORDERED.model_copy(update={"body": long})]})

    outcome = await invoke(store, client, await approved(store, client, shop()))

    assert outcome.cancel_inputs == {
        "order_id": "o" * 3000,
        "client_reference": "m.1-shop.2",
    }
    assert isinstance(outcome.body, dict)
    assert outcome.body["order_id"] != "o" * 3000


async def test_an_id_that_no_record_holds_leaves_the_call_unclear(
    store: CatalogStore, shop: Shop, scripted: Any
) -> None:
    """Rollback asks for it again; what else names the call is kept."""
    body: JsonObject = {"order_id": "o" * 5_000}
    client = scripted({"order_book": [ORDERED.model_copy(update={"body": body})]})

    outcome = await invoke(store, client, await approved(store, client, shop()))

    assert (outcome.kind, outcome.is_unproved) == ("unknown", True)
    assert "order_id with more than 4,096 bytes" in (outcome.reason or "")
    assert outcome.cancel_inputs == {"client_reference": "m.1-shop.2"}
    assert (outcome.answered_ids, outcome.follow_ups) == ({}, ())


async def test_an_obligation_knows_what_the_request_alone_tells(
    store: CatalogStore, shop: Shop, scripted: Any
) -> None:
    """Its reference, until the answer brings its id."""
    prepared = await prepare(store, scripted({}), shop(), {"book_id": "b7"})

    assert prepared.obligation is not None
    assert prepared.obligation.cancel_inputs == {"client_reference": "m.1-shop.2"}
    assert prepared.cancel is None


BROKEN = ToolOutcome(
    kind="unknown", status=200, reason="broken", contract_breach="x", body={"order_id": "o1"}
)
ACCEPTED = ToolOutcome(kind="unknown", status=202, reason="accepted", accepted=True)
MISSING = ToolOutcome(kind="rejected", status=404, reason="HTTP 404", declared=True)
ANOTHERS = ToolOutcome(
    kind="succeeded", status=200, body={"order_id": "o9", "client_reference": "theirs"}
)


@pytest.mark.parametrize("attempt", [1, 2])
async def test_an_answer_that_breaks_its_contract_is_asked_for_again(
    store: CatalogStore, shop: Shop, scripted: Any, attempt: int
) -> None:
    """Under the same key: a gateway's page passes."""
    client = scripted({"order_book": [BROKEN]})
    call = await approved(store, client, shop())

    with pytest.raises(ApplicationError) as raised:
        await invoke(store, client, call, attempt=attempt)

    assert not raised.value.non_retryable
    assert client.called == ["order_book"]


@pytest.mark.parametrize(
    ("attempt", "most"), [(3, 6), (1, 1), (2, 2)], ids=["the third", "the only", "the last"]
)
@pytest.mark.parametrize(
    ("found", "kind"),
    [(ORDERED, "succeeded"), (MISSING, "unknown"), (ANOTHERS, "unknown"), (BROKEN, "unknown")],
)
async def test_the_last_broken_answer_is_cleared_up_by_the_probe(
    store: CatalogStore,
    shop: Shop,
    scripted: Any,
    attempt: int,
    most: int,
    found: ToolOutcome,
    kind: str,
) -> None:
    """What it finds is a success, with its answer; else the id in the broken one is kept."""
    client = scripted({"order_book": [BROKEN], "find_order": [found]})
    call = await approved(store, client, shop())
    policy = RetryPolicy(maximum_attempts=most)

    outcome = await invoke(store, client, call, attempt=attempt, retry_policy=policy)

    assert outcome.kind == kind
    assert outcome.cancel_inputs["order_id"] == "o1"
    assert client.called == ["order_book", "find_order"]
    assert (outcome.contract_breach is None) is (kind == "succeeded")


async def test_an_accepted_call_is_waited_for_and_never_sent_again(
    store: CatalogStore, shop: Shop, scripted: Any
) -> None:
    """By its probe, for as long as an attempt may take."""
    client = scripted({"order_book": [ACCEPTED], "find_order": [MISSING, MISSING, ORDERED]})
    call = await approved(store, client, shop())

    outcome = await invoke(store, client, call)

    assert (outcome.kind, outcome.accepted, outcome.body) == ("succeeded", False, ORDERED.body)
    assert outcome.cancel_inputs["order_id"] == "o1"
    assert client.called == ["order_book", "find_order", "find_order", "find_order"]


async def test_an_accepted_call_that_is_not_found_in_time_stays_accepted(
    store: CatalogStore, shop: Shop, scripted: Any
) -> None:
    """The ledger is told, so that nothing found later is taken for nothing there."""
    client = scripted({"order_book": [ACCEPTED], "find_order": [MISSING]})
    call = await approved(store, client, shop())
    hurried = call.model_copy(update={"timeout_s": 1.2})

    outcome = await invoke(store, client, hurried)
    left = (await prepare(store, client, shop(), {"book_id": "b7"})).obligation
    assert left is not None

    assert (outcome.kind, outcome.accepted) == ("unknown", True)
    assert left.answered(outcome, at=NOW).accepted


async def test_an_obligation_keeps_whether_its_cancel_is_verified(
    store: CatalogStore, shop: Shop, scripted: Any
) -> None:
    """By its mission's policy, whoever starts its rollback."""
    trusting = MissionPolicy(verify_cancels=False)
    arguments: JsonObject = {"book_id": "b7"}

    usual = await prepare(store, scripted({}), shop(), arguments)
    believed = await prepare(store, scripted({}), shop(), arguments, policy=trusting)

    assert usual.obligation is not None
    assert believed.obligation is not None
    assert (usual.obligation.verify_cancel, believed.obligation.verify_cancel) == (True, False)
    assert widenings(trusting, MissionPolicy())
    assert not widenings(trusting, trusting)
    assert not widenings(MissionPolicy(), trusting)


@pytest.mark.parametrize("part", ["send", "is_cancelled"])
async def test_waiting_for_the_store_is_not_the_providers_time(
    store: CatalogStore, shop: Shop, scripted: Any, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """A call whose store stays locked is given back unsent, to be sent later."""
    monkeypatch.setattr("orchestrator.activities.boundary.STORE_S", 0.05)
    client = scripted({"order_book": [ToolOutcome(kind="succeeded", status=201)]})
    call = await approved(store, client, shop())
    released, grants = threading.Event(), MemoryGrants()
    monkeypatch.setattr(grants, part, lambda *_: released.wait(10))

    with pytest.raises(ApplicationError, match="has not answered in time") as lacking:
        await invoke(store, client, call, grants=grants)
    released.set()

    told = MissingState.found_in([d.model_dump() for d in lacking.value.details])
    assert told is not None
    assert told.nothing_sent
    assert client.calls == []


async def test_an_answer_is_not_lost_with_a_store_that_hangs(
    store: CatalogStore, shop: Shop, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its note may come late; the workflow has it at once."""
    monkeypatch.setattr("orchestrator.activities.tool_activities._NOTED_S", 0.05)
    client = scripted({"order_book": [ToolOutcome(kind="succeeded", status=201)]})
    call = await approved(store, client, shop())
    released, grants = threading.Event(), MemoryGrants()
    monkeypatch.setattr(grants, "settle", lambda *_: released.wait(10))

    outcome = await invoke(store, client, call, grants=grants)
    released.set()

    assert outcome.kind == "succeeded"


@pytest.mark.parametrize(
    ("attempt", "attempts", "noted", "arrived", "kind"),
    [
        (1, 1, (), False, "rejected"),
        (3, 3, (2,), False, "rejected"),
        (3, 3, (), False, None),
        (1, 1, (), True, None),
        (1, 3, (), False, None),
        (2, 3, (1,), False, None),
        (1, 3, (), True, None),
    ],
)
async def test_a_last_attempt_that_never_left_is_settled(
    shop: Callable[..., Catalog],
    store: CatalogStore,
    scripted: Any,
    attempt: int,
    attempts: int,
    noted: tuple[int, ...],
    arrived: bool,
    kind: str | None,
) -> None:
    """It is no unclear outcome, unless another attempt follows or may have arrived before."""
    catalog = shop()
    failed = TransportFailed("find_order", "the connection was refused", may_have_arrived=arrived)
    client = scripted({"find_order": [failed]})
    environment = of_mission()
    policy = RetryPolicy(maximum_attempts=attempts)
    environment.info = replace(
        environment.info, attempt=attempt, heartbeat_details=noted, retry_policy=policy
    )
    call = ToolCall(
        call_id="m.l.1",
        mission_id="m",
        leg_id="l",
        tool="find_order",
        catalog_digest=catalog.digest,
        arguments={},
    )

    async def invoke() -> ToolOutcome:
        return await environment.run(
            ToolActivities(
                store,
                client.as_client,
                MemoryGrants(),
            ).invoke_tool,
            call,
        )

    if kind is None:
        with pytest.raises(ApplicationError, match="refused"):
            await invoke()
    else:
        outcome = await invoke()
        assert (outcome.kind, outcome.reason) == (kind, "find_order: the connection was refused")
