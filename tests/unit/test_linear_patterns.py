"""Every regular expression that meets a stranger's text takes one pass over it.

Each pattern is given long texts of what it is made of, and texts twice as long. What takes four
times as long then looks at every pair of places, and a text of a megabyte would keep a worker for
hours. Only ratios are compared, so that a slow machine makes no difference.
"""

import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest

import orchestrator

parser: Final[Any] = importlib.import_module("re._parser")
ROOMS: Final = ("adapters.http", "json_schema", "core", "saga", "catalog", "confirmation")
"""Rooms that read answers. Goals and typed texts have at most 4,000 characters."""
READS_DOCUMENTS: Final = ("catalog.lint", "catalog.suggest")
"""Rooms that read what an operator gives, at his own time."""
SHORT: Final[dict[str, str]] = {}
"""Patterns of texts that are cut before, with where that is."""
SIZE: Final = 1_000
MOST: Final = 3.0
NOTICED_S: Final = 0.002
"""What takes less is measured on a longer text, or is quick enough at the longest."""
METHODS: Final = frozenset(
    {"match", "fullmatch", "search", "finditer", "findall", "sub", "split", "subn"}
)


class Used(NamedTuple):
    """A pattern, the name that it has in a module, and the methods that the module calls."""

    name: str
    pattern: re.Pattern[str]
    methods: frozenset[str]


def _modules() -> Iterator[Any]:
    for found in pkgutil.walk_packages(orchestrator.__path__, "orchestrator."):
        room = found.name.removeprefix("orchestrator.")
        if room.startswith(ROOMS) and not room.startswith(READS_DOCUMENTS):
            yield importlib.import_module(found.name)


def _used() -> Iterator[Used]:
    for module in _modules():
        text = inspect.getsource(module)
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                called = re.findall(rf"\b{name}\.(\w+)\(", text)
                yield Used(f"{module.__name__}.{name}", value, METHODS & {*called})


def _characters(items: Any) -> Iterator[str]:
    """The characters that a parsed pattern names, one of each class."""
    for operation, value in items:
        kind = str(operation)
        if kind in ("LITERAL", "NOT_LITERAL"):
            yield chr(value)
        elif kind == "RANGE":
            yield chr(value[0])
        elif kind == "CATEGORY":
            yield {"DIGIT": "0", "SPACE": " "}.get(str(value).rpartition("_")[2], "a")
        elif kind == "IN":
            yield from _characters(value)
        elif kind == "BRANCH":
            for branch in value[1]:
                yield from _characters(branch)
        elif kind in ("SUBPATTERN", "MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT", "ASSERT"):
            yield from _characters(value[-1])
        elif kind == "ATOMIC_GROUP":
            yield from _characters(value)


def _pumps(pattern: re.Pattern[str]) -> list[str]:
    """What long texts are made of: single characters, pairs of them, and words."""
    named = sorted({*_characters(parser.parse(pattern.pattern, pattern.flags))})
    letters = [one for one in named if one.isalpha()]
    single = [*[one for one in named if not one.isalpha()][:12], *letters[:4]]
    words = re.findall(r"[a-z]{3,}", pattern.pattern)[:4]
    pairs = [first + second for first in single[:6] for second in single[:6] if first != second]
    return [*dict.fromkeys([*single, " ", "\n", "a", "0", *pairs, *(f"{word} " for word in words)])]


def _seconds(used: Used, text: str) -> float:
    """The best of three, of all methods that are called."""
    times = []
    for _ in range(3):
        began = time.process_time()
        for method in used.methods or {"search"}:
            if method == "finditer":
                list(used.pattern.finditer(text))
            elif method in ("sub", "subn"):
                used.pattern.sub(lambda found: "", text)
            else:
                getattr(used.pattern, method)(text)
        times.append(time.process_time() - began)
    return min(times)


def _worst(used: Used) -> tuple[float, str]:
    """The highest ratio of the times of a text and of one twice as long, and its text."""
    worst = (0.0, "")
    for pump in _pumps(used.pattern):
        for end in ("", "\x00"):
            for size in (SIZE, 8 * SIZE):
                short = _seconds(used, (pump * size)[:size] + end)
                if short >= NOTICED_S:
                    times = [
                        short,
                        *(_seconds(used, (pump * n)[:n] + end) for n in (2 * size, 4 * size)),
                    ]
                    # Whatever else the machine does may slow one of them, and not in proportion.
                    ratio = min(times[1] / times[0], times[2] / times[1])
                    worst = max(worst, (ratio, pump + end))
                    break
    return worst


PATTERNS: Final = [one for one in _used() if one.name not in SHORT]


@pytest.mark.parametrize("used", PATTERNS, ids=[one.name for one in PATTERNS])
def test_a_pattern_takes_one_pass(used: Used) -> None:
    """Twice the text takes less than three times as long, whatever it is made of."""
    ratio, text = _worst(used)

    assert ratio < MOST, f"x{ratio:.1f} for a text of {text!r}: {used.pattern.pattern[:200]}"
