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
        ("4111\u00a01111\u20091111  1111", "a card number"),
        ("4111.1111.1111.1111", "a card number"),
        ("4111 - 1111 - 1111 - 1111", "a card number"),
        ("\uff14\uff11\uff11\uff11 1111 1111 1111", "a card number"),
        ("4111\u200b111111111111", "a card number"),
        (4111111111111111.0, "a card number"),
        ({"4111111111111111": 1}, "a card number"),
        ("x" * 20_000 + " 4111111111111111", "a card number"),
        ("DE89-3704-0044-0532-0130-00", "an account number (IBAN)"),
        ("DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000", "an account number (IBAN)"),
        ("ada\uff20example.com", "an e-mail address"),
        ("https://example.com/?to=ada@example.com&x", "an e-mail address"),
        ("<a href='mailto:ada@example.com'>", "an e-mail address"),
        ({"ada@example.com": True}, "an e-mail address"),
        ("\uff0b49 30 901820", "a phone number"),
    ],
)
def test_personal_values_are_known_by_their_look(value: JsonValue, kind: str) -> None:
    """Alone, in text, at any depth, as a name; however it is spaced and in whatever digits."""
    assert personal_look(value) == kind


@pytest.mark.parametrize(
    "value",
    [
        "sunny", "2026-12-03", "4111 1111 1111 1112", "20261203", "1 + 1", "meet @ noon",
        "DE00 3704 0044 0532 0130 00", 42, 3.5, True, None, {"guests": 4, "city": "Lisbon"},
        "550e8400-e29b-41d4-a716-446655440000", 1e300, "https://user@/x", "version 1.2.3",
    ],
)  # fmt: skip
def test_ordinary_values_are_not(value: JsonValue) -> None:
    """Numbers that fail their check digit, dates, ids and words."""
    assert personal_look(value) is None
