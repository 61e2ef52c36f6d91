"""Preparing and sending calls: what is filled in, what is never sent, and what settles a call."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError

from orchestrator.activities.prepare_activities import PrepareActivities
from orchestrator.activities.tool_activities import ToolActivities
from orchestrator.adapters.storage.protocols import CatalogStore, Claim, GrantBook, SentCall
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import PiiMissing, StoreUnavailable, TransportFailed
from orchestrator.core.record import JsonObject
from orchestrator.messages.failure_details import MissingState
from orchestrator.messages.mission_policy import MissionPolicy, widenings
from orchestrator.messages.tool_call import PreparedCall, ToolCall
from orchestrator.planning.models import Observation
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import MemoryGrants
from tests.unit.activities.environments import of_mission
from tests.unit.activities.made_calls import (
    NOW,
    approved,
    call_of,
    card_of,
    failure_of,
    left_by,
    made_call,
    wanted_call,
)

Answer = ToolOutcome | Exception
TOO_MANY = ToolOutcome(kind="unknown", status=429, reason="slow down")
BUSY = ToolOutcome(kind="unknown", status=503, reason="HTTP 503")
ORDERED = ToolOutcome(kind="succeeded", status=200, body={"order_id": "o1"})
BROKEN = ToolOutcome(
    kind="unknown", status=200, reason="broken", contract_breach="x", body={"order_id": "o1"}
)
ACCEPTED = ToolOutcome(kind="unknown", status=202, reason="accepted", accepted=True)
MISSING = ToolOutcome(kind="rejected", status=404, reason="HTTP 404", declared=True)
ANOTHERS = ToolOutcome(
    kind="succeeded", status=200, body={"order_id": "o9", "client_reference": "theirs"}
)
REFUSED = ToolOutcome(kind="rejected", status=402, reason="no funds")
OURS = {"order_id": "o1", "client_reference": "m.1-shop.2"}


class Orders:
    """Orders of book b7, as step 2 of a leg, at a shop that answers from a script."""

    def __init__(self, store: CatalogStore, shop: Callable[..., Catalog], scripted: Any) -> None:
        self.store, self.shop, self._scripted = store, shop, scripted
        self.catalog = shop()
        self.answers()

    def answers(self, **script: Answer | list[Answer]) -> None:
        """Answer each tool so, the last of several answers for ever."""
        self.client = self._scripted(
            {tool: [*one] if isinstance(one, list) else [one] for tool, one in script.items()}
        )

    async def prepare(self, arguments: JsonObject | None = None, **more: Any) -> PreparedCall:
        wanted = wanted_call(
            tool="order_book",
            arguments=arguments or {"book_id": "b7"},
            catalog_digest=self.catalog.digest,
            **more,
        )
        activities = PrepareActivities(self.store, self.client.as_client)
        prepared = await of_mission().run(activities.prepare_call, wanted)
        assert isinstance(prepared, PreparedCall)
        return prepared

    async def call(self, **changes: Any) -> ToolCall:
        """The order with the grant that its card's approval gives."""
        return approved(await self.prepare()).model_copy(update=changes)

    async def invoke(
        self,
        call: ToolCall | None = None,
        *,
        attempts: int = 0,
        noted: tuple[int, ...] = (),
        beats: list[Any] | None = None,
        grants: GrantBook | None = None,
        store: CatalogStore | None = None,
        **info: Any,
    ) -> ToolOutcome:
        """Send it, after what the attempt before `noted`; `beats` gets what this one notes."""
        call = call or await self.call()
        policy = RetryPolicy(maximum_attempts=attempts) if attempts else None
        environment = of_mission(heartbeat_details=noted, retry_policy=policy, **info)
        environment.on_heartbeat = lambda *said: None if beats is None else beats.append(said)
        activities = ToolActivities(
            store or self.store, self.client.as_client, grants or MemoryGrants()
        )
        outcome = await environment.run(activities.invoke_tool, call)
        assert isinstance(outcome, ToolOutcome)
        return outcome


@pytest.fixture
def orders(store: CatalogStore, shop: Callable[..., Catalog], scripted: Any) -> Orders:
    """A shop that answers nothing yet."""
    return Orders(store, shop, scripted)


def nothing_sent(failure: ApplicationError) -> bool:
    """What the workflow is told of a call that its worker could not send."""
    told = MissingState.found_in([detail.model_dump() for detail in failure.details])
    assert told is not None
    return told.nothing_sent


async def test_the_reference_is_the_calls_id_unless_it_was_given(orders: Orders) -> None:
    """The obligation knows it before the answer brings an id."""
    prepared = await orders.prepare()
    chosen = await orders.prepare({"book_id": "b7", "client_reference": "mine"})

    assert call_of(prepared).arguments == {"book_id": "b7", "client_reference": "m.1-shop.2"}
    assert left_by(prepared).cancel_inputs == {"client_reference": "m.1-shop.2"}
    assert prepared.cancel is None
    assert call_of(chosen).arguments["client_reference"] == "mine"


async def test_wrong_arguments_are_told_apart_from_a_call(orders: Orders) -> None:
    """Problems come back as words that name the field; there is nothing to send."""
    prepared = await orders.prepare({"book_id": 7, "colour": "red"})

    assert (prepared.call, prepared.obligation) == (None, None)
    for field in ("book_id", "colour"):
        assert any(field in problem for problem in prepared.problems)


async def test_the_card_shows_the_offer_that_the_arguments_point_at(orders: Orders) -> None:
    """What was found under the id is on the card, with its price."""
    emma = {"book_id": "b7", "title": "Emma", "price": {"amount": 12.5, "currency": "EUR"}}
    found = {"books": [emma, {"book_id": "b8", "title": "Persuasion"}]}
    search = Observation.model_validate(
        {"step": 1, "tool": "search", "outcome": "succeeded", "body": found}
    )
    prepared = await orders.prepare(observations=(search,))

    (goods,) = card_of(prepared).sections()[:1]
    assert ("Title", "Emma") in [(line.label, line.value) for line in goods.lines]
    assert str(card_of(prepared).price) == str(prepared.price) == "12.50 EUR"


async def test_a_side_effect_without_a_key_is_not_repeatable(orders: Orders) -> None:
    """Sending it twice could do it twice."""
    assert (await orders.prepare()).repeatable
    orders.catalog = orders.shop(key=False)
    assert not (await orders.prepare()).repeatable


async def test_an_approved_call_is_sent_with_its_key(orders: Orders) -> None:
    """The idempotency key is the id of the call."""
    orders.answers(order_book=ORDERED)
    call = await orders.call()

    assert (await orders.invoke(call)).kind == "succeeded"
    assert orders.client.calls == [("order_book", call.arguments, "m.1-shop.2")]


@pytest.mark.parametrize(
    "change",
    [
        {"grant": None},
        {"arguments": {"book_id": "b8", "client_reference": "m.1-shop.2"}},
        {"call_id": "m.1-shop.3"},
    ],
    ids=["no grant", "other arguments", "another call's grant"],
)
async def test_what_was_not_approved_is_never_sent(orders: Orders, change: dict[str, Any]) -> None:
    """The refusal is final, and the provider sees nothing."""
    orders.answers(order_book=ORDERED)
    refused = await failure_of(orders.invoke(await orders.call(**change)))

    assert (refused.type, refused.non_retryable) == ("GrantMissing", True)
    assert (await orders.invoke(await orders.call(**change), attempt=2)).kind == "unknown"
    assert orders.client.calls == []


async def test_nothing_is_sent_after_the_deadline(orders: Orders) -> None:
    """Rollback acts after it. A process that was paused looks at the clock after its claim."""

    class Slow(MemoryGrants):
        def send(self, call: SentCall) -> Claim:
            while datetime.now(UTC) <= soon:
                pass
            return super().send(call)

    orders.answers(order_book=ORDERED)
    late = await orders.call(deadline=datetime.now(UTC) - timedelta(seconds=1))
    assert (await failure_of(orders.invoke(late))).type == "NotInTime"

    call = await orders.call()
    soon = datetime.now(UTC) + timedelta(milliseconds=50)
    due = call.model_copy(update={"deadline": soon})
    assert (await failure_of(orders.invoke(due, grants=Slow()))).type == "NotInTime"
    assert orders.client.calls == []


async def test_a_worker_with_its_clock_ahead_sends_nothing(orders: Orders) -> None:
    """The call is left to another worker, as one that was not sent."""
    orders.answers(order_book=ORDERED)
    ahead = datetime.now(UTC) - timedelta(minutes=10)
    refused = await failure_of(orders.invoke(started_time=ahead))

    assert "600 s" in refused.message
    assert nothing_sent(refused)
    assert not refused.non_retryable
    assert orders.client.calls == []


@pytest.mark.parametrize("ahead_s", [20, -600])
async def test_deadline_and_answer_are_timed_by_the_servers_clock(
    orders: Orders, ahead_s: int
) -> None:
    """Whatever the worker's clock says: rollback goes by these times."""
    orders.answers(order_book=ORDERED)
    now = datetime.now(UTC) - timedelta(seconds=ahead_s)
    call = await orders.call(deadline=now + timedelta(seconds=10))
    outcome = await orders.invoke(call, started_time=now)

    assert outcome.kind == "succeeded"
    assert outcome.answered_at is not None
    assert now <= outcome.answered_at < now + timedelta(seconds=10)


@pytest.mark.parametrize("attempt", [1, 2])
async def test_what_is_being_taken_back_is_not_sent_again(orders: Orders, attempt: int) -> None:
    """A server restored from an older copy wants it sent; what it came to, a rollback finds out."""
    orders.answers(order_book=ORDERED)
    grants, call = MemoryGrants(), await orders.call()
    if attempt == 2:
        await orders.invoke(call, grants=grants)
    sent = len(orders.client.calls)
    grants.note_cancel(call.call_id)
    outcome = await orders.invoke(call, grants=grants, attempt=attempt)

    assert outcome.kind == "unknown"
    assert "cancel this call" in (outcome.reason or "")
    assert len(orders.client.calls) == sent


async def test_a_deferred_call_is_left_to_its_workflow_to_wait_for(orders: Orders) -> None:
    """Nothing was done, and a wait of Retry-After costs no attempt; after a lost one it does."""
    orders.answers(order_book=TOO_MANY.model_copy(update={"retry_after_s": 7}))
    outcome = await orders.invoke()
    again = await failure_of(orders.invoke(attempt=2))

    assert (outcome.kind, outcome.deferred) == ("rejected", True)
    assert 7 <= (outcome.retry_after_s or 0) < 9  # callers that wait equally long differ
    assert again.next_retry_delay is not None
    assert timedelta(seconds=7) <= again.next_retry_delay < timedelta(seconds=9)
    assert not again.non_retryable


async def test_a_doubted_answer_is_asked_for_once(orders: Orders) -> None:
    """The provider's whole answer: no other attempt is on its way, and none ends otherwise."""
    doubted = ToolOutcome(kind="unknown", status=201, doubted=True, body={"order_id": "o1"})
    orders.answers(order_book=doubted, find_order=MISSING)
    first = await orders.invoke()
    later = await orders.invoke(attempt=2)

    assert (first.kind, first.alone, later.alone) == ("unknown", True, False)
    assert first.cancel_inputs["order_id"] == "o1"


@pytest.mark.parametrize(("shown", "kind"), [("confirmed", "succeeded"), ("declined", "unknown")])
async def test_a_probe_settles_a_doubted_answer_unless_it_shows_a_failure_too(
    orders: Orders, shown: str, kind: str
) -> None:
    """What is there in a failed state is no success, and is left to rollback."""
    doubted = ToolOutcome(kind="unknown", status=201, doubted=True, body={"errors": ["late"]})
    found = ORDERED.model_copy(update={"body": {"order_id": "o1", "status": shown}})
    orders.answers(order_book=doubted, find_order=found)

    assert (await orders.invoke()).kind == kind


async def test_an_attempt_that_ended_before_the_wire_is_a_rejection(orders: Orders) -> None:
    """A personal field that the vault lacks is a reason the planner can read, not a crash."""
    orders.answers(order_book=PiiMissing(["traveler_name"]))
    outcome = await orders.invoke()

    assert outcome.kind == "rejected"
    assert "traveler_name" in (outcome.reason or "")


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 409, 422])
async def test_a_repeated_call_that_is_turned_away_stays_unclear(
    orders: Orders, status: int
) -> None:
    """The first attempt may have booked, and be what a conflict is with: nothing is void yet."""
    refused = ToolOutcome(kind="rejected", status=status, reason="go away")
    orders.answers(order_book=refused, find_order=MISSING)
    assert (await orders.invoke()).kind == "rejected"
    again = await failure_of(orders.invoke(attempt=2))

    assert again.non_retryable
    assert "may have succeeded" in again.message


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
    orders: Orders, found: Any, kind: str | None
) -> None:
    """At once: what the provider shows has arrived. What it does not may be on its way still."""
    orders.catalog = orders.shop(gone_when='$response.body#/state != "open"')
    orders.answers(order_book=REFUSED, find_order=found)

    if kind is None:
        assert (await failure_of(orders.invoke(attempt=2))).non_retryable
        return
    outcome = await orders.invoke(attempt=2)
    assert outcome.kind == kind
    assert orders.client.called == ["order_book", "find_order"]
    if kind == "succeeded":
        assert outcome.cancel_inputs["order_id"] == "o1"
    else:
        assert outcome.reason == "no funds"


async def test_a_refusal_settles_when_nothing_before_it_was_worked_on(orders: Orders) -> None:
    """The attempt before noted that neither it nor one before it was: a 429, no connection."""
    sold_out = ToolOutcome(kind="rejected", status=422, reason="sold out")
    orders.answers(order_book=sold_out, find_order=MISSING)

    assert (await orders.invoke(attempt=2, noted=(1,))).kind == "rejected"
    for unclear in ((0,), ()):
        await failure_of(orders.invoke(attempt=2, noted=unclear))


@pytest.mark.parametrize(
    ("attempt", "noted", "postponed", "is_unsent"),
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
    orders: Orders, attempt: int, noted: tuple[int, ...], postponed: dict[str, Any], is_unsent: bool
) -> None:
    """By this attempt, by one before it, or before the call was held back."""
    orders.answers(order_book=StoreUnavailable("the store", "it restarts"))
    call = await orders.call(**postponed)
    lacking = await failure_of(orders.invoke(call, attempt=attempt, noted=noted))

    assert nothing_sent(lacking) is is_unsent


async def test_a_call_lives_while_its_store_hangs(
    orders: Orders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says so while it waits for its catalog: nothing was sent, and none takes it for dead."""
    monkeypatch.setattr("orchestrator.activities.boundary._BEAT_S", 0.01)
    orders.answers(order_book=ORDERED)
    is_alive = threading.Event()

    class Hangs:
        def in_memory(self, digest: str) -> None:
            """It has to be read."""

        def get(self, digest: str) -> Catalog:
            assert is_alive.wait(10), "no sign of life"
            return orders.store.get(digest)

    class Beats(list[Any]):
        def append(self, beat: Any) -> None:
            super().append(beat)
            is_alive.set()

    beats, call = Beats(), await orders.call()
    outcome = await orders.invoke(call, beats=beats, store=cast(CatalogStore, Hangs()))

    assert outcome.kind == "succeeded"
    assert beats


async def test_no_refusal_settles_a_call_that_may_have_arrived_before_it_was_held_back(
    orders: Orders,
) -> None:
    """Its first attempt after the wait is no first one; an answer tells what came of it."""
    call = await orders.call(postponed=1, may_have_arrived=True)
    orders.answers(
        order_book=ToolOutcome(kind="rejected", status=409, reason="go away"), find_order=MISSING
    )
    refused = await failure_of(orders.invoke(call))
    orders.answers(order_book=ORDERED)
    answered = await orders.invoke(call)

    assert refused.non_retryable
    assert "may have succeeded" in refused.message
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
    orders: Orders, answer: Answer, attempt: int, noted: tuple[int, ...], notes: list[int]
) -> None:
    """For the next one, whose refusal then settles the call; an unclear one is never forgotten."""
    orders.answers(order_book=answer)
    beats: list[Any] = []
    await failure_of(orders.invoke(attempt=attempt, noted=noted, beats=beats))

    assert [beat[0] for beat in beats if beat] == notes


async def test_how_to_cancel_it_is_kept_from_the_whole_answer(orders: Orders) -> None:
    """A long answer is cut; what the cancel needs was read before that."""
    long: JsonObject = {"order_id": "o" * 3000, "notes": ["x" * 2000] * 40}
    orders.answers(order_book=ORDERED.model_copy(update={"body": long}))
    outcome = await orders.invoke()

    assert outcome.cancel_inputs == {"order_id": "o" * 3000, "client_reference": "m.1-shop.2"}
    assert isinstance(outcome.body, dict)
    assert outcome.body["order_id"] != "o" * 3000


async def test_an_id_that_no_record_holds_leaves_the_call_unclear(orders: Orders) -> None:
    """Rollback asks for it again; what else names the call is kept."""
    orders.answers(order_book=ORDERED.model_copy(update={"body": {"order_id": "o" * 5_000}}))
    outcome = await orders.invoke()

    assert (outcome.kind, outcome.is_unproved) == ("unknown", True)
    assert "order_id" in (outcome.reason or "")
    assert outcome.cancel_inputs == {"client_reference": "m.1-shop.2"}
    assert (outcome.answered_ids, outcome.follow_ups) == ({}, ())


@pytest.mark.parametrize("attempt", [1, 2])
async def test_an_answer_that_breaks_its_contract_is_asked_for_again(
    orders: Orders, attempt: int
) -> None:
    """Under the same key: a gateway's page passes."""
    orders.answers(order_book=BROKEN)

    assert not (await failure_of(orders.invoke(attempt=attempt))).non_retryable
    assert orders.client.called == ["order_book"]


@pytest.mark.parametrize(
    ("attempt", "most"), [(3, 6), (1, 1), (2, 2)], ids=["the third", "the only", "the last"]
)
@pytest.mark.parametrize(
    ("found", "kind"),
    [(ORDERED, "succeeded"), (MISSING, "unknown"), (ANOTHERS, "unknown"), (BROKEN, "unknown")],
)
async def test_the_last_broken_answer_is_cleared_up_by_the_probe(
    orders: Orders, attempt: int, most: int, found: ToolOutcome, kind: str
) -> None:
    """What it finds is a success, with its answer; else the id in the broken one is kept."""
    orders.answers(order_book=BROKEN, find_order=found)
    outcome = await orders.invoke(attempt=attempt, attempts=most)

    assert outcome.kind == kind
    assert outcome.cancel_inputs["order_id"] == "o1"
    assert orders.client.called == ["order_book", "find_order"]
    assert (outcome.contract_breach is None) is (kind == "succeeded")


async def test_an_accepted_call_is_waited_for_and_never_sent_again(orders: Orders) -> None:
    """By its probe, for as long as an attempt may take."""
    orders.answers(order_book=ACCEPTED, find_order=[MISSING, MISSING, ORDERED])
    outcome = await orders.invoke()

    assert (outcome.kind, outcome.accepted, outcome.body) == ("succeeded", False, ORDERED.body)
    assert outcome.cancel_inputs["order_id"] == "o1"
    assert orders.client.called == ["order_book", *["find_order"] * 3]


async def test_an_accepted_call_that_is_not_found_in_time_stays_accepted(orders: Orders) -> None:
    """The ledger is told, so that nothing found later is taken for nothing there."""
    orders.answers(order_book=ACCEPTED, find_order=MISSING)
    outcome = await orders.invoke(await orders.call(timeout_s=1.2))

    assert (outcome.kind, outcome.accepted) == ("unknown", True)
    assert left_by(await orders.prepare()).answered(outcome, at=NOW).accepted


async def test_an_obligation_keeps_whether_its_cancel_is_verified(orders: Orders) -> None:
    """By its mission's policy, whoever starts its rollback."""
    trusting = MissionPolicy(verify_cancels=False)

    assert left_by(await orders.prepare()).verify_cancel
    assert not left_by(await orders.prepare(policy=trusting)).verify_cancel
    assert widenings(trusting, MissionPolicy())
    assert not widenings(trusting, trusting)
    assert not widenings(MissionPolicy(), trusting)


@pytest.mark.parametrize("part", ["send", "is_cancelled"])
async def test_waiting_for_the_store_is_not_the_providers_time(
    orders: Orders, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """A call whose store stays locked is given back unsent, to be sent later."""
    monkeypatch.setattr("orchestrator.activities.boundary.STORE_S", 0.05)
    orders.answers(order_book=ORDERED)
    released, grants = threading.Event(), MemoryGrants()
    monkeypatch.setattr(grants, part, lambda *_: released.wait(10))
    lacking = await failure_of(orders.invoke(grants=grants))
    released.set()

    assert "has not answered in time" in lacking.message
    assert nothing_sent(lacking)
    assert orders.client.calls == []


async def test_an_answer_is_not_lost_with_a_store_that_hangs(
    orders: Orders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its note may come late; the workflow has it at once."""
    monkeypatch.setattr("orchestrator.activities.tool_activities._NOTED_S", 0.05)
    orders.answers(order_book=ORDERED)
    released, grants = threading.Event(), MemoryGrants()
    monkeypatch.setattr(grants, "settle", lambda *_: released.wait(10))
    outcome = await orders.invoke(grants=grants)
    released.set()

    assert outcome.kind == "succeeded"


@pytest.mark.parametrize(
    ("attempt", "attempts", "noted", "arrived", "is_settled"),
    [
        (1, 1, (), False, True),
        (3, 3, (2,), False, True),
        (3, 3, (), False, False),
        (1, 1, (), True, False),
        (1, 3, (), False, False),
        (2, 3, (1,), False, False),
        (1, 3, (), True, False),
    ],
)
async def test_a_last_attempt_that_never_left_is_settled(
    orders: Orders,
    attempt: int,
    attempts: int,
    noted: tuple[int, ...],
    arrived: bool,
    is_settled: bool,
) -> None:
    """It is no unclear outcome, unless another attempt follows or may have arrived before."""
    refused = "the connection was refused"
    orders.answers(find_order=TransportFailed("find_order", refused, may_have_arrived=arrived))
    read = made_call("m.l.1", tool="find_order", catalog_digest=orders.catalog.digest)
    sending = orders.invoke(read, attempt=attempt, attempts=attempts, noted=noted)

    if is_settled:
        outcome = await sending
        assert (outcome.kind, outcome.reason) == ("rejected", f"find_order: {refused}")
    else:
        assert refused in (await failure_of(sending)).message
