"""Traits of many cards at once."""

from collections.abc import Callable

import numpy as np
import pytest

from orchestrator.catalog.tool import Tool
from orchestrator.language.clause_reading import read_clause
from orchestrator.language.slots import find_slots
from orchestrator.routing.cards.capability_card import CapabilityCard, make_card
from orchestrator.routing.scoring.agreement import action_agreement
from orchestrator.routing.scoring.columns import CardColumns

FORECAST = {"city": {"type": "string"}, "date": {"type": "string", "format": "date"}}


def columns(*cards: CapabilityCard) -> CardColumns:
    """Columns of cards whose name words all weigh the same."""
    return CardColumns(cards, domains=sorted({c.domain for c in cards}), idf=lambda word: 1.0)


@pytest.fixture
def cards(make_tool: Callable[..., Tool]) -> tuple[CapabilityCard, ...]:
    """A tool that takes a city and a day, and one that takes nothing."""
    return (
        make_card(make_tool("weather_get_forecast", inputs=FORECAST, required=("city", "date"))),
        make_card(make_tool("list_files")),
    )


def test_use_is_the_share_of_values_that_some_input_takes(
    cards: tuple[CapabilityCard, ...],
) -> None:
    """Typed values count, names and quotations do not."""
    rows = np.array([0, 1])

    typed, untyped = (
        find_slots("in Oslo for 20 EUR", now=None),
        find_slots("tell Bob 'hi'", now=None),
    )

    used = columns(*cards).slot_use([typed, untyped], rows)

    assert used.tolist() == [[0.5, 0.0], [0.0, 0.0]]


def test_fit_is_read_for_the_rows_asked_for(cards: tuple[CapabilityCard, ...]) -> None:
    """In their order."""
    slots = find_slots("in Oslo", now=None)

    assert columns(*cards).fit((), slots, np.array([1, 0])).tolist() == [1.0, 0.5]
    assert columns(*cards).fit(("date",), slots, np.array([0])).tolist() == [1.0]


def test_a_verb_of_the_same_class_says_the_names_verb(cards: tuple[CapabilityCard, ...]) -> None:
    """Enumerating files is listing them; reading them is not."""
    rows = np.array([1])
    table = columns(*cards)

    readings = [read_clause(f"{verb} the files") for verb in ("enumerate", "extract")]

    assert table.name_share(readings, rows).tolist() == [[1.0], [0.5]]


def test_agreement_knows_the_tools_own_verb(cards: tuple[CapabilityCard, ...]) -> None:
    """Listing agrees with the tool that lists."""
    agreed = columns(*cards).agreement(
        action_agreement, [read_clause("list the files")], np.array([0, 1])
    )

    assert agreed[0, 1] == 1.0
    assert agreed[0, 0] < 1.0
