"""From a request to its intent frame, and the parts of a clause that are requests of their own."""

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.language.intent import Action
from orchestrator.routing.router import Router


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("Book a flight to Lisbon", "flights"),
        ("reserve a hotel in Lisbon", "hotels"),
        ("what is the weather in Oslo tomorrow", "weather"),
        ("file the expense", "expenses"),
        ("xyzzy plugh", None),
    ],
)
def test_the_domain_comes_from_the_words_of_the_catalog(
    text: str, domain: str | None, router: Router
) -> None:
    """No domain is known to the code; unknown words belong to none."""
    assert router.route(text).frame.domain == domain


def test_side_effects_are_allowed_only_when_ordered(router: Router) -> None:
    """An imperative allows it; a question, a look and a forbidden order do not."""
    assert router.route("Book a flight to Rome").frame.side_effect_allowed
    assert router.route("show flights and book a hotel").frame.side_effect_allowed
    assert not router.route("don't book yet, just show me flights").frame.side_effect_allowed
    assert not router.route("how can I cancel a booking?").frame.side_effect_allowed


def test_the_action_is_that_of_the_first_clause_that_asks(router: Router) -> None:
    """What must not be done is not what is asked."""
    frame = router.route("don't book yet, just show me flights").frame

    assert (frame.action, frame.verb) == (Action.SEARCH, "show")
    assert frame.clauses == ("don't book yet", "show me flights")


_FUNCTIONS = {
    "get_weather": "Current weather and forecast for a city.",
    "list_files": "List the files in a folder.",
    "search_flights": "Find flights between two cities.",
    "search_hotels": "Find hotel rooms in a city.",
    "read_menu": "Read the menu of a restaurant.",
    "add_to_shopping_list": "Put groceries on the shopping list.",
    "play_cartoon": "Play an episode of a cartoon on the television.",
    "send_email": "Send an email to somebody.",
    "create_event": "Put an event into the calendar.",
    "translate_text": "Translate a text into another language.",
    "convert_currency": "Convert an amount of money between currencies.",
    "get_stock_price": "The price of a share at the stock exchange.",
    "turn_on_lights": "Switch the lights of a room on or off.",
    "set_thermostat": "Set the temperature of a room's heating.",
}


@pytest.fixture(scope="module")
def plain() -> Router:
    """Over plain functions."""
    tools = [
        {"name": name, "description": text, "parameters": {"type": "object", "properties": {}}}
        for name, text in _FUNCTIONS.items()
    ]
    return Router(Catalog.from_functions(tools))


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("weather in London and list files", ("weather in London", "list files")),
        ("list files and weather in London", ("list files", "weather in London")),
        ("list files as well as the weather in Rome", ("list files", "the weather in Rome")),
        ("hotel rooms in Oslo, overdue invoices", ("hotel rooms in Oslo", "overdue invoices")),
        ("weather in Rome. hotel rooms in Oslo", ("weather in Rome", "hotel rooms in Oslo")),
    ],
)
def test_a_clause_needs_no_verb(router: Router, text: str, clauses: tuple[str, ...]) -> None:
    """What speaks for a tool of its own is a request of its own."""
    assert router.route(text).frame.clauses == clauses


@pytest.mark.parametrize(
    "text",
    [
        "play Tom and Jerry",
        "create an event between 9 and 11",
        "flights from Rome and Milan",
        "weather in rome and milan",
        "send an email to Anna and Ben, please",
        "send an email to Anna about the weather and the hotel",
        "flights from Oslo to Rome on 2026-12-03, returning 2026-12-06",
        "put bread and butter on the shopping list",
        "How much did Papier & Co charge us",
        "how much did the plumber and the painter charge us",
    ],
)
def test_what_belongs_together_stays_together(plain: Router, router: Router, text: str) -> None:
    """Names, pairs, ranges and places are no requests; a question orders no charge."""
    read_by = [plain] if "bread" in text else [router] if "charge" in text else [plain, router]

    assert {one.route(text).frame.clauses for one in read_by} == {(text,)}
