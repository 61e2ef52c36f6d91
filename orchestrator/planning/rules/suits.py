"""How well a value or phrase of a clause suits an input, and the forms in which it is passed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog import money
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core import budget
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of
from orchestrator.language import lexicon
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import QUESTION_WORDS, content_stems, is_any_change, stem
from orchestrator.planning.rules.clause import CALLED, LEADS, Candidate, Clause
from orchestrator.planning.rules.parameters import (
    DAYS,
    MONEY,
    TEXTS,
    Kind,
    Leaf,
    Parameter,
    as_typed,
    moment_at,
    units_of,
)
from orchestrator.planning.rules.tool_words import (
    id_nouns,
    is_in_path,
    nouns_of,
    own_words,
    verb_of,
    verbs_of,
)

_LISTS: Final = WordLists("rules")
END_CUES: Final = _LISTS.word_set("end_cues")
_PLACE_CUES: Final = frozenset({"in", "at", "near", "around"})
_WAYS: Final = frozenset({"from", "to", "into", "between"})
_MOST_DAYS: Final = 100_000
_MOMENTS: Final = {Kind.DATE: "date", Kind.DATETIME: "datetime", Kind.TIME: "time"}
_INDEFINITE: Final = frozenset({"something", "anything", "nothing", "one", "message", "note"})
_FOR_A_PLACE: Final = re.compile(
    rf"\bfor an? (?:{'|'.join(sorted(lexicon.PLACE_DESCRIBED))})\b", re.IGNORECASE
)
"""Wording of a tool's summary with which "for Bergen" means a place, not a person."""
_LIMITING: Final = frozenset({"before", "after", "since", "until", "till", "by"})
_BEYOND: Final = {
    "start": frozenset({"before", "until", "till", "by"}),
    "end": frozenset({"after", "since"}),
}
"""Words before a moment with which it is not that end of a stretch."""
_ELSEWHERE: Final = frozenset({"to", "into", "from", "in", "at", "by", "until"})
_EVERYBODY: Final = frozenset(["everyone", "everybody", "someone", "somebody", "nobody", "others"])
TELLING: Final = _LISTS.word_set("telling")
"""Verbs whose object is the person informed, not the text."""
NAMED: Final = "\0named"
_NAME_CUES: Final = frozenset({"", "for", "from", "by", "of", "customer", *CALLED})
_HOW_MANY: Final = frozenset(stem(word) for word in lexicon.HOW_MANY)
_PEOPLE: Final = frozenset(stem(word) for word in lexicon.PEOPLE)
_PREFERRED: Final = lexicon.CHEAPEST | lexicon.BEST_RATED | lexicon.NEWEST | lexicon.OLDEST
_CHOOSING: Final = frozenset(map(stem, _PREFERRED | _LISTS.word_set("ordering")))
_NO_NOUNS: Final = LEADS | {"", "tomorrow", "today", "tonight"}
_UNITS_OF_TIME: Final = {
    "second": 1 / 60,
    "minute": 1,
    "hour": 60,
    "night": 1440,
    "day": 1440,
    "week": 10080,
}
"""Minutes per unit; an input's unit is the first that its texts mention."""


@dataclass(frozen=True)
class Suits:
    """Scores the candidates of one clause for the inputs of one tool."""

    tool: Tool
    clause: Clause
    leaves: Sequence[Leaf]

    @cached_property
    def words(self) -> frozenset[str]:
        """The stems of the tool's own words."""
        return own_words(self.tool)

    def score(self, leaf: Leaf, candidate: Candidate) -> float:
        """Return how well a candidate suits an input; 0 if it cannot be its value."""
        parameter, named = leaf.parameter, 6.0 if candidate.cue == NAMED else 0.0
        if candidate.kind in ("time", "date") and parameter.is_code(candidate.value):
            return 6.0 + named
        is_number = parameter.schema.get("type") in ("integer", "number")
        kind = parameter.kind
        if is_number and kind in (Kind.COUNT, Kind.OTHER) and is_in_path(self.tool, parameter.name):
            kind = Kind.IDENTIFIER
        score = _SCORES.get(kind)
        return score(self, leaf, candidate, named) if score is not None else 0.0

    def _email_score(self, leaf: Leaf, candidate: Candidate, named: float) -> float:
        if candidate.kind != "email":
            return 0.0
        if not named and self.tool.is_side_effect:
            words = {*leaf.parameter.words}
            is_sender = not words.isdisjoint(lexicon.ORIGIN)
            if not words.isdisjoint(lexicon.COPIES) or (candidate.cue == "from") != is_sender:
                return 0.0
        return 8.0 + named

    def _moment_score(self, leaf: Leaf, candidate: Candidate, named: float) -> float:
        parameter = leaf.parameter
        if candidate.kind != _MOMENTS[parameter.kind]:
            return 0.0
        if parameter.side is not None and candidate.cue in _BEYOND[parameter.side]:
            return named
        if parameter.kind is Kind.DATETIME:
            return 8.0 + named
        is_day, cue = parameter.kind is Kind.DATE, candidate.cue
        earlier = [c for c in self.clause.of_kind(candidate.kind) if c.end <= candidate.start]
        between = self.clause.text[earlier[-1].end : candidate.start].strip() if earlier else ""
        ends = cue in END_CUES or candidate.noun in {stem(word) for word in END_CUES}
        is_later = bool(earlier) and (ends or between in ("-", "\u2013", "\u2014", "to"))
        role = "end" if is_later or cue in ("until", "till", "by") else "start"
        if is_day and cue in _LIMITING and parameter.side != "end":
            return named
        if parameter.side == role:
            return 8.0 + named
        alike = DAYS if is_day else {Kind.TIME}
        is_only = sum(one.parameter.kind in alike for one in self.leaves) == 1
        if parameter.side is not None and not is_only:
            return named
        return (6.0 if role == "start" and parameter.side is None else 4.0) + named

    def _count_score(self, leaf: Leaf, candidate: Candidate, named: float) -> float:
        parameter = leaf.parameter
        words = {stem(word) for word in parameter.words}
        if candidate.kind == "duration":
            # "Ban Ben for 7 days" says nothing of `delete_message_seconds`.
            of = words - {*map(stem, _UNITS_OF_TIME), "durat", "length", "period"}
            said = {word.stem for word in self.clause.words}
            is_plain = not of or bool(of & (said | verbs_of(self.tool) | nouns_of(self.tool)))
            is_meant = leaf.required or named or is_plain
            return 7.0 if is_meant and duration_value(parameter, candidate) is not None else 0.0
        if candidate.kind != "number":
            return 0.0
        if parameter.kind is Kind.NIGHTS and candidate.after in ("night", "day"):
            return 8.0
        if candidate.after in words - _HOW_MANY or named:
            return 8.0
        verb = self.clause.verb_index
        behind_verb = {word.start for word in self.clause.words[verb + 1 : verb + 2]}
        of_people = not lexicon.PEOPLE.isdisjoint(parameter.words)
        if of_people and candidate.after in _PEOPLE:
            return 7.0
        if of_people and candidate.cue == "for" and candidate.after in _NO_NOUNS:
            return 5.0
        if words & _HOW_MANY and candidate.after and candidate.after in self.words:
            return 5.0
        if words & _HOW_MANY and candidate.start in behind_verb:
            return 4.0
        return 0.0

    def _amount_score(self, leaf: Leaf, candidate: Candidate, named: float) -> float:
        parameter = leaf.parameter
        limit = self.clause.bound_of(candidate)
        bound = limit[0] if limit is not None else None
        if candidate.kind == "amount":
            codes = [*codes_of(candidate.value if isinstance(candidate.value, dict) else {})]
            leaves = [one for one in self.leaves if one.parameter.kind is Kind.CURRENCY]
            taken = [one.parameter.first_accepted(*codes) for one in leaves]
            if codes and taken and not any(taken):
                return 0.0
            if parameter.bound is not None:
                return 8.0 if parameter.bound == bound else 0.0
            return 6.0 + named if bound is None else 0.0
        if candidate.kind == "number":
            return 6.0 if named or (bound is not None and parameter.bound == bound) else 0.0
        return 0.0

    def _id_score(self, leaf: Leaf, candidate: Candidate, named: float) -> float:
        parameter = leaf.parameter
        nouns = id_nouns(self.tool, parameter)
        is_text = candidate.kind in ("id", "name", "phrase", "quoted")
        if is_text and parameter.is_code(candidate.text):
            return 10.0 if candidate.noun in nouns else 7.0
        in_path = is_in_path(self.tool, parameter.name)
        is_quoted_id = candidate.kind == "quoted" and (
            named or (in_path and " " not in candidate.text)
        )
        if candidate.kind == "id" or is_quoted_id:
            if candidate.noun in nouns or named:
                return 8.0
            ids = [one for one in self.leaves if one.parameter.is_id and one.required]
            return 5.0 if in_path and len(ids) == 1 else 3.0 if ids == [leaf] else 0.0
        if candidate.kind == "number" and candidate.text.isdigit():
            return 8.0 if candidate.noun in nouns or named else 0.0
        if candidate.kind == "called" or (candidate.cue in CALLED and candidate.kind == "name"):
            makes = leaf.required and not in_path and self.tool.effect is not Effect.CANCEL
            return 4.0 if makes and parameter.words[-1:] != ("id",) else 0.0
        return 0.0

    def _place_score(self, leaf: Leaf, candidate: Candidate, named: float) -> float:
        cue, side = candidate.cue, leaf.parameter.side
        is_name = candidate.kind == "name"
        if candidate.kind not in ("name", "phrase", "quoted") and not (
            named and candidate.kind == "id"
        ):
            return 0.0
        cues = _PLACE_CUES | _WAYS | ({"for"} if _FOR_A_PLACE.search(self.tool.summary) else set())
        if self.tool.is_side_effect and not named and cue not in cues:
            return 0.0
        is_other = not self.is_new(candidate) or candidate.text.lower() in _EVERYBODY
        if candidate.kind == "phrase" and not named and is_other:
            return 0.0
        if side == "start":
            score = 9.0 if cue == "from" else 0.0
            if not score and candidate.after == "to" and cue not in LEADS:
                score = 8.0
        elif side == "end":
            score = 9.0 if cue in ("to", "into") else 6.0 if cue in ("for", "in", "at") else 0.0
            if not score and is_name and cue != "from":
                score = 4.0
        elif cue in _PLACE_CUES:
            score = 7.0 if cue == "at" else 8.0  # "at Ramiro in Lisbon"
        elif cue in ("for", "of"):
            score = 6.0
        elif cue in ("to", "from") or named:
            score = 4.0
        else:
            return 3.0 if is_name else 0.0
        return max(score - (0.0 if is_name or named else 2.0), 0.0) + named

    def _title_score(self, leaf: Leaf, candidate: Candidate, named: float) -> float:
        if named:
            return 6.0 if candidate.kind in ("phrase", "name", "quoted", "id", "number") else 0.0
        required = 1.0 if leaf.required else 0.0
        if not self._is_changed(leaf):
            return 0.0
        plain = leaf.parameter.words[-1:] == ("name",) or "title" in leaf.parameter.words
        if plain and self.clause.verb == "rename" and candidate.cue == "to":
            return 8.0 if candidate.kind in ("quoted", "name", "id", "phrase") else 0.0
        if candidate.kind == "called":
            return 7.0 + required if plain else 0.0
        if candidate.cue in CALLED and candidate.kind in ("name", "quoted", "id"):
            return 8.0 + required if plain else 0.0
        if candidate.kind == "quoted":
            return 5.0 + required
        if candidate.kind == "name":
            is_person = leaf.parameter.is_persons_name
            cues = _NAME_CUES if is_person else _NAME_CUES - {"by"}
            return 3.0 + required if (is_person or plain) and candidate.cue in cues else 0.0
        if candidate.kind == "id" and "file" in leaf.parameter.words and "." in candidate.text:
            return 5.0
        if candidate.kind == "object" and leaf.required and self.is_new(candidate):
            return 0.0 if leaf.parameter.is_persons_name else 4.6 + len(candidate.text) / 1000
        return 0.0

    def _text_score(self, leaf: Leaf, candidate: Candidate, named: float) -> float:
        required = 2.0 if leaf.required else 0.0
        if not (named or self._is_changed(leaf)):
            return 0.0
        if candidate.kind == "quoted":
            titled = [one for one in self.leaves if one.parameter.kind is Kind.TITLE]
            is_title = not required and not named and any(one.required for one in titled)
            score = 5.0 if is_title else 8.0 + required + named
            return 0.0 if candidate.cue in CALLED else score
        if named:
            return 5.0 if candidate.kind in ("phrase", "name") else 0.0
        days = [one for one in self.leaves if one.parameter.kind in (*DAYS, Kind.TIME)]
        if candidate.kind == "trimmed":
            return 7.5 + required if days else 0.0
        if candidate.kind == "text":
            return 7.0 + required if leaf.required else 0.0
        if self.clause.verb in TELLING or not (leaf.required and self.is_new(candidate)):
            return 0.0
        if candidate.kind == "phrase" and candidate.cue in ("for", "about"):
            return 2.5 + len(candidate.text) / 1000
        return 1.0 + len(candidate.text) / 1000 if candidate.kind == "object" else 0.0

    def _is_changed(self, leaf: Leaf) -> bool:
        """Return True if a text may go to an input: a change names each of several that it sets."""
        texts = [one for one in self.leaves if one.parameter.kind in TEXTS and not one.required]
        if leaf.required or len(texts) < 2 or not is_any_change(verb_of(self.tool)[0]):
            return True
        words, said = leaf.parameter.words, {word.stem for word in self.clause.words}
        renames = self.clause.verb == "rename" and words[-1:] in (("name",), ("title",))
        return renames or {stem(word) for word in words} <= said | nouns_of(self.tool)

    def _query_score(self, leaf: Leaf, candidate: Candidate, named: float) -> float:
        if candidate.kind == "quoted":
            return 8.0
        if candidate.kind in ("phrase", "called", "name", "id") and self.is_new(candidate):
            if candidate.cue in _ELSEWHERE and not named:
                return 0.0
            near = candidate.cue in ("about", "for", "with", "on", "of") or candidate.cue in CALLED
            return 4.0 + named if near or candidate.kind in ("name", "id") else 0.0
        if candidate.kind == "object" and leaf.required and self.is_new(candidate):
            return 2.0
        return 0.0

    def _list_score(self, leaf: Leaf, candidate: Candidate, named: float) -> float:
        element = leaf.parameter.element
        if element is None or element.kind in (Kind.CHOICE, Kind.OBJECT, Kind.LIST):
            return 0.0
        return self.score(replace(leaf, parameter=element), candidate)

    def _other_score(self, leaf: Leaf, candidate: Candidate, named: float) -> float:
        parameter = leaf.parameter
        if candidate.kind in ("id", "name", "phrase", "quoted") and parameter.is_code(
            candidate.text
        ):
            return 8.0
        if named and candidate.kind in ("phrase", "name", "quoted", "id", "number", "amount"):
            return 6.0
        if candidate.cue == "by" and candidate.kind in ("name", "phrase"):
            return 6.0 if parameter.words[-1] in lexicon.MAKERS else 0.0
        if parameter.is_id:
            return self._id_score(leaf, candidate, named)
        in_path = is_in_path(self.tool, parameter.name)
        if candidate.kind == "number" and candidate.after in units_of(parameter):
            return 7.0
        if candidate.kind == "quoted" and leaf.required:
            return 4.0
        if in_path and candidate.kind in ("id", "name", "called"):
            near = candidate.noun in id_nouns(self.tool, parameter)
            return 6.0 if near else 3.0
        schema = parameter.schema
        is_text = schema.get("type") == "string" and not {"pattern", "format"} & {*schema}
        if candidate.kind == "object" and self.is_new(candidate) and leaf.required:
            return 1.0 if in_path or is_text else 0.0
        if parameter.is_persons_name and candidate.kind == "name":
            return 3.0
        return 0.0

    def is_new(self, candidate: Candidate) -> bool:
        """Return True if a phrase has words beyond those of the tool and of a choice.

        "The cheapest slot" says which of several is meant, and is no value to pass on.
        """
        said = candidate.text.lower()
        if said in _INDEFINITE or said.partition(" ")[0] in QUESTION_WORDS:
            return False
        return any(one not in self.words | _CHOOSING for one in content_stems(candidate.text))


_SCORES: Final = {
    **dict.fromkeys(_MOMENTS, Suits._moment_score),
    **dict.fromkeys((Kind.NIGHTS, Kind.COUNT, Kind.DURATION), Suits._count_score),
    **dict.fromkeys(MONEY, Suits._amount_score),
    Kind.EMAIL: Suits._email_score,
    Kind.IDENTIFIER: Suits._id_score,
    Kind.PLACE: Suits._place_score,
    Kind.TITLE: Suits._title_score,
    Kind.TEXT: Suits._text_score,
    Kind.QUERY: Suits._query_score,
    Kind.LIST: Suits._list_score,
    **dict.fromkeys((Kind.OBJECT, Kind.TIME_ZONE, Kind.CONSTANT, Kind.OTHER), Suits._other_score),
}


def converted(parameter: Parameter, candidate: Candidate, clause: Clause) -> Iterator[JsonValue]:
    """Yield the readings of a candidate that an input may take, the most literal first."""
    value = candidate.value
    element = parameter.element
    if element is not None:
        for one in converted(element, candidate, clause):
            yield [one]
        return
    match parameter.kind:
        case Kind.DATETIME if candidate.kind == "datetime" and isinstance(value, list):
            yield moment_at(str(value[0]), str(value[1]), clause.now)
        case Kind.TIME:
            yield value
            yield f"{value}:00"
            yield str(moment_at(clause.now.date().isoformat(), str(value), clause.now))[11:]
        case Kind.AMOUNT | Kind.MONEY:
            yield from amounts_taken(parameter, candidate)
        case Kind.NIGHTS | Kind.COUNT | Kind.DURATION if candidate.kind == "duration":
            yield duration_value(parameter, candidate)
        case Kind.TEXT | Kind.TITLE | Kind.QUERY | Kind.PLACE:
            yield str(value) if not isinstance(value, dict | list) else candidate.text
        case _:
            if isinstance(value, dict):
                amount = value.get("amount")
                yield amount
                yield from as_typed(amount)
            else:
                yield value
                yield from as_typed(candidate.text if candidate.kind == "id" else value)


def duration_value(parameter: Parameter, candidate: Candidate) -> JsonValue:
    """Return a duration in the unit that the input's name or description states."""
    if not (minutes := _minutes(candidate)):
        return None
    if parameter.kind is Kind.DURATION:
        return f"PT{int(minutes)}M"
    for text in (" ".join(parameter.words), str(parameter.schema.get("description", "")).lower()):
        for unit, size in _UNITS_OF_TIME.items():
            if unit in text and (minutes / size).is_integer():
                return int(minutes / size)
    return None


def _minutes(candidate: Candidate) -> float:
    value = candidate.value if isinstance(candidate.value, dict) else {}
    parts = [(value.get(f"{unit}s"), size) for unit, size in _UNITS_OF_TIME.items()]
    return sum(float(count) * size for count, size in parts if isinstance(count, int | float))


def days_of(candidate: Candidate) -> int | None:
    """Return the number of days or nights in a value; None for other values."""
    if candidate.kind == "number" and candidate.after in ("night", "day"):
        count = candidate.value
        return count if isinstance(count, int) and abs(count) < _MOST_DAYS else None
    minutes = _minutes(candidate) if candidate.kind == "duration" else 0
    return int(minutes // 1440) if minutes and minutes % 1440 == 0 else None


_TWO_DECIMALS = "EUR"


def amounts_taken(parameter: Parameter, candidate: Candidate) -> Iterator[JsonValue]:
    """Yield the values that express an amount for an input; none if its unit is unclear."""
    amount, code, is_too_fine = _said(candidate)
    if amount is None or is_too_fine:
        return
    if parameter.kind is Kind.MONEY:
        own = properties_of(parameter.schema).get("amount", {})
        for one in _counted(amount, code, "amount", own, parameter.schema):
            yield {"amount": one, "currency": code}
    else:
        yield from _counted(amount, code, parameter.name, parameter.schema, parameter.around)


def why_not_taken(parameter: Parameter, candidate: Candidate) -> str:
    """Return why a money input cannot take the given amount; '' if it can."""
    amount, code, is_too_fine = _said(candidate)
    if is_too_fine:
        return f"{candidate.text} has more decimals than {code} has"
    if amount is not None and next(amounts_taken(parameter, candidate), None) is None:
        return f"whether {parameter.name!r} counts {code} or its smallest unit is not declared"
    return ""


def codes_of(value: Mapping[str, JsonValue]) -> Iterator[JsonValue]:
    """Yield the currency of an amount in the spellings of codes."""
    code = value.get("currency")
    if isinstance(code, str):
        yield code
        yield code.lower()


def _said(candidate: Candidate) -> tuple[Decimal | None, str, bool]:
    """Return an amount, its currency, and True if it has more decimals than its currency."""
    said = candidate.value if isinstance(candidate.value, dict) else {"amount": candidate.value}
    code = str(said.get("currency") or "")
    try:
        amount = Decimal(str(said.get("amount")))
    except InvalidOperation:
        return None, "", False
    return amount, code, code in budget.EXPONENTS and budget.has_too_many_decimals(amount, code)


def _counted(amount: Decimal, code: str, name: str, *schemas: JsonObject) -> Iterator[JsonValue]:
    """Yield an amount as a number and as a text.

    A number without a currency is used unchanged, unless the input counts cents.
    """
    is_whole = amount == amount.to_integral_value()
    written: JsonValue = int(amount) if is_whole else float(amount)
    units = money.units_of(name, *schemas)
    as_written = 1 if units.is_stated else written
    decimals = money.decimals_of(as_written, code or _TWO_DECIMALS, units, schemas)
    if not code:
        decimals = None if decimals else 0
    if decimals is None:
        return
    if decimals == 0:
        yield written
        yield f"{amount:.{budget.EXPONENTS.get(code, 2)}f}"
    elif (minor := budget.in_minor_units(amount, decimals)) is not None:
        yield minor
        yield str(minor)
