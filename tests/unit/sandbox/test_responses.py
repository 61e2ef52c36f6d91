"""Providers that answer undeclared bodies, and charge more than was approved."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx
import pytest

from orchestrator.sandbox import EffectLedger, FaultPlan, FaultRule
from orchestrator.sandbox.faults import Breach, FaultKind, OddAnswer

ORDER = "order_place"
KEY = {"Idempotency-Key": "m1.leg.1", "X-Request-Id": "m1.leg.1"}


@pytest.fixture
def order(http: httpx.AsyncClient, book_id: str) -> Callable[[], Awaitable[httpx.Response]]:
    """Place the same order on each call."""

    async def place() -> httpx.Response:
        body = {"book_id": book_id, "client_reference": "m1.leg.1"}
        return await http.post("/shop/orders", json=body, headers=KEY)

    return place


Order = Callable[[], Awaitable[httpx.Response]]


@pytest.mark.parametrize("breach", ["html", "error", "no_reference"])
@pytest.mark.parametrize(("kind", "made"), [("breach_before", 0), ("breach_after", 1)])
async def test_a_breach_names_nothing(
    kind: FaultKind,
    made: int,
    breach: Breach,
    order: Order,
    faults: FaultPlan,
    ledger: EffectLedger,
) -> None:
    """The status says success; before the order nothing was made, after it the key shows it."""
    faults.replace([FaultRule(operation_id=ORDER, kind=kind, breach=breach, times=1)])
    broken, live = await order(), len(ledger.live())
    again = await order()

    assert (broken.status_code, again.status_code, live) == (201, 201, made)
    assert "order_id" not in broken.text
    assert ("Idempotent-Replayed" in again.headers) is (made == 1)
    assert len(ledger.live()) == 1
    assert [r.fault for r in ledger.requests("m1")] == [kind, None]


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
    form: OddAnswer, order: Order, faults: FaultPlan, ledger: EffectLedger
) -> None:
    faults.replace([FaultRule(operation_id=ORDER, kind="breach_after", breach=form, times=1)])
    odd = await order()

    assert ODD[form](odd)
    assert len(ledger.live()) == 1


async def test_an_odd_answer_may_give_the_id_of_an_earlier_one(
    http: httpx.AsyncClient, book_id: str, faults: FaultPlan
) -> None:
    """One id, two orders of one mission."""
    twice = FaultRule(operation_id=ORDER, kind="breach_after", breach="id_twice", after=1)
    faults.replace([twice])
    ids = []
    for call in ("m1.leg.1", "m1.leg.2", "m2.leg.1"):
        body = {"book_id": book_id, "client_reference": call}
        headers = {"Idempotency-Key": call, "X-Request-Id": call}
        made = await http.post("/shop/orders", json=body, headers=headers)
        ids.append(made.json()["order_id"])

    assert ids[0] == ids[1] != ids[2]


async def test_a_refusal_is_no_breach(
    http: httpx.AsyncClient, faults: FaultPlan, ledger: EffectLedger
) -> None:
    """The provider's refusal is answered, whatever was planned for its success."""
    faults.replace([FaultRule(kind="breach_after")])
    answer = await http.get("/shop/orders/ord_none")

    assert answer.status_code == 404
    assert ledger.effects() == []


async def test_a_gateway_has_a_page(order: Order, faults: FaultPlan, ledger: EffectLedger) -> None:
    faults.replace([FaultRule(operation_id=ORDER, kind="gateway", status=404)])
    answer = await order()

    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert ledger.effects() == []


async def test_a_lost_success_is_refused_when_it_is_repeated(
    order: Order, faults: FaultPlan, ledger: EffectLedger
) -> None:
    """The refusal looks as if nothing had been booked."""
    faults.replace([FaultRule(operation_id=ORDER, kind="refuse_repeat", status=402)])

    with pytest.raises(ConnectionAbortedError):
        await order()
    again = await order()
    assert again.status_code == 402
    assert len(ledger.live()) == 1
    assert ledger.requests("m1")[0].status is None


async def test_a_late_duplicate_arrives_after_its_answer(
    order: Order, faults: FaultPlan, ledger: EffectLedger
) -> None:
    rule = FaultRule(operation_id=ORDER, kind="late_duplicate", delay_s=0.05, times=1)
    faults.replace([rule])
    answer = await order()
    at_once = len(ledger.requests("m1"))
    while len(ledger.requests("m1")) == 1:  # noqa: ASYNC110  # polled
        await asyncio.sleep(0.01)

    assert (answer.status_code, at_once) == (201, 1)
    assert [r.replayed for r in ledger.requests("m1")] == [False, True]
    assert len(ledger.effects()) == 1


async def test_an_overcharge_is_in_the_answer_and_on_record(
    order: Order, faults: FaultPlan, ledger: EffectLedger
) -> None:
    fair = (await order()).json()["price"]["amount"]
    ledger.database.write("DELETE FROM notes WHERE kind = 'answer'")
    ledger.database.write("DELETE FROM resources")
    faults.replace([FaultRule(operation_id=ORDER, kind="overcharge")])
    dear = (await order()).json()["price"]["amount"]

    assert dear == pytest.approx(fair * 1.25, abs=0.01)
    assert float(ledger.effects()[-1].amount or 0) == dear


async def test_a_request_is_kept_as_the_provider_read_it(
    order: Order, book_id: str, faults: FaultPlan, ledger: EffectLedger
) -> None:
    """Arguments include the document's defaults; a request that was refused unread has none."""
    faults.replace([FaultRule(kind="rate_limit", times=1)])
    await order()
    await order()
    unread, read = ledger.requests("m1")
    assert unread.arguments is None
    assert read.arguments == {"book_id": book_id, "copies": 1, "client_reference": "m1.leg.1"}
