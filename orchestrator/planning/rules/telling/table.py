"""The small table of what was found: the columns that tell its rows apart."""

from collections.abc import Sequence
from typing import Final

from orchestrator.language import lexicon
from orchestrator.planning.models import MOST_COLUMNS, MOST_ROWS, AnswerTable
from orchestrator.planning.rules.telling.told_field import Told

_Row = Sequence[Told]
_LONG: Final = 40
"""Characters on average beyond which a text is no column, unless nothing else tells rows apart."""


def table_of_things(things: Sequence[_Row]) -> AnswerTable | None:
    """Two things or more as a table; None where there is nothing to tell apart."""
    if len(things) < 2:
        return None
    names = columns_of(things)
    if not names:
        return None
    by_name = [{told.name: told for told in thing} for thing in things]
    first = {told.name: told for thing in reversed(things) for told in thing}
    rows = [
        tuple(row[name].said if name in row else "" for name in names)
        for row in by_name[:MOST_ROWS]
    ]
    return AnswerTable(
        columns=tuple(first[name].heading or name for name in names),
        rows=tuple(rows),
        more=max(0, len(things) - MOST_ROWS),
    )


def columns_of(things: Sequence[_Row], most: int = MOST_COLUMNS) -> list[str]:
    """The names of the fields that tell things apart best: what it is called, when, how much."""
    order = list(dict.fromkeys(told.name for thing in things for told in thing))
    by_name: dict[str, list[Told]] = {name: [] for name in order}
    for thing in things:
        for told in thing:
            by_name[told.name].append(told)
    telling = [name for name in order if _varies(by_name[name], len(things))]
    usable = [name for name in telling if not _is_dull(by_name[name])]
    if not usable:
        usable = telling[:1] or [n for n in order if by_name[n][0].is_title][:1]
    best = sorted(usable, key=lambda name: (_rank(by_name[name]), order.index(name)))[:most]
    return sorted(best, key=lambda name: (not by_name[name][0].is_title, order.index(name)))


def _varies(column: Sequence[Told], rows: int) -> bool:
    return len({told.said for told in column}) > 1 or len(column) < rows


def _is_dull(column: Sequence[Told]) -> bool:
    first = column[0]
    long = sum(len(told.said) for told in column) / len(column) > _LONG
    return first.is_id or first.is_bookkeeping or (long and not first.is_title)


def _rank(column: Sequence[Told]) -> int:
    """What a person looks at first comes first."""
    first = column[0]
    words = set(first.words)
    if first.is_title or any(told.is_over for told in column):
        return 0
    if first.sort == "money":
        return 1
    if first.sort in ("date", "time", "moment"):
        return 2
    if first.sort == "text":
        return 3 if not words & lexicon.IDENTIFIER else 4
    return 5
