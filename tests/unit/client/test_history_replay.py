"""States and events of recorded histories: the same whenever and however often they are read."""

import asyncio
import logging
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from orchestrator.client.history_replay import Replays, task_ends
from orchestrator.client.run_events import PlacedEvent, RunEvents
from orchestrator.core.errors import EventsUnreadable
from orchestrator.messages import names
from orchestrator.messages.events import Cursor, HistoryPlace, read_cursor
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MissionStatus
from tests.unit.client.stand_ins import HISTORIES, LEG, STAND_INS, history

CLIENT = cast("Client", SimpleNamespace(data_converter=pydantic_data_converter))
NAMES = sorted(path.stem for path in HISTORIES.glob("*.json"))
ENDED = [name for name in NAMES if name not in ("mission-waiting", "mission-amended")]


def replays(*workflows: type) -> Replays:
    return Replays(CLIENT, lambda: workflows or STAND_INS)


def read(name: str) -> list[HistoryEvent]:
    return list(history(name).events)


def making(events: list[HistoryEvent], after: HistoryPlace | None = None) -> RunEvents:
    """The events of a run, after a place of it."""
    started = events[0].workflow_execution_started_event_attributes
    place = after or HistoryPlace("run", 0, 0)
    return RunEvents(replays(), started.workflow_id, started.workflow_type.name, place)


def said(told: list[PlacedEvent]) -> list[dict[str, Any]]:
    """What events say, wherever they stand."""
    return [one.event.model_dump(exclude={"at"}) for one in told]


def test_a_cursor_is_read_as_it_was_written() -> None:
    """Ids with anything in them, and moments to the microsecond."""
    places = {"m.leg 1 ä": HistoryPlace("run", 12, 3), "m": HistoryPlace("", 0, 0)}
    cursor = Cursor(places, since=datetime(2026, 11, 23, 10, 4, 11, 210_001, tzinfo=UTC))

    assert read_cursor(str(cursor)) == cursor
    assert str(cursor).replace("-", "").replace("_", "").isalnum()


async def test_the_last_state_is_that_of_before_the_run_is_let_go_of() -> None:
    """A replay ends with the cancellation of the run, which is no change of its mission.

    A run that nobody has begun with has no completed task, and so no state.
    """
    waiting = read("mission-waiting")
    result = await replays().last_state("trip", waiting, lambda one: one.result())
    waits = await replays().last_state("trip", read("mission-amended"), lambda one: one.waits())

    assert result is not None
    assert result.status is MissionStatus.RUNNING
    assert [leg.status for leg in result.legs] == [LegStatus.AWAITING_CONFIRMATION]
    assert waits is not None
    assert [card.digest for card in waits.cards] == ["f" * 64]
    assert await replays().last_state("trip", waiting[:2], lambda one: one.result()) is None
    # A class of a later release, for instance, does not run here.
    with pytest.raises(EventsUnreadable):
        await replays(STAND_INS[1]).last_state("trip", waiting, lambda one: one.result())


async def test_readers_of_one_state_share_one_read() -> None:
    """Also those who come later, and when the first of them leaves; failed reads are repeated."""
    reads: list[str] = []
    answers = asyncio.Event()

    async def state() -> str:
        reads.append("read")
        await answers.wait()
        if len(reads) == 1:
            raise EventsUnreadable("trip", "not now")
        return "state"

    several = replays()
    first = asyncio.ensure_future(several.once("key", state))
    leaves = asyncio.ensure_future(several.once("key", state))
    await asyncio.sleep(0)
    leaves.cancel()
    answers.set()
    with pytest.raises(EventsUnreadable):
        await first

    assert await several.once("key", state) == await several.once("key", state) == "state"
    assert await several.once("another", state) == "state"
    assert reads == ["read"] * 3


async def test_a_mission_tells_its_own_events_and_those_of_its_leg() -> None:
    """The card that an amendment leads to is another one; the end of all comes last."""
    events = read("mission-succeeded")
    told = await making(events).of(events)

    kinds = "mission plan mission leg leg card decision card card decision card leg call call leg"
    of_mission = ("mission", "plan")
    assert [(one.event.kind, one.event.leg_id) for one in told] == [
        (kind, "" if kind in of_mission else LEG) for kind in f"{kinds} mission".split()
    ]
    cards = [one.event.model_dump()["state"] for one in told if one.event.kind == "card"]
    assert cards == ["opened", "amended", "opened", "approved"]


@pytest.mark.parametrize("name", NAMES)
async def test_who_follows_task_by_task_is_told_what_who_comes_late_is(name: str) -> None:
    """And who goes on with the place of any event is told exactly the rest."""
    events = read(name)
    whole = await making(events).of(events)
    live, followed = making(events), list[PlacedEvent]()
    for end in [*task_ends(events).values(), len(events)]:
        followed += await live.of(events[:end])

    assert said(followed) == said(whole)
    for place, one in enumerate(followed, 1):
        rest = await making(events, one.place).of(events)
        assert said(rest) == said(followed[place:])


@pytest.mark.parametrize("is_kept", [True, False])
async def test_a_continued_run_tells_only_what_is_new(is_kept: bool) -> None:
    """The run before it has told that the card is open, whether it is kept or not."""
    before, after = read("mission-continued"), read("mission-continuation")

    async def kept(_: str) -> list[HistoryEvent]:
        return before if is_kept else []

    making_after = RunEvents(
        replays(), "trip", names.MISSION_WORKFLOW, HistoryPlace("run", 0, 0), history=kept
    )
    first, second = await making(before).of(before), await making_after.of(after)

    assert [one.event.kind for one in first][-1] == "card"
    assert [one.event.kind for one in second][:2] == ["decision", "card"]
    assert second[-1].event.model_dump()["status"] == "succeeded"


async def test_what_was_stopped_from_outside_is_over_all_the_same() -> None:
    """It could not say so itself: its card is withdrawn, its leg and it are terminated."""
    events = read("mission-terminated")
    told = await making(events).of(events)

    assert [one.event.kind for one in told][-3:] == ["card", "leg", "mission"]
    assert told[-3].event.model_dump()["state"] == "withdrawn"
    assert told[-1].event.model_dump()["status"] == "terminated"


async def test_a_history_of_other_code_is_refused_with_a_sentence(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It names the workflow, and who can read it; the SDK logs nothing of it."""
    events = read("mission-succeeded")
    for event in events:
        if event.HasField("activity_task_scheduled_event_attributes"):
            event.activity_task_scheduled_event_attributes.activity_type.name = "rob"

    with caplog.at_level(logging.DEBUG), pytest.raises(EventsUnreadable, match="its workers run"):
        await making(events).of(events)
    assert [one for one in caplog.records if one.levelno >= logging.WARNING] == []


async def test_the_reports_of_a_rollback_are_its_states() -> None:
    """From its beginning, with what it found, to the end."""
    states = await replays().states("trip.rollback", read("rollback"), lambda one: one.report())

    assert [one.state.settled for one in states] == [False, True]
    assert names.mission_of("trip.rollback") == states[-1].state.mission_id
