"""Whether what a call takes bears one thing that was said, kind by kind."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import combinations
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.stated_prices import amounts_in
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.bounds import limit_of
from orchestrator.language.clause_reading import read_clause
from orchestrator.language.clauses import joints
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action, Slot
from orchestrator.language.periods import period_in
from orchestrator.language.slots import read_slots
from orchestrator.language.times import HOURS_OF
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import (
    STOP_WORDS,
    content_stems,
    name_stems,
    name_words,
    stem,
    tokens,
)
from orchestrator.planning.accounting.things_said import Said
from orchestrator.planning.matching.said_for_call import NAMING
from orchestrator.planning.matching.taken import Link, TakenCall, filters_of
from orchestrator.planning.matching.told_apart import dull_stems, stems_of, tells_another
from orchestrator.planning.matching.value_forms import (
    NamedValue,
    folded,
    list_lengths,
    moment_of_text,
    moments_in,
    number_of,
    plain_words,
    scalars,
    stands_in,
)
from orchestrator.planning.rules.answers import DATE
from orchestrator.planning.rules.hours_wanted import is_of_arriving, parts_wanted
from orchestrator.planning.rules.how_many import needs_the_very_one
from orchestrator.planning.rules.parameters import DAYS, Kind, Parameter, tool_parameters
from orchestrator.planning.several import thing_counted

_LISTS: Final = WordLists("matching")
_EARLIEST: Final = _LISTS.word_set("earliest")
_LATEST: Final = _LISTS.word_set("latest")
_ABOUT: Final = _LISTS.word_set("about")
_DENYING: Final = frozenset(content_stems(" ".join(WordLists("accounting").words("negations"))))
_OPENING: Final = frozenset(map(stem, lexicon.CONNECTING))
"""Stems of the words that open what is to be told, and are none of it: saying."""
_ON_BEHALF: Final = _LISTS.word_set("on_behalf")
_PERSONAL_NAMES: Final = _LISTS.word_set("personal_names")
_MINUTES: Final = {word: int(number) for word, number in _LISTS.table("minutes").items()}
_WHOM: Final = frozenset({"name", "place", "addressee"})
"""Kinds that who somebody is may be read as."""
_ARRIVES: Final = _LISTS.word_set("arrives")
_NEAR_MINUTES: Final = 60
"""How far from a time is still about that time."""
_HOURS: Final = frozenset({Kind.TIME, Kind.DATETIME})
_NUMBERS: Final = frozenset({Kind.COUNT, Kind.NIGHTS})
_PROSE: Final = frozenset({Kind.TEXT, Kind.TITLE, Kind.QUERY})
_BEGINS: Final = lexicon.START | lexicon.ORIGIN


@dataclass(frozen=True)
class CallEvidence:
    """All that a call takes, ready to be asked whether it bears something."""

    call: TakenCall

    def bears(self, said: Said, text: str) -> bool:
        """Whether it does; `text` is the clause in which it was said."""
        if self._is_settled_by_people(said):
            return True
        match said.kind:
            case "date":
                return self._bears_day(said) or self._is_within(said, text)
            case "time":
                return self._bears_time(said, text)
            case "amount":
                return self._bears_amount(said, text)
            case "count" | "duration":
                return self._bears_number(said, text) and not self._counts_others(said, text)
            case "thing" | "quality":
                if _is_of_a_time(said, text):
                    return True
                left = self._without_part_of_day(said)
                is_then = not self._is_at_another_hour(said, text)
                return is_then and not tells_another(left, text, self.call)
            case "negation":
                return not self._is_what_is_denied(said)
            case "remark":
                return self._bears_text(said) if _is_quoted(said) else self._says_some_of(said)
        return self._bears_text(said)

    # -- words ------------------------------------------------------------------------------------

    def _bears_text(self, said: Said) -> bool:
        if said.kind == "identifier":
            return any(
                stands_in(str(said.value), str(held.value))
                for held in (*self.call.sent, *self._found, *self._filters)
            )
        wanted = plain_words(str(said.value)) - STOP_WORDS or plain_words(str(said.value))
        if said.kind == "addressee" and not said.is_text:
            # Whom a text names is not told by it.
            told = wanted <= self._addressed
        else:
            told = wanted <= self._words
        if told or wanted <= self._tool_words:
            return True
        return self._is_named_with_its_kind(said, wanted) or self._is_for_somebody_stored(said)

    def _is_named_with_its_kind(self, said: Said, wanted: frozenset[str]) -> bool:
        """Whether it is what was found is called, beside what it is: "the finance team".

        What it is, the tools or the names of its fields say. A word with a capital is of the name;
        and where something else that was found bears all of the words, that one is meant.
        """
        if said.kind not in _WHOM or said.is_text:
            return False
        kinds = {word for word in wanted & {*folded(said.text).split()} if stem(word) in self._dull}
        others = (plain_words(_told(other)) for link in self.call.links for other in link.others)
        name = wanted - kinds
        return bool(name) and name <= self._found_words and not any(wanted <= o for o in others)

    def _says_some_of(self, said: Said) -> bool:
        """Whether the texts that are sent have a word of each part of what is to be told.

        A planner may say it in words of its own: a part that leaves no word was left out.
        """
        texts = [str(held.value) for held in self.call.sent if self._is_prose(held)]
        told = {stem for text in texts for stem in content_stems(text)}
        parts = ({*content_stems(part)} - _OPENING for part in _parts(said.text))
        return not texts or all(told & part for part in parts if part)

    def _is_what_is_denied(self, said: Said) -> bool:
        """Whether the thing that was found is what must not be: "not the Hilton"."""
        denied = {stem for stem in said.stems if stem not in _DENYING}
        return bool(denied) and denied <= self._found_stems

    @cached_property
    def _words(self) -> frozenset[str]:
        texts = [str(h.value) for h in (*self.call.sent, *self._found, *self._filters)]
        return frozenset().union(*map(plain_words, texts))

    @cached_property
    def _addressed(self) -> frozenset[str]:
        """The words of all that is sent and no text, and of what was found."""
        sent = (held for held in self.call.sent if not self._is_prose(held))
        return self._found_words.union(
            *(plain_words(str(h.value)) for h in (*sent, *self._found, *self._filters))
        )

    @cached_property
    def _found_words(self) -> frozenset[str]:
        return frozenset().union(*(plain_words(_told(link.item)) for link in self.call.links))

    @cached_property
    def _dull(self) -> frozenset[str]:
        """Stems of the words for what it is: those of the tools, and of its fields' names."""
        fields = (name_stems(field) for link in self.call.links for field in link.item)
        return dull_stems(self.call).union(*fields)

    @cached_property
    def _found_stems(self) -> frozenset[str]:
        """Stems of the words of what was found, and of the names of what it says yes to."""
        return frozenset().union(*(stems_of(link.item) for link in self.call.links))

    @cached_property
    def _tool_words(self) -> frozenset[str]:
        """The words in which the tool speaks of itself, as a name may: "the Team channel"."""
        texts = (self.call.tool.name, self.call.tool.domain, self.call.tool.summary)
        return frozenset().union(*map(plain_words, texts))

    def _is_for_somebody_stored(self, said: Said) -> bool:
        """Whether a personal value is sent that says for whom it is: of whoever was named.

        Where the vault tells no name, and where somebody is called by what they are ("my wife"),
        that cannot be told, and who decides on the card sees what is sent.
        """
        return self._is_for_somebody(said) and not self.is_another_person(said)

    def _is_for_somebody(self, said: Said) -> bool:
        """Whether it says for whom the call is made, and personal values are sent that do."""
        names = self.call.handles
        is_sent = any(_PERSONAL_NAMES & set(name_words(name)) for name in names)
        return is_sent and said.kind in _WHOM and said.hint in _ON_BEHALF

    def is_another_person(self, said: Said) -> bool:
        """Whether whoever was named is called otherwise than whose values are sent."""
        is_name = said.text[:1].isupper() or "@" in said.text
        if not self._is_for_somebody(said) or not is_name:
            return False
        if "@" in said.text and self.call.people:
            return said.text.casefold() not in map(str.casefold, self.call.people)
        known = frozenset[str]().union(*map(plain_words, self.call.people))
        return bool(known) and not plain_words(str(said.value)) <= known

    # -- days and times ---------------------------------------------------------------------------

    def _bears_day(self, said: Said) -> bool:
        wanted = str(said.value)
        texts = self._telling(DAYS)
        return any(wanted in moments_in(str(h.value), self.call.now).days for h in texts)

    def _is_within(self, said: Said, text: str) -> bool:
        """Whether a day of it lies in the month, or the week, that is said instead of a day."""
        days = [parameter for parameter in self._inputs if parameter.kind in DAYS]
        is_made = not needs_the_very_one(self.call.tool)
        if is_made and (any(p.side == "end" for p in days) or sum(p.required for p in days) > 1):
            return False  # its last day is told, and is the one that was said
        period = period_in(text, now=self.call.now)
        is_told = bool(DATE.match(str(said.value)[:10]))
        if period is not None and is_told and self._bounds_things(said, text):
            return any(map(period.holds, self._days_told()))
        if period is None or is_told or said.text.casefold() not in period.said.casefold():
            return False
        return any(map(period.holds, self._days_told()))

    def _bounds_things(self, said: Said, text: str) -> bool:
        """Whether a day bounds when things are: "due before 5 December", "cancel events after it".

        "Pay the invoice before 5 December" says when it is to be paid.
        """
        if said.hint not in _EARLIEST | _LATEST:
            return False
        reading = read_clause(text)
        before = tokens(text[: said.position])
        led = {*before[: -1 if before[-1:] == [said.hint] else None][-1:]}
        things = {reading.verb, *name_words(self.call.tool.name)}
        deadline = {singular(word) for word in led} & {singular(word) for word in things}
        return reading.action is Action.CANCEL or not deadline

    def _days_told(self) -> Iterator[str]:
        texts = self._telling(DAYS)
        return (day for h in texts for day in moments_in(str(h.value), self.call.now).days)

    def _bears_time(self, said: Said, text: str) -> bool:
        wanted = str(said.value)[:5]
        told = [*self._clocks(self._telling(_HOURS))]
        clocks = [clock for clock, _ in told]
        if wanted in clocks or wanted in self._ends() or any(_is_hour(wanted, c) for c in clocks):
            return True
        # Who wants to leave after six does not mean to arrive after six.
        arrives = is_of_arriving(text[: said.position])
        meant = [c for c, w in told if bool(w & _ARRIVES) is arrives and w & (_BEGINS | _ARRIVES)]
        if said.hint in _EARLIEST:
            return any(clock >= wanted for clock in meant or clocks)
        if said.hint in _LATEST:
            return any(clock <= wanted for clock in meant or clocks)
        near = [abs(_minutes(clock) - _minutes(wanted)) for clock in clocks]
        return said.hint in _ABOUT and any(apart <= _NEAR_MINUTES for apart in near)

    def _without_part_of_day(self, said: Said) -> Said:
        """What is said beside the part of the day in which it begins: "flight" of an evening's."""
        hours = self._hours_of_beginning
        parts = {stem(word) for word in tokens(said.text) if hours & {*HOURS_OF.get(word, ())}}
        return replace(said, stems=tuple(word for word in said.stems if word not in parts))

    def _is_at_another_hour(self, said: Said, text: str) -> bool:
        """Whether it begins in no part of the day that is said: "for lunch", and it is at 19:00."""
        if any(slot.kind == "time" for slot in read_slots(text, now=None)):
            return False  # that tells when it begins
        wanted = {w: p for w, p in parts_wanted(text).items() if w in tokens(said.text)}
        begins = self._hours_of_beginning
        return bool(begins) and any(begins.isdisjoint(hours) for hours in wanted.values())

    @cached_property
    def _hours_of_beginning(self) -> frozenset[int]:
        """The hours in which it begins, those after midnight as of the night before as well."""
        clocks = [*self._clocks(self._telling(_HOURS))]
        begins = [c for c, words in clocks if words & _BEGINS and not words & _ARRIVES]
        meant = begins or [clock for clock, _ in clocks]
        return frozenset(hour for c in meant for hour in (int(c[:2]), int(c[:2]) + 24))

    def _clocks(self, held: Iterable[NamedValue]) -> Iterator[tuple[str, frozenset[str]]]:
        """The times of day, each with the words of what it is called."""
        for one in held:
            for clock in moments_in(str(one.value), self.call.now).clocks:
                yield clock, frozenset(name_words(one.name))

    def _ends(self) -> Iterator[str]:
        """The times at which what begins then is over, for as long as the call says."""
        lengths = [m for held in self.call.sent if (m := self._as_minutes(held)) is not None]
        for clock, _ in self._clocks(self._telling(_HOURS)):
            for minutes in lengths:
                hour, minute = divmod((_minutes(clock) + int(minutes)) % 1440, 60)
                yield f"{hour:02d}:{minute:02d}"

    def _telling(self, kinds: frozenset[Kind]) -> Iterator[NamedValue]:
        """The texts that may tell a value; words in a text prove nothing of an input for it.

        "Meeting from two to four" is the title of a meeting that lasts as long as its inputs say.
        """
        takes = any(parameter.kind in kinds for parameter in self.call.parameters.values())
        for held in (*self.call.sent, *self._found, *self._filters):
            if not isinstance(held.value, str) or _is_bookkeeping(held.name):
                continue
            if not (takes and self._is_prose(held)):
                yield held

    def _is_prose(self, held: NamedValue) -> bool:
        parameter = self.call.parameters.get(held.name.partition(".")[0])
        return parameter is not None and parameter.kind in _PROSE

    # -- numbers ----------------------------------------------------------------------------------

    def _bears_amount(self, said: Said, text: str) -> bool:
        wanted = _money(said)
        if wanted is None:
            return True
        limit, price = limit_of(text, _as_slot(said)), self.call.price
        if limit == "max" and self.call.tool.spends and price is not None:
            return price.currency == wanted.currency and price.amount <= wanted.amount
        if limit == "min" and price is not None:
            return price.currency == wanted.currency and price.amount >= wanted.amount
        return self._states(wanted)

    def _states(self, wanted: Money) -> bool:
        """Whether that very amount stands in it; one without a currency may be in that."""
        bodies: list[JsonValue] = [self.call.arguments]
        bodies += [body for link in self.call.links for body in (link.item, filters_of(link))]
        amounts = [money for body in bodies for money in amounts_in(body)]
        if wanted in amounts or wanted == self.call.price:
            return True
        others = {money.currency for money in amounts if money.amount == wanted.amount}
        if others:
            return False
        numbers = [number_of(held.value) for held in (*self.call.sent, *self._filters)]
        texts = [str(h.value) for h in self.call.sent if isinstance(h.value, str)]
        return wanted.amount in numbers or any(_tells(text, wanted) for text in texts)

    def _bears_number(self, said: Said, text: str) -> bool:
        wanted = number_of(said.value)
        if wanted is None or self._is_what_it_makes(said, text):
            return True
        if said.hint in _MINUTES and self._lasts(wanted * _MINUTES[said.hint]):
            return True
        alike = [n for held in self._counted(said.hint) if (n := number_of(held.value)) is not None]
        if alike:
            return wanted in alike
        numbers = [number_of(held.value) for held in (*self.call.sent, *self._filters)]
        words = {str(said.value), *plain_words(said.text)} - {said.hint}
        texts = self._telling(_NUMBERS)
        return wanted in numbers or any(words & plain_words(str(h.value)) for h in texts)

    def _counts_others(self, said: Said, text: str) -> bool:
        """Whether what is counted tells another thing: "the two sales reports"."""
        if said.hint in STOP_WORDS | lexicon.CONNECTING | lexicon.PEOPLE | {*_MINUTES, ""}:
            return False
        return tells_another(replace(said, stems=(stem(said.hint),)), text, self.call)

    def _is_what_it_makes(self, said: Said, text: str) -> bool:
        """Whether it counts the calls: "two tables", of a tool that reserves a table.

        So it does where no input of the call, nor of a search for its things, is a number.
        """
        if said.kind != "count":
            return False
        is_counted = any(parameter.kind in _NUMBERS for parameter in self._inputs)
        noun = thing_counted(text, said.position) or said.hint
        return not is_counted or stem(singular(noun)) in name_stems(self.call.tool.name)

    def _counted(self, noun: str) -> Iterator[NamedValue]:
        """The numbers that are called by a noun; people are called many things."""
        stems = {stem(singular(noun))} if noun else set()
        is_people = noun in lexicon.PEOPLE
        lists = (h for link in self.call.links for h in list_lengths(link.item))
        for held in (*self.call.sent, *self._found, *self._filters, *lists):
            words = name_words(held.name)
            own = {stem(singular(word)) for word in words}
            if own & stems or (is_people and lexicon.PEOPLE & set(words)):
                yield held

    def _lasts(self, minutes: Decimal) -> bool:
        """Whether two of its moments are so far apart, or a number of it says so."""
        texts = [str(h.value) for h in (*self.call.sent, *self._found, *self._filters)]
        read = [moment_of_text(text, self.call.now) for text in texts]
        moments = [moment for moment in read if moment is not None]
        apart = timedelta(minutes=float(minutes))
        return (
            any(abs(b - a) == apart for a, b in combinations(moments, 2))
            or any(self._as_minutes(held) == minutes for held in self.call.sent)
            or any(abs(b - a) == apart for a, b in combinations(_clocks(self.call.sent), 2))
        )

    def _as_minutes(self, held: NamedValue) -> Decimal | None:
        number = number_of(held.value)
        units = [_MINUTES[w] for w in name_words(held.name) if w in _MINUTES]
        return number * units[-1] if number is not None and units else None

    # -- what it stands on ------------------------------------------------------------------------

    @cached_property
    def _inputs(self) -> tuple[Parameter, ...]:
        """The inputs of the call, and of the searches for its things."""
        finders = [link.finder for link in self.call.links if link.finder is not None]
        return tuple(p for tool in (self.call.tool, *finders) for p in tool_parameters(tool))

    @cached_property
    def _found(self) -> tuple[NamedValue, ...]:
        found: list[NamedValue] = []
        for link in self.call.links:
            found += [*scalars(link.item), *scalars(_flat(link.around))]
        return tuple(found)

    @cached_property
    def _filters(self) -> tuple[NamedValue, ...]:
        """What the things were searched by, unless they say otherwise themselves."""
        return tuple(
            held
            for link in self.call.links
            for held in scalars(filters_of(link))
            if not _says_otherwise(link, held)
        )

    def _is_settled_by_people(self, said: Said) -> bool:
        """Whether people gave, for an input of that kind, what is sent.

        An id that they gave with the goal still stands for what it stands for; what they chose from
        what was found, they know.
        """
        if any(self._stands_for_a_thing(name) for name in self.call.chosen_by_people):
            return True
        named = {name for name in self.call.given_by_people if not self._stands_for_a_thing(name)}
        values = [self.call.arguments[name] for name in named | self.call.chosen_by_people]
        return any(_is_of_kind(said, value, self.call.now) for value in values)

    def _stands_for_a_thing(self, name: str) -> bool:
        value = self.call.arguments[name]
        return any(value in link.item.values() for link in self.call.links)


def _says_otherwise(link: Link, asked: NamedValue) -> bool:
    """Whether a thing has, under the name of a filter, another value than was searched for."""
    own = link.item.get(asked.name)
    if own is None or isinstance(own, dict | list) or isinstance(asked.value, bool):
        return False
    if isinstance(own, str) and isinstance(asked.value, str):
        return not plain_words(asked.value) <= plain_words(own)
    return False  # what is left of a thing, and how much of it is wanted, often bear one name


def _flat(fields: JsonObject) -> JsonObject:
    return {name: value for name, value in fields.items() if not isinstance(value, dict | list)}


def _told(item: JsonObject) -> str:
    """All that a thing says of itself, as one text."""
    return " ".join(str(held.value) for held in scalars(item))


def _is_bookkeeping(name: str) -> bool:
    return bool(lexicon.BOOKKEEPING & set(name_words(name.rpartition(".")[2])) - {"at"})


def _is_of_kind(said: Said, value: JsonValue, now: datetime) -> bool:
    if said.kind in ("count", "amount", "duration"):
        return number_of(value) is not None or isinstance(value, dict)
    if not isinstance(value, str):
        return isinstance(value, list) and said.kind in NAMING
    told = moments_in(value, now)
    if said.kind == "date":
        return bool(told.days)
    if said.kind == "time":
        return bool(told.clocks)
    return not told.days and not told.clocks and said.kind in NAMING


def _money(said: Said) -> Money | None:
    value = said.value
    if not isinstance(value, dict):
        return None
    return Money(amount=Decimal(str(value["amount"])), currency=str(value["currency"]))


def _tells(text: str, wanted: Money) -> bool:
    return any(number_of(word) == wanted.amount for word in text.replace(",", "").split())


def _is_hour(wanted: str, clock: str) -> bool:
    """Whether a time is that hour, of which nobody said in which half of the day it is."""
    return wanted.isdigit() and clock[3:5] == "00" and (int(clock[:2]) - int(wanted)) % 12 == 0


def _minutes(clock: str) -> int:
    return int(clock[:2]) * 60 + int(clock[3:5])


def _clocks(sent: Iterable[NamedValue]) -> list[timedelta]:
    texts = (h.value for h in sent if isinstance(h.value, str))
    return [timedelta(minutes=_minutes(t)) for t in texts if len(t) in (5, 8) and t[2:3] == ":"]


def _as_slot(said: Said) -> Slot:
    return Slot(kind="amount", value=said.value, text=said.text, position=said.position)


def _parts(text: str) -> Iterator[str]:
    """A text between its joints: what is said first, and each thing that is said as well."""
    at = 0
    for start, end in joints(text):
        yield text[at:start]
        at = end
    yield text[at:]


def _is_of_a_time(said: Said, text: str) -> bool:
    """Whether it only tells the half of the day of a time: "at three in the afternoon"."""
    part = HOURS_OF.get(said.text.casefold(), range(0))
    times = (str(s.value) for s in read_slots(text, now=None) if s.kind == "time" and s.value)
    return any(int(at[:2]) in part for at in times)


def _is_quoted(said: Said) -> bool:
    """Whether it is written between quotation marks, as what a thing is called."""
    return said.text != said.value
