"""Follow-ups: what "it", "that one" and "the second one" are about, and which tools they get."""

from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.language.intent import Action
from orchestrator.routing.learning.trace import record_of
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext


@pytest.fixture(scope="module")
def shop() -> Router:
    """A catalog that is not ours, of plain functions."""

    def function(name: str, description: str, *needs: str) -> dict[str, Any]:
        inputs = {need: {"type": "string"} for need in needs}
        schema = {"type": "object", "properties": inputs, "required": list(needs)}
        return {"name": name, "description": description, "parameters": schema}

    tools = [
        function("search_products", "Search products of the shop.", "query"),
        function("get_product", "Show one product.", "product_id"),
        function("buy_product", "Buy a product.", "product_id"),
        function("list_orders", "List orders that were placed."),
        function("cancel_order", "Cancel an order.", "order_id"),
        function("return_order", "Send an order back.", "order_id"),
        function("list_tickets", "List support tickets."),
        function("close_ticket", "Close a support ticket.", "ticket_id"),
        function("assign_ticket", "Assign a support ticket to an agent.", "ticket_id", "agent"),
        function("delete_ticket", "Delete a support ticket.", "ticket_id"),
    ]
    domains = {"products": tools[:3], "orders": tools[3:6], "tickets": tools[6:]}
    return Router(
        Catalog.from_functions(
            [{**tool, "domain": domain} for domain, some in domains.items() for tool in some]
        )
    )


@pytest.mark.parametrize(
    ("text", "earlier", "tool"),
    [
        ("book it", "flight_search_offers", "flight_book_offer"),
        ("reserve the cheapest one", "dining_search_tables", "dining_reserve_table"),
        ("cancel that one", "car_list_bookings", "car_cancel_booking"),
        ("undo that", "file_move_file", "file_undo_move"),
        ("and in Rome?", "weather_get_forecast", "weather_get_forecast"),
        ("what about tomorrow?", "weather_get_forecast", "weather_get_forecast"),
        ("try again", "payment_pay_invoice", "payment_pay_invoice"),
    ],
)
def test_a_follow_up_is_about_what_was_called_before(
    text: str, earlier: str, tool: str, router: Router
) -> None:
    """Its tool is there, the frame says what pointed back, and the domain is the earlier tool's."""
    selection = router.route(text, RouteContext(earlier=(earlier,)))

    assert tool in selection.tools
    assert selection.frame.references
    assert selection.frame.domain == router._by_name[tool].domain
    assert selection.frame.objects
    record = record_of(selection)
    assert record.frame.references == len(selection.frame.references)
    assert not any(one in record.frame.model_dump_json() for one in ("that one", "with bob"))


@pytest.mark.parametrize(
    ("text", "earlier", "tool"),
    [
        ("buy it", "search_products", "buy_product"),
        ("cancel that one", "list_orders", "cancel_order"),
        ("assign that one to Lee", "list_tickets", "assign_ticket"),
        ("retry", "cancel_order", "cancel_order"),
        ("what about Nike?", "search_products", "search_products"),
    ],
)
def test_follow_ups_work_over_another_catalog(
    text: str, earlier: str, tool: str, shop: Router
) -> None:
    """Nothing about them is known of ours: the tool is forwarded."""
    assert tool in shop.route(text, RouteContext(earlier=(earlier,))).tools


def test_without_anything_before_it_points_at_nothing(router: Router) -> None:
    """Every booking tool is as good as the other; the frame still says that it points back."""
    selection = router.route("book it")

    assert selection.frame.references == ("it",)
    assert len({name.split("_")[0] for name in selection.tools}) > 1


def test_a_clause_points_at_the_one_before_it(router: Router) -> None:
    """In one request, or in the goal of a leg; the thing, not the verb."""
    selection = router.route("Find a hotel in Rome and book it")
    goal = RouteContext(goal="Look for cars in Porto. Rent the cheapest one.")

    assert (selection.frame.references, selection.frame.domain) == (("it",), "hotels")
    assert selection.tools[:2] == ("hotel_search_rooms", "hotel_book_room")
    assert router.route("Rent the cheapest one", goal).tools[0] == "car_book_offer"


@pytest.mark.parametrize("last", ["weather_get_forecast", "no_such_tool"])
def test_the_last_tool_that_can_be_acted_on_is_meant(router: Router, last: str) -> None:
    """Nobody books the weather, and a catalog may have changed since."""
    looked = RouteContext(earlier=(last, "flight_search_offers"))

    assert router.route("book the cheapest one", looked).tools[0] == "flight_book_offer"


def test_an_answer_that_only_chooses_goes_on_with_the_goal(router: Router) -> None:
    """So "the second one" of what was found is for what the goal orders."""
    chosen = RouteContext(goal="book a table in Rome", earlier=("dining_search_tables",))
    selection = router.route("the second one", chosen)

    assert "dining_reserve_table" in selection.tools
    assert selection.frame.side_effect_allowed


def test_a_clause_with_a_thing_of_its_own_inherits_none(router: Router) -> None:
    """A message to the team about it is no flight request."""
    about = RouteContext(earlier=("flight_book_offer",))
    selection = router.route("message my team about it", about)

    assert selection.tools[0] == "message_send"
    assert selection.frame.references == ("it",)
    assert not any(name.startswith("flight_") for name in selection.tools)


@pytest.mark.parametrize("matter", ["pay the invoice", "book a flight"])
def test_a_reminder_to_do_something_does_it_not(router: Router, matter: str) -> None:
    """It reminds."""
    selection = router.route(f"Remind me on 2026-12-01 at 09:00 to {matter}", RouteContext())

    assert selection.tools[0] in ("calendar_create_reminder", "calendar_list_reminders")
    assert not any(name.startswith(("payment_", "flight_")) for name in selection.tools)


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("don't pay the invoice, just show it to me", "payment_get_invoice", "payment_pay"),
        ("don't book yet, just show me flights to Rome", "flight_search_offers", "flight_book"),
        ("find a hotel in Lisbon but don't book it yet", "hotel_search_rooms", "hotel_book_room"),
        ("list my invoices, do not pay them", "payment_list_invoices", "payment_pay_invoice"),
        ("without sending anything, list my scheduled messages", "message_list_scheduled", "-"),
    ],
)
def test_what_is_forbidden_leads_nowhere(
    text: str, wanted: str, unwanted: str, router: Router
) -> None:
    """The thing is shown, nothing is done with it, and no side effect is allowed."""
    selection = router.route(text)

    assert selection.tools[0] == wanted
    assert not any(name.startswith(unwanted) for name in selection.tools)
    assert not selection.frame.side_effect_allowed


def test_a_failed_call_tried_again_sees_its_tool_and_others(router: Router) -> None:
    """The band of a failed retry, with what failed first."""
    failed = RouteContext(earlier=("flight_book_offer",), last_error="409: sold out")
    selection = router.route("try again", failed)

    assert selection.tools[0] == "flight_book_offer"
    assert selection.frame.previous_tool_error
    assert len(selection.tools) >= 3
    assert selection.frame.action is Action.CREATE
