"""The examples of docs/examples/guarded, and who approves their cards."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

from orchestrator.testing import eventually

if TYPE_CHECKING:
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.confirmation.models import ConfirmationCard

EXAMPLES: Final = Path(__file__).parents[1] / "docs/examples/guarded"
APPROVER: Final = "bob@example.com"


def example(name: str) -> ModuleType:
    """Return the module of an example; workflow sandboxes import it again by its name."""
    if str(EXAMPLES) not in sys.path:
        sys.path.append(str(EXAMPLES))
    return import_module(name)


async def card_of(client: MissionClient, saga: str, tool: str) -> ConfirmationCard:
    """Return the card of a tool that waits in a saga of that name, as the list of cards has it."""

    async def look() -> ConfirmationCard | None:
        cards = await client.confirmations()
        return next(
            (c for c in cards if c.tool == tool and c.confirmation_id.startswith(f"{saga}-")), None
        )

    card = await eventually(look)
    assert card is not None
    return card


async def approve_next(client: MissionClient, saga: str, tool: str) -> str:
    """Approve that card, and return the id of its saga."""
    card = await card_of(client, saga, tool)
    await client.approve(card.confirmation_id, card.digest, approver=APPROVER)
    return saga_of(card)


def saga_of(card: ConfirmationCard) -> str:
    """Return the id of the saga that a card belongs to."""
    return card.confirmation_id.partition(".")[0]


@asynccontextmanager
async def all_approved(client: MissionClient, saga: str) -> AsyncIterator[list[ConfirmationCard]]:
    """Approve every card of the sagas of that name meanwhile; the list has them."""
    asked: list[ConfirmationCard] = []
    seen: set[str] = set()

    async def approve() -> None:
        while True:
            for card in await client.confirmations():
                if card.confirmation_id.startswith(f"{saga}-") and card.confirmation_id not in seen:
                    seen.add(card.confirmation_id)
                    asked.append(card)
                    await client.approve(card.confirmation_id, card.digest, approver=APPROVER)
            await asyncio.sleep(0.1)

    approving = asyncio.create_task(approve())
    try:
        yield asked
    finally:
        approving.cancel()
