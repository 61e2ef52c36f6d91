"""How well values fill required inputs."""

from collections.abc import Callable

import pytest

from orchestrator.catalog.tool import Tool
from orchestrator.routing.cards.capability_card import make_card
from orchestrator.routing.cards.input_needs import identifies, noun_of, share_filled, unmet
from orchestrator.routing.clause_reading import find_slots

FORECAST = {"city": {"type": "string"}, "date": {"type": "string", "format": "date"}}


@pytest.mark.parametrize("name", ["offer_id", "movieId", "id", "client_reference", "latitude"])
def test_ids_and_coordinates_identify(name: str) -> None:
    """Nobody types them."""
    assert identifies(name)


@pytest.mark.parametrize("name", ["city", "identity", "amount", ""])
def test_plain_inputs_do_not_identify(name: str) -> None:
    """They come from the request."""
    assert not identifies(name)


def test_an_id_names_what_it_identifies() -> None:
    """movie_id is of a movie; a bare id of nothing in particular."""
    assert noun_of("movie_id") == noun_of("moviesId") == "movi"
    assert noun_of("id") == ""


def test_values_fill_inputs_of_their_kind(make_tool: Callable[..., Tool]) -> None:
    """A city and a day fill a forecast's inputs; each value fills one."""
    card = make_card(make_tool("forecast", inputs=FORECAST, required=("city", "date")))
    trip = {"start_date": {"format": "date"}, "end_date": {"format": "date"}}
    span = make_card(make_tool("span", inputs=trip, required=("start_date", "end_date")))
    kinds = [slot.kind for slot in find_slots("in Oslo on 2026-12-03", now=None)]

    assert unmet(card.needs, kinds=kinds) == ()
    assert unmet(span.needs, kinds=kinds) == ("end_date",)
    assert unmet(card.needs) == ("city", "date")


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


def test_fit_is_the_share_that_can_be_filled(make_tool: Callable[..., Tool]) -> None:
    """One of two is a half; nothing required is all."""
    card = make_card(make_tool("forecast", inputs=FORECAST, required=("city", "date")))
    free = make_card(make_tool("free", inputs=FORECAST))

    assert share_filled(card.needs, 2, known=(), kinds=["place"]) == 0.5
    assert share_filled(card.needs, 2, known=("date",), kinds=["place"]) == 1.0
    assert share_filled(free.needs, 0, known=(), kinds=[]) == 1.0
