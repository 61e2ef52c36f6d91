"""From a request to the tools its planner sees, on the shipped documents."""

from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.catalog.catalog import Catalog
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext

GOAL = (
    "Book a flight from Berlin to Lisbon on 2026-12-03, returning 2026-12-06, reserve a hotel in "
    "Lisbon for those nights and file the expense"
)
DINNER = (
    "Reserve a table for four at an Italian restaurant in Lisbon on 2026-12-04 at 20:00 and "
    "message my team about it"
)


@pytest.mark.parametrize(
    ("text", "target", "feeder"),
    [
        ("Book a flight from Berlin to Lisbon", "flight_book_offer", "flight_search_offers"),
        ("reserve a hotel in Lisbon for those nights", "hotel_book_room", "hotel_search_rooms"),
        ("file the expense", "expense_file_report", None),
        ("Reserve a table for four", "dining_reserve_table", "dining_search_tables"),
        ("message my team about it", "message_send", "message_find_channels"),
        ("rent a car in Lisbon", "car_book_offer", "car_search_offers"),
        ("order a pizza", "dining_order_meal", "dining_search_meals"),
        ("cancel my hotel booking", "hotel_cancel_booking", "hotel_list_bookings"),
        ("restore the file I deleted", "file_restore_file", "file_list_deleted"),
        ("refund my last payment", "payment_refund_payment", "payment_list_payments"),
    ],
)
def test_an_order_finds_its_tool_and_what_feeds_it(
    text: str, target: str, feeder: str | None, router: Router, now: datetime
) -> None:
    """The target is the first tool forwarded; the search it needs is forwarded with it."""
    selection = router.route(text, now=now)

    assert selection.tools[0] == target
    assert selection.frame.side_effect_allowed
    assert feeder is None or feeder in selection.tools


@pytest.mark.parametrize(
    ("goal", "targets"),
    [
        (GOAL, {"flight_book_offer", "hotel_book_room", "expense_file_report"}),
        (DINNER, {"dining_reserve_table", "message_send"}),
    ],
)
def test_each_clause_of_a_goal_gets_its_tool(
    goal: str, targets: set[str], router: Router, now: datetime
) -> None:
    """Several requests: the best tool of each comes first, at most four, feeders besides."""
    selection = router.route(goal, now=now)

    assert set(selection.tools[: len(targets)]) == targets
    assert selection.band == "multi_step"
    assert selection.k <= 4
    assert len(selection.frame.clauses) == len(targets)


def test_undoing_is_first_only_when_asked_for(
    router: Router, shipped: Catalog, now: datetime
) -> None:
    """No order to book, pay, send or see leads with a tool that cancels."""
    cancels = {name for name, tool in shipped.tools.items() if tool.cancel_for}
    orders = ["book a flight", "show my bookings", "pay the invoice", "what reminders do I have"]

    assert cancels
    assert [t for t in orders if router.route(t, now=now).tools[0] in cancels] == []


def test_prerequisites_are_last_and_marked(router: Router, now: datetime) -> None:
    """The band's K does not count them."""
    selection = router.route("book the flight", now=now)
    count = len(selection.prerequisites)

    assert selection.prerequisites
    assert selection.tools[-count:] == selection.prerequisites
    assert len(selection.tools) - count == selection.k


def test_without_words_of_its_own_a_leg_is_routed_by_its_goal(router: Router) -> None:
    """A bare "do that" means what the mission says."""
    context = RouteContext(goal="what is the weather in Oslo")

    assert router.route("do that", context).tools[0] == "weather_get_forecast"
    alone = router.route("do that")
    assert alone.tools == alone.padding
    assert not alone.fits


@pytest.mark.parametrize(
    "text",
    ["sing me a song about the moon", "asdf qwerty", "hello", "", "solve x^2 = 4",
     "who won the world cup in 1998", "translate this sentence into German",
     "Book me a massage", "Sell my car in Lisbon", "paint my house"],
)  # fmt: skip
def test_nothing_fits_what_no_tool_does(text: str, router: Router) -> None:
    """A shared word is not enough; never no tool at all, and the header says it as well."""
    told = router.route(text)

    is_widened = text in ("Book me a massage", "paint my house")
    assert (told.fits, told.k) == (False, 4)
    assert told.band == ("side_effect" if is_widened else "nothing_fits")
    assert len(told.tools) >= 4
    assert told.headers["x-orqen-routing"] == "nothing_fits"


@pytest.mark.parametrize(
    "text",
    [GOAL, DINNER, "what meetings do I have tomorrow", "find me a place to stay in Rome",
     "book a trip to Lisbon from the 3rd to the 6th, under 900 EUR", "is my flight on time",
     "pay the electricity bill", "Book me a room", "Is it hot"],
)  # fmt: skip
def test_something_fits_what_a_tool_does(text: str, router: Router) -> None:
    """Also with dates and places that no tool knows, and with plain words."""
    assert router.route(text).fits


def test_explain_gives_a_table_per_clause(router: Router, now: datetime) -> None:
    """The selection is the one that route gives."""
    explanation = router.explain(DINNER, now=now)

    assert [text for text, _ in explanation.tables] == list(explanation.selection.frame.clauses)
    assert explanation.selection == router.route(DINNER, now=now)


def test_the_ranking_puts_feeders_behind_their_tools(router: Router) -> None:
    """At a fixed number of tools, a search follows the booking it feeds."""
    ranking = router.rank("reserve a hotel in Lisbon")

    assert ranking[:2] == ["hotel_book_room", "hotel_search_rooms"]
    assert len(ranking) == len(set(ranking))


def test_an_empty_catalog_selects_nothing() -> None:
    """No tools, no error."""
    selection = Router(Catalog.from_functions([])).route("book a flight")

    assert (selection.tools, selection.catalog_size) == ((), 0)
    assert selection.band != "fail_open"


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=150))
def test_any_text_is_routed_without_failing_open(router: Router, text: str) -> None:
    """Whatever people type, the router reads it; tools are named once and are the catalog's."""
    selection = router.route(text, now=datetime(2026, 11, 21))

    assert selection.band != "fail_open"
    assert 0 <= selection.frame.confidence <= 1
    assert len(set(selection.tools)) == len(selection.tools) <= 4 + 4
    assert set(selection.prerequisites) <= set(selection.tools)


def test_an_unknown_verb_with_something_of_ones_own_is_a_request(router: Router) -> None:
    """So that what nobody can do shows as a clause of its own."""
    frame = router.route("Book a flight to Rome tomorrow and paint my house").frame

    assert frame.clauses == ("Book a flight to Rome tomorrow", "paint my house")


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("show me the customer 17", "customer_get_customer"),
        ("what is the weather", "get_weather"),
        ("pay the bill", "pay_bill"),
    ],
)
def test_a_handful_of_tools_is_enough_to_be_sure(text: str, tool: str) -> None:
    """Alone or beside two others, a tool that is plainly meant is forwarded with confidence."""
    tools = [
        {"name": "customer_get_customer", "description": "Show one customer by its id."},
        {"name": "get_weather", "description": "The weather."},
        {"name": "pay_bill", "description": "Pay a bill."},
    ]
    for known in (tools, [t for t in tools if t["name"] == tool]):
        router = Router(Catalog.from_functions(known))
        selection = router.route(text)

        assert (selection.tools[0], router.route(text).fits) == (tool, True)
        assert selection.frame.confidence > 0.9
        assert not router.route("order a pizza").fits
