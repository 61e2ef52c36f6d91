"""Whether a mission has set money aside for a call, as the mission itself says.

A leg is told so by a signal, and a signal names no sender: whoever may signal could say it.
"""

import asyncio
from typing import Final

from temporalio.client import Client, WorkflowQueryFailedError
from temporalio.service import RPCError

from orchestrator.core.budget import Money
from orchestrator.core.errors import MissionSilent, NotReserved
from orchestrator.messages import names
from orchestrator.messages.tool_call import ToolCall

_ANSWER_S: Final = 8.0
"""How long a mission may take to answer: its worker may have died, or has to replay it."""
_AGAIN_S: Final = 0.2


class ReservedMoney:
    """Asks missions what they have set aside."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def check(self, call: ToolCall) -> None:
        """Refuse a call whose leg was told of a reservation that its mission did not make.

        Raises:
            NotReserved: it did not, or not of this price.
            MissionSilent: that could not be found out now.
        """
        if call.reserved is None:
            return
        try:
            async with asyncio.timeout(_ANSWER_S):
                reserved = await self._answer(call)
        except (RPCError, TimeoutError) as error:
            reason = " ".join(str(error).split()) or "no answer came in time"
            raise MissionSilent(call.mission_id, call.leg_id, reason) from error
        if call.reserved not in reserved:
            raise NotReserved(call.call_id, str(call.reserved))

    async def _answer(self, call: ToolCall) -> list[Money]:
        """What is set aside for this call, asked again while workers send the question back."""
        mission = self._client.get_workflow_handle(call.mission_id)
        while True:
            try:
                answer: list[Money] = await mission.query(
                    names.RESERVED_QUERY, call.call_id, result_type=list[Money]
                )
            except WorkflowQueryFailedError:
                await asyncio.sleep(_AGAIN_S)
            else:
                return answer
