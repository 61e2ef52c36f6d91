"""K=V of a command line: what a text stands for is said by the tool's schema."""

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.tool import Tool
from orchestrator.cli.tools_commands import read_inputs
from orchestrator.core.errors import UsageError

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "phone": {"type": "string"},
        "day": {"type": "string", "format": "date"},
        "size": {"enum": ["1", "2"]},
        "count": {"type": "integer"},
        "price": {"type": "number"},
        "vip": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"type": "object"},
        "note": {"type": ["string", "null"]},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "code": {"$ref": "#/$defs/Code"},
        "strict": {"allOf": [{"type": ["string", "integer"]}, {"$ref": "#/$defs/Code"}]},
        "loop": {"$ref": "#/$defs/Loop"},
        "anything": {},
        "five": {"const": 5},
    },
    "$defs": {
        "Code": {"type": "string", "maxLength": 9},
        "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}, {"type": "integer"}]},
    },
}
TOOL = Tool(name="t", document="d", domain="d", input_schema=SCHEMA)


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("phone=0123", "0123"),
        ("phone=49301234", "49301234"),
        ("phone=null", "null"),
        ("phone=", ""),
        ("phone=a=b", "a=b"),
        ('phone="quoted"', '"quoted"'),
        ("day=2026-12-03", "2026-12-03"),
        ("size=2", "2"),
        ("code=007", "007"),
        ("code=true", "true"),
        ("strict=5", "5"),
        ("note=5", "5"),
        ("note=null", None),
        ("count=3", 3),
        ("count=three", "three"),
        ("price=3", 3),
        ("price=2.50", 2.5),
        ("price=NaN", "NaN"),
        ("vip=true", True),
        ("vip=yes", "yes"),
        ('tags=["a", "b"]', ["a", "b"]),
        ("tags=a", "a"),
        ('place={"city": "Oslo"}', {"city": "Oslo"}),
        ("either=5", 5),
        ('either="5"', "5"),
        ("either=5.5", "5.5"),
        ("either=[1]", "[1]"),
        ("anything=5", 5),
        ("anything=words", "words"),
        ("five=5", 5),
        ("loop=5", 5),
        ("unknown=5", 5),
        ("phone=pii:traveler_phone", "pii:traveler_phone"),
        ("count=pii:birth_year", "pii:birth_year"),
        ("phone=@@ada", "@ada"),
    ],
)
def test_a_text_is_what_the_schema_takes(pair: str, value: Any) -> None:
    """Strings stay as written; JSON is read where something else is taken.

    What fits nothing stays a text, for the contract to say what is wrong with it.
    """
    assert read_inputs(TOOL, [pair]) == {pair.partition("=")[0]: value}


def test_a_file_gives_json_or_its_text(tmp_path: Path) -> None:
    """JSON for an input that takes it, the text as it is for a string."""
    file = tmp_path / "x.json"
    file.write_text(json.dumps({"city": "Århus"}), encoding="utf-8")

    assert read_inputs(TOOL, [f"place=@{file}", f"phone=@{file}"]) == {
        "place": {"city": "Århus"},
        "phone": '{"city": "\\u00c5rhus"}',
    }


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        (["count"], "'count' is not NAME=VALUE"),
        (["=5"], "'=5' is not NAME=VALUE"),
        (["count=1", "count=2"], "count is given twice"),
        (["place=@nowhere.json"], r"place: nowhere\.json cannot be read: No such file"),
    ],
)
def test_what_cannot_be_read_is_refused(pairs: list[str], reason: str) -> None:
    """In one line that names the input."""
    with pytest.raises(UsageError, match=reason):
        read_inputs(TOOL, pairs)


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    """The error names the input, the file and the place in it."""
    file = tmp_path / "x.json"
    file.write_text("{", encoding="utf-8")

    with pytest.raises(UsageError, match=r"place: .*x\.json is no JSON: .*line 1"):
        read_inputs(TOOL, [f"place=@{file}"])
