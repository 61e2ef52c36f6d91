"""Steps of a leg: local or remote thinking, and several calls at once."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from temporalio import activity
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowExecutionStatus
from temporalio.worker import Worker

from orchestrator.core.budget import Usage
from orchestrator.core.limits import Limits
from orchestrator.messages import names
from orchestrator.messages.failure_details import ModelPause
from orchestrator.messages.mission import MissionStatus
from orchestrator.planning.models import (
    RULES,
    AgentProfile,
    CallTool,
    CallTools,
    Dropped,
    Finish,
    LegPlan,
    StepContext,
)
from orchestrator.planning.planner import PlannedStep
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import fake_leg
from tests.workflow.conftest import Mission, Stage
from tests.workflow.replays import replays_at_every_task
from tests.world import PLAN_STEP, SELECT_TOOLS, FakeWorld

if TYPE_CHECKING:
    from orchestrator.core.record import JsonObject
    from orchestrator.messages.tool_call import ToolCall
    from tests.workflow.conftest import Stage


_TASK = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
_NEXT = EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED
_TIMER = EventType.EVENT_TYPE_TIMER_STARTED
_FIRED = EventType.EVENT_TYPE_TIMER_FIRED


def _by_rules(leg_id: str) -> LegPlan:
    return fake_leg(leg_id).model_copy(update={"planned_by": RULES})


async def _events(mission: Mission) -> list[str]:
    """The activities of a mission by name, and its other events by type."""
    history = await mission.handle.fetch_history()
    return [
        event.activity_task_scheduled_event_attributes.activity_type.name
        or event.marker_recorded_event_attributes.marker_name
        or EventType.Name(event.event_type)
        for event in history.events
    ]


async def _thinks_elsewhere(mission: Mission) -> bool | None:
    return names.THINK in await _events(mission) or None


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
    events = await _events(mission)
    found, tasks = Counter(events), events.count(EventType.Name(_TASK))
    again = sum(pair == (EventType.Name(_TASK), EventType.Name(_NEXT)) for pair in pairwise(events))

    assert result.status is MissionStatus.SUCCEEDED
    assert found["core_local_activity"] == 5  # one pins the catalog, and one notes the end
    assert found[names.INVOKE_TOOL] == 2
    assert not {names.THINK, SELECT_TOOLS, PLAN_STEP, names.PREPARE_CALL} & set(found)
    assert tasks - again <= 8  # While a slow machine thinks, a task follows another at once.
    assert await replays_at_every_task(mission.handle) >= 4


async def test_a_step_of_a_model_is_an_activity_of_its_own(stage: Stage, world: FakeWorld) -> None:
    """It takes as long as the model does, and no workflow task may."""
    model = AgentProfile(name="flight", model="openai:gpt-5")
    world.plan(_by_rules("flight").model_copy(update={"agent": model}))
    world.decide("flight", CallTool(tool="book_flight"))
    mission = await stage.start()
    await mission.end()

    assert Counter(await _events(mission))[names.THINK] == 2


async def test_a_leg_thinks_where_its_agent_is(stage: Stage, world: FakeWorld) -> None:
    """The worker that has the mission's task lacks what an agent on another machine has."""
    queue = f"{stage.task_queue}-elsewhere"
    agent = AgentProfile(name="flight", task_queue=queue)
    world.plan(_by_rules("flight").model_copy(update={"agent": agent}))
    world.decide("flight", CallTool(tool="book_flight"))
    mission = await stage.start()
    async with Worker(stage.env.client, task_queue=queue, activities=world.activities()):
        await mission.end()
    history = await mission.handle.fetch_history()
    queues = [
        (scheduled.activity_type.name, scheduled.task_queue.name)
        for event in history.events
        if (scheduled := event.activity_task_scheduled_event_attributes).activity_type.name
    ]

    assert queues[1:] == [(names.THINK, queue), (names.INVOKE_TOOL, queue), (names.THINK, queue)]


async def test_what_fails_everywhere_pauses_and_is_any_workers_from_then_on(
    stage: Stage, world: FakeWorld
) -> None:
    """Its own task tries it no more, after the pause neither; the pause can be ended by a word."""
    tried: list[bool] = []

    def think(_: StepContext) -> CallTool:
        tried.append(activity.info().is_local)
        if len(tried) < 8:
            raise RuntimeError("it died")
        return CallTool(tool="book_flight")

    world.plan(_by_rules("flight"))
    world.decide("flight", think)
    mission = await stage.start()

    async def paused() -> ModelPause | None:
        await stage.env.sleep(15)  # an ordinary activity waits by the server's clock
        return (await mission.waiting("flight")).pause

    await mission.eventually(paused)
    result = await mission.end()

    assert tried == [True] * 3 + [False] * 5
    assert result.status is MissionStatus.SUCCEEDED
    assert len(world.sent("book_flight")) == 1
    assert await replays_at_every_task(mission.handle)


async def test_a_leg_that_thinks_for_long_does_so_elsewhere(stage: Stage, world: FakeWorld) -> None:
    """Its mission is deaf while a task lasts, so what takes long is an ordinary activity's."""
    world.plan(_by_rules("flight"))
    world.decide("flight", CallTool(tool="book_flight"))
    held = world.hold(names.PREPARE_CALL, "book_flight")
    mission = await stage.start()
    await held.reached()
    await mission.eventually(lambda: _thinks_elsewhere(mission))
    held.release()
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert names.THINK in await _events(mission)
    assert len(world.sent("book_flight")) == 1
    assert await replays_at_every_task(mission.handle)


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
    assert await replays_at_every_task(mission.handle)


FIND = CallTool(tool="find_flights")
BOOK = CallTool(tool="book_flight")


def _find(*names_of: str) -> CallTools:
    return CallTools(calls=tuple(FIND.model_copy(update={"reason": n}) for n in names_of))


async def test_calls_of_one_step_are_under_way_together(stage: Stage, world: FakeWorld) -> None:
    """None waits for another to be answered; each has an id and an observation of its own."""
    held = world.hold(names.INVOKE_TOOL, "find_flights")

    mission = await stage.start_leg("flight", _find("a", "b", "c"), Finish(summary="Found."))

    async def all_sent() -> bool | None:
        return len(world.sent("find_flights")) == 3 or None

    async with held:
        await mission.eventually(all_sent)
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    ids = [call.call_id.rpartition(".")[2] for call in world.sent("find_flights")]
    assert sorted(ids) == ["1", "1b", "1c"]
    assert [step.label for step in result.legs[0].steps] == ["1", "1b", "1c", "2"]
    seen = world.contexts("flight")[1].observations
    assert [(one.step, one.part, one.outcome) for one in seen] == [
        (1, 0, "succeeded"),
        (1, 1, "succeeded"),
        (1, 2, "succeeded"),
    ]
    await replays_at_every_task(mission.handle)


async def test_they_are_recorded_in_the_order_of_the_answer(stage: Stage, world: FakeWorld) -> None:
    """Whichever is answered first; and one that fails is an observation like any other."""

    async def answered(call: ToolCall) -> ToolOutcome:
        part = call.call_id.rpartition(".")[2]
        if part == "1":
            await mission.eventually(lambda: _others_were_sent(world))
            return ToolOutcome(kind="rejected", reason="no such city")
        return ToolOutcome(kind="succeeded", body={"part": part})

    world.plan(fake_leg("flight"))
    world.answer("find_flights", answered)
    world.decide("flight", _find("a", "b", "c"), Finish(summary="Found."))
    mission = await stage.start()
    await mission.end()

    seen = world.contexts("flight")[1].observations
    assert [(one.outcome, one.error or one.body) for one in seen] == [
        ("rejected", "no such city"),
        ("succeeded", {"part": "1b"}),
        ("succeeded", {"part": "1c"}),
    ]


async def _others_were_sent(world: FakeWorld) -> bool | None:
    return len(world.sent("find_flights")) == 3 or None


async def test_an_attempt_that_died_repeats_only_its_own_call(
    stage: Stage, world: FakeWorld
) -> None:
    """The others were answered, and are in history."""
    attempts: dict[str, int] = {}

    async def dies_once(call: ToolCall) -> ToolOutcome:
        part = call.call_id.rpartition(".")[2]
        attempts[part] = attempts.get(part, 0) + 1
        if part == "1b" and attempts[part] == 1:
            raise RuntimeError("the worker died")
        return ToolOutcome(kind="succeeded", body=part)

    world.plan(fake_leg("flight"))
    world.answer("find_flights", dies_once)
    world.decide("flight", _find("a", "b", "c"), Finish(summary="Found."))
    await (await stage.start()).end()

    assert attempts == {"1": 1, "1b": 2, "1c": 1}


async def test_a_cancel_request_waits_for_what_is_under_way(stage: Stage, world: FakeWorld) -> None:
    """And what was answered is recorded."""
    held = world.hold(names.INVOKE_TOOL, "find_flights")

    mission = await stage.start_leg("flight", _find("a", "b"), BOOK)
    async with held:
        await mission.handle.cancel()
        await mission.is_cancelling()
    result = await mission.over()

    assert result.status is MissionStatus.CANCELLED
    assert [step.label for step in result.legs[0].steps] == ["1", "1b"]
    assert world.sent("book_flight") == []


async def test_what_is_dropped_is_told_to_the_planner(stage: Stage, world: FakeWorld) -> None:
    """With its reason, and shown to people; nothing of it is done."""
    beside = Dropped(tool="book_flight", arguments={"seat": "1A"}, why="do it with what was read")

    result = await stage.run_leg(
        "flight",
        PlannedStep(decision=_find("a", "b"), dropped=(beside,), usage=Usage(requests=1)),
        Finish(summary="Found."),
    )

    seen = world.contexts("flight")[1].observations[-1]
    assert (seen.tool, seen.outcome, seen.error) == ("book_flight", "dropped", beside.why)
    assert seen.arguments == {"seat": "1A"}
    assert world.sent("book_flight") == []
    shown = [(s.label, s.outcome, s.usage is not None) for s in result.legs[0].steps]
    assert shown == [
        ("1", "succeeded", True),
        ("1b", "succeeded", False),
        ("1c", "dropped", False),
        ("2", "done", False),
    ]


async def test_what_is_left_out_of_a_call_is_shown_to_people_only(
    stage: Stage, world: FakeWorld
) -> None:
    """The call was made: a note on it reads to a small model like a failure."""
    copied: JsonObject = {"class": "business"}
    left_out = Dropped(tool="find_flights", arguments=copied, why="an example", is_left_out=True)

    result = await stage.run_leg(
        "flight",
        PlannedStep(decision=_find("a", "b"), dropped=(left_out,)),
        Finish(summary="Found."),
    )

    seen = world.contexts("flight")[1].observations
    assert [one.outcome for one in seen] == ["succeeded", "succeeded"]
    assert [(s.label, s.outcome) for s in result.legs[0].steps] == [
        ("1", "succeeded"),
        ("1b", "succeeded"),
        ("1c", "dropped"),
        ("2", "done"),
    ]


async def test_calls_at_once_keep_to_what_the_leg_has_left(stage: Stage, world: FakeWorld) -> None:
    """The rest is dropped, which ends no leg; the next call would."""
    result = await stage.run_leg(
        "flight",
        _find("a", "b", "c"),
        Finish(summary="Found."),
        agent=AgentProfile(name="scout", limits=Limits(tool_calls=2)),
    )

    assert result.status is MissionStatus.SUCCEEDED
    assert len(world.sent("find_flights")) == 2
    assert [s.outcome for s in result.legs[0].steps] == [
        "succeeded",
        "succeeded",
        "dropped",
        "done",
    ]


async def test_calls_outside_the_wall_are_refused_each(stage: Stage, world: FakeWorld) -> None:
    """However many stand side by side; none is sent."""
    walled = AgentProfile(name="booker", tools=("book_*",))

    result = await stage.run_leg(
        "flight", _find("a", "b"), Finish(summary="Nothing."), agent=walled
    )

    assert [s.outcome for s in result.legs[0].steps] == ["refused", "refused", "done"]
    seen = world.contexts("flight")[1].observations
    assert [one.tool for one in seen] == ["find_flights"] * 2
    assert world.sent("find_flights") == []
