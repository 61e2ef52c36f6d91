"""Cards that a stranger can decide on, and what follows from each way to say no."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.runtime.demo import DINING, LEAVING
from orchestrator.sandbox import FaultRule
from orchestrator.testing import approve, eventually, run_to_end

if TYPE_CHECKING:
    from tests.integration.conftest import Cli, Witness

FLIGHT = f"Book a flight from Berlin to Lisbon on {LEAVING}"
TABLE = f"reserve a table for two at an Italian restaurant in Lisbon on {DINING} at 20:00"
TWO = f"{FLIGHT} and {TABLE}"
FOUND_BEFORE = f"Search flights from Berlin to Lisbon on {LEAVING}, then book the cheapest flight"


async def first_card(client: MissionClient, goal: str) -> tuple[MissionHandle, ConfirmationCard]:
    """A mission, and the first card that it waits at."""
    mission = await client.start(MissionRequest(goal=goal, requester="ann@example.com"))
    card, *_ = await eventually(mission.confirmations)
    return mission, card


async def next_card(mission: MissionHandle, *seen: ConfirmationCard) -> ConfirmationCard:
    """The next card of the same leg."""
    ids = {card.confirmation_id for card in seen}

    async def look() -> ConfirmationCard | None:
        cards = await mission.confirmations()
        return next((card for card in cards if card.confirmation_id not in ids), None)

    card = await eventually(look)
    assert card is not None
    return card


def read(card: ConfirmationCard) -> dict[str, str]:
    return {line.label: line.value for part in card.sections() for line in part.lines}


async def test_an_offer_that_another_leg_found_is_shown_whole(
    client: MissionClient, cli: Cli
) -> None:
    """Route, date, vendor, price, and when it was quoted: the leg that books has not seen it."""
    mission, card = await first_card(client, FOUND_BEFORE)
    shown = await cli("confirm", "show", card.confirmation_id)
    await mission.reject(card, reason="enough", approver="bo", then="rollback")
    result = await run_to_end(mission)

    assert len(result.legs) == 2
    assert "flight_search_offers" not in [step.did for step in result.legs[1].steps]
    told = read(card)
    assert (told["Origin"], told["Destination"]) == ("Berlin", "Lisbon")
    assert told["Departure date"] == LEAVING
    assert told["Airline"]
    assert card.price is not None
    (thing,) = card.named
    assert thing.at is not None
    for text in ("Berlin", LEAVING, str(card.price), thing.ids[0].value, "ann@example.com"):
        assert text in shown.stdout
    assert card.reason
    assert card.reason in shown.stdout
    assert card.goal == FOUND_BEFORE
    assert card.clause in FOUND_BEFORE


async def test_a_leg_that_is_skipped_leaves_the_rest(
    client: MissionClient, sandbox: Witness
) -> None:
    """The flight is left out, the table is reserved, and nobody says that all was done."""
    mission, _ = await first_card(client, TWO)
    done: set[str] = set()

    async def decide(mission: MissionHandle, card: ConfirmationCard) -> None:
        if card.tool == "flight_book_offer":
            await mission.reject(card, reason="by train", approver="bo", then="skip")
        else:
            await approve(mission, card)
        done.add(card.tool)

    result = await run_to_end(mission, decide)

    assert done == {"flight_book_offer", "dining_reserve_table"}
    statuses = {leg.agent: leg.status for leg in result.legs}
    assert statuses["flights"] is LegStatus.SKIPPED
    assert statuses["dining"] is LegStatus.SUCCEEDED
    live = await sandbox.live(mission.mission_id)
    assert [effect["operation"] for effect in live] == ["dining_reserve_table"]
    assert result.legs[0].decisions[-1].then == "skip"
    assert result.status is MissionStatus.INCOMPLETE
    (unserved,) = result.unserved
    assert "by train" in unserved.reason


async def test_a_rejection_that_cancels_ends_the_mission(
    client: MissionClient, sandbox: Witness
) -> None:
    """The planner is not asked for another way."""
    mission, card = await first_card(client, FLIGHT)
    await mission.reject(card, reason="the trip is off", approver="bo", then="rollback")
    result = await run_to_end(mission)

    assert result.status is MissionStatus.FAILED
    assert "the trip is off" in (result.error or "")
    assert [s.did for s in result.legs[0].steps].count("call flight_book_offer") == 1
    assert await sandbox.ledger(mission.mission_id) == []


async def test_a_rejection_leads_to_another_offer(client: MissionClient) -> None:
    """The second card says what is otherwise, why it comes, and who said no."""
    mission, first = await first_card(client, FLIGHT)
    await mission.reject(first, reason="not that airline", approver="bo")
    second = await next_card(mission, first)
    await approve(mission, second)
    result = await run_to_end(mission)

    assert second.arguments["offer_id"] != first.arguments["offer_id"]
    assert "bo rejected" in second.asked_because
    assert "not that airline" in second.asked_because
    changed = {change.label: (change.before, change.now) for change in second.changes}
    assert changed["Price"] == (str(first.price), str(second.price))
    assert result.status is MissionStatus.SUCCEEDED


async def test_a_hint_is_asked_about_where_rules_plan(client: MissionClient, cli: Cli) -> None:
    """The rules guess nothing from it: a person chooses among the other offers."""
    mission, first = await first_card(client, FLIGHT)
    ran = await cli(
        "confirm", "respond", first.confirmation_id, "--text", "a later flight", "--approver", "bo"
    )
    (question,) = await eventually(mission.questions)
    choices = question.fields["offer_id"]["oneOf"]
    assert isinstance(choices, list)
    offered = [c["const"] for c in choices if isinstance(c, dict)]
    await mission.answer(question.question_id, {"offer_id": offered[-1]}, answered_by="bo")
    second = await next_card(mission, first)
    await approve(mission, second)
    result = await run_to_end(mission)

    assert ran.exit_code == 0
    assert "responded" in ran.stdout
    assert "a later flight" in question.question
    assert first.arguments["offer_id"] not in offered
    assert second.arguments["offer_id"] == offered[-1]
    assert "a later flight" in second.asked_because
    kinds = [decision.kind for decision in result.legs[0].decisions]
    assert kinds == ["responded", "approved"]


async def test_a_series_of_refusals_is_told_and_ends(
    client: MissionClient, sandbox: Witness
) -> None:
    """Each card after a 409 says so, none is for the same offer, and there is an end of it."""
    await sandbox.set_faults(
        [FaultRule(operation_id="flight_book_offer", kind="status_before", status=409, times=50)]
    )
    cards: list[ConfirmationCard] = []

    async def keep(mission: MissionHandle, card: ConfirmationCard) -> None:
        cards.append(card)
        await approve(mission, card)

    mission, _ = await first_card(client, FLIGHT)
    result = await run_to_end(mission, keep)

    offers = [card.arguments["offer_id"] for card in cards]
    assert len(offers) == len(set(offers)) <= 5
    assert not cards[0].asked_because
    assert all("was refused when it was sent" in card.asked_because for card in cards[1:])
    assert "card no. 3" in cards[2].asked_because
    assert result.status is MissionStatus.FAILED


async def test_an_amendment_unlike_what_was_found_carries_a_warning(client: MissionClient) -> None:
    """An offer that nobody found has no route, date or price: the new card says so."""
    mission, first = await first_card(client, FLIGHT)
    receipt = await mission.amend(first, {"offer_id": "off_unknown99"}, approver="bo")
    await mission.reject(first, reason="enough", approver="bo", then="rollback")
    await run_to_end(mission)

    card: Any = receipt.card
    assert any("off_unknown99" in warning for warning in card.warnings)
    assert "bo has changed what was proposed" in card.asked_because
    assert ("Price", str(first.price), "unknown") in [
        (change.label, change.before, change.now) for change in card.changes
    ]


async def test_scripts_read_all_of_it_too(client: MissionClient, cli: Cli) -> None:
    """The JSON of a card holds what the terminal shows, and all that is sent."""
    mission, card = await first_card(client, FLIGHT)
    shown = json.loads((await cli("confirm", "show", card.confirmation_id, "--json")).stdout)
    await mission.reject(card, reason="enough", approver="bo", then="rollback")
    await run_to_end(mission)

    assert shown["goal"] == FLIGHT
    assert shown["agent"] == "flights"
    assert shown["named"][0]["ids"][0]["value"] == card.arguments["offer_id"]
    assert shown["arguments"] == card.arguments
    assert {line["label"] for line in shown["other_inputs"]} >= {"Client reference"}


@pytest.mark.parametrize("then", ["", "again"])
async def test_an_unknown_follow_up_is_refused(cli: Cli, then: str) -> None:
    """Before anything is sent."""
    ran = await cli("confirm", "reject", "x.1-y.1", "--reason", "no", "--then", then)

    assert ran.exit_code == 2
