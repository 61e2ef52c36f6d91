"""What somebody is told, in its words."""

import pytest

from orchestrator.language.clause_reading import told_thing_start
from orchestrator.language.clauses import split_clauses
from orchestrator.language.said import told_in


@pytest.mark.parametrize(
    ("clause", "told"),
    [
        ("Tell Bo that I can't come", "I can't come"),
        ("Tell Bo I won't be there at 8", "I won't be there at 8"),
        ("Tell Bo the meeting is off", "the meeting is off"),
        ("tell my team I am late", "I am late"),
        ("tell my team that I am late", "I am late"),
        ("Tell Bo not to come", "Do not come"),
        ("Tell Bo to swim", "to swim"),
        ("Tell Bo to say hello", "to say hello"),
        ("Email Bo, subject 'Off', to say I am off on Friday", "I am off on Friday"),
        ("tell bo its done", "its done"),
        ("Ask the team if lunch suits", "if lunch suits"),
        ("Remind me two hours before 15:00 on 5 December to print", "to print"),
        ("Remind me tomorrow about the taxi", "the taxi"),
        ("Ask Bo never to call again", "Never call again"),
        ("Message Anna: never book the Hilton", "never book the Hilton"),
        ("Send Bo a message saying I haven't paid", "I haven't paid"),
        ("Write in #team that dinner is at 8", "dinner is at 8"),
        ('Tell the team "Book nothing, call Bo"', '"Book nothing, call Bo"'),
        ("Remind me on the evening of 5 December to pack", "to pack"),
        ("Ask Bo if he wants to come", "if he wants to come"),
        ("Ask the team when the meeting is over", "when the meeting is over"),
        ("Let Bo know that dinner isn't at 8 but at 9", "dinner isn't at 8 but at 9"),
    ],
)
def test_a_message_keeps_its_words(clause: str, told: str) -> None:
    """Its negation above all."""
    assert told_in(clause) == told


@pytest.mark.parametrize(
    "clause",
    [
        "Book a table",
        "Send the report to Bo",
        "Invite Bo to lunch",
        'Share "sales report" with Bo',
        "Write a report that sums it up",
        "Tell the team what the weather is like in Oslo",
        "Tell Bo when the meeting is",
    ],
)
def test_nothing_is_told(clause: str) -> None:
    """Who gets a thing is told nothing."""
    assert told_in(clause) is None


@pytest.mark.parametrize(
    ("clause", "thing"),
    [
        ("tell #trips the price", "the price"),
        ("tell the team and the boss its name", "its name"),
        ("let Bo know the flight number", "the flight number"),
        ("inform Bo of the delay", "the delay"),
        ("tell Bo what the weather is like", "what the weather is like"),
        ("tell Bo", None),
        ("tell Bo that the price is high", None),
        ("tell the team in the office", None),
        ("send Bo the report", None),
    ],
)
def test_a_thing_that_is_told_is_not_said(clause: str, thing: str | None) -> None:
    """Its words are no message: what it is has to be found out."""
    start = told_thing_start(clause)

    assert (None if start is None else clause[start:].strip()) == thing


def test_what_goes_on_without_a_conjunction_is_still_said() -> None:
    """It would be missing in the message, and forbids nothing to us."""
    assert split_clauses("Tell Bo I can't come, don't wait for me") == (
        "Tell Bo I can't come, don't wait for me",
    )
    assert len(split_clauses("Tell Bo I can't come, book a table for two")) == 2
