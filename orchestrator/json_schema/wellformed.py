"""Limits of parsed documents: JSON's types, bounded nesting and a bounded number of values."""

import math
import re
from dataclasses import dataclass

MAX_NESTING = 150
"""The maximum number of levels of nested lists and objects; real documents stay below fifty."""
_MAX_VALUES = 20_000_000
_SHOWN_STEPS = 12
"""The number of shown steps of the path to a value nested too deep: only its start helps."""
_MAX_BITS = 1_024
"""The maximum number of bits of an integer: as large as the largest double."""
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Defect:
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
