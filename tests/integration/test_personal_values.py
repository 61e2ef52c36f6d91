"""Whose values a call carries: those of its own mission, from its card to its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from orchestrator.adapters.storage.store import Store
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.client.retention import purge_mission, remove_expired
from orchestrator.client.stores import open_vault
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.errors import MissionIdTaken, UsageError
from orchestrator.messages.leg import Question
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.runtime.demo import LEAVING, RETURNING
from orchestrator.runtime.devserver import Stack
from orchestrator.sandbox import FaultRule
from orchestrator.testing import approve, eventually, run_to_end
from tests.fakes import states_of
from tests.refusals import raises_code

if TYPE_CHECKING:
    from tests.integration.conftest import Cli, Witness

FLIGHT = f"Book a flight from Berlin to Lisbon on {LEAVING}"
EXPENSE = f"Reserve a hotel in Lisbon from {LEAVING} to {RETURNING} and file the expense"
BOOK = "flight_book_offer"


def flight(traveler_id: str, mission_id: str | None = None) -> MissionRequest:
    """A flight for somebody."""
    return MissionRequest(goal=FLIGHT, inputs={"traveler_id": traveler_id}, mission_id=mission_id)


async def the_card(mission: MissionHandle) -> ConfirmationCard:
    """The card at which a mission waits."""
    (card,) = await eventually(mission.confirmations)
    return card


async def test_a_mission_books_for_the_person_that_it_was_started_with(
    stack: Stack, client: MissionClient, sandbox: Witness
) -> None:
    """Whoever is named by another start meanwhile, accepted or refused, under its own id or not."""
    a = await client.start(flight("ALICE-1111", "alices-flight"))
    card = await the_card(a)
    b = await client.start(flight("BOB-2222"))
    with pytest.raises(MissionIdTaken):
        await client.start(flight("CAROL-3333", "alices-flight"))
    again = await client.start(flight("ALICE-1111", "alices-flight"))
    kept = open_vault(stack.settings).contents().missions()
    booked_for_b = await run_to_end(b)
    await approve(a, card)
    booked_for_a = await run_to_end(a)

    assert again.mission_id == a.mission_id
    assert [k.value for k in kept["alices-flight"]] == ["ALICE-1111"]
    assert {booked_for_a.status, booked_for_b.status} == {MissionStatus.SUCCEEDED}
    assert (await sandbox.made(a.mission_id, BOOK))["traveler_id"] == "ALICE-1111"
    assert (await sandbox.made(b.mission_id, BOOK))["traveler_id"] == "BOB-2222"


async def test_a_later_attempt_sends_the_values_of_the_first(
    stack: Stack, client: MissionClient, sandbox: Witness, person: dict[str, str]
) -> None:
    """The answer is lost, the vault changes: one booking, for the first person, in the ledger."""
    await sandbox.set_faults([FaultRule(operation_id=BOOK, kind="drop_after", times=3)])
    vault = open_vault(stack.settings)
    mission = await client.start(MissionRequest(goal=FLIGHT))
    await approve(mission, await the_card(mission))
    await eventually(lambda: sandbox.live(mission.mission_id))
    vault.put("traveler_id", "SOMEBODY-ELSE")
    try:
        result = await run_to_end(mission)
    finally:
        vault.put("traveler_id", person["traveler_id"])

    booking = await sandbox.made(mission.mission_id, BOOK)
    assert booking["traveler_id"] == person["traveler_id"]
    assert states_of(result.ledger) == {BOOK: "committed"}
    assert len(await sandbox.requests(mission.mission_id)) > 3


async def test_an_approval_does_not_hold_for_another_persons_value(
    stack: Stack, client: MissionClient, sandbox: Witness
) -> None:
    """A person changes whom a card is about: the old digest is refused, the new card is another."""
    mission = await client.start(flight("ALICE-1111"))
    card = await the_card(mission)
    receipt = await mission.amend(card, {"traveler_id": "pii:traveler_id"}, approver="ann")
    owned = await client.start(MissionRequest(goal=FLIGHT))
    other = await the_card(owned)
    await mission.cancel()
    await owned.cancel()

    assert card.arguments["traveler_id"] != other.arguments["traveler_id"]
    # Of this mission, the field means whom it was started with, also when a person writes it.
    assert receipt.card is not None
    assert receipt.card.digest == card.digest
    assert "traveler_id from the vault" in card.folded()
    assert "@" not in card.folded()


async def test_the_handle_of_another_mission_is_refused(client: MissionClient) -> None:
    """At the start of another one, and on its card."""
    a = await client.start(flight("ALICE-1111"))
    leaked = str((await the_card(a)).arguments["traveler_id"])
    with pytest.raises(UsageError, match="was started with"):
        await client.start(flight(leaked))
    b = await client.start(flight("BOB-2222"))
    card = await the_card(b)
    with raises_code("AmendmentInvalid"):
        await b.amend(card, {"traveler_id": leaked}, approver="ann")
    still_open = await the_card(b)
    await a.cancel()
    await b.cancel()

    assert still_open == card


async def test_values_go_when_their_mission_is_over(
    stack: Stack, client: MissionClient, cli: Cli
) -> None:
    """Not while it runs, unless it is forced; by a command, or when the time has come."""
    mission = await client.start(flight("ALICE-1111"))
    await the_card(mission)
    early = await cli("pii", "--forget", "--mission", mission.mission_id)
    await run_to_end(mission)
    purged = await cli("pii", "--forget", "--mission", mission.mission_id, "--json")
    again = await cli("pii", "--forget", "--mission", mission.mission_id)

    assert early.exit_code == 2
    assert "still runs" in early.stderr
    assert purged.json["removed"] == ["traveler_id"]
    assert "none is kept" in again.stdout
    assert mission.mission_id not in open_vault(stack.settings).contents().missions()


async def test_retention_spares_what_is_open(client: MissionClient, tmp_path: Path) -> None:
    """Values of missions that are over go, and superseded ones that nobody can need."""
    over = await client.start(MissionRequest(goal=FLIGHT))
    waiting = await client.start(MissionRequest(goal=FLIGHT))
    await the_card(waiting)
    await run_to_end(over)
    store = Store(tmp_path)
    vault, seen = store.vault, store.observations
    for mission_id in (over.mission_id, waiting.mission_id, "never-started"):
        vault.bring(mission_id, {"traveler_id": mission_id}, claim="r")
    vault.put("phone", "+4930")
    vault.put("phone", "+4940")
    month, now = timedelta(days=30), datetime.now(UTC)

    early = await remove_expired(client.temporal, vault, month, now=now)
    late = await remove_expired(client.temporal, vault, month, now=now + month * 2)
    with pytest.raises(UsageError, match="still runs"):
        await purge_mission(client.temporal, vault, waiting.mission_id, observations=seen)
    forced = await purge_mission(
        client.temporal, vault, waiting.mission_id, observations=seen, force=True
    )
    await waiting.cancel()

    assert (early.missions, early.superseded) == ((), 0)
    assert sorted(late.missions) == sorted([over.mission_id, "never-started"])
    assert late.superseded == 0  # the mission that waits is older than the change
    assert forced == ("traveler_id",)
    assert vault.get("phone") == "+4940"


async def test_inputs_that_no_tool_takes_are_told_or_refused(cli: Cli) -> None:
    """Told when they are harmless; in one line, without the value, when they look personal."""
    goal = "What is the weather in Oslo tomorrow?"
    told = await cli("mission", "start", goal, "--input", "mood=sunny", "--json")
    warned = await cli("mission", "start", goal, "--input", "mood=sunny")
    card = await cli("mission", "start", goal, "--input", "card=4111 1111 1111 1111")
    typo = await cli("mission", "start", goal, "--input", "travler_id=T-1")

    assert told.json["undeclared_inputs"] == ["mood"]
    assert "no tool takes the input mood" in warned.stderr
    assert (card.exit_code, typo.exit_code) == (2, 2)
    assert "looks like a card number" in card.stderr
    assert "4111" not in card.stderr
    assert "did you mean traveler_id?" in typo.stderr


@pytest.fixture
async def without_key(stack: Stack, tmp_path: Path) -> AsyncIterator[tuple[MissionClient, Path]]:
    """A client of workers that lack a credential, and the file in which they look for it."""
    key = tmp_path / "expenses.key"
    variables = {
        "ORCHESTRATOR_TASK_QUEUE": "without-key",
        "ORCHESTRATOR_SECRET_EXPENSES__EXPENSES_KEY": "",
        "ORCHESTRATOR_SECRET_EXPENSES__EXPENSES_KEY_FILE": str(key),
    }
    await stack.start_worker("without-key", variables=variables)
    yield await replace(stack, task_queue="without-key").client(), key
    await stack.kill("without-key", gently=True)


async def test_a_missing_credential_is_asked_for_before_the_card(
    without_key: tuple[MissionClient, Path], sandbox: Witness
) -> None:
    """What was booked stays booked; the mission goes on when the credential is there."""
    client, key = without_key
    mission = await client.start(MissionRequest(goal=EXPENSE))
    asked: list[Question] = []

    async def asks() -> list[Question]:
        for card in await mission.confirmations():
            await approve(mission, card)
        asked.extend(await mission.questions())
        return asked

    (question, *_) = await eventually(asks)
    await mission.answer(question.question_id)
    again = await eventually(mission.questions)
    booked = [effect["operation"] for effect in await sandbox.live(mission.mission_id)]
    cards = await mission.confirmations()
    key.write_text("sandbox", encoding="utf-8")
    await mission.answer(again[0].question_id)
    result = await run_to_end(mission)

    assert "ORCHESTRATOR_SECRET_EXPENSES__EXPENSES_KEY" in question.question
    assert (booked, cards) == (["hotel_book_room"], [])
    assert result.status is MissionStatus.SUCCEEDED
