"""As what a path takes up one thing that is said: an input, a choice, a text, or not at all."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from orchestrator.catalog.stated_prices import names_price
from orchestrator.catalog.tool import Tool
from orchestrator.json_schema.walker import properties_of, walk
from orchestrator.language import lexicon
from orchestrator.language.anaphora import POINTING_STEMS
from orchestrator.language.bounds import limit_of
from orchestrator.language.changes_said import change_said
from orchestrator.language.clause_reading import ClauseReading, told_thing_start
from orchestrator.language.coordination import coordinated, joined_spans
from orchestrator.language.deeds import is_vague, other_deed
from orchestrator.language.durations import MINUTES
from orchestrator.language.guests import guests_span
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action, Slot
from orchestrator.language.negation import exclusions
from orchestrator.language.quantifiers import place_in
from orchestrator.language.slots import read_slots
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.times import HOURS_OF, hourless
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import (
    QUESTION_WORDS,
    content_stems,
    is_verb,
    name_stems,
    name_words,
    stem,
    tokens,
)
from orchestrator.planning.accounting.filling import choices_too_many, filled, texts_too_many
from orchestrator.planning.accounting.grounds import (
    explained,
    held_by,
    of_tools,
    spoken_of,
    takes,
    unexplained,
)
from orchestrator.planning.accounting.paths import Path
from orchestrator.planning.accounting.things_said import RELATIVE, Said
from orchestrator.planning.named_documents import (
    NamedDocument,
    documents_named,
    without_documents,
)
from orchestrator.planning.order_deeds import is_asked_for_by, is_called, named
from orchestrator.planning.rules.answers import answer_fields, answers_price
from orchestrator.planning.rules.changed_fields import takes_change
from orchestrator.planning.rules.how_many import needs_the_very_one
from orchestrator.planning.rules.narrowing import excepts
from orchestrator.planning.rules.parameters import CLOCKS, DAYS, Kind, Parameter, tool_parameters
from orchestrator.planning.rules.parts import refers_back
from orchestrator.saga.served import Order

_AND: Final = re.compile(r"(?:,|\b(?:and|plus)|&)\s+(?:(?:also|then)\s+)?$", re.IGNORECASE)
_AND_ONE: Final = re.compile(
    r"(?:,|\b(?:and|plus)|&)\s+(?:also\s+)?(?:an?|the|my|our|some|another)\s+$", re.IGNORECASE
)
_ONE_AND: Final = re.compile(
    r"\b(?:an?|one)\s+(?P<one>[\w-]+(?:\s+[\w-]+)?)\s*(?:,|\band\b|\bplus\b|&)\s*(?:and\s+)?$",
    re.IGNORECASE,
)
_AND_A_THING: Final = re.compile(r"\s*(?:,|\band\b|\bplus\b|&)\s*(?:and\s+)?an?\s+[a-z]", re.I)
_FEATURE: Final = re.compile(
    r"\b(?:with|without|near|by|beside|including|has|have)\s+(?:an?\s+|the\s+)?(?:[\w'-]+\s*){1,3}$",
    re.IGNORECASE,
)
_DONE_TO: Final = re.compile(r"\s+(?:my|our|the|an?|him|her|them|it)\b", re.IGNORECASE)
_SPELT_OUT: Final = re.compile(r":\s|\b(?:about|called|titled|named)\s", re.IGNORECASE)
"""What follows is written as it is said."""
_NAMED: Final = re.compile(r"\s*\b(?:called|titled|named)\s", re.IGNORECASE)
_ANOTHER_NAMED: Final = re.compile(
    r"(?:,|\b(?:and|plus)|&)\s+(?:(?:also|then)\s+)?(?:an?|another|one)\s+(?:[\w-]+\s+){0,3}?"
    r"(?:called|titled|named)\s",
    re.IGNORECASE,
)
"""What follows is the name of another thing than the one that was named before."""
_KNOWN_ALREADY: Final = re.compile(
    r"\b(?:the|my|our|your|his|her|their|this|that|these|those)\s+(?:[\w-]+\s+){0,3}$",
    re.IGNORECASE,
)
_BOUNDS: Final = WordLists("matching").word_set("earliest") | WordLists("matching").word_set(
    "latest"
)
_ANY: Final = re.compile(r"\b(?:an?|some|any|another)\s+(?:[\w-]+\s+){0,2}$", re.IGNORECASE)
_IN_CHANNEL: Final = re.compile(r"\s+(?:in|on|at|of)\s+#\w", re.IGNORECASE)
_FOR_WHOM: Final = WordLists("matching").word_set("on_behalf")
_CODES: Final = frozenset({Kind.OTHER, Kind.IDENTIFIER})
_UNITS: Final = WordLists("dates").word_set("units") | {"time", "hour", "evening", "morning"}
_UNTIL: Final = lexicon.END_HINTS | {"to"}
_EACH: Final = frozenset({"all", "both", "each", "every", "everything"})
_CHOSEN: Final = "chooses among what is found"
_MATCHED: Final = "to be matched with what is found"
_PER_UNIT: Final = re.compile(
    r"\s*(?:/\s*|(?:a|per|every|each)\s+)(?:head|person|guest|night|day|week|month|year|hour|km|mile)\b",
    re.IGNORECASE,
)
_MEASURED: Final = frozenset({"date", "time", "amount", "quantity"})
_LEFT_OUT: Final = "left out of what is found"
_NEGATING: Final = frozenset(content_stems(" ".join(WordLists("accounting").words("negations"))))
_OF_THE_SAME: Final = re.compile(r"\b(?:ones?|that|those)\b", re.IGNORECASE)
"""What says that an exception is of the kind of what is ordered: "except the one about rent"."""
_MOST_LEVELS: Final = 8
_MAKE: Final = "create"
_INSIDE: Final = ("items", "properties", "$defs", "allOf", "anyOf", "oneOf")
_DENYING: Final = frozenset({"negation", "correction", "condition"})
_WORDS: Final = frozenset({"thing", "quality", "name", "addressee", "place", "identifier"})
"""Kinds that are told by their words, which what is found may have."""
_AT: Final = re.compile(r"\s+(?:at|on|via)\s+\S+@", re.IGNORECASE)
"""What follows a name whose address is said."""
_WHO: Final = frozenset({"addressee", "name", "place"})
_DAYS_TOLD: Final = ("date", "date-time")


@dataclass(frozen=True)
class Taken:
    """A clause, and the path that it is taken by."""

    clause: ClauseReading
    path: Path
    order: Order | None = None
    values: Mapping[int, str] = field(default_factory=dict)
    """Where each of its days, times and places goes, by position."""
    time_at: int = -1
    """Where its first time of day stands."""
    is_one_leg: bool = False
    """Whether a single leg does all that it orders."""
    too_many: frozenset[int] = frozenset()
    """Where texts stand that no input is left for."""
    beyond: frozenset[int] = frozenset()
    """Where listed values stand of which another one is taken."""

    @classmethod
    def of(
        cls,
        clause: ClauseReading,
        path: Path,
        order: Order | None,
        said: Iterable[Said],
        *,
        is_one_leg: bool = False,
    ) -> "Taken":
        """A clause that says these things."""
        stated = tuple(said)
        times = (one.position for one in stated if one.kind == "time")
        values = filled(stated, path.grounds.inputs)
        repeats = order is not None and order.count > 1
        too_many = () if repeats else texts_too_many(stated, path.grounds.inputs)
        single = order is not None and not repeats
        beyond = choices_too_many(clause.text, stated, path.grounds.inputs) if single else ()
        first = next(times, -1)
        return cls(
            clause, path, order, values, first, is_one_leg, frozenset(too_many), frozenset(beyond)
        )

    def use(self, said: Said) -> str:
        """As what it takes a thing up; empty when it does not."""
        if (document := self._document_named_by(said)) is not None:
            return f"the document {document}"
        if changed := self._changed_by(said):
            return changed
        if said.hint == RELATIVE or said.position in self.beyond:
            return ""
        if said.position in self.too_many:
            return self._as_found(said)
        if self._guests and self._guests[0] <= said.position < self._guests[1]:
            return self._as_guest(said)
        if said.kind not in _DENYING and (given := held_by(said, self.path.grounds)):
            return given
        before = self.clause.text[: said.position]
        if self.path.writes is not None and (spelt := _SPELT_OUT.search(before)):
            if said.kind in _WORDS and _ANOTHER_NAMED.search(before, spelt.end()):
                return ""
            written = self._as_written(said, self.path.writes)
            return self.values.get(said.position) or written or self._as_end(said)
        if self.order is not None and self.order.count > 1 and self._is_further(said):
            return f"{self.order.count} times"
        match said.kind:
            case "verb":
                return self._as_deed(said)
            case "count":
                return self._as_count(said) or self._as_audience(said)
            case "amount":
                return self._as_amount(said)
            case "negation":
                return self._as_ruled_out(said)
            case "correction" | "condition":
                return ""
            case "thing" if self._is_of_another_kind(said):
                return ""
            case "thing" | "quality" if self._is_told_as_well(said):
                return ""
            case "thing" | "quality" if self._is_what_was_told(said):
                return "what was found or done before"
            case "thing" if self._is_strange(said):
                return self._as_part_of_day(said) or self._as_text(said) or self._as_search(said)
            case "date" | "time" | "place" if self.order is not None and self.order.count > 1:
                return self.values.get(said.position) or f"{self.order.count} times"
        return (
            self._as_value(said)
            or self._as_part_of_day(said)
            or self._as_text(said)
            or self._as_found(said)
        )

    def _is_further(self, said: Said) -> bool:
        """Whether it is the word by which the clause goes on about one more: "and another"."""
        found = coordinated(self.clause.text)
        if found is None or not found.is_ellipsis:
            return False
        return any(a <= said.position < b for a, b in joined_spans(self.clause.text))

    def _changed_by(self, said: Said) -> str:
        """The input that takes it as a part of what a field is to become."""
        change = change_said(self.clause.text)
        if change is None or not change.start <= said.position < change.end:
            return ""
        made = [tool for tool in self.path.targets if tool.is_side_effect]
        taken = ((takes_change(change, tool_parameters(tool)), tool.name) for tool in made)
        return next((f"{name} of {tool}" for name, tool in taken if name), "")

    def _document_named_by(self, said: Said) -> str | None:
        """The document of the path's own tools that a thing names: "in Firefly"."""
        return next((d.document for d in self._documents if d.start <= said.position < d.end), None)

    @cached_property
    def _documents(self) -> tuple[NamedDocument, ...]:
        return documents_named(self.clause.text, self.path.targets)

    @cached_property
    def _guests(self) -> tuple[int, int] | None:
        return guests_span(self.clause.text)

    def _as_guest(self, said: Said) -> str:
        """Whom what is ordered is made with, by an input that takes such; no title tells them."""
        if said.kind in _WHO and "@" not in said.text and not _AT.match(self.clause.text, said.end):
            return ""
        inputs = self.path.grounds.inputs
        return next((w for w, p in inputs if (p.element or p).kind is Kind.EMAIL), "")

    def _as_part_of_day(self, said: Said) -> str:
        """What tells the half of the day of a time: "at half past seven in the evening".

        Where no time is said, the hour is asked for when the call is prepared.
        """
        at = hourless(self.clause.text) if self.order is not None else None
        if not {*tokens(said.text)} <= {*HOURS_OF, "first", "thing"}:
            return ""
        if at is not None and at[0] <= said.position < at[1]:
            return next((w for w, p in self.path.grounds.inputs if p.kind in CLOCKS), "")
        return self.values.get(self.time_at, "")

    def _as_audience(self, said: Said) -> str:
        """All who read what a channel is told: "everyone in #general"."""
        is_told = self.clause.action is Action.SEND
        return _MATCHED if is_told and _IN_CHANNEL.match(self.clause.text, said.end) else ""

    def _is_strange(self, said: Said) -> bool:
        """Whether what is ordered is a thing that no tool of the path deals in: "a train ticket".

        What is known already ("the budget", "my standup") is told by what is found, and so is what
        says which one of a kind is wanted ("a quiet room").
        """
        before = self.clause.text[: said.position]
        if self.order is None or _KNOWN_ALREADY.search(before):
            return False
        # "Pay office plants": of what is there already, it is the one that says so.
        ends = bool(self.path.targets) and all(map(needs_the_very_one, self.path.targets))
        if ends and self.path.finds is not None and not _ANY.search(before):
            return False
        strange = unexplained(said, self.path.grounds)
        head = said.stems[-1:]
        return bool(strange) and (strange[-1:] == head or any(map(synonyms_of, strange)))

    def _is_what_was_told(self, said: Said) -> bool:
        """Whether what is sent is the answer before it: "email the results to Bo", "its name"."""
        is_sent = self.clause.action is Action.SEND and refers_back(self.clause.text)
        told = told_thing_start(self.clause.text)
        is_its = told is not None and said.position > told
        return is_sent and (is_its or lexicon.REFERENCES.issuperset(tokens(said.text)))

    def _is_told_as_well(self, said: Said) -> bool:
        """Whether it is somebody who is told the same: "the team and the travel channel"."""
        joined = _AND_ONE.search(self.clause.text[: said.position])
        if joined is None or self.clause.action is not Action.SEND:
            return False
        end = len(self.clause.text[: joined.start()].rstrip())
        told = (s for s in read_slots(self.clause.text, now=None) if s.kind in (*_WHO, "email"))
        return any(slot.position + len(slot.text) == end for slot in told)

    def _is_of_another_kind(self, said: Said) -> bool:
        """Whether it says what is to be made, which has a name of its own, and no tool makes such.

        "A card called Paint" is no board, and "card" no part of a name.
        """
        named = _NAMED.search(self.clause.text, said.position)
        if self.order is None or named is None:
            return False
        between = self.clause.text[said.position : named.start()]
        between = without_documents(between, documents_named(between, self.path.targets))
        if len(between) > len(said.text):
            return False
        kind = content_stems(between)[-1:]
        return bool(unexplained(replace(said, stems=tuple(kind)), self.path.grounds))

    def _as_deed(self, said: Said) -> str:
        """The verb of an order, where a tool does such a thing, whatever it calls that."""
        verb = self.clause.verb
        for tool in self.path.targets:
            own, action = named(tool)
            reads = not tool.is_side_effect and not self.clause.asks_side_effect
            alike = reads or (action is self.clause.action and action is not Action.UNKNOWN)
            if is_called(tool, verb) or (alike and not other_deed(verb, own)):
                return f"the tool {tool.name}"
            if is_vague(verb) or verb in QUESTION_WORDS or is_asked_for_by(tool, verb):
                return f"the tool {tool.name}"
        if self.path.targets and all(_is_other_deed(verb, tool) for tool in self.path.targets):
            return ""
        # To restart a thing is to make none, however near a tool's words are.
        may_be = is_verb(verb) and self.clause.action is not Action.EXECUTE
        if self.order is not None and self.order.tools and may_be and self.path.targets:
            return f"the tool {self.path.targets[0].name}"
        return explained(said, self.path.grounds)

    def _as_end(self, said: Said) -> str:
        """When it ends, by how long it lasts: "from 14:00 to 15:30"."""
        if said.kind != "time" or said.hint not in _UNTIL or self.time_at in (-1, said.position):
            return ""
        inputs = self.path.grounds.inputs
        return next((w for w, p in inputs if {*p.words} & {*MINUTES, "duration"}), "")

    def _as_value(self, said: Said) -> str:
        if said.kind == "time" and said.position not in self.values:
            return self._as_end(said)
        if said.kind in ("date", "time", "place"):
            found = self.values.get(said.position, "") or self._as_day_found(said)
            return found or self._as_day_of_an_expense(said)
        return explained(said, self.path.grounds) or self._as_code(said)

    def _as_code(self, said: Said) -> str:
        """A code that an order is for, or is about, by the one needed input that takes it."""
        if said.kind != "identifier" or said.hint not in {*_FOR_WHOM, self.clause.verb}:
            return ""
        own = of_tools(self.path.targets).inputs
        needed = [(w, p) for w, p in own if p.required and p.kind in _CODES]
        taking = [where for where, parameter in needed if parameter.accepts(said.value)]
        return taking[0] if len(taking) == 1 else ""

    def _as_day_of_an_expense(self, said: Said) -> str:
        """A day behind an amount, where what that was for is written: "12 EUR for lunch today"."""
        written = self.path.writes
        if written is None or said.kind != "date" or self._fills_days or not self._lists_amounts:
            return ""
        slots = read_slots(self.clause.text, now=None)
        paid = any(slot.kind == "amount" and slot.position < said.position for slot in slots)
        return f"{written.name} that is written" if paid else ""

    @cached_property
    def _lists_amounts(self) -> bool:
        """Whether what is ordered takes a list of things with what each costs."""
        elements = (p.element for _, p in self.path.grounds.inputs if p.element is not None)
        return any(f.kind in (Kind.AMOUNT, Kind.MONEY) for e in elements for f in e.fields)

    def _as_day_found(self, said: Said) -> str:
        """A day of what is there already and is told by it, where nothing is searched by days."""
        ends = bool(self.path.targets) and all(map(needs_the_very_one, self.path.targets))
        is_told = ends and said.kind == "date" and not self._fills_days and self._tells_days
        return _MATCHED if is_told else ""

    @cached_property
    def _fills_days(self) -> bool:
        return any(p.kind in DAYS for _, p in self.path.grounds.inputs)

    @cached_property
    def _tells_days(self) -> bool:
        schema = self.path.finds.output_schema if self.path.finds else None
        parts = walk(schema or {}, _INSIDE, most_levels=_MOST_LEVELS)
        return any(part.get("format") in _DAYS_TOLD for part in parts)

    def _as_text(self, said: Said) -> str:
        """What is written as it is said: a title, a description; what is sent is told apart."""
        written = self.path.writes
        if written is None or said.kind not in _WORDS or self.clause.action is Action.SEND:
            return ""
        return f"{written.name} that is written"

    def _as_written(self, said: Said, written: Parameter) -> str:
        """A part of what is written; a day or a time is none where an input takes such values."""
        takes_them = any(takes(said, p) for _, p in self.path.grounds.inputs)
        is_value = said.kind in ("date", "time") and takes_them
        return "" if is_value else f"{written.name} that is written"

    def _as_search(self, said: Said) -> str:
        """What is searched for by words, of which there may be anything at all."""
        found = self.path.grounds.inputs if self.path.finds is not None else ()
        return next((where for where, p in found if p.kind is Kind.QUERY), "")

    def _as_found(self, said: Said) -> str:
        """What is told by the things that a tool of the path lists."""
        if said.kind == "time" and said.hint in _BOUNDS and self._finds_moments:
            return _MATCHED
        if self.path.finds is None or said.kind not in _WORDS or self._is_another(said):
            return ""
        words = {*tokens(said.text)}
        prefers = words & lexicon.PREFERENCES or {*said.stems} <= POINTING_STEMS
        return _CHOSEN if prefers else _MATCHED

    @cached_property
    def _finds_moments(self) -> bool:
        """Whether what is found says at what time it is."""
        schema = self.path.finds.output_schema if self.path.finds else None
        parts = walk(schema or {}, _INSIDE, most_levels=_MOST_LEVELS)
        names = ({*name_words(name)} for part in parts for name in properties_of(part))
        return any(n & lexicon.TIME and not n & (lexicon.BOOKKEEPING - {"at"}) for n in names)

    def _is_another(self, said: Said) -> bool:
        """Whether it is joined to what is ordered as another order: "and a taxi", "and walk Rex".

        Of two things that one preposition introduces ("with a pool and a sauna") both are features.
        """
        before, after = self.clause.text[: said.position], self.clause.text[said.end :]
        joined = _AND_ONE.search(before)
        if joined is not None:
            return not _FEATURE.search(before[: joined.start()])
        return bool(_AND.search(before) and _DONE_TO.match(after))

    def _as_ruled_out(self, said: Said) -> str:
        """What is not wanted of what is found, where that tells it: by a name, by a listed value.

        "Not the Hofner", "except the one in Rome", "no suite". Of anything else nobody knows
        whether what is taken is so.
        """
        if self.order is None or self.path.finds is None:
            return ""
        if self.order.is_all and excepts(said.text) and _OF_THE_SAME.search(said.text):
            return _LEFT_OUT  # what nothing that was found bears is asked about then
        spans = ((e.start, e.end, e.thing) for e in exclusions(self.clause.text))
        thing = next((t for start, end, t in spans if start < said.end and said.position < end), "")
        values = {slot.kind for slot in read_slots(thing, now=None)}
        if place_in(f"the {thing}") is not None or values & _MEASURED:
            return ""
        denied = {word for word in said.stems if word not in _NEGATING}
        names = {s for w in thing.split() if w[:1].isupper() for s in content_stems(w)}
        told = names | self._listed_values
        whole = {*content_stems(thing)}
        return _LEFT_OUT if denied and denied <= whole and whole <= told else ""

    @cached_property
    def _listed_values(self) -> frozenset[str]:
        """Stems of the values that the document of what is found lists, and of its yes-or-no."""
        schema = self.path.finds.output_schema if self.path.finds else None
        told: list[str] = []
        for part in walk(schema or {}, _INSIDE, most_levels=_MOST_LEVELS):
            listed = part.get("enum")
            told += [v for v in listed if isinstance(v, str)] if isinstance(listed, list) else []
            flags = properties_of(part).items()
            told += [name for name, inner in flags if inner.get("type") == "boolean"]
        return frozenset(word for value in told for word in name_stems(value))

    def _as_count(self, said: Said) -> str:
        """A number by the input that counts it; a word for several, as how often it is done."""
        if isinstance(said.value, str):
            return self._as_each(said)
        place = place_in(self.clause.text) if self.path.finds is not None else None
        if place is not None and said.text in place.said:
            return _CHOSEN
        if said.position in self.values:
            return "" if self._counts_another(said) else self.values[said.position]
        if said.hint in lexicon.NIGHTS | lexicon.WEEKS and self._has_end():
            return "how long it lasts"
        if said.hint in MINUTES and self._has_end(CLOCKS):
            return "how long it lasts"
        if self.order is not None and self.order.count > 1:
            # "Two cars, one automatic and one manual" are not two of the same.
            is_other = self.is_one_leg and said.value != self.order.count
            return "" if is_other else f"{self.order.count} times"
        if "-" in said.text:  # "a one-way flight", "a three-star hotel"
            return spoken_of(said, self.path.grounds) or (_MATCHED if self.path.finds else "")
        if said.value == 1 and self._is_made(said.hint):
            return "one of them"
        return spoken_of(said, self.path.grounds) if said.hint in lexicon.COUNTED else ""

    def _counts_another(self, said: Said) -> bool:
        """Whether it counts what is joined to one of something else: "a pizza and two salads"."""
        if said.hint in lexicon.PEOPLE | lexicon.NIGHTS | lexicon.WEEKS | {*MINUTES, ""}:
            return False
        joined = _ONE_AND.search(self.clause.text[: said.position])
        one = content_stems(joined["one"])[-1:] if joined else []
        things = {stem(word) for thing in self.clause.objects for word in tokens(thing)}
        return (bool(one) and {*one} <= things) or bool(
            _AND_A_THING.match(self.clause.text, said.end)
        )

    def _as_each(self, said: Said) -> str:
        """What "all" and "each" are of: what is found, unless it is some stretch of time."""
        if not {*tokens(said.text)} & _EACH:
            return spoken_of(said, self.path.grounds)
        following = tokens(self.clause.text[said.end :])[:1]
        is_time = {*following} & (lexicon.NIGHTS | lexicon.WEEKS | _UNITS)
        return "" if self.path.finds is None or is_time else "each of what is found"

    def _is_made(self, noun: str) -> bool:
        """Whether it is what a tool of the path is named for: "one table"."""
        return any(stem(singular(noun)) in name_stems(tool.name) for tool in self.path.targets)

    def _has_end(self, kinds: frozenset[Kind] = DAYS) -> bool:
        inputs = [p for _, p in self.path.grounds.inputs]
        return any(p.kind in kinds and p.side == "end" for p in inputs)

    def _as_amount(self, said: Said) -> str:
        """Money by the input that takes it; a most or a least also by what things cost."""
        if _PER_UNIT.match(self.clause.text, said.end):
            return ""  # "40 EUR a head": what things cost is told as a whole
        at = Slot(kind="amount", value=said.value, text=said.text, position=said.position)
        is_bound = limit_of(self.clause.text, at) is not None or said.hint in lexicon.MOST_HINTS
        for where, parameter in self.path.grounds.inputs:
            if takes(said, parameter) and (is_bound or parameter.bound is None):
                return where
        finds = self.path.finds
        priced = finds is not None and (
            answers_price(finds) or any(map(names_price, answer_fields(finds)))
        )
        return "the most that is paid" if is_bound and priced else ""


def _is_other_deed(verb: str, tool: Tool) -> bool:
    """Whether a tool is known to do something else; one that is named by no verb makes things."""
    own, action = named(tool)
    if action is Action.UNKNOWN and tool.method == "POST" and not is_verb(own):
        is_named = any(word.startswith(stem(verb)) for word in name_stems(tool.name))
        return not is_named and other_deed(verb, _MAKE)
    return other_deed(verb, own)
