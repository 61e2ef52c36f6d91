"""Holds of missions by command: what is shown while a person decides, and each decision."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from temporalio.api.sdk.v1 import WorkflowMetadata

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.messages.leg import Question
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.runtime.demo import DINNER
from orchestrator.sandbox import FaultRule
from orchestrator.testing import approve, eventually, run_to_end

if TYPE_CHECKING:
    from tests.integration.conftest import Cli, Witness

Held = Callable[..., Awaitable[MissionHandle]]


@pytest.fixture
def held(client: MissionClient, sandbox: Witness) -> Held:
    """Start a dinner whose table is reserved and whose message is refused, up to its hold."""

    async def start(**policy: Any) -> MissionHandle:
        refusal = FaultRule(operation_id="message_send", kind="status_before", status=409, times=1)
        await sandbox.set_faults([refusal])
        request = MissionRequest(
            goal=DINNER,
            mission_id=f"dinner-{uuid4().hex[:6]}",
            policy=MissionPolicy(on_failure="ask", **policy),
        )
        mission = await client.start(request)
        for tool in ("dining_reserve_table", "message_send"):
            await approve(mission, await card_of(mission, tool))
        return mission

    return start


async def card_of(mission: MissionHandle, tool: str) -> ConfirmationCard:
    async def look() -> ConfirmationCard | None:
        return next((c for c in await mission.confirmations() if c.tool == tool), None)

    card = await eventually(look)
    assert card is not None
    return card


async def hold_of(mission: MissionHandle) -> Question:
    async def look() -> Question | None:
        return next((q for q in await mission.questions() if q.hold is not None), None)

    question = await eventually(look)
    assert question is not None
    return question


async def page_of(mission: MissionHandle, client: MissionClient) -> str:
    handle = client.temporal.get_workflow_handle(mission.mission_id)
    shown = await handle.query("__temporal_workflow_metadata", result_type=WorkflowMetadata)
    return str(shown.current_details)


async def test_a_hold_is_shown_everywhere_and_repaired_by_command(
    held: Held, cli: Cli, client: MissionClient, sandbox: Witness
) -> None:
    """The page in the Temporal UI, the lists and the command show it; an amended call succeeds."""
    mission = await held()
    question = await hold_of(mission)
    page = await page_of(mission, client)
    shown, document, listed = await asyncio.gather(
        cli("mission", "repair", mission.mission_id),
        cli("mission", "repair", mission.mission_id, "--json"),
        cli("mission", "list", "--json"),
    )
    wrong = await cli("mission", "repair", mission.mission_id, "--keep", "--rollback")
    repaired = await cli(
        *("mission", "repair", mission.mission_id),
        *("--amend", "text=Dinner at eight, at the place in the Alfama", "--json"),
    )
    again = await card_of(mission, "message_send")
    await approve(mission, again)
    result = await run_to_end(mission)
    late = await cli("mission", "repair", mission.mission_id, "--keep")
    events = [one async for one in mission.events()]

    for text in ("on_hold", "On hold: what stands", "Reserve"):
        assert text in page
    assert "dining_reserve_table" in shown.stdout or "Reserve" in shown.stdout
    assert "message_send" in shown.stdout
    assert document.json["hold"]["failed"]["tool"] == "message_send"
    assert document.json["question_id"] == question.question_id
    (row,) = [one for one in listed.json if one["mission_id"] == mission.mission_id]
    assert row["status"] == "on_hold"
    assert (wrong.exit_code, late.exit_code, repaired.exit_code) == (2, 2, 0)
    assert str(again.arguments["text"]).startswith("Dinner at eight")
    assert result.status is MissionStatus.SUCCEEDED
    assert result.holds[0].arguments == {"text": again.arguments["text"]}
    assert len(await sandbox.live(mission.mission_id)) == 2
    assert await sandbox.duplicates(mission.mission_id) == []
    assert [one.state for one in events if one.kind == "question"] == ["opened", "answered"]
    assert [e.status for e in events if e.kind == "mission"] == [
        *("planning", "running", "on_hold", "running", "succeeded")
    ]
    for kind in ("step", "decision", "call", "obligation"):  # a reopened leg reports nothing twice
        seen = [e.model_dump_json(exclude={"at", "cursor"}) for e in events if e.kind == kind]
        assert len(seen) == len(set(seen)), kind


@pytest.mark.parametrize(
    ("decision", "status", "stand"),
    [
        ("--rollback", MissionStatus.ROLLED_BACK, 0),
        ("--keep", MissionStatus.INCOMPLETE, 1),
    ],
)
async def test_a_hold_ends_by_command(
    held: Held, cli: Cli, sandbox: Witness, decision: str, status: MissionStatus, stand: int
) -> None:
    """With who decided in the result; the command prints one document."""
    mission = await held()
    question = await hold_of(mission)
    ran = await cli("mission", "repair", question.question_id, decision, "--json")
    result = await mission.result()

    assert ran.exit_code == 0
    assert ran.json["question_id"] == question.question_id
    assert result.status is status
    assert result.holds[0].by
    assert len(await sandbox.live(mission.mission_id)) == stand


async def test_a_hint_by_command_reaches_the_planner(
    held: Held, cli: Cli, sandbox: Witness
) -> None:
    """Rules cannot follow it: they say so in a second hold, which is decided as the first."""
    mission = await held()
    first = await hold_of(mission)
    ran = await cli("mission", "repair", mission.mission_id, "--hint", "say it shorter")

    async def second() -> Question | None:
        asked = await mission.questions()
        return next((one for one in asked if one.question_id != first.question_id), None)

    again = await eventually(second)
    ended = await cli("mission", "repair", mission.mission_id, "--rollback")
    result = await mission.result()

    assert (ran.exit_code, ended.exit_code) == (0, 0)
    assert again is not None and again.hold is not None
    assert "wants it otherwise" in again.hold.error
    assert [one.decision for one in result.holds] == ["repair", "roll back"]
    assert result.holds[0].hint == "say it shorter"
    assert await sandbox.live(mission.mission_id) == []


async def test_a_hold_that_nobody_decides_on_expires(
    held: Held, client: MissionClient, sandbox: Witness
) -> None:
    """All is rolled back at its limit, and every view says so."""
    mission = await held(hold_limit=timedelta(seconds=3))
    question = await hold_of(mission)
    result = await mission.result()

    assert question.asked_at is not None and question.expires_at is not None
    assert question.expires_at - question.asked_at == timedelta(seconds=3)
    assert result.status is MissionStatus.ROLLED_BACK
    assert [one.decision for one in result.holds] == ["expired"]
    assert "expired" in await page_of(mission, client)
    assert await sandbox.live(mission.mission_id) == []
