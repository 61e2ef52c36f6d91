"""Legs that rules plan: what they think stands in their own tasks, and nothing is lost by it."""

import asyncio
import json
import time
from collections import Counter
from datetime import timedelta
from itertools import pairwise

from temporalio import activity
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowExecutionStatus
from temporalio.exceptions import ApplicationError

from orchestrator.messages import names
from orchestrator.messages.leg import LegResult
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.model_trouble import ModelPause
from orchestrator.planning.models import RULES, CallTool, LegPlan, StepContext
from orchestrator.testing import FakeWorld, fake_leg
from tests.workflow.conftest import Mission, Stage
from tests.workflow.replays import replay, replays_at_every_task

_TASK = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
_NEXT = EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED
_TIMER = EventType.EVENT_TYPE_TIMER_STARTED
_FIRED = EventType.EVENT_TYPE_TIMER_FIRED
_SIGNAL = EventType.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED


def _by_rules(leg_id: str) -> LegPlan:
    return fake_leg(leg_id).model_copy(update={"planned_by": RULES})


async def _events(mission: Mission, leg_id: str) -> list[str]:
    """The activities of a leg by name, and its other events by type."""
    history = await mission.leg_handle(leg_id).fetch_history()
    return [
        event.activity_task_scheduled_event_attributes.activity_type.name
        or event.marker_recorded_event_attributes.marker_name
        or EventType.Name(event.event_type)
        for event in history.events
    ]


async def test_a_step_is_recorded_once(stage: Stage, world: FakeWorld) -> None:
    """Only what goes to a provider is an activity of its own; every task of it replays."""
    world.plan(_by_rules("ticket"))
    world.decide(
        "ticket",
        CallTool(tool="find_flights"),
        CallTool(tool="buy_ticket", arguments={"seat": "12A"}),
    )
    mission = await stage.start()
    await mission.approve(await mission.card("ticket"))
    result = await mission.end()
    events = await _events(mission, "ticket")
    found, tasks = Counter(events), events.count(EventType.Name(_TASK))
    again = sum(pair == (EventType.Name(_TASK), EventType.Name(_NEXT)) for pair in pairwise(events))

    assert result.status is MissionStatus.SUCCEEDED
    assert found["core_local_activity"] == 3
    assert found[names.INVOKE_TOOL] == 2
    assert not {names.THINK, names.SELECT_TOOLS, names.PLAN_STEP, names.PREPARE_CALL} & set(found)
    assert tasks - again <= 6  # While a slow machine thinks, a task follows another at once.
    assert await replays_at_every_task(mission.leg_handle("ticket")) >= 4


async def test_a_wait_that_is_soon_over_is_told_to_nobody(stage: Stage, world: FakeWorld) -> None:
    """The mission hears of one that lasts, and of its end."""
    world.plan(_by_rules("ticket"))
    world.decide("ticket", CallTool(tool="buy_ticket", arguments={"seat": "12A"}))
    soon, late = await stage.start(), await stage.start()
    await soon.approve(await soon.card("ticket"))
    card = await late.card("ticket")
    await stage.env.sleep(60)
    await late.approve(card)
    await soon.end()
    await late.end()

    assert EventType.Name(_SIGNAL) not in await _events(soon, "ticket")
    assert Counter(await _events(late, "ticket"))[EventType.Name(_SIGNAL)] == 2


async def test_it_waits_for_a_store_that_lacks_what_it_has_seen(
    stage: Stage, world: FakeWorld
) -> None:
    """Any worker may have it: it is read by an ordinary activity, and the leg goes on."""
    world.plan(_by_rules("flight"))
    world.decide("flight", CallTool(tool="book_flight"), CallTool(tool="find_flights"))
    held = world.hold(names.INVOKE_TOOL, "book_flight")
    mission = await stage.start()
    await held.reached()
    world.observations.lost = True
    held.release()

    async def waits() -> LegResult | None:
        leg = await mission.leg("flight")
        return leg if leg.held_up else None

    assert "memory" in (await mission.eventually(waits)).held_up
    world.observations.lost = False
    assert (await mission.end()).status is MissionStatus.SUCCEEDED
    assert len(world.sent("book_flight")) == 1
    assert names.THINK in await _events(mission, "flight")


async def test_what_fails_in_its_task_is_tried_by_any_worker(
    stage: Stage, world: FakeWorld
) -> None:
    """A few times where the leg is, then by an ordinary activity with attempts of its own."""
    failures = iter(range(5))

    def book(_: StepContext) -> CallTool:
        if next(failures, None) is not None:
            raise RuntimeError("no room in memory")
        return CallTool(tool="book_flight")

    world.plan(_by_rules("flight"))
    world.decide("flight", book)
    mission = await stage.start()
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert names.THINK in await _events(mission, "flight")
    assert len(world.sent("book_flight")) == 1


async def test_a_step_whose_task_was_lost_is_any_workers_and_pauses_after_a_few_attempts(
    stage: Stage, world: FakeWorld
) -> None:
    """Its own task tries it no more, after the pause neither; the pause can be ended by a word."""
    tried: list[bool] = []

    def think(_: StepContext) -> CallTool:
        tried.append(activity.info().is_local)
        if activity.info().is_local:
            raise ApplicationError("lost 3 times", type=names.TASK_LOST)
        if len(tried) < 6:
            raise RuntimeError("it died")
        return CallTool(tool="book_flight")

    world.plan(_by_rules("flight"))
    world.decide("flight", think)
    mission = await stage.start()

    async def paused() -> ModelPause | None:
        return (await mission.waiting("flight")).pause

    await mission.eventually(paused)
    assert tried == [True, *[False] * 4]
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert tried == [True, *[False] * 5]
    assert len(world.sent("book_flight")) == 1
    assert await replays_at_every_task(mission.leg_handle("flight"))


async def test_a_leg_that_thinks_for_long_can_be_asked_meanwhile(
    stage: Stage, world: FakeWorld
) -> None:
    """Its own task is deaf while it lasts, so the rest is thought by an ordinary activity."""
    world.plan(_by_rules("flight"))
    world.decide("flight", CallTool(tool="book_flight"))
    held = world.hold(names.PREPARE_CALL, "book_flight")
    mission = await stage.start()
    await held.reached()
    asked = await mission.waiting("flight")
    held.release()
    result = await mission.end()

    assert asked.card is None
    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert names.THINK in await _events(mission, "flight")
    assert len(world.sent("book_flight")) == 1
    assert await replays_at_every_task(mission.leg_handle("flight"))


async def test_a_leg_that_is_cancelled_while_it_thinks_replays(
    stage: Stage, world: FakeWorld
) -> None:
    """The request is heard once the slow thought is somebody else's."""
    world.plan(_by_rules("flight"))
    world.decide("flight", CallTool(tool="book_flight"))
    held = world.hold(names.PREPARE_CALL, "book_flight")
    mission = await stage.start()
    await held.reached()
    await mission.handle.cancel()
    await mission.failure()

    assert await mission.status() is WorkflowExecutionStatus.CANCELED
    assert not world.sent("book_flight")
    assert await replays_at_every_task(mission.leg_handle("flight"))


async def test_how_long_a_step_was_thought_is_not_asked_of_the_clock(
    stage: Stage, world: FakeWorld
) -> None:
    """It jumps where a task goes on by another one, and in no replay: the run would be stuck."""

    def slowly(_: StepContext) -> CallTool:
        time.sleep(0.7)
        return CallTool(tool="book_flight")

    world.plan(_by_rules("flight"))
    world.decide("flight", slowly)
    mission = await stage.start()
    await mission.end()
    leg = mission.leg_handle("flight")
    history = await leg.fetch_history()
    listened = [event for event in history.events if event.event_type == _TIMER]
    for event in history.events:
        if event.marker_recorded_event_attributes.marker_name == "core_local_activity":
            (noted,) = event.marker_recorded_event_attributes.details["data"].payloads
            told = json.loads(noted.data)
            told["complete_time"] = {"seconds": history.events[0].event_time.seconds, "nanos": 0}
            noted.data = json.dumps(told).encode()

    assert timedelta(milliseconds=1) in [
        one.timer_started_event_attributes.start_to_fire_timeout.ToTimedelta() for one in listened
    ]
    await replay(history)


async def test_what_no_worker_can_think_undoes_nothing(stage: Stage, world: FakeWorld) -> None:
    """An exception that nobody foresaw: the leg pauses in sight, and goes on once it is mended."""
    broken = True

    def note(_: StepContext) -> CallTool:
        if broken:
            raise RuntimeError("no room in memory")
        return CallTool(tool="post_note")

    world.plan(_by_rules("flight"))
    world.decide("flight", CallTool(tool="book_flight"), note)
    mission = await stage.start()

    async def paused() -> ModelPause | None:
        await stage.env.sleep(15)  # an ordinary activity waits by the server's clock
        return (await mission.waiting("flight")).pause

    assert "no room in memory" in (await mission.eventually(paused)).reason
    broken = False
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert not world.compensated()
    assert len(world.sent("book_flight")) == 1
    assert await replays_at_every_task(mission.leg_handle("flight"))


async def test_a_task_that_thought_for_long_listens_before_it_asks(
    stage: Stage, world: FakeWorld
) -> None:
    """A cancel request that came meanwhile is heard by the next task: its mission may be undoing.

    (The server of these tests takes back a task that was overtaken; a real one keeps it.)
    """
    world.plan(_by_rules("ticket"))
    world.decide("ticket", CallTool(tool="buy_ticket", arguments={"seat": "12A"}))
    held = world.hold(names.PREPARE_CALL, "buy_ticket")
    slow = await stage.start()
    await held.reached()
    await asyncio.sleep(0.6)  # what takes less is no longer than any other task
    held.release()
    await slow.approve(await slow.card("ticket"))
    await slow.end()
    events = await _events(slow, "ticket")
    began = events.index("core_local_activity")
    asked = events.index(EventType.Name(_TIMER), events.index(EventType.Name(_FIRED)))

    assert began < events.index(EventType.Name(_FIRED)) < asked
    assert await replays_at_every_task(slow.leg_handle("ticket"))
