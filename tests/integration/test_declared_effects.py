"""What a document says of a call, on real parts: that nobody is asked makes no read of a change.

A stack of its own, for its documents are those of a careless and of a hostile author.
"""

import json
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.planning.models import CallTool, GiveUp
from orchestrator.saga.obligation import ObligationState
from orchestrator.testing import eventually, run_to_end
from orchestrator.testing.installation import Installation, installed
from tests.commands import Ran, run_apart

ANSWER = {"type": "object", "properties": {"note_id": {"type": "string"}}}


def _operation(name: str, *, status: str = "200", **keywords: Any) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": f"{name.replace('_', ' ').capitalize()}.",
        "description": "Use this when a test wants it. Returns the note.",
        "x-orchet-tool": True,
        "responses": {
            status: {"description": "ok", "content": {"application/json": {"schema": ANSWER}}}
        },
        **keywords,
    }


def _body(**properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "required": list(properties), "properties": properties}
    return {"required": True, "content": {"application/json": {"schema": schema}}}


UNASKED: dict[str, Any] = {"x-orchet-requires-confirmation": False}
READS: dict[str, Any] = {"x-orchet-read-only": True}
TEXT = {"type": "string", "maxLength": 200}
ENDLESS = {"type": "string", "pattern": "^(a+)+$", "maxLength": 200}
UNDECIDED = {"type": "string", "pattern": "^(?:(?=a)a+)*x$", "maxLength": 200}
NOTES = {
    "openapi": "3.1.0",
    "info": {"title": "Notes", "version": "1"},
    "servers": [{"url": "https://notes.example"}],
    "paths": {
        "/notes": {
            "delete": _operation("notes_wipe", **UNASKED),
            "post": _operation("note_write", status="201", requestBody=_body(text=TEXT), **UNASKED),
        },
        "/letters": {
            "post": _operation(
                "letter_send",
                status="201",
                requestBody=_body(text=TEXT),
                **{"x-orchet-irreversible": True, "x-orchet-requires-confirmation": True},
            )
        },
        "/notes/search": {
            "post": _operation(
                "notes_find",
                requestBody=_body(word=ENDLESS, code=UNDECIDED),
                **READS,
            )
        },
    },
}
UNDO = GiveUp(reason="the test wants it cancelled")


@pytest.fixture(scope="module")
async def notes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Installation]:
    """Real workers over that document."""
    async with installed({"notes": NOTES}, tmp_path_factory.mktemp("notes")) as running:
        yield running


async def _tools(tmp_path: Path, *arguments: str) -> Ran:
    (tmp_path / "notes.json").write_text(json.dumps(NOTES))
    hidden = {n: v for n, v in os.environ.items() if not n.startswith("ORCHESTRATOR_")}
    environment = {**hidden, "ORCHESTRATOR_STATE_DIR": str(tmp_path / "state")}
    return await run_apart("tools", *arguments, environment=environment)


async def test_a_change_that_nobody_is_asked_about_is_no_read(tmp_path: Path) -> None:
    """It is not listed as one, and `tools call` sends none; a search by POST that says so is."""
    file = str(tmp_path / "notes.json")
    listed = await _tools(tmp_path, "list", "--specs", file, "--json")
    refused = await _tools(tmp_path, "call", "notes_wipe", "--specs", file)

    effects = {tool["name"]: tool["effect"] for tool in listed.json}
    assert effects == {
        "notes_wipe": "write",
        "note_write": "write",
        "letter_send": "write",
        "notes_find": "read",
    }
    assert refused.exit_code == 2
    assert "notes_wipe changes something, so only missions call it" in refused.stderr


async def test_a_change_that_nobody_is_asked_about_is_in_the_ledger(notes: Installation) -> None:
    """Nobody is asked, and when the mission fails an operator sees what cannot be taken back."""
    mission = await notes.start_script(
        CallTool(tool="notes_wipe", arguments={}),
        CallTool(tool="note_write", arguments={"text": "hello"}),
        UNDO,
    )

    result = await run_to_end(mission)
    states = {o.tool: o.state for o in result.ledger.obligations}

    assert set(states) == {"notes_wipe", "note_write"}
    assert states["note_write"] is ObligationState.PARKED


async def test_what_nothing_cancels_is_told_before_and_after(notes: Installation) -> None:
    """On the card that a person reads first, and in the note that an operator reads afterwards."""
    mission = await notes.start_script(
        CallTool(tool="letter_send", arguments={"text": "hello"}), UNDO
    )

    async def asked() -> bool:
        return bool(await mission.confirmations())

    await eventually(asked)
    (card,) = await mission.confirmations()
    result = await run_to_end(mission)
    (obligation,) = result.ledger.obligations

    assert card.cancellation == "nothing cancels it"
    assert obligation.state is ObligationState.PARKED
    assert obligation.note == "nothing cancels letter_send: its document declares it irreversible"


async def test_a_hostile_pattern_stalls_neither_lint_nor_a_worker(
    notes: Installation, tmp_path: Path
) -> None:
    """A worker says no at once to what it cannot check, and goes on."""
    linted = await _tools(tmp_path, "lint", str(tmp_path / "notes.json"), "--format", "json")
    began = time.process_time()
    mission = await notes.start_script(
        CallTool(tool="notes_find", arguments={"word": "a" * 40 + "!", "code": "x"}),
        CallTool(tool="notes_find", arguments={"word": "aaa", "code": "a" * 200}),
        CallTool(tool="notes_find", arguments={"word": "aaa", "code": "x"}),
    )
    result = await run_to_end(mission)
    used = time.process_time() - began

    (leg,) = result.legs
    calls = [step for step in leg.steps if step.did == "call notes_find"]
    assert "ORC027" in linted.stdout
    assert [step.outcome for step in calls] == ["invalid", "invalid", "succeeded"]
    assert "must match the pattern ^(a+)+$" in str(calls[0].error)
    assert "cannot be decided in bounded time" in str(calls[1].error)
    assert used < 20
