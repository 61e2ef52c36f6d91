"""What identifiers of one kind have in common, as words that an index can hold."""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby
from typing import Final

_SEPARATOR = re.compile(r"[-_/.:#]")
_MOST_RUNS: Final = 3
_KEPT: Final = 1 << 12


@lru_cache(maxsize=_KEPT)
def mark_of(identifier: str) -> str:
    """The prefix of an id that has one, else its run of letters and digits; "" when neither tells.

    Examples:
        htl_204 and HTL-5 are "htl_"; AT482 and kl1023 are "a9"; a3f0b2c1 is "", 118 too.
    """
    prefix, *rest = [part for part in _SEPARATOR.split(identifier.lower()) if part] or [""]
    if rest:
        return f"{prefix}_" if prefix.isalpha() else ""
    runs = "".join("9" if digits else "a" for digits, _ in groupby(prefix, str.isdigit))
    return runs if 1 < len(runs) <= _MOST_RUNS else ""


def marks_of(identifiers: Iterable[str]) -> tuple[str, ...]:
    """The marks of several, each once."""
    return tuple(dict.fromkeys(mark for mark in map(mark_of, identifiers) if mark))
