"""Files of requests: four ways of writing the same, and faults that are told by their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.cli.batches import read_batch
from orchestrator.client.batch import BatchFaulty
from orchestrator.core.errors import DocumentUnreadable

_JSONL = """
{"goal": "Book a desk", "id": "desk-1", "inputs": {"seats": 2}, "budget": "90 EUR"}

{"goal": "Weather in Oslo"}
"""
_JSON = (
    '[{"goal": "Book a desk", "id": "desk-1", "inputs": {"seats": 2}, '
    '"budget": {"amount": "90", "currency": "EUR"}}, {"goal": "Weather in Oslo"}]'
)
_YAML = """
- goal: Book a desk
  id: desk-1
  inputs: {seats: 2}
  budget: 90 EUR
- goal: Weather in Oslo
"""
_CSV = "goal,id,budget,input.seats\nBook a desk,desk-1,90 EUR,2\nWeather in Oslo,,,\n"


@pytest.mark.parametrize(
    ("name", "text", "second"),
    [
        ("a.jsonl", _JSONL, "line 4"),
        ("a.json", _JSON, "entry 2"),
        ("a.yaml", _YAML, "entry 2"),
        ("a.csv", _CSV, "line 3"),
    ],
)
def test_all_formats_say_the_same(tmp_path: Path, name: str, text: str, second: str) -> None:
    """With the places where the requests stand."""
    (tmp_path / name).write_text(text)
    desk, weather = read_batch(tmp_path / name)

    assert desk.request.mission_id == "desk-1"
    assert desk.request.inputs == {"seats": 2}
    assert desk.request.budget is not None
    assert str(desk.request.budget.amount) == "90"
    assert weather.place == second
    assert weather.request.mission_id is None
    assert weather.request.requester == desk.request.requester != ""


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ('{"goal": "x", "gaol": 1}', "line 2: gaol"),
        ("{", "line 2: it is no JSON"),
        ("[]", "line 2: a request is an object"),
        ('{"goal": "x", "budget": "90"}', "line 2: budget"),
        ('{"goal": "x", "id": "a.b"}', "line 2: mission_id"),
        ("[" * 100_000, "line 2: "),
    ],
)
def test_a_bad_line_is_told_by_its_number(tmp_path: Path, line: str, wrong: str) -> None:
    """Whatever is wrong with it."""
    (tmp_path / "a.jsonl").write_text(f'{{"goal": "x"}}\n{line}\n')
    with pytest.raises(BatchFaulty, match=wrong):
        read_batch(tmp_path / "a.jsonl")


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("a.txt", "x", "ends in none of"),
        ("a.json", "{}", "a list"),
        ("a.jsonl", "\n", "no request"),
        ("a.csv", "goal,gaol\nx,y\n", "gaol"),
    ],
)
def test_what_is_no_list_is_refused(tmp_path: Path, name: str, text: str, wrong: str) -> None:
    """In a sentence that names the file."""
    (tmp_path / name).write_text(text)
    with pytest.raises(DocumentUnreadable, match=wrong):
        read_batch(tmp_path / name)
