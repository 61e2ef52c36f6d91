"""Records: validators that a worker builds before it polls, and parts that repeat their whole."""

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import ClassVar

import pytest

from orchestrator.core.record import Enclosing, Record

_BUILT = """
from orchestrator.core.record import Record, build_records
from orchestrator.messages.mission import MissionInput
before = MissionInput.__pydantic_complete__
build_records()
kinds, left = [Record], []
while kinds:
    kind = kinds.pop()
    kinds += kind.__subclasses__()
    left += [] if kind.__pydantic_complete__ else [kind.__name__]
print(before, left)
"""


def test_every_record_that_is_imported_has_its_validator_before_polling() -> None:
    """In a process of its own: other tests build validators, and build them for all."""
    ran = subprocess.run([sys.executable, "-c", _BUILT], capture_output=True, text=True, check=True)

    assert ran.stdout.split(maxsplit=1) == ["False", "[]\n"]


class _Part(Record):
    id: str
    title: str = ""
    price: int | None = None


class _Whole(Enclosing):
    repeated: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "part": {"id": "other.id", "title": "title", "price": "other.price"}
    }
    title: str = ""
    other: _Part | None = None
    part: _Part | None = None


@pytest.mark.parametrize(
    ("part", "written"),
    [
        (_Part(id="a", title="t", price=1), {}),
        (_Part(id="b", title="u", price=2), {"id": "b", "title": "u", "price": 2}),
        (_Part(id="a"), {"title": "", "price": None}),
        (None, None),
    ],
)
def test_a_part_is_written_without_what_it_repeats(part: _Part | None, written: object) -> None:
    """A value that differs is written even where it is the default."""
    whole = _Whole(title="t", other=_Part(id="a", price=1), part=part)
    text = whole.model_dump_json(exclude_defaults=True)

    assert json.loads(text).get("part") == written
    assert _Whole.model_validate_json(text) == whole


def test_a_part_without_the_value_that_it_would_repeat_is_written_whole() -> None:
    """And one that was written whole is read as it is."""
    whole = _Whole(part=_Part(id="a", title="t"))

    assert _Whole.model_validate_json(whole.model_dump_json(exclude_defaults=True)) == whole
    assert (
        _Whole.model_validate({"title": "u", "part": {"id": "a", "title": "t"}}).part == whole.part
    )
