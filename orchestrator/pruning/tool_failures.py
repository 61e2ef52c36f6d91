"""Whether what a tool answered is a failure, where its API has no field that says so."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

_BEGINS: Final = re.compile(r"\s*(?:error|exception|traceback)\b", re.IGNORECASE)
_FIELDS: Final = ("error", "errors", "isError", "is_error")
_MOST_READ: Final = 4_000


def failure_in(answer: str) -> str | None:
    """The failure that an answer tells of; None if it tells of none."""
    if _BEGINS.match(answer):
        return answer[:_MOST_READ]
    found = _object(answer)
    if found.get("ok") is False or any(found.get(field) for field in _FIELDS):
        return answer[:_MOST_READ]
    return None


def _object(answer: str) -> Mapping[str, Any]:
    if not answer.lstrip().startswith("{"):
        return {}
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
