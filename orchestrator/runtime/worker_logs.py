"""What a worker says while it runs: a line for each step of its missions, as text or as JSON.

Each line holds the ids of its mission, its leg and its trace. What an exception of an activity or a
workflow says stays out, for it may quote what was sent: it stands in the history, for those who may
read that.
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
"""How many of the innermost places of an exception are told."""


def log_lines(form: Literal["text", "json"], level: str) -> None:
    """Log to standard error from now on: ours from a level up, what other libraries warn of."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in _OURS:
        logging.getLogger(name).setLevel(level)
    _without_appended_ids()


def _without_appended_ids() -> None:
    """Temporal's SDK appends what is in fields of their own here to its messages."""
    from temporalio import activity, workflow

    activity.logger.activity_info_on_message = False
    workflow.logger.workflow_info_on_message = False


class JsonLines(logging.Formatter):
    """A JSON object per record, in one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The object; characters beyond ASCII are escaped."""
        told: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_ids(record),
            **_trace(),
            **getattr(record, "told", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            told["error"] = _error(record, record.exc_info[1])
        return json.dumps(told, default=str)


class TextLines(logging.Formatter):
    """A line per record, for people; nothing in it can speak to a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """The time of day, the level where it is no news, whose it is, and what there is to say."""
        level = "" if record.levelno == logging.INFO else f"{record.levelname} "
        about = _ids(record).get("workflow_id", "")
        line = f"{level}{about}{': ' if about else ''}{record.getMessage()}"
        if record.exc_info and record.exc_info[1] is not None:
            line += f": {_error(record, record.exc_info[1])}"
        return f"{time.strftime('%H:%M:%S', time.localtime(record.created))} {visible(line)}"


def _ids(record: logging.LogRecord) -> dict[str, str]:
    """Whose it is, as far as a record, or the activity that made it, tells."""
    found = getattr(record, "temporal_workflow", None) or getattr(record, "temporal_activity", None)
    running = found or _of_core(record) or _activity()
    ids = {}
    workflow_id = str(running.get("workflow_id") or "")
    if running.get("workflow_type") in names.OF_MISSIONS:
        mission_id = names.mission_of(workflow_id)
        ids = {"mission_id": mission_id, "workflow_id": workflow_id}
        leg_id = workflow_id.removeprefix(mission_id).removeprefix(".")
        if running["workflow_type"] == names.LEG_WORKFLOW:
            ids["leg_id"] = leg_id
    elif workflow_id:
        ids = {"workflow_id": workflow_id}
    if "run_id" in running and not ids:
        ids = {"run_id": str(running["run_id"])}
    if "activity_type" in running:
        ids["activity"] = str(running["activity_type"])
    return ids


def _of_core(record: logging.LogRecord) -> dict[str, Any]:
    """The ids among the fields of what the SDK's core logs; the others say what was sent."""
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
    """The ids of the running span."""
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}


def _error(record: logging.LogRecord, error: BaseException) -> str:
    """The kinds of an exception and of its causes, and where the innermost was raised."""
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
