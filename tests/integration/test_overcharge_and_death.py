"""An overcharge card whose worker dies, or on which two people decide: on real processes."""

from collections.abc import AsyncIterator
from decimal import Decimal

import pytest

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.confirmation.policy import ConfirmationPolicy, TwoApprovers
from orchestrator.core.budget import Money
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.runtime.demo import DINING
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.sandbox import FaultRule, SandboxClient
from orchestrator.settings import bundled_specs
from orchestrator.testing import approve, eventually, run_to_end
from tests.fakes import states_of
from tests.forked import ForkedStack

GOAL = f"Reserve a table in Lisbon on {DINING} at 20:00 for 4"
BUDGET = Money(amount=Decimal(80), currency="EUR")


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """A worker of its own, which tests may kill."""
    specs = (bundled_specs() / "dining.yaml",)
    async with ForkedStack(tmp_path_factory.mktemp("dear"), specs, Ports.free()) as running:
        yield running


@pytest.fixture
async def missions(place: Stack) -> MissionClient:
    """The door for users."""
    return await place.client()


@pytest.fixture
async def provider(place: Stack) -> AsyncIterator[SandboxClient]:
    """It takes a quarter more than it offered."""
    async with SandboxClient(place.sandbox_url) as sandbox:
        await sandbox.set_faults(
            [FaultRule(operation_id="dining_reserve_table", kind="overcharge")]
        )
        yield sandbox
        await sandbox.set_faults([])


async def opened(mission: MissionHandle, card_type: str) -> ConfirmationCard:
    """Its open card of this type; cards of other types are approved on the way."""

    async def look() -> ConfirmationCard | None:
        for card in await mission.confirmations():
            if card.card_type == card_type:
                return card
            await approve(mission, card)
        return None

    card = await eventually(look)
    assert card is not None
    return card


@pytest.mark.parametrize(
    "keeps",
    [pytest.param(True, id="kept", marks=pytest.mark.long), pytest.param(False, id="cancelled")],
)
async def test_a_worker_that_dies_at_the_card_changes_nothing(
    place: Stack, missions: MissionClient, provider: SandboxClient, keeps: bool
) -> None:
    """The next one shows the same card, and what is decided on it is done once."""
    mission = await missions.start(MissionRequest(goal=GOAL, budget=BUDGET))
    before = await opened(mission, "structured-overcharge")
    await place.kill()
    await place.start_worker()
    after = await opened(mission, "structured-overcharge")
    if keeps:
        await approve(mission, after)
    else:
        await mission.reject(after, reason="too dear", approver="ann", then="rollback")
    result = await run_to_end(mission)
    effects = await provider.ledger(mission.mission_id)

    assert (after.confirmation_id, after.digest) == (before.confirmation_id, before.digest)
    if keeps:
        assert result.status is MissionStatus.SUCCEEDED
        assert [r.overcharged is not None for r in result.receipts] == [True]
        assert [e["operation"] for e in effects] == ["dining_reserve_table"]
    else:
        assert states_of(result.ledger) == {"dining_reserve_table": "cancelled"}
        assert [e["operation"] for e in effects] == [
            "dining_reserve_table",
            "dining_cancel_reservation",
        ]
        assert await provider.live(mission.mission_id) == []


async def test_two_approvers_decide_on_what_was_charged_as_well(
    missions: MissionClient, provider: SandboxClient
) -> None:
    """Above the amount from which two are needed; one of them alone keeps nothing."""
    above = Money(amount=Decimal(10), currency="EUR")
    rule = TwoApprovers(card_types=("*",), above=above)
    policy = MissionPolicy(confirmation=ConfirmationPolicy(two_approvers=(rule,)))
    mission = await missions.start(MissionRequest(goal=GOAL, budget=BUDGET, policy=policy))

    async def first() -> ConfirmationCard | None:
        return next(iter(await mission.confirmations()), None)

    for wanted in ("structured-reservation", "structured-overcharge"):

        async def of_type(wanted: str = wanted) -> ConfirmationCard | None:
            card = await first()
            return card if card and card.card_type == wanted else None

        card = await eventually(of_type)
        assert card is not None
        await mission.approve(card, approver="ann@example.com")
        half = await first()
        assert half is not None
        assert half.confirmation_id == card.confirmation_id
        await mission.approve(half, approver="bob@example.com")
    result = await run_to_end(mission)

    assert result.status is MissionStatus.SUCCEEDED
    assert [r.overcharged is not None for r in result.receipts] == [True]
