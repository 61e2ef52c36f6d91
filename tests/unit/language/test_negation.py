"""What a clause rules out."""

import pytest

from orchestrator.language.negation import denied_words, exclusions, without_exclusions


@pytest.mark.parametrize(
    ("clause", "things"),
    [
        ("Book a table anything but sushi", ["sushi"]),
        ("Book a flight, but not with TAP", ["TAP"]),
        ("Book a flight, not the cheapest", ["cheapest"]),
        ("Book a hotel without breakfast", ["breakfast"]),
        ("Invite everyone except Anna", ["Anna"]),
        ("Cancel all my reminders but the one about milk", ["milk"]),
        ("Cancel every flight besides AB123", ["AB123"]),
        ("Cancel my flight but not my hotel", ["hotel"]),
        ("Cancel my flight but please keep my hotel", []),
        ("Book a hotel, not in the city centre, for two", ["city centre"]),
        ("Rent a car other than a van", ["van"]),
        ("Book a hotel in Lisbon instead of a car", ["car"]),
        ("no sushi please", ["sushi"]),
        ("Rent any car but a Fiat in Nice", ["Fiat"]),
        ("Book any hotel but cheap", []),
    ],
)
def test_a_thing_that_is_not_wanted(clause: str, things: list[str]) -> None:
    """Up to the next preposition or the end of the phrase."""
    assert [one.thing for one in exclusions(clause)] == things


@pytest.mark.parametrize(
    "clause",
    [
        "Do not book the hotel",
        "we're not going to Prague",
        "for no more than 50 EUR",
        "not before 10:00",
        "Tell Bo that I can't come without Anna",
        'Send Bo "not the Hilton"',
        "Find out why it is not there",
    ],
)
def test_what_rules_out_no_thing(clause: str) -> None:
    """A verb that is forbidden, a bound, and what somebody is told."""
    assert exclusions(clause) == ()


def test_the_rest_keeps_its_places() -> None:
    """Blanks stand where the exclusion was."""
    clause = "Book a table anything but sushi for two"

    kept = without_exclusions(clause)

    assert " ".join(kept.split()) == "Book a table for two"
    assert kept.index("for") == clause.index("for")


@pytest.mark.parametrize(
    ("clause", "words"),
    [
        ("how many invoices are not paid", ("paid",)),
        ("which haven't been paid yet", ("paid",)),
        ("those that are not yet approved", ("approved",)),
        ("no more than two", ()),
        ("tell Bo that it is not paid", ()),
        ("which are paid", ()),
    ],
)
def test_what_is_said_not_to_be_so(clause: str, words: tuple[str, ...]) -> None:
    """Whatever verb says it; what somebody is told denies nothing."""
    assert denied_words(clause) == words
