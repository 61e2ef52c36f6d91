"""What the summary of a leg names, and nothing that it was answered or told holds.

Ids and amounts alone: they are written the same wherever they stand, so that one which stands
nowhere was made up, or reckoned otherwise than as the sum or the average of what all of a list
have. Other words a planner may choose.
"""

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from pydantic import JsonValue

from orchestrator.planning.models import FINISH, StepContext

_ID: Final = re.compile(
    r"(?<![\w@/.:-])(?=[\w-]*\d[\w-]*\d)(?=[\w-]*(?:[A-Z]|[a-z]+_))[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*\b"
)
_SHORTEST: Final = 5
_NUMBER: Final = r"\d+(?:[,\u00a0\u202f ]\d{3})*(?:\.\d+)?"
_AMOUNT: Final = re.compile(
    rf"(?:\b[A-Z]{{3}}\s?|[$\u20ac\u00a3\u00a5]\s?)(?P<after>{_NUMBER})"
    rf"|(?P<before>{_NUMBER})\s?(?:[A-Z]{{3}}\b|[$\u20ac\u00a3\u00a5])"
)
_WRITTEN: Final = re.compile(r"(?:(?<![\w-])|(?<=\b[A-Z]{3})|(?<=[\s\":]-))\d+(?:\.\d+)?")
"""A number of its own, also below zero, and none that an id ends with."""
_UNITS: Final = (Decimal(1), Decimal(100), Decimal(1000))
"""By which an amount in minor units differs from how people write it."""
_MOST: Final = 5
_LONGEST: Final = 60


def unheld_claims(summary: str, context: StepContext) -> tuple[str, ...]:
    """The ids and amounts of a summary that stand in nothing which its leg was given."""
    known = _known(context)
    numbers = {Decimal(text).normalize() for text in _WRITTEN.findall(known.replace(",", ""))}
    numbers |= {total.normalize() for seen in context.observations for total in _sums(seen.body)}
    text, found = known.casefold(), [*_ids(summary)]
    claims = [claim for claim in found if claim.casefold() not in text]
    for amount in _AMOUNT.finditer(summary):
        value = Decimal(re.sub(r"[^\d.]", "", amount["after"] or amount["before"]))
        if not any((value * unit).normalize() in numbers for unit in _UNITS):
            claims.append(amount.group().strip())
    return tuple(claim[:_LONGEST] for claim in dict.fromkeys(claims))[:_MOST]


def _sums(node: JsonValue) -> Iterator[Decimal]:
    """The sum and the average of each number that all the members of a list have: not made up."""
    if isinstance(node, dict):
        for inner in node.values():
            yield from _sums(inner)
    elif isinstance(node, list) and len(node) > 1:
        members = [dict(_numbers(member)) for member in node]
        for path in members[0]:
            if all(path in member for member in members):
                total = sum((member[path] for member in members), Decimal(0))
                yield from (total, round(total / len(members), 2))


def _numbers(node: JsonValue, path: str = "") -> Iterator[tuple[str, Decimal]]:
    """Each number in an object, by the names that lead to it."""
    if isinstance(node, dict):
        for name, inner in node.items():
            yield from _numbers(inner, f"{path}/{name}")
    elif not isinstance(node, bool) and _WRITTEN.fullmatch(str(node)):
        yield path, Decimal(str(node))


def _ids(summary: str) -> Iterator[str]:
    for found in _ID.finditer(summary):
        if len(found.group()) >= _SHORTEST and not _AMOUNT.fullmatch(found.group()):
            yield found.group()


def _known(context: StepContext) -> str:
    """All that the leg was given, as text; what its planner itself said at an end is none of it."""
    seen = [o for o in context.observations if o.tool != FINISH]
    given = [
        context.mission_goal,
        context.leg_goal,
        context.inputs,
        *([o.arguments, o.body, o.error, str(o.price or "")] for o in seen),
        *([f.title, f.arguments, f.body, str(f.price or "")] for f in context.facts),
    ]
    return json.dumps(given, ensure_ascii=False, default=str)
