"""The kit's approver: decides on every card that opens, as each mission's script says."""

import asyncio
from collections.abc import Iterable

from temporalio.client import WorkflowExecution
from temporalio.service import RPCError

from orchestrator.chaos.scenarios.plan import MissionScript
from orchestrator.chaos.transient_errors import end_tasks, is_transient
from orchestrator.chaos.verdicts.evidence import ApprovedCall
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.waiting_legs import waiting_of
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.errors import OrchestratorError
from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus

APPROVER = "chaos@example.com"
_LOOKS_EVERY_S = 0.15
_OVERCHARGED = "-overcharge"
"""What follows a call's id where it is asked whether to keep what cost more than approved."""
_OPEN = (
    f"WorkflowType = '{names.LEG_WORKFLOW}' AND ExecutionStatus = 'Running' AND "
    f"{names.STATUS_ATTRIBUTE} = '{LegStatus.AWAITING_CONFIRMATION.value}'"
)


class Approver:
    """One person for all missions: finds open cards by search attribute, and decides.

    Example:
        async with Approver(client, scripts) as approver: ...
    """

    def __init__(self, client: MissionClient, scripts: Iterable[MissionScript]) -> None:
        self._client = client
        self._scripts = {script.mission_id: script for script in scripts}
        self._cards: dict[str, list[str]] = {}
        self._busy: dict[str, asyncio.Task[None]] = {}
        self.approved: list[ApprovedCall] = []
        """What was said yes to, as the cards had it."""
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
                async for leg in self._client.temporal.list_workflows(_OPEN):
                    self._take_up(leg)
            except RPCError as error:
                if not is_transient(error):
                    raise
            await asyncio.sleep(_LOOKS_EVERY_S)

    def _take_up(self, leg: WorkflowExecution) -> None:
        """Decide on a leg's card, unless that is being done already."""
        ours = leg.id.partition(".")[0] in self._scripts
        if ours and leg.id not in self._busy:
            task = self._busy[leg.id] = asyncio.create_task(self._decide_on(leg.id))
            task.add_done_callback(lambda _, leg_id=leg.id: self._busy.pop(leg_id, None))  # type: ignore[misc]

    async def _decide_on(self, leg_id: str) -> None:
        """What goes wrong here is seen again at the next look, as long as the card is open."""
        try:
            waiting = await waiting_of(self._client.connection, leg_id)
            if waiting is not None and waiting.card is not None:
                await self._decide(waiting.card)
        except OrchestratorError:
            return
        except RPCError as error:
            if not is_transient(error):
                raise

    async def _decide(self, card: ConfirmationCard) -> None:
        script = self._scripts[card.mission_id]
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
