"""Lists of requests, without their marks."""

import pytest

from orchestrator.language.numbered_lists import without_list_marks


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("1. Pay INV-1\n2. Cancel my car", "Pay INV-1\nCancel my car"),
        ("1) Pay INV-1 2) Cancel my car", "Pay INV-1\nCancel my car"),
        (
            "Please do the following:\n1) rent a car\n2) book a hotel",
            "Please do the following: rent a car\nbook a hotel",
        ),
        ("- Pay INV-1\n- Cancel my car", "Pay INV-1\nCancel my car"),
    ],
)
def test_requests_lose_their_marks(text: str, plain: str) -> None:
    """Each is on a line of its own."""
    assert without_list_marks(text) == plain


@pytest.mark.parametrize(
    "text",
    [
        "Upload todo.txt with the text:\n1. buy milk\n2. call Bo",
        "Tell Ana: 1. pay the bill 2. cancel the car",
        "Book a table for 2. Then pay INV-1",
        "1. milk\n2. eggs",
        "Book a room from 1. to 2. December",
    ],
)
def test_what_is_no_list_of_requests_stays(text: str) -> None:
    """What is written somewhere, or counts something."""
    assert without_list_marks(text) == text
