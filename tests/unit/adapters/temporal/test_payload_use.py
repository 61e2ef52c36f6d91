import pytest
from temporalio.api.history.v1 import HistoryEvent

from orchestrator.adapters.temporal.payload_use import payloads_in

pytestmark = pytest.mark.unit


def found(event: HistoryEvent) -> list[bytes]:
    return sorted(payload.data for payload in payloads_in(event))


def test_payloads_are_found_wherever_they_stand() -> None:
    event = HistoryEvent()
    started = event.workflow_execution_started_event_attributes
    for data in (b"input", b"another"):
        started.input.payloads.add().data = data
    started.memo.fields["goal"].data = b"memo"
    started.continued_failure.cause.encoded_attributes.data = b"words"
    event.user_metadata.summary.data = b"summary"
    started.search_attributes.indexed_fields["OrchetStatus"].data = b"not this"
    started.header.fields["_tracer-data"].data = b"nor this"
    assert found(event) == [b"another", b"input", b"memo", b"summary", b"words"]


def test_the_notes_of_the_sdk_are_passed_over() -> None:
    event = HistoryEvent()
    marker = event.marker_recorded_event_attributes
    marker.details["result"].payloads.add().data = b"result"
    marker.details["data"].payloads.add().data = b"a note"
    marker.failure.application_failure_info.details.payloads.add().data = b"details"
    assert found(event) == [b"details", b"result"]
