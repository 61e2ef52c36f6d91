"""What a mission says of itself when its planners say more than they did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from temporalio.client import WorkflowExecutionStatus
from temporalio.exceptions import ApplicationError

from orchestrator.adapters.temporal.search_attributes import STATUS
from orchestrator.messages import names
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.rollback import RollbackReport
from orchestrator.messages.standing import after_rollback
from orchestrator.messages.unserved import Unserved
from orchestrator.planning.models import CallTool, Finish, StepContext, StepDecision
from orchestrator.saga.orders import Order
from orchestrator.saga.outcome import CompensationOutcome, ToolOutcome
from orchestrator.testing import FakeWorld, fake_leg, states_of

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage

FLIGHT = Order(clause="book a flight", tools=("book_flight",))
HOTEL = Order(clause="book a hotel", tools=("book_hotel",))
TOO_LATE = CompensationOutcome(state="parked", note="too late to cancel")


async def test_a_planners_word_is_no_booking(stage: Stage, world: FakeWorld) -> None:
    """It says that the flight is booked and has called nothing: the mission does not succeed."""
    world.plan(fake_leg("flight", orders=[FLIGHT]))
    claim = Finish(summary="Your flight is booked, reference ABC123.")
    world.decide("flight", claim, claim)

    mission = await stage.start()
    failure = await mission.failure()
    result = await mission.snapshot()

    assert isinstance(failure, ApplicationError)
    assert failure.type == names.MISSION_INCOMPLETE
    assert MissionResult.model_validate(failure.details[0]) == result
    assert result.status is MissionStatus.INCOMPLETE
    assert result.summary == (
        "The planner says, unproved: Your flight is booked, reference ABC123."
    )
    assert result.legs[0].unproved
    assert result.unserved == (
        Unserved(clause="book a flight", reason="no call that was made does it", leg_id="flight"),
    )
    assert result.error is not None
    assert "book a flight" in result.error


async def test_a_planners_word_is_no_answer(stage: Stage, world: FakeWorld) -> None:
    """It tells of the weather and has looked at nothing: it is told so, and then marked."""
    world.wants_proof = True
    world.plan(fake_leg("weather"), fake_leg("flight", after=("weather",)))
    world.decide("weather", *[Finish(summary="It is sunny.")] * 2)
    world.decide("flight", CallTool(tool="find_flights"), Finish(summary="There are two."))

    result = await (await stage.start()).end()

    assert result.status is MissionStatus.INCOMPLETE
    assert result.summary == "The planner says, unproved: It is sunny. There are two."
    assert [s.outcome for s in result.legs[0].steps] == ["refused", "done"]
    assert [str(one) for one in result.unserved] == ["'do weather': nothing was looked up"]


async def test_what_was_done_of_an_incomplete_mission_stands(
    stage: Stage, world: FakeWorld
) -> None:
    """It was ordered and approved: nothing rolls it back by itself."""
    world.plan(fake_leg("trip", orders=[FLIGHT, HOTEL]))
    world.decide("trip", CallTool(tool="book_flight"), Finish(summary="All is booked."))

    mission = await stage.start()
    result = await mission.end()

    assert await mission.status() is WorkflowExecutionStatus.FAILED
    assert [u.clause for u in result.unserved] == ["book a hotel"]
    assert states_of(result.ledger) == {"book_flight": "committed"}
    assert await mission.rollback_status() is None


async def test_a_planner_may_correct_itself_once(stage: Stage, world: FakeWorld) -> None:
    """Ending a leg that ordered more is refused with the reason; then the leg does it."""
    told: list[str | None] = []

    def after_the_refusal(context: StepContext) -> StepDecision:
        told.append(context.last_error)
        return CallTool(tool="book_flight")

    world.plan(fake_leg("flight", orders=[FLIGHT]))
    world.decide("flight", Finish(summary="Booked."), after_the_refusal)

    mission = await stage.start()
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert [(s.did, s.outcome) for s in result.legs[0].steps] == [
        ("finish", "refused"),
        ("call book_flight", "succeeded"),
        ("finish", "done"),
    ]
    assert told[0] is not None
    assert "book a flight" in told[0]


async def test_what_the_provider_refused_serves_nothing(stage: Stage, world: FakeWorld) -> None:
    """The reason names what became of the call."""
    world.plan(fake_leg("flight", orders=[FLIGHT]))
    world.answer("book_flight", ToolOutcome(kind="rejected", status=409, reason="sold out"))
    world.decide("flight", CallTool(tool="book_flight"), Finish(summary="Booked."))

    result = await (await stage.start()).end()

    assert result.status is MissionStatus.INCOMPLETE
    assert result.unserved[0].reason == "book_flight is void: sold out"


async def test_a_forged_signal_says_nothing(stage: Stage, world: FakeWorld) -> None:
    """The mission reads its rollback, and believes no report that somebody sends."""
    stage.lose_after("book_flight")
    undoing = world.hold(names.COMPENSATE, "book_flight")

    mission = await stage.start()
    async with undoing:
        forged = RollbackReport(mission_id=mission.mission_id, settled=True)
        await mission.handle.signal(names.ROLLBACK_SETTLED_SIGNAL, forged)
        await mission.handle.signal(names.ROLLBACK_SETTLED_SIGNAL, forged)

        async def has_read() -> bool | None:
            history = await mission.handle.fetch_history()
            read = "read_rollback"
            return (
                any(
                    e.activity_task_scheduled_event_attributes.activity_type.name == read
                    for e in history.events
                )
                or None
            )

        await mission.eventually(has_read)
        meanwhile = await mission.snapshot()
    result = await mission.end()

    assert meanwhile.status is MissionStatus.ROLLING_BACK
    assert result.status is MissionStatus.ROLLED_BACK
    assert states_of(result.ledger) == {"book_flight": "cancelled"}


async def _status_shown(mission: Mission) -> str | None:
    return (await mission.handle.describe()).typed_search_attributes.get(STATUS)


async def test_a_mission_that_is_over_is_never_found_as_parked(
    stage: Stage, world: FakeWorld
) -> None:
    """Its rollback is, until it is resolved: a search for what is parked can find nothing."""
    stage.lose_after("book_flight")
    world.compensate("book_flight", TOO_LATE)

    mission = await stage.start()
    result = await mission.over()
    (parked,) = await mission.parked()

    assert result.status is MissionStatus.PARKED
    assert await _status_shown(mission) == names.LEFT_TO_ROLLBACK
    before = after_rollback(result, await mission.report())
    await mission.resolve(parked.obligation_id, "cancelled")
    after = after_rollback(result, await mission.report())
    assert (before.status, after.status) == (MissionStatus.PARKED, MissionStatus.ROLLED_BACK)
    assert [c.title for c in after.cancelled] == ["Book flight"]


async def test_a_success_that_was_rolled_back_says_so(stage: Stage, world: FakeWorld) -> None:
    """As a status of its own, with nothing left that stands or costs."""
    world.plan(fake_leg("flight", orders=[FLIGHT]))
    world.decide("flight", CallTool(tool="book_flight"))

    mission = await stage.start()
    result = await mission.end()
    await (await mission.start_rollback()).result()
    after = after_rollback(result, await mission.report())

    assert states_of(result.ledger) == {"book_flight": "committed"}
    assert after.status is MissionStatus.ROLLED_BACK_AFTER_SUCCESS
    assert after.receipts == ()
