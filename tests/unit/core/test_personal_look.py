"""What looks like a person's own, and what does not."""

import pytest
from pydantic import JsonValue

from orchestrator.core.personal_look import personal_look


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("4111 1111 1111 1111", "a card number"),
        (5500005555555559, "a card number"),
        ("my card is 3714-496353-98431, thanks", "a card number"),
        ("DE89 3704 0044 0532 0130 00", "an account number (IBAN)"),
        ("gb29nwbk60161331926819", "an account number (IBAN)"),
        ("ada@example.com", "an e-mail address"),
        ("Ada <ada@x>", "an e-mail address"),
        (["nothing", {"to": "ada.lovelace+trip@example.co.uk"}], "an e-mail address"),
        ("+49 30 901820", "a phone number"),
        ("call +1 (212) 555-2368 after six", "a phone number"),
        ("C01X00T47", "the number of a passport"),
        ("AB1234567", "the number of a passport"),
    ],
)
def test_personal_values_are_known_by_their_look(value: JsonValue, kind: str) -> None:
    """Alone, in text and at any depth."""
    assert personal_look(value) == kind


@pytest.mark.parametrize(
    "value",
    [
        "sunny",
        "2026-12-03",
        "4111 1111 1111 1112",
        "20261203",
        "1 + 1",
        "meet @ noon",
        "DE00 3704 0044 0532 0130 00",
        42,
        3.5,
        True,
        None,
        {"guests": 4, "city": "Lisbon"},
        "550e8400-e29b-41d4-a716-446655440000",
    ],
)
def test_ordinary_values_are_not(value: JsonValue) -> None:
    """Numbers that fail their check digit, dates, ids and words."""
    assert personal_look(value) is None
