"""The price that an answer states."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from orchestrator.catalog.prices import price_of
from orchestrator.core.budget import Money

EUR_5 = {"amount": 5, "currency": "EUR"}
EUR_9 = {"amount": 9, "currency": "EUR"}


@pytest.mark.parametrize(
    "body",
    [
        {"id": "a", "price": EUR_5},
        {"total": EUR_5, "price": EUR_9},
        {"total_price": {"value": "5.00", "currency": "EUR"}},
        {"amount": 5, "currency": "EUR"},
        {"price": 5, "currency_code": "EUR"},
        {"booking": {"id": "a", "price": EUR_5}, "links": {}},
        {"payment": EUR_5, "refund": EUR_9},
        {"price": EUR_5, "refund": EUR_9, "deposit": EUR_9},
    ],
)
def test_a_price_that_is_stated_plainly_is_read(body: Any) -> None:
    """At the top or one level down, as an object or beside its currency."""
    assert price_of(body) == Money(amount=Decimal(5), currency="EUR")


@pytest.mark.parametrize(
    "body",
    [
        None,
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
    ],
)
def test_what_states_no_price_plainly_has_none(body: Any) -> None:
    """No guesses: refunds, several prices, lists and unknown units are not what a call cost."""
    assert price_of(body) is None


def test_the_amount_is_the_one_that_was_written() -> None:
    """249.9 is not its binary neighbour."""
    found = price_of({"price": {"amount": 249.9, "currency": "EUR"}})

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
    found = price_of(body)

    assert found is None or found.amount >= 0
