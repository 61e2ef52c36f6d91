"""The log of a worker: a line for each step of its missions, as text or as JSON.

Each line holds the ids of its mission, its leg and its trace. Messages of exceptions in activities
and workflows are left out, as they may quote sent data; the history has them, for those who may
read it.
"""

import json
import logging
import sys
import time
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final, Literal

from opentelemetry import trace
from temporalio.exceptions import ApplicationError

from orchestrator.core.errors import OrchestratorError
from orchestrator.core.shown_text import visible
from orchestrator.messages import names

_OURS: Final = ("orchestrator", "activities", "workflows")
_FRAMES: Final = 3
"""Number of innermost frames of an exception that are logged."""


def log_lines(form: Literal["text", "json"], level: str) -> None:
    """Log our records from a level up, and other libraries' warnings, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in _OURS:
        logging.getLogger(name).setLevel(level)
    _without_appended_ids()


def _without_appended_ids() -> None:
    """Stop Temporal's SDK from appending ids to messages, as they have their own fields here."""
    from temporalio import activity, workflow

    activity.logger.activity_info_on_message = False
    workflow.logger.workflow_info_on_message = False


class JsonLines(logging.Formatter):
    """A JSON object per record, in one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object; characters beyond ASCII are escaped."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_ids(record),
            **_trace(),
            **getattr(record, "figures", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            fields["error"] = _error(record, record.exc_info[1])
        return json.dumps(fields, default=str)


class TextLines(logging.Formatter):
    """A line per record, for people, without control characters for a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the time of day, the level unless it is usual, the owner, and the message."""
        level = "" if record.levelno == logging.INFO else f"{record.levelname} "
        about = _ids(record).get("workflow_id", "")
        line = f"{level}{about}{': ' if about else ''}{record.getMessage()}"
        if record.exc_info and record.exc_info[1] is not None:
            line += f": {_error(record, record.exc_info[1])}"
        return f"{time.strftime('%H:%M:%S', time.localtime(record.created))} {visible(line)}"


def _ids(record: logging.LogRecord) -> dict[str, str]:
    """Return the ids of the mission and workflow of a record, or of the activity that logged it."""
    found = getattr(record, "temporal_workflow", None) or getattr(record, "temporal_activity", None)
    running = found or _of_core(record) or _activity()
    ids = {}
    workflow_id = str(running.get("workflow_id") or "")
    if running.get("workflow_type") in names.OF_MISSIONS:
        mission_id = names.mission_of(workflow_id)
        ids = {"mission_id": mission_id, "workflow_id": workflow_id}
    elif workflow_id:
        ids = {"workflow_id": workflow_id}
    if "run_id" in running and not ids:
        ids = {"run_id": str(running["run_id"])}
    if "activity_type" in running:
        ids["activity"] = str(running["activity_type"])
    return ids


def _of_core(record: logging.LogRecord) -> dict[str, Any]:
    """Return the ids among the log fields of the SDK's core; other fields quote sent data."""
    fields = getattr(getattr(record, "temporal_log", None), "fields", None) or {}
    return {name: fields[name] for name in ("workflow_id", "run_id") if name in fields}


def _activity() -> dict[str, Any]:
    from temporalio import activity

    if not activity.in_activity():
        return {}
    info = activity.info()
    return {
        "workflow_id": info.workflow_id,
        "workflow_type": info.workflow_type,
        "activity_type": info.activity_type,
    }


def _trace() -> dict[str, str]:
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}


def _error(record: logging.LogRecord, error: BaseException) -> str:
    """Return the types of an exception and its causes, and where the innermost was raised."""
    is_of_a_mission = bool(_ids(record))
    causes = list(_causes(error))
    words = [_kind(cause, with_text=not is_of_a_mission) for cause in causes]
    frames = traceback.extract_tb(causes[-1].__traceback__)[-_FRAMES:]
    places = ", ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames)
    return " < ".join(dict.fromkeys(words)) + (f" ({places})" if places else "")


def _causes(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    seen: set[int] = set()
    while found is not None and id(found) not in seen:
        yield found
        seen.add(id(found))
        found = found.__cause__


def _kind(error: BaseException, *, with_text: bool) -> str:
    carried = error.type if isinstance(error, ApplicationError) else None
    kind = carried or type(error).__name__
    return f"{kind}: {error}" if with_text and isinstance(error, OrchestratorError) else kind
