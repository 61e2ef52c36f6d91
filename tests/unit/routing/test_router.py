"""From a request to the tools its planner sees, on the shipped documents."""

from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.record import JsonObject
from orchestrator.language.intent import Action
from orchestrator.routing.router import Router, fail_open
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
        (
            "Book a flight from Berlin to Lisbon on 2026-12-03, returning 2026-12-06",
            "flight_book_offer",
            "flight_search_offers",
        ),
        ("reserve a hotel in Lisbon for those nights", "hotel_book_room", "hotel_search_rooms"),
        ("file the expense", "expense_file_report", None),
        (
            "Reserve a table for four at an Italian restaurant in Lisbon on 2026-12-04 at 20:00",
            "dining_reserve_table",
            "dining_search_tables",
        ),
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
    ("text", "tool"),
    [
        ("what is the weather in Oslo tomorrow", "weather_get_forecast"),
        ("weather in London", "weather_get_forecast"),
        ("list files", "file_find_files"),
    ],
)
def test_crisp_requests_get_one_tool(text: str, tool: str, router: Router, now: datetime) -> None:
    """One intent, nothing at stake, no doubt."""
    selection = router.route(text, now=now)

    assert (selection.tools, selection.k, selection.band) == ((tool,), 1, "crisp")


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
    orders = [
        "book a flight",
        "show my bookings",
        "send an email to Bob",
        "pay the invoice",
        "share the file",
        "what reminders do I have",
        "schedule a message",
        "file an expense",
    ]

    assert cancels
    assert [t for t in orders if router.route(t, now=now).tools[0] in cancels] == []


def test_what_is_forbidden_is_not_routed(router: Router, now: datetime) -> None:
    """A "don't book yet" keeps the booking away from the first place and the frame read-only."""
    selection = router.route("don't book yet, just show me flights to Rome", now=now)

    assert not selection.frame.side_effect_allowed
    assert selection.frame.action is Action.SEARCH
    assert "flight_book_offer" not in selection.tools


def test_a_failed_call_widens_the_selection(router: Router, now: datetime) -> None:
    """The retry sees more tools than the first attempt."""
    text = "what is the weather in Oslo tomorrow"
    retry = router.route(text, RouteContext(last_error="404: no such city"), now=now)

    assert retry.band == "multi_step"
    assert retry.frame.previous_tool_error
    assert len(retry.tools) > len(router.route(text, now=now).tools)


def test_known_values_need_no_feeder(router: Router, now: datetime) -> None:
    """An offer that was found already is not searched again as a prerequisite."""
    text = "book a hotel in Lisbon"
    known = RouteContext(known=("room_offer_id", "hotel_id"))

    assert "hotel_search_rooms" in router.route(text, now=now).prerequisites
    assert "hotel_search_rooms" not in router.route(text, known, now=now).tools


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
    [
        "sing me a song about the moon",
        "asdf qwerty",
        "hello",
        "",
        "tell me a joke",
        "what is the meaning of life",
        "write a poem about autumn",
        "solve x^2 = 4",
        "who won the world cup in 1998",
        "translate this sentence into German",
        "Book me a massage",
        "Sell my car in Lisbon",
        "paint my house",
    ],
)
def test_nothing_fits_what_no_tool_does(text: str, router: Router) -> None:
    """A shared word is not enough: nothing here gives massages, sells or paints."""
    assert not router.route(text).fits


@pytest.mark.parametrize(
    "text",
    [
        GOAL,
        DINNER,
        "file the expense",
        "message my team about it",
        "list files",
        "what is the weather in Oslo tomorrow",
        "what meetings do I have tomorrow",
        "book a trip to Lisbon from the 3rd to the 6th, under 900 EUR",
        "order a pizza",
        "pay the electricity bill",
        "find me a place to stay in Rome",
        "is my flight on time",
        "Book me a room",
        "Is it hot",
    ],
)
def test_something_fits_what_a_tool_does(text: str, router: Router) -> None:
    """Also with dates and places that no tool knows, and with plain words."""
    assert router.route(text).fits


def test_the_best_score_can_be_asked_of_some_tools(router: Router) -> None:
    """Among tools that do not fit it is low."""
    text = "what is the weather in Oslo"

    assert router.best_score(text, among={"payment_pay_invoice"}) < router.best_score(text)


def test_headers_tell_how_many_of_how_many(router: Router, shipped: Catalog) -> None:
    """The trace headers of a crisp request."""
    assert router.route("list files").headers == {
        "x-orqen-tools-input": str(len(shipped)),
        "x-orqen-tools-output": "1",
        "x-orqen-prune-ratio": f"1/{len(shipped)}",
        "x-orqen-routing": "semantic",
    }


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
    assert len(set(selection.tools)) == len(selection.tools) <= 4 + 4
    assert set(selection.prerequisites) <= set(selection.tools)


def test_everyday_synonyms_find_the_tool(router: Router) -> None:
    """No tool says windy or cab; the forecast and the cars are meant."""
    assert router.route("how windy is it in Porto").tools[0].startswith("weather_")
    assert router.route("get me a cab").tools[0].startswith("car_")


@pytest.mark.parametrize("text", ["asdf", "", "xyzzy plugh", "play some jazz"])
def test_what_fits_nothing_is_told_beside_the_widest_window(router: Router, text: str) -> None:
    """Never no tool at all; the header says it as well."""
    told = router.route(text)

    assert (told.fits, told.band, told.k) == (False, "nothing_fits", 4)
    assert len(told.tools) >= 4
    assert told.headers["x-orqen-routing"] == "nothing_fits"


def test_a_router_that_failed_says_nothing_of_what_fits(shipped: Catalog) -> None:
    """All tools are forwarded, and nothing was read."""
    selection = fail_open(shipped, "ValueError in the router")

    assert (selection.fits, selection.fitness) == (True, None)
    assert selection.headers["x-orqen-routing"] == "fail_open"


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


def test_a_deprecated_tool_ranks_behind_an_equal_one() -> None:
    """The words of both are the same; alone it is chosen all the same."""
    paths: JsonObject = {
        path: {
            "post": {
                "operationId": name,
                "summary": "Order a pickup of a parcel.",
                "description": "Use this when a parcel is to be picked up. Returns the pickup.",
                "x-orchet-tool": True,
                "responses": {"201": {"description": "The pickup."}},
                **more,
            }
        }
        for path, name, more in (
            ("/v1/pickups", "courier_order_pickup", {"deprecated": True}),
            ("/v2/pickups", "courier_order_pickup_v2", {}),
        )
    }
    document: JsonObject = {
        "openapi": "3.1.0",
        "info": {"title": "Courier", "version": "1"},
        "servers": [{"url": "https://courier.example"}],
    }

    both = Catalog.from_documents({"courier": {**document, "paths": paths}})
    old = Catalog.from_documents(
        {"courier": {**document, "paths": {"/v1/pickups": paths["/v1/pickups"]}}}
    )

    assert Router(both).route("Order a pickup").tools[0] == "courier_order_pickup_v2"
    assert Router(old).route("Order a pickup").tools[0] == "courier_order_pickup"
