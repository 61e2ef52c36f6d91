"""What a goal orders, read from its words and the catalog."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.models import AgentProfile, LegPlan, MissionPlan
from orchestrator.planning.orders import OrderReader, with_orders
from orchestrator.routing.router import Router
from orchestrator.settings import bundled_specs
from tests.benchmarks.everyday_requests import older

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    """The shipped documents."""
    return Catalog.load(bundled_specs())


@pytest.fixture(scope="module")
def reader(catalog: Catalog) -> OrderReader:
    """Reads goals over them."""
    return OrderReader(catalog, Router(catalog), now=NOW)


@pytest.mark.parametrize(
    ("goal", "ordered"),
    [
        ("Show me flights to Rome but do not book anything", []),
        ("What would it cost to book a flight to Rome?", []),
        ("Find a good time to book a hotel. Don't book yet", []),
        ("Could you tell me whether I should book a flight?", []),
        ("How do I cancel a booking?", []),
        ("have we paid Office Plants", []),
        ("Find a flight to Rome and book it", ["book it"]),
        ("Can you book a table at Roma?", ["Can you book a table at Roma?"]),
        (
            "Book a flight to Rome, message my team about it and show me the weather there",
            ["Book a flight to Rome", "message my team about it"],
        ),
    ],
)
def test_orders_are_told_from_questions(reader: OrderReader, goal: str, ordered: list[str]) -> None:
    """Reads, prices asked for, and what is forbidden order nothing."""
    assert [order.clause for order in reader.orders(goal, goal)] == ordered


def test_the_tools_of_an_order_are_of_its_kind(reader: OrderReader) -> None:
    """A hotel is not booked by a message, and what is to be cancelled is not by booking."""
    (hotel,) = reader.orders("Book a hotel in Rome", "")
    (cancel,) = reader.orders("Cancel my flight booking BK-1", "")

    assert hotel.tools == ("hotel_book_room",)
    assert "flight_cancel_booking" in cancel.tools
    assert "flight_book_offer" not in cancel.tools


def test_what_no_tool_does_is_ordered_all_the_same(catalog: Catalog) -> None:
    """So that no planner can say that it was done."""
    weather = Catalog.load(bundled_specs() / "weather.yaml")
    reader = OrderReader(weather, Router(weather), now=NOW)

    (order,) = reader.orders("Book a flight to Rome", "")
    assert order.tools == ()


def test_words_alone_decide_where_there_is_no_router(catalog: Catalog) -> None:
    """Whatever changes something may then serve."""
    reader = OrderReader(catalog, None, now=NOW)

    (order,) = reader.orders("Find a flight and book a room in Rome", "")
    assert order.clause == "book a room in Rome"
    assert "hotel_book_room" in order.tools


def test_a_second_one_of_a_kind_is_another(reader: OrderReader) -> None:
    """What says more of the first with another verb is not."""
    again = "Send Ann the message 'late', and send it to Bob as well"
    more = "Book a table at Roma, and reserve it for eight people"

    assert [order.points_back for order in reader.orders(again, again)] == [False, False]
    assert [order.points_back for order in reader.orders(more, more)] == [False, True]


def test_what_no_leg_takes_up_is_found(catalog: Catalog) -> None:
    """Remarks are not asked for, and other words for the same count as taking it up."""
    goal = (
        "I'm travelling with my wife. Show me the weather in Oslo, find flights to Rome and "
        "book a table in Rome"
    )
    legs = tuple(
        LegPlan(leg_id=f"{n}-leg", goal=text, agent=AgentProfile(name="a"))
        for n, text in enumerate(("search for plane tickets to Rome", "reserve a dinner table"))
    )
    plan = with_orders(MissionPlan(legs=legs), goal, catalog, Router(catalog), now=NOW)

    assert [text for text in plan.left_out if "weather" not in text] == []
    assert len(plan.left_out) == 1
    assert [order.tools for order in plan.orders] == [("dining_reserve_table",)]
    assert plan.legs[1].consequences == ("reserve a dinner table",)


@pytest.mark.parametrize(
    ("tool", "count"), [("payment_list_invoices", 0), ("payment_pay_invoice", 1)]
)
def test_a_tool_that_is_named_says_what_is_ordered(
    tool: str, count: int, reader: OrderReader
) -> None:
    """To "call" somebody sends something; to call a tool by its name does what the tool does."""
    text = f'call {tool}({{"status": "open"}})'

    assert len(reader.orders(text, text)) == count


def test_everyday_requests_are_told_apart(catalog: Catalog, reader: OrderReader) -> None:
    """Of 121 that only look, three are taken for orders; of 68 that order, 53 are found."""
    asked = [request for request in older() if request.tools]
    ordering = [
        r for r in asked if any(catalog.tool(t).is_side_effect for part in r.tools for t in part)
    ]
    looking = [r for r in asked if r not in ordering]

    found = [r for r in ordering if reader.orders(r.request, r.context.goal)]
    false = [r for r in looking if reader.orders(r.request, r.context.goal)]
    unlike = [
        r
        for r in found
        if not {t for part in r.tools for t in part}
        & {t for o in reader.orders(r.request, r.context.goal) for t in o.tools}
    ]

    assert len(false) <= 3
    assert len(found) >= 53
    assert len(unlike) <= 3


@pytest.mark.parametrize(
    ("goal", "count"),
    [
        ("Reserve two tables in Rome on 2026-12-04", 2),
        ("Book me 3 rooms in Lisbon", 3),
        ("Reserve a table for two in Rome", 1),
        ("Book a room in Lisbon for 3 nights", 1),
        ("Order two pizzas in Berlin", 1),
        ("Book a flight to Rome for 2 passengers", 1),
        ("Book a hotel in Lisbon from 2026-12-03, and one in Porto from 2026-12-06", 2),
        ("Book two rooms in Lisbon and one in Porto", 3),
        ("Book a room in Lisbon, Porto and Faro", 3),
        ("Book a room in Lisbon, Portugal", 1),
        ("Book a table for Ann and Bob in Rome", 1),
        ("Reserve a table for two, one of them a child", 1),
        ("Send 'we are live' to #general and #random", 2),
        ("Email Ann and Bob that I am late", 2),
        ("Add an event with Ann and Bob in Lisbon", 1),
    ],
)
def test_an_order_of_several_takes_several_effects(
    reader: OrderReader, goal: str, count: int
) -> None:
    """Where one call makes one; what takes a number by itself makes as many as it is told."""
    (order,) = reader.orders(goal, goal)

    assert order.count == count


@pytest.mark.parametrize(
    ("goal", "serve"),
    [
        ("Rename the file draft.txt to final.txt", [set()]),
        ("Move the file draft.txt to the archive", [{"file_move_file"}]),
        ("Put the file draft.txt into the archive", [{"file_move_file", "file_upload_file"}]),
        ("Refund payment P-1", [{"payment_refund_payment"}]),
        (
            "Upload a file notes.txt and share it with ann@example.com",
            [{"file_upload_file"}, {"file_share_file"}],
        ),
    ],
)
def test_what_serves_does_what_is_ordered(
    reader: OrderReader, goal: str, serve: list[set[str]]
) -> None:
    """To move is not to rename, to upload is not to share: of a vague verb, either may be meant."""
    orders = reader.orders(goal, goal)

    if "Put" not in goal:
        assert [set(order.tools) for order in orders] == serve
    assert all(tools <= set(o.tools) for o, tools in zip(orders, serve, strict=True))


def test_an_order_about_it_may_mean_anything(reader: OrderReader) -> None:
    """Where no word says what, the domain that the router takes for it excludes no other."""
    (undo,) = reader.orders("and now undo it", "")

    assert {"payment_cancel_payment", "hotel_cancel_booking", "file_undo_move"} <= {*undo.tools}


def test_what_nothing_changes_is_made_anew(reader: OrderReader) -> None:
    """A second event beside the first is no event that was moved."""
    goal = "Move my dentist event to 2026-12-05 at 10:00"
    (order,) = reader.orders(goal, goal)

    assert "calendar_create_event" not in order.tools
    assert ("calendar_create_event", "calendar_cancel_event") in order.renewed_by


def test_an_order_names_whom_it_is_for_and_what_it_ends(reader: OrderReader) -> None:
    """By addresses; what is told apart by what the goal knows nothing of is another's."""
    (shared,) = reader.orders(
        "Share the file plan.pdf with ann@example.com and bob@example.com", ""
    )
    goals = {
        "Book a flight to Rome and cancel my flight to Oslo": True,
        "Book a flight to Rome and cancel the flight to Rome": False,
        "Book a flight to Rome and then cancel it": False,
        "Book a table in Rome and cancel the reservation": False,
    }

    assert shared.names == ("ann@example.com", "bob@example.com")
    assert {goal: reader.orders(goal, goal)[1].of_another for goal in goals} == goals


def test_what_an_order_depends_on_is_read_with_who_can_tell(reader: OrderReader) -> None:
    """A forecast tells of rain; of what is ordered, whatever reads of it."""
    (rain,) = reader.conditions("Reserve a table in Lisbon on 2026-12-04 unless it rains")
    (free,) = reader.conditions("Book a table in Lisbon if it is still available")

    assert "weather_get_forecast" in rain.tools
    assert (rain.stems, rain.days, rain.is_unless) == (("rain",), ("2026-12-04",), True)
    assert not free.stems
    assert not any(name.startswith("dining_") for name in rain.tools)
    assert "dining_search_tables" in free.tools
    assert reader.conditions("Find a table unless it rains") == ()
