"""What a field of a thing is to become: "rename X to Y", "change the description of X to Y"."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from orchestrator.language.deeds import is_any_change
from orchestrator.language.slots import read_slots

_FIELD: Final = (
    r"(?P<field>(?!(?:an?|my|our|your|me|up|some|all|it|off)\b)[a-z][\w-]*(?:\s+[a-z][\w-]*){0,2}?)"
)
_LEAD: Final = r"\s*(?:please\s+)?(?P<verb>[a-z]+)\s+"
_PATTERNS: Final = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        rf"{_LEAD}(?:the\s+|its\s+)?{_FIELD}\s+(?:of|for|on)\s+\S.*?\s+to\s+(?P<value>\S.*)",
        rf"{_LEAD}\S.*?['\u2019]s\s+{_FIELD}\s+to\s+(?P<value>\S.*)",
        rf"{_LEAD}(?:the\s+|its\s+)?{_FIELD}\s+to\s+(?P<value>\S.*)",
    )
)
_RENAMED: Final = re.compile(
    rf"{_LEAD}(?:the\s+|my\s+|our\s+)?\S.*?\s+(?:to|as)\s+(?P<value>\S.*)", re.DOTALL
)
_RENAME: Final = "rename"
_SET: Final = "set"
_READ_OTHERWISE: Final = frozenset({"date", "time", "duration", "amount"})
_QUOTES: Final = "\"'\u201c\u201d\u2018\u2019"
_END: Final = " .!?;,"
_MAX_TEXT: Final = 2000


@dataclass(frozen=True)
class ChangeSaid:
    """A field and the words that it is to hold; `field` is empty where a thing is to be called so.

    `start` and `end` are where the value stands, with what leads to it.
    """

    field: str
    value: str
    start: int
    end: int


@lru_cache(maxsize=256)
def change_said(text: str) -> ChangeSaid | None:
    """The change that a request spells out; None where it says none, or by a day, hour or amount.

    Those are read wherever they stand.
    """
    lowered = text[:1].lower() + text[1:]
    if len(text) > _MAX_TEXT:
        return None
    for pattern in (_RENAMED, *_PATTERNS):
        match = pattern.match(lowered)
        if match is None or not _is_meant(match["verb"], pattern is _RENAMED):
            continue
        value = text[match.start("value") :].rstrip(_END)
        if not value or any(s.kind in _READ_OTHERWISE for s in read_slots(value, now=None)):
            return None
        field = "" if pattern is _RENAMED else match["field"]
        start = text.rstrip().rfind(" ", 0, match.start("value") - 1) + 1
        said = value.strip(_QUOTES) or value
        return ChangeSaid(field, said, start, match.start("value") + len(value))
    return None


def _is_meant(verb: str, renames: bool) -> bool:
    return verb == _RENAME if renames else verb == _SET or is_any_change(verb)
