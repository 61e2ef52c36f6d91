"""Where a call comes from: the leg that it names, which its mission started on these very terms.

Whoever may start workflows on the namespace can schedule an activity of ours with a message that he
made up, or be the parent of a leg. So nothing here is believed that a message says of itself: the
leg and its parent are what the server says they are, and the terms are the mission's own answer.
"""

import asyncio
from datetime import timedelta
from typing import Final, Protocol

from temporalio import activity
from temporalio.client import Client, WorkflowQueryFailedError
from temporalio.service import RPCError

from orchestrator.adapters.temporal.leg_runs import given_to, is_leg_of
from orchestrator.adapters.temporal.rollbacks import described
from orchestrator.catalog.tool import Tool
from orchestrator.core.call_ref import CallRef
from orchestrator.core.errors import CallUnowned, LegUnowned, MissionSilent
from orchestrator.messages import names
from orchestrator.messages.leg import LegState
from orchestrator.messages.leg_terms import LegTerms
from orchestrator.messages.tool_call import PrepareInput, ToolCall
from orchestrator.saga.ledger import Obligation

_ANSWER: Final = timedelta(seconds=8)
"""How long a mission may take to answer: its worker may have died, or has to replay it."""
_AGAIN_S: Final = 0.2
_KEPT: Final = 1000


class CallOrigins(Protocol):
    """Says whether a call comes from where it says."""

    async def check(self, call: PrepareInput | ToolCall, tool: Tool) -> None:
        """Refuse a call that is not its mission's; called in the activity that was given it.

        Args:
            call: as the message says.
            tool: of its catalog; a call without consequences costs no question to the server.

        Raises:
            CallUnowned: another workflow sent it than the leg that it names.
            LegUnowned: no mission started that leg, or not on these terms.
            MissionSilent: that could not be found out now.
        """


class MissionOrigins:
    """Asks the server, and the mission that is the leg's parent there."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[str, LegTerms] = {}
        """Terms by the run of the leg: neither they nor its parent ever change."""

    async def check(self, call: PrepareInput | ToolCall, tool: Tool) -> None:
        """As `CallOrigins` says."""
        check_sender(call)
        if not (tool.is_side_effect or tool.needs_confirmation):
            return
        terms = await self._terms(call)
        leg = names.leg_workflow_id(call.mission_id, call.leg_id)
        if call.catalog_digest != terms.catalog.digest:
            raise LegUnowned(leg, "the call is of another catalog than its mission's")
        if call.agent is not None and call.agent != terms.leg.agent.wall:
            raise LegUnowned(leg, "the call's agent is not the one that its mission gave it to")
        if isinstance(call, PrepareInput):
            if call.policy != terms.policy:
                raise LegUnowned(leg, "the call's policy is not its mission's")
            orders = (call.read_only, call.covered, call.orders)
            if orders != (terms.read_only, terms.covered, terms.leg.orders):
                raise LegUnowned(leg, "the call's orders are not its mission's")
        elif terms.read_only and tool.is_side_effect:
            raise LegUnowned(leg, "its mission may change nothing")

    async def _terms(self, call: CallRef) -> LegTerms:
        run_id = activity.info().workflow_run_id or ""
        if run_id not in self._known:
            try:
                async with asyncio.timeout(_ANSWER.total_seconds()):
                    terms = await self._asked(call, run_id)
            except (RPCError, TimeoutError) as error:
                reason = " ".join(str(error).split()) or "no answer came in time"
                raise MissionSilent(call.mission_id, call.leg_id, reason) from error
            if len(self._known) >= _KEPT:
                self._known.pop(next(iter(self._known)))
            self._known[run_id] = terms
        return self._known[run_id]

    async def _asked(self, call: CallRef, run_id: str) -> LegTerms:
        """The terms on which the leg was started, the same by its mission and by its own input."""
        workflow_id = names.leg_workflow_id(call.mission_id, call.leg_id)
        leg = await described(self._client.get_workflow_handle(workflow_id, run_id=run_id))
        if leg is None or not is_leg_of(leg, call.mission_id):
            raise LegUnowned(workflow_id, f"no mission {call.mission_id!r} started it")
        mission = self._client.get_workflow_handle(call.mission_id, run_id=leg.parent_run_id)
        parent = await described(mission)
        if parent is None:
            raise LegUnowned(workflow_id, "the server no longer keeps its mission")
        if parent.workflow_type != names.MISSION_WORKFLOW:
            raise LegUnowned(workflow_id, f"what started it is a {parent.workflow_type}")
        terms = await self._answer(call, leg.parent_run_id)
        if terms is None:
            raise LegUnowned(workflow_id, "its mission says that it started no such leg")
        given = await given_to(self._client, leg)
        if given is not None:
            if differing := terms.differing(LegTerms.of(given)):
                raise LegUnowned(workflow_id, f"not its mission's: {', '.join(differing)}")
            # Names of tools that other legs found permit nothing: walls hold all the same.
            if given.state.model_copy(update={"discovered": ()}) != LegState():
                raise LegUnowned(workflow_id, "it was started with a past that it did not have")
        return terms

    async def _answer(self, call: CallRef, mission_run: str | None) -> LegTerms | None:
        """What the mission says, asked again while workers send the question back."""
        mission = self._client.get_workflow_handle(call.mission_id, run_id=mission_run)
        while True:
            try:
                answer: list[LegTerms] = await mission.query(
                    names.LEG_TERMS_QUERY, call.leg_id, result_type=list[LegTerms]
                )
            except WorkflowQueryFailedError:
                # Its run is replayed, or a worker of the last release does not know the question.
                await asyncio.sleep(_AGAIN_S)
            else:
                return next(iter(answer), None)


def check_sender(call: CallRef) -> None:
    """Refuse a call that another workflow sent than the leg that it names.

    Raises:
        CallUnowned: it did.
    """
    leg = names.leg_workflow_id(call.mission_id, call.leg_id)
    _check_runs_for(names.LEG_WORKFLOW, leg, call.call_id)
    if names.leg_of_confirmation(call.call_id) != leg:
        raise CallUnowned(call.call_id, f"the id is not one of a call of {leg}")


def check_taken_back(obligation: Obligation) -> None:
    """Refuse to take back what another workflow wants taken back than its mission's rollback.

    What was overcharged its own leg may take back as well.

    Raises:
        CallUnowned: it does.
    """
    leg = names.leg_workflow_id(obligation.mission_id, obligation.leg_id)
    if obligation.overcharged is not None and activity.info().workflow_id == leg:
        _check_runs_for(names.LEG_WORKFLOW, leg, obligation.obligation_id)
        return
    rollback = names.rollback_workflow_id(obligation.mission_id)
    _check_runs_for(names.ROLLBACK_WORKFLOW, rollback, obligation.obligation_id)


def _check_runs_for(workflow_type: str, workflow_id: str, call_id: str) -> None:
    info = activity.info()
    if (info.workflow_type, info.workflow_id) != (workflow_type, workflow_id):
        raise CallUnowned(
            call_id, f"{info.workflow_type} {info.workflow_id} sent it, not {workflow_id}"
        )
