"""Canonical JSON text (RFC 8785), fast enough for documents of tens of megabytes.

The text equals that of `rfc8785.dumps`, except that integers which no double represents become
strings, as the RFC advises. Python's encoder, written in C, is used where it gives the same text.
"""

import json
import re
from collections.abc import Callable

import rfc8785
from pydantic import JsonValue

from orchestrator.core.record import JsonObject

_LARGEST_EXACT_INT = 2**53 - 1
_BEYOND_BASIC_PLANE = re.compile("[\ud800-\U0010ffff]")
"""RFC 8785 orders keys by UTF-16 code units; these characters sort differently by code point."""
_encode = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, separators=(",", ":"), sort_keys=True
).encode

TextOf = Callable[[str, JsonValue], str]


def canonical_text(value: JsonValue, *, exact: bool = False) -> str:
    """Return the canonical JSON of a value.

    Args:
        value: of JSON's types.
        exact: refuse an integer that no double represents, because its string form would equal
            the JSON of that string.

    Raises:
        ValueError: a float that is not finite, or an integer that `exact` refuses.
    """
    if _is_plain(value):
        text = _encode(value)
        if not isinstance(value, dict | list) or not _BEYOND_BASIC_PLANE.search(text):
            return text
    if isinstance(value, dict):
        return canonical_object(value, lambda _, held: canonical_text(held, exact=exact))
    if isinstance(value, list):
        return "[" + ",".join([canonical_text(held, exact=exact) for held in value]) + "]"
    if isinstance(value, int):
        if exact:
            raise ValueError(f"no double holds {value}")
        return f'"{value}"'
    return rfc8785.dumps(value).decode()


def canonical_object(value: JsonObject, text_of: TextOf) -> str:
    """Return the canonical JSON of an object; `text_of` returns the text of each value by key."""
    keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join([f"{_encode(key)}:{text_of(key, value[key])}" for key in keys]) + "}"


def _is_plain(value: JsonValue) -> bool:
    """Return True if Python's encoder writes every number in the value as RFC 8785 does."""
    waiting: list[JsonValue] = [value]
    while waiting:
        item = waiting.pop()
        kind = type(item)
        if kind is dict:
            waiting.extend(item.values())  # type: ignore[union-attr]  # isinstance is too slow here
        elif kind is list:
            waiting.extend(item)  # type: ignore[arg-type]
        elif kind is float or (kind is int and abs(item) > _LARGEST_EXACT_INT):  # type: ignore[arg-type]
            return False
    return True
