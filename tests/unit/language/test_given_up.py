"""What is no longer needed is to be ended."""

import pytest

from orchestrator.language.corrections import corrected
from orchestrator.language.given_up import ended


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("I don't need the reminder about milk anymore", "cancel the reminder about milk"),
        ("We no longer need the table in Rome", "cancel the table in Rome"),
        ("I won't be needing the car in Lisbon after all.", "cancel the car in Lisbon."),
        ("My alerts for Oslo are no longer needed", "cancel My alerts for Oslo"),
        ("I don't need the table in Rome any more, please cancel.", "cancel the table in Rome."),
        (
            "We no longer need the car so please cancel it. Pay Acme",
            "cancel the car. Pay Acme",
        ),
        (
            "Book a flight to Rome and we no longer need the car",
            "Book a flight to Rome and cancel the car",
        ),
    ],
)
def test_what_is_given_up_is_to_be_cancelled(said: str, meant: str) -> None:
    """It is an order, and how it was read is told."""
    read = corrected(said)

    assert read.text == meant
    assert [one.by for one in read.replaced] == [ended(said)[1][0][1]]


@pytest.mark.parametrize(
    "said",
    [
        "I don't need breakfast",
        "I don't need the receipt",
        "I no longer need it",
        "Cancel the table in Rome. I don't need the table any longer",
        "Tell Bo that I no longer need the car",
        'Post "we no longer need the room"',
    ],
)
def test_what_is_no_such_order_stays(said: str) -> None:
    """What nobody has, what is said to somebody, and why something is cancelled."""
    assert ended(said) == (said, ())
