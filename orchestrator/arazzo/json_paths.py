"""JSONPath of RFC 9535, and replacements at places of a payload, in bounded time."""

import json
import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, cast

from jsonpath_rfc9535 import JSONPathEnvironment, JSONPathError
from jsonpath_rfc9535.function_extensions import ExpressionType, FilterFunction
from jsonpath_rfc9535.query import JSONPathQuery
from pydantic import JsonValue

from orchestrator.core.record import JsonObject
from orchestrator.json_schema.patterns import matches_pattern
from orchestrator.json_schema.references import follow, parse_pointer


class ValueMissing(ValueError):
    """An expression or a query has no value here; its text is a sentence."""


EMBEDDED: Final = re.compile(r"\{(\$[^{}]*)\}")
"""An expression in braces."""
_LONGEST_QUERY: Final = 1_000
_WORK: Final = 20_000_000
"""Nodes that a query may visit, by a bound that its text and the value give."""
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)


class _Matches(FilterFunction):
    """`match` and `search` by the matcher that takes bounded time."""

    arg_types = [ExpressionType.VALUE, ExpressionType.VALUE]  # noqa: RUF012  # as the library declares it
    return_type = ExpressionType.LOGICAL

    def __init__(self, whole: bool) -> None:
        self._whole = whole

    def __call__(self, string: object, pattern: object) -> bool:
        """Return True if the text matches; False for other values and undecided patterns."""
        if not isinstance(string, str) or not isinstance(pattern, str):
            return False
        try:
            return matches_pattern(f"^(?:{pattern})$" if self._whole else pattern, string)
        except ValueError:
            return False


class _Bounded(JSONPathEnvironment):
    def setup_function_extensions(self) -> None:
        super().setup_function_extensions()
        self.function_extensions["match"] = _Matches(whole=True)
        self.function_extensions["search"] = _Matches(whole=False)


_PATHS: Final = _Bounded()


@lru_cache(maxsize=1024)
def parse_json_path(query: str) -> JSONPathQuery:
    """Read a JSONPath of RFC 9535.

    Raises:
        ValueError: it is none, or is longer than is read.
    """
    if len(query) > _LONGEST_QUERY:
        raise ValueError(f"a JSONPath has more than {_LONGEST_QUERY:,} characters")
    try:
        return _PATHS.compile(query)
    except (JSONPathError, RecursionError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{query!r} is no JSONPath of RFC 9535: {reason}") from None


def is_singular(query: str) -> bool:
    """Return True if a JSONPath selects at most one node."""
    return parse_json_path(query).singular_query()


def query_json_path(query: str, value: JsonValue) -> list[JsonValue]:
    """Return the values that a JSONPath selects.

    Raises:
        ValueMissing: it cannot be evaluated in bounded time.
        ValueError: it is no JSONPath.
    """
    return [cast("JsonValue", node.value) for node in _nodes(query, value)]


def locate_json_path(query: str, value: JsonValue) -> list[tuple[int | str, ...]]:
    """Return the places that a JSONPath selects; raises as `query_json_path`."""
    return [tuple(node.location) for node in _nodes(query, value)]


def _nodes(query: str, value: JsonValue) -> list[Any]:
    parsed = parse_json_path(query)
    size, depth = _size(value)
    plain = _QUOTED.sub("''", query)
    descents, selectors = plain.count(".."), plain.count(",")
    from_root = max(plain.count("$") - 1, 0)
    visits: int = size * depth ** min(descents, 20) * 2 ** min(selectors, 30)
    if (visits * math.prod([size] * from_root)) > _WORK:
        raise ValueMissing(f"{query} cannot be evaluated in bounded time on a value of this size")
    try:
        return list(parsed.find(cast("Any", value)))
    except (JSONPathError, RecursionError):
        raise ValueMissing(f"{query} cannot be evaluated: the value is nested too deep") from None


def _size(value: JsonValue) -> tuple[int, int]:
    level, nodes, depth = [value], 0, 0
    while level:
        nodes, depth = nodes + len(level), depth + 1
        level = [
            item
            for held in level
            if isinstance(held, dict | list)
            for item in (held.values() if isinstance(held, dict) else held)
        ]
    return nodes, depth


def replaced(payload: JsonValue, replacement: JsonObject, value: JsonValue) -> JsonValue:
    """Return a payload with a value at the target of a replacement; the payload may be changed.

    Raises:
        ValueMissing: the target leads nowhere.
    """
    target = str(replacement["target"])
    if replacement.get("type") != "jsonpath":
        return _put(payload, parse_pointer(target), value, target)
    places = locate_json_path(target, payload)
    if not places:
        raise ValueMissing(f"the payload has nothing at {target}")
    for location in places:
        payload = _put(payload, tuple(map(str, location)), value, target)
    return payload


def _put(payload: JsonValue, path: tuple[str, ...], value: JsonValue, target: str) -> JsonValue:
    if not path:
        return value
    try:
        holder = follow(payload, path[:-1])
    except LookupError:
        raise ValueMissing(f"the payload has nothing at {target}") from None
    last = path[-1]
    if isinstance(holder, dict):
        holder[last] = value
    elif isinstance(holder, list) and last.isdigit() and int(last) < len(holder):
        holder[int(last)] = value
    elif isinstance(holder, list) and last in ("-", str(len(holder))):
        holder.append(value)
    else:
        raise ValueMissing(f"the payload has nothing at {target}")
    return payload


def embed_into_json_path(query: str, text_of: Callable[[str], JsonValue]) -> str:
    """Return a JSONPath with its expressions in braces replaced by literals.

    A value between quotes is escaped, so that it stays one string.

    Args:
        query: the JSONPath.
        text_of: returns the value of an expression.

    Raises:
        ValueMissing: an expression has no value, or has one that is no literal.
    """

    def literal(found: re.Match[str]) -> str:
        value = text_of(found[1])
        if isinstance(value, dict | list):
            raise ValueMissing(f"{found[1]} has no value that a JSONPath can hold")
        return json.dumps(value)

    def quoted(found: re.Match[str]) -> str:
        def escaped(inner: re.Match[str]) -> str:
            value = text_of(inner[1])
            text = json.dumps(value if isinstance(value, str) else json.dumps(value))[1:-1]
            return text if found[0][0] == '"' else text.replace('\\"', '"').replace("'", "\\'")

        return EMBEDDED.sub(escaped, found[0])

    if "{$" not in query:
        return query
    pieces, at = [], 0
    for found in _QUOTED.finditer(query):
        pieces += [EMBEDDED.sub(literal, query[at : found.start()]), quoted(found)]
        at = found.end()
    return "".join((*pieces, EMBEDDED.sub(literal, query[at:])))
