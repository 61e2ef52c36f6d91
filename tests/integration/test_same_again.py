"""Same again on real processes: one approval, later payments by grants of their own, a death."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.confirmation.same_again import SameAgain
from orchestrator.core.budget import Money
from orchestrator.messages.events import DecisionEvent
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.sandbox import FaultRule, SandboxClient
from orchestrator.testing import eventually, run_to_end
from tests.commands import run_apart
from tests.forked import ForkedStack

DOCUMENT = Path(__file__).parents[1] / "documents" / "transfers.yaml"
GOAL = (
    "ACME gets 40.50 EUR, ACME gets 55.25 EUR, ACME gets 50.25 EUR, Other gets 10.25 EUR, "
    "ACME gets 4.50 EUR"
)
POLICY = """
same_again:
  card_types: [structured-payment]
  max_amount: {amount: 200, currency: EUR}
  max_time: PT8H
"""


@pytest.fixture(scope="module")
async def bank(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """A worker whose policy permits rules, which the test kills."""
    folder = tmp_path_factory.mktemp("again")
    policy = folder / "policy.yaml"
    policy.write_text(POLICY, encoding="utf-8")
    variables = {
        "ORCHESTRATOR_PLANNER": "tests.paying_planner:make",
        "ORCHESTRATOR_MISSION_POLICY": str(policy),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    async with ForkedStack(
        folder / "state", (DOCUMENT,), Ports.free(), variables=variables
    ) as running:
        yield running


async def next_card(mission: MissionHandle, *seen: ConfirmationCard) -> ConfirmationCard:
    known = {one.confirmation_id for one in seen}

    async def look() -> ConfirmationCard | None:
        cards = await mission.confirmations()
        return next((one for one in cards if one.confirmation_id not in known), None)

    card = await eventually(look, timeout_s=60)
    assert card is not None
    return card


async def test_the_same_payee_is_paid_again_and_all_else_is_asked_about(bank: Stack) -> None:
    """Second payment without asking, its worker killed; too much, another payee, revoked: asked."""
    client: MissionClient = await bank.client()
    async with SandboxClient(bank.sandbox_url) as sandbox:
        slow = FaultRule(operation_id="transfer_send", kind="latency", delay_s=2.0)
        await sandbox.set_faults([slow])
        mission = await client.start(MissionRequest(goal=GOAL))
        first = await next_card(mission)
        again = SameAgain(
            up_to=Money(amount=Decimal(100), currency="EUR"),
            until=datetime.now(UTC) + timedelta(hours=1),
        )
        await mission.approve(first, approver="ana@example.com", again=again)

        async def second_is_under_way() -> bool:
            return len((await mission.snapshot()).ledger.obligations) == 2

        await eventually(second_is_under_way, timeout_s=60)
        await bank.kill()
        await sandbox.clear_faults()
        await bank.start_worker()
        above = await next_card(mission, first)
        await mission.approve(above, approver="bob@example.com")
        other = await next_card(mission, first, above)
        revoked = await run_apart(
            *("confirm", "reject", first.confirmation_id, "--rule", "--reason", "enough", "--json"),
            *("--approver", "bob@example.com"),
            environment=bank.environment,
        )
        await mission.approve(other, approver="bob@example.com")
        last = await next_card(mission, first, above, other)
        await mission.approve(last, approver="bob@example.com")
        result = await run_to_end(mission)
        shown = await run_apart("mission", "show", mission.mission_id, environment=bank.environment)
        effects = await sandbox.ledger(mission.mission_id)
        twice = await sandbox.duplicates(mission.mission_id)
    events = [one async for one in client.get(mission.mission_id).events()]
    decided = [one for one in events if isinstance(one, DecisionEvent)]
    rule = first.confirmation_id

    assert revoked.exit_code == 0, revoked.stderr
    assert result.status is MissionStatus.SUCCEEDED, result.error
    sums: list[Any] = [one.arguments["sum"] for one in (above, other, last)]
    assert [one["value"] for one in sums] == [50.25, 10.25, 4.5]
    assert len(effects) == 5
    assert twice == []
    assert [one.rule for one in result.legs[0].decisions] == ["", rule, "", "", ""]
    assert result.again[0].used == Decimal("55.25")
    assert result.receipts[1].confirmed_by == f"ana@example.com (same again as {rule})"
    assert f"rule: ana@example.com lets transfer_send be called again like {rule}" in " ".join(
        shown.stdout.split()
    )
    assert [one.decision for one in decided].count("revoked") == 1
    assert [one.rule for one in decided if one.rule] == [rule]
