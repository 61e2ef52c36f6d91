"""What is parked is listed from that moment on, and no longer than until it is resolved."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from orchestrator.client.mission_client import MissionClient
from orchestrator.messages import names
from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.rollback import ParkedRollback
from orchestrator.runtime.demo import TRIP
from orchestrator.sandbox import FaultRule
from orchestrator.testing import eventually, run_to_end
from tests.fakes import own_id
from tests.refusals import raises_code

if TYPE_CHECKING:
    from tests.integration.conftest import Cli, Witness


async def entry(cli: Cli, mission_id: str) -> dict[str, Any] | None:
    """What `rollback list` says of a mission."""
    listed = (await cli("rollback", "list", "--json")).json
    return next((one for one in listed if one["mission_id"] == mission_id), None)


async def in_search(client: MissionClient, mission_id: str) -> list[str]:
    """The workflows of a mission that an alert on the search attribute would find."""
    query = f"{names.STATUS_ATTRIBUTE} = 'parked' AND {names.MISSION_ID_ATTRIBUTE} = '{mission_id}'"
    return [one.id async for one in client.temporal.list_workflows(query)]


async def test_from_the_moment_it_is_parked_until_it_is_resolved(
    cli: Cli, client: MissionClient, sandbox: Witness
) -> None:
    """While the rest of the rollback is still tried; with all that its operator needs."""
    mission_id = own_id("parked-list")
    mission = await client.start(MissionRequest(goal=TRIP, mission_id=mission_id))
    result = await run_to_end(mission)
    filed = next(r for r in result.receipts if r.tool == "expense_file_report")
    await sandbox.set_faults(
        [
            FaultRule(operation_id="expense_cancel_report", kind="refuse_cancel"),
            FaultRule(operation_id="hotel_cancel_booking", kind="latency", delay_s=5.0),
            FaultRule(operation_id="flight_cancel_booking", kind="latency", delay_s=5.0),
        ]
    )
    rolling = asyncio.create_task(client.rollback(mission_id, reason="wrong week", approver="ann"))

    async def parked() -> ParkedRollback | None:
        return next((r for r in await client.parked() if r.mission_id == mission_id), None)

    early = await eventually(parked)
    await rolling
    late = await entry(cli, mission_id)
    plain = await cli("rollback", "list")
    missions = await cli("mission", "list", "--status", "parked", "--json", "--limit", "100")
    alert = await in_search(client, mission_id)
    waiting = {one["tool"]: one for one in (late or {})["waiting"]}
    for one in waiting.values():
        await cli(
            *("rollback", "resolve", one["obligation_id"], "cancelled"),
            *("--note", "by telephone", "--operator", "bo"),
        )
    rollback = client.temporal.get_workflow_handle(names.rollback_workflow_id(mission_id))
    await rollback.result()
    after = await eventually(lambda: _none_left(client, mission_id))
    shown = (await cli("mission", "show", mission_id, "--json")).json
    report = (await cli("rollback", "show", mission_id, "--json")).json
    again = await cli("rollback", "resolve", filed.call_id, "accept")
    done = await cli(
        *("mission", "list", "--status", "rolled_back_after_success", "--json", "--limit", "100")
    )
    off = await entry(cli, mission_id)

    assert early is not None
    assert [one.tool for one in early.waiting] == ["expense_file_report"]
    assert not early.settled
    assert waiting["expense_file_report"]["reference"] == filed.reference
    assert waiting["expense_file_report"]["why"]
    assert waiting["expense_file_report"]["since"]
    flat = " ".join(plain.stdout.split())
    assert f"orchestrator rollback resolve {filed.call_id} retry" in flat
    assert waiting["expense_file_report"]["commands"][0] in flat
    mine = [one for one in missions.json if one["mission_id"] == mission_id]
    assert [(m["status"], [w["kind"] for w in m["waits_for"]]) for m in mine] == [
        ("parked", ["operator"])
    ]
    assert alert == [names.rollback_workflow_id(mission_id)]
    assert after
    assert off is None
    for document in (shown, report):
        resolved = [o for o in document["ledger"]["obligations"] if o["resolutions"]]
        assert {o["obligation_id"] for o in resolved} == {
            one["obligation_id"] for one in waiting.values()
        }
        assert {(r["operator"], r["note"]) for o in resolved for r in o["resolutions"]} == {
            ("bo", "by telephone")
        }
    assert again.exit_code == 2
    assert "bo resolved it as cancelled: by telephone" in again.stderr
    assert mission_id in [one["mission_id"] for one in done.json]
    with raises_code("ObligationNotParked"):
        await client.resolve(filed.call_id, "retry", operator="ann")


async def _none_left(client: MissionClient, mission_id: str) -> bool:
    return await in_search(client, mission_id) == []
