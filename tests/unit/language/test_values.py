"""Typed values in a text."""

import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from orchestrator.language.goal_clauses import split_goal
from orchestrator.language.triggers import find_triggers
from orchestrator.language.values import find_values

UUID = "550e8400-e29b-41d4-a716-446655440000"
NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)  # a Monday


FIFTH: list[tuple[str, JsonValue]] = [("date", "2026-12-05"), ("time", "20:00")]


def _read(text: str, language: str = "en") -> list[tuple[str, JsonValue]]:
    return [(v.kind, v.value) for v in find_values(text, now=NOW, language=language)]


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("2026-12-06", "2026-12-06"),
        ("on the 6th of December 2027", "2027-12-06"),
        ("December 6th, 2026", "2026-12-06"),
        ("on Sunday, 6 December", "2026-12-06"),
        ("2 March", "2027-03-02"),
        ("since 1 November", "2026-11-01"),
        ("tomorrow", "2026-11-24"),
        ("the day after tomorrow", "2026-11-25"),
        ("on Friday", "2026-11-27"),
        ("in two weeks", "2026-12-07"),
        ("on the 6th", "2026-12-06"),
        ("06.12.2026", "2026-12-06"),
    ],
)
def test_a_day_is_read_relative_to_today(words: str, day: str) -> None:
    """Each way to say a day gives it as ISO 8601, in a request as alone."""
    assert _read(words) == [("date", day)]
    assert ("date", day) in _read(f"Book a table in Lisbon {words} for two people")


@pytest.mark.parametrize(
    ("words", "readings"),
    [
        ("05/06/2026", ("2026-06-05", "2026-05-06")),
        ("Monday 6 December", ("2026-12-06",)),
        ("next week", ()),
        ("in December", ()),
        ("31 February", ()),
        ("2026-02-31", ()),
    ],
)
def test_what_is_no_single_day_has_no_value(words: str, readings: tuple[str, ...]) -> None:
    """A period, a day that does not exist or two readings are found, without a value."""
    (value,) = find_values(words, now=NOW)

    assert (value.kind, value.value, value.readings) == ("date", None, readings)


@pytest.mark.parametrize(
    ("words", "clock"),
    [
        ("20:00", "20:00"),
        ("8:30pm", "20:30"),
        ("12 am", "00:00"),
        ("noon", "12:00"),
        ("at 8 in the evening", "20:00"),
        ("at 18", "18:00"),
    ],
)
def test_a_time_of_day_is_read(words: str, clock: str) -> None:
    """Times are read as 24 hours."""
    assert _read(words)[0] == ("time", clock)


@pytest.mark.parametrize(
    ("words", "kind", "ends"),
    [
        ("from 6 to 8 December", "date", ["2026-12-06", "2026-12-08"]),
        ("December 6-8", "date", ["2026-12-06", "2026-12-08"]),
        ("5pm-6pm", "time", ["17:00", "18:00"]),
        ("20:00-22:00", "time", ["20:00", "22:00"]),
    ],
)
def test_a_range_has_both_ends(words: str, kind: str, ends: list[str]) -> None:
    """Days share their month; each end of a range of hours has its half of the day."""
    assert _read(words) == [(kind, end) for end in ends]


def test_nothing_is_guessed_where_an_hour_may_be_before_or_after_noon() -> None:
    """Alone it has two readings; one end of a range is left over, and so asked about."""
    (value,) = find_values("at 8", now=NOW)

    assert (value.value, value.readings) == (None, ("08:00", "20:00"))
    for words in ("9-11 am", "between 2 and 4 pm", "11 to 1 pm"):
        assert len([kind for kind, _ in _read(words) if kind == "time"]) < 2


@pytest.mark.parametrize("text", ["25:00", "at 25:00", "12:60", "24:30"])
def test_an_impossible_time_is_no_time(text: str) -> None:
    """What no clock shows is never read as a time."""
    assert not [kind for kind, _ in _read(text) if kind == "time"]


@pytest.mark.parametrize(
    ("words", "amount", "currency"),
    [
        ("90 EUR", "90.00", "EUR"),
        ("$90", "90.00", "USD"),
        ("EUR 1,200.50", "1200.50", "EUR"),
        ("a hundred and fifty dollars", "150.00", "USD"),
        ("$1.5k", "1500.00", "USD"),
        ("500 yen", "500", "JPY"),
        ("1.5 million euros", "1500000.00", "EUR"),
        ("1 200 EUR", "1200.00", "EUR"),
    ],
)
def test_an_amount_has_its_currency_and_its_decimals(
    words: str, amount: str, currency: str
) -> None:
    """Money is a decimal text with the decimals of its currency."""
    assert _read(f"Pay {words} to Bo") == [
        ("amount", {"amount": amount, "currency": currency}),
        ("name", "Bo"),
    ]


@pytest.mark.parametrize(
    ("words", "value"), [("90 minutes", {"minutes": 90}), ("1.5 hours", {"minutes": 90})]
)
def test_a_duration_is_in_minutes_or_days(words: str, value: JsonValue) -> None:
    """Stretches of time below a day are minutes, longer ones days."""
    assert _read(f"Book it for {words}") == [("duration", value)]


@pytest.mark.parametrize(
    ("text", "value", "unit", "hint"),
    [
        ("a table for 4", 4, "", "for"),
        ("order 4 pizzas", 4, "pizzas", "order"),
        ("seats for a hundred and fifty people", 150, "people", "for"),
        ("with 20% discount", 20, "%", "with"),
        ("quantity 12", 12, "", "quantity"),
        ("a bag of 5kg", 5, "kg", "of"),
    ],
)
def test_a_number_says_what_it_counts(text: str, value: int, unit: str, hint: str) -> None:
    """Numbers and number words carry the word before them and the noun behind them."""
    (found,) = find_values(text, now=NOW)

    assert (found.kind, found.value, found.unit, found.hint) == ("number", value, unit, hint)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Cancel order 4711", "4711"),
        ("archive contact 12, please", "12"),
        ("ticket #4711", "4711"),
        ("is LH2034 on time", "LH2034"),
        ("get cus_9xY", "cus_9xY"),
        ("read report.pdf", "report.pdf"),
        ("book UA 123", "UA 123"),
        ("install 2.0.1", "2.0.1"),
        ("post to #general", "#general"),
        ("call +351 912 345 678", "+351 912 345 678"),
        (f"get {UUID} now", UUID),
    ],
)
def test_an_id_is_told_from_a_number(text: str, value: str) -> None:
    """A number that names a thing, and what no word and no number is, are ids."""
    assert _read(text) == [("id", value)]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("Create a customer called Ana Ruiz with a discount", "name", "Ana Ruiz"),
        ("a meeting named weekly sync on my calendar", "name", "weekly sync"),
        ("Ana Ruiz needs a room", "name", "Ana Ruiz"),
        ("a taxi to Hauptstrasse 5, please", "name", "Hauptstrasse 5"),
        ("weather in london", "name", "london"),
        ("delete it from index movies", "name", "movies"),
        ("Reset Bob's password", "name", "Bob"),
        ("open https://example.com/a/b.", "url", "https://example.com/a/b"),
        ('post "hello, 4 of you"', "quoted", "hello, 4 of you"),
        ("post “hello”", "quoted", "hello"),
        ("post 'don't wait'", "quoted", "don't wait"),
        ("tell everybody saying I am late", "quoted", "I am late"),
    ],
)
def test_names_and_texts_keep_their_words(text: str, kind: str, value: str) -> None:
    """Names, addresses and quoted texts are kept as they are written."""
    assert _read(text) == [(kind, value)]


def test_a_name_ends_before_another_value() -> None:
    """What something is called does not take in the day after it."""
    assert _read("an event called stand-up tomorrow at 9:00") == [
        ("name", "stand-up"),
        ("date", "2026-11-24"),
        ("time", "09:00"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        *("List my open invoices", "May I see the orders", "What is new?"),
        "remind me to water the plants",
    ],
)
def test_plain_words_are_no_values(text: str) -> None:
    """The first word of a sentence and function words are no names."""
    assert _read(text) == []


@pytest.mark.parametrize(
    ("language", "text", "values"),
    [
        (
            "es",
            "mesa para 4 el 5 de diciembre de 2026 a las 20:00 por 1.200,50 €",
            [("number", 4), *FIFTH, ("amount", {"amount": "1200.50", "currency": "EUR"})],
        ),
        (
            "de",
            "am 5. Dezember um 20 Uhr für 90 Euro",
            [*FIFTH, ("amount", {"amount": "90.00", "currency": "EUR"})],
        ),
        ("de", "morgen", [("date", "2026-11-24")]),
        ("fr", "le 5 décembre 2026", [("date", "2026-12-05")]),
        ("ja", "2026年12月5日の20時", FIFTH),
    ],
)
def test_other_languages_write_days_and_amounts_their_way(
    language: str, text: str, values: list[tuple[str, JsonValue]]
) -> None:
    """Days, times and amounts are read by the words and the decimals of the goal's language."""
    assert _read(text, language) == values


@settings(max_examples=150, deadline=None)
@given(
    text=st.lists(
        st.sampled_from(
            ["6 December", "8 pm", "90 EUR", "order 4711", '"', "Ana", "a@b.co", "two", "2-3", ".",
             ",", "from", "called", "x_1", "next Friday", "in 3 days", "1h30", "\u0130", "25:00"]
        ),
        max_size=25,
    ).map(" ".join)
    | st.text(max_size=80)
)  # fmt: skip
def test_values_are_parts_of_their_text_and_do_not_overlap(text: str) -> None:
    """Spans are in order, disjoint and those of the words."""
    values = find_values(text, now=NOW)

    assert all(text[v.start : v.end] == v.text for v in values)
    assert all(one.end <= other.start for one, other in pairwise(values))


@given(days=st.integers(min_value=-60, max_value=300))
@settings(max_examples=40, deadline=None)
def test_a_day_without_a_year_is_the_next_one_or_has_just_passed(days: int) -> None:
    """A day of the last weeks is no day of the next year."""
    day = NOW.date() + timedelta(days=days)

    assert _read(f"on {day.day} {day:%B}") == [("date", day.isoformat())]


@pytest.mark.parametrize(
    "part", ["called ", "“", "1 to ", "a.b-", "A of ", "6 December ", "half an ", "and "]
)
def test_long_texts_take_little_time(part: str) -> None:
    """Reading is bounded: ten thousand characters of anything take seconds at most."""
    begin = time.perf_counter()
    text = part * (10_000 // len(part))
    find_values(text, now=NOW)
    find_triggers(text)
    split_goal(text)

    assert time.perf_counter() - begin < 4


@pytest.mark.parametrize(
    ("text", "day"),
    [("12月3日に", "2026-12-03"), ("2027年1月5日", "2027-01-05"), ("1月5日", "2027-01-05")],
)
def test_a_day_in_east_asian_script_is_read_without_a_year(text: str, day: str) -> None:
    """The next such day, as in other languages."""
    now = datetime(2026, 11, 29, tzinfo=UTC)

    assert [v.value for v in find_values(text, now=now, language="ja")] == [day]
