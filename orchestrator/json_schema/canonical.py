"""Canonical JSON text (RFC 8785) and its digest, fast enough for tens of megabytes.

The text equals that of `rfc8785.dumps`, except that integers which no double represents become
strings, as the RFC advises. Python's encoder, written in C, is used where it gives the same text.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable
from typing import NamedTuple

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


def canonical_digest(value: JsonObject) -> str:
    """Return the SHA-256 of the canonical JSON of an object, in hexadecimal.

    An object with integers that RFC 8785 excludes (2**53 on) is written as sorted plain JSON.
    """
    try:
        written = canonical_text(value, exact=True).encode()
    except ValueError:
        written = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    return hashlib.sha256(written).hexdigest()


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


MAX_NESTING = 150
"""The maximum number of levels of nested lists and objects; real documents stay below fifty."""
_MAX_VALUES = 20_000_000
_SHOWN_STEPS = 12
"""The number of shown steps of the path to a value nested too deep: only its start helps."""
_MAX_BITS = 1_024
"""The maximum number of bits of an integer: as large as the largest double."""
_SURROGATE = re.compile("[\ud800-\udfff]")


class Defect(NamedTuple):
    """A value that a document cannot hold, and the path to it."""

    path: tuple[str | int, ...]
    reason: str


def find_defect(value: object) -> Defect | None:
    """Return the first value that is not JSON, or exceeds a limit; None if there is none."""
    level, depth, count = [value], 0, 0
    while level:
        following: list[object] = []
        for item in level:
            if isinstance(item, dict):
                for key in item:
                    if not (isinstance(key, str) and key.isascii()) and _key_reason(key):
                        return _located(value)
                following.extend(item.values())
            elif isinstance(item, list):
                following.extend(item)
            elif _reason(item):
                return _located(value)
        level = following
        depth += 1
        count += len(level)
        if depth > MAX_NESTING:
            return _located(value)
        if count > _MAX_VALUES:
            return Defect((), f"it holds more than {_MAX_VALUES:,} values")
    return None


def _reason(value: object) -> str:
    """Return why a scalar is not a JSON value; '' if it is one."""
    if isinstance(value, str):
        return "" if value.isascii() or not _SURROGATE.search(value) else "half a character"
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"{value} is no JSON number"
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return "the number is too large"
    if value is None or isinstance(value, int):
        return ""
    return f"a {type(value).__name__} is no JSON value"


def _key_reason(key: object) -> str:
    if not isinstance(key, str):
        return f"the key {key!r} is no text"
    return f"a key holds {reason}" if (reason := _reason(key)) else ""


def _located(value: object) -> Defect | None:
    """Find the defect again with its path: storing every path in the first pass would be slow."""
    waiting: list[tuple[tuple[str | int, ...], object]] = [((), value)]
    while waiting:
        path, item = waiting.pop()
        if len(path) > MAX_NESTING:
            reason = f"it is nested too deep, more than {MAX_NESTING} levels"
            return Defect(path[:_SHOWN_STEPS], reason)
        if isinstance(item, dict):
            for key, child in item.items():
                if reason := _key_reason(key):
                    return Defect(path, reason)
                waiting.append(((*path, key), child))
        elif isinstance(item, list):
            waiting.extend(((*path, index), child) for index, child in enumerate(item))
        elif reason := _reason(item):
            return Defect(path, reason)
    return None
