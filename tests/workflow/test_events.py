"""Those who watch missions: each event once and in order, whoever dies or stops looking."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from temporalio import workflow
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.core.errors import MissionNotFound, UsageError
from orchestrator.messages.events import AnyEvent, CardEvent, MissionEvent
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import AskUser, CallTool, CallTools
from orchestrator.settings import Settings
from tests.fakes import fake_leg
from tests.world import FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage

TICKET = CallTool(tool="buy_ticket", arguments={"seat": "12A"})
BOOKED = [
    "trip obligation intended book_flight",
    "trip call sent book_flight",
    "trip call answered succeeded book_flight",
    "trip obligation committed book_flight",
    "trip step succeeded call book_flight",
]
WHOLE = """\
- mission planning
- plan
- mission running
trip leg running
trip selection
trip leg awaiting_answer
trip question opened
trip question answered
trip leg running
trip step answered ask the user
trip selection
trip call sent find_flights
trip call sent find_flights
trip call answered succeeded find_flights
trip call answered succeeded find_flights
trip step succeeded call find_flights
trip step succeeded call find_flights
trip selection
trip leg awaiting_confirmation
trip card opened buy_ticket
trip decision amended
trip card amended buy_ticket
trip card opened buy_ticket
trip decision approved
trip card approved buy_ticket
trip leg running
trip obligation intended buy_ticket
trip call sent buy_ticket
trip call answered succeeded buy_ticket
trip obligation committed buy_ticket
trip step succeeded call buy_ticket
trip selection
trip step done finish
trip leg succeeded
visa leg running
visa selection
visa step lost give up
visa leg failed
- mission rolling_back
- rollback collecting
- rollback rolling_back
trip obligation cancelled buy_ticket
- rollback rolled_back
- mission rolled_back
""".splitlines()


@pytest.fixture
def workflow_env(local_env: WorkflowEnvironment) -> WorkflowEnvironment:
    """A real server: the one that skips time has no long polls of histories."""
    return local_env


def handle(stage: Stage, mission: Mission) -> MissionHandle:
    """The mission as a stranger takes it up."""
    return watched_by_id(stage, mission.mission_id)


def watched_by_id(stage: Stage, mission_id: str) -> MissionHandle:
    """A mission for somebody who has but its id."""
    return MissionClient(stage.env.client, Settings(task_queue=stage.task_queue)).get(mission_id)


async def all_events(watched: MissionHandle, after: str | None = None) -> list[AnyEvent]:
    """To the end of the mission."""
    async with asyncio.timeout(60):
        return [event async for event in watched.events(after=after)]


def told(events: list[AnyEvent]) -> list[str]:
    """What the events say, in a few words each."""
    return [f"{one.leg_id or '-'} {_words(one.model_dump())}" for one in events]


def _words(event: dict[str, Any]) -> str:
    named = ("status", "state", "decision", "outcome", "tool", "did")
    return " ".join([event["kind"], *(str(event[n]) for n in named if event.get(n))])


def without_cursors(events: list[AnyEvent]) -> list[AnyEvent]:
    """What they say, wherever they are read from."""
    return [one.model_copy(update={"cursor": ""}) for one in events]


def of_each(events: list[AnyEvent]) -> dict[str, list[AnyEvent]]:
    """The events of each workflow, in the order in which they came."""
    rollback = {"rollback", "obligation"}
    found: dict[str, list[AnyEvent]] = {}
    for event in without_cursors(events):
        found.setdefault(event.leg_id if event.kind not in rollback else "", []).append(event)
    return found


def said_by_each(events: list[AnyEvent]) -> dict[str, list[str]]:
    """What each workflow said, in its order, wherever and whenever that was read."""
    return {leg: told(said) for leg, said in of_each(events).items()}


async def first(events: AsyncGenerator[AnyEvent, None], kind: str) -> AnyEvent:
    """The first event of a kind."""
    async with asyncio.timeout(60):
        return [event async for event in until(events, kind)][-1]


async def until(
    events: AsyncGenerator[AnyEvent, None], kind: str
) -> AsyncGenerator[AnyEvent, None]:
    """Up to the first event of a kind."""
    async with asyncio.timeout(60):
        async for event in events:
            yield event
            if event.kind == kind:
                return


def stage_of(env: WorkflowEnvironment, world: FakeWorld) -> Stage:
    """A stage whose workers a test starts and stops itself."""
    from tests.workflow.conftest import Stage

    return Stage(env, world, "watched")


async def ended_with_trouble(stage: Stage, world: FakeWorld) -> Mission:
    """A mission with an amended card, a question, reads at once, a loss and a rollback."""
    stage.lose_after("book_flight")
    world.decide(
        "trip",
        AskUser(question="Window?", fields={"seat": {"type": "string"}}, why="to choose"),
        CallTools(calls=(CallTool(tool="find_flights"), CallTool(tool="find_flights"))),
        TICKET,
    )
    mission = await stage.start()
    await mission.answer(await mission.question("trip"), {"seat": "yes"})
    await mission.approve(await mission.amend(await mission.card("trip"), seat="14C"))
    await mission.end()
    return mission


async def test_what_a_mission_did_is_told_from_its_plan_to_its_rollback(
    stage: Stage, world: FakeWorld
) -> None:
    """Without any watcher while it ran: all of it stands in its history."""
    mission = await ended_with_trouble(stage, world)

    events = await all_events(handle(stage, mission))

    assert told(events) == WHOLE


@pytest.mark.long
async def test_a_watcher_killed_at_every_event_sees_each_once_and_in_order(
    stage: Stage, world: FakeWorld
) -> None:
    """Whoever goes on with the cursor of an event gets those that follow it, all of them."""
    mission = await ended_with_trouble(stage, world)
    watched = handle(stage, mission)
    whole = await all_events(watched)

    for place, event in enumerate(whole, 1):
        rest = await all_events(watched, event.cursor)
        assert without_cursors(rest) == without_cursors(whole[place:])
        assert [one.cursor for one in rest] == [one.cursor for one in whole[place:]]


async def test_a_watcher_that_dies_again_and_again_while_a_mission_runs_misses_none(
    stage: Stage, world: FakeWorld
) -> None:
    """Each new one has nothing but the cursor of the one before."""
    running = asyncio.create_task(ended_with_trouble(stage, world))
    mission_id = f"{stage.task_queue[-60:].lstrip('-_')}-1"
    seen: list[AnyEvent] = []
    async with asyncio.timeout(60):
        while not seen or seen[-1].kind != "mission" or seen[-1].status != "rolled_back":
            after = seen[-1].cursor if seen else None
            lives = 1 + len(seen) % 5
            try:
                async with aclosing(watched_by_id(stage, mission_id).events(after=after)) as events:
                    async for event in events:
                        seen.append(event)
                        lives -= 1
                        if not lives:
                            break
            except MissionNotFound:
                await asyncio.sleep(0.05)  # it is just being started

    whole = await all_events(handle(stage, await running))
    assert said_by_each(seen) == said_by_each(whole)


async def test_what_waits_is_told_without_a_worker(
    workflow_env: WorkflowEnvironment, world: FakeWorld
) -> None:
    """Recorded by a worker that is gone: of a mission that waits for somebody."""
    stage = stage_of(workflow_env, world)
    world.plan(fake_leg("trip"))
    world.decide("trip", TICKET)
    async with stage.worker():
        mission = await stage.start()
        card = await mission.card("trip")

    async with aclosing(handle(stage, mission).events()) as events:
        opened = await first(events, "card")

    assert isinstance(opened, CardEvent)
    assert (opened.state, opened.confirmation_id, opened.digest, opened.tool) == (
        "opened",
        card.confirmation_id,
        card.digest,
        "buy_ticket",
    )


async def test_a_mission_that_goes_on_in_a_new_run_is_told_in_one_piece(
    stage: Stage, world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run is read after the one before; what a run brought along is told once."""
    monkeypatch.setattr(workflow.Info, "is_continue_as_new_suggested", _once_it_is_long)
    mission = await stage.start_leg(
        "trip", *[CallTool(tool="book_flight") for _ in range(2)], TICKET
    )
    await mission.approve(await mission.card("trip"))
    await mission.end()

    events = await all_events(handle(stage, mission))

    assert [one for one in told(events) if "book_flight" in one] == 2 * BOOKED
    for event in events[::5]:
        rest = await all_events(handle(stage, mission), event.cursor)
        assert without_cursors(rest) == without_cursors(events[len(events) - len(rest) :])


async def test_a_mission_that_was_stopped_from_outside_says_so_and_withdraws_its_card(
    stage: Stage, booked: Mission
) -> None:
    """Its own code could not: the server's last word is read instead."""
    await booked.handle.terminate("by hand")

    events = await all_events(handle(stage, booked))

    assert [one for one in told(events) if "card" in one] == [
        "trip card opened buy_ticket",
        "trip card withdrawn buy_ticket",
    ]
    assert "- mission terminated" in told(events)
    assert any(isinstance(one, MissionEvent) and one.over for one in events)


@pytest.mark.long
async def test_what_the_server_no_longer_keeps_is_left_out_with_a_warning(
    stage: Stage,
    world: FakeWorld,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rest is told: of a mission that went on in a new run, what that one did."""
    monkeypatch.setattr(workflow.Info, "is_continue_as_new_suggested", _once_it_is_long)
    mission = await stage.start_leg(
        "trip", *[CallTool(tool="book_flight") for _ in range(2)], TICKET
    )
    await mission.approve(await mission.card("trip"))
    await mission.end()
    (first, *_) = await all_events(handle(stage, mission))
    gone = WorkflowExecution(
        workflow_id=mission.mission_id, run_id=mission.handle.first_execution_run_id or ""
    )
    await stage.env.client.workflow_service.delete_workflow_execution(
        DeleteWorkflowExecutionRequest(
            namespace=stage.env.client.namespace, workflow_execution=gone
        )
    )

    async def is_gone() -> list[AnyEvent] | None:
        found = await all_events(handle(stage, mission), first.cursor)
        return None if "- mission running" in told(found) else found

    rest = await mission.eventually(is_gone)

    assert "trip card approved buy_ticket" in told(rest)
    assert told(rest)[-1] == "- mission succeeded"
    assert f"the history of {mission.mission_id}" in caplog.text


def _once_it_is_long(info: workflow.Info) -> bool:
    """Whether a first run has grown long enough for another one."""
    return info.continued_run_id is None and info.get_current_history_length() > 20


UNCERTAIN = (
    EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
    EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
)


async def test_who_follows_a_mission_reads_each_event_of_its_history_once(
    stage: Stage, world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through a new run and the rollback; also a watcher of the result, and both at once."""
    monkeypatch.setattr(workflow.Info, "is_continue_as_new_suggested", _after_a_moment)
    ours = stage.env.client
    alone = await Client.connect(
        ours.service_client.config.target_host,
        namespace=ours.namespace,
        data_converter=ours.data_converter,
    )
    ask = alone.workflow_service.get_workflow_execution_history
    sent: list[tuple[str, int]] = []

    async def counted(request: Any, **options: Any) -> Any:
        answer = await ask(request, **options)
        is_whole = request.maximum_page_size != 1 and request.history_event_filter_type == 1
        if is_whole:  # the server sends a task that has not completed before it is certain
            events = (one for one in answer.history.events if one.event_type not in UNCERTAIN)
            sent.extend((request.execution.run_id, one.event_id) for one in events)
        return answer

    running = asyncio.create_task(ended_with_trouble(stage, world))
    mission_id = f"{stage.task_queue[-60:].lstrip('-_')}-1"
    watched = MissionClient(alone, Settings(task_queue=stage.task_queue)).get(mission_id)
    monkeypatch.setattr(alone.workflow_service, "get_workflow_execution_history", counted)
    async with asyncio.timeout(60):
        while not await _is_there(watched):  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.05)
    events = asyncio.create_task(all_events(watched))
    async with asyncio.timeout(60):
        results = [result.status async for result in watched.watch(every_s=0.05)]
    seen = await events

    whole = await all_events(handle(stage, await running))
    assert said_by_each(seen) == said_by_each(whole)
    assert results[-1] == "rolled_back"
    assert len({run for run, _ in sent}) == 3
    assert len(sent) == len(set(sent))


def _after_a_moment(info: workflow.Info) -> bool:
    """Whether a first run is older than a moment, by the time that a replay has too."""
    age = workflow.now() - info.start_time
    return info.continued_run_id is None and age > timedelta(seconds=0.3)


async def _is_there(watched: MissionHandle) -> bool:
    try:
        await watched.waiting()
    except MissionNotFound:
        return False
    return True


async def test_a_cursor_of_another_mission_is_refused(stage: Stage, booked: Mission) -> None:
    """It would begin anew and tell everything once more."""
    async with aclosing(handle(stage, booked).events()) as events:
        cursor = (await anext(events)).cursor

    for after in (cursor, "nonsense", "äöü"):
        with pytest.raises(UsageError, match="cursor"):
            await all_events(watched_by_id(stage, "another-1"), after)


async def test_watching_leaves_no_trace_in_history(stage: Stage, booked: Mission) -> None:
    """Nothing that a client can add is in the history of a mission that was only watched."""
    async with aclosing(handle(stage, booked).events()) as events:
        async for event in events:
            if event.kind == "card":
                break

    history = await booked.handle.fetch_history()
    assert [one for one in history.events if _is_of_a_client(one)] == []


def _is_of_a_client(event: HistoryEvent) -> bool:
    signal = event.workflow_execution_signaled_event_attributes
    if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
        return not signal.external_workflow_execution.workflow_id
    return event.HasField("workflow_execution_update_accepted_event_attributes")


async def test_the_feed_tells_of_every_card_and_question_and_what_came_of_it(
    stage: Stage, world: FakeWorld
) -> None:
    """Of all missions; a feed that dies after each event goes on with the cursor alone."""
    client = MissionClient(stage.env.client, Settings(task_queue=stage.task_queue))
    missions = [await ended_with_trouble(stage, world)]
    quick = MissionPolicy(confirmation_expiry=timedelta(seconds=1))
    missions.append(await stage.start_leg("late", TICKET, policy=quick))
    await missions[-1].end()
    missions.append(await stage.start_leg("open", TICKET))
    await missions[-1].card("open")
    ours = {mission.mission_id for mission in missions}

    async def fed(after: str | None = None) -> list[AnyEvent]:
        events = client.events(after=after, follow=False)
        return [event async for event in events if event.mission_id in ours]

    async def is_listed() -> list[AnyEvent] | None:
        found = await fed()
        return found if len(found) == len(FED) else None

    whole = await missions[-1].eventually(is_listed)
    assert told(whole) == FED
    for place, event in [*enumerate(whole, 1)][::5]:
        assert without_cursors(await fed(event.cursor)) == without_cursors(whole[place:])


FED = """\
trip question opened
trip question answered
trip card opened buy_ticket
trip decision amended
trip card amended buy_ticket
trip card opened buy_ticket
trip decision approved
trip card approved buy_ticket
late card opened buy_ticket
late card expired buy_ticket
open card opened buy_ticket
""".splitlines()
