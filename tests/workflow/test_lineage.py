"""Whose a leg is: its mission's, in every run of it, and nobody else's child."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from temporalio import workflow
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import ApplicationError, ChildWorkflowError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from orchestrator.adapters.temporal.workflow_runner import TaskOrderedRunner
from orchestrator.confirmation.policy import ConfirmationPolicy, StandingApproval
from orchestrator.messages import names
from orchestrator.messages.leg import LegInput, LegStatus
from orchestrator.messages.mission import MissionInput, MissionRequest, MissionStatus
from orchestrator.messages.mission_policy import CatalogPin, MissionPolicy
from orchestrator.messages.rollback import RollbackInput
from orchestrator.planning.models import CallTool, DiscoverTools, GiveUp
from orchestrator.testing import FakeWorld, fake_leg, states_of
from workflows import ALL_WORKFLOWS

if TYPE_CHECKING:
    from tests.workflow.conftest import Stage

ANYTHING = MissionPolicy(
    confirmation=ConfirmationPolicy(standing=(StandingApproval(name="all", tools=("*",)),))
)
"""A policy that approves of every call: only a mission may say that it is its own."""
TICKET = CallTool(tool="buy_ticket", arguments={"seat": "12A"})


@workflow.defn(name="Stranger")
class Stranger:
    """Starts a leg under its own name, with a policy of its own making."""

    @workflow.run
    async def run(self, leg: dict[str, Any], leg_workflow: str) -> None:
        await workflow.execute_child_workflow(names.LEG_WORKFLOW, leg, id=leg_workflow)


@pytest.fixture
async def bare(workflow_env: WorkflowEnvironment, world: FakeWorld) -> AsyncIterator[Stage]:
    """A stage whose worker also runs what strangers bring, all of it outside of the sandbox."""
    from tests.workflow.conftest import Stage

    stage = Stage(workflow_env, world, "lineage")
    async with Worker(
        workflow_env.client,
        task_queue=stage.task_queue,
        workflows=[*ALL_WORKFLOWS, Stranger],
        activities=world.activities(),
        workflow_runner=TaskOrderedRunner(UnsandboxedWorkflowRunner()),
    ):
        yield stage


def leg_of(stage: Stage, mission_id: str) -> LegInput:
    return LegInput(
        mission_id=mission_id,
        mission_goal="go",
        leg=fake_leg("trip"),
        policy=ANYTHING,
        catalog=CatalogPin(digest=stage.world.catalog.digest, size=1),
        started_at=datetime.now(UTC),
    )


async def refusal(stage: Stage, leg: LegInput, *, parent: str, wid: str) -> ApplicationError:
    """What a leg ends with that a stranger has started."""
    with pytest.raises(WorkflowFailureError) as failed:
        await stage.env.client.execute_workflow(
            "Stranger",
            args=[leg.model_dump(mode="json"), wid],
            id=parent,
            task_queue=stage.task_queue,
        )
    child = failed.value.cause
    assert isinstance(child, ChildWorkflowError)
    assert isinstance(child.cause, ApplicationError)
    return child.cause


async def test_a_leg_of_another_workflow_buys_nothing(bare: Stage, world: FakeWorld) -> None:
    """Its parent has the mission's id and is no mission: its call is not even prepared."""
    world.decide("trip", TICKET)

    leg = leg_of(bare, "strange")
    refused = await refusal(bare, leg, parent="strange", wid="strange.trip")

    assert "what started it is a Stranger" in refused.message
    assert world.attempts(names.PREPARE_CALL)
    assert world.sent("buy_ticket") == []


@pytest.mark.parametrize(
    ("parent", "wid", "reason"),
    [
        ("strange", "strange.hotel", "the id of that leg is strange.trip"),
        ("other", "other.trip", "no mission 'strange' started it"),
    ],
    ids=["another id than its own", "another parent than its mission"],
)
async def test_a_leg_that_is_not_where_it_belongs_ends_at_once(
    bare: Stage, world: FakeWorld, parent: str, wid: str, reason: str
) -> None:
    """Before anything is planned, and for good."""
    refused = await refusal(bare, leg_of(bare, "strange"), parent=parent, wid=wid)

    assert (refused.type, refused.non_retryable) == ("LegUnowned", True)
    assert reason in refused.message
    assert world.calls == []


async def test_a_leg_that_goes_on_in_a_new_run_is_its_missions_still(
    bare: Stage, world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new run has the same parent; what both runs have booked is read and cancelled."""
    monkeypatch.setattr(
        workflow.Info,
        "is_continue_as_new_suggested",
        lambda info: info.continued_run_id is None and info.get_current_history_length() > 20,
    )
    world.plan(fake_leg("trip"))
    world.decide(
        "trip",
        CallTool(tool="book_flight"),
        CallTool(tool="book_hotel"),
        GiveUp(reason="no visa"),
    )

    mission = await bare.start()
    result = await mission.end()
    leg = await mission.leg_handle("trip").describe()
    first = bare.env.client.get_workflow_handle(leg.id, run_id=leg.raw_info.first_run_id)

    assert (await first.describe()).status is WorkflowExecutionStatus.CONTINUED_AS_NEW
    assert leg.parent_id == mission.mission_id
    assert result.status is MissionStatus.ROLLED_BACK
    assert result.legs[0].status is LegStatus.FAILED
    assert states_of(result.ledger) == {"book_flight": "cancelled", "book_hotel": "cancelled"}


async def test_a_rollback_beside_a_mission_under_way_touches_nothing(
    stage: Stage, world: FakeWorld
) -> None:
    """It ends with the reason; the mission books, is lost, and has a rollback of its own."""
    world.plan(fake_leg("trip"))
    world.decide("trip", CallTool(tool="book_flight"), GiveUp(reason="no visa"))
    booking = world.hold(names.INVOKE_TOOL, "book_flight")
    mission = await stage.start()
    async with booking:
        beside = await mission.start_rollback()
        with pytest.raises(WorkflowFailureError):
            await beside.result()
        untouched = world.compensated(), await mission.leg("trip")
    result = await mission.end()

    assert untouched[0] == []
    assert untouched[1].status is LegStatus.RUNNING
    assert result.status is MissionStatus.ROLLED_BACK
    assert states_of(result.ledger) == {"book_flight": "cancelled"}


async def test_a_rollback_takes_over_from_no_run_but_its_own(
    stage: Stage, world: FakeWorld
) -> None:
    """A run id that is none of this rollback's brings nothing, and does not hold it up."""
    world.plan(fake_leg("trip"))
    world.decide("trip", CallTool(tool="book_flight"))
    mission = await stage.start()
    await mission.end()
    other = await stage.start()
    await other.end()
    foreign = (await other.handle.describe()).run_id
    rollback = await stage.env.client.start_workflow(
        names.ROLLBACK_WORKFLOW,
        RollbackInput(mission_id=mission.mission_id, take_over=foreign),
        id=names.rollback_workflow_id(mission.mission_id),
        task_queue=stage.task_queue,
    )
    await rollback.result()
    report = await mission.report()

    assert states_of(report.ledger) == {"book_flight": "cancelled"}
    assert {o.mission_id for o in report.ledger.obligations} == {mission.mission_id}


async def test_a_mission_is_none_under_the_id_of_a_leg_or_a_rollback(
    stage: Stage, world: FakeWorld
) -> None:
    """It would stand in the way of the one that has that id; it ends before it is planned."""
    for taken in ("trip.rollback", "trip.1-flights"):
        with pytest.raises(WorkflowFailureError) as failed:
            await stage.env.client.execute_workflow(
                names.MISSION_WORKFLOW,
                MissionInput(request=MissionRequest(goal="go")),
                id=taken,
                task_queue=stage.task_queue,
            )
        assert isinstance(failed.value.cause, ApplicationError)
        assert failed.value.cause.type == "MissionMisnamed"

    assert world.calls == []


async def test_a_leg_may_begin_with_what_others_found(stage: Stage, world: FakeWorld) -> None:
    """Names of tools are no past: what it calls with consequences is its mission's all the same."""
    world.plan(fake_leg("look"), fake_leg("flight", after=("look",)))
    world.find("cars", "rent_car")
    world.decide("look", DiscoverTools(query="cars"))
    world.decide("flight", CallTool(tool="book_flight"))

    result = await (await stage.start()).end()

    assert result.error is None
    assert len(world.sent("book_flight")) == 1
