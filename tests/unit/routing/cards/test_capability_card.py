"""Capability cards: made from tools, kept in a cache, and the inputs that they need."""

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.record import JsonObject
from orchestrator.language.intent import Action
from orchestrator.routing.cards import capability_card
from orchestrator.routing.cards.capability_card import (
    CardCache,
    identifies,
    make_card,
    make_cards,
    noun_of,
    probes_of,
    property_names,
    share_filled,
    tool_digest,
    unmet,
)
from orchestrator.routing.clause_reading import read_slots
from orchestrator.routing.router import Router


@pytest.mark.parametrize(
    ("tool", "action"),
    [
        ("flight_search_offers", Action.SEARCH),
        ("flight_cancel_booking", Action.CANCEL),
        ("expense_file_report", Action.CREATE),
        ("message_send", Action.SEND),
        ("payment_pay_invoice", Action.PAY),
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
    """Nor what the vault supplies; of an id or a reference the id is required."""
    assert make_card(shipped.tool("flight_book_offer")).required == ("offer_id",)
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

    deep: JsonObject = {"properties": {"leaf": {}}}
    for _ in range(50):
        deep = {"properties": {"child": deep}}

    assert set(property_names(schema)) == {"offers", "offer_id", "seats", "other", "note", "amount"}
    assert set(property_names(deep)) == {"child"}, "a very deep schema is read only so far"


def test_a_probe_is_for_those_who_give_a_reference(shipped: Catalog, router: Router) -> None:
    """It looks up what an unclear call did; no person asks for it in other words."""
    probes = probes_of(shipped.tools.values())
    asked = ["find a car in Porto", "find my flight booking", "find the quarterly report"]

    assert "car_find_booking" in probes
    assert probes.isdisjoint(name for text in asked for name in router.rank(text))
    assert "flight_find_booking" in router.route("find the flight with my reference m1.2").tools


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the tools for which a card was made."""
    names: list[str] = []

    def counting(tool: Tool, **flags: bool) -> Any:
        names.append(tool.name)
        return make_card(tool, **flags)

    monkeypatch.setattr(capability_card, "make_card", counting)
    return names


def test_an_unchanged_catalog_makes_no_card(shipped: Catalog, made: list[str]) -> None:
    """Loaded again, it has other objects and the same digests."""
    cache, tools = CardCache(), tuple(shipped.tools.values())
    first = cache.of(tools)
    copies = tuple(Tool.model_validate(tool.as_json()) for tool in tools)

    assert cache.of(copies) == first == make_cards(tools)
    assert made == [tool.name for tool in tools]


def test_a_changed_tool_makes_its_card_only(shipped: Catalog, made: list[str]) -> None:
    """Whatever of it changed."""
    cache, tools = CardCache(), list(shipped.tools.values())
    cache.of(tools)
    made.clear()
    tools[3] = tools[3].model_copy(update={"examples": ("something else",)})

    assert cache.of(tools)[3].example_stems == (("someth",),)
    assert made == [tools[3].name]


def test_plain_functions_are_kept_too() -> None:
    """Their x-orqen-examples tell two apart; odd characters are no trouble."""
    one = {"name": "a", "description": "\ud800", "x-orqen-examples": ["first"]}
    first, second = (
        Catalog.from_functions([{**one, "x-orqen-examples": [text]}]).tool("a")
        for text in ("first", "second")
    )

    assert tool_digest(first) != tool_digest(second)
    assert CardCache().of([second])[0].example_stems == (("second",),)


FORECAST = {"city": {"type": "string"}, "date": {"type": "string", "format": "date"}}


def test_ids_and_coordinates_identify() -> None:
    """Nobody types them; plain inputs come from the request."""
    ids = ["offer_id", "movieId", "id", "client_reference", "latitude"]

    assert [n for n in [*ids, "city", "identity", "amount", ""] if identifies(n)] == ids
    assert noun_of("movie_id") == noun_of("moviesId") == "movi"
    assert noun_of("id") == ""


def test_values_fill_inputs_of_their_kind(make_tool: Callable[..., Tool]) -> None:
    """Each value fills one; the fit is the share that can be filled."""
    card = make_card(make_tool("forecast", inputs=FORECAST, required=("city", "date")))
    trip = {"start_date": {"format": "date"}, "end_date": {"format": "date"}}
    span = make_card(make_tool("span", inputs=trip, required=("start_date", "end_date")))
    kinds = [slot.kind for slot in read_slots("in Oslo on 2026-12-03", now=None)]

    assert unmet(card.needs, kinds=kinds) == ()
    assert unmet(span.needs, kinds=kinds) == ("end_date",)
    assert unmet(card.needs) == ("city", "date")
    free = make_card(make_tool("free", inputs=FORECAST))
    assert share_filled(card.needs, 2, known=(), kinds=["place"]) == 0.5
    assert share_filled(card.needs, 2, known=("date",), kinds=["place"]) == 1.0
    assert share_filled(free.needs, 0, known=(), kinds=[]) == 1.0


def test_what_is_known_defaulted_or_listed_is_never_missing(
    make_tool: Callable[..., Tool],
) -> None:
    """Nor is free text."""
    inputs = {
        "offer_id": {"type": "string"},
        "cabin": {"enum": ["economy"]},
        "seats": {"type": "integer", "default": 1},
        "note": {"type": "string"},
    }
    card = make_card(make_tool("book", inputs=inputs, required=tuple(inputs)))

    assert unmet(card.needs) == ("offer_id",)
    assert unmet(card.needs, known=("offer_id",)) == ()
