"""Before a consequence: what was said equals what the call carries or what its ids stand for."""

import re
from collections.abc import Iterable
from typing import Final

from pydantic import JsonValue

from orchestrator.language.words import tokens
from orchestrator.planning.models import AskUser
from orchestrator.planning.rules.fill import Draft
from orchestrator.planning.rules.items import Item, flat_fields
from orchestrator.planning.rules.parameters import Kind
from orchestrator.planning.rules.split import Reading

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_CLOCK: Final = re.compile(r"(?:^|T)(\d{2}:\d{2})")


def mismatches(reading: Reading, item: Item, draft: Draft) -> AskUser | None:
    """Return a question where a day, time or place that was said differs from what is taken."""
    others = [one for one in reading.chain.drafts if one.tool is not draft.tool]
    pairs = [(one, leaf) for one in others for leaf in one.leaves if leaf.path in one.said]
    for other, leaf in pairs:
        own = _same_field(item, leaf.parameter.words, leaf.parameter.kind)
        if own and str(other.found.get(leaf.path)).casefold() not in map(str.casefold, own):
            return _question(other.said[leaf.path].text, own, leaf.name)
    return None


def _same_field(item: Item, words: tuple[str, ...], kind: Kind) -> list[str]:
    """The values that a thing has under the name of an input, as far as they can be compared."""
    if kind not in (Kind.DATE, Kind.TIME, Kind.PLACE, Kind.CHOICE):
        return []
    found = [
        str(value)
        for name, value in flat_fields(item.fields)
        if tuple(tokens(name)) == words and isinstance(value, str)
    ]
    if kind is Kind.DATE:
        return [day for text in found for day in _DAY.findall(text)]
    if kind is Kind.TIME:
        return [clock for text in found for clock in _CLOCK.findall(text)]
    return found


def _question(said: str, own: Iterable[str], name: str) -> AskUser:
    found = ", ".join(dict.fromkeys(own))
    schema: dict[str, JsonValue] = {"type": "string", "title": " ".join(tokens(name))}
    return AskUser(
        question=f"You said {said!r}; what was found is for {found}. What is meant?",
        why="nothing is done that differs from what was said",
        fields={f"{name}_meant": schema},
    )
