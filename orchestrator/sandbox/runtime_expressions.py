"""Reads the runtime expressions by which a cancel or a probe is filled, apart from the product."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_EXPRESSION = re.compile(
    r"\$(?P<message>request|response)\."
    r"(?:(?P<source>header|path|query)\.(?P<name>.+)|body(?:#/(?P<pointer>.+))?)"
)
_KEY_HEADERS = ("idempotency-key", "x-idempotency-key")


def unescaped(step: str) -> str:
    """The name that a step of a JSON pointer stands for."""
    return step.replace("~1", "/").replace("~0", "~")


def sole(value: Any) -> Any:
    """The one element of a list that has one; else the value itself."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


class RuntimeExpression(NamedTuple):
    """Where a value comes from: `$request.body#/a/b` is ("request", "body", ("a", "b"))."""

    message: str
    source: str
    path: tuple[str, ...]

    @property
    def is_key(self) -> bool:
        """Whether it reads the idempotency key."""
        return self.source == "header" and is_key(self.path[0])

    def of(self, values: Mapping[str, Any]) -> Any:
        """What stands there in the arguments of a request; None when nothing does."""
        found: Any = values
        for step in self.path:
            found = found.get(step) if isinstance(found, Mapping) else None
        return found


def is_key(header: str) -> bool:
    """Whether a header of this name holds an idempotency key."""
    return header.lower() in _KEY_HEADERS


def read_expression(value: Any) -> RuntimeExpression | None:
    """One whole expression; None for a constant, or for text with expressions inside.

    It may be the one element of a list: a cancel of many things can be told of one.
    """
    value = sole(value)
    found = _EXPRESSION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    if found["source"]:
        return RuntimeExpression(found["message"], found["source"], (found["name"],))
    steps = (found["pointer"] or "").split("/") if found["pointer"] else []
    return RuntimeExpression(found["message"], "body", tuple(map(unescaped, steps)))
