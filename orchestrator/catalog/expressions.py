"""Runtime expressions over a call, and conditions over an answer: grammar and evaluation.

    condition = reading | "!" reading | reading ("==" | "!=") literal
    reading   = "$statusCode" | "$response.body#/pointer" | "$response.header.Name"
    literal   = a JSON string, number, true or false; a string may have single quotes

A reading alone is true if the value is present and not null; `!` negates it.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, cast

from pydantic import JsonValue

from orchestrator.json_schema.references import follow, parse_pointer

Message = Literal["request", "response"]
Source = Literal["body", "header", "path", "query"]

_EMBEDDED = re.compile(r"\{(\$[^{}]*)\}")
_SOURCE = re.compile(
    r"""\$(?P<message>request|response)\.
    (?: (?P<source>header|path|query)\.(?P<name>.+) | body(?:\#(?P<pointer>.*))? )""",
    re.VERBOSE | re.DOTALL,
)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
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
"""The published schema of the extensions repeats these patterns."""
_EXAMPLE = '$response.body#/status == "ok"'


@dataclass(frozen=True)
class Expression:
    """An expression: `$request.header.X` is Expression("request", "header", ("X",))."""

    message: Message
    source: Source
    path: tuple[str, ...]
    """Steps of the pointer into a body, or the name of a parameter or header."""


@dataclass(frozen=True)
class Filling:
    """The parts of one argument: constants and expressions in turn.

    A text that is one expression results in the value read, of any type; a text with expressions in
    braces results in a string; other values are constants, except a list of one expression, which
    results in a list of the value read.
    """

    parts: tuple[JsonValue | Expression, ...]
    is_listed: bool = False
    """True if the value is the only element of a list."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The expressions among the parts."""
        return tuple(part for part in self.parts if isinstance(part, Expression))


def parse_filling(value: JsonValue) -> Filling:
    """Read an argument: an expression, a constant, or a text with `{$...}` in it.

    Raises:
        ValueError: a malformed expression, or one inside a longer list or an object.
    """
    if (only := listed_expression(value)) is not None:
        return Filling((parse_expression(only),), is_listed=True)
    if not isinstance(value, str):
        if value is None:
            raise ValueError("null fills nothing: leave the input out")
        waiting: list[JsonValue] = [value]
        while waiting:
            part = waiting.pop()
            if isinstance(part, str) and part.startswith("$"):
                raise ValueError(f"{part!r} stands inside a constant, where no expression is read")
            if isinstance(part, dict | list):
                waiting.extend(part.values() if isinstance(part, dict) else part)
        return Filling((value,))
    if value.startswith("$"):
        return Filling((parse_expression(value),))
    pieces = _EMBEDDED.split(value)
    parts = [parse_expression(p) if i % 2 else p for i, p in enumerate(pieces) if i % 2 or p]
    return Filling(tuple(parts) or ("",))


def listed_expression(value: JsonValue) -> str | None:
    """Return the expression that is the only element of a list: `ids: [$response.body#/id]`."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return value[0] if value[0].startswith("$") else None
    return None


def value_read(template: JsonValue, filled: JsonValue) -> JsonValue:
    """Return the value read for an argument, without the list that its template may add."""
    is_listed = listed_expression(template) is not None
    return filled[0] if is_listed and isinstance(filled, list) and len(filled) == 1 else filled


@lru_cache(maxsize=4096)
def parse_expression(text: str) -> Expression:
    """Read one runtime expression.

    Raises:
        ValueError: the text is no expression, or one that a call cannot answer, such as $url.
    """
    match = _SOURCE.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{text!r} is no runtime expression; write for example $response.body#/booking_id"
        )
    message = cast("Message", match["message"])
    source = cast("Source", match["source"] or "body")
    if source == "body":
        return Expression(message, source, parse_pointer(match["pointer"] or ""))
    if source == "header" and not _HEADER_NAME.fullmatch(match["name"]):
        raise ValueError(f"{text!r} does not name a header")
    if source != "header" and message == "response":
        raise ValueError(f"{text!r}: an answer has a body and headers only")
    return Expression(message, source, (match["name"],))


@dataclass(frozen=True)
class Condition:
    """A parsed condition."""

    text: str
    reading: Expression | None
    """Expression over the answer's body or headers; None for its status."""
    operator: Operator
    literal: str | int | float | bool | None = None

    def holds(
        self, *, status: int | None, headers: Mapping[str, str], body: JsonValue
    ) -> bool | None:
        """Return True if an answer meets the condition; None if the compared value is missing.

        Args:
            status: the HTTP status.
            headers: names in any case.
            body: parsed; None if there is none.
        """
        value: JsonValue = status
        if self.reading is not None and self.reading.source == "header":
            wanted = self.reading.path[0].lower()
            value = next((v for name, v in headers.items() if name.lower() == wanted), None)
        elif self.reading is not None:
            value = follow_or_none(body, self.reading.path)
        if self.operator in ("present", "absent"):
            return (value is not None) is (self.operator == "present")
        if value is None:
            return None
        # JSON distinguishes true from 1, unlike Python.
        is_of_kind = isinstance(value, bool) is isinstance(self.literal, bool)
        return (is_of_kind and value == self.literal) is (self.operator == "==")


@lru_cache(maxsize=4096)
def parse_condition(text: str) -> Condition:
    """Read one condition.

    Raises:
        ValueError: the text is not a condition.
    """
    if match := _COMPARISON.fullmatch(text):
        status = match["reading"] == STATUS
        reading = None if status else parse_expression(match["reading"])
        written = match["literal"]
        literal = written[1:-1] if written.startswith("'") else json.loads(written)
        return Condition(text, reading, cast("Operator", match["op"]), literal)
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
    """Return the verdict on all conditions, and the first condition that is false or unknown."""
    found = [(c, c.holds(status=status, headers=headers, body=body)) for c in conditions]
    for verdict in (False, None):
        at_fault = next((c.text for c, held in found if held is verdict), None)
        if at_fault is not None:
            return verdict, at_fault
    return True, ""


def parse_conditions(texts: Iterable[str]) -> tuple[Condition, ...]:
    """Read several conditions.

    Raises:
        ValueError: one of them is not a condition.
    """
    return tuple(parse_condition(text) for text in texts)


def follow_or_none(value: JsonValue, path: Iterable[str]) -> JsonValue:
    """Return the value at a path, or None."""
    try:
        return follow(value, path)
    except LookupError:
        return None
