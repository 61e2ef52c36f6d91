"""A provider that charges more than it offered: on real parts, from the search to the cancel.

A stack of its own: its document is that of a provider whose checkout adds what search hides.
"""

import json
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest

from orchestrator.client.mission_handle import MissionHandle
from orchestrator.client.start import new_mission_id
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.budget import Money
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy, SpendingPolicy
from orchestrator.planning.models import CallTool, StepDecision
from orchestrator.sandbox import SandboxClient
from orchestrator.testing import approve, eventually, run_to_end
from orchestrator.testing.installation import QUICK, Installation, installed
from tests.fakes import states_of

EIGHTY = Money(amount=Decimal(80), currency="EUR")


def _money(amount: float) -> dict[str, Any]:
    properties = {
        "amount": {"type": "number", "const": amount},
        "currency": {"type": "string", "const": "EUR"},
    }
    return {"type": "object", "required": list(properties), "properties": properties}


def _answers(status: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "required": list(properties), "properties": properties}
    content = {"application/json": {"schema": schema}}
    return {status: {"description": "ok", "content": content}}


def _takes(**properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "required": list(properties), "properties": properties}
    return {"required": True, "content": {"application/json": {"schema": schema}}}


TEXT = {"type": "string", "maxLength": 80}
KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Makes repeating a call safe.",
    "schema": TEXT,
}


def _booking(name: str, charged: dict[str, Any] | None) -> dict[str, Any]:
    """A booking of a berth, its cancel, and what it charges."""
    price = {} if charged is None else {"total_price": charged}
    return {
        f"/{name}": {
            "post": {
                "operationId": f"{name}_book",
                "summary": "Book a berth.",
                "description": "Use this to book an offer. Returns the booking.",
                "x-orchet-tool": True,
                "x-orchet-requires-confirmation": "structured-reservation",
                "x-orchet-cancels": f"{name}_cancel",
                "x-orchet-compensation-args": {"booking_id": "$response.body#/booking_id"},
                "parameters": [KEY],
                "requestBody": _takes(berth_offer_id=TEXT),
                "responses": _answers("201", booking_id=TEXT, **price),
            }
        },
        f"/{name}/{{booking_id}}": {
            "delete": {
                "operationId": f"{name}_cancel",
                "summary": "Cancel a berth.",
                "description": "Use this to cancel a booking.",
                "x-orchet-tool": True,
                "x-orchet-requires-confirmation": False,
                "x-orchet-cancel-for": f"{name}_book",
                "parameters": [
                    {"name": "booking_id", "in": "path", "required": True, "schema": TEXT}
                ],
                "responses": _answers("200", booking_id=TEXT, refund=charged or _money(78.0)),
            }
        },
    }


OFFER = {
    "type": "object",
    "required": ["berth_offer_id", "harbour", "total_price"],
    "properties": {
        "berth_offer_id": {"type": "string", "const": "bo-78"},
        "harbour": {"type": "string", "const": "Cascais"},
        "total_price": _money(78.0),
    },
}
HARBOUR = {
    "openapi": "3.1.0",
    "info": {"title": "Harbour", "version": "1"},
    "servers": [{"url": "https://harbour.example"}],
    "paths": {
        "/offers": {
            "get": {
                "operationId": "berth_search",
                "summary": "Search berths.",
                "description": "Use this to find a berth. Returns an offer.",
                "x-orchet-tool": True,
                "responses": _answers("200", offer=OFFER),
            }
        },
        **_booking("dear", _money(97.5)),
        **_booking("fair", _money(78.0)),
        **_booking("mute", None),
    },
}
SEARCH = CallTool(tool="berth_search")


def book(name: str, offer: str = "bo-78") -> CallTool:
    return CallTool(tool=f"{name}_book", arguments={"berth_offer_id": offer})


@pytest.fixture(scope="module")
async def harbour(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Installation]:
    """Real workers over that document."""
    async with installed({"harbour": HARBOUR}, tmp_path_factory.mktemp("harbour")) as running:
        yield running


async def start(
    harbour: Installation,
    *steps: StepDecision,
    budget: Money | None = EIGHTY,
    spending: SpendingPolicy | None = None,
) -> MissionHandle:
    """A mission that takes these steps, under a budget."""
    mission_id = new_mission_id("berth")
    harbour.planner.write(mission_id, steps)
    policy: MissionPolicy = QUICK.model_copy(update={"spending": spending or SpendingPolicy()})
    return await harbour.mission_client.start(
        MissionRequest(goal="a berth", mission_id=mission_id, policy=policy, budget=budget)
    )


async def until_asked(mission: MissionHandle, card_type: str) -> ConfirmationCard:
    """The open card of this type; cards of other types are approved on the way."""

    async def look() -> ConfirmationCard | None:
        for card in await mission.confirmations():
            if card.card_type == card_type:
                return card
            await approve(mission, card)
        return None

    card = await eventually(look)
    assert card is not None
    return card


async def standing(harbour: Installation, mission: MissionHandle) -> list[str]:
    """What the provider holds for a mission."""
    async with SandboxClient(harbour.sandbox_url) as sandbox:
        return [str(effect["operation"]) for effect in await sandbox.live(mission.mission_id)]


async def test_what_was_charged_is_asked_about_and_kept(harbour: Installation) -> None:
    """Card 78.00 EUR, budget 80, 97.50 EUR charged: it does not pass as if nothing had been."""
    mission = await start(harbour, SEARCH, book("dear"))
    card = await until_asked(mission, "structured-overcharge")
    shown = {line.label: line.value for part in card.sections() for line in part.lines}

    assert shown["Approved"] == "78.00 EUR"
    assert shown["Charged"] == "97.50 EUR"
    assert shown["More than approved"] == "19.50 EUR"
    assert "dear_cancel" in shown["Rejecting"]
    await approve(mission, card)
    result = await run_to_end(mission)
    (receipt,) = result.receipts

    assert result.status is MissionStatus.SUCCEEDED
    assert [str(m) for m in (receipt.price, receipt.approved_price, receipt.overcharged)] == [
        "97.50 EUR",
        "78.00 EUR",
        "19.50 EUR",
    ]
    assert [str(m) for m in result.spend.amounts()] == ["97.50 EUR"]
    assert await standing(harbour, mission) == ["dear_book"]


async def test_what_was_charged_is_asked_about_and_cancelled(harbour: Installation) -> None:
    """By the leg, at the provider; what the cancel paid back is no spending."""
    mission = await start(harbour, SEARCH, book("dear"), book("fair"))
    card = await until_asked(mission, "structured-overcharge")
    await mission.reject(card, reason="too dear", approver="ann")
    result = await run_to_end(mission)

    assert result.status is MissionStatus.INCOMPLETE
    assert states_of(result.ledger) == {"dear_book": "cancelled", "fair_book": "committed"}
    assert [str(m) for m in result.spend.amounts()] == ["78.00 EUR"]
    assert await standing(harbour, mission) == ["fair_book"]
    (cancelled, _) = result.ledger.obligations
    assert cancelled.rollback is not None
    assert cancelled.rollback.approver == "ann"


async def test_a_tolerance_is_the_workers_to_allow(harbour: Installation) -> None:
    """A quarter more would be within this one; the worker here allows none, and refuses it."""
    rules = SpendingPolicy(overcharge_tolerance=Decimal("0.25"))
    mission = await start(harbour, SEARCH, book("dear"), spending=rules)
    result = await run_to_end(mission)

    assert "spending.overcharge_tolerance (0.25) is wider" in (result.error or "")


async def test_a_cancel_of_the_mission_takes_the_overcharge_back(harbour: Installation) -> None:
    """While its card is open: nobody has kept it."""
    mission = await start(harbour, SEARCH, book("dear"))
    await until_asked(mission, "structured-overcharge")
    await mission.cancel()
    result = await run_to_end(mission)

    assert result.status is MissionStatus.CANCELLED
    assert states_of(result.ledger) == {"dear_book": "cancelled"}
    assert await standing(harbour, mission) == []


async def test_an_answer_without_a_price_counts_as_approved(harbour: Installation) -> None:
    """Never as nothing."""
    result = await run_to_end(await start(harbour, SEARCH, book("mute")))

    assert [str(m) for m in result.spend.amounts()] == ["78.00 EUR"]
    assert "charged price not stated" in result.ledger.obligations[0].note


async def test_an_offer_that_nobody_found_asks_about_its_price(harbour: Installation) -> None:
    """Under a budget an unknown price does not fit by itself; a person reads that."""
    mission = await start(harbour, book("fair", "bo-elsewhere"))
    card = await until_asked_at_all(mission)

    assert any("price unknown: it may exceed what is left" in one for one in card.warnings)
    await approve(mission, card)
    assert (await run_to_end(mission)).status is MissionStatus.SUCCEEDED


async def until_asked_at_all(mission: MissionHandle) -> ConfirmationCard:
    """The first card of a mission."""

    async def look() -> ConfirmationCard | None:
        return next(iter(await mission.confirmations()), None)

    card = await eventually(look)
    assert card is not None
    return card


async def test_policies_may_keep_or_undo_by_themselves(harbour: Installation) -> None:
    """To undo is stricter than to ask, so a mission may say it of its own."""
    undo = SpendingPolicy(on_overcharge="cancel")
    result = await run_to_end(await start(harbour, SEARCH, book("dear"), spending=undo))

    assert states_of(result.ledger) == {"dear_book": "cancelled"}
    assert json.loads(result.model_dump_json())["ledger"]["obligations"][0]["overcharged"] == {
        "amount": "19.5",
        "currency": "EUR",
    }
