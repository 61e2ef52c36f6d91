"""Conditions over an answer, for providers whose status does not say what it came to.

    condition = reading | "!" reading | reading ("==" | "!=") literal
    reading   = "$statusCode" | "$response.body#/pointer" | "$response.header.Name"
    literal   = a JSON string, number, true or false; a string may stand in single quotes

A reading alone says that it is there and not null, with `!` that it is not.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from pydantic import JsonValue

from orchestrator.catalog.expressions import Expression, parse_expression
from orchestrator.json_schema.references import follow

STATUS = "$statusCode"
Operator = Literal["present", "absent", "==", "!="]

_READING = (
    r"\$response\.(?:body(?:#(?:/[^\u0000-\u0020=!\u007f]*)?)?|header\.[#$%&'*+.^_`|~0-9A-Za-z-]+)"
)
_LITERAL = (
    r'"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
    r"|'[^'\\\u0000-\u001f]*'|-?(?:0|[1-9][0-9]{0,29})(?:\.[0-9]{1,30})?|true|false"
)
_PRESENCE = re.compile(rf" *(?P<not>! *)?(?P<reading>{_READING}) *")
_COMPARISON = re.compile(
    rf" *(?P<reading>\$statusCode|{_READING}) *(?P<op>[=!]=) *(?P<literal>{_LITERAL}) *"
)
"""The published schema of the extensions has the same patterns."""
_EXAMPLE = '$response.body#/status == "ok"'


@dataclass(frozen=True)
class Condition:
    """One condition, read."""

    text: str
    reading: Expression | None
    """Of the answer's body or headers; None: its status."""
    operator: Operator
    literal: str | int | float | bool | None = None

    def holds(
        self, *, status: int | None, headers: Mapping[str, str], body: JsonValue
    ) -> bool | None:
        """Whether an answer meets it; None when the answer lacks what is compared.

        Args:
            status: of HTTP.
            headers: names in any case.
            body: parsed; None when there is none.
        """
        value = status if self.reading is None else _read(self.reading, headers, body)
        if self.operator in ("present", "absent"):
            return (value is not None) is (self.operator == "present")
        if value is None:
            return None
        return _is_equal(value, self.literal) is (self.operator == "==")


def parse_condition(text: str) -> Condition:
    """Read one condition.

    Raises:
        ValueError: the text is none.
    """
    if match := _COMPARISON.fullmatch(text):
        status = match["reading"] == STATUS
        reading = None if status else parse_expression(match["reading"])
        return Condition(text, reading, cast("Operator", match["op"]), _literal(match["literal"]))
    if match := _PRESENCE.fullmatch(text):
        operator: Operator = "absent" if match["not"] else "present"
        return Condition(text, parse_expression(match["reading"]), operator)
    raise ValueError(f"{text!r} is no condition over an answer; write for example {_EXAMPLE}")


def all_hold(
    conditions: Sequence[Condition],
    *,
    status: int | None,
    headers: Mapping[str, str],
    body: JsonValue,
) -> tuple[bool | None, str]:
    """Whether an answer meets all; if not, or if it cannot be told, the first that is at fault."""
    found = [(c, c.holds(status=status, headers=headers, body=body)) for c in conditions]
    for verdict in (False, None):
        at_fault = next((c.text for c, held in found if held is verdict), None)
        if at_fault is not None:
            return verdict, at_fault
    return True, ""


def parse_conditions(texts: Iterable[str]) -> tuple[Condition, ...]:
    """Read several, all of which are to hold.

    Raises:
        ValueError: one of them is none.
    """
    return tuple(parse_condition(text) for text in texts)


def _literal(written: str) -> str | int | float | bool:
    if written.startswith("'"):
        return written[1:-1]
    value: str | int | float | bool = json.loads(written)
    return value


def _read(reading: Expression, headers: Mapping[str, str], body: JsonValue) -> JsonValue:
    if reading.source == "header":
        wanted = reading.path[0].lower()
        return next((value for name, value in headers.items() if name.lower() == wanted), None)
    try:
        return follow(body, reading.path)
    except LookupError:
        return None


def _is_equal(value: JsonValue, literal: str | int | float | bool | None) -> bool:
    # JSON tells true from 1, Python does not.
    return isinstance(value, bool) is isinstance(literal, bool) and value == literal
