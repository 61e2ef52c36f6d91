"""Where one request ends and the next begins."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.language.clauses import clause_spans, split_clauses, without_lead


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        (
            "Book a flight from Berlin to Lisbon on 2026-12-03, returning 2026-12-06, reserve a "
            "hotel in Lisbon for those nights and file the expense",
            [
                "Book a flight from Berlin to Lisbon on 2026-12-03, returning 2026-12-06",
                "reserve a hotel in Lisbon for those nights",
                "file the expense",
            ],
        ),
        (
            "Reserve a table for four at an Italian restaurant on 2026-12-04 at 20:00 "
            "and message my team about it",
            [
                "Reserve a table for four at an Italian restaurant on 2026-12-04 at 20:00",
                "message my team about it",
            ],
        ),
        (
            "I'm travelling soon. Find me a hotel. Also, what is the weather in Oslo?",
            ["I'm travelling soon. Find me a hotel", "Also, what is the weather in Oslo?"],
        ),
        ("don't book yet, just show me flights", ["don't book yet", "show me flights"]),
        ("don't book yet, just show flights", ["don't book yet", "show flights"]),
        ("rent a car then list files", ["rent a car", "list files"]),
        ("cancel it; pay the invoice", ["cancel it", "pay the invoice"]),
        (
            "what is the weather in Oslo and how much is a taxi",
            ["what is the weather in Oslo", "how much is a taxi"],
        ),
        (
            "Check the stock. After that, gather facts about Rome.",
            ["Check the stock", "After that, gather facts about Rome"],
        ),
        ("I need a hotel and I also need a car", ["I need a hotel", "I also need a car"]),
    ],
)
def test_a_new_imperative_or_question_starts_a_clause(text: str, clauses: list[str]) -> None:
    """Clauses come in order, as written, without the words that joined them."""
    assert list(split_clauses(text)) == clauses


@pytest.mark.parametrize(
    "text",
    [
        "find a bed and breakfast in Cork",
        "message Alice and Bob",
        "find and book a flight to Rome",
        "book a room 12.-14. December for 2",
        "send 'book it and cancel it, then list files' to Bob",
        'send "book it. Cancel it." to Bob',
        "find flights between Monday and list day",
        "show email and message logs",
        "find hotels in Lisbon and Berlin, and cars in Porto",
        "book a flight on 3 December 2026, 14:30",
        "weather in St. Moritz",
        "get me a car on 2 December, bringing it back on 4 December",
    ],
)
def test_what_belongs_together_is_not_cut(text: str) -> None:
    """Quotations, ranges, noun pairs, shared objects, names and dates stay whole."""
    assert split_clauses(text) == (text,)


def test_verbs_of_the_catalog_begin_clauses_too() -> None:
    """A verb that no lexicon holds is one when a tool's summary starts with it."""
    text = "list files and defragment the disk"

    assert split_clauses(text) == (text,)
    assert split_clauses(text, verbs={"defragment"}) == ("list files", "defragment the disk")


def test_blank_text_has_no_clause() -> None:
    """Nothing asked, nothing split."""
    assert split_clauses("  \n ") == ()


@given(st.text(max_size=200))
def test_spans_are_ordered_parts_of_the_text(text: str) -> None:
    """Whatever the text, clauses do not overlap and are what the text holds there."""
    spans = clause_spans(text)

    assert all(start < end for start, end in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert split_clauses(text) == tuple(text[start:end] for start, end in spans)


@pytest.mark.parametrize(
    "text",
    [
        "please book it",
        "Then, could you please book it",
        "I would like to book it",
        "Would you be so kind as to book it",
        "I'd be ever so grateful if you could book it",
        "May I trouble you to book it",
        "Finally, I'd like you to book it",
        "don't book it",
        "and let's book it",
    ],
)
def test_leads_are_taken_off(text: str) -> None:
    """Politeness, order words and wishes before the verb are not the request."""
    assert without_lead(text) == "book it"
