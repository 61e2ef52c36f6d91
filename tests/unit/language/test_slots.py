"""The values in a request."""

from datetime import datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from orchestrator.language.slots import find_slots


def found(text: str, now: datetime | None = None) -> list[tuple[str, JsonValue, str]]:
    """Each slot as kind, value and hint."""
    return [(slot.kind, slot.value, slot.hint) for slot in find_slots(text, now=now)]


def test_a_trip_has_origin_place_and_dates(now: datetime) -> None:
    """The places of a trip are told apart by their prepositions, the dates by their hints."""
    text = "Book a flight from Berlin to Lisbon on 2026-12-03, returning 2026-12-06"

    assert found(text, now) == [
        ("origin", "Berlin", "from"),
        ("place", "Lisbon", "to"),
        ("date", "2026-12-03", "on"),
        ("date", "2026-12-06", "returning"),
    ]


def test_a_table_has_people_time_and_team(now: datetime) -> None:
    """Number words count, clock times are ISO, groups of people are names."""
    text = "Reserve a table for four in Lisbon tomorrow at 8pm and message my team"

    assert found(text, now) == [
        ("quantity", 4, "for"),
        ("place", "Lisbon", "in"),
        ("date", "2026-11-22", ""),
        ("time", "20:00", "at"),
        ("name", "team", "message"),
    ]


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("under 900 EUR", ("amount", {"amount": 900, "currency": "EUR"}, "under")),
        ("about $20", ("amount", {"amount": 20, "currency": "USD"}, "about")),
        ("\u20ac15.50", ("amount", {"amount": 15.5, "currency": "EUR"}, "")),
        ("1,200 USD", ("amount", {"amount": 1200, "currency": "USD"}, "")),
        (
            "of 1200 Swedish kronor",
            ("amount", {"amount": 1200, "currency": "SEK"}, "of"),
        ),
        ("five hundred swiss francs", ("amount", {"amount": 500, "currency": "CHF"}, "")),
        ("three Canadian dollars", ("amount", {"amount": 3, "currency": "CAD"}, "")),
        ("250 kroner", ("quantity", 250, "kroner")),
        ("20 euros", ("amount", {"amount": 20, "currency": "EUR"}, "")),
        ("3 nights", ("quantity", 3, "nights")),
        ("a 2-bedroom flat", ("quantity", 2, "bedroom")),
        ("by 7%", ("quantity", 7, "%")),
        ("at noon", ("time", "12:00", "at")),
        ("at 20:00", ("time", "20:00", "at")),
        ("12:30 am", ("time", "00:30", "")),
        ("to alice@example.com", ("email", "alice@example.com", "to")),
        ("booking BK-1234", ("identifier", "BK-1234", "booking")),
        ("order 12345", ("identifier", "12345", "order")),
        ("with id 'LC12345'", ("identifier", "LC12345", "id")),
        ("server 192.168.224.48", ("identifier", "192.168.224.48", "server")),
        ("file notes.txt", ("identifier", "notes.txt", "file")),
        ("say 'see you there'", ("quoted", "see you there", "say")),
        ("message Maria de la Cruz", ("name", "Maria de la Cruz", "message")),
        ("hotel in S\u00e3o Paulo", ("place", "S\u00e3o Paulo", "in")),
        ("flights from new york", ("origin", "new york", "from")),
        ("post it in #general", ("name", "#general", "in")),
    ],
)
def test_each_kind_is_read(text: str, slot: tuple[str, JsonValue, str]) -> None:
    """One value, its kind, and the word that introduced it or that it counts."""
    assert found(text) == [slot]


@pytest.mark.parametrize("text", ["", "Find me a hotel", "send it in total", "What is this"])
def test_plain_words_are_no_values(text: str) -> None:
    """Sentence starts and common phrases are not names or places."""
    assert found(text) == []


def test_relative_dates_need_a_now() -> None:
    """Without a now they are left out, and their words are nothing else either."""
    assert found("weather in Oslo on Friday") == [("place", "Oslo", "in")]


def test_to_a_person_is_no_place() -> None:
    """What is sent "to" somebody has a receiver, not a destination."""
    assert found("Send it to Alice") == [("name", "Alice", "to")]


@pytest.mark.parametrize(
    "text",
    ["a flight for Ana from Berlin to Rome", "a flight to Rome for Ana", "a room for Ana in Rome"],
)
def test_whom_it_is_for_is_no_place_where_another_word_says_where(text: str) -> None:
    """What stands alone may be a place: "the weather for Paris"."""
    assert ("name", "Ana") in {(slot.kind, slot.value) for slot in find_slots(text, now=None)}


@pytest.mark.parametrize(
    "text",
    ["a table at Luna in Rome", "a table in Rome at Luna", "a hotel near Luna in Rome tomorrow"],
)
def test_what_is_somewhere_in_a_place_has_that_for_its_place(text: str) -> None:
    """What it is called is matched with what is found, and is no city to search in."""
    found = {(slot.kind, slot.value) for slot in find_slots(text, now=None)}

    assert {("name", "Luna"), ("place", "Rome")} <= found


def test_for_introduces_a_place_where_nothing_else_does() -> None:
    """Also before the place of another request."""
    slots = find_slots("the weather for Paris and a hotel in Rome", now=None)

    assert [(slot.kind, slot.value) for slot in slots] == [("place", "Paris"), ("place", "Rome")]


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("Order a pizza to Hauptstrasse 5", ("place", "Hauptstrasse 5", "to")),
        ("order a pizza to hauptstrasse 5, please", ("place", "hauptstrasse 5", "to")),
        ("deliver it to 12 Rue Mouffetard at 8 pm", ("place", "12 Rue Mouffetard", "to")),
        ("a table at Roma 8 pm", ("place", "Roma", "at")),
    ],
)
def test_a_number_of_an_address_counts_nothing(text: str, slot: tuple[str, JsonValue, str]) -> None:
    """It is a part of what it stands beside; a number before what it counts is none."""
    assert slot in found(text)
    assert "quantity" not in {kind for kind, _, _ in found(text)}
    assert ("quantity", 3, "nights") in found("Book a room in Lisbon 3 nights")


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("a table for me and my wife", [2]),
        ("a room for my husband and me, tomorrow", [2]),
        ("flights for me and my two kids", [3]),
        ("a table for me and my friends", []),
        ("a table for me and my wife and my mother", []),
        ("a table for me, my wife and me", []),
        ("tell me and my wife", []),
        ("a present for me and my wife's mother", []),
    ],
)
def test_oneself_and_one_more_are_two_people(text: str, counts: list[int]) -> None:
    """Who has no name; of several more nobody knows how many, unless it is counted."""
    assert [slot.value for slot in find_slots(text, now=None) if slot.kind == "quantity"] == counts


def test_a_currency_is_no_place() -> None:
    """What money is changed "to" is none, and no name."""
    assert [kind for kind, *_ in found("convert 100 USD to EUR")] == ["amount"]


def test_text_and_position_quote_the_request() -> None:
    """A slot can be found again where it was read."""
    text = "Pay 35 EUR to Bob for 2 dinners on 2026-12-03"

    for slot in find_slots(text, now=None):
        assert text[slot.position : slot.position + len(slot.text)] == slot.text


@given(st.text(max_size=120))
def test_no_character_belongs_to_two_slots(text: str) -> None:
    """Whatever the text, slots are ordered and do not overlap."""
    slots = find_slots(text, now=datetime(2026, 11, 21))

    for a, b in pairwise(slots):
        assert a.position + len(a.text) <= b.position


def test_a_name_begins_with_no_article() -> None:
    """The verb before it is upper case only because the sentence begins there."""
    [slot, *_] = find_slots("Pay the Nordic Hosting invoice", now=None)
    assert (slot.value, slot.position) == ("Nordic Hosting", 8)


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("a table, party of 6", ("quantity", 6, "party")),
        ("a table for a group of five", ("quantity", 5, "group")),
        ("a room, arriving on 2026-12-01, leaving on 2026-12-03", ("date", "2026-12-03", "ending")),
        ("a flight leaving on 2026-12-03", ("date", "2026-12-03", "on")),
    ],
)
def test_what_stands_before_a_value_tells_what_it_is(
    text: str, slot: tuple[str, JsonValue, str], now: datetime
) -> None:
    """What a number counts, and the day that ends what began before."""
    assert slot in found(text, now)


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("under 200 eur", [{"amount": 200, "currency": "EUR"}]),
        ("12.50 usd for lunch", [{"amount": 12.5, "currency": "USD"}]),
        ("forty gbp", [{"amount": 40, "currency": "GBP"}]),
        ("2 cup of tea", []),
        ("a table for 2 all week", []),
    ],
)
def test_the_codes_of_well_known_currencies_may_be_small(text: str, amounts: list[object]) -> None:
    """Others are words when they are."""
    slots = find_slots(text, now=None)

    assert [slot.value for slot in slots if slot.kind == "amount"] == amounts


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a room for two nights, checking out on 2026-12-07", "ending"),
        ("a room, arriving on 2026-12-05 and leaving on 2026-12-07", "ending"),
        ("a flight to Rome leaving on 2026-12-07", "on"),
        ("a flight to Rome on 2026-12-05, back on 2026-12-07", "back"),
        ("an event ending at 16:00", "ending"),
    ],
)
def test_what_ends_then_is_told_by_the_word_before_the_preposition(text: str, hint: str) -> None:
    """Who leaves where they stayed ends that; who leaves on a flight begins it."""
    assert find_slots(text, now=None)[-1].hint == hint


@pytest.mark.parametrize(
    "text", ["pay invoice 12 tomorrow", "move desk 12 next Friday", "close ticket 12 today"]
)
def test_a_number_before_a_day_is_read(text: str, now: datetime) -> None:
    """It counts no days, and the noun before it says of what it is."""
    (slot,) = (s for s in find_slots(text, now=now) if s.value == 12)
    assert slot.hint in ("invoice", "desk", "ticket")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a permit for KLM 204 from Monday", "KLM 204"),
        ("order from IBM 200 chairs", None),
        ("pay EUR 200 to Ana", None),
        ("book a table FOR 20", None),
    ],
)
def test_letters_and_a_number_that_counts_nothing_are_a_code(text: str, code: str | None) -> None:
    """As on the plate of a car."""
    codes = [slot.value for slot in find_slots(text, now=None) if slot.kind == "identifier"]
    assert codes == ([code] if code else [])
