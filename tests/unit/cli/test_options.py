"""Values as a command line writes them, read without ever ending in a traceback."""

import pytest
from pydantic import JsonValue

from orchestrator.cli.options import read_json
from orchestrator.core.errors import UsageError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2", 2),
        ("-1.5e3", -1500.0),
        ('["a"]', ["a"]),
        ("Rome", "Rome"),
        ("NaN", "NaN"),
        ("1e999", "1e999"),
        ("-Infinity", "-Infinity"),
        ("9" * 400, "9" * 400),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_what_json_has_no_value_for_is_text(text: str, value: JsonValue) -> None:
    """An id of many digits keeps them all."""
    assert read_json(text) == value


@pytest.mark.parametrize(
    "text", ["[" * 200 + "]" * 200, "[" * 50_000, r'"\ud800"', r'{"\udfff": 1}']
)
def test_json_that_no_message_can_hold_is_refused(text: str) -> None:
    """In one sentence, that quotes nothing of it."""
    with pytest.raises(UsageError, match=r"nested too deep|half a character") as refused:
        read_json(text)

    assert len(str(refused.value)) < 100
