"""`tools list` tells what it lists, what it skipped, and what is called otherwise."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.cli.output import console
from tests.commands import Ran

DOCUMENT = """
openapi: 3.1.0
info: {title: Parts, version: "1"}
paths:
  /parts:
    get: {x-orchet-tool: true, responses: {}}
    post:
      x-orchet-tool: true
      operationId: add
      parameters: [{name: a, in: nowhere}]
      responses: {}
"""


def test_what_is_skipped_is_listed_with_its_place(run: Callable[..., Ran], tmp_path: Path) -> None:
    """File and line, pointer, reason and remedy; and the tool that has a made name."""
    (tmp_path / "parts.yaml").write_text(DOCUMENT)

    listed = run("tools", "list", "--specs", "parts.yaml")
    text = " ".join(listed.stdout.split())

    assert listed.exit_code == 0
    assert "get_parts (GET /parts): it has no operationId" in text
    assert text.endswith(
        "1 skipped add of parts: a parameter cannot be in 'nowhere' "
        "parts.yaml:10 /paths/~1parts/post/parameters/0/in "
        "correct this place, in the document or by an overlay"
    )


def test_a_script_gets_what_is_skipped_after_the_tools(
    run: Callable[..., Ran], tmp_path: Path
) -> None:
    """Marked as that; nothing else is on standard output."""
    (tmp_path / "parts.yaml").write_text(DOCUMENT)

    tool, skipped = json.loads(run("tools", "list", "--specs", "parts.yaml", "--json").stdout)

    assert (tool["name"], tool["named_so"]) == ("get_parts", "it has no operationId")
    assert skipped["skipped"] is True
    assert (skipped["name"], skipped["line"]) == ("add", 10)
    assert {"pointer", "reason", "remedy", "document", "file"} <= skipped.keys()


def test_a_skipped_tool_that_is_asked_for_says_why(run: Callable[..., Ran], tmp_path: Path) -> None:
    """It is not told to be unknown."""
    (tmp_path / "parts.yaml").write_text(DOCUMENT)

    shown = run("tools", "show", "add", "--specs", "parts.yaml")

    assert shown.exit_code == 2
    assert "add of parts is skipped: a parameter cannot be in 'nowhere'" in shown.stderr


def test_names_stay_whole_on_a_narrow_terminal(
    run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table where it fits; else what undoes a tool stands below it, in words."""
    monkeypatch.setattr(console, "_width", 160)
    wide = run("tools", "list").stdout.splitlines()
    monkeypatch.setattr(console, "_width", 60)
    narrow = run("tools", "list").stdout.splitlines()

    assert wide[0].split() == ["tool", "domain", "effect", "confirmation", "undone", "by"]
    at = narrow.index("calendar_create_event")
    assert " ".join(" ".join(narrow[at + 1 : at + 3]).split()) == (
        "domain calendar, effect obligation, confirmation structured-reservation, "
        "undone by calendar_cancel_event"
    )
    assert max(map(len, narrow)) <= 60


def test_one_is_told_in_the_singular(run: Callable[..., Ran], tmp_path: Path) -> None:
    """Where numbers are written with what they count."""
    (tmp_path / "parts.yaml").write_text(DOCUMENT)

    assert "\n1 tool, catalog " in run("tools", "list", "--specs", "parts.yaml").stdout
