"""Starting a mission: once per id, whoever repeats it, and with an answer in one round trip."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from temporalio.client import WithStartWorkflowOperation, WorkflowExecutionStatus
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

from orchestrator.adapters.temporal.mission_start import DIGEST_MEMO, mission_start
from orchestrator.client.connection import PICK_UP, Connection
from orchestrator.client.message_size import check_request
from orchestrator.client.personal_data import BroughtInputs, separate_personal
from orchestrator.client.stores import open_vault
from orchestrator.client.taking_up import taken_up
from orchestrator.core import errors
from orchestrator.core.budget import check_currencies
from orchestrator.messages import names
from orchestrator.messages.mission import (
    AcceptedMission,
    MissionInput,
    MissionRequest,
    request_digest,
)
from orchestrator.messages.mission_policy import MissionPolicy, check_not_widened
from orchestrator.messages.new_requests import check_new, new_mission_id
from orchestrator.settings import Settings, load_policy

_TAKEN_UP: Final = timedelta(seconds=20)
"""How long a queued mission may take to be taken up before whoever waits for its plan is told."""


@dataclass(frozen=True)
class Started:
    """A mission that the server has."""

    mission_id: str
    undeclared_inputs: tuple[str, ...] = ()
    """Inputs that no tool takes."""
    queued: str = ""
    """Why no worker has taken it up yet, in a sentence; empty when one has."""


class Starter:
    """Starts missions by an update with start; keeps nothing between two calls."""

    def __init__(self, connection: Connection, settings: Settings) -> None:
        """Take the connection to speak through, and the settings of new missions."""
        self._connection = connection
        self._settings = settings

    async def start(self, request: MissionRequest) -> Started:
        """Start a mission, which is on the server when this returns. See `MissionClient.start`."""
        request, brought = await self.completed(request)
        async with self._kept(request, brought):
            queued = await self._begin(request)
        return Started(_id_of(request), brought.undeclared, queued)

    async def _begin(self, request: MissionRequest) -> str:
        """Start it; why no worker has taken it up yet, or nothing when one has.

        Whether one has is read from its history, which costs it nothing. No worker was asked, so
        that the start is made once, whatever workers do.
        """
        if not await self._enqueue(request):
            return ""
        try:
            await self._connection.await_poller()
            await taken_up(self._connection, _id_of(request), within=PICK_UP)
        except errors.NoWorker as absence:
            return str(absence)
        return ""

    async def submit(self, request: MissionRequest) -> AcceptedMission:
        """Start a mission; what it will do. See `MissionClient.submit`."""
        request, brought = await self.completed(request)
        # Before anything is begun: where nobody is there, nothing is.
        await self._connection.await_poller()
        async with self._kept(request, brought):
            accepted = await self._planned(request)
            if accepted.refusal is not None:
                raise errors.MissionRefused(accepted.mission_id, accepted.refusal)
        return accepted.model_copy(update={"undeclared_inputs": brought.undeclared})

    async def _planned(self, request: MissionRequest) -> AcceptedMission:
        try:
            return await self._update_with_start(request, names.PLAN_UPDATE)
        except errors.NoAnswer:
            # A planner that thinks for long looks the same, until a worker answers something else.
            await self._enqueue(request)
        try:
            await self._take_on(request, within=_TAKEN_UP)
        except errors.NoAnswer:
            queue = self._connection.task_queue
            raise errors.MissionQueued(queue, _id_of(request)) from None
        return await self._update_with_start(request, names.PLAN_UPDATE, within=None)

    @asynccontextmanager
    async def _kept(self, request: MissionRequest, brought: BroughtInputs) -> AsyncIterator[None]:
        """Keep the personal values of a request before it is sent, and not beyond its refusal.

        They are kept under the mission's own id and for this very request: nothing that another
        mission, or another request under the same id, has brought is touched, now or when they are
        taken back. Whoever dies in between leaves values that nothing refers to; they go with the
        retention time.
        """
        if not brought.values:
            yield
            return
        vault, scope, claim = open_vault(self._settings), _id_of(request), request_digest(request)
        await asyncio.to_thread(vault.bring, scope, brought.values, claim=claim)
        try:
            yield
        except (errors.MissionIdTaken, errors.MissionRefused):
            await asyncio.to_thread(vault.release, scope, claim=claim)
            raise

    async def _take_on(self, request: MissionRequest, *, within: timedelta = PICK_UP) -> None:
        """That a worker has it, or has had it: one that is over is not begun again."""
        try:
            await self._send_with_start(request, names.TAKE_ON_UPDATE, within=within)
        except WorkflowAlreadyStartedError:
            await self._check_same(request)

    async def _enqueue(self, request: MissionRequest) -> bool:
        """Start it without asking any worker: once this returns, the server has it.

        Whether it waits for a worker: one that is over waits for nobody.

        Raises:
            MissionIdTaken: the id is that of another request.
        """
        start = self._start_options(request, conflict=WorkflowIDConflictPolicy.FAIL)
        try:
            with self._connection.explaining():
                await self._connection.temporal.start_workflow(
                    names.MISSION_WORKFLOW, MissionInput(request=request), **start
                )
            return True
        except WorkflowAlreadyStartedError:
            return await self._check_same(request)
        except errors.NoAnswer as late:  # no worker was asked: it is the server's
            host = self._connection.temporal.service_client.config.target_host
            raise errors.ServerUnreachable(host) from late

    async def _check_same(self, request: MissionRequest) -> bool:
        """Refuse an id that another request has; whether the mission that has it still runs."""
        mission_id, digest = _id_of(request), request_digest(request)
        there = await self._connection.describe(mission_id)
        asked = (await there.memo()).get(DIGEST_MEMO)
        if asked is None:  # started by a release that did not write it down
            asked = (await self._accepted(mission_id)).request_digest
        if asked != digest:
            raise errors.MissionIdTaken(mission_id)
        return there.status is WorkflowExecutionStatus.RUNNING

    async def _accepted(self, mission_id: str) -> AcceptedMission:
        return await self._connection.query(mission_id, names.ACCEPTED_QUERY, AcceptedMission)

    async def completed(
        self, request: MissionRequest, *, pins: bool = True
    ) -> tuple[MissionRequest, BroughtInputs]:
        """The request as it may enter history, with an id; nothing is kept yet.

        `pins`: its handles say whose values they mean, once these are kept.
        """
        check_new(request.goal, request.policy)
        check_currencies(request)
        await check_request(self._connection.temporal, request)
        mission_id = request.mission_id or new_mission_id(
            request.goal, tells_goal=not self._settings.encrypts
        )
        policy = self._policy_of(request)
        check_currencies(policy)
        brought = await asyncio.to_thread(self._separated, request, mission_id, pins=pins)
        completed = request.model_copy(
            update={
                "policy": policy,
                "inputs": brought.inputs,
                "mission_id": mission_id,
            }
        )
        return completed, brought

    def _policy_of(self, request: MissionRequest) -> MissionPolicy:
        """The request's own policy, else that of the settings, which an own one may only tighten.

        The worker looks again, with its own: these settings may be others.

        Raises:
            PolicyWidened: the request's own policy allows more than that of the settings.
        """
        of_settings = load_policy(self._settings.mission_policy)
        if of_settings is None:
            return request.policy
        if "policy" not in request.model_fields_set:
            return of_settings
        check_not_widened(request.policy, of_settings)
        return request.policy

    async def _update_with_start(
        self, request: MissionRequest, update: str, *, within: timedelta | None = PICK_UP
    ) -> AcceptedMission:
        try:
            return await self._send_with_start(request, update, within=within)
        except WorkflowAlreadyStartedError:
            pass  # it ran, and is over: what did it answer when it was started?
        mission_id = _id_of(request)
        accepted = await self._accepted(mission_id)
        if accepted.request_digest != request_digest(request):
            raise errors.MissionIdTaken(mission_id)
        return accepted

    async def _send_with_start(
        self, request: MissionRequest, update: str, *, within: timedelta | None
    ) -> AcceptedMission:
        return await self._connection.start_with(
            self._operation(request),
            update,
            request,
            AcceptedMission,
            # Of the request: repeated it is one update, and another request is refused.
            update_id=f"{update}-{request_digest(request)}",
            within=within,
        )

    def _operation(self, request: MissionRequest) -> "WithStartWorkflowOperation[Any, Any]":
        start = self._start_options(request, conflict=WorkflowIDConflictPolicy.USE_EXISTING)
        return WithStartWorkflowOperation(
            names.MISSION_WORKFLOW, MissionInput(request=request), **start
        )

    def _start_options(
        self, request: MissionRequest, *, conflict: WorkflowIDConflictPolicy
    ) -> dict[str, Any]:
        """What a mission is started with, however it is."""
        return {
            **mission_start(request),
            "task_queue": self._settings.task_queue,
            "id_conflict_policy": conflict,
        }

    def _separated(self, request: MissionRequest, mission_id: str, *, pins: bool) -> BroughtInputs:
        """The inputs, apart from the personal values among them."""
        if not request.inputs:
            return BroughtInputs({}, {}, ())
        from orchestrator.catalog.catalog import Catalog  # compiles documents

        catalog = Catalog.load(*self._settings.specs, overlays=self._settings.overlays)
        vault = open_vault(self._settings)
        return separate_personal(request.inputs, catalog, vault, mission_id=mission_id, pins=pins)


def _id_of(request: MissionRequest) -> str:
    """The id that a completed request has."""
    assert request.mission_id is not None
    return request.mission_id
