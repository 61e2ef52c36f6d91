"""What the paths of a document say of its things: which are kept together, which path is one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

_NAME = re.compile(r"\{[^{}]*\}")
_ENDING = re.compile(r"(?<=[^/])\.\w+$")
"""`.json`, of a path that names its format."""

_CALLER = frozenset({"me", "my", "self", "user"})
"""Steps of a path that stand for whoever calls."""


class Position(StrEnum):
    """Where a path stands among the things that it is about."""

    ALL = "all"
    """`/orders`: all of them."""
    ONE = "one"
    """`/orders/{id}`."""
    WITHIN = "within"
    """`/orders/{id}/pay`: something about one of them."""


class ThingPlace(NamedTuple):
    """Which things a path is about: `things` is equal for all paths about the same kind."""

    things: str
    position: Position
    parameter: str
    """The path parameter that names the one; "" for all of them."""
    named_by: str = ""
    """What paths to one of the kind call its id."""

    @property
    def label(self) -> str:
        """What the things are called: the last word of their path."""
        return next((s for s in reversed(self.things.split("/")) if s and s != "{}"), "things")


def bare_path(path: str) -> str:
    """The path without the query and the fragment by which documents tell operations apart."""
    return re.split(r"[?#]", path, maxsplit=1)[0]


def places_of(paths: Iterable[str]) -> dict[str, ThingPlace]:
    """The place of each path that has one."""
    listed = list(paths)
    ones = [steps for steps in map(_steps, listed) if _is_name(steps[-1:])]
    kinds = {_things(steps[:-1]): steps[-1][1:-1] for steps in reversed(ones)}
    found = {path: _place(_steps(path), kinds) for path in listed}
    return {path: place for path, place in found.items() if place is not None}


def names_like(names: Iterable[str], parameter: str) -> list[str]:
    """Those of the names that a path parameter ends with: `gid` of `task_gid`."""
    return [name for name in names if name and _is_last_word(name, parameter)]


def _is_last_word(name: str, parameter: str) -> bool:
    start = len(parameter) - len(name)
    if start < 0 or not parameter.lower().endswith(name.lower()):
        return False
    # A word of its own: after a mark, or where a capital begins one.
    return start == 0 or parameter[start - 1] in "_-." or parameter[start].isupper()


def _place(steps: list[str], kinds: Mapping[str, str]) -> ThingPlace | None:
    if _is_name(steps[-1:]):
        return ThingPlace(_things(steps[:-1]), Position.ONE, steps[-1][1:-1], steps[-1][1:-1])
    for things in (_things(steps), *_without_caller(steps)):
        if things in kinds:
            return ThingPlace(things, Position.ALL, "", kinds[things])
    named = [at for at, step in enumerate(steps) if _is_name([step])]
    if not named:
        return None
    parameter = steps[named[-1]][1:-1]
    return ThingPlace(_things(steps[: named[-1]]), Position.WITHIN, parameter)


def _without_caller(steps: list[str]) -> Iterator[str]:
    """The kind that a path tells the caller's own of: `/playlists` of `/me/playlists`."""
    if len(steps) > 1 and steps[-2] in _CALLER:
        yield _things([*steps[:-2], steps[-1]])


def _steps(path: str) -> list[str]:
    return _ENDING.sub("", bare_path(path).rstrip("/")).split("/")


def _is_name(step: list[str]) -> bool:
    return bool(step) and _NAME.fullmatch(step[0]) is not None


def _things(steps: list[str]) -> str:
    return _NAME.sub("{}", "/".join(steps))
