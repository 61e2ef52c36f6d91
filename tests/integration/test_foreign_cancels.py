"""Goals that say "cancel": what the mission made goes, anything else is shown to a person first.

An installation of their own: what stands at the providers must be known whole, and a worker dies.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.messages.mission import MissionRequest, MissionResult, MissionStatus
from orchestrator.runtime.demo import LEAVING, RETURNING
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.sandbox import FaultRule, SandboxClient
from orchestrator.settings import bundled_specs
from orchestrator.testing import approve, eventually, run_to_end
from tests.fakes import states_of
from tests.forked import ForkedStack

if TYPE_CHECKING:
    from pathlib import Path

OSLO = f"Book a hotel in Oslo from {LEAVING} to {RETURNING}"
GENOA = "Subscribe to the weather alerts for Genoa"
OTHERS_OSLO = "Please cancel my hotel in Oslo"
OTHERS_GENOA = "Stop the weather alerts for Genoa"
NOBODYS = ("Please cancel my hotel in Madrid", "Stop the weather alerts for Bergen")
OWN = "Subscribe to the weather alerts for Rome, then stop the weather alerts for Rome"


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """An installation where nobody else books anything."""
    folder: Path = tmp_path_factory.mktemp("place")
    variables = {"ORCHESTRATOR_ROUTING_TIMEOUT_MS": "5000"}
    stack = ForkedStack(folder, (bundled_specs(),), Ports.free(), variables=variables)
    with pytest.MonkeyPatch.context() as patch:
        for name in [n for n in os.environ if n.startswith(("ORCHESTRATOR_", "TEMPORAL_"))]:
            patch.delenv(name)
        await stack.__aenter__()
    try:
        yield stack
    finally:
        await stack.stop()


@pytest.fixture(scope="module")
async def missions(place: Stack) -> MissionClient:
    return await place.client()


@pytest.fixture
async def providers(place: Stack) -> AsyncIterator[SandboxClient]:
    async with SandboxClient(place.sandbox_url) as client:
        yield client
        await client.clear_faults()


@pytest.fixture(scope="module")
async def others(missions: MissionClient) -> list[MissionResult]:
    """Two missions that succeeded: a hotel in Oslo, and the alerts of Genoa."""
    started = [await missions.start(MissionRequest(goal=goal)) for goal in (OSLO, GENOA)]
    return list(await asyncio.gather(*(run_to_end(mission) for mission in started)))


async def waits(missions: MissionClient, goal: str) -> tuple[MissionHandle, ConfirmationCard]:
    """A mission with that goal, and the card that it waits at."""
    mission = await missions.start(MissionRequest(goal=goal))
    (card,) = await eventually(mission.confirmations)
    return mission, card


def read(card: ConfirmationCard) -> dict[str, str]:
    return {line.label: line.value for part in card.sections() for line in part.lines}


async def test_another_missions_booking_shows_itself_and_stands_when_it_is_rejected(
    missions: MissionClient, providers: SandboxClient, others: list[MissionResult]
) -> None:
    """The card says which booking it is, and whose; rejected, nothing is cancelled."""
    mission, card = await waits(missions, OTHERS_OSLO)
    before = await providers.live()
    await mission.reject(card, reason="that is Oslo", approver="ann")
    result = await run_to_end(mission)

    assert (card.tool, card.card_type) == ("hotel_cancel_booking", "structured-cancellation")
    assert read(card)["City"] == "Oslo"
    assert read(card)["Whose"] == "This mission did not make it"
    assert card.cancellation == "nothing reverses a cancel"
    assert result.status is not MissionStatus.SUCCEEDED
    assert await providers.live() == before
    assert {e["operation"] for e in before} >= {"hotel_book_room", "weather_subscribe_alerts"}
    assert await providers.ledger(mission.mission_id) == []


@pytest.mark.parametrize("goal", NOBODYS)
async def test_a_cancel_of_what_is_not_there_takes_nothing_else_for_it(
    missions: MissionClient, providers: SandboxClient, others: list[MissionResult], goal: str
) -> None:
    """Of another place there is a thing that could be cancelled: no card proposes it."""
    before = await providers.live()
    result = await run_to_end(await missions.start(MissionRequest(goal=goal)), refuse_any)

    assert result.status is MissionStatus.FAILED
    assert "nothing that was found" in (result.error or "")
    assert await providers.live() == before


async def refuse_any(mission: MissionHandle, card: ConfirmationCard) -> None:
    raise AssertionError(f"a card proposes {card.tool}")


async def test_an_approved_cancel_of_anothers_happens_once_though_the_worker_dies(
    place: Stack, missions: MissionClient, providers: SandboxClient, others: list[MissionResult]
) -> None:
    """Killed with the approval given and the cancel on the wire; a new worker ends it, once."""
    genoa = str(others[1].receipts[0].reference["alert_subscription_id"])
    mission, card = await waits(missions, OTHERS_GENOA)
    await providers.set_faults(
        [FaultRule(operation_id="weather_unsubscribe_alerts", kind="latency", delay_s=2, times=1)]
    )
    await approve(mission, card)
    await eventually(lambda: is_sending(missions, card))
    await place.kill()
    await place.start_worker()
    result = await run_to_end(mission)
    effects = await providers.ledger(mission.mission_id)

    assert genoa in {line.value for part in card.sections() for line in part.lines} or (
        genoa in str(card.arguments)
    )
    assert read(card)["City"] == "Genoa"
    assert result.status is MissionStatus.SUCCEEDED
    assert [(e["operation"], e["kind"]) for e in effects] == [
        ("weather_unsubscribe_alerts", "cancel")
    ]
    (receipt,) = result.receipts
    assert (receipt.tool, receipt.confirmed_by) == (card.tool, "tester@example.com")
    assert states_of(result.ledger) == {card.tool: "committed"}


async def test_what_the_mission_made_itself_is_cancelled_without_asking(
    missions: MissionClient, providers: SandboxClient
) -> None:
    """One card for the subscription, none for its end."""
    cards: list[str] = []

    async def keep(mission: MissionHandle, card: ConfirmationCard) -> None:
        cards.append(card.tool)
        await approve(mission, card)

    mission = await missions.start(MissionRequest(goal=OWN))
    result = await run_to_end(mission, keep)

    assert set(cards) == {"weather_subscribe_alerts"}
    assert states_of(result.ledger) == {"weather_subscribe_alerts": "cancelled"}
    assert await providers.live(mission.mission_id) == []


async def is_sending(missions: MissionClient, card: ConfirmationCard) -> bool:
    """Return True while the mission of a card waits for a call that is on its way."""
    description = await missions.temporal.get_workflow_handle(card.mission_id).describe()
    pending = description.raw_description.pending_activities
    return "invoke_tool" in {a.activity_type.name for a in pending}
