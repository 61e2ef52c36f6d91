"""A provider whose answers hold commands for a terminal, hidden marks and markup."""

from __future__ import annotations

import asyncio
import copy
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unicodedata import category

import pytest
import yaml
from temporalio.api.sdk.v1 import WorkflowMetadata

from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.messages import names
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.runtime.demo import DINING
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.settings import bundled_specs
from orchestrator.testing import approve, eventually, run_to_end
from tests.commands import Ran, run_apart
from tests.forked import ForkedStack
from tests.integration.installations import standing

GOAL = f"Reserve a table for four at an Italian restaurant in Lisbon on {DINING} at 20:00"
HOSTILE = (
    "Luna\x1b[2J\x1b[1;31m 1 EUR \u202eRUE 1\u2066 \x9b31m\nPrice 1 EUR [red]x[/red] "
    "<img src=x> ![y](https://evil.example) **b** \U000e0041"
)


def _with_hostile_text(node: Any) -> Any:
    """The document, whose every restaurant is called so, and whose every summary says so."""
    if isinstance(node, list):
        return [_with_hostile_text(item) for item in node]
    if not isinstance(node, dict):
        return node
    changed = {name: _with_hostile_text(value) for name, value in node.items()}
    if isinstance(node.get("restaurant_name"), dict):
        changed["restaurant_name"] = {"type": "string", "const": HOSTILE}
    if isinstance(node.get("summary"), str) and "operationId" in node:
        changed["summary"] = f"{node['summary']} {HOSTILE}"
    return changed


@pytest.fixture(scope="module")
async def own_stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """An installation over a document of ours that was made hostile: no other test wants it so.

    Its state folder was there before, as an earlier release made it: for all to read.
    """
    folder = tmp_path_factory.mktemp("hostile")
    dining = yaml.safe_load((bundled_specs() / "dining.yaml").read_text(encoding="utf-8"))
    specs = folder / "dining.yaml"
    specs.write_text(yaml.safe_dump(_without_examples(_with_hostile_text(dining))))
    state = folder / "state"
    state.mkdir(mode=0o755)
    installation = ForkedStack(state, (specs,), Ports.free())
    before = os.umask(0)
    try:
        async with standing(installation):
            yield installation
    finally:
        os.umask(before)


def _without_examples(document: Any) -> Any:
    """Examples of answers would not be what the schema says any more."""
    document = copy.deepcopy(document)
    for item in document["paths"].values():
        for operation in item.values():
            for answer in operation.get("responses", {}).values():
                for content in answer.get("content", {}).values():
                    content.pop("examples", None)
    return document


@pytest.fixture(scope="module")
async def waiting(own_stack: Stack) -> tuple[MissionHandle, ConfirmationCard]:
    """A mission whose card waits."""
    client = await own_stack.client()
    mission = await client.start(MissionRequest(goal=GOAL))

    async def opened() -> ConfirmationCard | None:
        return next(iter(await mission.confirmations()), None)

    card = await eventually(opened)
    assert card is not None
    return mission, card


async def _command(stack: Stack, *arguments: str) -> Ran:
    environment = {**os.environ, "COLUMNS": "200", **stack.environment}
    return await run_apart(*arguments, environment=environment)


def _hidden(text: str) -> set[str]:
    kinds = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
    return {ascii(c) for c in text if c != "\n" and category(c) in kinds}


async def test_no_command_prints_it_raw(
    own_stack: Stack, waiting: tuple[MissionHandle, ConfirmationCard]
) -> None:
    """For people and for scripts; who reads sees that something was there."""
    mission, card = waiting
    commands = [
        ("confirm", "show", card.confirmation_id),
        ("confirm", "list"),
        ("mission", "show", mission.mission_id),
        ("mission", "list"),
        ("tools", "show", "dining_reserve_table"),
        ("tools", "list"),
        ("route", GOAL),
    ]
    commands += [(*command, "--json") for command in (commands[0], commands[2], commands[4])]
    ran = await asyncio.gather(*(_command(own_stack, *command) for command in commands))

    assert [one.exit_code for one in ran] == [0] * len(ran)
    for one in ran:
        assert _hidden(one.stdout + one.stderr) == set()
    shown, tool = ran[0].stdout, ran[4].stdout
    assert r"Luna\x1b[2J\x1b[1;31m 1 EUR \u202eRUE 1\u2066 \x9b31m" in shown
    assert "[red]x[/red]" in shown
    assert r"\x1b[2J" in tool
    prices = re.findall(r"^\W{0,2}Price +(.*?) *\W$", shown, re.MULTILINE)
    assert prices == [str(card.price)]


async def test_the_temporal_ui_draws_none_of_it(
    own_stack: Stack, waiting: tuple[MissionHandle, ConfirmationCard]
) -> None:
    """The current details of the mission hold the card, as text."""
    mission, _ = waiting
    client = await own_stack.client()
    handle = client.temporal.get_workflow_handle(mission.mission_id)
    shown = await handle.query("__temporal_workflow_metadata", result_type=WorkflowMetadata)
    details = shown.current_details

    assert "Luna" in details
    assert _hidden(details) == set()
    assert re.findall(r"(?<!\\)(<img|!?\[y\]|\*\*b|https?:/)", details) == []
    assert re.findall(r"^Price", details, re.MULTILINE) == []


def _typed(command: list[str], environment: dict[str, str], answer: bytes) -> tuple[int, str]:
    """A command run at a terminal, answered once it asks; its exit code and all it showed there."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, close_fds=True
    )
    os.close(theirs)
    shown, has_answered, deadline = b"", False, time.monotonic() + 60
    while time.monotonic() < deadline:
        if not select.select([ours], [], [], 0.2)[0]:
            continue
        try:
            read = os.read(ours, 65536)
        except OSError:  # how Linux tells the end
            break
        shown += read
        if not read:
            break
        if b"[y/N]" in shown and not has_answered:
            os.write(ours, answer)
            has_answered = True
    os.close(ours)
    if time.monotonic() >= deadline:
        process.kill()
    return process.wait(), shown.decode()


async def test_approving_at_a_terminal_shows_the_card_and_asks(
    own_stack: Stack, waiting: tuple[MissionHandle, ConfirmationCard]
) -> None:
    """A no sends nothing, a yes sends the digest of that card; a script without it is refused."""
    mission, card = waiting
    approving = ("confirm", "approve", card.confirmation_id)
    command = [sys.executable, "-m", "orchestrator", *approving]
    environment = {**os.environ, "COLUMNS": "200", "TERM": "xterm", **own_stack.environment}
    piped = await _command(own_stack, *approving)
    no, asked = await asyncio.to_thread(_typed, command, environment, b"\n")
    still = [one.confirmation_id for one in await mission.confirmations()]
    yes, shown = await asyncio.to_thread(_typed, command, environment, b"y\n")
    result = await run_to_end(mission)

    assert (piped.exit_code, no, yes) == (2, 1, 0)
    assert "give --digest" in piped.stderr
    assert still == [card.confirmation_id]
    for screen in (asked, shown):
        assert screen.index("Luna") < screen.index(f"Approve exactly this, for {card.price}? [y/N]")
        assert card.digest[:16] in screen
        assert "\x1b[2J" not in screen
        assert "\u202e" not in screen
    assert result.status is MissionStatus.SUCCEEDED
    (leg,) = result.legs
    assert [(one.kind, one.digest) for one in leg.decisions] == [("approved", card.digest)]


async def _run_to_end_going_on(stack: Stack, mission: MissionHandle) -> list[Ran]:
    """What commands print of each question, which is told to go on, until the mission is over."""
    printed: list[Ran] = []

    async def asks_or_is_over() -> bool:
        for card in await mission.confirmations():
            await approve(mission, card)
        return bool(await mission.questions() or (await mission.snapshot()).finished_at)

    while await eventually(asks_or_is_over) and (questions := await mission.questions()):
        commands = [("confirm", "list"), ("mission", "show", mission.mission_id)]
        commands.append((*commands[-1], "--json"))
        printed += await asyncio.gather(*(_command(stack, *command) for command in commands))
        for question in questions:
            await mission.answer(question.question_id, {"answer": "go on"})
    return printed


async def test_a_rollback_prints_none_of_it(
    own_stack: Stack, waiting: tuple[MissionHandle, ConfirmationCard]
) -> None:
    """Nor do the questions about what is not carried out of such a goal.

    Its ledger holds what the provider answered.
    """
    client = await own_stack.client()
    condition = HOSTILE.replace("\n", " ")
    mission = await client.start(MissionRequest(goal=f"{GOAL} unless {condition}"))
    asked = await _run_to_end_going_on(own_stack, mission)
    await mission.rollback(reason=HOSTILE, approver="ann@example.com")
    commands = [("mission", "show"), ("rollback", "show"), ("rollback", "show", "--json")]
    ran = await asyncio.gather(
        *(_command(own_stack, *command, mission.mission_id) for command in commands)
    )
    cancelled = client.temporal.get_workflow_handle(names.rollback_workflow_id(mission.mission_id))
    described = await cancelled.describe()
    shown = await cancelled.query("__temporal_workflow_metadata", result_type=WorkflowMetadata)

    assert "I do not carry out" in asked[0].stdout
    assert [one.exit_code for one in (*asked, *ran)] == [0] * len((*asked, *ran))
    for one in (*asked, *ran):
        assert _hidden(one.stdout + one.stderr) == set()
    for markdown in (shown.current_details, await described.static_summary() or ""):
        assert r"Luna\\x1b\[2J" in markdown
        assert _hidden(markdown) == set()


def test_nobody_else_can_read_any_of_the_state(
    own_stack: Stack, waiting: tuple[MissionHandle, ConfirmationCard]
) -> None:
    """Server, sandbox, worker, logs, grants, catalogs, and the shell's exports; with umask 0."""
    folder: Path = own_stack.folder
    found = [folder, *folder.rglob("*")]

    assert {path.name for path in found} >= {"env.sh", "temporal.db", "worker.log", "sandbox.db"}
    assert [str(path) for path in found if path.stat().st_mode & 0o077] == []
