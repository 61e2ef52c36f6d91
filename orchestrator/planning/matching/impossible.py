"""Values that cannot be meant: days gone by, an end before its start, nowhere to go, less than one.

What is judged is the schema of a tool and the values for its inputs, whoever filled them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import tokens
from orchestrator.planning.matching.value_forms import moment_of_text, number_of, plain_words
from orchestrator.planning.models import Doubt
from orchestrator.planning.rules.parameters import Kind, Parameter, read_parameters, tool_parameters

_LISTS: Final = WordLists("matching")
_PAST: Final = _LISTS.word_set("of_the_past")
_OVERNIGHT: Final = _LISTS.word_set("overnight")
_FROM: Final = _LISTS.word_set("from_words")
_TO: Final = _LISTS.word_set("to_words")
_COUNTS: Final = frozenset({Kind.COUNT, Kind.NIGHTS})
_MONEY: Final = frozenset({Kind.AMOUNT, Kind.MONEY})
_NAMES: Final = frozenset({Kind.PLACE, Kind.IDENTIFIER, Kind.OTHER, Kind.EMAIL})


def impossible_values(tool: Tool, arguments: JsonObject, *, now: datetime) -> tuple[Doubt, ...]:
    """What of a call, or of a draft of one, cannot be meant.

    Args:
        tool: that is called; one that reads is judged too, so that a search can be stopped which
            leads up to a call that plans ahead.
        arguments: as far as they are known.
        now: the requester's time.
    """
    found = [*_Values(tool, tool_parameters(tool), arguments, now).doubts()]
    found += _nothing_to_change(tool, arguments)
    return tuple({doubt.about: doubt for doubt in found}.values())


@dataclass(frozen=True)
class _Values:
    """The values for the inputs of one object."""

    tool: Tool
    parameters: tuple[Parameter, ...]
    values: Mapping[str, JsonValue]
    now: datetime

    def doubts(self) -> Iterator[Doubt]:
        """All of them, those of inner objects last."""
        yield from self._gone_by()
        yield from self._ends_first()
        yield from self._nowhere_to_go()
        yield from self._less_than_one()
        yield from self._nothing_to_say()
        for parameter, value in self._given():
            if isinstance(value, dict) and parameter.kind is Kind.OBJECT:
                yield from _Values(self.tool, parameter.fields, value, self.now).doubts()
            if isinstance(value, list):
                yield from self._of_members(parameter, value)

    def _of_members(self, parameter: Parameter, members: list[JsonValue]) -> Iterator[Doubt]:
        element = parameter.element
        if element is None:
            return
        inner = read_parameters(element.schema, element.root, parent=element.words)
        for member in members:
            if isinstance(member, dict):
                yield from _Values(self.tool, inner, member, self.now).doubts()

    def _given(self) -> Iterator[tuple[Parameter, JsonValue]]:
        for parameter in self.parameters:
            value = self.values.get(parameter.name)
            if value is not None and not is_handle(value):
                yield parameter, value

    # -- moments ----------------------------------------------------------------------------------

    def _gone_by(self) -> Iterator[Doubt]:
        for parameter, value in self._given():
            moment = self._moment(parameter, value)
            if moment is None or self._records(parameter):
                continue
            is_day = parameter.kind is Kind.DATE
            if (moment.date() < self.now.date()) if is_day else (moment < self.now):
                today = self.now.date().isoformat()
                yield _doubt(parameter, value, f"that is in the past (today is {today})")

    def _records(self, parameter: Parameter) -> bool:
        """Whether its date is one of something that has happened, or a bound of a look back."""
        described = str(parameter.schema.get("description", ""))
        own = {*parameter.words, *tokens(described)}
        if own & _PAST or parameter.bound is not None:
            return True
        named = {*tokens(self.tool.name), *tokens(self.tool.summary), *tokens(self.tool.domain)}
        return bool(named & _PAST) or self.tool.effect is Effect.CANCEL

    def _moment(self, parameter: Parameter, value: JsonValue) -> datetime | None:
        if parameter.kind not in (Kind.DATE, Kind.DATETIME) or not isinstance(value, str):
            return None
        return moment_of_text(value, self.now)

    def _ends_first(self) -> Iterator[Doubt]:
        given = [(p, v) for p, v in self._given() if isinstance(v, str)]
        for kind in (Kind.DATE, Kind.DATETIME, Kind.TIME):
            starts = [(p, v) for p, v in given if p.kind is kind and p.side == "start"]
            ends = [(p, v) for p, v in given if p.kind is kind and p.side == "end"]
            if len(starts) != 1 or len(ends) != 1:
                continue
            (start, begins), (end, stops) = starts[0], ends[0]
            if self._is_over_before(kind, begins, stops):
                told = f"it is not after {_called(start)} {begins}"
                yield _doubt(end, stops, told)

    def _is_over_before(self, kind: Kind, begins: str, stops: str) -> bool:
        if kind is Kind.TIME:
            return begins[:5] >= stops[:5] and self._is_one_day()
        start, end = moment_of_text(begins, self.now), moment_of_text(stops, self.now)
        if start is None or end is None:
            return False
        if start == end:
            return kind is Kind.DATETIME or self._is_overnight()
        return start > end

    def _is_one_day(self) -> bool:
        """Whether there is one day for both times, so that none of them is of the next."""
        days = {v for p, v in self._given() if p.kind is Kind.DATE and isinstance(v, str)}
        return len(days) == 1

    def _is_overnight(self) -> bool:
        words = {*tokens(self.tool.name), *tokens(self.tool.summary), *tokens(self.tool.domain)}
        return bool(words & _OVERNIGHT)

    # -- places and counts ------------------------------------------------------------------------

    def _nowhere_to_go(self) -> Iterator[Doubt]:
        given = [(p, v) for p, v in self._given() if p.kind in _NAMES and isinstance(v, str)]
        for source, here in given:
            for target, there in given:
                if _are_two_ends(source, target) and plain_words(here) == plain_words(there):
                    yield _doubt(target, there, f"it is the same as {_called(source)}")

    def _less_than_one(self) -> Iterator[Doubt]:
        for parameter, value in self._given():
            held = value.get("amount") if isinstance(value, dict) else value
            number = number_of(held) if not isinstance(held, str) else None
            if number is None or parameter.kind not in _COUNTS | _MONEY:
                continue
            is_whole = parameter.required and parameter.bound is None
            if number < 0 or (number == Decimal(0) and is_whole and self._counts(parameter)):
                why = "it is less than none" if number else "it is none"
                yield _doubt(parameter, str(held), why)

    def _nothing_to_say(self) -> Iterator[Doubt]:
        """A text for people that is nothing but an address or a name that is sent beside it."""
        given = [(p, v) for p, v in self._given() if isinstance(v, str)]
        texts = [(p, v) for p, v in given if p.kind is Kind.TEXT]
        for parameter, text in texts:
            for other, value in given:
                if other.name != parameter.name and text.casefold() == value.casefold():
                    yield _doubt(parameter, text, f"that is only {_called(other)}")

    def _counts(self, parameter: Parameter) -> bool:
        """Whether nothing of it leaves nothing to do."""
        return parameter.kind in _COUNTS or self.tool.spends


def _nothing_to_change(tool: Tool, arguments: JsonObject) -> Iterator[Doubt]:
    """The doubt about a PATCH that says which thing it means, and of nothing what it becomes."""
    is_whole = arguments.keys() >= set(tool.required_inputs)
    written = [binding.name for binding in tool.bindings if binding.location == "body"]
    if tool.method == "PATCH" and is_whole and written and arguments.keys().isdisjoint(written):
        called = tool.summary.rstrip(".") or tool.name
        yield Doubt(kind="impossible", about=called, why=f"{called}: nothing says to what")


def _are_two_ends(source: Parameter, target: Parameter) -> bool:
    """Whether two inputs are called the same, but that one is from and the other to."""
    if source.kind is Kind.PLACE and target.kind is Kind.PLACE:
        return (
            bool(set(source.words) & lexicon.ORIGIN)
            and bool(set(target.words) & lexicon.DESTINATION)
            and source.name != target.name
        )
    apart = {*source.words} - _FROM, {*target.words} - _TO
    return (
        source.name != target.name
        and bool(set(source.words) & _FROM)
        and bool(set(target.words) & _TO)
        and apart[0] == apart[1]
    )


def _called(parameter: Parameter) -> str:
    return "the " + " ".join(parameter.words)


def _doubt(parameter: Parameter, value: JsonValue, why: str) -> Doubt:
    about = f"{' '.join(parameter.words)} {value}"
    return Doubt(kind="impossible", about=about, why=f"{about}: {why}")
