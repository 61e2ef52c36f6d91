"""Capability cards from tools."""

from collections.abc import Callable

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.record import JsonObject
from orchestrator.language.intent import Action
from orchestrator.routing.cards.capability_card import (
    make_card,
    own_views_of,
    probes_of,
    property_names,
)
from orchestrator.routing.router import Router


@pytest.mark.parametrize(
    ("tool", "action"),
    [
        ("flight_search_offers", Action.SEARCH),
        ("flight_book_offer", Action.CREATE),
        ("flight_cancel_booking", Action.CANCEL),
        ("expense_file_report", Action.CREATE),
        ("message_send", Action.SEND),
        ("payment_pay_invoice", Action.PAY),
        ("weather_get_forecast", Action.READ),
    ],
)
def test_the_action_comes_from_name_and_effect(tool: str, action: Action, shipped: Catalog) -> None:
    """The verb of the name decides, unless the contract says that the tool cancels."""
    assert make_card(shipped.tool(tool)).action is action


@pytest.mark.parametrize(
    ("name", "summary", "action"),
    [
        ("sendEmail", "", Action.SEND),
        ("CountryInfo", "Retrieves facts of a country.", Action.READ),
        ("GET_search-movie", "Find movies.", Action.SEARCH),
        ("xyz", "Nothing known.", Action.READ),
    ],
)
def test_other_naming_styles_are_read_too(
    name: str, summary: str, action: Action, make_tool: Callable[..., Tool]
) -> None:
    """Camel case, HTTP methods in names, verbs in summaries; a GET without a verb reads."""
    method = "POST" if name == "sendEmail" else "GET"

    assert make_card(make_tool(name, summary, method=method)).action is action


def test_a_plain_function_with_a_changing_verb_is_a_mutation() -> None:
    """A function declares no effect: its verb warns."""
    catalog = Catalog.from_functions([{"name": "delete_file", "parameters": None}])
    card = make_card(catalog.tool("delete_file"))

    assert card.effect is Effect.READ
    assert card.is_mutation
    assert card.tag_stems == ()


def test_filled_inputs_are_not_asked_for(shipped: Catalog) -> None:
    """What the vault or the orchestrator supplies is not required of the request."""
    assert make_card(shipped.tool("flight_book_offer")).required == ("offer_id",)


def test_of_alternatives_the_first_is_required(shipped: Catalog) -> None:
    """A cancel by id or by reference wants the id."""
    assert "booking_id" in make_card(shipped.tool("flight_cancel_booking")).required


def test_products_are_found_in_nested_answers() -> None:
    """Properties of objects in arrays, and behind definitions, are produced."""
    schema: JsonObject = {
        "$defs": {"Price": {"type": "object", "properties": {"amount": {"type": "number"}}}},
        "properties": {
            "offers": {"type": "array", "items": {"properties": {"offer_id": {}, "seats": {}}}},
            "other": {"anyOf": [{"properties": {"note": {}}}, True]},
        },
    }

    names = set(property_names(schema))

    assert names == {"offers", "offer_id", "seats", "other", "note", "amount"}


def test_recursive_schemas_end() -> None:
    """A schema that is very deep is read only so far."""
    schema: JsonObject = {"properties": {"leaf": {}}}
    for _ in range(50):
        schema = {"properties": {"child": schema}}

    assert set(property_names(schema)) == {"child"}


def test_effects_are_kept(make_tool: Callable[..., Tool]) -> None:
    """The card repeats the contract's effect."""
    card = make_card(make_tool("shop_order", effect=Effect.OBLIGATION))

    assert card.is_change
    assert card.effect is Effect.OBLIGATION


def test_a_probe_is_for_those_who_give_a_reference(shipped: Catalog, router: Router) -> None:
    """It looks up what an unclear call did; no person asks for it in other words."""
    probes = probes_of(shipped.tools.values())
    asked = ["find a car in Porto", "find my flight booking", "find the quarterly report"]

    assert "car_find_booking" in probes
    assert probes.isdisjoint(name for text in asked for name in router.rank(text))
    assert "flight_find_booking" in router.route("find the flight with my reference m1.2").tools


def test_views_of_what_was_booked_are_known_by_schema(
    shipped: Catalog, make_tool: Callable[..., Tool]
) -> None:
    """In whatever words: they answer with what a booking makes, a search with what it takes."""
    thing, lease = {"thing_id": {"type": "string"}}, {"lease_id": {"type": "string"}}
    tools = [
        make_tool("show_things", outputs=lease),
        make_tool("look_things", outputs=thing),
        make_tool("get_lease", inputs=lease, required=("lease_id",), outputs=lease),
        make_tool(
            "lease_thing",
            inputs=thing,
            required=("thing_id",),
            outputs=lease,
            effect=Effect.OBLIGATION,
        ),
    ]

    assert own_views_of(tools) == {"show_things", "get_lease"}
    assert own_views_of(tools[2:]) == frozenset()
    own = own_views_of(shipped.tools.values())
    assert {"flight_list_bookings", "hotel_list_bookings", "car_list_bookings"} <= own
    assert own.isdisjoint({"flight_search_offers", "calendar_list_events", "hotel_get_hotel"})
