"""Missions in each state that an observer may find them in, on a real installation."""

import asyncio
import contextlib
from collections.abc import Sequence
from contextlib import AsyncExitStack
from decimal import Decimal

from orchestrator.catalog.catalog import Catalog
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.budget import Money
from orchestrator.core.errors import UsageError
from orchestrator.messages.mission import MissionRequest, MissionResult
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import Finish, StepContext, StepDecision
from orchestrator.planning.planner import Planner
from orchestrator.planning.rules.rule_planner import RulePlanner
from orchestrator.routing.router import Router
from orchestrator.routing.selection import Selection
from orchestrator.runtime.defaults import default_tools
from orchestrator.runtime.demo import DINING, DINNER, TRIP
from orchestrator.runtime.worker import build
from orchestrator.sandbox import FaultRule, SandboxClient
from orchestrator.settings import Settings
from orchestrator.testing import approve, eventually, run_to_end

REQUESTER = "ann@example.com"
TABLE = f"Reserve a table for four at an Italian restaurant in Lisbon on {DINING} at 20:00"


class OnlySays(RulePlanner):
    """A planner that says at once that all is done."""

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> StepDecision:
        """That it is done, which it is not."""
        return Finish(summary="The table is reserved.")


class Scenes:
    """Brings missions about, one for each state; each is left in it."""

    def __init__(
        self,
        client: MissionClient,
        sandbox: SandboxClient,
        settings: Settings,
        *,
        prefix: str = "",
    ) -> None:
        """Take where missions run and what disturbs them; `prefix` begins their ids."""
        self._settings = settings
        self._client = client
        self._sandbox = sandbox
        self._prefix = prefix

    async def waits_for_confirmation(self) -> str:
        """A trip whose flight is booked, and whose hotel nobody has decided on."""
        mission = await self._start("lisbon-trip", TRIP, budget=900)
        await self._approve_until_booked(mission, "flight_book_offer")
        return mission.mission_id

    async def incomplete(self) -> str:
        """A table that a planner only says is reserved: a worker of its own has that planner."""
        return await self._at_own_worker("only-said", TABLE, planner=OnlySays(Router))

    async def observed(self) -> str:
        """A table that is reserved without a guard, at a worker that allows it."""
        return await self._at_own_worker("tried-out", TABLE, observe=True)

    async def waits_for_answer(self) -> str:
        """A flight of which nobody has said when."""
        mission = await self._start("which-flight", "Book a flight to Lisbon")
        await eventually(mission.questions)
        return mission.mission_id

    async def succeeded(self) -> str:
        """A dinner: a table is reserved, and a message sent."""
        mission = await self._start("team-dinner", DINNER, budget=300)
        return (await run_to_end(mission)).mission_id

    async def rolled_back(self) -> str:
        """The same, but the message is refused for good: the table is cancelled."""
        rules = [FaultRule(operation_id="message_send", kind="status_before", status=409)]
        return (await self._disturbed("dinner-refused", DINNER, rules)).mission_id

    async def left_to_rollback(self) -> str:
        """The same, but the restaurant refuses to cancel: its rollback has it parked."""
        rules = [
            FaultRule(operation_id="message_send", kind="status_before", status=409),
            FaultRule(operation_id="dining_cancel_reservation", kind="refuse_cancel"),
        ]
        return (await self._disturbed("dinner-parked", DINNER, rules)).mission_id

    async def failed(self) -> str:
        """A table that is refused for good: nothing was done."""
        rules = [FaultRule(operation_id="dining_reserve_table", kind="status_before", status=409)]
        return (await self._disturbed("no-table", TABLE, rules)).mission_id

    async def cancelled(self) -> str:
        """A dinner that a person cancelled when its table was reserved."""
        mission = await self._start("dinner-cancelled", DINNER)
        await self._approve_until_booked(mission, "dining_reserve_table")
        await mission.cancel()
        return (await run_to_end(mission)).mission_id

    async def rolls_back(self) -> str:
        """A trip that is lost at its end: one cancel is refused, another cannot be sent yet.

        The faults stay: whoever sets others, or clears them, lets its rollback go on.
        """
        mission_id = f"{self._prefix}trip-rolls-back"
        await self._disturb(
            "trip-rolls-back",
            FaultRule(operation_id="expense_file_report", kind="status_before", status=409),
            FaultRule(operation_id="hotel_cancel_booking", kind="refuse_cancel"),
            FaultRule(operation_id="flight_cancel_booking", kind="status_before", status=503),
        )
        mission = await self._start("trip-rolls-back", TRIP, budget=900)

        async def flight_first(mission: MissionHandle, card: ConfirmationCard) -> None:
            if card.tool != "hotel_book_room" or await self._has(mission, "flight_book_offer"):
                await approve(mission, card)

        going = asyncio.create_task(run_to_end(mission, flight_first, timeout_s=300))

        try:
            await eventually(lambda: self._parked(mission_id), timeout_s=90)
        finally:
            going.cancel()
        return mission_id

    # -- how --------------------------------------------------------------------------------------

    async def _at_own_worker(
        self, name: str, goal: str, *, planner: Planner | None = None, observe: bool = False
    ) -> str:
        more = {"task_queue": f"{self._prefix}{name}", "observe": observe}
        settings = self._settings.model_copy(update=more)
        async with AsyncExitStack() as running:
            tools = await running.enter_async_context(default_tools(settings))
            for worker in build(self._client.temporal, settings, planner=planner, tools=tools):
                await running.enter_async_context(worker)
            own = Scenes(MissionClient(self._client.temporal, settings), self._sandbox, settings)
            mission = await own._start(f"{self._prefix}{name}", goal, observe=observe)
            return (await run_to_end(mission)).mission_id

    async def _start(
        self, name: str, goal: str, *, budget: int | None = None, observe: bool = False
    ) -> MissionHandle:
        request = MissionRequest(
            goal=goal,
            mission_id=f"{self._prefix}{name}",
            requester=REQUESTER,
            observe=observe,
            policy=MissionPolicy(),
            budget=None if budget is None else Money(amount=Decimal(budget), currency="EUR"),
        )
        return await self._client.start(request)

    async def _disturb(self, name: str, *rules: FaultRule) -> None:
        """Add faults that the requests of one mission meet: others may run beside it."""
        own = {"request_prefix": f"{self._prefix}{name}."}
        await self._sandbox.add_faults([rule.model_copy(update=own) for rule in rules])

    async def _disturbed(self, name: str, goal: str, rules: Sequence[FaultRule]) -> MissionResult:
        await self._disturb(name, *rules)
        return await run_to_end(await self._start(name, goal))

    async def _approve_until_booked(self, mission: MissionHandle, tool: str) -> None:
        """Approve the cards of one tool until it has done what it does, and another one waits."""

        async def booked() -> bool:
            cards = await mission.confirmations()
            for card in cards:
                if card.tool == tool:
                    await approve(mission, card)
            others = any(card.tool != tool for card in cards)
            return others and bool(await self._sandbox.live(mission.mission_id))

        await eventually(booked)

    async def _has(self, mission: MissionHandle, tool: str) -> bool:
        live = await self._sandbox.live(mission.mission_id)
        return any(effect["operation"] == tool for effect in live)

    async def _parked(self, mission_id: str) -> list[str]:
        """The tools of what its rollback has parked; none as long as it has no rollback."""
        with contextlib.suppress(UsageError):
            report = await self._client.rollback_report(mission_id)
            return [obligation.tool for obligation in report.parked]
        return []
