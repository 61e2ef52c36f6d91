"""New missions: their ids, and what they may not ask for.

Asked at the door alone: what is on record must load.
"""

import re
import secrets
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from orchestrator.core.errors import UsageError
from orchestrator.core.record import Record

LONGEST: Final = timedelta(days=3650)
"""Of anything that is waited for; far beyond it, there is no date that it would end on."""


def check_new(goal: str, policy: Record) -> None:
    """Refuse a mission that would end as soon as it begins, or could not be told when it does.

    Raises:
        UsageError: with what is wrong.
    """
    if not _says_something(goal):
        raise UsageError("goal: it says nothing; write in plain words what to do")
    fault = wait_fault(policy)
    if fault:
        raise UsageError(f"the mission's policy: {fault}")


def wait_fault(policy: Record) -> str:
    """What is wrong with the times of a policy, in a sentence; empty when nothing is."""
    for name, wait in _waits(policy):
        if wait <= timedelta(0):
            return f"{name} is {_told(wait)}, and must be longer than nothing, such as PT1H"
        if wait > LONGEST:
            return f"{name} is {_told(wait)}, and may be at most {LONGEST.days} days"
    return ""


def _says_something(text: str) -> bool:
    """Whether there is a character in it that a reader would see."""
    return any(c.isprintable() and not c.isspace() for c in text)


def _waits(value: object, name: str = "") -> Iterator[tuple[str, timedelta]]:
    """Every length of time in a record, with where it stands."""
    if isinstance(value, timedelta):
        yield name, value
    elif isinstance(value, Record):
        for field in type(value).model_fields:
            yield from _waits(getattr(value, field), f"{name}.{field}" if name else field)
    elif isinstance(value, tuple):
        for number, item in enumerate(value):
            yield from _waits(item, f"{name}.{number}")


def _told(wait: timedelta) -> str:
    seconds = wait.total_seconds()
    return f"{seconds / 86_400:,.0f} days" if abs(seconds) >= 86_400 else f"{seconds:g} s"


def new_mission_id(goal: str, *, tells_goal: bool = True) -> str:
    """A readable id: the goal's first word, a verb that may be told, and something random.

    No other word of it: ids reach logs, traces and providers, and any word may be a name.
    """
    from orchestrator.language.words import is_verb  # reads word lists

    first = next(iter(re.findall(r"[a-z]+", goal.lower())), "")
    verb = first if tells_goal and is_verb(first) else "mission"
    return f"{verb}-{secrets.token_hex(5)}"
