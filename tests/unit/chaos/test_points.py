"""Which points there are, and what each of them does to a mission."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from orchestrator.chaos.histories import (
    Showing,
    kill_points,
    prompts_during_rollback,
    rollback_seconds,
    showings,
)
from orchestrator.chaos.scenarios.points import (
    KILL_POINTS,
    Point,
    SeenRequest,
    Shape,
    fault_points,
    rolled_back_shape,
)

HISTORIES = Path(__file__).parents[2] / "replay" / "histories"
SUCCEEDS = Shape(name="succeeds", goal="buy a book")
NOW = datetime(2026, 11, 22, tzinfo=UTC)


def history(name: str) -> WorkflowHistory:
    (found,) = HISTORIES.glob(f"{name}.json")
    return WorkflowHistory.from_json("m", found.read_text())


def requests(*operations: str) -> list[SeenRequest]:
    return [SeenRequest(operation=name, request_id=f"m.1.{n}") for n, name in enumerate(operations)]


def test_each_request_is_hit_by_each_fault() -> None:
    """The second request of an operation is hit after one has passed."""
    points = fault_points(SUCCEEDS, requests("search", "book", "search"))
    hit = [(p.fault.operation_id, p.fault.after) for p in points if p.fault is not None]
    kinds = {p.fault.kind for p in points if p.fault is not None}

    assert {target: hit.count(target) for target in hit} == {
        ("search", 0): len(points) // 3,
        ("book", 0): len(points) // 3,
        ("search", 1): len(points) // 3,
    }
    assert kinds == {
        "drop_before",
        "drop_after",
        "status_before",
        "status_after",
        "rate_limit",
        "duplicate",
        "latency",
    }
    assert len({point.name for point in points}) == len(points)


def test_cancels_are_refused_too() -> None:
    """What a rollback sends can be refused for good, and is."""
    cancel = SeenRequest(operation="cancel_order", request_id="m.1.2.cancel")
    kinds = [p.fault.kind for p in fault_points(SUCCEEDS, [cancel]) if p.fault is not None]

    assert "refuse_cancel" in kinds


def test_a_point_strikes_before_what_its_shape_does() -> None:
    """A lost booking is refused for good; the fault of the point comes first."""
    shape = rolled_back_shape("buy a book", "order_book")
    (point, *_) = fault_points(shape, requests("order_book"))
    script = point.script("point-3", 3)

    assert [rule.kind for rule in script.rules] == ["drop_before", "status_before"]
    assert {rule.request_prefix for rule in script.rules} == {"point-3."}
    assert (script.index, script.mission_id, script.goal) == (3, "point-3", "buy a book")


def test_each_task_and_each_activity_of_a_history_is_a_point() -> None:
    """A task once, an activity before and after; they survive the file that workers read."""
    recorded = history("mission-succeeded")
    points = kill_points(recorded, "")
    tasks = [e for e in recorded.events if e.HasField("workflow_task_started_event_attributes")]
    calls = [e for e in recorded.events if e.HasField("activity_task_scheduled_event_attributes")]
    calls += [
        e
        for e in recorded.events
        if e.marker_recorded_event_attributes.marker_name == "core_local_activity"
    ]
    by_mission = {f"point-{number}": point for number, point in enumerate(points)}
    read = KILL_POINTS.validate_json(KILL_POINTS.dump_json(by_mission))

    assert [p.at for p in points if p.when == "task"] == [str(e.event_id) for e in tasks]
    assert len([p for p in points if p.when == "before"]) == len(calls)
    assert len([p for p in points if p.when == "after"]) == len(calls)
    assert list(read.values()) == points
    assert "a worker dies at" in Point(shape=SUCCEEDS, kill=points[0]).name


def test_an_activity_in_a_task_is_a_point_as_well() -> None:
    """History has it as the SDK's marker, once it is over."""
    told = Payload(data=b'{"seq":2,"activity_id":"2","activity_type":"think","attempt":1}')
    event = HistoryEvent()
    marker = event.marker_recorded_event_attributes
    marker.marker_name = "core_local_activity"
    marker.details["data"].payloads.append(told)
    other = HistoryEvent()
    other.marker_recorded_event_attributes.marker_name = "core_patch"
    points = kill_points(WorkflowHistory("m.1-shop", [event, other]), ".1-shop")

    assert [(p.when, p.at, p.what) for p in points] == [
        ("before", "2", "think"),
        ("after", "2", "think"),
    ]


def test_a_history_tells_what_its_workflow_showed() -> None:
    shown = [showing.status for showing in showings(history("mission-succeeded"))]

    assert shown[:2] == ["planning", "running"]
    assert "awaiting_confirmation" in shown
    assert shown[-1] == "succeeded"


@pytest.mark.parametrize(("asked_s", "prompts"), [(-1.0, 0), (1.0, 1)])
def test_a_prompt_counts_once_the_rollback_has_begun(asked_s: float, prompts: int) -> None:
    """What was asked before is an ordinary card, of whatever part of the mission."""
    mission = [Showing(NOW - timedelta(seconds=9), "running"), Showing(NOW, "rolling_back")]
    leg = [Showing(NOW + timedelta(seconds=asked_s), "awaiting_confirmation")]

    assert prompts_during_rollback([mission, leg]) == prompts
    assert prompts_during_rollback([leg]) == 0


def test_a_rollback_lasts_until_everything_was_tried() -> None:
    """What is parked after that may stay so for days."""
    shown = [Showing(NOW, "collecting"), Showing(NOW + timedelta(seconds=3), "parked")]

    assert rollback_seconds(shown) == 3.0
    assert rollback_seconds(shown[:1]) is None
    assert rollback_seconds([]) is None
