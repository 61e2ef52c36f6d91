"""Answers of reading tools, as a person tells them."""

from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
from pydantic import JsonValue

from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.planning.rules.telling import Telling, tell
from orchestrator.planning.rules.utterance import read_utterance

NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)
DATE: JsonObject = {"type": "string", "format": "date"}


def made(name: str, summary: str, answer: JsonObject | None = None, **inputs: JsonObject) -> Tool:
    schema: JsonObject = {"type": "object", "properties": dict(inputs)}
    output: JsonObject | None = None
    if answer is not None:
        output = {"type": "object", "properties": answer}
    domain = name.partition("_")[0]
    return Tool(
        name=name,
        document=domain,
        domain=domain,
        summary=summary,
        input_schema=schema,
        output_schema=output,
    )


def listed(name: str, member: JsonObject) -> JsonObject:
    return {name: {"type": "array", "items": {"type": "object", "properties": member}}}


def told(tool: Tool, arguments: JsonObject, body: JsonValue, goal: str) -> Telling:
    return tell(tool, arguments, body, read_utterance(goal, now=NOW))


SLOTS = made(
    "room_find_slots",
    "Find free time of a room.",
    listed("free_slots", {"date": DATE, "time": {}, "duration_minutes": {}}),
    date=DATE,
)
HALL = made(
    "boat_get_weather",
    "Show the sea forecast for a harbour.",
    {"condition": {"enum": ["calm", "rough"]}},
    harbour={"type": "string"},
    date=DATE,
)
BILLS = made(
    "bill_list_bills",
    "List bills to pay.",
    listed(
        "bills",
        {
            "bill_id": {},
            "payee_name": {},
            "amount": {},
            "due_date": DATE,
            "bill_status": {"enum": ["open", "paid", "overdue"]},
        },
    ),
    payee_name={"type": "string"},
    limit={"type": "integer"},
)
BERTH = made(
    "boat_get_berth",
    "Show one berth.",
    {"covered": {"type": "boolean"}, "berth_state": {"enum": ["free", "taken"]}},
    berth_id={"type": "string"},
)


def bill(number: int, payee: str, amount: str, due: str, status: str) -> JsonObject:
    return {
        "bill_id": f"b-{number}",
        "payee_name": payee,
        "amount": amount,
        "currency": "EUR",
        "due_date": due,
        "bill_status": status,
    }


THREE: list[JsonValue] = [
    bill(1, "Acme", "120.00", "2026-12-01", "open"),
    bill(2, "Acme", "80.00", "2026-12-20", "open"),
    bill(3, "Zenith", "30.00", "2026-11-02", "paid"),
]


def test_times_with_their_duration_are_stretches() -> None:
    """What holds of all stands once, and a day is told in words."""
    times: list[JsonValue] = [
        {"date": "2026-12-02", "time": t, "duration_minutes": 60} for t in ("09:00", "10:30")
    ]

    answer = told(SLOTS, {"date": "2026-12-02"}, {"free_slots": times}, "When is the room free?")

    assert answer.sentence == "2 free slots on 2 December: 09:00-10:00, 10:30-11:30."
    assert answer.table is not None
    assert answer.table.columns == ("time",)
    assert answer.table.rows == (("09:00-10:00",), ("10:30-11:30",))


def test_one_thing_is_told_with_units_ranges_and_its_own_sentences() -> None:
    """A least and a most are one range, and numbers have the unit of their names."""
    body: JsonObject = {
        "harbour": "Bergen",
        "date": "2026-11-24",
        "condition": "rough",
        "temperature_min_c": 4.0,
        "temperature_max_c": 9.5,
        "wind_kmh": 40,
        "advice": "Stay ashore until noon.",
        "seen_at": None,
    }

    answer = told(HALL, {"harbour": "Bergen"}, body, "What is the sea like in Bergen?")

    assert answer.sentence == (
        "Sea forecast on 24 November (harbour Bergen): rough, 4 to 9.5°C, wind 40 km/h. "
        "Stay ashore until noon."
    )
    assert answer.table is None


@pytest.mark.parametrize(
    ("goal", "starts"),
    [
        ("Show my bills", "3 bills: Acme, 120.00 EUR, 1 December;"),
        ("When is my next bill due?", "The next of 3 bills: due date 1 December, Acme, 120.00 EUR"),
        ("What is my cheapest bill?", "The cheapest of 3 bills: Zenith, 30.00 EUR"),
        ("Which bills are open?", "3 bills, 2 of them open: Acme, 120.00 EUR, 1 December; Acme"),
        ("Which bills are overdue?", "3 bills, none of them overdue: Acme"),
        ("What do I owe to Zenith?", "3 bills, 1 of them 'Zenith', 2 of them not paid: Zenith"),
        (
            "What do I owe to Nobody Ltd?",
            "3 bills, none of them 'Nobody Ltd', 2 of them not paid: Acme",
        ),
        ("Which bills aren't from Acme?", "3 bills, 1 of them not 'Acme': Zenith, 30.00 EUR"),
        ("Which bills are not from Nobody Ltd?", "3 bills: Acme"),
        ("Do I have bills?", "Yes, 3 bills: "),
        ("Do I have vegetarian bills?", "3 bills: "),
        ("Show the bills of next week", "3 bills, 1 of them 'next week': Acme, 120.00 EUR"),
    ],
)
def test_several_things_are_told_by_what_was_asked(goal: str, starts: str) -> None:
    """The one that is meant, those of a name or a status, and a yes only where it is sure."""
    answer = told(BILLS, {}, {"bills": THREE}, goal)

    assert answer.sentence.startswith(starts)
    assert answer.table is not None
    assert answer.table.columns == ("payee name", "amount", "due date", "bill status")
    assert len(answer.table.rows) == 3


@pytest.mark.parametrize(
    ("arguments", "goal", "sentence"),
    [
        ({}, "Show my bills", "No bills were found."),
        ({}, "Do I have bills?", "No: no bills were found."),
        ({}, "Do I have vegetarian bills?", "No bills were found."),
        ({"payee_name": "Acme"}, "Show bills of Acme", "No bills (Acme) were found."),
    ],
)
def test_nothing_found_says_what_was_looked_for(
    arguments: JsonObject, goal: str, sentence: str
) -> None:
    """A no is said only where all that was asked about was looked for."""
    assert told(BILLS, arguments, {"bills": []}, goal) == Telling(sentence)


@pytest.mark.parametrize(
    ("goal", "body", "starts"),
    [
        ("Is berth 7 covered?", {"covered": True, "berth_state": "free"}, "Yes. Berth"),
        ("Is berth 7 covered?", {"covered": False, "berth_state": "free"}, "No. Berth"),
        ("Is berth 7 free?", {"covered": True, "berth_state": "free"}, "Yes. Berth"),
        ("Is berth 7 free?", {"covered": True, "berth_state": "taken"}, "No. Berth"),
        ("Is berth 7 heated?", {"covered": True, "berth_state": "free"}, "Berth"),
        ("Isn't berth 7 covered?", {"covered": True, "berth_state": "free"}, "Berth"),
        ("Is the covered walkway open?", {"covered": True, "berth_state": "free"}, "Berth"),
    ],
)
def test_yes_and_no_are_said_where_one_field_alone_was_asked_about(
    goal: str, body: JsonObject, starts: str
) -> None:
    """What else stands in the answer follows; without such a field there is neither."""
    assert told(BERTH, {"berth_id": "7"}, body, goal).sentence.startswith(starts)


DEPARTURES: list[JsonValue] = [
    {"train": "RE 9", "to": "Olten", "departs_at": "2026-11-23T10:02:00Z", "cancelled": True},
    {"train": "ICE 5", "to": "Berlin", "departs_at": "2026-11-23T10:04:00Z", "cancelled": False},
    {"train": "ICE 7", "to": "Berlin", "departs_at": "2026-11-23T11:04:00Z", "cancelled": False},
]


@pytest.mark.parametrize(
    ("name", "summary", "body", "goal", "sentence"),
    [
        (
            "train_list_departures",
            "List departures of a station.",
            {"departures": DEPARTURES},
            "When does the next train leave?",
            "The next of 3 departures: departs at 23 November 10:04 UTC, ICE 5, to Berlin, "
            "not cancelled.",
        ),
        (
            "people_search",
            "Search people.",
            {"total": 37, "results": [{"full_name": "Kim"}, {"full_name": "Kay"}]},
            "Find Kim and Kay",
            "2 of 37 people, 1 of them 'Kim', 1 of them 'Kay': Kim, Kay.",
        ),
        (
            "account_get_balance",
            "Show the balance of an account.",
            {"data": {"balance": 1204.5, "currency": "CHF", "owner": {"name": "Ada Byron"}}},
            "What is my balance?",
            "Balance: balance 1,204.50 CHF, Ada Byron.",
        ),
        (
            "store_get_stock",
            "Show how many pieces are in stock.",
            {"in_stock": True, "quantity": 12},
            "Is it in stock?",
            "Yes. Stock: in stock: yes, quantity 12.",
        ),
        ("sum", "Add two numbers.", 3, "What is the sum?", "Two numbers: 3."),
        ("tag_list", "List tags.", ["red", "blue"], "Which tags?", "Tags: red, blue."),
        ("tag_list", "List tags.", {"tags": []}, "Which tags?", "No tags were found."),
    ],
)
def test_answers_of_other_shapes_are_told(
    name: str, summary: str, body: JsonValue, goal: str, sentence: str
) -> None:
    """Wrapped, plain, without a schema; what is cancelled is not the next."""
    assert told(made(name, summary), {}, body, goal).sentence == sentence


TRIPS: list[JsonValue] = [
    {"title": "Fair", "start_date": "2026-11-23", "end_date": "2026-11-26"},
    {"title": "Dentist", "start_date": "2026-11-24", "end_date": "2026-11-24"},
    {"title": "Choir", "start_date": "2026-11-28", "end_date": "2026-11-28"},
]


@pytest.mark.parametrize(
    ("goal", "sentence"),
    [
        (
            "Show my events tomorrow",
            "3 events, 2 of them on 24 November: Fair, 23 to 26 November; Dentist, 24 November.",
        ),
        (
            "Do I have events on 5 December?",
            "3 events, none of them on 5 December: Fair, 23 to 26 November; Dentist, 24 November; "
            "Choir, 28 November.",
        ),
    ],
)
def test_a_day_that_went_into_no_argument_is_held_against_what_was_found(
    goal: str, sentence: str
) -> None:
    """What lasts for several days is on each of them."""
    tool = made("calendar_list_events", "List events.")

    assert told(tool, {}, {"events": TRIPS}, goal).sentence == sentence


def test_a_day_of_which_the_answer_says_nothing_is_named() -> None:
    """Nobody takes the state of now for that of Friday."""
    tool = made("boat_get_current", "Show the sea right now.")

    friday = told(tool, {}, {"sea_text": "calm"}, "What is the sea like on Friday?")
    today = told(tool, {}, {"sea_text": "calm"}, "What is the sea like today?")

    assert friday.sentence == "Sea right now: calm. This says nothing of 27 November."
    assert today.sentence == "Sea right now: calm."


def test_a_full_page_may_not_be_all() -> None:
    """A limit that was reached is told."""
    answer = told(BILLS, {"limit": 3}, {"bills": THREE}, "Show my last 3 bills")

    assert answer.sentence.startswith("3 bills, and there may be more: ")


def test_a_table_is_bounded() -> None:
    """At most five columns, ten rows and sixty characters in a cell, on one line."""

    def part(number: int) -> JsonObject:
        fields: JsonObject = {f"part_{letter}": f"{letter}{number}" for letter in "abcdefgh"}
        return {**fields, "name": f"{number}\n" + "x" * 99}

    many: list[JsonValue] = [part(number) for number in range(14)]
    tool = made("part_list_parts", "List parts.")

    table = told(tool, {}, {"parts": many}, "Show the parts").table

    assert table is not None
    assert (len(table.columns), len(table.rows), table.more) == (5, 10, 4)
    assert table.columns[0] == "name"
    assert all(len(cell) <= 60 and "\n" not in cell for row in table.rows for cell in row)


def test_handles_stay_handles() -> None:
    """A personal value that a provider was given comes back as its handle."""
    tool = made("crew_get_member", "Show one member of the crew.")

    answer = told(tool, {}, {"member_name": "pii:member_name", "berth": "A 7"}, "Who is it?")

    assert "pii:member_name" in answer.sentence


NAMES = [
    "id",
    "name",
    "title",
    "date",
    "start_date",
    "end_date",
    "time",
    "duration_minutes",
    "price",
    "amount",
    "currency",
    "total",
    "count",
    "temperature_min_c",
    "temperature_max_c",
    "origin",
    "destination",
    "status",
    "cancelled",
    "rating",
    "items",
    "created_at",
    "results",
    "data",
    "x-orchet-price",
    "next_cursor",
    "has_more",
    "size_bytes",
    "nights",
]
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1e308, 1e-320, 10**30, float("inf"), float("nan"), "", " ", "EUR"),
    *("09:00", "25:61", "23:59:59.999", "2026-12-01", "0001-01-01", "9999-12-31", "2026-13-01"),
    *("2026-12-01T10:00:00Z", "0001-01-01T00:00:00+14:00", "12.5", "1e400", "pii:x", "a\nb"),
    *("x" * 500, {"amount": "12", "currency": "EUR"}, {"amount": None, "currency": 3}),
]
GOALS = ("Show it", "When is my next one?", "The cheapest tomorrow?", "Is it cancelled?", "Who?")


def anything(random: Random, depth: int = 0) -> JsonValue:
    kind = random.random() if depth < 4 else 1
    if kind < 0.2:
        return {name: anything(random, depth + 1) for name in random.sample(NAMES, 6)}
    if kind < 0.5:
        names = random.sample(NAMES, 5)
        return [
            {n: anything(random, depth + 2) for n in names} for _ in range(random.randint(0, 12))
        ]
    value: JsonValue = random.choice(VALUES)
    return value


@pytest.mark.parametrize("seed", range(8))
def test_no_answer_breaks_its_telling(seed: int) -> None:
    """Numbers, days and objects as no document should have them; there is always a sentence."""
    random = Random(seed)
    for _ in range(100):
        body: JsonValue = {name: anything(random, 1) for name in random.sample(NAMES, 6)}
        arguments: JsonObject = {random.choice(NAMES): random.choice(VALUES)}

        answer = told(made("x_list_y", "List y."), arguments, body, random.choice(GOALS))

        assert answer.sentence.strip()


@pytest.mark.parametrize("body", [None, [], {}, "text", 3, {"a": {"b": {"c": [[1]]}}}, [[{}]], [1]])
def test_any_answer_can_be_told(body: JsonValue) -> None:
    """Whatever its shape, there is one sentence."""
    assert told(made("a_get_b", "Show b."), {}, body, "Show b").sentence.endswith(".")
