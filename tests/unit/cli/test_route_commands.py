"""`orchestrator route ...`: routing a text, learning from records, and loading what was learned."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest import MonkeyPatch

from orchestrator.adapters.storage.store import Store
from orchestrator.routing.learning.trace import record_of
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.router import Router

Run = Callable[..., Any]

_DOWN = """
from orchestrator.core.errors import EmbedderUnavailable

class Down:
    name = "down"

    def __init__(self, settings): pass

    def embed(self, texts):
        raise EmbedderUnavailable("ConnectError")
"""
REQUESTS = ("find flights to Rome", "weather in Oslo", "cancel my hotel booking", "list my files")


@pytest.fixture
def traces(router: Router, tmp_path: Path) -> Path:
    """Records of a worker on whose catalog one tool is always called instead of the best."""
    path = tmp_path / "store.db"
    store = Store(tmp_path).traces
    for step in range(60):
        selection = router.route(REQUESTS[step % len(REQUESTS)])
        ranked = list(selection.scores)
        store.record(record_of(selection, mission_id="m", leg_id="l", step=step))
        store.called(mission_id="m", leg_id="l", step=step, tool=ranked[1])
    return path


def test_a_text_is_routed_and_explained(run: Run) -> None:
    """For scripts in one document, with the headers."""
    ran = run("route", "weather in London", "--explain")
    routed = run("route", "weather in London", "--json").json

    assert ran.exit_code == 0
    for part in ("weather_get_forecast", "domain weather", "examples"):
        assert part in ran.stdout
    assert routed["headers"]["x-orqen-routing"] == "semantic"
    assert routed["embedder"] == "used"
    assert routed["fits"] is True
    assert "weather_get_forecast" in routed["tools"]


@pytest.mark.parametrize("text", ["translate good morning into Japanese", "play some jazz"])
def test_what_no_tool_can_do_is_told(text: str, run: Run) -> None:
    """Whether or not some share a word or a value with it; else nothing is said of that."""
    assert run("route", text).stdout.startswith("nothing here seems to fit")
    assert run("route", text, "--json").json["fits"] is False
    assert "seems to fit" not in run("route", "weather in London").stdout


def test_an_embedder_that_is_down_is_told_and_nothing_is_lost(
    run: Run, monkeypatch: MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "vectors_down.py").write_text(_DOWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("ORCHESTRATOR_STATE_DIR", str(tmp_path))
    ran = run("route", "weather in London", "--embedder", "vectors_down:Down")
    monkeypatch.setenv("ORCHESTRATOR_EMBEDDER", "vectors_down:Down")
    by_setting = run("route", "weather in London", "--json").json

    assert ran.exit_code == 0
    assert "weather_get_forecast" in ran.stdout
    assert "embedder: ConnectError" in ran.stdout
    assert by_setting["embedder"] == "ConnectError"
    assert by_setting["headers"]["x-orqen-embedder"] == "left_out"


def test_vectors_are_built_in_and_can_be_turned_off(run: Run, monkeypatch: MonkeyPatch) -> None:
    """By flag or by setting; the flag goes before the setting."""
    text = ("route", "weather in London", "--json")
    assert run(*text).json["headers"]["x-orqen-embedder"] == "used"
    assert run(*text, "--embedder", "none").json["embedder"] == ""
    monkeypatch.setenv("ORCHESTRATOR_EMBEDDER", "none")
    off = run(*text).json
    assert off["embedder"] == ""
    assert "x-orqen-embedder" not in off["headers"]
    assert run(*text, "--embedder", "built-in").json["embedder"] == "used"


def test_what_was_learned_changes_what_a_worker_forwards(
    run: Run, traces: Path, tmp_path: Path, monkeypatch: MonkeyPatch
) -> None:
    """The tool that was called in the end comes first, once the profile is loaded."""
    monkeypatch.setenv("ORCHESTRATOR_EMBEDDER", "none")  # as in the worker of the records
    text = REQUESTS[0]
    route = ("route", text, "--json", "--embedder", "none")  # as the router of the records
    before = list(run(*route).json["scores"])
    ran = run("route", "calibrate", str(traces), "--out", str(tmp_path / "profile.json"), "--json")
    monkeypatch.setenv("ORCHESTRATOR_ROUTING_PROFILE", str(tmp_path / "profile.json"))
    after = list(run(*route).json["scores"])

    assert (ran.exit_code, ran.json["records"]) == (0, 60)
    assert ran.json["first_right_before"] < ran.json["first_right_after"]
    assert after[0] == before[1]
    assert before[0] != before[1]
    kept = RoutingProfile.model_validate_json((tmp_path / "profile.json").read_text())
    assert kept.learned[before[1]] > 0


def test_records_of_an_evaluation_are_enough(run: Run, tmp_path: Path) -> None:
    """What `eval --traces` writes `calibrate` reads, and `eval --profile` what that writes."""
    tools = [
        {"name": "get_weather", "description": "Weather of a city."},
        {"name": "pay_bill", "description": "Pay a bill."},
        {"name": "list_bills", "description": "List bills."},
    ]
    queries = [
        {"id": str(n), "query": "bills of the city", "gold": ["list_bills"], "split": split}
        for n in range(20)
        for split in ("train", "eval")
    ]
    for name, lines in (("tools", tools), ("queries", queries)):
        text = "\n".join(json.dumps(line) for line in lines)
        (tmp_path / f"{name}.jsonl").write_text(text)
    records, profile = str(tmp_path / "r.jsonl"), str(tmp_path / "p.json")
    evaluated = run("route", "eval", str(tmp_path), "--split", "train", "--traces", records)
    fitted = run("route", "calibrate", records, "--out", profile)
    measured = run("route", "eval", str(tmp_path), "--profile", profile, "--json").json
    unaided = run("route", "eval", str(tmp_path), "--embedder", "none", "--json").json

    assert (evaluated.exit_code, fitted.exit_code) == (0, 0)
    assert measured["queries"] == 20
    assert measured["embedder_used"] == 20
    assert unaided["embedder_used"] is None


@pytest.mark.parametrize("content", [None, "not json", '{"crisp": "high"}'])
def test_a_profile_that_is_none_is_refused_with_its_name(
    run: Run, tmp_path: Path, monkeypatch: MonkeyPatch, content: str | None
) -> None:
    path = tmp_path / "profile.json"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv("ORCHESTRATOR_ROUTING_PROFILE", str(path))
    ran = run("route", "weather in London")

    assert ran.exit_code == 2
    assert "profile.json" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_records_without_a_call_teach_nothing(run: Run, router: Router, tmp_path: Path) -> None:
    store = Store(tmp_path).traces
    store.record(record_of(router.route("weather in Oslo")))
    ran = run("route", "calibrate", str(tmp_path / "store.db"), "--out", str(tmp_path / "p.json"))

    assert ran.exit_code == 2
    assert "holds no selection" in ran.stderr
    assert not (tmp_path / "p.json").exists()
