"""Missions that are charged more than was approved: what the tests of that share."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.planning.models import CallTool
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import fake_leg
from tests.world import FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage

OVERCHARGE = "structured-overcharge"


def eur(amount: str) -> Money:
    return Money(amount=Decimal(amount), currency="EUR")


def buy(amount: str | None, tool: str = "buy_pass") -> CallTool:
    price: JsonObject = {} if amount is None else {"price": {"amount": amount, "currency": "EUR"}}
    return CallTool(tool=tool, arguments=price)


def charged(amount: str | None, currency: str = "EUR") -> ToolOutcome:
    price = None if amount is None else Money(amount=Decimal(amount), currency=currency)
    return ToolOutcome(kind="succeeded", status=201, body={"pass_id": "P-1"}, price=price)


async def overcharged(stage: Stage, world: FakeWorld, **started: object) -> Mission:
    """A mission whose one leg was approved 78 EUR and charged 97.50."""
    world.plan(fake_leg("north"))
    world.decide("north", buy("78.00"))
    world.answer("buy_pass", charged("97.50"))
    mission = await stage.start(budget=eur("80"), **started)  # type: ignore[arg-type]
    await mission.approve(await mission.card("north"))
    return mission


async def overcharge_card(mission: Mission, leg_id: str = "north") -> ConfirmationCard:
    """The card that asks whether to keep what cost more."""

    async def look() -> ConfirmationCard | None:
        card = (await mission.waiting(leg_id)).card
        return card if card is not None and card.card_type == OVERCHARGE else None

    return await mission.eventually(look)
