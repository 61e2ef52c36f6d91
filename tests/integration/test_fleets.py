"""Missions on a schedule and missions of a file, on the real server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from pydantic import SecretStr
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest

from orchestrator.adapters.storage.payload_driver import PayloadFolder, PayloadKey
from orchestrator.adapters.storage.store import Store
from orchestrator.adapters.temporal.payload_codec import mark_of
from orchestrator.adapters.temporal.payload_keys import new_payload_key
from orchestrator.adapters.temporal.payload_use import PLAIN, key_ids_of_schedule
from orchestrator.adapters.temporal.rollbacks import described
from orchestrator.client import key_rotation
from orchestrator.client.connection import connect_temporal
from orchestrator.client.key_rotation import renew_schedules
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.result_retention import keep_results
from orchestrator.client.retention import remove_payloads
from orchestrator.confirmation.mission_records import read_sealed, seal, verdict_of
from orchestrator.core.errors import UsageError
from orchestrator.messages import names
from orchestrator.messages.mission import MissionRequest, MissionResult, MissionStatus
from orchestrator.messages.schedules import MissionSchedule, ScheduleShown
from orchestrator.runtime.demo import DINNER
from orchestrator.runtime.devserver import Stack
from orchestrator.testing import eventually, run_to_end

if TYPE_CHECKING:
    from tests.integration.conftest import Cli

_FORGETS_WITHIN_S = 120
"""A server deletes a workflow once it has nothing else to do of it, trying less and less often."""
WEATHER = "What is the weather in Oslo tomorrow?"


async def test_a_schedule_starts_missions(client: MissionClient) -> None:
    """Made, shown, run, found again under the same request and no other, and taken away."""
    schedule_id, request = f"weather-{uuid4().hex[:6]}", MissionRequest(goal=WEATHER)
    when = MissionSchedule(cron=("0 9 * * MON",), timezone="Europe/Lisbon")
    schedules = client.schedules
    await schedules.create(schedule_id, request, when)
    await schedules.create(schedule_id, request, when)
    with pytest.raises(UsageError, match="something else"):
        await schedules.create(schedule_id, request, MissionSchedule(cron=("0 10 * * MON",)))
    await schedules.run(schedule_id)

    async def started() -> ScheduleShown | None:
        shown = await schedules.show(schedule_id)
        mission = client.temporal.get_workflow_handle(shown.last_mission)
        return shown if shown.recent and await described(mission) is not None else None

    shown = await eventually(started)
    assert shown is not None
    result = await client.get(shown.last_mission).result()
    await schedules.pause(schedule_id, note="enough")
    listed = {one.schedule_id for one in await schedules.list()}
    paused = await schedules.show(schedule_id)
    await schedules.delete(schedule_id)

    assert result.status is MissionStatus.SUCCEEDED
    assert shown.last_mission.startswith(f"{schedule_id}-20")
    assert (shown.goal, shown.when) == (WEATHER, when)
    assert shown.next_at is not None
    assert shown.next_at.hour in (8, 9)  # nine in Lisbon
    assert schedule_id in listed
    assert (paused.paused, paused.note) == (True, "enough")
    with pytest.raises(UsageError, match="no schedule"):
        await schedules.show(schedule_id)


async def test_what_a_schedule_gives_to_its_missions_stays(
    client: MissionClient, tmp_path: Path
) -> None:
    """A large payload, while it or a run of it is there; and it counts as a use of its key."""
    schedule_id, when = f"large-{uuid4().hex[:6]}", MissionSchedule(every=timedelta(days=1))
    server_id = names.schedule_workflow_id(schedule_id)
    driver = PayloadFolder(tmp_path, marked=mark_of)
    namespace, later = client.temporal.namespace, datetime.now(UTC) + timedelta(days=2)
    for kept in (server_id, f"{server_id}-gone"):
        driver.keep(PayloadKey(namespace, kept, "0" * 64), b"large")
    await client.schedules.create(schedule_id, MissionRequest(goal=WEATHER), when)
    keys = await key_ids_of_schedule(client.temporal, server_id)
    first = await remove_payloads(client.temporal, driver, now=later)
    await client.schedules.run(schedule_id)

    async def has_run() -> bool:
        shown = await client.schedules.show(schedule_id)
        mission = client.temporal.get_workflow_handle(shown.last_mission or "none")
        listed = client.temporal.list_workflows(f"WorkflowId STARTS_WITH '{server_id}-'")
        return await described(mission) is not None and any([True async for _ in listed])

    await eventually(has_run)
    await client.schedules.delete(schedule_id)

    assert keys == {PLAIN}
    assert first == (f"{server_id}-gone",)
    assert await remove_payloads(client.temporal, driver, now=later) == ()


async def test_schedules_follow_a_change_of_the_payload_keys(
    client: MissionClient, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that one is made of is encrypted with the new key, and what an operator did stays."""
    old, new = new_payload_key(), new_payload_key()

    async def keyed(keys: str) -> MissionClient:
        settings = stack.settings.model_copy(update={"payload_keys": SecretStr(keys)})
        return MissionClient(await connect_temporal(stack.address, settings), settings)

    before, both = await keyed(f"k1:{old}"), await keyed(f"k2:{new},k1:{old}")
    after, request = await keyed(f"k2:{new}"), MissionRequest(goal=WEATHER)
    when = MissionSchedule(cron=("0 9 * * MON",), timezone="Europe/Lisbon")
    schedule_id = f"keys-{uuid4().hex[:6]}"
    server_id = names.schedule_workflow_id(schedule_id)
    queue = stack.settings.task_queue
    await before.schedules.create(schedule_id, request, when)
    lacking = await renew_schedules(after.temporal, queue)
    elsewhere = await renew_schedules(both.temporal, "another-queue")
    ids_before = await key_ids_of_schedule(client.temporal, server_id)
    written = key_rotation._written
    times = 0

    async def meanwhile(*given: Any) -> Any:
        """An operator pauses it between the look and the write."""
        nonlocal times
        times += 1
        if times == 2:
            await both.schedules.pause(schedule_id, note="enough")
        return await written(*given)

    monkeypatch.setattr(key_rotation, "_written", meanwhile)
    renewed = await renew_schedules(both.temporal, queue)
    again = await renew_schedules(both.temporal, queue)
    ids_after = await key_ids_of_schedule(client.temporal, server_id)
    shown = await after.schedules.show(schedule_id)
    await after.schedules.create(schedule_id, request, when)
    await after.schedules.delete(schedule_id)

    assert (lacking, elsewhere, ids_before) == ((), (), {"k1"})
    assert (renewed, again, ids_after) == ((schedule_id,), (), {"k2"})
    assert (shown.goal, shown.when) == (WEATHER, when)
    assert (shown.paused, shown.note) == (True, "enough")
    assert times >= 4  # a look for the key in each round, a write that was dropped, one taken


async def test_only_schedules_of_missions_are_touched(client: MissionClient) -> None:
    """The sweep's is none; and no schedule takes what is personal, or times that are none."""
    request, schedules = MissionRequest(goal=WEATHER), client.schedules

    assert not [one for one in await schedules.list() if "sweep" in one.schedule_id]
    with pytest.raises(UsageError, match="no schedule"):
        await schedules.delete("orchestrator-sweep-orchestrator")
    with pytest.raises(UsageError, match="pii set"):
        named = request.model_copy(update={"inputs": {"traveler_name": "Zoe Q"}})
        await schedules.create("never", named, MissionSchedule(cron=("0 9 * * *",)))
    for wrong in (("nine o'clock",), ("0 9 * * *", "61 9 * * *")):
        with pytest.raises(UsageError, match="takes no such schedule"):
            await schedules.create("never", request, MissionSchedule(cron=wrong))


async def test_a_batch_that_was_killed_goes_on(
    client: MissionClient, cli: Cli, tmp_path: Path
) -> None:
    """One mission for each line, however often the file is run: none is started twice."""
    file, name = tmp_path / "requests.jsonl", f"w{uuid4().hex[:6]}"
    cities = ("Oslo", "Bergen", "Oslo")
    lines = (json.dumps({"goal": f"What is the weather in {city} tomorrow?"}) for city in cities)
    file.write_text("\n".join(lines))
    command = ("mission", "start", "--batch", str(file), "--name", name, "--at-once", "1", "--json")
    killed = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "orchestrator",
        *command,
        env={**os.environ, **cli.environment},
        stderr=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
    )
    assert killed.stderr is not None
    while b"under way" not in (said := await killed.stderr.readline()):
        assert said, "it ended by itself"
    os.kill(killed.pid, signal.SIGKILL)
    await killed.wait()
    before = await started(client, name)
    ends = (await cli(*command)).json

    assert [end["status"] for end in ends] == [MissionStatus.SUCCEEDED] * len(cities)
    assert 0 < len(before) < len(cities)
    after = await started(client, name)
    assert before.items() <= after.items()
    assert set(after) == {end["mission_id"] for end in ends}


async def test_what_a_mission_did_outlives_its_history(
    client: MissionClient, cli: Cli, stack: Stack, person: dict[str, str]
) -> None:
    """Its record proves itself and names no person; the store has its result when it is gone."""
    mission = await client.start(MissionRequest(goal=DINNER))
    result = await run_to_end(mission)
    written = seal(await mission.record()).model_dump_json()
    record: Any = read_sealed(written).record

    assert verdict_of(read_sealed(written), None).is_whole
    assert {"card", "decision", "call", "obligation"} <= {one["kind"] for one in record["events"]}
    assert {one["workflow_id"] for one in record["histories"]} >= {mission.mission_id}
    assert record["result"]["receipts"]
    assert not [value for value in person.values() if value in written]

    temporal, queue, year = client.temporal, stack.settings.task_queue, timedelta(days=365)
    with Store(stack.settings.state_dir) as store:

        async def kept() -> bool:
            await keep_results(temporal, queue, store.results, year, now=datetime.now(UTC))
            return mission.mission_id in store.results.closed()

        await eventually(kept)
        again = await keep_results(temporal, queue, store.results, year, now=datetime.now(UTC))
        piece = store.results.find(mission.mission_id)
        assert piece is not None
        forgotten = f"{mission.mission_id}-f"  # as one that the server has known once
        store.results.put(replace(piece, mission_id=forgotten))
    shown = (await cli("mission", "show", forgotten, "--json")).json
    listed = await client.missions(limit=100_000)
    await _delete(client, mission.mission_id)
    exported = await cli("mission", "export", mission.mission_id)
    left: Any = read_sealed(exported.stdout).record

    assert again.kept == 0
    assert MissionResult.model_validate(shown) == result
    assert shown["kept_as_of"]
    is_kept = {one.mission_id: one.is_kept for one in listed}
    assert (is_kept[mission.mission_id], is_kept[forgotten]) == (False, True)
    assert verdict_of(read_sealed(exported.stdout), None).is_whole
    assert MissionResult.model_validate(left["result"]) == result
    assert (left["kept_as_of"], left["events"]) == (shown["kept_as_of"], None)
    assert "no longer knows it" in exported.stderr


async def _delete(client: MissionClient, mission_id: str) -> None:
    """Have the server forget a mission, as its retention does."""
    execution = WorkflowExecution(workflow_id=mission_id)
    request = DeleteWorkflowExecutionRequest(
        namespace=client.temporal.namespace, workflow_execution=execution
    )
    await client.temporal.workflow_service.delete_workflow_execution(request)

    async def gone() -> bool:
        return await described(client.temporal.get_workflow_handle(mission_id)) is None

    await eventually(gone, timeout_s=_FORGETS_WITHIN_S)


async def started(client: MissionClient, name: str) -> dict[str, str]:
    """The missions of a list, with the run that each is."""
    query = f"WorkflowType = 'MissionWorkflow' AND WorkflowId STARTS_WITH '{name}-'"

    async def found() -> dict[str, str]:
        return {one.id: one.run_id async for one in client.temporal.list_workflows(query)}

    return await eventually(found) or {}
