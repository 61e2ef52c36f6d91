"""Missions in the states that pages show, brought about through the client."""

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.messages.mission import MissionRequest
from orchestrator.runtime.demo import DINING, DINNER, LEAVING
from orchestrator.sandbox import FaultRule, SandboxClient
from orchestrator.testing import approve, eventually, run_to_end

REQUESTER = "ana@example.com"
TABLE = f"Reserve a table for two at an Italian restaurant in Lisbon on {DINING} at 20:00"
FLIGHT = f"Book a flight from Berlin to Lisbon on {LEAVING}"
REFUSED = FaultRule(operation_id="message_send", kind="status_before", status=409)
NOT_CANCELLED = FaultRule(operation_id="dining_cancel_reservation", kind="refuse_cancel")


async def waits(client: MissionClient, goal: str = TABLE) -> MissionHandle:
    """A mission that waits at its first card."""
    mission = await client.start(MissionRequest(goal=goal, requester=REQUESTER))
    await eventually(mission.confirmations)
    return mission


async def asks(client: MissionClient) -> MissionHandle:
    """A flight of which nobody has said when."""
    mission = await client.start(
        MissionRequest(goal="Book a flight to Lisbon", requester=REQUESTER)
    )
    await eventually(mission.questions)
    return mission


async def held(client: MissionClient, sandbox: SandboxClient) -> MissionHandle:
    """A dinner whose message was refused, and that asks before its table is cancelled."""
    await sandbox.set_faults([REFUSED])
    mission = await client.start(MissionRequest(goal=DINNER, requester=REQUESTER, on_failure="ask"))

    async def is_held() -> bool:
        for card in await mission.confirmations():
            await approve(mission, card)
        return bool(await mission.questions())

    await eventually(is_held, timeout_s=60)
    await sandbox.clear_faults()
    return mission


async def parked(client: MissionClient, sandbox: SandboxClient) -> MissionHandle:
    """A dinner that failed, and whose table the restaurant refuses to cancel."""
    await sandbox.set_faults([REFUSED, NOT_CANCELLED])
    mission = await client.start(MissionRequest(goal=DINNER, requester=REQUESTER))
    await run_to_end(mission, timeout_s=120)
    await sandbox.clear_faults()
    return mission


async def succeeded(client: MissionClient, goal: str = TABLE) -> MissionHandle:
    """A mission that did all that it was asked for."""
    mission = await client.start(MissionRequest(goal=goal, requester=REQUESTER))
    await run_to_end(mission)
    return mission


async def one_card(mission: MissionHandle) -> str:
    """The address of the first open card of a mission."""
    card, *_ = await eventually(mission.confirmations)
    return f"/cards/{card.confirmation_id}"


async def one_question(mission: MissionHandle) -> str:
    """The address of the first open question of a mission."""
    question, *_ = await eventually(mission.questions)
    return f"/questions/{question.question_id}"
