"""Runs missions as their scripts say, so many at a time, and reads how each has ended."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.adapters.temporal.search_attributes import STATUS
from orchestrator.chaos.goals import orders_of
from orchestrator.chaos.histories import (
    Showing,
    prompts_during_rollback,
    rollback_seconds,
    showings,
)
from orchestrator.chaos.interruptions import Interruptions
from orchestrator.chaos.movement import Movement
from orchestrator.chaos.scenarios.chaos_faults import ChaosFault
from orchestrator.chaos.scenarios.plan import MissionScript
from orchestrator.chaos.transient_errors import end_tasks, retry_transient
from orchestrator.chaos.verdicts.evidence import Account
from orchestrator.client.mission_client import MissionClient
from orchestrator.core.errors import OrchestratorError
from orchestrator.messages import names
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.messages.rollback import RollbackStatus
from orchestrator.sandbox import SandboxClient

_TERMINATED = WorkflowExecutionStatus.TERMINATED
_RUNNING = WorkflowExecutionStatus.RUNNING

_LAST_WORD_S = 10.0
_LOOKS_EVERY_S = 10.0
_MOST = 4
"""Times as long as a mission may stand still, for one that moves."""
_NO_END = (TimeoutError, OrchestratorError, RPCError)
"""How a mission can fail to settle; the others of the run go on."""
_PAUSE_S = 0.3

OnEnd = Callable[[Account], None]


class Conductor:
    """Plays scripts against one client's server."""

    def __init__(
        self,
        client: MissionClient,
        sandbox: SandboxClient,
        *,
        settle_within_s: float,
        on_end: OnEnd,
        rewound: asyncio.Event | None = None,
    ) -> None:
        """A mission that is not settled, and that nothing has moved for so many seconds, is stuck.

        One that still moves then is given up after four times as long. `rewound` is set once the
        server was restored from its older copy.
        """
        self._rewound = rewound or asyncio.Event()
        self._client = client
        self._sandbox = sandbox
        self._settle_within_s = settle_within_s
        self._on_end = on_end
        self.fired: Counter[ChaosFault] = Counter()
        """Interruptions that hit something."""

    async def play_all(self, scripts: Sequence[MissionScript], *, at_once: int) -> list[Account]:
        """Play every script, so many at a time."""
        room = asyncio.Semaphore(at_once)

        async def play(script: MissionScript) -> Account:
            async with room:
                return await self.play(script)

        async with asyncio.TaskGroup() as playing:
            tasks = [playing.create_task(play(script)) for script in scripts]
        return [task.result() for task in tasks]

    async def play(self, script: MissionScript) -> Account:
        """One mission, from its start until nothing about it is open any more."""
        began = asyncio.get_running_loop().time()
        movement = Movement(self._client.temporal, script.mission_id)
        try:
            async with (
                asyncio.timeout(self._settle_within_s) as limit,
                self._put_off(limit, movement),
            ):
                request = MissionRequest(
                    goal=script.goal, mission_id=script.mission_id, policy=script.policy
                )
                await retry_transient(lambda: self._client.start(request))
                if script.is_rewound:
                    # Asked for again: the server may never have heard of it.
                    await self._rewound.wait()
                    await retry_transient(lambda: self._client.start(request))
                await self._settle(script)
                told = await retry_transient(lambda: self._account_of(script))
        except _NO_END as error:
            told = await self._unsettled(script, error, movement)
        seconds = asyncio.get_running_loop().time() - began
        told = told.model_copy(update={"seconds": seconds})
        self._on_end(told)
        return told

    @asynccontextmanager
    async def _put_off(self, limit: asyncio.Timeout, movement: Movement) -> AsyncIterator[None]:
        """Put the end of its time off while the mission moves, though not for ever."""
        now = asyncio.get_running_loop().time
        latest = now() + _MOST * self._settle_within_s

        async def watch() -> None:
            while True:
                if await retry_transient(movement.look) and not limit.expired():
                    limit.reschedule(min(now() + self._settle_within_s, latest))
                await asyncio.sleep(min(_LOOKS_EVERY_S, self._settle_within_s / 4))

        watching = asyncio.create_task(watch())
        try:
            yield
        finally:
            await end_tasks([watching])

    # -- until it is settled ----------------------------------------------------------------------

    async def _settle(self, script: MissionScript) -> None:
        async with Interruptions(self._client, self._sandbox, script, self.fired) as interruptions:
            await retry_transient(lambda: self._closed(script.mission_id))
            await interruptions.on_rollback()
        # Until everything was tried; what was terminated, the scheduled sweep takes up.
        while not await retry_transient(lambda: self._is_settled(script.mission_id)):  # noqa: ASYNC110  # polled
            await asyncio.sleep(_PAUSE_S)

    async def _closed(self, mission_id: str) -> None:
        """Wait for the end of the mission, however it ends."""
        try:
            await self._client.temporal.get_workflow_handle(mission_id).result()
        except WorkflowFailureError:
            return

    async def _is_settled(self, mission_id: str) -> bool:
        """Whether nothing more will happen unless an operator does something."""
        rollback_id = names.rollback_workflow_id(mission_id)
        rollback = await self._status(rollback_id)
        if rollback is _RUNNING:
            return await self._is_parked(rollback_id)
        if rollback is None and await self._status(mission_id) is _TERMINATED:
            return await self._left_nothing(mission_id)
        return rollback is not _TERMINATED

    async def _left_nothing(self, mission_id: str) -> bool:
        """Whether a terminated mission has nothing that a sweep would start a rollback for."""
        result = await self._client.get(mission_id).snapshot()
        legs = [names.leg_workflow_id(mission_id, leg.leg_id) for leg in result.legs]
        running = [leg for leg in legs if await self._status(leg) is _RUNNING]
        return not running and not result.ledger.live()

    async def _status(self, workflow_id: str) -> WorkflowExecutionStatus | None:
        """How a workflow stands; None when there is none."""
        try:
            handle = self._client.temporal.get_workflow_handle(workflow_id)
            return (await handle.describe()).status
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise

    async def _is_parked(self, rollback_id: str) -> bool:
        handle = self._client.temporal.get_workflow_handle(rollback_id)
        shown = (await handle.describe()).typed_search_attributes
        return shown.get(STATUS) == RollbackStatus.PARKED

    # -- what it says -----------------------------------------------------------------------------

    async def _account_of(self, script: MissionScript) -> Account:
        mission_id = script.mission_id
        result = await self._client.get(mission_id).snapshot()
        rollback_id = names.rollback_workflow_id(mission_id)
        has_rollback = await self._status(rollback_id) is not None
        rollback = await self._client.rollback_report(mission_id) if has_rollback else None
        legs = [names.leg_workflow_id(mission_id, leg.leg_id) for leg in result.legs]
        rolled_back = [] if rollback is None else await self._showings(rollback_id)
        shown = [await self._showings(part) for part in (mission_id, *legs)]
        is_terminated = await self._status(mission_id) is _TERMINATED
        return Account(
            index=script.index,
            mission_id=mission_id,
            goal=script.goal,
            status=(MissionStatus.TERMINATED if is_terminated else result.status).value,
            error=result.error,
            ledger=result.ledger if rollback is None else rollback.ledger,
            catalog=result.catalog_digest,
            receipts=tuple(receipt.call_id for receipt in result.receipts),
            orders=orders_of(script.goal),
            rewound=script.is_rewound,
            prompts_during_rollback=prompts_during_rollback([*shown, rolled_back]),
            rollback_s=rollback_seconds(rolled_back),
        )

    async def _showings(self, workflow_id: str) -> list[Showing]:
        """What a part of a mission showed; nothing when it was never started."""
        try:
            handle = self._client.temporal.get_workflow_handle(workflow_id)
            return showings(await handle.fetch_history())
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return []
            raise

    async def _unsettled(
        self, script: MissionScript, error: Exception, movement: Movement
    ) -> Account:
        """What is known of a mission that does not settle, or cannot be asked.

        It is slow where it still moved, and stuck where it did not.
        """
        is_slow = isinstance(error, TimeoutError) and movement.still_s < self._settle_within_s
        status = "slow" if is_slow else "stuck"
        try:
            async with asyncio.timeout(_LAST_WORD_S):
                told = await retry_transient(lambda: self._account_of(script))
        except _NO_END:
            return Account(
                index=script.index,
                mission_id=script.mission_id,
                goal=script.goal,
                status=status,
                error=f"{str(error) or 'it does not answer'} ({movement})",
            )
        why = f"{told.status}: {told.error or str(error) or 'no error'} ({movement})"
        return told.model_copy(update={"status": status, "error": why})
