"""Which of several things is told where a request asks for one, or for some, by their order."""

from datetime import UTC, datetime

import pytest

from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.planning.rules.telling import tell
from orchestrator.planning.rules.utterance import read_utterance

NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)
STATE: JsonObject = {"type": "string", "enum": ["running", "moored"]}
DATE: JsonObject = {"type": "string", "format": "date"}
PRICE: JsonObject = {
    "type": "object",
    "properties": {"amount": {"type": "number"}, "currency": {"type": "string"}},
}
FERRY: JsonObject = {
    "ship": {},
    "day": DATE,
    "fare": PRICE,
    "cabins": {"type": "integer"},
    "berth_included": {"type": "boolean"},
    "state": STATE,
}
FERRIES = Tool(
    name="list_ferries",
    document="ferries",
    domain="ferries",
    summary="List ferries.",
    input_schema={"type": "object", "properties": {}},
    output_schema={
        "type": "object",
        "properties": {
            "ferries": {"type": "array", "items": {"type": "object", "properties": FERRY}}
        },
    },
)
BODY: JsonObject = {
    "ferries": [
        {
            "ship": ship,
            "day": day,
            "fare": {"amount": fare, "currency": "EUR"},
            "cabins": cabins,
            "berth_included": True,
            "state": state,
        }
        for ship, day, fare, cabins, state in (
            ("Alba", "2026-12-02", 40.0, 3, "running"),
            ("Brig", "2026-12-01", 25.0, 0, "moored"),
            ("Cora", "2026-12-05", 60.0, 7, "running"),
            ("Dune", "2026-12-09", 30.0, 2, "running"),
        )
    ]
}


def said(goal: str) -> str:
    return tell(FERRIES, {}, BODY, read_utterance(goal, now=NOW)).sentence


@pytest.mark.parametrize(
    ("goal", "starts"),
    [
        ("what is the second cheapest ferry?", "The second cheapest of 4 ferries: ship Dune"),
        ("the two cheapest ferries", "The two cheapest of 4 ferries: Brig"),
        ("the third most expensive ferry", "The third most expensive"),
        ("when is the last ferry?", "The last of 4 ferries: "),
        ("when does the first ferry leave?", "The first of 4 ferries: "),
        ("ferries in the next ten days", "4 ferries, 2 of them 'next ten days': Alba"),
        ("the cheapest ferry without berth", "4 ferries, all of them berth: "),
        (
            "which ferries have no cabins?",
            "4 ferries, 1 of them without cabins: cabins 0, ship Brig",
        ),
    ],
)
def test_what_is_asked_for_by_its_place_is_told(goal: str, starts: str) -> None:
    """And where nothing is as it should be, no best of the others is told in its stead."""
    assert said(goal).startswith(starts)


@pytest.mark.parametrize(
    ("goal", "starts"),
    [("is the Brig running?", "No. 4 ferries, 1 of them"), ("is the Cora running?", "Yes. ")],
)
def test_what_is_asked_of_one_thing_is_answered(goal: str, starts: str) -> None:
    """It is no word that things are left out by."""
    assert said(goal).startswith(starts)


MEALS = Tool(
    name="search_meals",
    document="meals",
    domain="meals",
    summary="Search food for delivery.",
    input_schema={"type": "object", "properties": {}},
)


@pytest.mark.parametrize(
    ("goal", "starts"),
    [
        ("the cheapest pizza", "3 meals, 2 of them 'pizza': "),
        ("cheapest curry", "3 meals, 1 of them 'curry': Green curry"),
        ("the cheapest ramen", "3 meals: Pizza Napoli, Pizza Roma"),
    ],
)
def test_what_is_the_most_is_of_the_kind_that_is_asked_for(goal: str, starts: str) -> None:
    """A cheaper thing of another kind is not told in its stead."""
    meals: JsonObject = {
        "meals": [
            {"name": name, "price": {"amount": price, "currency": "EUR"}}
            for name, price in (("Pizza Napoli", 12), ("Pizza Roma", 14), ("Green curry", 9))
        ]
    }

    told = tell(MEALS, {}, meals, read_utterance(goal, now=NOW)).sentence

    assert told.removeprefix("The cheapest of ").startswith(starts)
    assert ("None of them says 'ramen'" in told) is ("ramen" in goal)


def test_a_name_of_several_words_is_left_out_as_one() -> None:
    """One of its words alone is none of it."""
    bill: JsonObject = {"ferries": [{"ship": "Blue Star"}, {"ship": "Blue Moon"}]}

    told = tell(FERRIES, {}, bill, read_utterance("ferries without Blue Star", now=NOW)).sentence

    assert told.startswith("2 ferries, 1 of them not 'Blue Star': Blue Moon")


def test_a_kind_of_value_that_nothing_tells_is_said() -> None:
    """Whatever else is told of the things."""
    assert "Nothing here tells who." in said("who sails the Brig?")
    assert "Nothing here tells" not in said("how much is the Brig?")
