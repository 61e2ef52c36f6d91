"""Plans that people see, are asked about and approve, on real parts that die meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from temporalio.client import WorkflowExecutionStatus

from orchestrator.client import start
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.errors import NoWorker
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.leg import Question
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.runtime.demo import DINING, day_in
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.sandbox import SandboxClient
from orchestrator.settings import bundled_specs
from orchestrator.testing import eventually, run_to_end
from tests.forked import ForkedStack

TABLE = f"Reserve a table in Lisbon on {DINING} at 20:00 for 4"
IN_DOUBT = f"{TABLE}, then frobnicate it"


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """A worker of its own, which tests may kill."""
    specs = (bundled_specs() / "dining.yaml", bundled_specs() / "messages.yaml")
    async with ForkedStack(tmp_path_factory.mktemp("plans"), specs, Ports.free()) as running:
        yield running


@pytest.fixture
async def missions(place: Stack) -> MissionClient:
    """The door for users."""
    return await place.client()


async def replaced(place: Stack) -> None:
    await place.kill()
    await place.start_worker()


async def card_of(mission: MissionHandle) -> ConfirmationCard:
    (card,) = await eventually(mission.confirmations)
    return card


async def question_of(mission: MissionHandle) -> Question:
    (question,) = await eventually(mission.questions)
    return question


async def test_what_is_asked_about_plans_outlives_the_worker(
    place: Stack, missions: MissionClient
) -> None:
    """The next worker shows the same card and question, and goes on with what is decided."""
    first = MissionPolicy(plan_first=True)
    approved = await missions.start(MissionRequest(goal=TABLE, policy=first))
    asked = await missions.start(MissionRequest(goal=IN_DOUBT))
    stopped = await missions.start(MissionRequest(goal=IN_DOUBT))
    before = (await card_of(approved), await question_of(asked), await question_of(stopped))

    await replaced(place)
    after = (await card_of(approved), await question_of(asked), await question_of(stopped))
    listed = await missions.missions(status="awaiting_answer")
    async with SandboxClient(place.sandbox_url) as sandbox:
        nothing = await sandbox.ledger()
        await approved.approve(after[0], approver="ann")
        await asked.answer(after[1].question_id, {"answer": "go on"}, answered_by="ann")
        await stopped.answer(after[2].question_id, {"answer": "stop"}, answered_by="ann")
        results = [await run_to_end(one) for one in (approved, asked, stopped)]
        live = [await sandbox.live(one.mission_id) for one in results]

    assert before == after
    assert {one.mission_id for one in listed} == {asked.mission_id, stopped.mission_id}
    assert [wait.what for one in listed for wait in one.waits_for] == ["1 question", "1 question"]
    assert nothing == []
    assert [one.status for one in results] == [
        MissionStatus.SUCCEEDED,
        MissionStatus.SUCCEEDED,
        MissionStatus.FAILED,
    ]
    assert "ann said to go on" in str(results[1].set_aside)
    assert [len(one) for one in live] == [1, 1, 0]


async def test_a_plan_is_shown_though_its_worker_dies(
    place: Stack, missions: MissionClient
) -> None:
    """The next one makes it; nothing is left of it but a run of its own, without the value."""
    vault = place.settings.state_dir / "pii"
    kept = sorted(file.name for file in vault.glob("*")) if vault.exists() else []
    await place.kill()
    secret = "Zephyrine Oakhollow"
    inputs: JsonObject = {"traveler_name": secret}
    planning = asyncio.create_task(missions.plan(MissionRequest(goal=TABLE, inputs=inputs)))
    await place.start_worker()
    preview = await planning
    started = await missions.start(
        MissionRequest(goal=TABLE, policy=MissionPolicy(plan_first=True))
    )
    card = await card_of(started)
    await started.reject(card, reason="only looking", approver="ann")
    runs = [
        run
        async for run in missions.temporal.list_workflows(f"WorkflowType = '{names.PLAN_WORKFLOW}'")
    ]
    history = await missions.temporal.get_workflow_handle(runs[0].id).fetch_history()

    assert [tool.name for tool in preview.legs[0].tools] == ["dining_reserve_table"]
    assert [order.tools for order in preview.legs[0].orders] == [("dining_reserve_table",)]
    assert preview.legs[0].cards == ("structured-reservation",)
    assert preview.digest == card.digest
    assert [run.status for run in runs] == [WorkflowExecutionStatus.COMPLETED]
    assert secret not in json.dumps(json.loads(history.to_json()))
    assert (sorted(file.name for file in vault.glob("*")) if vault.exists() else []) == kept


async def test_without_a_worker_nothing_waits_to_be_planned(
    place: Stack, missions: MissionClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said soon, and no run is left for whoever comes."""
    monkeypatch.setattr(start, "_PLAN_TAKEN_UP", timedelta(seconds=1))
    await place.kill(gently=True)
    with pytest.raises(NoWorker):
        await missions.plan(MissionRequest(goal=f"What is free on {day_in(12)} in Lisbon?"))
    running = f"WorkflowType = '{names.PLAN_WORKFLOW}' AND ExecutionStatus = 'Running'"

    async def none_runs() -> bool:
        return (await missions.temporal.count_workflows(running)).count == 0

    assert await eventually(none_runs)
    await place.start_worker()
