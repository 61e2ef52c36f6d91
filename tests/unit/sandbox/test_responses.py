"""Providers that fail, answer undeclared bodies, and charge more than was approved."""

import asyncio
from collections.abc import Callable

import httpx
import pytest

from orchestrator.sandbox.faults import Breach, FaultKind, OddAnswer
from tests.unit.sandbox.conftest import Customer


@pytest.mark.parametrize(
    ("kind", "status", "made"),
    [("status_before", 500, 0), ("status_after", 502, 1), ("rate_limit", 429, 0)],
)
async def test_a_failed_call_may_have_taken_effect(
    kind: FaultKind, status: int, made: int, customer: Customer
) -> None:
    """Retry-After says when to come back; then the same key shows what happened."""
    customer.meets(kind, status=status, retry_after_s=3, times=1)
    failed, effects = await customer.order(), len(customer.ledger.effects())
    again = await customer.order()

    assert (failed.status_code, effects, again.status_code) == (status, made, 201)
    assert failed.headers["Retry-After"] == "3"
    assert ("Idempotent-Replayed" in again.headers) is (made == 1)
    assert len(customer.ledger.live()) == 1


async def test_refuse_cancel_meets_cancels_only(customer: Customer) -> None:
    """Under "*" a create goes through and its cancel is refused."""
    customer.meets("refuse_cancel", operation_id="*")
    made = await customer.order()
    named = {"order_id": made.json()["order_id"]}
    refused = await customer.http.post("/shop/cancellations", json=named)

    assert (made.status_code, refused.status_code) == (201, 409)
    assert len(customer.ledger.live()) == 1


async def test_duplicate_delivery_is_harmless_with_a_key_and_seen_without(
    customer: Customer,
) -> None:
    """Without a key the ledger counts both effects of a call that arrived twice."""
    customer.meets("duplicate")
    await customer.order()
    harmless = customer.ledger.duplicates()
    body, headers = {"book_id": customer.book_id}, {"X-Request-Id": "m1.leg.2"}
    await customer.http.post("/shop/orders", json=body, headers=headers)

    assert harmless == []
    (twice,) = customer.ledger.duplicates("m1")
    assert (twice.cause, len(twice.effects)) == ("m1.leg.2", 2)


async def test_every_request_is_on_record(customer: Customer) -> None:
    """Refused, disturbed and replayed requests are kept with the status that the caller saw."""
    customer.meets("status_after", times=1)
    await customer.order()
    await customer.order()
    await customer.order("m1.leg.2", book_id="B-000000")
    seen = [(r.status, r.fault, r.replayed) for r in customer.ledger.requests("m1")]

    assert seen == [(503, "status_after", False), (201, None, True), (404, None, False)]


@pytest.mark.parametrize("breach", ["html", "error", "no_reference"])
@pytest.mark.parametrize(("kind", "made"), [("breach_before", 0), ("breach_after", 1)])
async def test_a_breach_names_nothing(
    kind: FaultKind, made: int, breach: Breach, customer: Customer
) -> None:
    """The status says success; before the order nothing was made, after it the key shows it."""
    customer.meets(kind, breach=breach, times=1)
    broken, live = await customer.order(), len(customer.ledger.live())
    again = await customer.order()

    assert (broken.status_code, again.status_code, live) == (201, 201, made)
    assert "order_id" not in broken.text
    assert ("Idempotent-Replayed" in again.headers) is (made == 1)
    assert len(customer.ledger.live()) == 1
    assert [r.fault for r in customer.ledger.requests("m1")] == [kind, None]


ODD: dict[OddAnswer, Callable[[httpx.Response], bool]] = {
    "null": lambda odd: odd.json()["remark"] is None,
    "naive_time": lambda odd: odd.status_code == 201,
    "surrogate": lambda odd: b'"\\ud83d"' in odd.content,
    "hostile_headers": lambda odd: odd.headers["retry-after"].endswith("9"),
    "other_status": lambda odd: (
        (odd.status_code, odd.headers["content-type"][:10]) == (203, "text/plain")
    ),
    "multi_status": lambda odd: odd.json()["items"][1]["status"] == 422,
    "requires_action": lambda odd: odd.json()["status"] == "requires_action",
    "says_no": lambda odd: odd.json()["success"] is False,
    "huge_id": lambda odd: len(odd.json()["order_id"]) == 20_000,
    "costly": lambda odd: sum(map(len, odd.json()["rows"])) == 300_000,
}


@pytest.mark.parametrize("form", ODD)
async def test_an_odd_answer_is_the_true_one_with_something_in_it(
    form: OddAnswer, customer: Customer
) -> None:
    customer.meets("breach_after", breach=form, times=1)

    assert ODD[form](await customer.order())
    assert len(customer.ledger.live()) == 1


async def test_an_odd_answer_may_give_the_id_of_an_earlier_one(customer: Customer) -> None:
    """One id, two orders of one mission."""
    customer.meets("breach_after", breach="id_twice", after=1)
    calls = ("m1.leg.1", "m1.leg.2", "m2.leg.1")
    ids = [(await customer.order(call)).json()["order_id"] for call in calls]

    assert ids[0] == ids[1] != ids[2]


async def test_a_refusal_is_no_breach_and_a_gateway_has_a_page(customer: Customer) -> None:
    """A refusal is answered, whatever was planned for the success."""
    customer.meets("breach_after", operation_id="*")

    assert (await customer.http.get("/shop/orders/ord_none")).status_code == 404
    assert customer.ledger.effects() == []
    customer.meets("gateway", status=404)
    answer = await customer.order()
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert customer.ledger.effects() == []


async def test_a_lost_success_is_refused_when_it_is_repeated(customer: Customer) -> None:
    """The refusal looks as if nothing had been booked."""
    customer.meets("refuse_repeat", status=402)

    with pytest.raises(ConnectionAbortedError):
        await customer.order()
    assert (await customer.order()).status_code == 402
    assert len(customer.ledger.live()) == 1
    assert customer.ledger.requests("m1")[0].status is None


async def test_a_late_duplicate_arrives_after_its_answer(customer: Customer) -> None:
    customer.meets("late_duplicate", delay_s=0.05, times=1)
    answer = await customer.order()
    at_once = len(customer.ledger.requests("m1"))
    while len(customer.ledger.requests("m1")) == 1:  # noqa: ASYNC110  # polled
        await asyncio.sleep(0.01)

    assert (answer.status_code, at_once) == (201, 1)
    assert [r.replayed for r in customer.ledger.requests("m1")] == [False, True]
    assert len(customer.ledger.effects()) == 1


async def test_an_overcharge_is_in_the_answer_and_on_record(customer: Customer) -> None:
    fair = (await customer.order()).json()["price"]["amount"]
    customer.meets("overcharge")
    dear = (await customer.order("m1.leg.2")).json()["price"]["amount"]

    assert dear == pytest.approx(fair * 1.25, abs=0.01)
    assert float(customer.ledger.effects()[-1].amount or 0) == dear


async def test_a_request_is_kept_as_the_provider_read_it(customer: Customer) -> None:
    """Arguments include the document's defaults; a request that was refused unread has none."""
    customer.meets("rate_limit", times=1)
    await customer.order()
    await customer.order()
    unread, read = customer.ledger.requests("m1")
    given = {"book_id": customer.book_id, "client_reference": "m1.leg.1"}
    assert unread.arguments is None
    assert read.arguments == {**given, "copies": 1}
