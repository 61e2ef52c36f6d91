"""Policies of confirmation on a whole installation, by commands alone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.testing import eventually
from tests.fakes import own_id

if TYPE_CHECKING:
    from orchestrator.client.mission_client import MissionClient
    from tests.integration.conftest import Cli

ALERTS = "Subscribe to weather alerts for Oslo"


def written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


async def test_only_who_may_decides(cli: Cli, client: MissionClient, tmp_path: Path) -> None:
    """The card says who; another is refused with a sentence, and the mission is unharmed."""
    policy = written(
        tmp_path / "policy.yaml", 'confirmation: {approvers: [{approvers: ["*@ops.example.com"]}]}'
    )
    mission_id = own_id("policy-approvers")
    start = ("mission", "start", ALERTS, "--id", mission_id, "--policy", policy)
    waiting = asyncio.create_task(cli(*start, "--wait", "--json"))

    async def opened() -> bool:
        return mission_id in [card.mission_id for card in (await client.waiting()).cards]

    await eventually(opened)
    listed = (await cli("confirm", "list", "--json")).json
    (found,) = [card for card in listed if card["mission_id"] == mission_id]
    card, digest = found["confirmation_id"], ("--digest", found["digest"])
    shown, refused = await asyncio.gather(
        cli("confirm", "show", card),
        cli("confirm", "approve", card, *digest, "--approver", "eve@example.com"),
    )
    approved = await cli("confirm", "approve", card, *digest, "--approver", "ann@ops.example.com")
    ran = await waiting

    assert "*@ops.example.com" in shown.stdout
    assert "Oslo" in shown.stdout
    assert refused.exit_code == 2
    assert "eve@example.com may not decide on this" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert (approved.exit_code, ran.exit_code) == (0, 0)
    assert ran.json["receipts"][0]["confirmed_by"] == "ann@ops.example.com"


async def test_a_wrong_policy_starts_nothing(cli: Cli, tmp_path: Path) -> None:
    """One sentence with the file and the place in it."""
    policy = written(tmp_path / "policy.yaml", "confirmation: {aprovers: []}")
    ran = await cli("mission", "start", ALERTS, "--id", "policy-wrong", "--policy", policy)
    shown = await cli("mission", "show", "policy-wrong")

    assert ran.exit_code == 2
    assert "confirmation.aprovers is no part of a mission policy" in ran.stderr
    assert shown.exit_code == 2
