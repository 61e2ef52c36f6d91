"""The demo: three missions on real parts, each checked against the providers' actual state."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from pydantic import Field

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.record import JsonObject, Record
from orchestrator.core.shown_text import number_of
from orchestrator.messages.mission import MissionRequest, MissionResult, MissionStatus
from orchestrator.runtime.devserver import Stack
from orchestrator.saga.obligation import ObligationState
from orchestrator.sandbox import FaultRule, SandboxClient


def day_in(days: int) -> str:
    """Return a future day in ISO 8601, as a person is asked about a plan for a past day."""
    return (datetime.now(UTC).date() + timedelta(days=days)).isoformat()


LEAVING, DINING, RETURNING = day_in(10), day_in(11), day_in(13)
TRIP = (
    f"Book a flight from Berlin to Lisbon on {LEAVING}, returning {RETURNING}, "
    "reserve a hotel in Lisbon for those nights and file the expense"
)
DINNER = (
    f"Reserve a table for four at an Italian restaurant in Lisbon on {DINING} at 20:00 "
    "and message my team about it"
)
APPROVER = "demo@example.com"
_MISSION_TIMEOUT_S = 90.0

Tell = Callable[[str], None]
MayApprove = Callable[[ConfirmationCard], Awaitable[bool]]


class TimelineEntry(Record):
    """An event of a mission."""

    at: datetime
    leg: str
    what: str
    tools: str = Field(default="", description="forwarded and available tools of a planner step")
    outcome: str = ""


class DemoMission(Record):
    """A mission of the demo, with the sandbox's record of it."""

    name: str
    result: MissionResult
    sandbox_ledger: tuple[JsonObject, ...]
    live_effects: int
    duplicate_effects: int
    timeline: tuple[TimelineEntry, ...]
    seconds: float
    problems: tuple[str, ...] = Field(default=(), description="deviations from the expected result")


class DemoReport(Record):
    """The results of the demo."""

    missions: tuple[DemoMission, ...]
    ui_url: str
    seconds: float
    ok: bool


class Demo:
    """Runs the three missions on a started stack."""

    def __init__(self, stack: Stack, report: Tell) -> None:
        self._stack = stack
        self._print = report

    async def run(self) -> DemoReport:
        """Run in this order: success, rollback, killed worker."""
        began = asyncio.get_running_loop().time()
        client = await self._stack.client()
        async with SandboxClient(self._stack.sandbox_url) as sandbox:
            self._print("[b]1. success[/b]: a trip, three agents, every booking confirmed")
            asked_at = asyncio.get_running_loop().time()
            mission = await client.start(MissionRequest(goal=TRIP))
            result = await self._confirmed(mission, _always)
            wanted = MissionStatus.SUCCEEDED
            success = await _checked("success", result, sandbox, asked_at, wanted)
            rollback = await self._rollback(client, sandbox, success)
            killed = await self._killed_worker(client, sandbox)
        missions = (success, rollback, killed)
        return DemoReport(
            missions=missions,
            ui_url=self._stack.ui_url,
            seconds=asyncio.get_running_loop().time() - began,
            ok=not any(mission.problems for mission in missions),
        )

    async def _rollback(
        self, client: MissionClient, sandbox: SandboxClient, success: DemoMission
    ) -> DemoMission:
        """Run the same trip, with the provider of its second booking refusing permanently."""
        # By their place in the plan, as parallel legs book in any order.
        planned = sorted(
            success.result.ledger.obligations, key=lambda obligation: obligation.leg_id
        )
        doomed = planned[1].tool if len(planned) > 1 else "*"
        self._print(f"[b]2. rollback[/b]: the same trip, and {doomed} is refused for good")
        began = asyncio.get_running_loop().time()
        await sandbox.set_faults([FaultRule(operation_id=doomed, kind="status_before", status=409)])
        mission = await client.start(MissionRequest(goal=TRIP))

        async def after_the_others(card: ConfirmationCard) -> bool:
            return card.tool != doomed or bool(await sandbox.live(mission.mission_id))

        result = await self._confirmed(mission, after_the_others)
        await sandbox.clear_faults()
        return await _checked("rollback", result, sandbox, began, MissionStatus.ROLLED_BACK)

    async def _killed_worker(self, client: MissionClient, sandbox: SandboxClient) -> DemoMission:
        """Run a dinner whose worker dies by SIGKILL while the booking request is in flight."""
        self._print(
            "[b]3. killed worker[/b]: kill -9 while a booking is on its way, then a new one"
        )
        began = asyncio.get_running_loop().time()
        await sandbox.set_faults([FaultRule(operation_id="*", kind="latency", delay_s=1.0)])
        mission = await client.start(MissionRequest(goal=DINNER))
        # A mission that shows no card is judged by its result.
        await _poll(lambda: self._approve_open(mission, _always), timeout_s=_MISSION_TIMEOUT_S)

        async def is_on_the_wire() -> bool:
            ledger = (await mission.snapshot()).ledger
            return any(one.state is ObligationState.INTENDED for one in ledger.obligations)

        await _poll(is_on_the_wire, timeout_s=5.0)
        await self._stack.kill("worker")
        self._print("   worker killed; the mission's state is on the server alone")
        await sandbox.clear_faults()
        await self._stack.start_worker()
        self._print("   a new worker polls")
        result = await self._confirmed(mission, _always)
        return await _checked("killed worker", result, sandbox, began, MissionStatus.SUCCEEDED)

    async def _confirmed(self, mission: MissionHandle, may: MayApprove) -> MissionResult:
        finish = asyncio.create_task(mission.result())
        try:
            async with asyncio.timeout(_MISSION_TIMEOUT_S):
                while not finish.done():
                    await self._approve_open(mission, may)
                    await asyncio.wait([finish], timeout=0.15)
        except TimeoutError:
            self._print(f"   {mission.mission_id} did not end within {_MISSION_TIMEOUT_S:.0f} s")
            return await mission.snapshot()
        finally:
            finish.cancel()
        return finish.result()

    async def _approve_open(self, mission: MissionHandle, may: MayApprove) -> int:
        """Approve the open cards that `may` allows, and return their number."""
        cards = [card for card in await mission.confirmations() if await may(card)]
        for card in cards:
            await mission.approve(card, approver=APPROVER)
            price = f", {card.price}" if card.price is not None else ""
            self._print(f"   approved: {card.title}{price} ({card.tool})")
        return len(cards)


async def _poll(happened: Callable[[], Awaitable[object]], *, timeout_s: float) -> None:
    """Poll until the condition is true or time is up; the final checks report which."""
    deadline = asyncio.get_running_loop().time() + timeout_s
    while asyncio.get_running_loop().time() < deadline:
        if await happened():
            return
        await asyncio.sleep(0.05)


async def _always(_card: ConfirmationCard) -> bool:
    return True


async def _checked(
    name: str, result: MissionResult, sandbox: SandboxClient, began: float, wanted: MissionStatus
) -> DemoMission:
    """Compare the mission with the sandbox's record, and list every problem."""
    live = await sandbox.live(result.mission_id)
    duplicates = await sandbox.duplicates(result.mission_id)
    effects = await sandbox.ledger(result.mission_id)
    problems = []
    standing = len(result.receipts)
    if result.status is not wanted:
        problems.append(f"ended as {result.status.value}, not {wanted.value}: {result.error}")
    if not result.ledger.obligations:
        problems.append("its ledger is empty")
    if len(live) != standing:
        at_providers = number_of(len(live), "live obligation")
        problems.append(f"{at_providers} at the providers, {number_of(standing, 'receipt')}")
    if duplicates:
        problems.append(f"{number_of(len(duplicates), 'effect')} happened more than once")
    steps = (step for leg in result.legs for step in leg.steps)
    if any(len(step.tools_forwarded) >= step.catalog_size for step in steps):
        problems.append("a step saw the whole catalog")
    return DemoMission(
        name=name,
        result=result,
        sandbox_ledger=tuple(effects),
        live_effects=len(live),
        duplicate_effects=len(duplicates),
        timeline=timeline(result),
        seconds=asyncio.get_running_loop().time() - began,
        problems=tuple(problems),
    )


def timeline(result: MissionResult) -> tuple[TimelineEntry, ...]:
    """Return the events of a mission, in order of time."""
    entries = [
        TimelineEntry(
            at=step.at,
            leg=leg.leg_id,
            what=step.did,
            tools=f"{len(step.tools_forwarded)} of {step.catalog_size}",
            outcome=f"{step.outcome}: {step.error}" if step.error else step.outcome,
        )
        for leg in result.legs
        for step in leg.steps
        if step.at is not None
    ]
    entries += [
        TimelineEntry(
            at=decision.at,
            leg=leg.leg_id,
            what=f"{decision.kind} by {decision.approver or 'nobody'}",
            outcome=decision.digest[:12],
        )
        for leg in result.legs
        for decision in leg.decisions
    ]
    entries += [
        TimelineEntry(
            at=obligation.settled_at,
            leg="rollback",
            what=f"{obligation.tool} cancelled by {obligation.cancel_tool}",
            outcome=f"{obligation.state.value} {obligation.note}".strip(),
        )
        for obligation in result.ledger.compensated()
        if obligation.settled_at is not None
    ]
    return tuple(sorted(entries, key=lambda entry: entry.at))
