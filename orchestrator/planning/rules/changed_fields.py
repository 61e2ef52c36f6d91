"""Which input takes what a field of a thing is to become, and as what value."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from pydantic import JsonValue

from orchestrator.language.changes_said import ChangeSaid
from orchestrator.language.words import content_stems, stem, tokens
from orchestrator.planning.rules.parameters import Kind, Parameter

_CALLED: Final = frozenset({("name",), ("title",)})
_NUMBER: Final = re.compile(r"[-+]?\d+(?:\.\d+)?")
_TEXTS: Final = frozenset({Kind.TEXT, Kind.TITLE, Kind.OTHER, Kind.PLACE, Kind.EMAIL, Kind.QUERY})


def changed_value(
    parameter: Parameter, change: ChangeSaid | None, inputs: Iterable[Parameter]
) -> JsonValue:
    """What an input is told of a change that is spelt out; None where that is another one's.

    Args:
        parameter: the input.
        change: that a request spells out.
        inputs: of the tool, or of the object that the input is in.
    """
    if change is None or _taker(change, inputs) != parameter.name:
        return None
    return parameter.first_accepted(*_values(parameter, change.value))


def takes_change(change: ChangeSaid | None, inputs: Iterable[Parameter]) -> str:
    """The name of the input that takes a change; empty where none does."""
    if change is None:
        return ""
    known = tuple(inputs)
    name = _taker(change, known)
    taken = (changed_value(p, change, known) for p in known if p.name == name)
    return name if any(value is not None for value in taken) else ""


def _taker(change: ChangeSaid, inputs: Iterable[Parameter]) -> str:
    """The one input that is called like the field, by the fewest words more."""
    wanted = {*content_stems(change.field)}
    fitting = [
        p
        for p in inputs
        if (wanted and wanted <= {*map(stem, p.words)})
        or (not change.field and tuple(tokens(p.name)) in _CALLED)
    ]
    fitting.sort(key=lambda p: len(p.words))
    alike = [p for p in fitting if len(p.words) == len(fitting[0].words)]
    return alike[0].name if len(alike) == 1 else ""


def _values(parameter: Parameter, text: str) -> Iterator[JsonValue]:
    if parameter.kind is Kind.CHOICE:
        said = tokens(text)
        yield from (option for option in parameter.options if tokens(option) == said)
    elif parameter.kind in _TEXTS:
        yield text
    number = _NUMBER.match(text)
    if number is not None and len(text.split()) <= 2:
        yield int(number[0]) if number[0].lstrip("+-").isdecimal() else float(number[0])
