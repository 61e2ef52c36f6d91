"""The price that an answer states."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from orchestrator.catalog.money import amounts_in, money_of, names_price, stated_price
from orchestrator.core.budget import Money

EUR_5: Any = {"amount": 5, "currency": "EUR"}
EUR_9: Any = {"amount": 9, "currency": "EUR"}


@pytest.mark.parametrize(
    "body",
    [
        {"id": "a", "price": EUR_5},
        {"total": EUR_5, "price": EUR_9},
        {"total_price": {"value": "5.00", "currency": "EUR"}},
        {"amount": 5, "currency": "EUR"},
        {"price": 5, "currency_code": "EUR"},
        {"booking": {"id": "a", "price": EUR_5}, "links": {}},
        {"data": {"price": 5}, "currency": "EUR", "links": {}},
        {"data": {"type": "booking", "attributes": {"price": EUR_5}}},
        {"price": EUR_5, "refund": EUR_9, "deposit": EUR_9},
        {"fare": "5.00", "currency": "EUR"},
        {"total_cost": 5, "currencyCode": "EUR"},
        {"price": {"total": 5, "currency": "EUR"}},
        {"price": {"total": {"value": "5.00"}, "base": {"value": "4.10"}, "currency": "EUR"}},
        {"price": {"amount": 9, "total": 5, "currency": "EUR"}},
        {"currency": "EUR", "price": {"amount": 5}},
        {"currency": "EUR", "booking": {"id": "a", "amount": 5}},
        {"total": 5, "total_price": "5.00", "total_tax": 1, "currency": "EUR"},
        {"total": EUR_5, "price_per_night": EUR_9, "max_price": EUR_9},
        {"price": EUR_5, "nightly_rate": EUR_9, "service_fee": EUR_9},
        {"total": 5, "amount_due": 2, "amount_paid": 3, "currency": "EUR"},
        {"total": 5, "currency": "EUR", "items": [{"price": 5}]},
        {"order_total": 5, "subtotal": 4, "currency": "EUR"},
        {"amount_charged": 5, "currency": "EUR"},
        {"charge": {"id": "c", "amount": 5, "currency": "EUR"}},
        {"price": EUR_5, "room_price": EUR_9},
    ],
)
def test_a_price_that_is_stated_plainly_is_read(body: Any) -> None:
    """A price stands at the top or one level down, as an object or next to its currency."""
    assert stated_price(body) == Money(amount=Decimal(5), currency="EUR")


@pytest.mark.parametrize(
    "body",
    [
        None,
        {"price_id": 12, "price_level": 2, "currency": "EUR"},
        {"cost_center": "4711", "fare_class": "1", "currency": "EUR"},
        {"price_valid_until": 2026, "fare_difference": 30, "currency": "EUR"},
        "5 EUR",
        [{"price": EUR_5}],
        {},
        {"offers": [{"price": EUR_5}]},
        {"status": "cancelled", "refund": EUR_5},
        {"refund_amount": EUR_5, "tax": EUR_5, "balance_due": EUR_5},
        {"hotel": {"price": EUR_5}, "flight": {"price": EUR_9}},
        {"deep": {"er": {"price": EUR_5}}},
        {"price": {"amount": 5}},
        {"total": 5},
        {"price": {"amount": 500, "currency": "eur"}},
        {"price": {"amount": True, "currency": "EUR"}},
        {"price": {"amount": -5, "currency": "EUR"}},
        {"price": {"amount": "free", "currency": "EUR"}},
        {"price": {"amount": "NaN", "currency": "EUR"}},
        {"price": {"amount": "1_000", "currency": "EUR"}},
        {"deposit_amount": 5, "currency": "EUR"},
        {"nightly_rate": 5, "currency": "EUR"},
        {"nightly_rate": EUR_5},
        {"price_per_night": EUR_5},
        {"cancellation_fee": EUR_5, "service_charge": EUR_5},
        {"tip": EUR_5},
        {"amount_due": 5, "currency": "EUR"},
        {"price_paid": 5, "currency": "EUR"},
        {"room_price": 5, "currency": "EUR"},
        {"insurance": {"price": EUR_5}},
        {"insurance_price": 5, "shipping_costs": 5, "service_charge": 5, "currency": "EUR"},
        {"price_usd": 5, "total_nights": 5, "adult_price": 5, "base_fare": 5, "currency": "EUR"},
        {"list_price": 5, "unit_price": 5, "subtotal": 5, "currency": "EUR"},
        {"max_price": 5, "price_from": 5, "estimated_total": 5, "currency": "EUR"},
        {"discount_amount": 5, "amount_refunded": 5, "credit_limit": 5, "currency": "EUR"},
        {"price": 5, "cost": 9, "currency": "EUR"},
        {"amount": 2, "price": 5, "currency": "EUR"},
        {"price": {"amount": 5, "value": 500, "currency": "EUR"}},
        {"price": {"adult": EUR_5, "child": EUR_9}},
        {"price": {"amount": 5, "currency": "EUR", "per": "night"}},
        {"price": 5, "currency": "EUR", "price_basis": "per_person"},
        {"price": {"total": 5, "currency": "EUR"}, "per": "night"},
        {"total": 2, "currency": "EUR", "offers": [{"id": "a"}, {"id": "b"}]},
        {"total": 5, "page": 1, "currency": "EUR"},
        {"price_micros": 500, "currency": "EUR"},
        {"price": 5, "currency": "PTS"},
        {"price": 5, "currency": "EUR", "quantity": 3},
        {"price": 5, "currency": "EUR", "sale_price": 4},
        {"amount": 500, "minor_units": True, "currency": "EUR"},
        {"price": {"amount": 500, "currency": "EUR", "exponent": 2}},
        {"currency": "EUR", "price": {"amount": 500, "currency": "eur"}},
        {"price": 5, "currency": "EUR", "currency_code": "USD"},
        {"payment": EUR_5, "refund": EUR_9},
        {"grandTotal": 5, "total": 4, "currency": "EUR"},
        {"taxi": {"price": EUR_5}},
        {"price": EUR_5, "unit": "metric"},
    ],
)
def test_what_states_no_price_plainly_has_none(body: Any) -> None:
    """No guesses: refunds, several prices, lists and unknown units are not what a call cost."""
    assert stated_price(body) is None


@pytest.mark.parametrize(
    ("name", "is_price"),
    [
        ("price", True),
        ("totalFare", True),
        ("amount-due", False),
        ("refund", False),
        ("max_price", False),
        ("cost_per_day", False),
        ("description", False),
    ],
)
def test_a_name_tells_whether_it_is_of_a_price(name: str, is_price: bool) -> None:
    """Only the words of a name count, because a schema has nothing else."""
    assert names_price(name) == is_price


def test_money_is_read_whatever_it_is_for() -> None:
    """A fee is no price, and money all the same."""
    body: Any = {"fee": 5, "currency": "EUR", "taxes": [{"of": "city", "due": {**EUR_9, "id": 3}}]}

    assert stated_price(body) is None
    assert money_of(body["fee"], body) == Money(amount=Decimal(5), currency="EUR")
    assert money_of({"name": "Sea view", "price": 5, "currency": "EUR"}) is None
    assert money_of({"price": EUR_5}) is None
    assert [str(money) for money in amounts_in(body)] == ["5.00 EUR", "9.00 EUR"]


def test_the_amount_is_the_one_that_was_written() -> None:
    """249.9 is not its binary neighbour."""
    found = stated_price({"price": {"amount": 249.9, "currency": "EUR"}})

    assert found is not None
    assert found.amount == Decimal("249.9")


JSON: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["price", "total", "amount", "currency", "value", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(body=JSON)
def test_any_json_is_read_without_an_error(body: JsonValue) -> None:
    """An answer may be anything; what comes out is a price of zero or more, or none."""
    found = stated_price(body)

    assert found is None or found.amount >= 0
