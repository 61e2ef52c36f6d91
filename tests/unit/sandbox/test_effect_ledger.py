"""The witness by itself, and on disk."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.sandbox import EffectLedger
from orchestrator.sandbox.effect_ledger import Cause, CurrencyAmount


def create(ledger: EffectLedger, resource_id: str, **cause: str) -> None:
    ledger.record_effect(
        at="2026-11-20T12:00:00Z",
        provider="shop",
        operation="order_place",
        kind="create",
        resource_type="order",
        resource_id=resource_id,
        cause=Cause(**cause),
        money=CurrencyAmount(Decimal("12.30"), "EUR"),
    )


def test_mission_is_the_prefix_of_key_or_request_id(ledger: EffectLedger) -> None:
    """A mission sees its own effects, not those of one whose id only begins the same."""
    create(ledger, "a", idempotency_key="m_1.leg.1")
    create(ledger, "b", request_id="m_1.leg.2")
    create(ledger, "c", idempotency_key="m_10.leg.1")
    create(ledger, "d", idempotency_key="mx1.leg.1")
    create(ledger, "e")

    assert [effect.resource_id for effect in ledger.live("m_1")] == ["a", "b"]
    assert len(ledger.live()) == 5


def test_amount_is_exact(ledger: EffectLedger) -> None:
    """The amount is read back unchanged, and is a number in JSON."""
    create(ledger, "a")
    (effect,) = ledger.effects()

    assert str(effect.amount) == "12.30"
    assert effect.to_json()["amount"] == 12.3


def test_two_creates_of_one_cause_are_duplicates_even_when_cancelled(ledger: EffectLedger) -> None:
    """Cancelling does not change that something happened twice."""
    create(ledger, "a", idempotency_key="m1.leg.1")
    create(ledger, "b", request_id="m1.leg.1")
    create(ledger, "c", idempotency_key="m1.leg.2")
    ledger.mark_cancelled(provider="shop", resource_id="b", operation=None)
    (twice,) = ledger.duplicates("m1")

    assert [effect.resource_id for effect in twice.effects] == ["a", "b"]
    assert [effect.status for effect in twice.effects] == ["live", "cancelled"]
    assert ledger.duplicates("m2") == []


def test_cancelling_one_operation_leaves_the_others(ledger: EffectLedger) -> None:
    """A resource may stand for several obligations."""
    create(ledger, "a")
    ledger.mark_cancelled(provider="shop", resource_id="a", operation="order_ship")
    before = len(ledger.live())
    ledger.mark_cancelled(provider="shop", resource_id="a", operation="order_place")

    assert (before, len(ledger.live())) == (1, 0)


def test_failed_transaction_leaves_nothing(ledger: EffectLedger) -> None:
    """An effect and its records are kept together or not at all."""
    with pytest.raises(RuntimeError), ledger.database.transaction():
        create(ledger, "a")
        raise RuntimeError
    assert ledger.effects() == []


class FullDisk(EffectLedger):
    """A ledger that fails to record requests."""

    def record_request(self, **_: Any) -> None:
        raise OSError("no space left on device")


async def test_what_cannot_be_recorded_does_not_happen(open_app: Callable[..., Any]) -> None:
    """Effect, resource, key and record are one transaction: when one fails, none is kept."""
    with FullDisk() as ledger:
        async with open_app(ledger=ledger) as http:
            with pytest.raises(OSError, match="no space"):
                await http.post("/shop/vouchers", headers={"Authorization": "Bearer t"})

        assert ledger.effects() == []
        assert ledger.database.run("SELECT * FROM resources") == []


async def test_ledger_survives_reopening(open_app: Callable[..., Any], tmp_path: Path) -> None:
    """After a restart on the same file keys, offers, resources and effects are all known."""
    file = tmp_path / "ledger.db"
    headers = {"Idempotency-Key": "m1.leg.1"}
    with EffectLedger(file) as ledger:
        async with open_app(ledger=ledger) as http:
            books = (await http.get("/shop/books", params={"author": "Eco"})).json()["books"]
            first = await post_order(http, books[0]["book_id"], headers)
    with EffectLedger(file) as ledger:
        async with open_app(ledger=ledger) as http:
            again = await post_order(http, books[0]["book_id"], headers)
            other = await post_order(http, books[1]["book_id"], {"Idempotency-Key": "m1.leg.2"})
            cancelled = await http.post(
                "/shop/cancellations", json={"order_id": first.json()["order_id"]}
            )
        live = ledger.live("m1")

    assert again.json() == first.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert other.json()["order_id"] != first.json()["order_id"]
    assert cancelled.status_code == 200
    assert [effect.resource_id for effect in live] == [other.json()["order_id"]]


async def post_order(
    http: httpx.AsyncClient, book_id: str, headers: dict[str, str]
) -> httpx.Response:
    return await http.post("/shop/orders", json={"book_id": book_id}, headers=headers)
