"""Reading what tools answered."""

from decimal import Decimal

from orchestrator.catalog.tool import Tool
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.planning.rules.answers import (
    MAX_ITEMS,
    answer_fields,
    answers_price,
    is_listing,
    read_items,
)
from orchestrator.saga.judged import is_empty

HOTELS: JsonObject = {
    "type": "object",
    "properties": {
        "hotels": {
            "type": "array",
            "items": {
                "properties": {"id": {"type": "string"}, "rooms": {"$ref": "#/$defs/Rooms"}},
            },
        }
    },
    "$defs": {"Rooms": {"type": "array", "items": {"properties": {"room_id": {"type": "string"}}}}},
}


def tool(output: JsonObject | None) -> Tool:
    return Tool(
        name="t", document="d", domain="d", input_schema={"type": "object"}, output_schema=output
    )


def test_members_of_a_list_are_items_with_what_was_asked() -> None:
    """A thing has its own fields, those of the answer around it, and those it was searched by."""
    body: JsonObject = {"city": "Lisbon", "offers": [{"offer_id": "a"}, {"offer_id": "b"}]}

    items = [i for i in read_items(body, asked={"guests": 2}) if i.label]

    assert [i.fields["offer_id"] for i in items] == ["a", "b"]
    assert items[0].fields == {"guests": 2, "city": "Lisbon", "offer_id": "a"}
    assert items[0].own == {"offer_id"}


def test_lists_inside_lists_give_their_members_the_outer_fields() -> None:
    """A room knows its hotel, so that both ids come from one thing."""
    body: JsonObject = {
        "hotels": [{"hotel_id": "h", "rooms": [{"room_id": "r1"}, {"room_id": "r2"}]}]
    }

    rooms = [i for i in read_items(body) if "room_id" in i.own]

    assert [(i.value("hotel_id"), i.value("room_id")) for i in rooms] == [("h", "r1"), ("h", "r2")]


def test_plain_id_of_a_list_member_is_also_named_after_the_list() -> None:
    """`id` in `hotels` answers for `hotel_id`."""
    (item,) = (i for i in read_items({"hotels": [{"id": "h9"}]}) if i.label)

    assert item.value("hotel_id") == "h9"


def test_answer_that_is_a_bare_list_is_read() -> None:
    """Not every API wraps its lists."""
    assert [i.fields["sku"] for i in read_items([{"sku": "x"}, {"sku": "y"}])] == ["x", "y"]


def test_empty_lists_hold_nothing() -> None:
    """An answer whose only list is empty is empty, whatever counters stand beside it."""
    body: JsonObject = {"total": 0, "offers": []}

    assert is_empty(body)
    assert read_items(body) == []
    assert not is_empty({"offer_id": "a"})


def test_long_lists_are_cut() -> None:
    """A huge answer costs a bounded effort."""
    assert len(read_items([{"n": n} for n in range(10 * MAX_ITEMS)])) == MAX_ITEMS


def test_a_thing_costs_what_it_says_itself() -> None:
    """Its currency may stand around it; a number around it counts the things, or is of another."""
    body: JsonObject = {"currency": "EUR", "total": 2, "offers": [{"fare": "181.40"}, {"id": "b"}]}

    prices = [item.price for item in read_items(body) if item.label]

    assert prices == [Money(amount=Decimal("181.40"), currency="EUR"), None]


def test_schema_tells_what_an_answer_will_hold() -> None:
    """Fields of list members count, at every depth, and a list's plain ids under its name."""
    found = answer_fields(tool(HOTELS))

    assert {"hotels", "hotel_id", "rooms", "room_id"} <= found
    assert is_listing(tool(HOTELS))
    assert answer_fields(tool(None)) == frozenset()


def test_schema_tells_whether_a_call_will_say_its_price() -> None:
    """Only a price of the call itself counts."""
    priced: JsonObject = {"properties": {"price": {"type": "object"}}}

    assert answers_price(tool(priced))
    assert not answers_price(tool({"properties": {"refund": {"type": "object"}}}))
