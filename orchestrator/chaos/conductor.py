"""Runs missions by their scripts, interrupts them, and reads how each has ended."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from copy import copy
from typing import Final, Self
from uuid import uuid4

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.adapters.temporal.search_attributes import STATUS
from orchestrator.chaos.histories import (
    Movement,
    Showing,
    end_tasks,
    is_transient,
    prompts_during_rollback,
    retry_transient,
    rollback_seconds,
    showings,
    whole_history,
)
from orchestrator.chaos.scenarios.chaos_faults import ChaosFault
from orchestrator.chaos.scenarios.plan import Interruption, MissionScript
from orchestrator.chaos.verdicts.invariants import Account, ApprovedCall
from orchestrator.client.mission_client import MissionClient
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.errors import OrchestratorError, UsageError
from orchestrator.messages import names
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.messages.rollback import RollbackStatus
from orchestrator.runtime.demo import DINNER, LEAVING, RETURNING, TRIP, day_in
from orchestrator.sandbox import SandboxClient

APPROVER = "chaos@example.com"
Find = Callable[[str], MissionScript | None]


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
                    named, script = card.confirmation_id, self._find(card.mission_id)
                    if script is not None and named not in self._busy:
                        self._busy[named] = asyncio.create_task(self._decide_on(card, script))
            except OrchestratorError:
                pass  # the server is away: the card is still open when it is back
            except RPCError as error:
                if not is_transient(error):
                    raise
            await asyncio.sleep(0.15)

    async def _decide_on(self, card: ConfirmationCard, script: MissionScript) -> None:
        """Decide; after an error an open card is found again at the next look."""
        named = card.confirmation_id
        seen = self._cards.setdefault(card.mission_id, [])
        is_new = named not in seen
        if is_new:
            seen.append(named)
        number = seen.index(named)
        try:
            if number == script.ignored_card:
                self.ignored += is_new
            elif number == script.rejected_card:
                self.rejected += is_new
                await self._client.reject(named, reason="a chaos run rejects it", approver=APPROVER)
            else:
                # The card about a charge above the approved price is named after its call.
                asked_again = f"-{card.round}" if card.round > 1 else ""
                approved = ApprovedCall(
                    call_id=named.removesuffix(asked_again).removesuffix("-overcharge"),
                    tool=card.tool,
                    card_type=card.card_type,
                    arguments=card.arguments,
                    price=card.price,
                )
                self.approved.append(approved)
                await self._client.approve(named, card.digest, approver=APPROVER)
        except OrchestratorError:
            return
        except RPCError as error:
            if not is_transient(error):
                raise
        finally:
            self._busy.pop(named, None)


_POLLS_EVERY_S = 0.1
_TERMINATED: Final = WorkflowExecutionStatus.TERMINATED
_RUNNING: Final = WorkflowExecutionStatus.RUNNING
_TASK_DONE: Final = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED


class Missions:
    """Starts and cancels the missions of a run, and collects the accounts for the verdict."""

    def __init__(
        self,
        client: MissionClient,
        sandbox: SandboxClient,
        written: MissionRequest | None = None,
    ) -> None:
        """Create the missions of a client, with the sandbox of their providers.

        With `written`, each mission runs its workflow in place of a goal.
        """
        self.client = client
        self.sandbox = sandbox
        self.written = written

    def on(self, client: MissionClient) -> Self:
        """Return the same missions, started by another client."""
        other = copy(self)
        other.client = client
        return other

    def approver(self, scripts: Iterable[MissionScript]) -> Approver:
        """Return a person who decides on the cards of these scripts."""
        return Approver(self.client, scripts)

    async def run_pilot(self, pilot: MissionScript) -> list[Account]:
        """Run a mission without faults, which shows at which points others can be interrupted."""
        return await Conductor(self, settle_within_s=480.0, on_end=lambda _: None).play(pilot)

    async def start(self, script: MissionScript) -> None:
        """Start a mission, unless it runs."""
        own = {"goal": script.goal, "mission_id": script.mission_id, "policy": script.policy}
        request = self.written or MissionRequest(goal=script.goal)
        await self.client.start(request.model_copy(update=own))

    async def cancel(self, script: MissionScript) -> None:
        """Request the cancellation of a mission.

        Raises:
            UsageError: it is over.
        """
        await self.client.get(script.mission_id).cancel()

    async def ids(self, script: MissionScript) -> Sequence[str]:
        """Return the ids of the ledgers of a script: that of its mission."""
        return (script.mission_id,)

    async def status(self, workflow_id: str) -> WorkflowExecutionStatus | None:
        """Return the status of a workflow; None if there is none."""
        try:
            handle = self.client.temporal.get_workflow_handle(workflow_id)
            return (await handle.describe()).status
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise

    async def is_settled(self, script: MissionScript) -> bool:
        """Return True if nothing more happens without an operator."""
        for mission_id in await self.ids(script):
            rollback_id = names.rollback_workflow_id(mission_id)
            rollback = await self.status(rollback_id)
            if rollback is _TERMINATED:
                return False
            if rollback is _RUNNING:
                handle = self.client.temporal.get_workflow_handle(rollback_id)
                shown = (await handle.describe()).typed_search_attributes
                if shown.get(STATUS) != RollbackStatus.PARKED:
                    return False
            if rollback is None and await self.leaves_work(script, mission_id):
                return False
        return True

    async def leaves_work(self, script: MissionScript, mission_id: str) -> bool:
        """Return True if a sweep would start a rollback of a ledger that has none."""
        if await self.status(mission_id) is not _TERMINATED:
            return False
        result = await self.client.get(mission_id).snapshot()
        return bool(result.ledger.live())

    async def accounts(self, script: MissionScript) -> list[Account]:
        """Return the account of each ledger."""
        mission_id = script.mission_id
        result = await self.client.get(mission_id).snapshot()
        rollback_id = names.rollback_workflow_id(mission_id)
        has_rollback = await self.status(rollback_id) is not None
        rollback = await self.client.rollback_report(mission_id) if has_rollback else None
        rolled_back = [] if rollback is None else await self.showings(rollback_id)
        shown = await self.showings(mission_id)
        is_terminated = await self.status(mission_id) is _TERMINATED
        account = Account(
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
            prompts_during_rollback=prompts_during_rollback([shown, rolled_back]),
            rollback_s=rollback_seconds(rolled_back),
        )
        return [account]

    async def showings(self, workflow_id: str) -> list[Showing]:
        """Return the statuses of all runs of a workflow; empty if it was never started."""
        try:
            return showings(await whole_history(self.client.temporal, workflow_id))
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return []
            raise


class Interruptions:
    """Interrupts one mission while the block runs."""

    def __init__(
        self, missions: Missions, script: MissionScript, fired: "Counter[ChaosFault]"
    ) -> None:
        """Create interruptions; `fired` counts those that had an effect."""
        self._missions = missions
        self._client = missions.client
        self._script = script
        self._fired = fired
        self._closed = asyncio.Event()

    async def __aenter__(self) -> "Interruptions":
        """Schedule the interruptions."""
        late = [one for one in self._script.interruptions if one.part == "rollback"]
        others = [one for one in self._script.interruptions if one.part != "rollback"]
        self._rollback = [asyncio.create_task(self._end_rollback(one)) for one in late]
        self._others = [asyncio.create_task(self._interrupt(one)) for one in others]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Cancel the interruptions that are still due."""
        await end_tasks([*self._rollback, *self._others])

    async def on_rollback(self) -> None:
        """Wait for the interruptions of the closed mission's rollback, if it has one."""
        self._closed.set()
        await asyncio.gather(*self._rollback)

    async def _interrupt(self, interruption: Interruption) -> None:
        moment, mission_id = interruption.moment, self._script.mission_id
        if moment.request is None:
            await asyncio.sleep(moment.after_s)
        else:
            while not await self._is_held(moment.request):  # noqa: ASYNC110  # polled
                await asyncio.sleep(_POLLS_EVERY_S)
        match interruption.kind:
            case "cancel":
                await self._once(ChaosFault.CANCEL, lambda: self._missions.cancel(self._script))
            case "terminate":
                await self._terminate(mission_id)
            case "reset":
                await self._once(ChaosFault.RESET, lambda: self._reset(interruption.keeps))

    async def _is_held(self, request: int) -> bool:
        for mission_id in await self._missions.ids(self._script):
            for rule in (await self._missions.sandbox.faults(f"{mission_id}."))["rules"]:
                is_hold = rule["kind"] == "latency" and rule["after"] == request - 1
                if is_hold and rule["fired"]:
                    return True
        return False

    async def _end_rollback(self, interruption: Interruption) -> None:

        async def running() -> str:
            rollbacks = map(names.rollback_workflow_id, await self._missions.ids(self._script))
            found = [one for one in rollbacks if await self._missions.status(one) is _RUNNING]
            return next(iter(found), "")

        while not (rollback_id := await retry_transient(running)):
            if self._closed.is_set():
                return
            await asyncio.sleep(_POLLS_EVERY_S)
        await asyncio.sleep(interruption.moment.after_s)
        await self._terminate(rollback_id)

    async def _terminate(self, workflow_id: str) -> None:
        handle = self._client.temporal.get_workflow_handle(workflow_id)
        await self._once(ChaosFault.TERMINATE, lambda: handle.terminate("a chaos run"))

    async def _reset(self, keeps: float) -> None:
        """Reset the mission to an earlier task, unless it is over or being rolled back.

        A mission reset to before its rollback would rely on cancelled effects; docs/operations.md
        warns operators of it.

        Raises:
            UsageError: there is nothing to reset.
        """
        mission_id = self._script.mission_id
        is_over = not await self._client.connection.is_running(mission_id)
        rollbacks = map(names.rollback_workflow_id, await self._missions.ids(self._script))
        if is_over or any([await self._missions.status(one) is not None for one in rollbacks]):
            raise UsageError(f"{mission_id} is over, or rolled back")
        history = await self._client.temporal.get_workflow_handle(mission_id).fetch_history()
        tasks = [e.event_id for e in history.events if e.event_type == _TASK_DONE]
        if not tasks:
            raise UsageError(f"{mission_id} has not begun")
        await self._client.temporal.workflow_service.reset_workflow_execution(
            ResetWorkflowExecutionRequest(
                namespace=self._client.temporal.namespace,
                workflow_execution=WorkflowExecution(workflow_id=mission_id),
                reason="a chaos run",
                workflow_task_finish_event_id=tasks[int((len(tasks) - 1) * keeps)],
                request_id=uuid4().hex,
            )
        )

    async def _once(self, fault: ChaosFault, interrupt: Callable[[], Awaitable[None]]) -> None:
        try:
            await retry_transient(interrupt)
        except UsageError:
            return
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return
        self._fired[fault] += 1


_ORDERS: Final[dict[str, tuple[str, ...]]] = {
    TRIP: ("flight_book_offer", "hotel_book_room", "expense_file_report"),
    DINNER: ("dining_reserve_table", "message_send"),
    f"Rent a car in Lisbon from {LEAVING} to {RETURNING} and add it to my calendar": (
        "car_book_offer",
        "calendar_create_event",
    ),
    "Share the file report-2026.pdf with lee@example.com": ("file_share_file",),
    "Pay the cheapest invoice and message #finance about it": (
        "payment_pay_invoice",
        "message_send",
    ),
    "Upload the text 'Trip notes for Lisbon' as trip-notes.txt": ("file_upload_file",),
    f"Schedule a message to my team for {day_in(8)} at 09:00 saying that the quarter has closed": (
        "message_schedule",
    ),
}

GOALS: Final = tuple(_ORDERS)
"""Goals for the tools of nine of the bundled documents."""


def orders_of(goal: str) -> tuple[str, ...]:
    """Return the tools that a success of this goal calls; () for an unknown goal."""
    return _ORDERS.get(goal, ())


_NO_END = (TimeoutError, OrchestratorError, RPCError)
"""Errors of a mission that does not settle; the other missions continue."""
OnEnd = Callable[[Account], None]


class Conductor:
    """Runs the missions of scripts on one client's server, until each is settled."""

    def __init__(
        self,
        missions: Missions,
        *,
        settle_within_s: float,
        on_end: OnEnd,
        rewound: asyncio.Event | None = None,
    ) -> None:
        """Create a conductor.

        Args:
            missions: the missions of the scripts.
            settle_within_s: an unsettled mission that stands still for this time is stuck; one that
                moves is given up after four times as long.
            on_end: called with each settled mission.
            rewound: set once the server was restored from its older copy.
        """
        self._rewound = rewound or asyncio.Event()
        self._missions = missions
        self._client = missions.client
        self._settle_within_s = settle_within_s
        self._on_end = on_end
        self.fired: Counter[ChaosFault] = Counter()
        """The number of interruptions that had an effect, by fault."""

    async def play_all(self, scripts: Sequence[MissionScript], *, at_once: int) -> list[Account]:
        """Run every script, at most `at_once` at a time."""
        room = asyncio.Semaphore(at_once)

        async def play(script: MissionScript) -> list[Account]:
            async with room:
                return await self.play(script)

        async with asyncio.TaskGroup() as playing:
            tasks = [playing.create_task(play(script)) for script in scripts]
        return [account for task in tasks for account in task.result()]

    async def play(self, script: MissionScript) -> list[Account]:
        """Run one mission until nothing about it is open."""
        began = asyncio.get_running_loop().time()
        movement = Movement(self._client.temporal, script.mission_id)
        try:
            async with (
                asyncio.timeout(self._settle_within_s) as limit,
                self._extended(limit, movement),
            ):
                await retry_transient(lambda: self._missions.start(script))
                if script.is_rewound:
                    # Started again: the restored server may not know the mission.
                    await self._rewound.wait()
                    await retry_transient(lambda: self._missions.start(script))
                async with Interruptions(self._missions, script, self.fired) as interruptions:
                    await retry_transient(lambda: self._closed(script.mission_id))
                    await interruptions.on_rollback()
                # A reset that came just as the mission ended has begun another run.
                await retry_transient(lambda: self._closed(script.mission_id))
                # Until every cancel was tried; the scheduled sweep continues after a termination.
                while not await retry_transient(lambda: self._missions.is_settled(script)):  # noqa: ASYNC110  # polled
                    await asyncio.sleep(0.3)
                accounts = await retry_transient(lambda: self._missions.accounts(script))
        except _NO_END as error:
            accounts = await self._unsettled(script, error, movement)
        seconds = asyncio.get_running_loop().time() - began
        accounts = [account.model_copy(update={"seconds": seconds}) for account in accounts]
        self._on_end(accounts[0])
        return accounts

    @asynccontextmanager
    async def _extended(self, limit: asyncio.Timeout, movement: Movement) -> AsyncIterator[None]:
        """Extend the time limit while the mission moves, up to four times the limit."""
        now = asyncio.get_running_loop().time
        latest = now() + 4 * self._settle_within_s

        async def watch() -> None:
            while True:
                if await retry_transient(movement.look) and not limit.expired():
                    limit.reschedule(min(now() + self._settle_within_s, latest))
                await asyncio.sleep(min(10.0, self._settle_within_s / 4))

        watching = asyncio.create_task(watch())
        try:
            yield
        finally:
            await end_tasks([watching])

    # -- until it is settled ----------------------------------------------------------------------

    async def _closed(self, mission_id: str) -> None:
        while True:
            with suppress(WorkflowFailureError):
                await self._client.temporal.get_workflow_handle(mission_id).result()
            if await self._missions.status(mission_id) is not _RUNNING:
                return

    async def _unsettled(
        self, script: MissionScript, error: Exception, movement: Movement
    ) -> list[Account]:
        """Return the accounts of a mission that does not settle: slow if it moves, else stuck."""
        is_slow = isinstance(error, TimeoutError) and movement.still_s < self._settle_within_s
        status, mission_id = "slow" if is_slow else "stuck", script.mission_id
        try:
            async with asyncio.timeout(10.0):
                accounts = await retry_transient(lambda: self._missions.accounts(script))
        except _NO_END:
            why = f"{str(error) or 'it does not answer'} ({movement})"
            known = {"index": script.index, "mission_id": mission_id, "goal": script.goal}
            return [Account.model_validate({**known, "status": status, "error": why})]
        given_up = []
        for one in accounts:
            why = f"{one.status}: {one.error or str(error) or 'no error'} ({movement})"
            given_up.append(one.model_copy(update={"status": status, "error": why}))
        return given_up
