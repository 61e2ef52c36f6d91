"""What cannot work is refused in one line that says how to mend it, never by a traceback."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from orchestrator.runtime.devserver import Ports
from tests.commands import Ran

if TYPE_CHECKING:
    from tests.integration.conftest import Cli

WEATHER = "What is the weather in Oslo tomorrow?"


def refusal(ran: Ran, exit_code: int) -> str:
    """The one line on standard error, with nothing on standard output."""
    assert ran.exit_code == exit_code, ran.stderr
    assert ran.stdout == ""
    (line,) = ran.stderr.splitlines()
    assert line.startswith("orchestrator: ")
    return line


WRONG: dict[tuple[str, ...], str] = {
    ("tools", "show", "flight_bok_offer"): "did you mean flight_book_offer",
    ("tools", "list", "--specs", "no/such/folder"): "no/such/folder cannot be read",
    ("mission", "start", WEATHER, "--budget", "many", "EUR"): "'many' is not a number",
    ("mission", "start", WEATHER, "--budget", "9", "EURO"): "'EURO' is not a valid currency",
    ("mission", "start", WEATHER, "--budget", "-9", "EUR"): "'-9' is not a valid amount",
    ("mission", "start", WEATHER, "--budget", "9", "PTS"): "'PTS' is no currency of ISO 4217",
    ("mission", "start", WEATHER, "--input", "guests"): "'guests' is not NAME=VALUE",
    ("mission", "start", WEATHER, "--id", "a.b"): "mission_id: ",
    ("mission", "start", ""): "say what to do",
    ("mission", "start", " \t "): "say what to do",
    ("mission", "list", "--status", "parkt"): "'parkt' is no status of a mission; use one of: ",
    ("mission", "list", "--status", ""): "parked, planning, rolled_back",
    ("mission", "show", "nobody-knows-1"): "no mission 'nobody-knows-1'",
    ("mission", "watch", "nobody-knows-1"): "no mission 'nobody-knows-1'",
    ("mission", "cancel", "nobody-knows-1"): "no mission 'nobody-knows-1'",
    ("mission", "rollback", "nobody-knows-1"): "no mission 'nobody-knows-1'",
    ("rollback", "show", "nobody-knows-1"): "no rollback of 'nobody-knows-1'",
    ("rollback", "resolve", "nobody-1.1-x.2", "retry"): "nobody-1.1-x.2: it is closed, or",
    ("confirm", "show", "nobody-1.1-x.2"): "nobody-1.1-x.2: no such confirmation",
    ("confirm", "approve", "nobody-1.1-x.2"): "no terminal to ask at; give --digest",
    ("confirm", "approve", "nobody-1.1-x.2", "--json"): "--json never prompts: give --digest",
    ("confirm", "approve", "nobody-1.1-x.2", "--digest", "0"): "it is closed, or never was",
    ("confirm", "reject", "nonsense", "--reason", "no"): "nonsense: this is no id",
    ("confirm", "amend", "nobody-1.1-x.2", "guests"): "'guests' is not NAME=VALUE",
    ("mission", "answer", "nobody-1.1-x.2", "guests=2"): "nobody-1.1-x.2: it is closed, or",
}
"""Commands that ask for what cannot be, and what they are told."""

UNKNOWN: dict[tuple[str, ...], str] = {
    ("fly",): "No such command 'fly'",
    ("mission", "fly"): "No such command 'fly'",
    ("mission", "list", "--colour"): "No such option",
    ("mission", "start"): "say what to do",
    ("confirm", "reject", "a.b.1"): "Missing option '--reason'",
    ("rollback", "resolve", "a.b.1", "undo"): "is not one of 'retry', 'cancelled', 'accept'",
}
"""Commands that are none."""


@pytest.mark.parametrize("command", WRONG, ids=" ".join)
def test_wrong_usage_is_one_line_and_exit_code_2(
    command: tuple[str, ...], here: Callable[..., Ran]
) -> None:
    """The line names what is wrong, or what would be right."""
    assert WRONG[command] in refusal(here(*command), 2)


@pytest.mark.parametrize("command", UNKNOWN, ids=" ".join)
def test_a_command_that_does_not_exist_exits_with_2(
    command: tuple[str, ...], here: Callable[..., Ran]
) -> None:
    """The help that is printed says what there is."""
    ran = here(*command)

    assert ran.exit_code == 2
    assert UNKNOWN[command] in ran.stderr
    assert "Traceback" not in ran.stderr


def test_the_id_of_a_leg_is_no_missions(here: Callable[..., Ran]) -> None:
    """Nobody cancels a whole mission by the id of a part of it."""
    mission = here("mission", "start", WEATHER, "--wait", "--json").json
    leg = f"{mission['mission_id']}.{mission['legs'][0]['leg_id']}"

    for command in ("cancel", "rollback"):
        assert f"no mission '{leg}'" in refusal(here("mission", command, leg), 2)


@pytest.mark.parametrize("content", ["openapi: [", "just words"], ids=["no-yaml", "no-object"])
async def test_a_document_that_does_not_parse_is_named(
    content: str, cli: Cli, tmp_path: Path
) -> None:
    """The path of the document is in the line."""
    document = tmp_path / "broken.yaml"
    document.write_text(content)

    assert "broken.yaml" in refusal(await cli("tools", "list", "--specs", str(document)), 2)


@pytest.mark.parametrize(
    "command",
    [("mission", "start", WEATHER, "--wait"), ("confirm", "list")],
    ids=lambda command: "-".join(command[:2]),
)
async def test_no_server_at_the_address_is_said_within_seconds(
    command: tuple[str, ...], cli: Cli
) -> None:
    """The address is named, and the command that starts a server."""
    address = f"127.0.0.1:{Ports.free().temporal}"
    line = refusal(await cli(*command, TEMPORAL_ADDRESS=address), 1)

    assert address in line
    assert "orchestrator dev" in line


@pytest.mark.parametrize(
    ("name", "value"),
    [("confirmation_expiry", "-PT1H"), ("answer_expiry", "PT0S"), ("deadline", "P99999D")],
)
def test_a_policy_that_would_end_a_mission_at_once_is_named(
    name: str, value: str, here: Callable[..., Ran], tmp_path: Path
) -> None:
    """So is one with a date that no calendar has."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(f"{name}: {value}")

    assert f"{name} is " in refusal(here("mission", "start", WEATHER, "--policy", str(policy)), 2)


async def test_a_goal_that_nothing_can_do_fails_before_it_begins(cli: Cli) -> None:
    """Waited for or watched, the mission says which words no tool fits."""
    goal = "Compose a symphony in D minor"
    plain, document = await asyncio.gather(
        cli("mission", "start", goal, "--wait"), cli("mission", "start", goal, "--wait", "--json")
    )

    assert (plain.exit_code, document.exit_code) == (1, 1)
    assert "no tool fits" in plain.stdout
    assert "orchestrator tools list" in document.json["error"]
    assert document.json["legs"] == []
    assert "Traceback" not in plain.stderr + document.stderr


async def test_a_setting_that_is_not_what_it_should_be_is_named(cli: Cli) -> None:
    """The variable is in the line."""
    line = refusal(await cli("tools", "list", ORCHESTRATOR_SERVER_VARIABLES="port"), 2)

    assert "SERVER_VARIABLES" in line.upper()
