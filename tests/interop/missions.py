"""Missions with the named documents, as a stranger begins: nothing of them is prepared by hand.

Each document is marked by the overlay that `orchestrator tools suggest` proposes, as it is. One
mission is to succeed, and is rolled back later; one is to roll back. Both play at the sandbox that
`orchestrator dev` serves it with, whose ledger says what was left behind.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from orchestrator.client.connection import connect_temporal
from orchestrator.client.mission_client import MissionClient
from orchestrator.core.errors import OrchestratorError
from orchestrator.messages.mission import MissionRequest
from orchestrator.runtime.devserver import Ports, ourselves
from orchestrator.sandbox import FaultRule, SandboxClient
from orchestrator.settings import Settings
from orchestrator.testing import run_to_end
from tests.interop.listing import Listed, listed

SCRIPTS: Final = Path(__file__).parent / "missions.json"
_STARTS_WITHIN_S: Final = 180.0
_ENDS_WITHIN_S: Final = 240.0
_REFUSED: Final = 422


@dataclass(frozen=True)
class Script:
    """What is asked of one document."""

    document: str
    goal: str
    """In English; it is to succeed."""
    refused_goal: str
    """The last part of it is refused for good."""
    refused: str
    """The operationId that the sandbox refuses."""
    inputs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Effect:
    """What the sandbox's ledger holds of a mission."""

    operation: str
    kind: str
    status: str


@dataclass(frozen=True)
class Played:
    """A mission, and what the sandbox says that it did."""

    mission_id: str
    goal: str
    status: str
    cards: int
    error: str
    effects: tuple[Effect, ...]

    @property
    def left(self) -> list[str]:
        """The operations of what stands at the provider."""
        return [one.operation for one in self.effects if one.status == "live"]


@dataclass(frozen=True)
class Outcome:
    """What became of the missions of one document."""

    document: str
    operations: int
    marked: int
    pairs: int
    lint_errors: int
    succeeded: Played
    later: str
    """What its later rollback left, or why it failed; '' if everything was cancelled."""
    rolled_back: Played

    @property
    def is_ok(self) -> bool:
        """One made what it was to make and was rolled back later; of the other nothing is left."""
        done, undone = self.succeeded, self.rolled_back
        made = [one for one in undone.effects if one.kind == "create"]
        return (
            done.status == "succeeded"
            and len(done.left) == 1
            and done.cards == 1
            and not self.later
            and undone.status == "rolled_back"
            and bool(made)
            and not undone.left
        )


def scripts() -> list[Script]:
    """Return the missions of `missions.json`."""
    return [Script(**one) for one in json.loads(SCRIPTS.read_text(encoding="utf-8"))]


def play_missions(options: argparse.Namespace) -> int:
    """Play the missions of every document that was chosen; 1 when one came to another end."""
    files = {entry.name: entry for entry in listed(options.folder)}
    chosen = [one for one in scripts() if not options.only or one.document in options.only]
    outcomes = []
    for script in chosen:
        if script.document not in files:
            sys.stderr.write(f"{script.document} is not in {options.folder}: bring it first\n")
            return 1
        outcome = asyncio.run(play(script, options.folder, files[script.document]))
        outcomes.append(outcome)
        sys.stdout.write(written(outcome) + "\n")
        sys.stdout.flush()
    sys.stdout.write(table(outcomes) + "\n")
    return int(not all(outcome.is_ok for outcome in outcomes))


async def play(script: Script, folder: Path, entry: Listed) -> Outcome:
    """Mark a document as it is proposed, and play its missions in an installation of its own."""
    with tempfile.TemporaryDirectory(prefix="interop-missions-") as scratch:
        document, overlay = folder / entry.file, Path(scratch) / "tools.yaml"
        proposed = await _json("tools", "suggest", str(document), "--out", str(overlay), "--json")
        async with _dev(document, overlay, Path(scratch) / "state") as (client, sandbox):
            await sandbox.clear_faults()
            succeeded, later = await _cancelled_later(client, sandbox, script)
            refusal = FaultRule(operation_id=script.refused, kind="status_before", status=_REFUSED)
            await sandbox.set_faults([refusal])
            undone = await _played(client, sandbox, script.refused_goal, script.inputs)
    return Outcome(
        script.document,
        proposed["operations"],
        proposed["marked"],
        len(proposed["pairs"]),
        proposed["lint"]["error"],
        succeeded,
        later,
        undone,
    )


async def _cancelled_later(
    client: MissionClient, sandbox: SandboxClient, script: Script
) -> tuple[Played, str]:
    """Play the first mission, and then roll it back, which frees the names that it took."""
    played = await _played(client, sandbox, script.goal, script.inputs)
    if not played.left:
        return played, "nothing to roll back"
    who = "stranger@example.com"
    try:
        async with asyncio.timeout(_ENDS_WITHIN_S):
            await client.rollback(played.mission_id, reason="interop trial", approver=who)
    except (OrchestratorError, TimeoutError) as why:
        return played, str(why) or "the rollback stands still"
    left = [
        e["operation"] for e in await sandbox.ledger(played.mission_id) if e["status"] == "live"
    ]
    return played, f"left: {', '.join(map(str, left))}" if left else ""


async def _played(
    client: MissionClient, sandbox: SandboxClient, goal: str, inputs: Mapping[str, Any]
) -> Played:
    handle = await client.start(MissionRequest(goal=goal, inputs=dict(inputs)))
    approved: set[str] = set()

    async def decide(mission: Any, card: Any) -> None:
        await mission.approve(card, approver="stranger@example.com")
        approved.add(card.confirmation_id)

    status, error = "stands still", ""
    try:
        result = await run_to_end(handle, decide, timeout_s=_ENDS_WITHIN_S)
        status, error = result.status, result.error or ""
    except (AssertionError, TimeoutError) as why:
        error = str(why)
    kept = await sandbox.ledger(handle.mission_id)
    effects = tuple(Effect(str(e["operation"]), str(e["kind"]), str(e["status"])) for e in kept)
    return Played(handle.mission_id, goal, status, len(approved), error, effects)


async def _json(*words: str) -> Any:
    """What a command says as JSON."""
    process = await asyncio.create_subprocess_exec(
        *ourselves(), *words, env=_environment(), stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    return json.loads(printed)


@contextlib.asynccontextmanager
async def _dev(
    document: Path, overlay: Path, state: Path
) -> AsyncIterator[tuple[MissionClient, SandboxClient]]:
    ports = Ports.free(has_inbox=True)
    process = await asyncio.create_subprocess_exec(
        *(*ourselves(), "dev", f"--specs={document}", f"--overlay={overlay}"),
        *(f"--folder={state}", f"--temporal-port={ports.temporal}", f"--ui-port={ports.ui}"),
        *(f"--sandbox-port={ports.sandbox}", f"--inbox-port={ports.inbox}"),
        env=_environment(),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(_STARTS_WITHIN_S):
            await process.stdout.readuntil(b"state is kept")
        rest = asyncio.create_task(process.stdout.read())
        settings = Settings.model_construct(
            specs=(state / "documents",), state_dir=state, task_queue="orchestrator"
        )
        temporal = await connect_temporal(f"127.0.0.1:{ports.temporal}", settings)
        async with SandboxClient(f"http://127.0.0.1:{ports.sandbox}") as sandbox:
            yield MissionClient(temporal, settings), sandbox
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        await process.wait()
    await rest


def _environment() -> dict[str, str]:
    ours = ("ORCHESTRATOR_", "TEMPORAL_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "COLUMNS": "200"}


def written(outcome: Outcome) -> str:
    """Everything about one document, for reading."""
    lines = [
        f"== {outcome.document}: {outcome.operations} operations, {outcome.marked} marked, "
        f"{outcome.pairs} pairs, {outcome.lint_errors} lint errors"
    ]
    for played in (outcome.succeeded, outcome.rolled_back):
        effects = ", ".join(f"{e.operation} ({e.kind}, {e.status})" for e in played.effects)
        lines.append(f"   {played.goal!r}: {played.status}; {effects or 'nothing was done'}")
        lines += [f"      {played.error}"] if played.error else []
    lines += [f"   its later rollback: {outcome.later}"] if outcome.later else []
    return "\n".join(lines)


def table(outcomes: list[Outcome]) -> str:
    """The documents side by side, in Markdown."""
    head = (
        "| document | marked | pairs | succeeds | left | rolled back later "
        "| is rolled back | made, cancelled |"
    )
    rows = [head, "|---|---:|---:|---|---|---|---|---|"]
    for one in outcomes:
        made = [e.operation for e in one.rolled_back.effects if e.kind == "create"]
        undone = [e.operation for e in one.rolled_back.effects if e.kind == "cancel"]
        cells = (
            one.document,
            one.marked,
            one.pairs,
            f"{one.succeeded.goal}: {one.succeeded.status}",
            ", ".join(one.succeeded.left) or "nothing",
            one.later or "yes",
            f"{one.rolled_back.goal}: {one.rolled_back.status}",
            f"{', '.join(made)}; {', '.join(undone)}",
        )
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(rows)
