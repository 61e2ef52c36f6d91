"""What a call takes: its arguments, and the things in earlier answers that they stand for."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.tool import Tool
from orchestrator.confirmation.named_ids import NamedId, holders_of
from orchestrator.confirmation.named_things import EarlierAnswer, FoundThing, find_things
from orchestrator.core import currencies
from orchestrator.core.budget import Money
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject
from orchestrator.planning.matching.value_forms import NamedValue, list_lengths, scalars
from orchestrator.planning.rules.parameters import Kind, Parameter, tool_parameters
from orchestrator.saga.served import Order

_MAX_LINKS: Final = 12
_CODE: Final = re.compile(r"[A-Z]{2,5}|\S+@\S+\.\S+|\+\d[\d ]{5,}")
"""What stands for a thing beside its id: a code in capitals, an address, a telephone number."""
_LOOSE: Final = frozenset({Kind.QUERY, Kind.TEXT, Kind.TITLE})


@dataclass(frozen=True)
class FinderAnswer(EarlierAnswer):
    """An earlier answer, with the tool that gave it; None when the catalog no longer has it."""

    finder: Tool | None = None
    is_own: bool = True
    """Whether it is of this leg."""


@dataclass(frozen=True)
class Link:
    """A thing that the call stands on: as an answer holds it, and beside what."""

    item: JsonObject
    around: JsonObject
    asked: JsonObject
    """What was searched by when it was found."""
    finder: Tool | None
    others: tuple[JsonObject, ...]
    """What was found beside it."""


@dataclass(frozen=True)
class TakenCall:
    """A side effect that is wanted, with all that can be held against what was said."""

    tool: Tool
    arguments: JsonObject
    """Final, and their money plain."""
    now: datetime
    """When the goal was said, in the requester's zone: what "tomorrow" goes by."""
    clause: str
    """The goal of the leg."""
    goal: str = ""
    orders: tuple[Order, ...] = ()
    answers: tuple[FinderAnswer, ...] = ()
    """What earlier calls answered, the newest last, their money plain."""
    found_nothing: tuple[FinderAnswer, ...] = ()
    """What legs that this one waits for have looked up in vain."""
    probed: tuple[JsonObject, ...] = ()
    """What the provider says of the thing when it is asked now."""
    given: JsonObject = field(default_factory=dict)
    answered: JsonObject = field(default_factory=dict)
    hints: tuple[str, ...] = ()
    """What people said who wanted something else, the newest last."""
    price: Money | None = None
    people: tuple[str, ...] = field(default=(), repr=False)
    """What those are called for whom it is made, where the vault holds it: told to nobody."""

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """The things that the arguments stand for, those first that they name themselves."""
        found: list[Link] = [Link(item, {}, {}, None, ()) for item in self.probed]
        seen: set[int] = set()
        wanted: JsonObject = {k: v for k, v in self.arguments.items() if not self._is_ours(k)}
        schema: JsonObject | None = self.tool.input_schema
        for _ in range(3):
            fresh = [*self._links_of(find_things(wanted, self.answers, schema), seen)]
            if not fresh or len(found) > _MAX_LINKS:
                break
            found += fresh
            ids = {**fresh[0].around}
            for link in fresh:
                ids |= link.item
            wanted, schema = _ids_only(ids), None
        found += self._by_code(seen)
        return tuple(found)

    @cached_property
    def sent(self) -> tuple[NamedValue, ...]:
        """The values of the arguments, our own references aside; how long each list is."""
        ours = {name: v for name, v in self.arguments.items() if not self._is_ours(name)}
        return (*scalars(ours), *list_lengths(ours))

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """The inputs by name."""
        return {parameter.name: parameter for parameter in tool_parameters(self.tool)}

    @property
    def handles(self) -> tuple[str, ...]:
        """The inputs that take a personal value."""
        return tuple(name for name, value in self.arguments.items() if is_handle(value))

    @property
    def chosen_by_people(self) -> frozenset[str]:
        """The arguments that are what a person answered, or one of the things they chose."""
        return self._among(self.answered)

    @property
    def given_by_people(self) -> frozenset[str]:
        """The arguments that are what a person gave, with the goal or as an answer."""
        return self._among(self.given)

    def _among(self, values: JsonObject) -> frozenset[str]:
        """The arguments that are one of these values, or a member of one: a call for each."""
        whole = {repr(value) for value in values.values()}
        lists = (value for value in values.values() if isinstance(value, list))
        said = whole | {repr(member) for members in lists for member in members}
        return frozenset(name for name, value in self.arguments.items() if repr(value) in said)

    def _is_ours(self, name: str) -> bool:
        return name in self.tool.reference_inputs

    def _links_of(self, things: Sequence[FoundThing], seen: set[int]) -> Iterator[Link]:
        for thing in things:
            for held, answer in thing.sources:
                if id(held.item) not in seen:
                    seen.add(id(held.item))
                    yield _link(held.item, held.around, answer)

    def _by_code(self, seen: set[int]) -> Iterator[Link]:
        """The one member of a list that holds a code, an address or a number that is sent."""
        for sent in self.sent:
            value = sent.value
            if not isinstance(value, str) or not _CODE.fullmatch(value):
                continue
            if currencies.exists(value) or sent.name in self._closed:
                continue
            for answer in reversed(self.answers):
                for held in holders_of(NamedId(sent.name, value, True), answer.body):
                    if id(held.item) not in seen:
                        seen.add(id(held.item))
                        yield _link(held.item, held.around, answer)

    @property
    def _closed(self) -> frozenset[str]:
        """Inputs with a list of allowed values, none of which stands for a thing."""
        return frozenset(n for n, p in self.parameters.items() if p.kind is Kind.CHOICE)


def filters_of(link: Link) -> JsonObject:
    """What a thing was searched by that a search goes by exactly: no words, no text."""
    if link.finder is None:
        return link.asked
    loose = {p.name for p in tool_parameters(link.finder) if p.kind in _LOOSE}
    return {name: value for name, value in link.asked.items() if name not in loose}


def _link(item: JsonObject, around: JsonObject, answer: EarlierAnswer) -> Link:
    finder = answer.finder if isinstance(answer, FinderAnswer) else None
    others = tuple(_beside(item, answer.body))
    return Link(item, around, answer.arguments, finder, others)


def _beside(item: JsonObject, body: JsonValue) -> Iterator[JsonObject]:
    """The other members of the list that a thing stands in."""
    if isinstance(body, list):
        if any(member is item for member in body):
            yield from (m for m in body if isinstance(m, dict) and m is not item)
            return
        for member in body:
            yield from _beside(item, member)
    elif isinstance(body, dict):
        for held in body.values():
            yield from _beside(item, held)


def _ids_only(fields: JsonObject) -> JsonObject:
    return {
        name: value
        for name, value in fields.items()
        if isinstance(value, str | int) and not isinstance(value, bool) and _names_id(name)
    }


def _names_id(name: str) -> bool:
    low = name.casefold()
    return low == "id" or low.endswith(("_id", "-id")) or name.endswith("Id")
