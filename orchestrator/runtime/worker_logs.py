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
from collections.abc import Mapping
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
    from temporalio import activity, workflow

    # They have their own fields here.
    activity.logger.activity_info_on_message = False
    workflow.logger.workflow_info_on_message = False


class JsonLines(logging.Formatter):
    """A JSON object per record, in one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object; characters beyond ASCII are escaped."""
        context = trace.get_current_span().get_span_context()
        traced = {}
        if context.is_valid:
            traced["trace_id"] = f"{context.trace_id:032x}"
            traced["span_id"] = f"{context.span_id:016x}"
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_ids(record),
            **traced,
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
    # Of the log fields of the SDK's core only the ids: other fields quote sent data.
    of_core = getattr(getattr(record, "temporal_log", None), "fields", None) or {}
    running: Mapping[str, Any] = found or {
        name: of_core[name] for name in ("workflow_id", "run_id") if name in of_core
    }
    if not running:
        from temporalio import activity

        info = activity.info() if activity.in_activity() else None
        names_of = ("workflow_id", "workflow_type", "activity_type")
        running = {name: getattr(info, name) for name in names_of} if info is not None else {}
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


def _error(record: logging.LogRecord, error: BaseException) -> str:
    """Return the types of an exception and its causes, and where the innermost was raised."""
    is_of_a_mission = bool(_ids(record))
    causes: list[BaseException] = []
    words: list[str] = []
    found: BaseException | None = error
    while found is not None and not any(found is one for one in causes):
        causes.append(found)
        carried = found.type if isinstance(found, ApplicationError) else None
        kind = carried or type(found).__name__
        says = isinstance(found, OrchestratorError) and not is_of_a_mission
        words.append(f"{kind}: {found}" if says else kind)
        found = found.__cause__
    frames = traceback.extract_tb(causes[-1].__traceback__)[-_FRAMES:]
    places = ", ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames)
    return " < ".join(dict.fromkeys(words)) + (f" ({places})" if places else "")
