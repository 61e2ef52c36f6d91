"""Lengths of time as they are written on a command line."""

import re
from datetime import timedelta
from typing import Final

from pydantic import TypeAdapter, ValidationError

from orchestrator.core.errors import UsageError

_SHORT: Final = re.compile(r"(\d{1,6})([smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def read_duration(text: str, option: str) -> timedelta:
    """`15m`, `6h`, `1d`, `2w`, or ISO 8601 such as `PT90M`.

    Raises:
        UsageError: it is none, or no longer than nothing.
    """
    short = _SHORT.fullmatch(text)
    try:
        if short is not None:
            length = timedelta(seconds=int(short[1]) * _SECONDS[short[2]])
        elif text.startswith("P"):
            length = TypeAdapter(timedelta).validate_python(text)
        else:
            raise ValueError(text)
    except (ValidationError, ValueError, OverflowError):
        length = timedelta(0)
    if length <= timedelta(0):
        raise UsageError(f"{option} {text!r}: write a time such as 15m, 6h, 1d, 2w or PT90M")
    return length
