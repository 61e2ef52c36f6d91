"""Personal values and credentials: at the providers, and nowhere else that a run leaves a trace."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.runtime.demo import DINNER, TRIP
from orchestrator.runtime.devserver import Stack
from orchestrator.sandbox import FaultRule
from orchestrator.testing import approve, eventually, run_to_end
from tests.otlp_receiver import OtlpReceiver
from tests.refusals import raises_code

if TYPE_CHECKING:
    from tests.integration.conftest import Cli, Witness

NEEDED = ("traveler_id", "traveler_name", "traveler_email", "traveler_phone", "employee_id")
"""The fields that a trip and a dinner take from the vault."""


def leaks(values: Iterable[str], content: bytes) -> list[str]:
    """The values that the content holds, in whatever case."""
    return [value for value in values if value.lower().encode() in content.lower()]


async def histories(client: MissionClient, mission_id: str) -> dict[str, bytes]:
    """Every event of a mission and of its rollback, as the server keeps it."""
    found = {}
    query = f"{names.MISSION_ID_ATTRIBUTE} = '{mission_id}'"
    async for execution in client.temporal.list_workflows(query):
        history = await client.temporal.get_workflow_handle(execution.id).fetch_history()
        found[execution.id] = b"".join(event.SerializeToString() for event in history.events)
    return found


def providers(stack: Stack) -> bytes:
    """Everything that the providers keep."""
    return b"".join(path.read_bytes() for path in stack.folder.glob("sandbox.db*"))


def left_behind(stack: Stack) -> dict[Path, bytes]:
    """Every other file of the installation: the server's store, logs, catalogs, the vault."""
    return {
        path: path.read_bytes()
        for path in stack.folder.rglob("*")
        if path.is_file() and not path.name.startswith("sandbox.db")
    }


async def test_personal_values_and_secrets_are_at_the_providers_and_nowhere_else(
    stack: Stack,
    client: MissionClient,
    sandbox: Witness,
    person: dict[str, str],
    secrets: dict[str, str],
    collector: OtlpReceiver,
) -> None:
    """No card, result, history, store or log of missions that succeed and fail holds one."""
    brought: JsonObject = {"traveler_id": "BROUGHT-77021-QX"}
    planted = [*person.values(), *secrets.values(), *map(str, brought.values())]
    shown: list[str] = []

    async def read_and_approve(mission: MissionHandle, card: ConfirmationCard) -> None:
        shown.append(card.model_dump_json())
        await approve(mission, card)

    good = [
        await run_to_end(await client.start(MissionRequest(goal=goal)), read_and_approve)
        for goal in (TRIP, DINNER)
    ]
    await sandbox.set_faults(
        [FaultRule(operation_id="expense_file_report", kind="status_before", status=409)]
    )
    lost = await run_to_end(
        await client.start(MissionRequest(goal=TRIP, inputs=brought)), read_and_approve
    )
    kept = {
        workflow_id: events
        for result in (*good, lost)
        for workflow_id, events in (await histories(client, result.mission_id)).items()
    }
    happened = [
        event.model_dump_json()
        for result in (*good, lost)
        async for event in client.get(result.mission_id).events()
    ]
    files = left_behind(stack)

    assert [r.status for r in (*good, lost)] == [
        MissionStatus.SUCCEEDED,
        MissionStatus.SUCCEEDED,
        MissionStatus.ROLLED_BACK,
    ]
    # The providers got them, and what we search is what holds everything else about the missions.
    needed = [*(person[name] for name in NEEDED), *map(str, brought.values())]
    assert leaks(needed, providers(stack)) == needed
    assert f"{lost.mission_id}.rollback" in kept
    assert len(kept) == len(good) + 2
    assert any(b"pii:traveler_name" in events for events in kept.values())
    assert any(b"pii:traveler_name" in content for content in files.values())
    assert stack.log("worker") in files
    for text in (*shown, *happened, *(r.model_dump_json() for r in (*good, lost))):
        assert leaks(planted, text.encode()) == []
    for workflow_id, events in kept.items():
        assert leaks(planted, events) == [], workflow_id
    for path, content in files.items():
        assert leaks(planted, content) == [], path
    told = b"".join(collector.bodies)
    assert b"flight_book_offer" in told
    # Of a goal, only what its mission's id begins with.
    assert leaks([*planted, *TRIP.split(", ")], told) == []


async def test_a_value_that_a_person_types_is_read_back_masked(
    stack: Stack, client: MissionClient, cli: Cli
) -> None:
    """`pii` stores a value that no command prints again."""
    stored = await cli("pii", "loyalty_number", "--value", "LOYAL-55821-QX")
    listed = await cli("pii")

    assert (stored.exit_code, listed.exit_code) == (0, 0)
    assert "loyalty_number" in listed.stdout.split()
    assert "LOYAL-55821-QX" not in stored.stdout + stored.stderr + listed.stdout + listed.stderr
    assert not any(leaks(["LOYAL-55821-QX"], content) for content in left_behind(stack).values())


async def test_a_refused_amendment_leaves_no_trace(client: MissionClient) -> None:
    """A personal value under a mistyped name is in no history; the card stays open."""
    mission = await client.start(MissionRequest(goal=DINNER))
    (card,) = await eventually(mission.confirmations)
    leaked = "mistyped.55021@planted.example"
    with raises_code("AmendmentInvalid"):
        await mission.amend(card, {"contact_mail": leaked}, approver="ann")
    (still_open,) = await mission.confirmations()
    kept = await histories(client, mission.mission_id)
    await mission.cancel()

    assert still_open == card
    assert list(kept) == [mission.mission_id]
    assert leaks([leaked], kept[mission.mission_id]) == []
