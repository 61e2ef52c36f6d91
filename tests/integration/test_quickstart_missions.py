"""The missions of docs/quickstart.md over the overlay that is proposed for its document."""

from pathlib import Path

from orchestrator.catalog.catalog import load_documents
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.sandbox import FaultRule, SandboxClient
from orchestrator.testing import eventually, run_to_end
from orchestrator.testing.commands import run_apart
from orchestrator.testing.installation import installed

HELPDESK = Path(__file__).parents[2] / "docs/examples/helpdesk.yaml"


async def _approve(mission: MissionHandle, tool: str) -> None:
    async def seen() -> bool:
        return any(card.tool == tool for card in await mission.confirmations())

    await eventually(seen)
    for card in await mission.confirmations():
        if card.tool == tool:
            await mission.approve(card, approver="newcomer@example.com")


async def test_one_succeeds_and_one_rolls_back(tmp_path: Path) -> None:
    """A ticket is created; another one is deleted again when the callback after it is refused."""
    overlay = tmp_path / "helpdesk-tools.yaml"
    ran = await run_apart("tools", "suggest", str(HELPDESK), "--out", str(overlay), environment={})
    assert ran.exit_code == 0, ran.stderr
    refusal = FaultRule(operation_id="scheduleCallback", kind="status_before", status=422)
    ticket = {"customer_id": "cus_7f31", "subject": "Invoice 2041 is wrong"}
    both = {**ticket, "starts_at": "2027-06-04T10:00:00Z"}
    documents = load_documents(HELPDESK, overlays=[overlay])
    async with installed(documents, tmp_path, seed=1) as installation:
        client = installation.mission_client
        done = await run_to_end(
            await client.start(MissionRequest(goal="Create a ticket", inputs={**ticket}))
        )
        installation.sandbox.faults.replace([refusal], seed=1)
        goal = "Create a ticket and schedule a callback"
        mission = await client.start(MissionRequest(goal=goal, inputs={**both}))
        await _approve(mission, "createTicket")
        async with SandboxClient(installation.sandbox_url) as sandbox:
            await eventually(lambda: sandbox.live(mission.mission_id))
            await _approve(mission, "scheduleCallback")
            undone = await mission.result()
            effects = await sandbox.ledger(mission.mission_id)

    assert done.status is MissionStatus.SUCCEEDED, done.error
    assert undone.status is MissionStatus.ROLLED_BACK, undone.error
    assert [effect["kind"] for effect in effects] == ["create", "cancel"]
