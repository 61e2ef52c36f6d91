"""An effect is checked against the orders of its leg, by structure alone."""

from typing import Any

import pytest

from orchestrator.core.record import JsonObject
from orchestrator.planning.effects import (
    essence_of,
    essential_arguments,
    is_covered,
    longest_list,
    why_unordered,
)
from orchestrator.saga.orders import Effect, Order, left_to_do
from tests.fakes import fake_tool

PAY = fake_tool(
    "pay_invoice",
    cancel_tool="refund",
    input_schema={
        "type": "object",
        "required": ["invoice_id", "payee"],
        "properties": {
            "invoice_id": {"type": "string"},
            "payee": {"type": "string"},
            "day": {"type": "string", "format": "date"},
            "note": {"type": "string"},
            "speed": {"type": "string", "default": "normal"},
            "amount": {"type": "number"},
        },
    },
)
ONE = Order(tools=("pay_invoice",), clause="pay it")
PAID: JsonObject = {"invoice_id": "i1", "payee": "Ana Ruiz", "amount": 90, "note": "as agreed"}


STANDS = Effect(call_id="m.l.1", leg_id="l", tool="pay_invoice")


def why(*orders: Order, effects: tuple[Effect, ...] = (), most_each: int = 9) -> str:
    return why_unordered(PAY, orders, effects, most_each=most_each)


@pytest.mark.parametrize(
    ("orders", "effects", "said"),
    [
        ([ONE], [], ""),
        ([], [], "orders no consequence"),
        ([Order(tools=("other",), clause="something else")], [], "it orders something else"),
        ([ONE], [STANDS], "more than the plan orders: 1, and 1 stand"),
        ([ONE, ONE], [STANDS], ""),
        # A call that was refused, or cancelled since, is no effect.
        ([ONE], [STANDS.model_copy(update={"why_not": "it is void"})], ""),
    ],
)
def test_why_no_order_covers_an_effect(
    orders: list[Order], effects: list[Effect], said: str
) -> None:
    """It is none of them, or they have their effects."""
    found = why(*orders, effects=tuple(effects))

    assert said in found
    assert bool(said) is bool(found)


@pytest.mark.parametrize(
    ("changes", "repeats"),
    [
        ({}, True),
        ({"note": "Many thanks for all of it"}, True),
        ({"speed": "normal"}, True),
        ({"invoice_id": "i2"}, False),
        ({"payee": "Ben Li"}, False),
        ({"amount": 91}, False),
        ({"day": "2026-12-05"}, False),
    ],
)
def test_free_texts_and_defaults_tell_no_two_effects_apart(
    changes: dict[str, Any], repeats: bool
) -> None:
    """Ids, names and values do, and so does the tool."""
    refund = PAY.model_copy(update={"name": "refund"})

    assert (essence_of(PAY, {**PAID, **changes}) == essence_of(PAY, PAID)) is repeats
    assert essence_of(refund, PAID) != essence_of(PAY, PAID)


@pytest.mark.parametrize(("why_not", "said"), [("", "stands"), ("it is intended", "was sent")])
def test_an_effect_that_is_repeated_is_named(why_not: str, said: str) -> None:
    """Though its own leg orders one, and has none of its own."""
    other = STANDS.model_copy(update={"why_not": why_not})
    found = why_unordered(PAY, [ONE], [], most_each=9, repeats=other)

    assert "repeats" in found
    assert said in found


def test_each_has_as_many_effects_as_things_were_read() -> None:
    """The list is what bounds them."""
    each = Order(tools=("pay_invoice",), each="every open one")

    assert why(each, effects=(STANDS,), most_each=2) == ""
    assert "each of the 1" in why(each, effects=(STANDS,), most_each=1)


def test_a_standing_approval_covers_what_is_left_of_covered_orders() -> None:
    """Another effect of theirs takes that room."""
    assert is_covered("pay_invoice", [ONE], [], most_each=1)
    assert not is_covered("pay_invoice", [ONE], [STANDS], most_each=1)
    assert not is_covered("pay_invoice", [], [], most_each=1)


def test_what_is_left_to_do_is_handed_over_with_its_count() -> None:
    """An order for each thing of a list stays whole."""
    three = ONE.model_copy(update={"count": 3})
    each = Order(tools=("other",), each="all")

    assert left_to_do([three, each], [STANDS]) == (ONE.model_copy(update={"count": 2}), each)
    assert left_to_do([ONE], [STANDS]) == ()


@pytest.mark.parametrize(
    ("body", "length"),
    [
        (None, 0),
        ({"a": 1}, 0),
        ([1, 2], 2),
        ({"items": [{"tags": [1, 2, 3]}], "errors": []}, 3),
    ],
)
def test_the_longest_list_counts(body: Any, length: int) -> None:
    """Wherever in an answer it is."""
    assert longest_list([body]) == length


def test_ids_and_names_are_essential_and_remarks_are_not() -> None:
    """A required name stays, however many words it has up to a sentence."""
    assert essential_arguments(PAY, {**PAID, "speed": "normal"}) == {
        "invoice_id": "i1",
        "payee": "Ana Ruiz",
        "amount": 90,
    }
