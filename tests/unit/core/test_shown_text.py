"""Text of others, cleaned for whoever shows it."""

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.shown_text import (
    markdown_code,
    markdown_summary,
    markdown_text,
    visible,
    visible_block,
    visible_json,
)

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def _may_be_a_picture(code: int) -> bool:
    """Not assigned as far as this Python knows: a picture of a newer Unicode."""
    return 0x2190 <= code <= 0x2BFF or 0x1F000 <= code <= 0x1FAFF


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Hotel Zürich, 12 €", "Hotel Zürich, 12 €"),
        ("قهوة 東京 हिन्दी", "قهوة 東京 हिन्दी"),
        ("\x1b[2J\x1b[1;31m1 EUR", r"\x1b[2J\x1b[1;31m1 EUR"),
        ("\x1b]8;;https://evil.example\x07pay\x1b]8;;\x07", None),
        ("\x9b31m", r"\x9b31m"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x7f\x85", r"\x7f\x85"),
        ("USD 001 \u202eRUE 1", r"USD 001 \u202eRUE 1"),
        ("a\u200b\u2060\ufeffb", r"a\u200b\u2060\ufeffb"),
        ("ab\u2028c", r"ab\u2028c"),
        ("x\U000e0041", r"x\U000e0041"),
        ("x\U000e0101y", r"x\U000e0101y"),
        ("\u3164", r"\u3164"),
        ("\ud83d", r"\ud83d"),
        ("\ue000", r"\ue000"),
        ("☀\ufe0f 👩\u200d🚀 🇩🇪", "☀\ufe0f 👩\u200d🚀 🇩🇪"),
        ("a\u200d👩\u200d", "a\\u200d👩\\u200d"),
        ("🏴\U000e0067\U000e007f", r"🏴\U000e0067\U000e007f"),
        ("1\u00a0000", "1\u00a0000"),
        ("e\u0302\u0301", "e\u0302\u0301"),
        ("e" + "\u0336" * 6, "e" + "\u0336" * 4 + r"\u0336\u0336"),
    ],
)
def test_what_is_hidden_is_shown(text: str, shown: str | None) -> None:
    """As the escape that stands for it; letters of any script and emoji stay as they are."""
    cleaned = visible(text)

    assert shown is None or cleaned == shown
    assert "\x1b" not in cleaned
    assert visible(cleaned) == cleaned


def test_no_character_of_a_hidden_category_passes() -> None:
    """None of all of Unicode, by itself or between letters."""
    passed = [
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in _HIDDEN and chr(code) in visible(f"a{chr(code)}b")
    ]

    assert [hex(code) for code in passed if not _may_be_a_picture(code)] == []


def test_a_block_keeps_its_lines_and_code_cannot_be_left() -> None:
    assert visible_block("a\n\tb\r\x1b\u2028") == "a\n\tb\\r\\x1b\\u2028"
    assert markdown_code("a`b\n\n# c") == r"`a'b\n\n# c`"


@given(st.text(st.characters(), max_size=30))
def test_json_is_the_same_value_without_what_is_hidden(text: str) -> None:
    """Whatever the string, also one that holds half a pair of surrogates."""
    document = json.dumps({"text": text}, indent=2, ensure_ascii=False)
    shown = visible_json(document)

    assert json.loads(shown) == json.loads(document)
    left = [c for c in shown if unicodedata.category(c) in _HIDDEN and c not in "\n\u200d"]
    assert [c for c in left if not _may_be_a_picture(ord(c))] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Oslo, 2026-12-03", "Oslo, 2026-12-03"),
        ("10:30, 1.00 EUR. Bye!", "10:30, 1.00 EUR. Bye!"),
        ("flight_book_offer _x_ __y__", r"flight_book_offer \_x\_ \_\_y\_\_"),
        ("<img src=x>", r"\<img src=x\>"),
        ("![pay](https://evil.example)", r"!\[pay\](https\://evil\.example)"),
        ("www.evil.example www.1.example", r"www\.evil\.example www\.1\.example"),
        ("a@b.example mailto:a@b.example", r"a@b\.example mailto\:a@b\.example"),
        ("&lt;b&gt; &#8238;", r"\&lt;b\&gt; \&\#8238;"),
        ("# Price\n\n| 1 | EUR |", r"\# Price \| 1 \| EUR \|"),
        ("~~100~~ `1`", r"\~\~100\~\~ \`1\`"),
        ("\u202e1", r"\\u202e1"),
        ("a\\", "a\\\\"),
    ],
)
def test_markdown_shows_text_as_it_is(text: str, shown: str) -> None:
    """On one line, with a backslash before whatever would begin markup or a link."""
    assert markdown_text(text) == shown


@pytest.mark.parametrize("text", ["a" * 900, "[" * 900, "\u202e" * 900, "東" * 900, "\ud800" * 900])
def test_a_summary_is_short(text: str) -> None:
    summary = markdown_summary(text)

    assert 100 < len(json.dumps(summary, ensure_ascii=False).encode()) <= 400
