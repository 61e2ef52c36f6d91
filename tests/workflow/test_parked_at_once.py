"""What is parked shows from that moment on, and no longer than until an operator resolved it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from temporalio.client import WorkflowExecutionStatus
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

from orchestrator.adapters.temporal.search_attributes import STATUS
from orchestrator.adapters.temporal.workflow_runner import TaskOrderedRunner
from orchestrator.core.errors import ObligationNotParked
from orchestrator.messages import names
from orchestrator.messages.rollback import RollbackReport, RollbackStatus
from orchestrator.saga.outcome import CompensationOutcome
from orchestrator.testing import FakeWorld, states_of
from workflows import ALL_WORKFLOWS

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage

TOO_LATE = CompensationOutcome(state="parked", note="too late to cancel")
DONE = CompensationOutcome(state="cancelled")


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
    replayer = Replayer(
        workflows=ALL_WORKFLOWS,
        data_converter=pydantic_data_converter,
        workflow_runner=TaskOrderedRunner(),
    )
    await replayer.replay_workflow(history)


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
    assert getattr(cause, "type", "") == ObligationNotParked.__name__
    (one,) = decided
    assert f"{one.operator} resolved it as retry" in str(cause)
    assert await mission.rollback_status() is WorkflowExecutionStatus.RUNNING
