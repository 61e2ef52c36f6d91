"""Cards that wait for a person, for tests of what is shown of them and of who may decide."""

from typing import Any

from orchestrator.confirmation.models import ConfirmationCard


def open_card(confirmation_id: str, tool: str, card_type: str, **fields: Any) -> ConfirmationCard:
    """A card of the mission and the leg that its id names."""
    mission_id, leg_id, _ = confirmation_id.split(".")
    return ConfirmationCard(
        confirmation_id=confirmation_id,
        mission_id=mission_id,
        leg_id=leg_id,
        card_type=card_type,
        tool=tool,
        digest="ab" * 32,
        **fields,
    )
