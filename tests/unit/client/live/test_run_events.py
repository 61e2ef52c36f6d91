"""Events of recorded histories: of every release, and the same whenever they are read."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter

from orchestrator.client.live.history_replay import task_ends
from orchestrator.client.live.run_events import RunEvents, ToldEvent
from orchestrator.core.errors import EventsUnreadable
from orchestrator.messages import names
from orchestrator.messages.event_cursor import Cursor, HistoryPlace, read_cursor

HISTORIES = Path(__file__).parents[3] / "replay" / "histories"
WATCHED = (names.MISSION_WORKFLOW, names.LEG_WORKFLOW, names.ROLLBACK_WORKFLOW)
CLIENT = cast("Client", SimpleNamespace(data_converter=pydantic_data_converter))


def read(name: str) -> list[HistoryEvent]:
    """A recorded history."""
    text = (HISTORIES / f"{name}.json").read_text(encoding="utf-8")
    return list(WorkflowHistory.from_json("", text).events)


def kind_of(events: list[HistoryEvent]) -> str:
    return events[0].workflow_execution_started_event_attributes.workflow_type.name


def making(events: list[HistoryEvent], after: HistoryPlace | None = None) -> RunEvents:
    """The events of a run, after a place of it."""
    started = events[0].workflow_execution_started_event_attributes
    place = after or HistoryPlace("run", 0, 0)
    return RunEvents(CLIENT, started.workflow_id, kind_of(events), place)


def said(told: list[ToldEvent]) -> list[dict[str, Any]]:
    """What events say, wherever they stand."""
    return [one.event.model_dump(exclude={"at"}) for one in told]


NAMES = sorted(
    path.stem
    for path in HISTORIES.glob("*.json")
    if path.stem.partition("-")[0] in ("leg", "mission", "rollback")
)


@pytest.mark.parametrize("name", NAMES)
async def test_histories_of_every_release_have_events(name: str) -> None:
    """A reader is upgraded before the workers, and what they wrote before stays readable."""
    events = read(name)
    told = await making(events).of(events)

    assert kind_of(events) in WATCHED
    assert told[0].event.kind in ("mission", "leg", "rollback")
    assert {one.event.kind for one in told} > {told[0].event.kind} or len(told) > 1


@pytest.mark.parametrize("name", ["leg-amended", "rollback-parked-and-resolved"])
async def test_who_follows_task_by_task_is_told_what_who_comes_late_is(name: str) -> None:
    """And who goes on with the place of any event is told exactly the rest."""
    events = read(name)
    whole = await making(events).of(events)
    live, followed = making(events), list[ToldEvent]()
    for end in [*task_ends(events).values(), len(events)]:
        followed += await live.of(events[:end])

    assert said(followed) == said(whole)
    for place, one in enumerate(followed, 1):
        rest = await making(events, one.place).of(events)
        assert said(rest) == said(followed[place:])


async def test_an_update_that_came_during_a_task_is_told_after_what_that_task_did() -> None:
    """The core replays it together with that task, which did not know of it."""
    events = read("leg-amended")
    accepted = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED
    first = next(one for one in events if one.event_type == accepted)
    before = max(task for task in task_ends(events) if task < first.event_id - 2)
    attributes = first.workflow_execution_update_accepted_event_attributes
    attributes.accepted_request_sequencing_event_id = before - 1

    told = await making(events).of(events)

    cards = [one.event.model_dump()["state"] for one in told if one.event.kind == "card"]
    assert cards == ["opened", "amended", "opened", "approved"]


async def test_a_history_of_other_code_is_refused_with_a_sentence() -> None:
    """It names the workflow, and who can read it."""
    events = read("must_fail/mission-with-a-wrong-activity")

    with pytest.raises(EventsUnreadable, match="with the release that its workers run"):
        await making(events).of(events)


def test_a_cursor_is_read_as_it_was_written() -> None:
    """Ids with anything in them, and moments to the microsecond."""
    cursor = Cursor(
        {"m.leg 1 ä": HistoryPlace("run", 12, 3), "m": HistoryPlace("", 0, 0)},
        since=datetime(2026, 11, 23, 10, 4, 11, 210_001, tzinfo=UTC),
    )

    assert read_cursor(str(cursor)) == cursor
    assert str(cursor).replace("-", "").replace("_", "").isalnum()
