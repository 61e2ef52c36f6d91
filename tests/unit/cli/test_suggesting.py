"""`orchestrator tools suggest`: what it prints and writes, and what it refuses."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest import MonkeyPatch

from orchestrator.chaos.verdicts.report import Flaw, PairCheck, PairsReport
from orchestrator.cli import chaos_runs
from orchestrator.core.errors import UsageError
from tests.commands import Ran

Tried = Callable[..., None]

Run = Callable[..., Ran]
FLAW = Flaw(why="it still stands", remedy="cancel it")


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """Tickets that are opened and deleted, without a contract."""

    def operation(name: str, **more: Any) -> dict[str, Any]:
        schema = {"type": "object", "properties": {"id": {"type": "string"}}}
        content = {"application/json": {"schema": schema}}
        responses = {"201": {"description": "Done.", "content": content}}
        said = f"{name.replace('_', ' ')} of somebody at the desk"
        return {"operationId": name, "summary": said, "description": said, "responses": responses}

    parameter = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    one = {"get": operation("get_ticket"), "delete": operation("delete_ticket")}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Desk", "version": "1"},
        "servers": [{"url": "https://desk.example"}],
        "paths": {
            "/tickets": {"post": operation("create_ticket")},
            "/tickets/{id}": {"parameters": [parameter], **one},
        },
    }
    file = tmp_path / "desk.json"
    file.write_text(json.dumps(document))
    return file


@pytest.fixture
def tried(monkeypatch: MonkeyPatch) -> Callable[..., None]:
    """Has the trials of --check come out so: the flaws of each case."""

    def come_out(made: int = 1, **flaws: Flaw) -> None:
        pair: dict[str, Any] = {"tool": "create_ticket", "cancel": "delete_ticket", "made": made}
        checks = tuple(
            PairCheck(
                document="desk", case=case.replace("_", " "), ok=not found, flaws=found, **pair
            )
            for case in ("clean", "answer_lost", "too_late")
            for found in [tuple(flaws[name] for name in flaws if name == case)]
        )

        async def report(*_: object, **__: object) -> PairsReport:
            return PairsReport(seed=1, pairs=1, checks=checks, seconds=1, ok=not flaws)

        monkeypatch.setattr(chaos_runs, "try_documents", report)

    return come_out


def test_the_overlay_is_all_of_standard_output(run: Run, desk: Path) -> None:
    ran, told = run("tools", "suggest", "desk.json"), run("tools", "suggest", "desk.json", "--json")
    (desk.parent / "ours.yaml").write_text(ran.stdout)
    listed = run("tools", "list", "--specs", "desk.json", "--overlay", "ours.yaml", "--json")
    assert (told.json["operations"], told.json["marked"], told.json["questions"]) == (3, 3, 0)
    assert told.json["pairs"][0]["args"] == {"id": "$response.body#/id"}
    assert (told.json["lint"]["error"], ran.exit_code) == (0, 0)
    assert "x-orchet-cancels: delete_ticket" in told.json["overlay"]
    assert "rollback pairs: 1" in ran.stdout
    assert {tool["name"]: tool["effect"] for tool in listed.json} == {
        "create_ticket": "obligation",
        "delete_ticket": "cancel",
        "get_ticket": "read",
    }


def test_a_file_is_written_once_and_named_with_what_comes_next(run: Run, desk: Path) -> None:
    """One that is there is kept, unless it is said otherwise."""
    wrote = run("tools", "suggest", "desk.json", "--out", "ours.yaml")
    (desk.parent / "ours.yaml").write_text("mine")
    refused = run("tools", "suggest", "desk.json", "--out", "ours.yaml")
    kept = (desk.parent / "ours.yaml").read_text()
    forced = run("tools", "suggest", "desk.json", "--out", "ours.yaml", "--force")

    assert "orchestrator tools lint desk.json --overlay ours.yaml" in wrote.stdout
    assert (refused.exit_code, kept) == (2, "mine")
    assert "--force" in refused.stderr
    assert forced.exit_code == 0
    assert run("tools", "lint", "desk.json", "--overlay", "ours.yaml").exit_code == 0


def test_what_is_marked_by_another_overlay_is_respected(run: Run, desk: Path) -> None:
    """--overlay is applied first."""
    (desk.parent / "mine.yaml").write_text(
        "overlay: 1.0.0\ninfo: {title: Mine, version: '1'}\nactions:\n"
        "  - target: $.paths['/tickets'].post\n    update: {x-orchet-tool: false}\n"
    )
    told = run("tools", "suggest", "desk.json", "--overlay", "mine.yaml", "--json").json

    assert (told["marked_before"], told["pairs"]) == (1, [])


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("tools suggest desk.json --only /visits", "/visits"),
        ("tools suggest .", "name one"),
        ("chaos run --specs desk.json", "orchestrator tools suggest desk.json"),
    ],
    ids=["nothing there", "several documents", "nothing to try"],
)
def test_wrong_usage_says_what_to_do(run: Run, desk: Path, words: str, named: str) -> None:
    """An overlay is for one document, and a chaos run needs a mark."""
    (desk.parent / "other.json").write_text(desk.read_text())
    ran = run(*words.split())

    assert ran.exit_code == 2
    assert named in ran.stderr


def test_a_pair_that_fails_is_a_comment_with_the_reason(run: Run, desk: Path, tried: Tried) -> None:
    tried(clean=FLAW)
    told = run("tools", "suggest", "desk.json", "--check", "--json").json

    assert told["pairs"] == []
    assert told["tried"][0]["standing"] == "failed"
    assert "# check: in the sandbox: clean: it still stands" in told["overlay"]
    assert "\n      x-orchet-cancel" not in told["overlay"]


@pytest.mark.parametrize(
    ("outcome", "standing"),
    [({}, "held"), ({"answer_lost": FLAW}, "parks"), ({"clean": FLAW, "made": 0}, "untried")],
)
def test_a_pair_that_does_not_fail_stays(
    run: Run, desk: Path, tried: Tried, outcome: dict[str, Any], standing: str
) -> None:
    """Where its answer is lost nothing could find it, which is asked beside it already."""
    tried(**outcome)
    told = run("tools", "suggest", "desk.json", "--check", "--json").json

    assert [pair["tool"] for pair in told["pairs"]] == ["create_ticket"]
    assert told["tried"][0]["standing"] == standing
    assert ("not tried" in told["overlay"]) is (standing == "untried")


def test_what_cannot_be_served_is_untried(run: Run, desk: Path, monkeypatch: MonkeyPatch) -> None:
    async def refuse(*_: object, **__: object) -> PairsReport:
        raise UsageError("document 'desk': it cannot be served")

    monkeypatch.setattr(chaos_runs, "try_documents", refuse)
    told = run("tools", "suggest", "desk.json", "--check", "--json").json

    assert [pair["tool"] for pair in told["pairs"]] == ["create_ticket"]
    assert "cannot be served" in told["look_at_first"][0]
    assert "cannot be served" in told["overlay"]


def test_a_loss_that_should_be_survived_fails(run: Run, desk: Path, tried: Tried) -> None:
    """With a key the answer is asked for again: what stands then is the pair's fault."""
    document = json.loads(desk.read_text())
    key = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
    document["paths"]["/tickets"]["post"]["parameters"] = [key]
    desk.write_text(json.dumps(document))
    tried(answer_lost=FLAW)
    told = run("tools", "suggest", "desk.json", "--check", "--json").json

    assert (told["pairs"], told["tried"][0]["standing"]) == ([], "failed")


@pytest.mark.parametrize(
    "command", [("tools", "list", "--specs", "desk.json"), ("tools", "lint", "desk.json")]
)
def test_without_a_mark_it_says_how_to_begin(
    run: Run, desk: Path, command: tuple[str, ...]
) -> None:
    ran = run(*command)

    assert (ran.exit_code, ran.stdout) == (0, "")
    assert "orchestrator tools suggest desk.json --out overlay.yaml" in ran.stderr
