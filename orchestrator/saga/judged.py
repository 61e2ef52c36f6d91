"""Whether an answer says what a condition is about: pure, and replayed for ever."""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Final

from pydantic import JsonValue

from orchestrator.core.record import JsonObject

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_WORD: Final = re.compile(r"[^\W\d_]+")
_NONE: Final = frozenset({"no", "not", "without", "never", "non"})
_NEAR: Final = 3
"""Words after "no" that it is said of."""


def is_about(arguments: JsonObject, body: JsonValue, days: Collection[str]) -> bool:
    """Whether a call was about one of the days, or about none at all."""
    named = set(_DAY.findall(json.dumps([arguments, body])))
    return not days or not named or not named.isdisjoint(days)


def says(body: JsonValue, stems: Sequence[str], days: Collection[str]) -> bool:
    """Whether an answer has one of the words: in a text, or as the name of what is true.

    Args:
        body: the answer; of a list, what is of the days, where they are told apart.
        stems: how the words begin.
        days: of which it is asked.
    """
    return any(_has(text, stems) for text in _texts(body, days))


def is_empty(body: JsonValue) -> bool:
    """Whether an answer lists nothing: every list in it is empty, and there is one."""
    if isinstance(body, list):
        return not body
    if not isinstance(body, dict):
        return body is None
    lists = [v for v in body.values() if isinstance(v, list)]
    return bool(lists) and not any(lists)


def _texts(body: JsonValue, days: Collection[str]) -> Iterator[str]:
    if isinstance(body, str):
        yield body
    elif isinstance(body, list):
        of_them = [one for one in body if not set(days).isdisjoint(_DAY.findall(json.dumps(one)))]
        for one in of_them or body:
            yield from _texts(one, days)
    elif isinstance(body, dict):
        for name, value in body.items():
            if value is True:
                yield name
            yield from _texts(value, days)


def _has(text: str, stems: Sequence[str]) -> bool:
    words = _WORD.findall(text.replace("_", " ").casefold())
    for n, word in enumerate(words):
        if word.startswith(tuple(stems)):
            before = islice(words, max(0, n - _NEAR), n)
            if _NONE.isdisjoint(before):
                return True
    return False
