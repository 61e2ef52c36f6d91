"""The kit's approver, which decides on every card that opens by the mission's script."""

import asyncio
from collections.abc import Callable, Iterable

from temporalio.service import RPCError

from orchestrator.chaos.histories import end_tasks, is_transient
from orchestrator.chaos.scenarios.plan import MissionScript
from orchestrator.chaos.verdicts.invariants import ApprovedCall
from orchestrator.client.mission_client import MissionClient
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.errors import OrchestratorError

APPROVER = "chaos@example.com"
_LOOKS_EVERY_S = 0.15
Find = Callable[[str], MissionScript | None]
_OVERCHARGED = "-overcharge"
"""Suffix of a call's id on the card about a charge above the approved price."""


class Approver:
    """A person for all missions, who finds open cards in their memos and decides.

    Example:
        async with Approver(client, scripts) as approver: ...
    """

    def __init__(
        self, client: MissionClient, scripts: Iterable[MissionScript], *, find: Find | None = None
    ) -> None:
        """Decide by these scripts, or those that `find` returns for the missions of cards."""
        self._client = client
        self._find = find or {script.mission_id: script for script in scripts}.get
        self._cards: dict[str, list[str]] = {}
        self._busy: dict[str, asyncio.Task[None]] = {}
        self.approved: list[ApprovedCall] = []
        """The approved calls, as the cards showed them."""
        self.rejected = 0
        self.ignored = 0

    async def __aenter__(self) -> "Approver":
        self._looking = asyncio.create_task(self._look())
        return self

    async def __aexit__(self, *_: object) -> None:
        await end_tasks([self._looking, *self._busy.values()])

    async def _look(self) -> None:
        while True:
            try:
                for card in await self._client.confirmations():
                    self._begin(card)
            except OrchestratorError:
                pass  # the server is away: the card is still open when it is back
            except RPCError as error:
                if not is_transient(error):
                    raise
            await asyncio.sleep(_LOOKS_EVERY_S)

    def _begin(self, card: ConfirmationCard) -> None:
        """Decide on a card in a task, unless there is one already."""
        named = card.confirmation_id
        script = self._find(card.mission_id)
        if script is not None and named not in self._busy:
            task = self._busy[named] = asyncio.create_task(self._decide_on(card, script))
            task.add_done_callback(lambda _: self._busy.pop(named, None))

    async def _decide_on(self, card: ConfirmationCard, script: MissionScript) -> None:
        """Decide; after an error an open card is found again at the next look."""
        try:
            await self._decide(card, script)
        except OrchestratorError:
            return
        except RPCError as error:
            if not is_transient(error):
                raise

    async def _decide(self, card: ConfirmationCard, script: MissionScript) -> None:
        seen = self._cards.setdefault(card.mission_id, [])
        is_new = card.confirmation_id not in seen
        if is_new:
            seen.append(card.confirmation_id)
        number = seen.index(card.confirmation_id)
        if number == script.ignored_card:
            self.ignored += is_new
        elif number == script.rejected_card:
            self.rejected += is_new
            await self._client.reject(
                card.confirmation_id, reason="a chaos run rejects it", approver=APPROVER
            )
        else:
            self.approved.append(_as_shown(card))
            await self._client.approve(card.confirmation_id, card.digest, approver=APPROVER)


def _as_shown(card: ConfirmationCard) -> ApprovedCall:
    asked_again = f"-{card.round}" if card.round > 1 else ""
    call_id = card.confirmation_id.removesuffix(asked_again)
    return ApprovedCall(
        call_id=call_id.removesuffix(_OVERCHARGED),
        tool=card.tool,
        card_type=card.card_type,
        arguments=card.arguments,
        price=card.price,
    )
