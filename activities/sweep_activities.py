"""Sweeping: find what was stopped from outside, and start the rollback of what that left behind."""

import base64
from collections.abc import Mapping
from typing import Final

from temporalio import activity
from temporalio.client import Client, WorkflowExecutionDescription, WorkflowExecutionStatus

from activities.boundary import heartbeats
from activities.legs import read_legs, waits_for_rollback
from orchestrator.adapters.temporal.leg_runs import found_leg_runs
from orchestrator.adapters.temporal.rollbacks import (
    BROKEN_OFF,
    describe_rollback,
    described,
    start_rollback,
    was_refused,
)
from orchestrator.core.errors import LegsRunning
from orchestrator.messages import names
from orchestrator.messages.rollback import (
    FindStrandedInput,
    FindStrandedOutput,
    RecoverInput,
    Recovery,
)
from orchestrator.saga.ledger import Ledger

_PAGE: Final = 50
_STOPPED: Final = frozenset({WorkflowExecutionStatus.TERMINATED, WorkflowExecutionStatus.TIMED_OUT})
"""Ends that leave a mission or a leg no moment to clean up after itself."""
_NAMES: Final[Mapping[WorkflowExecutionStatus, str]] = {
    WorkflowExecutionStatus.TERMINATED: "Terminated",
    WorkflowExecutionStatus.TIMED_OUT: "TimedOut",
    WorkflowExecutionStatus.FAILED: "Failed",
    WorkflowExecutionStatus.CANCELED: "Canceled",
}


class SweepActivities:
    """Looks through one namespace of a server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name=names.FIND_STRANDED)
    async def find_stranded(self, wanted: FindStrandedInput) -> FindStrandedOutput:
        """One page of the missions that were stopped, or whose leg or rollback did not complete."""
        found = self._client.list_workflows(
            stranded_query(wanted),
            page_size=_PAGE,
            next_page_token=base64.b64decode(wanted.page_token) or None,
        )
        await found.fetch_next_page()
        page = found.current_page or ()
        token = base64.b64encode(found.next_page_token or b"").decode()
        ids = dict.fromkeys(names.mission_of(execution.id) for execution in page)
        return FindStrandedOutput(mission_ids=tuple(ids), page_token=token)

    @activity.defn(name=names.RECOVER_MISSION)
    async def recover_mission(self, wanted: RecoverInput) -> Recovery:
        """Start the rollback of a mission that needs one; repeating it is safe.

        What shows in a search may be old: all is decided on what the server says of each workflow.
        """
        async with heartbeats():
            return await self._recover(wanted.mission_id)

    async def _recover(self, mission_id: str) -> Recovery:
        mission = await described(self._client.get_workflow_handle(mission_id))
        if mission is not None and mission.workflow_type != names.MISSION_WORKFLOW:
            mission = None
        rollback = await describe_rollback(self._client, mission_id)
        refused = rollback is not None and await was_refused(self._client, rollback)
        if rollback is not None and not refused:
            if rollback.status not in BROKEN_OFF:
                return _nothing(mission_id, "its rollback is there")
            return await self._start(mission_id, mission or rollback, "its rollback was broken off")
        if mission is None:
            return await self._recover_deleted(mission_id)
        if mission.status not in _STOPPED:
            if refused and await self._waits(mission):
                return await self._start(mission_id, mission, "the mission waits for its rollback")
            # It runs and meets the loss of its leg itself, or it has concluded.
            return _nothing(mission_id, "the mission looks after itself")
        if not await self._left_anything(mission_id):
            return _nothing(mission_id, "it left nothing")
        reason = f"the mission was {_NAMES[mission.status].lower()}"
        return await self._start(mission_id, mission, reason)

    async def _recover_deleted(self, mission_id: str) -> Recovery:
        """What is left of a mission that somebody deleted, when it did not live to its end.

        Deleting one that runs asks its running legs to stop. Where all legs have succeeded, the
        mission may have too: what it did is not undone on a guess.
        """
        runs = [run async for run in found_leg_runs(self._client, mission_id)]
        if all(run.status is WorkflowExecutionStatus.COMPLETED for run in runs):
            return _nothing(mission_id, "the server no longer keeps the mission")
        if not await self._left_anything(mission_id):
            return _nothing(mission_id, "it left nothing")
        return await self._start(mission_id, runs[0], "the mission was deleted")

    async def _waits(self, mission: WorkflowExecutionDescription) -> bool:
        running = mission.status is WorkflowExecutionStatus.RUNNING
        return running and await waits_for_rollback(self._client, mission.id)

    async def _left_anything(self, mission_id: str) -> bool:
        try:
            read = await read_legs(self._client, mission_id)
        except LegsRunning:
            return True  # a leg that has not stopped may still commit something
        return bool(Ledger.merged(leg.ledger for leg in read.legs).live())

    async def _start(
        self, mission_id: str, among: WorkflowExecutionDescription, reason: str
    ) -> Recovery:
        """Start its rollback on the task queue of a workflow of the mission, if there is none."""
        begun = await start_rollback(
            self._client, mission_id, reason=reason, task_queue=among.task_queue
        )
        if begun in ("started", "restarted"):
            return Recovery(mission_id=mission_id, done=begun, why=reason)
        return _nothing(mission_id, "its rollback is there")


def stranded_query(wanted: FindStrandedInput) -> str:
    """The search for missions that were stopped, and legs and rollbacks that did not complete.

    A leg that failed or was cancelled tells of a mission which has been deleted since.
    """
    query = (
        f"((WorkflowType = '{names.MISSION_WORKFLOW}' AND {_status_in(_STOPPED)}) "
        f"OR (WorkflowType IN ('{names.LEG_WORKFLOW}', '{names.ROLLBACK_WORKFLOW}') "
        f"AND {_status_in(BROKEN_OFF)}))"
    )
    if wanted.closed_after is not None:
        query += f" AND CloseTime > '{wanted.closed_after.isoformat()}'"
    return query


def _status_in(statuses: frozenset[WorkflowExecutionStatus]) -> str:
    names = ", ".join(f"'{_NAMES[status]}'" for status in sorted(statuses))
    return f"ExecutionStatus IN ({names})"


def _nothing(mission_id: str, why: str) -> Recovery:
    return Recovery(mission_id=mission_id, done="nothing to do", why=why)
