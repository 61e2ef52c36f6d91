"""The formats that values are held to, in the arguments of a tool as in its request."""

import pytest
from pydantic import JsonValue

from orchestrator.json_schema.validator import ANSWER_FORMATS, REQUEST_FORMATS


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("byte", ["", "aGk=", 5], ["a", "é", "aGk", "a b="]),
        ("int32", [0, -(2**31), 2**31 - 1, "x"], [2**31, -(2**31) - 1]),
        ("int64", [2**63 - 1, 1.5], [2**63]),
        ("float", [1, 1.5], []),
        ("double", [1, 1.5], []),
        ("binary", ["\x00é"], []),
        ("password", ["x"], []),
        ("date", ["2026-12-03"], ["3.12.2026", "2026-13-01"]),
        ("date-time", ["2026-12-03T09:00:00Z"], ["2026-12-03", "2026-12-03T09:00:00"]),
        ("time", ["09:30:00Z"], ["9.30"]),
        ("duration", ["PT1H30M", "P1Y2M3D", "P2W", "PT0.5S"], ["P", "PT", "1h", "P1DT"]),
        ("email", ["a@b.c"], ["nobody"]),
        ("uuid", ["3f2504e0-4f89-11d3-9a0c-0305e82c3301"], ["3f25"]),
        ("uri", ["https://a.b/c?d#e", "urn:x:y", "mailto:a@b.c"], ["a.b/c", "/x", "http://a b"]),
        ("ipv4", ["10.0.0.1"], ["10.0.0"]),
        ("ipv6", ["::1"], ["10.0.0.1"]),
        ("of-our-own", ["anything"], []),
    ],
)
def test_formats_of_requests(name: str, good: list[JsonValue], bad: list[JsonValue]) -> None:
    """Values of other types than the format speaks of pass it by."""
    assert [value for value in good if not REQUEST_FORMATS.conforms(value, name)] == []
    assert [value for value in bad if REQUEST_FORMATS.conforms(value, name)] == []


def test_a_link_in_an_answer_may_be_relative() -> None:
    """An order that was made must not seem unclear for it."""
    assert ANSWER_FORMATS.conforms("/orders/1", "uri")
    assert not ANSWER_FORMATS.conforms("3.12.2026", "date")
