"""Lines of a worker's log: ids and figures, and of errors their kinds."""

import json
import logging
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from opentelemetry.sdk.trace import TracerProvider
from temporalio.exceptions import ApplicationError

from orchestrator.core.errors import UsageError
from orchestrator.runtime.worker_logs import JsonLines, TextLines

_MISSION = {"workflow_id": "m-1", "workflow_type": "MissionWorkflow", "run_id": "r"}
Record = Callable[..., logging.LogRecord]


@pytest.fixture
def record() -> Record:
    def make(
        message: str, *words: object, error: BaseException | None = None, **extra: object
    ) -> logging.LogRecord:
        info = None if error is None else (type(error), error, error.__traceback__)
        made = logging.LogRecord(
            "orchestrator.missions", logging.INFO, __file__, 1, message, words, info
        )
        made.__dict__ |= extra
        return made

    return make


def test_json_holds_the_ids_of_mission_leg_and_trace(record: Record) -> None:
    line = record(
        "step %d",
        2,
        temporal_workflow=_MISSION,
        figures={"leg_id": "flights", "tool": "flight_book", "step": 2},
    )
    with TracerProvider().get_tracer("t").start_as_current_span("s") as span:
        told = json.loads(JsonLines().format(line))

    context = span.get_span_context()
    assert (
        told.items()
        >= {
            "level": "INFO",
            "message": "step 2",
            "mission_id": "m-1",
            "leg_id": "flights",
            "workflow_id": "m-1",
            "trace_id": f"{context.trace_id:032x}",
            "span_id": f"{context.span_id:016x}",
            "tool": "flight_book",
            "step": 2,
        }.items()
    )


def test_text_is_one_line_that_cannot_speak_to_a_terminal(record: Record) -> None:
    """What is wrong with the worker itself is told in our words."""
    fault = TextLines().format(record("stopped", error=UsageError("the store is away")))
    assert "UsageError: the store is away" in fault
    line = TextLines().format(record("was \x1b[2J sent\nback", temporal_workflow=_MISSION))

    assert line[9:].startswith("m-1: was ")
    assert "\x1b" not in line
    assert "\n" not in line


def _raised(outer: BaseException, cause: BaseException) -> BaseException:
    try:
        try:
            raise cause
        except type(cause) as first:
            raise outer from first
    except type(outer) as second:
        return second


@pytest.mark.parametrize("form", [JsonLines(), TextLines()])
def test_of_a_missions_errors_the_kinds_are_told_and_not_the_texts(
    record: Record, form: logging.Formatter
) -> None:
    error = _raised(ApplicationError("Ada is unknown", type="PlanInvalid"), ValueError("Ada"))
    line = form.format(record("failed", error=error, temporal_activity=_MISSION))

    assert "PlanInvalid < ValueError (" in line
    assert "test_worker_logs.py:" in line
    assert "Ada" not in line


def test_what_the_sdk_logs_is_told_with_its_ids_and_without_its_other_fields(
    record: Record,
) -> None:
    fields = {"run_id": "r-1", "failure": "Failure { message: 'Ada is unknown' }"}
    line = JsonLines().format(record("Failing", temporal_log=SimpleNamespace(fields=fields)))

    assert json.loads(line)["run_id"] == "r-1"
    assert "Ada" not in line
