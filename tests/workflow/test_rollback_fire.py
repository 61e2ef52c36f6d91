"""Rollback under fire: outages, waits, its own end, requests that come twice, and operators."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from temporalio import activity
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowExecutionStatus
from temporalio.exceptions import ApplicationError

from orchestrator.activities.boundary import heartbeats
from orchestrator.adapters.temporal.rollbacks import start_rollback
from orchestrator.adapters.temporal.search_attributes import STATUS
from orchestrator.core.compensation_limits import LONGEST_DEFERRAL
from orchestrator.messages import names
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.rollback import RollbackReport, RollbackStatus
from orchestrator.planning.models import CallTool
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation, ObligationState
from orchestrator.saga.outcome import CompensationFailure, CompensationOutcome
from tests.fakes import states_of
from tests.workflow.replays import replay
from tests.world import FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage


DOWN = ApplicationError("HTTP 500", type=names.PROVIDER_BUSY)
TOO_LATE = CompensationOutcome(state="parked", note="too late to cancel")
DONE = CompensationOutcome(state="cancelled")


def asked_to_wait(seconds: float) -> ApplicationError:
    """A 429 with Retry-After."""
    failure = CompensationFailure(
        reason="HTTP 429", counts=False, arrived=False, retry_after_s=seconds
    )
    return ApplicationError("HTTP 429", failure, type=names.PROVIDER_BUSY)


# Where something is parked, no test waits for the end of its mission: the server would skip all the
# time that an operator may take.


def lost(reached: asyncio.Event) -> Callable[[Obligation], Awaitable[CompensationOutcome]]:
    """An attempt that nobody ever hears of again."""

    async def hang(_: Obligation) -> CompensationOutcome:
        reached.set()
        async with heartbeats():
            await asyncio.Event().wait()
        raise AssertionError("it was never to end")

    return hang


def tried_at(world: FakeWorld) -> list[datetime]:
    """When each attempt to take something back began, by the server's clock."""
    return [call.at for call in world.attempts(names.COMPENSATE)]


async def stop(mission: Mission) -> None:
    """Terminate its rollback, and wait until the server says that it is over."""
    await mission.rollback_handle.terminate()

    async def over() -> bool | None:
        return await mission.rollback_status() is WorkflowExecutionStatus.TERMINATED or None

    await mission.eventually(over)


async def start_again(stage: Stage, mission: Mission) -> str:
    """Ask for a rollback, as the command line and the sweep do."""
    return await start_rollback(
        stage.env.client, mission.mission_id, reason="again", task_queue=stage.task_queue
    )


async def test_an_outage_of_minutes_parks_nothing(stage: Stage, world: FakeWorld) -> None:
    """Three attempts are all that the contract gives, and they are spread over it."""
    stage.lose_after("book_flight")
    began: list[datetime] = []

    async def down_for_four_minutes(_: Obligation) -> CompensationOutcome:
        now = activity.info().started_time
        began.append(now)
        if now < began[0] + timedelta(minutes=4):
            raise DOWN.with_traceback(None)
        return DONE

    world.compensate("book_flight", down_for_four_minutes)

    result = await (await stage.start()).end()

    assert result.status is MissionStatus.ROLLED_BACK
    assert len(tried_at(world)) == 3


async def test_a_provider_that_asks_to_wait_is_waited_for(stage: Stage, world: FakeWorld) -> None:
    """More often than the contract gives attempts, for these are none; and as long as it says."""
    stage.lose_after("book_flight")
    world.compensate("book_flight", *[asked_to_wait(90)] * 5, DONE)

    result = await (await stage.start()).end()
    times = tried_at(world)

    assert result.status is MissionStatus.ROLLED_BACK
    assert len(times) == 6
    pauses = [after - before for before, after in pairwise(times)]
    assert min(pauses) >= timedelta(seconds=90)


async def test_a_provider_that_puts_off_for_ever_is_parked(stage: Stage, world: FakeWorld) -> None:
    """What waits behind it is taken back then."""
    stage.lose_after("book_flight", "book_hotel")
    world.compensate("book_hotel", asked_to_wait(120))

    result = await (await stage.start()).end()
    times = tried_at(world)

    assert states_of(result.ledger) == {"book_flight": "cancelled", "book_hotel": "parked"}
    assert times[-1] - times[0] <= LONGEST_DEFERRAL + timedelta(minutes=1)
    assert "puts it off" in result.ledger.obligations[1].note


async def test_a_terminated_rollback_is_started_again_where_it_stopped(
    stage: Stage, world: FakeWorld
) -> None:
    """The mission, which waits for it, ends with the report of the second one."""
    stage.lose_after("book_flight", "book_hotel")
    reached = asyncio.Event()
    world.compensate("book_flight", lost(reached), DONE)

    mission = await stage.start()
    await reached.wait()
    first = (await mission.rollback_handle.describe()).run_id
    await stop(mission)
    begun = await start_again(stage, mission)
    result = await mission.end()

    assert begun == "restarted"
    assert result.status is MissionStatus.ROLLED_BACK
    assert [o.tool for o in world.compensated()] == ["book_hotel", "book_flight", "book_flight"]
    assert [o.cancel_sent for o in world.compensated()] == [False, False, True]
    assert (await mission.report()).took_over == first


async def test_what_was_parked_stays_parked_when_its_rollback_is_terminated(
    stage: Stage, world: FakeWorld
) -> None:
    """The operator finds it again, with its reason, and nothing was tried without being asked."""
    stage.lose_after("book_flight", "book_hotel", "book_car")
    world.compensate("book_hotel", TOO_LATE)
    world.compensate("book_car", TOO_LATE)
    mission = await stage.start()
    car = next(o for o in await mission.parked(2) if o.tool == "book_car")
    await mission.resolve(car.obligation_id, "accept")
    before = len(world.compensated())

    await stop(mission)
    await start_again(stage, mission)
    (hotel,) = await mission.parked()
    await mission.resolve(hotel.obligation_id, "cancelled")
    report = await mission.rollback_handle.result()

    assert hotel.note == "too late to cancel"
    assert len(world.compensated()) == before
    assert states_of(report.ledger) == {
        "book_flight": "cancelled",
        "book_hotel": "cancelled",
        "book_car": "accepted",
    }


async def test_a_rollback_terminated_twice_still_knows_what_the_first_had_noted(
    stage: Stage, world: FakeWorld
) -> None:
    """The second one was stopped before any worker had seen it."""
    stage.lose_after("book_flight")
    world.compensate("book_flight", TOO_LATE)
    mission = await stage.start()
    await mission.parked()
    await stop(mission)
    await start_rollback(
        stage.env.client, mission.mission_id, reason="in vain", task_queue="nobody-polls-this"
    )
    await stop(mission)

    await start_again(stage, mission)
    (flight,) = await mission.parked()

    assert flight.note == "too late to cancel"
    assert len(world.compensated()) == 1
    await stop(mission)


async def test_what_is_taken_up_keeps_the_decision_that_it_began_with(
    stage: Stage, world: FakeWorld
) -> None:
    """Whoever takes it up, a sweep for instance: who decided and why stands in the ledger."""
    mission = await stage.start_leg("flight", CallTool(tool="book_flight"))
    await mission.end()
    await start_rollback(
        stage.env.client,
        mission.mission_id,
        reason="wrong week",
        task_queue="nobody-polls-this",
        approver="ann",
        asked_at=datetime(2026, 11, 22, tzinfo=UTC),
    )
    await stop(mission)

    await start_again(stage, mission)
    report = await mission.rollback_handle.result()
    (flight,) = report.ledger.obligations

    assert flight.rollback == report.order
    assert (report.order.reason, report.order.approver) == ("wrong week", "ann")
    assert report.order.asked_at == datetime(2026, 11, 22, tzinfo=UTC)


async def test_a_second_request_joins_the_rollback_that_runs(
    stage: Stage, world: FakeWorld
) -> None:
    """And one that comes after its end repeats nothing."""
    compensation = world.hold(names.COMPENSATE, "book_flight")
    mission = await stage.start_leg("flight", CallTool(tool="book_flight"))
    await mission.end()

    begun = [await start_again(stage, mission)]
    async with compensation:
        begun.append(await start_again(stage, mission))
    await mission.rollback_handle.result()
    begun.append(await start_again(stage, mission))

    assert begun == ["started", "running", "completed"]
    assert len(world.compensated()) == 1


@pytest.mark.parametrize("together", [True, False], ids=["together", "one after the other"])
async def test_operators_are_served_in_the_order_in_which_they_ask(
    stage: Stage, world: FakeWorld, together: bool
) -> None:
    """Two retries that arrive at once lead to what they lead to one after the other."""
    stage.lose_after("book_flight", "book_hotel")
    world.compensate("book_flight", TOO_LATE, DONE)
    world.compensate("book_hotel", TOO_LATE, DONE)
    mission = await stage.start()
    parked = {o.tool: o.obligation_id for o in await mission.parked(2)}
    first, second = parked["book_flight"], parked["book_hotel"]

    if together:
        await asyncio.gather(mission.resolve(first, "retry"), mission.resolve(second, "retry"))
    else:
        await mission.resolve(first, "retry")
        await mission.resolve(second, "retry")
    await mission.rollback_handle.result()
    history = await mission.rollback_handle.fetch_history()
    wanted = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED
    asked = [
        str(e.workflow_execution_update_accepted_event_attributes.accepted_request.input.args)
        for e in history.events
        if e.event_type == wanted
    ]
    order = ["book_flight" if first in args else "book_hotel" for args in asked]

    assert [o.tool for o in world.compensated()][2:] == order
    assert await mission.rollback_status() is WorkflowExecutionStatus.COMPLETED
    await replay(history)


async def shown(mission: Mission) -> str | None:
    """The status by which the rollback is found."""
    return (await mission.rollback_handle.describe()).typed_search_attributes.get(STATUS)


async def shows(mission: Mission, wanted: RollbackStatus) -> None:
    """Wait until it does."""

    async def look() -> bool | None:
        return await shown(mission) == wanted or None

    await mission.eventually(look)


async def replays(mission: Mission) -> None:
    """The same commands again, from what the server has written down."""
    history = await mission.rollback_handle.fetch_history()
    await replay(history)


async def test_it_shows_while_others_are_still_tried(stage: Stage, world: FakeWorld) -> None:
    """The later booking was refused; the earlier one is being cancelled, and takes its time."""
    stage.lose_after("book_flight", "book_hotel")
    world.compensate("book_hotel", TOO_LATE)
    flight = world.hold(names.COMPENSATE, "book_flight")
    mission = await stage.start()

    async with flight:
        await shows(mission, RollbackStatus.PARKED)
        report = await mission.report()
        assert not report.settled
        assert [o.tool for o in report.parked] == ["book_hotel"]
    await mission.over()

    assert await shown(mission) == RollbackStatus.PARKED


async def test_a_rollback_that_cannot_begin_shows_as_parked(
    stage: Stage, world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the reason, within a minute of the server's time; it begins by itself once it can."""
    stage.lose_after("book_flight")
    read = world.grants.ledger
    trouble = ["a note cannot be read"]
    asked: list[datetime] = []

    def fails(mission_id: str, *, concluded: bool = False) -> Ledger:
        asked.append(activity.info().started_time)
        if trouble:
            raise ValueError(trouble[0])
        return read(mission_id, concluded=concluded)

    monkeypatch.setattr(world.grants, "ledger", fails)
    mission = await stage.start()

    await shows(mission, RollbackStatus.PARKED)
    described = await mission.rollback_handle.describe()
    waiting = await described.memo_value(names.PARKED_MEMO, type_hint=RollbackReport)
    trouble.clear()
    result = await mission.end()

    assert waiting.blocked == "a note cannot be read"
    assert asked[7] - asked[0] < timedelta(minutes=1)
    assert result.status is MissionStatus.ROLLED_BACK
    assert await shown(mission) == RollbackStatus.ROLLED_BACK
    await replays(mission)


async def test_what_is_resolved_meanwhile_shows_no_more(stage: Stage, world: FakeWorld) -> None:
    """The operator was quicker than the rest: the rollback closes by itself, with their word."""
    stage.lose_after("book_flight", "book_hotel")
    world.compensate("book_hotel", TOO_LATE)
    flight = world.hold(names.COMPENSATE, "book_flight")
    mission = await stage.start()

    async with flight:
        await shows(mission, RollbackStatus.PARKED)
        (parked,) = (await mission.report()).parked
        await mission.resolve(parked.obligation_id, "accept")
        assert await shown(mission) == RollbackStatus.ROLLING_BACK
    report = await mission.rollback_handle.result()

    assert states_of(report.ledger) == {"book_flight": "cancelled", "book_hotel": "accepted"}
    assert await shown(mission) == RollbackStatus.ROLLED_BACK
    await replays(mission)


async def test_a_retry_shows_as_what_it_is(stage: Stage, world: FakeWorld) -> None:
    """Parked, tried again, parked again, tried again, and done: the status goes along."""
    stage.lose_after("book_flight")
    world.compensate("book_flight", TOO_LATE, TOO_LATE, DONE)
    mission = await stage.start()
    await mission.over()
    (parked,) = await mission.parked()
    seen = []
    for _ in range(2):
        trying = world.hold(names.COMPENSATE, "book_flight")
        await mission.resolve(parked.obligation_id, "retry")
        async with trying:
            seen.append(await shown(mission))
        if len(seen) == 1:
            await shows(mission, RollbackStatus.PARKED)
    report = await mission.rollback_handle.result()

    assert seen == [RollbackStatus.ROLLING_BACK] * 2
    assert {o.state for o in world.compensated()} == {ObligationState.COMMITTED}
    assert states_of(report.ledger) == {"book_flight": "cancelled"}
    assert await shown(mission) == RollbackStatus.ROLLED_BACK
    assert [r.resolution for r in report.ledger.obligations[0].resolutions] == ["retry", "retry"]
    await replays(mission)


async def test_one_resolved_of_two_leaves_the_other_on_the_list(
    stage: Stage, world: FakeWorld
) -> None:
    """The status says parked as long as anything is, and not a moment longer."""
    stage.lose_after("book_flight", "book_hotel")
    world.compensate("book_flight", TOO_LATE)
    world.compensate("book_hotel", TOO_LATE)
    mission = await stage.start()
    await mission.over()
    first, second = [o.obligation_id for o in await mission.parked(2)]

    await mission.resolve(first, "cancelled")
    after_one = await shown(mission)
    await mission.resolve(second, "accept")
    await mission.rollback_handle.result()

    assert after_one == RollbackStatus.PARKED
    assert await shown(mission) == RollbackStatus.ROLLED_BACK


async def test_every_word_of_an_operator_is_kept(stage: Stage, world: FakeWorld) -> None:
    """Who, when, what, the note, and why it was parked then; in the order in which they came."""
    stage.lose_after("book_flight")
    world.compensate("book_flight", TOO_LATE, CompensationOutcome(state="parked", note="closed"))
    mission = await stage.start()
    await mission.over()
    (parked,) = await mission.parked()
    await mission.resolve(parked.obligation_id, "retry", operator="ann", note="they reopened")

    async def parked_again() -> bool | None:
        return [o.note for o in (await mission.report()).parked] == ["closed"] or None

    await mission.eventually(parked_again)
    await mission.resolve(parked.obligation_id, "cancelled", operator="bo", note="by telephone")
    report = await mission.rollback_handle.result()
    (flight,) = report.ledger.obligations

    assert [(r.operator, r.resolution, r.note, r.parked_because) for r in flight.resolutions] == [
        ("ann", "retry", "they reopened", "too late to cancel"),
        ("bo", "cancelled", "by telephone", "closed"),
    ]
    assert flight.resolutions[0].at < flight.resolutions[1].at
    assert flight.resolutions[0].parked_at == parked.settled_at
    assert flight.note == "bo: by telephone"


@pytest.mark.parametrize("together", [True, False], ids=["at once", "one after the other"])
async def test_of_two_operators_one_decides_and_the_other_hears_it(
    stage: Stage, world: FakeWorld, together: bool
) -> None:
    """Also when it is the same one, whose first answer was lost."""
    stage.lose_after("book_flight")
    world.compensate("book_flight", TOO_LATE)
    mission = await stage.start()
    await mission.over()
    (parked,) = await mission.parked()
    keep_open = world.hold(names.COMPENSATE, "book_flight")
    asked = [
        mission.resolve(parked.obligation_id, "retry", operator=name) for name in ("ann", "bo")
    ]

    if together:
        answers = await asyncio.gather(*asked, return_exceptions=True)
    else:
        answers = [
            one for asks in asked for one in await asyncio.gather(asks, return_exceptions=True)
        ]
    await keep_open.reached()
    decided = (await mission.report()).ledger.obligations[0].resolutions
    keep_open.release()

    assert len([a for a in answers if isinstance(a, RollbackReport)]) == 1
    (refused,) = [a for a in answers if isinstance(a, BaseException)]
    cause = refused.__cause__
    assert type(cause).__name__ == "ApplicationError"
    assert getattr(cause, "type", "") == "ObligationNotParked"
    (one,) = decided
    assert f"{one.operator} resolved it as retry" in str(cause)
    assert await mission.rollback_status() is WorkflowExecutionStatus.RUNNING
