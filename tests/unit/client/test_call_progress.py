"""Progress of calls: the attempts that the server reports, named by the run's history."""

from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.client import WorkflowExecutionStatus
from temporalio.contrib.pydantic import pydantic_data_converter

from orchestrator.adapters.temporal.search_attributes import STATUS
from orchestrator.client.call_progress import call_progress
from orchestrator.client.connection import Connection
from orchestrator.client.history_replay import Replays
from orchestrator.client.run_histories import RunHistories
from orchestrator.core.budget import Usage
from orchestrator.messages.failure_details import UsageSoFar
from tests.unit.client.test_mission_state import Pages

NOW = datetime.now(UTC).replace(microsecond=0)
CONVERTER = pydantic_data_converter


def pending(activity_id: str, *, attempt: int = 1, age_s: float = -3600, **more: Any) -> Any:
    one = PendingActivityInfo(activity_id=activity_id, attempt=attempt, **more)
    one.activity_type.name = "invoke_tool"
    one.scheduled_time.FromDatetime(NOW - timedelta(seconds=age_s))
    return one


def scheduled(activity_id: str, summary: str) -> HistoryEvent:
    event = HistoryEvent(event_id=int(activity_id))
    event.activity_task_scheduled_event_attributes.activity_id = activity_id
    (payload,) = CONVERTER.payload_converter.to_payloads([summary])
    event.user_metadata.summary.CopyFrom(payload)
    return event


def run(workflow_id: str, activities: list[Any], status: str = "running") -> Any:
    return SimpleNamespace(
        id=workflow_id,
        run_id=workflow_id,
        history_length=2,
        status=WorkflowExecutionStatus.RUNNING,
        typed_search_attributes={STATUS: status},
        raw_description=SimpleNamespace(pending_activities=activities),
    )


def connection(events: list[HistoryEvent], rollback: Any = None) -> Connection:
    async def describe() -> Any:
        return rollback

    def handle(workflow_id: str, **_: object) -> Any:
        return SimpleNamespace(
            describe=describe, fetch_history_events=lambda **_: Pages(events, 1000)
        )

    temporal = SimpleNamespace(get_workflow_handle=handle, data_converter=CONVERTER)
    made = SimpleNamespace(
        temporal=temporal,
        explaining=lambda *_: nullcontext(),
        replays=Replays(cast("Any", temporal)),
        histories=RunHistories(cast("Any", temporal)),
    )
    return cast("Connection", made)


async def test_attempts_of_long_calls_are_its_progress() -> None:
    """By the names of their tools; of a failure its name, never its text; not of quick calls."""
    waits = pending("1", attempt=2, maximum_attempts=5)
    waits.next_attempt_schedule_time.FromDatetime(NOW + timedelta(seconds=30))
    waits.last_failure.message = "planted text of a provider"
    waits.last_failure.application_failure_info.type = "CallUnclear"
    events = [scheduled("1", "flight_book_offer"), scheduled("2", "weather_daily")]
    mission = run("trip", [waits, pending("2", age_s=3600), pending("3")])
    found = await call_progress(connection(events), mission)

    assert [one.what for one in found] == ["flight_book_offer", "weather_daily"]
    assert found[0].sentence == "flight_book_offer: attempt 2 of 5 after CallUnclear"
    assert found[0].next_at == NOW + timedelta(seconds=30)
    assert found[1].next_at is None
    assert "planted" not in str(found)


async def test_the_text_of_a_model_is_shown_while_its_attempt_receives_it() -> None:
    """It comes with the heartbeats of the activity; what an earlier attempt sent is gone."""
    beat = UsageSoFar(usage_so_far=Usage(requests=1), text="I will look", attempt=1)
    asks, again = pending("1", age_s=3600), pending("2", attempt=2)
    for one in (asks, again):
        one.heartbeat_details.payloads.extend(CONVERTER.payload_converter.to_payloads([beat]))
    events = [scheduled("1", "think"), scheduled("2", "think")]
    found = await call_progress(connection(events), run("trip", [asks, again]))

    assert [one.text for one in found] == ["I will look", ""]


async def test_a_mission_without_long_calls_reads_no_history() -> None:
    """What is open on a page all day costs a description a second."""
    quick = connection([])
    cast("Any", quick.replays).once = None

    assert await call_progress(quick, run("trip", [pending("1")])) == ()


async def test_a_mission_that_is_cancelled_shows_its_cancels() -> None:
    """They are calls of its rollback, which is a workflow of its own."""
    rollback = run("trip.rollback", [pending("7", attempt=3)])
    asked = connection([scheduled("7", "cancel flight_book_offer")], rollback)
    found = await call_progress(asked, run("trip", [], status="rolling_back"))

    assert [one.sentence for one in found] == ["cancel flight_book_offer: attempt 3"]
