"""What a parsed document is made of: JSON's values, nested no deeper than any real document is."""

import math
import re
from dataclasses import dataclass

MAX_NESTING = 150
"""Lists and objects inside each other; real documents stay below fifty."""
_MAX_VALUES = 20_000_000
_SHOWN_STEPS = 12
"""Of the way to what is nested too deep: where it begins is all that helps."""
_MAX_BITS = 1_024
"""Of an integer: as large as the largest double."""
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Defect:
    """What a document cannot hold, and the way to it."""

    path: tuple[str | int, ...]
    reason: str


def find_defect(value: object) -> Defect | None:
    """The first thing that makes a value no JSON, or too much of it; None when there is none."""
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
    """Why a value that holds no others is none of JSON's; '' when it is one."""
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
    """The fault again, with the way to it: keeping all ways while all is well would cost much."""
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
