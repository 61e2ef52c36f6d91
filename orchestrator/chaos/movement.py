"""Tells a mission that nothing moves from one that is only slow, by what its histories record."""

import os
import time

from temporalio.client import Client, WorkflowExecutionDescription
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.messages import names

_Seen = dict[str, tuple[str | None, int]]


class Movement:
    """Whether anything was recorded of a mission, its legs and its rollback since the last look.

    What is attempted again and again leaves nothing there, however busy it keeps its workers.
    """

    def __init__(self, client: Client, mission_id: str) -> None:
        """Take which mission it is; it need not have begun."""
        self._client = client
        self._parts = {mission_id, names.rollback_workflow_id(mission_id)}
        self._seen: _Seen = {}
        self._moved_at = time.monotonic()

    @property
    def still_s(self) -> float:
        """For how long nothing was seen to move."""
        return time.monotonic() - self._moved_at

    def __str__(self) -> str:
        events = sum(length for _, length in self._seen.values())
        load = f"load {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors"
        return f"{events} events, the last {self.still_s:.0f} s ago; {load}"

    async def look(self) -> bool:
        """Whether it has moved since the look before.

        Raises:
            RPCError: the server is away.
        """
        seen: _Seen = {}
        for part in sorted(self._parts):
            found = await self._described(part)
            if found is None:
                continue
            seen[part] = (found.run_id, found.history_length or 0)
            children = found.raw_description.pending_children
            self._parts |= {child.workflow_id for child in children}
        has_moved, self._seen = seen != self._seen, seen
        if has_moved:
            self._moved_at = time.monotonic()
        return has_moved

    async def _described(self, workflow_id: str) -> WorkflowExecutionDescription | None:
        try:
            return await self._client.get_workflow_handle(workflow_id).describe()
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise
