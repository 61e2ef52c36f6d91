"""One clause: its verb, its class, its nouns, and whether it is forbidden."""

import pytest

from orchestrator.language.clause_reading import read_clause, tells_what_to_do
from orchestrator.language.intent import Action


@pytest.mark.parametrize(
    ("clause", "verb", "action", "objects"),
    [
        ("Book a flight from Berlin", "book", Action.CREATE, ("flight",)),
        ("could you please reserve a hotel in Rome", "reserve", Action.CREATE, ("hotel",)),
        ("file the expense", "file", Action.CREATE, ("expense",)),
        ("what is the weather in Oslo", "what", Action.READ, ("weather",)),
        ("list files", "list", Action.SEARCH, ("files",)),
        ("I would like to cancel my hotel booking", "cancel", Action.CANCEL, ("hotel", "booking")),
        ("how do I cancel my booking", "how", Action.READ, ("cancel", "booking")),
        ("message my team about it", "message", Action.SEND, ("team",)),
        ("pay the invoice", "pay", Action.PAY, ("invoice",)),
        ("I need a car", "", Action.SEARCH, ("car",)),
        ("weather in London", "weather", Action.UNKNOWN, ("weather",)),
        ("let me know the weather in Oslo", "know", Action.READ, ("weather",)),
        ("am I free on Friday", "am", Action.READ, ("free",)),
        ("can I bring a dog", "can", Action.READ, ("bring", "dog")),
        ("any bills I should pay", "", Action.SEARCH, ("bills", "pay")),
        ("any chance you could book a room", "book", Action.CREATE, ("room",)),
        ("we leave early, drop the room", "drop", Action.CANCEL, ("room",)),
        ("call the meeting off", "call", Action.CANCEL, ("meeting",)),
        ("call the office", "call", Action.SEND, ("office",)),
        ("e-mail the report to Bob", "email", Action.SEND, ("report",)),
        ("bin the draft", "bin", Action.CANCEL, ("draft",)),
        ("open an account for Ada", "open", Action.CREATE, ("account",)),
        ("please open a ticket about it", "open", Action.CREATE, ("ticket",)),
        ("open the ticket", "open", Action.READ, ("ticket",)),
        ("recall the message", "recall", Action.UNKNOWN, ("message",)),
        ("reminders for next week", "", Action.SEARCH, ("reminders",)),
        ("make me a list of my bookings", "list", Action.READ, ("bookings",)),
        ("make a list of groceries", "make", Action.CREATE, ("list",)),
        ("the most expensive hotel in Paris", "", Action.UNKNOWN, ("expensive", "hotel")),
        ("the longest book by Frank Herbert", "", Action.UNKNOWN, ("longest", "book")),
        ("the room in Rome, book it", "book", Action.CREATE, ()),
        ("paid invoices", "paid", Action.UNKNOWN, ("paid", "invoices")),
        ("cancelled flights to Rome", "cancelled", Action.UNKNOWN, ("cancelled", "flights")),
        ("images in the Archive folder", "", Action.SEARCH, ("images",)),
        ("a room at Park Lodge", "", Action.UNKNOWN, ("room",)),
        ("a car needs to be rented in Oslo", "rented", Action.CREATE, ("car",)),
        ("hotel booking in Rome for Friday", "booking", Action.CREATE, ("hotel", "booking")),
    ],
)
def test_a_clause_has_a_verb_its_class_and_objects(
    clause: str, verb: str, action: Action, objects: tuple[str, ...]
) -> None:
    """The verb is the one commanded, not a noun that looks like one."""
    reading = read_clause(clause)

    assert (reading.verb, reading.action, reading.objects) == (verb, action, objects)
    assert not reading.is_negated


@pytest.mark.parametrize("clause", ["don't book it", "never send that", "do not pay yet"])
def test_a_forbidden_side_effect_is_not_asked_for(clause: str) -> None:
    """Negation before the verb is read."""
    reading = read_clause(clause)

    assert reading.is_negated
    assert not reading.asks_side_effect


@pytest.mark.parametrize(
    ("clause", "stems"),
    [
        ("remind me on Friday to pay the invoice", ("remind", "friday")),
        ("ask Bob to cancel the hotel", ("bob", "send", "messag")),
        ("message the team to book club", ("messag", "team", "book", "club")),
    ],
)
def test_what_somebody_is_told_to_do_is_said_and_not_ordered(
    clause: str, stems: tuple[str, ...]
) -> None:
    """A reminder to pay pays nothing."""
    reading = read_clause(clause)

    assert reading.action is Action.SEND
    assert set(reading.stems) == set(stems)


@pytest.mark.parametrize(
    ("text", "has_verb"),
    [
        ("let Ana know the price", True),
        ("keep it", True),
        ("send Bob the price", True),
        ("a table for two", False),
        ("two in Milan", False),
        ("the cheapest one in Rome", False),
    ],
)
def test_what_has_a_verb_of_its_own_goes_on_with_no_other(text: str, has_verb: bool) -> None:
    """Of "book a room and let Ana know" one part books."""
    assert tells_what_to_do(text) is has_verb


def test_a_clause_may_end_in_many_blanks() -> None:
    """As goals that were pasted do."""
    assert read_clause("book a hotel" + " " * 40).verb == "book"
