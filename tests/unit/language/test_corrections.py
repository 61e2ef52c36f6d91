"""Corrections in mid-sentence: what is taken back, by what, and where nothing tells."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.language.corrections import corrected


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Book Rome, no, Milan", "Book Milan"),
        ("Book a flight to Rome, not Friday but Saturday", "Book a flight to Rome, Saturday"),
        ("Book a table not in Rome but in Milan", "Book a table in Milan"),
        ("Message Ana, sorry, Ben that we moved", "Message Ben that we moved"),
        (
            "Remind me on Friday at 9 am, no wait, Thursday at 10 am, to call Bo",
            "Remind me on Thursday at 10 am, to call Bo",
        ),
        (
            "Book a room from 4 to 6 December for 2, wait, until the 7th",
            "Book a room from 4 until the 7th December for 2",
        ),
        ("Rent a car for three days — er, four days", "Rent a car for four days"),
        ("Add a call at 3 pm, make it from 4 to 6", "Add a call from 4 to 6 pm"),
        ("Add a call at 3 pm, no, 4", "Add a call at 4 pm"),
        ("Add a call at 9 am, sorry, half past ten", "Add a call at half past ten am"),
        (
            "Book a flight to Rome, no, to Milan, on 5 December",
            "Book a flight to Milan, on 5 December",
        ),
        ("Book a table on Friday - sorry, Saturday - at 8 pm", "Book a table on Saturday at 8 pm"),
        ("Book a table for two, I mean three", "Book a table for three"),
        ("Book a table for two, I mean for three, at 7 pm", "Book a table for three, at 7 pm"),
        ("Book a table for two at 7 pm. Actually make it 8 pm", "Book a table for two at 8 pm"),
        ("Book a flight to Rome tomorrow. No, wait. Milan.", "Book a flight to Milan tomorrow."),
        ("Book a flight to Rome. No, sorry, Milan.", "Book a flight to Milan."),
        ("Book a flight to Rome. Scratch that, book a hotel in Milan", "book a hotel in Milan"),
        ("Book a flight to Rome, scratch that, Milan", "Book a flight to Milan"),
        ("Book a hotel in Rome. Actually, book a hotel in Milan", "book a hotel in Milan"),
        ("Book a hotel in Paris for 2 nights, no, 3", "Book a hotel in Paris for 3 nights"),
        ("Book two rooms, sorry, three rooms in Oslo", "Book three rooms in Oslo"),
        ("Book a flight, no, a train to Rome", "Book a train to Rome"),
        ("rent a compact car, no wait, an suv in Lisbon", "rent an suv in Lisbon"),
        (
            "Find the cheapest hotel, no, the second cheapest in Rome",
            "Find the second cheapest hotel in Rome",
        ),
        (
            "Book a flight from Rome to Paris, sorry, from Milan",
            "Book a flight from Milan to Paris",
        ),
        ("Book a flight from Rome to Paris, no, Lyon", "Book a flight from Rome to Lyon"),
        ("Pay 200 EUR, no, 300, to Bo", "Pay 300 EUR, to Bo"),
        ("Pay invoice inv_1, I mean inv_2", "Pay invoice inv_2"),
        ("Send it to anna@example.com, sorry, bo@example.com", "Send it to bo@example.com"),
        ("Send Anna, sorry, Bo the report", "Send Bo the report"),
        ("Delete report.txt, no, notes.txt", "Delete notes.txt"),
        ("Book a table for 2 (no, 3) people at Mario's", "Book a table for 3 people at Mario's"),
        ("Book a table at Luigi's, no, Mario's, for two", "Book a table at Mario's, for two"),
        ("book a table in rome, no, milan", "book a table in milan"),
        ("Book a table at 7 pm, no, 8", "Book a table at 8 pm"),
        ("Book a table for 2 at 8, actually for 3", "Book a table for 3 at 8"),
        ("remind me at 9:00 or rather 9:30 tomorrow", "remind me at 9:30 tomorrow"),
        ("order two, sorry, three packs of tea", "order three packs of tea"),
        ("fly from Berlin - hmm, better from Leipzig - to Zurich", "fly from Leipzig to Zurich"),
        ("Pay Smith & Co. I mean Nordic Bank.", "Pay Nordic Bank."),
        ("Book a flight to Rome or rather Milan", "Book a flight to Milan"),
        ("Book a flight to Rome, no make it Milan", "Book a flight to Milan"),
        ("Book a flight to Milan, not Rome", "Book a flight to Milan"),
        ("Book a table on Friday, not Saturday", "Book a table on Friday"),
        ("Book a table at 8 pm instead of 7 pm", "Book a table at 8 pm"),
        ("Book a flight to Milan rather than Rome", "Book a flight to Milan"),
    ],
)
def test_what_stands_in_its_place_is_meant(text: str, meant: str) -> None:
    """A marker, and behind it a phrase of the kind of one before it."""
    read = corrected(text)

    assert read.text == meant
    assert read.replaced and not read.unsure


@pytest.mark.parametrize(
    "text",
    [
        "Tell Bo that I come on Friday, no, Saturday",
        'Tell Bo "on Friday, no, Saturday"',
        "Tell Bo that the meeting is on Monday, not Tuesday",
        "Book a table, no smoking please",
        "Book a hotel in Rome, no breakfast",
        "Book a flight to Rome on Friday, no Ryanair",
        "Rent a car in Rome from Friday to Sunday, full insurance, no GPS",
        "Book a room but not the cheapest",
        "Actually, book a flight to Rome",
        "Book a flight to Rome. Actually, also book a hotel there",
        "If no table is free, book a room",
        "Book a table for 3, sorry for the short notice",
        "Book a table for two and make it 8 pm",
        "Is it raining in Rome, no?",
        "Book the cheapest flight to Rome for two, no earlier than 10:00",
    ],
)
def test_what_corrects_nothing_stays(text: str) -> None:
    """What is said or quoted, and words that take nothing back."""
    read = corrected(text)

    assert (read.text, read.replaced, read.unsure) == (text, (), ())


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Book a flight from Rome to Paris on 5 December, no, Lyon", "no, Lyon"),
        ("Book a flight to Rome, no Ryanair", "no Ryanair"),
        ("Book a table in Rome, no Milan", "no Milan"),
        ("Book a table for 4 at 7 pm, make it 8", "make it 8"),
        ("Book the hotel, actually don't", "actually don't"),
        ("Pay the invoice, no wait, don't pay it", "no wait, don't pay it"),
        ("Book a flight to Rome. Scratch that.", "Scratch that"),
        ("Book a flight and a hotel in Rome. Never mind the hotel", "Never mind the hotel"),
        ("Book a hotel in Rome, no wait, cancel my stay", "no wait, cancel my stay"),
        ("Book a room for Friday. Actually, Saturday is better", "Actually, Saturday is better"),
        ("Remind me at 9 to call them, actually make that 10", "actually make that 10"),
    ],
)
def test_what_nothing_tells_is_unsure(text: str, asked: str) -> None:
    """Several of the kind, none of it, or an order that may stand beside the first."""
    read = corrected(text)

    assert read.text == text
    assert read.unsure == (asked,)


def test_what_was_replaced_is_told() -> None:
    """So that a plan can show it."""
    (replaced,) = corrected("Book a flight to Rome, no, Milan, tomorrow").replaced

    assert (replaced.was, replaced.by, replaced.said) == ("Rome", "Milan", "no, Milan")


_SAID = "Book a table in Rome Milan , no sorry wait I mean for two 3 at 7 pm . not scratch that"
_WORDS = st.sampled_from(_SAID.split())


@given(st.lists(_WORDS, max_size=25).map(" ".join))
def test_any_text_is_read(text: str) -> None:
    """None raises, and what is as it is meant is left alone."""
    read = corrected(text)

    assert read.replaced or read.text == text


@given(st.text(max_size=60))
def test_a_text_without_markers_is_its_own(text: str) -> None:
    """Whatever it holds."""
    assert corrected(text).text == text or corrected(text).replaced
