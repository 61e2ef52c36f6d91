"""Prices of calls, by declarations and in real answers of well-known APIs."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.declared_prices import PRICE
from orchestrator.catalog.prices import (
    charged_price,
    expected_price,
    named_amounts,
    plain_answer,
    plain_arguments,
    price_doubts,
)
from orchestrator.catalog.tool import Tool
from orchestrator.core import budget
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from tests.fakes import fake_tool

SMALLEST = "Amount intended to be collected. A positive integer in the [smallest currency unit](x)"
CODE = {"type": "string"}
INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}


def document(
    *, body: Mapping[str, Any] | None = None, answer: Any = None, **keywords: Any
) -> dict[str, Any]:
    """A shop in which one thing can be ordered."""
    operation = {
        "operationId": "shop_order",
        "x-orchet-tool": True,
        "x-orchet-requires-confirmation": "structured-order",
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _object(body or {"sku": CODE})}},
        },
        "responses": {"201": {"content": {"application/json": {"schema": answer or {}}}}},
        **{f"x-orchet-{name.replace('_', '-')}": value for name, value in keywords.items()},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": "https://shop.example"}],
        "paths": {"/orders": {"post": operation}},
    }


def shop(*, body: Mapping[str, Any] | None = None, answer: Any = None, **keywords: Any) -> Tool:
    """Its one tool."""
    made = document(body=body, answer=answer, **keywords)
    return Catalog.from_documents({"shop": made}).tool("shop_order")


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties)}


def charged(schema: Any, body: JsonValue, **keywords: Any) -> str | None:
    """Return the charge in an answer with that schema, as people read it."""
    money = charged_price(shop(answer=schema, **keywords), {}, body)
    return str(money) if money is not None else None


PAYMENT_INTENT = _object({"amount": {**INTEGER, "description": SMALLEST}, "currency": CODE})
ADYEN = _object(
    {
        "amount": _object(
            {
                "currency": CODE,
                "value": {
                    **INTEGER,
                    "description": "The amount of the transaction, in [minor units](x).",
                },
            }
        )
    }
)
UNTOLD = _object({"amount": _object({"currency": CODE, "value": INTEGER})})
TEXTS = _object({"amount": _object({"value": CODE, "currency": CODE, "currency_code": CODE})})


@pytest.mark.parametrize(
    ("schema", "body", "expected"),
    [
        (PAYMENT_INTENT, {"id": "pi", "amount": 2500, "currency": "eur"}, "25.00 EUR"),
        (PAYMENT_INTENT, {"id": "pi", "amount": 2500, "currency": "jpy"}, "2,500 JPY"),
        (PAYMENT_INTENT, {"id": "pi", "amount": 2500, "currency": "kwd"}, "2.500 KWD"),
        ({}, {"id": "pi", "amount": 2500, "currency": "eur"}, None),
        (ADYEN, {"amount": {"value": 1000, "currency": "EUR"}}, "10.00 EUR"),
        (UNTOLD, {"amount": {"value": 1000, "currency": "EUR"}}, None),
        (UNTOLD, {"amount": {"value": 1000, "currency": "JPY"}}, "1,000 JPY"),
        ({}, {"price": {"total": "181.40", "currency": "EUR"}}, "181.40 EUR"),
        ({}, {"price": {"total": "181", "currency": "EUR"}}, None),
        ({}, {"totalPrice": {"amount": "10.00", "currencyCode": "EUR"}}, "10.00 EUR"),
        (TEXTS, {"amount": {"currency_code": "EUR", "value": "10.00"}}, "10.00 EUR"),
        (TEXTS, {"amount": {"currency": "EUR", "value": "1000"}}, None),
        (
            _object({"amount_cents": INTEGER, "currency": CODE}),
            {"amount_cents": 2500, "currency": "EUR"},
            "25.00 EUR",
        ),
        (
            _object({"amount_cents": INTEGER, "currency": CODE}),
            {"amount_cents": 2500, "currency": "KWD"},
            None,
        ),
        (
            _object({"amount": {**NUMBER, "description": "In units of the currency."}}),
            {"amount": 25, "currency": "EUR"},
            "25.00 EUR",
        ),
        (
            _object({"amount": {**INTEGER, "description": "Amount, not in minor units."}}),
            {"amount": 25, "currency": "EUR"},
            None,
        ),
        (
            _object({"amount": {**INTEGER, "description": "In cents, or in major units."}}),
            {"amount": 25, "currency": "EUR"},
            None,
        ),
        (
            _object({"total": NUMBER}),
            {"total": 25, "currency": "PTS"},
            None,
        ),
        (
            _object({"price": NUMBER, "quantity": INTEGER}),
            {"price": 25, "quantity": 3, "currency": "EUR"},
            None,
        ),
        (
            _object({"price": NUMBER, "sale_price": NUMBER}),
            {"price": 25, "sale_price": 20, "currency": "EUR"},
            None,
        ),
    ],
)
def test_real_answers_are_read_right_or_not_at_all(
    schema: Any, body: JsonValue, expected: str | None
) -> None:
    """Stripe, Adyen, Amadeus, Shopify, PayPal and others: never cents as euros, never a guess."""
    assert charged(schema, body) == expected


FARE = _object({"fare_amt": {**INTEGER, "x-orchet-minor-units": True}, "cur": CODE})


@pytest.mark.parametrize(
    ("price", "expected"),
    [
        ({"amount": "$response.body#/fare_amt", "currency": "$response.body#/cur"}, "25.00 EUR"),
        ({"amount": "$response.body#/fare_amt", "currency": "EUR"}, "25.00 EUR"),
        (
            {"amount": "$response.body#/fare_amt", "currency": "EUR", "minor-units": False},
            "2,500.00 EUR",
        ),
        (
            {"amount": "$response.body#/fare_amt", "currency": "EUR", "minor-units": 3},
            "2.50 EUR",
        ),
        ({"charged": {"amount": "$response.body#/fare_amt", "currency": "EUR"}}, "25.00 EUR"),
        ("$response.body#/nothing", None),
    ],
)
def test_a_declared_place_is_where_the_price_is(price: Any, expected: str | None) -> None:
    """Whatever names say, and also where nothing is there."""
    body: JsonValue = {"fare_amt": 2500, "cur": "EUR", "total": "9.99", "currency": "EUR"}

    assert charged(FARE, body, price=price) == expected


def test_both_ends_of_a_price_are_declared() -> None:
    """Expected and charged price are each read in their own units."""
    tool = shop(
        body={"budgeted": {**INTEGER, "description": "In the smallest currency unit"}, "cur": CODE},
        answer=_object({"sum": _object({"value": NUMBER, "currency": CODE})}),
        price={
            "expected": {"amount": "$request.body#/budgeted", "currency": "$request.body#/cur"},
            "charged": "$response.body#/sum",
        },
    )
    arguments: dict[str, JsonValue] = {"budgeted": 2500, "cur": "EUR"}

    assert str(expected_price(tool, arguments, None)) == "25.00 EUR"
    body: JsonValue = {"sum": {"value": 26, "currency": "EUR"}}
    assert str(charged_price(tool, arguments, body)) == "26.00 EUR"


def test_a_property_is_declared_to_be_the_price_of_its_object() -> None:
    """The object may stand in any answer: the quoted price is the booked one."""
    offer = _object(
        {
            "offer_id": CODE,
            "fare": {**INTEGER, "x-orchet-price": {"currency": "EUR"}, "description": "in cents"},
            "total": NUMBER,
        }
    )
    tool = shop(answer=_object({"offers": {"type": "array", "items": offer}, "best": offer}))
    one: JsonValue = {"offer_id": "o1", "fare": 7695, "total": 3, "currency": "USD"}

    assert str(charged_price(tool, {}, {"best": one})) == "76.95 EUR"
    plain: Any = plain_answer(tool, {"offers": [one]})
    assert str(expected_price(shop(), {"sku": "o1"}, plain["offers"][0])) == "76.95 EUR"


def test_a_price_per_piece_is_that_of_as_many_as_are_asked_for() -> None:
    """A price that may be per piece is unknown for several pieces."""
    per_piece = {**NUMBER, "x-orchet-price": {"per": "quantity"}}
    meals = plain_answer(
        shop(answer=_object({"price": per_piece})), {"price": 12.5, "currency": "EUR"}
    )
    unread: Any = {"price": "12.50", "currency": "EUR"}
    tool = shop(body={"meal_id": CODE, "quantity": INTEGER})

    assert isinstance(meals, dict)
    assert str(expected_price(tool, {"quantity": 2}, meals)) == "25.00 EUR"
    assert expected_price(tool, {}, meals) is None
    assert expected_price(tool, {"quantity": 2}, unread) is None
    assert str(expected_price(tool, {"quantity": 1}, unread)) == "12.50 EUR"


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_a_declaration_may_stand_beside_a_reference(version: str) -> None:
    """One of several properties with a shared schema is the price; all may count cents."""
    made = document(
        answer=_object(
            {
                "base": {"$ref": "#/components/schemas/Money"},
                "sum": {"$ref": "#/components/schemas/Money", "x-orchet-price": True},
            }
        )
    )
    money = _object({"value": INTEGER, "currency": CODE})
    made["openapi"] = version
    made["components"] = {"schemas": {"Money": {**money, "x-orchet-minor-units": True}}}
    tool = Catalog.from_documents({"shop": made}).tool("shop_order")
    body: JsonValue = {
        "base": {"value": 2000, "currency": "EUR"},
        "sum": {"value": 2500, "currency": "EUR"},
    }

    assert str(charged_price(tool, {}, body)) == "25.00 EUR"


def test_a_call_that_costs_nothing_spends_nothing() -> None:
    """Whatever numbers stand in its request or answer, and whatever its card is called."""
    tool = shop(price=False)

    assert not tool.spends
    assert charged_price(tool, {}, {"price": "5.00", "currency": "EUR"}) is None


def test_an_unclear_amount_is_made_up_for_by_nothing() -> None:
    """Not by a price that was quoted, and not by one deeper in the answer."""
    unread: dict[str, JsonValue] = {"amount": 2500, "currency": "EUR"}
    quoted: dict[str, JsonValue] = {"price": "9.99", "currency": "EUR"}

    assert expected_price(shop(body={"amount": INTEGER, "currency": CODE}), unread, quoted) is None
    assert charged({}, {**unread, "basket": {"total": "9.99"}}) is None
    assert charged({}, {**unread, "total": "9.99"}) == "9.99 EUR"


def test_what_was_quoted_is_one_of_several_things_of_a_call() -> None:
    """A report of two receipts costs neither of them."""
    item = _object({"amount": {"type": "number"}, "currency": CODE})
    report = shop(body={"items": {"type": "array", "items": item}})
    flight: JsonObject = {"amount": 144.66, "currency": "EUR"}
    hotel: JsonObject = {"amount": 276.48, "currency": "EUR"}
    quoted: JsonObject = {"total": {"amount": 276.48, "currency": "EUR"}}

    assert expected_price(report, {"items": [flight, hotel]}, quoted) is None
    assert str(expected_price(report, {"items": [hotel]}, quoted)) == "276.48 EUR"


_TEN: JsonObject = {"amount": "10.00", "currency": "EUR"}
_OFFER: JsonObject = {"offer_id": "o-1", "price": {"amount": "10.00", "currency": "EUR"}}


@pytest.mark.parametrize(
    "beside",
    [
        {"tip": 500},
        {"gratuity": "500.00", "currency": "EUR", "amount": "10.00"},
        {"propina": 500},
        {"items": [{"sku": "a", "quantity": 100}]},
        {"nights": 100},
        {"passengers": [{"name": "Ana"}, {"name": "Ben"}]},
        {"offer_ids": ["o-1", "o-2", "o-3"]},
        {"amount_gbp": 500},
        {"extras": [{"amount": 500, "currency": "EUR"}], "amount": 10, "currency": "EUR"},
        {"share": -1},
        {"nights": "100"},
        {"noches": "100 noches"},
        {"trinkgeld": "500,00"},
        {"propina": "\u20ac500"},
        {"pourboire": {"montant": "1 500", "devise": "EUR"}},
        {"tip": "\uff15\uff10\uff10"},
        {"tip": "5e2"},
        {"extras": '[{"amount": 500}]'},
        {"pieces": "2x"},
        {"pieces": "\u00d7 3"},
        {"guests": {"adults": 1, "children": 1}},
        {"price": _TEN, "deposit": _TEN},
    ],
)
def test_a_number_or_a_list_beside_a_price_leaves_the_price_unknown(beside: JsonObject) -> None:
    """Whatever it is called: it may add to the price, or multiply it."""
    tool = shop(body={name: {} for name in beside})

    assert expected_price(tool, beside, _OFFER) is None
    assert price_doubts(tool, beside, [_OFFER])


def test_a_price_is_certain_where_one_amount_stands_alone() -> None:
    """One offer with one amount, or a declared price, whatever else the offer counts."""
    tool = shop(body={"offer_id": CODE})
    counted: JsonObject = {**_OFFER, "seats_left": 4}
    declared: JsonObject = {**counted, PRICE: {"amount": "10.00", "currency": "EUR"}}
    call: JsonObject = {"offer_id": "o-1"}

    assert price_doubts(tool, call, [_OFFER]) == ()
    assert price_doubts(tool, call, [declared]) == ()
    assert price_doubts(tool, call, [counted]) == ("seats_left: 4",)
    for counts_nothing in ("12A", "2026-12-01T10:30:00Z", "10:30", "+49 30 123456", "Table 5", "1"):
        beside: JsonObject = {"offer_id": "o-1", "words": counts_nothing}
        assert price_doubts(shop(body={name: {} for name in beside}), beside, [_OFFER]) == ()
    dear: JsonObject = {**_OFFER, "price": {"amount": 500, "currency": "EUR"}}
    assert price_doubts(tool, call, [_OFFER, dear]) == ("10.00 EUR", "500.00 EUR")


def test_an_id_that_names_a_thing_counts_nothing() -> None:
    """A number of it does not multiply; the same number elsewhere does."""
    tool = shop(body={"offer_id": INTEGER, "nights": INTEGER})
    offer: JsonObject = {"id": 12, "price": _TEN}
    named = frozenset({("offer_id", "12")})

    assert price_doubts(tool, {"offer_id": 12}, [offer], named) == ()
    assert price_doubts(tool, {"offer_id": 12, "nights": 12}, [offer], named) == ("nights: 12",)
    assert price_doubts(tool, {"offer_id": 12}, [{**offer, "nights": 12}], named) == ("nights: 12",)


def test_the_pieces_of_a_declared_price_are_no_doubt() -> None:
    """The document says what that number does; of another it does not."""
    tool = shop(body={"offer_id": CODE, "quantity": INTEGER, "nights": INTEGER})
    price: JsonObject = {"amount": "10.00", "currency": "EUR", "per": "quantity"}
    offer: JsonObject = {"offer_id": "o-1", "price": "10.00", "currency": "EUR", PRICE: price}
    call: JsonObject = {"offer_id": "o-1", "quantity": 3}

    assert str(expected_price(tool, call, offer)) == "30.00 EUR"
    assert price_doubts(tool, call, [offer]) == ()
    assert price_doubts(tool, {**call, "nights": 3}, [offer]) == ("nights: 3",)


def test_a_card_counts_the_doubts_that_it_does_not_name() -> None:
    """Twelve have a place."""
    call: JsonObject = {f"n{number}": number for number in range(2, 22)}

    assert price_doubts(shop(body={name: {} for name in call}), call, [])[-1] == (
        "8 more numbers and lists"
    )


@pytest.mark.parametrize(
    "more",
    [
        {"billed": "400.00 EUR"},
        {"debitado": "EUR 400"},
        {"charged": {"amount": "4e2", "currency": "EUR"}},
        {"gebucht": {"betrag": 400, "currency": "EUR"}},
        {"receipts": [{"lines": [{"sum": "400,00", "currency": "EUR"}]}]},
        {"currency": "EUR", "receipt": {"captured": "400.00"}},
        {"currency": "EUR", "prelevement": {"preleve": 400.0}},
        {"r": "\u20ac400"},
        {"amount_charged": "400.00"},
        {"fees": [{"amount": 400}]},
        {"amount_due_cents": 40000},
    ],
)
def test_an_amount_of_an_answer_is_named_however_it_is_written(more: JsonObject) -> None:
    """Next to a total that is as approved, and below any name."""
    named = named_amounts(fake_tool("pay"), {}, {"total": _TEN, **more})

    assert [str(money) for money in named] == ["400.00 EUR"]


@pytest.mark.parametrize(
    ("taken", "charged"),
    [
        (400, None),
        ({"value": 400, "currency_code": "EUR"}, None),
        (1000, None),
        ("10.00", "10.00 EUR"),
        ("as many of its smallest unit: the document does not say", None),
    ],
)
def test_what_was_taken_in_unclear_units_leaves_no_charge(
    taken: JsonValue, charged: str | None
) -> None:
    """400 EUR or 4.00, whatever else the answer states."""
    body: JsonObject = {"total": "10.00", "currency": "EUR", "charged": taken}
    price = charged_price(fake_tool("pay"), {}, body)

    assert (None if price is None else str(price)) == charged


def test_an_answer_that_repeats_an_amount_repeats_its_units() -> None:
    """Where the document says them of the request alone."""
    units: JsonObject = {"default": "iso", "ISK": 2}
    amount = {**_object({"value": INTEGER, "currency": CODE}), "x-orchet-minor-units": units}
    tool = shop(body={"amount": amount})
    call: JsonObject = {"amount": {"value": 279000, "currency": "ISK"}}

    assert str(charged_price(tool, call, {"id": "p", **call})) == "2,790 ISK"
    assert [str(one) for one in named_amounts(tool, call, call)] == ["2,790 ISK"]


def test_arguments_are_read_back_by_the_same_contract() -> None:
    """2500 is sent, and 25.00 EUR is what a person reads."""
    tool = shop(body={"amount": {**INTEGER, "description": SMALLEST}, "currency": CODE})
    arguments: dict[str, JsonValue] = {"amount": 2500, "currency": "eur"}

    assert str(expected_price(tool, arguments, None)) == "25.00 EUR"
    assert plain_arguments(tool, arguments) == {"amount": "25.00", "currency": "EUR"}


@given(
    code=st.sampled_from(sorted(budget.EXPONENTS)),
    minor=st.integers(min_value=0, max_value=10**12),
)
def test_minor_units_are_there_and_back_the_same(code: str, minor: int) -> None:
    """For each currency that there is: what is sent as cents is read as euros, and is as many."""
    exponent = budget.EXPONENTS[code]
    body: JsonValue = {"amount": minor, "currency": code}

    found = charged_price(_MINOR, {}, body)

    assert found is not None
    assert budget.in_minor_units(found.amount, exponent) == minor
    plain: JsonValue = {"amount": str(found.amount), "currency": code}
    if exponent and "." in str(found.amount):
        assert charged_price(_PLAIN, {}, plain) == found


_MINOR = shop(answer=PAYMENT_INTENT)
_PLAIN = shop()
_NAMES = ["price", "total", "amount", "amount_cents", "currency", "value", "fare", "quantity"]
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.integers(-3, 10**6)
    | st.floats(allow_nan=False)
    | st.sampled_from(["EUR", "eur", "JPY", "PTS", "10.00", "7"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=5)
    ),
    max_leaves=12,
)


@given(body=_JSON, schema=st.sampled_from([PAYMENT_INTENT, ADYEN, UNTOLD, TEXTS, {}]))
def test_no_amount_is_read_that_is_not_written(body: JsonValue, schema: Any) -> None:
    """An amount and its currency stand in the answer, the amount perhaps in the smallest unit."""
    found = charged_price(_BY_SCHEMA[repr(schema)], {}, body)

    if found is not None:
        exponent = budget.EXPONENTS[found.currency]
        written = {found.amount, found.amount.scaleb(exponent)}
        assert written & _numbers(body)
        assert found.currency in str(body).upper()


_BY_SCHEMA = {
    repr(schema): shop(answer=schema) for schema in (PAYMENT_INTENT, ADYEN, UNTOLD, TEXTS, {})
}


def _numbers(value: JsonValue) -> set[Decimal]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return {number for member in value for number in _numbers(member)}
    try:
        return {Decimal(str(value))}
    except ArithmeticError:
        return set()


def test_money_is_shown_with_the_decimals_of_its_currency() -> None:
    """Yen have no decimals, dinars three; finer amounts are not rounded."""
    shown = [("1000", "JPY"), ("1.5", "KWD"), ("25", "EUR"), ("0.125", "EUR"), ("1e3", "EUR")]

    assert [str(Money(amount=Decimal(a), currency=c)) for a, c in shown] == [
        "1,000 JPY",
        "1.500 KWD",
        "25.00 EUR",
        "0.125 EUR",
        "1,000.00 EUR",
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"total": 100.5, "amount_charged": 130.5, "currency": "EUR"}, "130.50 EUR"),
        ({"total": 100.5, "amount_charged": 30.5, "currency": "EUR"}, "100.50 EUR"),
        ({"total": 100.5, "amount_paid": 0.0, "currency": "EUR"}, "100.50 EUR"),
        ({"total": 100.5, "paid": True, "currency": "EUR"}, "100.50 EUR"),
        ({"total": 100.5, "payment_fee": 130.5, "currency": "EUR"}, "100.50 EUR"),
        (
            {"price": 9.5, "currency": "EUR", "payment": {"amount": 13.5, "currency": "EUR"}},
            "13.50 EUR",
        ),
        (
            {"price": 9.5, "currency": "EUR", "charged": {"amount": 9.5, "currency": "USD"}},
            "9.50 USD",
        ),
        (
            {"order": {"total": 9.5, "currency": "EUR", "charged_amount": 11.5}},
            "11.50 EUR",
        ),
        ({"total": 9.5, "currency": "EUR", "deposit_charged": 11.5}, "9.50 EUR"),
        ({"price": 9.5, "currency": "EUR", "charged": 13.5}, "13.50 EUR"),
        ({"price": 9.5, "currency": "EUR", "charged": 3.5}, "9.50 EUR"),
    ],
)
def test_more_that_was_taken_than_a_thing_costs_is_what_was_charged(
    body: JsonValue, expected: str
) -> None:
    """A part may be taken now and the rest later; an overcharge is not hidden by the price."""
    assert charged(None, body) == expected


def test_what_is_declared_is_held_against_nothing() -> None:
    """Whatever else the answer says."""
    price = {"type": "number", "x-orchet-price": True}
    schema = {"type": "object", "properties": {"price": price}}
    body: JsonValue = {"price": 9.5, "currency": "EUR", "amount_charged": 11.5}

    assert charged(schema, body) == "9.50 EUR"


@pytest.mark.parametrize("amount", [950, 9.5])
def test_a_code_in_both_cases_is_no_currency(amount: float) -> None:
    """`GBp` are pence, as exchanges write them, and no schema says so here."""
    assert charged(None, {"total": amount, "currency": "GBp"}) is None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"portion": 5.5, "quantity": 3}, "16.50 EUR"),
        ({"portion": 5.5}, "11.00 EUR"),
        ({"order": {"portion": 5.5, "quantity": 3}}, "16.50 EUR"),
        ({"portion": 5.5, "quantity": 2, "total": 30.5, "currency": "EUR"}, "30.50 EUR"),
        ({"portion": 5.5, "quantity": 2, "total": 10.5, "currency": "EUR"}, "10.50 EUR"),
        ({"portion": 5.5, "quantity": 1, "total": 5.5, "currency": "EUR"}, "5.50 EUR"),
        ({"portion": 5.5, "quantity": "some"}, None),
    ],
)
def test_the_price_of_one_piece_in_an_answer_is_not_what_was_charged(
    body: JsonValue, expected: str | None
) -> None:
    """One schema serves search and order: of two portions, not the price of one was charged."""
    declared = {"per": "quantity", "currency": "EUR"}
    portion = {"type": "number", "x-orchet-price": declared}
    meal = _object({"portion": portion, "quantity": INTEGER})
    schema = _object({**meal["properties"], "order": meal})
    found = charged_price(shop(answer=schema), {"quantity": 2}, body)

    assert (str(found) if found is not None else None) == expected


@pytest.mark.parametrize(
    ("described", "body", "answered"),
    [
        ("Price per hour.", {"price": 2.5}, None),
        ("Price per hour.", {"price": 2.5, "total": 7.5}, "7.50 EUR"),
        ("Price per booking.", {"price": 2.5}, "2.50 EUR"),
        ("What it costs.", {"price": 2.5}, "2.50 EUR"),
    ],
)
def test_a_price_that_is_described_as_one_per_hour_is_not_that_of_all(
    described: str, body: JsonObject, answered: str | None
) -> None:
    """Three hours cost more than one: an answer may say how much, a quote does not say for all."""
    price = {**NUMBER, "description": described}
    tool = shop(
        body={"zone_id": CODE, "hours": INTEGER},
        answer=_object({"price": price, "total": NUMBER, "currency": CODE}),
    )
    answer: Any = {**body, "currency": "EUR"}
    found = expected_price(tool, {"zone_id": "z1", "hours": 3}, _plain(tool, answer))
    charge = charged_price(tool, {"zone_id": "z1", "hours": 3}, answer)

    assert found is None
    assert (charge and str(charge)) == answered


def _plain(tool: Tool, answer: JsonValue) -> JsonObject:
    plain = plain_answer(tool, answer)
    assert isinstance(plain, dict)
    return plain


UNLIKE_ISO = "In minor units: see our list, which differs from ISO 4217 for CLP and ISK."
OWN_UNITS: JsonValue = {"default": "iso", "ISK": 2}


@pytest.mark.parametrize(
    ("value", "currency", "said"),
    [(279000, "ISK", "2790.00"), (5000, "JPY", "5000"), (1250, "EUR", "12.50")],
)
def test_minor_units_may_be_declared_by_currency(value: int, currency: str, said: str) -> None:
    """What the map does not name counts as ISO 4217 says; on a property or at the price."""
    amount = _object({"value": {**INTEGER, "x-orchet-minor-units": OWN_UNITS}, "currency": CODE})
    sent: JsonObject = {"amount": {"value": value, "currency": currency}}
    at: JsonObject = {"amount": "$request.body#/amount/value", "minor-units": OWN_UNITS}
    plain = _object({"value": INTEGER, "currency": CODE})

    for tool in (
        shop(body={"amount": amount}, price="$request.body#/amount/value"),
        shop(body={"amount": plain}, price=at),
    ):
        found = expected_price(tool, sent, None)
        assert found == Money(amount=Decimal(said), currency=currency)


def test_a_currency_outside_of_a_map_without_default_is_unknown() -> None:
    """Nothing says how it counts."""
    units = {**INTEGER, "x-orchet-minor-units": {"ISK": 2}}
    amount = _object({"value": units, "currency": CODE})
    tool = shop(body={"amount": amount}, price="$request.body#/amount/value")

    assert expected_price(tool, {"amount": {"value": 5, "currency": "EUR"}}, None) is None


@pytest.mark.parametrize("words", [UNLIKE_ISO, "In minor units (ISK: 2, JPY: 0)."])
@pytest.mark.parametrize("on_the_object", [True, False])
def test_a_list_unlike_iso_makes_the_price_unknown(words: str, on_the_object: bool) -> None:
    """Until the document says how each currency counts."""
    value = INTEGER if on_the_object else {**INTEGER, "description": words}
    amount = _object({"value": value, "currency": CODE})
    amount = {**amount, "description": words} if on_the_object else amount
    tool = shop(body={"amount": amount}, price="$request.body#/amount/value")

    assert expected_price(tool, {"amount": {"value": 2790, "currency": "ISK"}}, None) is None
    assert expected_price(tool, {"amount": {"value": 2790, "currency": "EUR"}}, None) is None


def test_a_list_like_iso_is_believed() -> None:
    """It says what the standard says."""
    words = {**INTEGER, "description": "In minor units (EUR: 2, JPY: 0)."}
    amount = _object({"value": words, "currency": CODE})
    tool = shop(body={"amount": amount}, price="$request.body#/amount/value")

    found = expected_price(tool, {"amount": {"value": 1250, "currency": "EUR"}}, None)

    assert found == Money(amount=Decimal("12.50"), currency="EUR")


@pytest.mark.parametrize(
    ("answer", "largest"),
    [
        (
            {
                "total": {"amount": "10.00", "currency": "EUR"},
                "captured": {"amount": "400.00", "currency": "EUR"},
            },
            "400.00 EUR",
        ),
        ({"currency": "EUR", "total": "10.00", "taken_in_full": "250.00", "nights": 3}, "250.00"),
        ({"currency": "EUR", "total": "10.00", "id": 40018, "room": "512"}, "10.00 EUR"),
        ({"total": "10.00", "place": {"lat": 38.72, "lng": 9.13}, "currency": "EUR"}, "10.00"),
        ({"status": "ok"}, ""),
    ],
    ids=["object", "text", "numbers that are no money", "another object", "nothing"],
)
def test_the_largest_amount_of_an_answer_is_named_whatever_its_name(
    answer: JsonObject, largest: str
) -> None:
    """Where the document does not declare the charge; no list of names is complete."""
    named = named_amounts(fake_tool("pay"), {}, answer)

    assert [str(money) for money in named] == ([f"{largest.split()[0]} EUR"] if largest else [])


@pytest.mark.parametrize("answered", [{}, {"description": "In euros, not cents."}])
def test_an_answer_that_repeats_an_input_counts_in_its_unit(answered: JsonObject) -> None:
    """The answer's own schema may state another unit; then the charge is a hundred times more."""
    number = {"type": "integer", "x-orchet-minor-units": {"default": "iso", "ISK": 2}}
    money = {"amount": number, "currency": {"type": "string"}}
    echo = _object({"amount": {"type": "integer", **answered}, "currency": {"type": "string"}})
    tool = shop(body=money, answer=echo)
    sent: JsonObject = {"amount": 279000, "currency": "ISK"}

    named = named_amounts(tool, sent, sent)

    assert [str(one) for one in named] == ["279,000 ISK" if answered else "2,790 ISK"]
