"""Values for a tool's inputs out of the user's own words."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from typing import Final

from pydantic import JsonValue

from orchestrator.language import lexicon
from orchestrator.language.clauses import without_lead
from orchestrator.language.durations import MINUTES
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Slot
from orchestrator.language.negation import denied_words
from orchestrator.language.periods import period_in
from orchestrator.language.predicates import predicate_of
from orchestrator.language.related_times import NOW
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, stem, tokens
from orchestrator.planning.rules.amounts import amounts_stated, as_taken, money_said
from orchestrator.planning.rules.argument_draft import ArgumentDraft
from orchestrator.planning.rules.parameters import Kind, Parameter, moment_at
from orchestrator.planning.rules.utterance import Utterance

_BOUNDS: Final = WordLists("matching").word_set("earliest") | WordLists("matching").word_set(
    "latest"
)
_FOR_WHOM: Final = WordLists("matching").word_set("on_behalf")
_TO_WORDS: Final = WordLists("matching").word_set("to_words")
_LATEST: Final = WordLists("matching").word_set("latest")
_BETWEEN: Final = "between"
_FROM: Final = "from"
_LEADING: Final = frozenset({"from", "to", "into"})
_AT: Final = frozenset({"to", "into", "at", "in"})
_BIRTHDAY: Final = "birthday"
_WAY: Final = re.compile(r"([A-Z][^\W\d_]*[a-z])[-\u2013>\u2192]{1,2}([A-Z][^\W\d_]*[a-z])")
_DASH: Final = re.compile(r"\s+(?:-|\u2013|->|\u2192)\s+")
_ADDRESS_FORMATS: Final = frozenset({"uri", "uri-reference", "iri", "iri-reference"})
_STREET: Final = "street"
_DIGIT: Final = re.compile(r"\d")
_BY: Final = frozenset({"by", "to"})
_ONE_NIGHT: Final = re.compile(r"(?:the|that)\s+(?:\w+\s+)?night\b", re.IGNORECASE)
_LENGTHS: Final = lexicon.NIGHTS | lexicon.WEEKS | {*MINUTES}
_FILE_NAME = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}$")
_ONLY_WHEN_REQUIRED: Final = frozenset(
    {Kind.TEXT, Kind.TITLE, Kind.OBJECT, Kind.OTHER, Kind.PAGING}
)


def value_from_utterances(
    parameter: Parameter, utterances: Iterable[Utterance], draft: ArgumentDraft
) -> JsonValue:
    """The value that the first clause with one gives an input; None if the schema allows none.

    Of a call with other inputs, a second date belongs to the one that ends a stretch of time, and a
    number of nights counts from the start, once the draft has it.
    """
    if (read := _READERS.get(parameter.kind)) is None:
        return None
    return parameter.first_accepted(*(v for u in utterances for v in read(parameter, u, draft)))


def may_fill_optional(parameter: Parameter) -> bool:
    """Whether a clause may be searched for the value of an input that is not required.

    An optional input is filled only by what is worded with it in mind: no free text, and no names.
    """
    if parameter.kind is Kind.AMOUNT:
        return parameter.bound is not None
    return parameter.kind not in _ONLY_WHEN_REQUIRED


def quoted_as(parameter: Parameter, utterance: Utterance) -> JsonValue:
    """What is quoted behind the noun of an input: `with the headline "Row more"`."""
    nouns = {*map(stem, parameter.words)}
    quoted = (s.value for s in utterance.of("quoted") if s.hint and stem(s.hint) in nouns)
    return parameter.first_accepted(*quoted)


def _dates(parameter: Parameter, utterance: Utterance, draft: ArgumentDraft) -> list[JsonValue]:
    if _is_any_of_several(parameter, draft):
        return []
    slots = [s for s in utterance.of("date") if _is_of_its_birth(s, utterance, parameter)]
    ends_too = any(p.kind is parameter.kind and p.side == "end" for p in draft.parameters)
    if not parameter.required and (parameter.side is None or not ends_too):
        if draft.lists and parameter.side is None and len(slots) > 1:
            return []  # of all between two days one would find those of one of them alone
        # "Before 1 December" is no day that things are on.
        slots = [slot for slot in slots if slot.hint not in _BOUNDS]
    filters = draft.lists and ends_too and parameter.side is not None and not parameter.required
    is_free = filters and not utterance.of("date")
    period = period_in(utterance.text, now=utterance.now) if is_free else None
    if period is not None and parameter.kind is Kind.DATE:
        return [(period.last if parameter.side == "end" else period.first).isoformat()]
    values: list[JsonValue] = [slot.value for slot in slots]
    values = values or _of_several(parameter, utterance, draft) or _today(utterance)
    ending = lexicon.END_HINTS | (_LATEST if not parameter.required else set())
    if parameter.side != "end":
        starts = [s.value for s in slots if s.hint not in ending]
        # "A room until Friday" says when it ends, and not when it begins.
        return starts or ([] if slots and parameter.side and ends_too else values)
    if not draft.start_inputs:
        return values[::-1]
    ends = [s.value for s in slots if s.hint in ending]
    # Of the days between two any may be meant, where nothing has to end: no way back is.
    is_any = not parameter.required and slots and slots[0].hint == _BETWEEN
    is_any = is_any and any(p.required for p in draft.start_inputs)
    ends = ends or ([] if is_any else values[1:])
    start = draft.start if isinstance(draft.start, str) else next(iter(values), None)
    if isinstance(draft.start, str):
        # Of another part of the goal a day may be said that nothing of this one ends on.
        ends = [end for end in ends if str(end) >= draft.start[:10]]
    return ends or _after(start, utterance)


def _today(utterance: Utterance) -> list[JsonValue]:
    """The day of a time that is counted from now: "in two hours"."""
    is_today = any(slot.hint == NOW for slot in utterance.of("time"))
    return [utterance.now.date().isoformat()] if is_today else []


def _is_of_its_birth(slot: Slot, utterance: Utterance, parameter: Parameter) -> bool:
    """Whether a day of birth goes to an input for such, and any other day to any other.

    On a birthday something may be done as well.
    """
    before = [w for w in tokens(utterance.text[: slot.position])[-3:] if w not in STOP_WORDS]
    said = {*before[-1:]}
    if lexicon.BIRTH.isdisjoint(parameter.words):
        return said.isdisjoint(lexicon.BIRTH - {_BIRTHDAY})
    return not said.isdisjoint(lexicon.BIRTH)


def _is_any_of_several(parameter: Parameter, draft: ArgumentDraft) -> bool:
    """Whether nothing tells an input from another one for a day, so that a day said may be either.

    A plain "date" is the day of whatever it is.
    """
    if parameter.side is not None or lexicon.DATE & set(parameter.words):
        return False
    others = (p for p in draft.parameters if p.name != parameter.name)
    return any(p.required and p.kind is parameter.kind and p.side != "end" for p in others)


def _of_several(
    parameter: Parameter, utterance: Utterance, draft: ArgumentDraft
) -> list[JsonValue]:
    """Of several days that are meant, "this weekend", the first or last, where one has to be sent.

    A goal that only looks is asked nothing: a weekend is then looked up from its first day. What
    may be left out of a list is, where it would find one day alone: what is found is held against
    all.
    """
    several = [s.readings for s in utterance.unread if s.kind == "date" and s.readings]
    if not several or (draft.lists and not parameter.required and parameter.side is None):
        return []
    return [several[0][0], several[0][-1]]


def _after(start: JsonValue, utterance: Utterance) -> list[JsonValue]:
    """The day that a stated number of nights, days or weeks makes the last."""
    nights = _stated_nights(utterance)
    if nights is None or not isinstance(start, str):
        return []
    try:
        return [(date.fromisoformat(start[:10]) + timedelta(days=nights)).isoformat()]
    except (ValueError, OverflowError):
        return []


def stated_minutes(utterance: Utterance) -> int | None:
    """How long something is to last, as said in minutes or hours, or from one time to another."""
    for slot in utterance.of("quantity"):
        if isinstance(slot.value, int) and slot.hint in MINUTES:
            return slot.value * MINUTES[slot.hint]
    times = utterance.of("time")
    if len(times) != 2 or times[1].hint not in lexicon.END_HINTS | {"to"}:
        return None
    start, end = (datetime.strptime(str(slot.value)[:5], "%H:%M") for slot in times)
    if "midnight" in times[1].text:
        end += timedelta(minutes=1)  # the last minute of its day stands for it
    return int((end - start).total_seconds()) // 60 if end > start else None


def _stated_nights(utterance: Utterance) -> int | None:
    for slot in utterance.of("quantity"):
        if isinstance(slot.value, int) and 0 < slot.value <= 3650:
            if slot.hint in lexicon.NIGHTS:
                return slot.value
            if slot.hint in lexicon.WEEKS:
                return slot.value * 7
    # "A hotel for the night after", "for that night".
    return 1 if any(_ONE_NIGHT.match(slot.text) for slot in utterance.of("date")) else None


def _times(parameter: Parameter, utterance: Utterance, draft: ArgumentDraft) -> list[JsonValue]:
    slots = utterance.of("time")
    if parameter.side != "end" and len(slots) == 1 and slots[0].hint in lexicon.END_HINTS - _BY:
        return []  # "ending at 16:00" says when nothing begins
    values = [str(slot.value)[:5] for slot in slots]
    if parameter.side == "end" and sum(p.kind is Kind.TIME for p in draft.parameters) > 1:
        values = values[1:] or _ended(values, utterance)
    return [form for value in values[:1] for form in (value, f"{value}:00", f"{value}:00Z")]


def _ended(starts: list[str], utterance: Utterance) -> list[str]:
    """When what starts at the first time is over, by how long it is said to last."""
    minutes = stated_minutes(utterance)
    if not starts or minutes is None:
        return []
    start = datetime.combine(utterance.now.date(), time.fromisoformat(starts[0]))
    end = start + timedelta(minutes=minutes)
    return [end.strftime("%H:%M")] if end.date() == start.date() else []


def _moments(parameter: Parameter, utterance: Utterance, draft: ArgumentDraft) -> list[JsonValue]:
    days = [d for d in _dates(parameter, utterance, draft) if isinstance(d, str)]
    clocks = [str(slot.value)[:5] for slot in utterance.of("time")]
    if parameter.side == "end" and clocks:
        clocks = clocks[1:]
        if not clocks and isinstance(draft.start, str):
            minutes = stated_minutes(utterance)
            return [_later(draft.start, minutes)] if minutes is not None else []
        if not days and isinstance(draft.start, str):
            days = [draft.start[:10]]  # "from 9 to 11" ends on the day that it begins on
    if not days or any(slot.kind == "time" for slot in utterance.unread):
        return []
    return [moment_at(days[0], clocks[0] if clocks else "00:00", utterance.now)]


def _later(start: str, minutes: int) -> JsonValue:
    try:
        moment = datetime.fromisoformat(start) + timedelta(minutes=minutes)
    except (ValueError, OverflowError):
        return None
    return moment.isoformat().replace("+00:00", "Z")


def _places(parameter: Parameter, utterance: Utterance, draft: ArgumentDraft) -> list[JsonValue]:
    origins, places = utterance.of("origin"), utterance.of("place")
    if _STREET in parameter.words:  # "to Bea Novak" is no street; "to 12 Rue Mouffetard" is
        origins, places = ([s for s in said if _DIGIT.search(s.text)] for said in (origins, places))
    if not origins and not places:  # "from A-12 to B-07"
        coded = utterance.of("identifier")
        origins = [slot for slot in coded if slot.hint == _FROM]
        places = [slot for slot in coded if slot.hint in _AT]
    if parameter.side == "start":
        ends = places or _dashed(utterance)
        begins = [*origins, *_left_for(utterance, ends)]
        return [slot.value for slot in begins] or [*_way(utterance)[:1]]
    if any(p.side == "start" and p.kind is Kind.PLACE for p in draft.parameters):
        return [slot.value for slot in places or _dashed(utterance)] or [*_way(utterance)[1:]]
    towards = [s for s in places if s.hint != "to"] if parameter.side is None else []
    return [slot.value for slot in (*towards, *places, *origins)]


def _left_for(utterance: Utterance, places: Iterable[Slot]) -> Iterator[Slot]:
    """The names that stand right before where somebody goes to: "book Berlin to Lisbon"."""
    for place in places:
        for slot in utterance.of("name"):
            between = utterance.text[slot.position + len(slot.text) : place.position]
            if between.strip().lower() == "to" or _DASH.fullmatch(between):
                yield slot


def _dashed(utterance: Utterance) -> Sequence[Slot]:
    """Where somebody goes to, after a dash: "a flight Berlin - Lisbon"."""
    names = utterance.of("name")
    return [
        there
        for here, there in pairwise(names)
        if _DASH.fullmatch(utterance.text[here.position + len(here.text) : there.position])
    ][:1]


def _way(utterance: Utterance) -> tuple[str, ...]:
    """Where from and where to, said as one name where nothing else says it: "Berlin-Paris"."""
    ways = (_WAY.fullmatch(slot.text) for slot in utterance.of("name"))
    if utterance.of("origin", "place"):
        return ()
    return next((way.groups() for way in ways if way is not None), ())


def _money(parameter: Parameter, utterance: Utterance, draft: ArgumentDraft) -> list[JsonValue]:
    if parameter.kind is Kind.CURRENCY:
        said = [money for slot in utterance.of("amount") if (money := money_said(slot))]
    else:
        said = amounts_stated(parameter, utterance)
    return [value for money in said for value in as_taken(parameter, money, draft)]


def _counts(parameter: Parameter, utterance: Utterance, draft: ArgumentDraft) -> list[JsonValue]:
    slots = [s for s in utterance.of("quantity") if s.hint not in _LENGTHS]
    if (length := _length(parameter, utterance)) is not None:
        return [length]
    stems = {stem(word) for word in parameter.words}
    if named := [s.value for s in slots if stem(s.hint) in stems]:
        return list(named)
    if set(parameter.words) & lexicon.PEOPLE:
        return [s.value for s in slots if s.hint in lexicon.PEOPLE or s.hint in ("for", "")]
    if parameter.bound is not None or not set(parameter.words) & {"quantity", "qty", "copies"}:
        return []
    others = (p for p in draft.parameters if p is not parameter)
    # "Two tickets" is no two of a ticket's type; "event 4711" is no number of events.
    taken = {stem(word) for p in others if not p.is_id for word in p.words}
    slots = [
        s for s in slots if not any(p.is_numbered_by(s.text, s.hint) for p in draft.parameters)
    ]
    people = lexicon.PEOPLE - lexicon.BOUGHT_SINGLY
    return [s.value for s in slots if s.hint not in people and stem(s.hint) not in taken]


def _length(parameter: Parameter, utterance: Utterance) -> JsonValue:
    """How long something lasts, in the unit that an input's name or description says."""
    minutes = stated_minutes(utterance)
    described = tokens(str(parameter.schema.get("description", "")))
    # "min_seats" counts no minutes.
    words = [*parameter.words[parameter.bound is not None :]]
    unit = next((word for word in (*words, *described) if word in MINUTES), "")
    lasts = {*words} & {*MINUTES, "duration", "length"}
    if minutes is None or not unit or not lasts or minutes % MINUTES[unit]:
        return None
    return minutes // MINUTES[unit]


def _choices(parameter: Parameter, utterance: Utterance, draft: ArgumentDraft) -> list[JsonValue]:
    """The listed values that the clause names, the longest first; none that it denies."""
    words = tokens(without_lead(utterance.wanted))
    # "Settle the fees" is of no fees that are settled.
    ordered = utterance.reading.asks_side_effect and words[:1] == [utterance.reading.verb]
    stems = [stem(word) for word in words[ordered:]]
    # Nor is "is my invoice paid?" of those that are.
    unmeant = (*denied_words(utterance.text), predicate_of(utterance.text))
    denied = {stem(word) for word in unmeant if word}
    named = [
        option
        for option in parameter.options
        if _is_named(option, parameter, stems) and denied.isdisjoint(map(stem, tokens(option)))
    ]
    return [*sorted(named, key=len, reverse=True)]


def is_one_of_several(parameter: Parameter, utterances: Iterable[Utterance]) -> bool:
    """Whether a clause names several values of a list, of which the input takes one."""
    if parameter.kind is not Kind.CHOICE:
        return False
    for utterance in utterances:
        said = {stem(word) for word in utterance.words}
        said -= {stem(word) for word in denied_words(utterance.text)}
        apart = ({*map(stem, tokens(option))} for option in parameter.options)
        named = [own for own in apart if own <= said]
        if sum(not any(own < other for other in named) for own in named) > 1:
            return True
    return False


def _is_named(option: str, parameter: Parameter, stems: list[str]) -> bool:
    wanted = [stem(word) for word in tokens(option)]
    size = len(wanted)
    near = {stem(word) for word in (*parameter.words, "class")}
    for at_word in range(len(stems) - size + 1) if size else ():
        if stems[at_word : at_word + size] == wanted:
            around = stems[max(0, at_word - 1) : at_word + size + 1]
            if option.lower() not in lexicon.AMBIGUOUS_CHOICES or near & set(around):
                return True
    return False


def _flags(parameter: Parameter, utterance: Utterance, draft: ArgumentDraft) -> list[JsonValue]:
    wanted = {w for w in parameter.words if w not in STOP_WORDS | {"only", "include", "included"}}
    return [True] if wanted and wanted <= utterance.words else []


def _identifiers(
    parameter: Parameter, utterance: Utterance, draft: ArgumentDraft
) -> list[JsonValue]:
    """Ids introduced by the parameter's noun, or by no noun at all; file names are no ids.

    Nor is an address on the web that no such noun introduces, unless the schema wants addresses. An
    optional input takes only what its noun introduces: "the tickets of customer cus_7f31".
    """
    slots = [s for s in utterance.of("identifier") if not _FILE_NAME.search(str(s.value))]
    stems = {stem(word) for word in parameter.words} - {"id"}
    named = [s.value for s in slots if stem(s.hint) in stems]
    named += _numbered(parameter, utterance)
    if not parameter.required:
        return [*named]
    if any(p.kind is Kind.PLACE and p.side for p in draft.parameters):
        slots = [s for s in slots if s.hint not in _LEADING]  # "from A-12" is where it is
    verb = tokens(without_lead(utterance.text))[:1]
    bare = [s.value for s in slots if not s.hint or s.hint in STOP_WORDS or [s.hint] == verb]
    if parameter.schema.get("format") not in _ADDRESS_FORMATS:
        bare = [value for value in bare if "://" not in str(value)]
    return [*named, *bare]


def _names(parameter: Parameter, utterance: Utterance, draft: ArgumentDraft) -> list[JsonValue]:
    stems = {stem(word) for word in parameter.words}
    if parameter.is_persons_name:
        said = utterance.of("name", "place")  # who stands behind "for" may be either
        receives = not _TO_WORDS.isdisjoint(parameter.words)
        whose = {*_FOR_WHOM, *stems, *(_TO_WORDS if receives else ())}
        people = dict.fromkeys(s.value for s in said if s.hint in whose)
        return [*people] if len(people) == 1 else []
    quoted = utterance.of("quoted")
    # "a board called Launch": that is the name of what is made, and no part of something else.
    wanted = stems | _NAMED_SO if tuple(tokens(parameter.name)) in _NAMES else stems
    said = [slot for slot in utterance.of("name") if stem(slot.hint) in wanted]
    named = [s.value for s in quoted if stem(s.hint) in wanted]
    named += [s.value for s in utterance.of("identifier") if s.hint and stem(s.hint) in stems]
    named += [name for slot in said if (name := _whole_name(slot, utterance, draft))]
    if not said and wanted > stems:
        named += _named_like_a_value(utterance)
    written = [s.value for s in utterance.of("identifier") if _FILE_NAME.search(str(s.value))]
    files = written if {"file", "name"} <= set(parameter.words) else []
    # "resort 12": the number of a thing, where its input takes numbers.
    numbers = [s.value for s in utterance.of("quantity") if stem(s.hint) in stems]
    numbers = _numbered(parameter, utterance) if parameter.is_id else numbers
    # A code is told by its form, where the schema says what form it has.
    codes = [s.value for s in utterance.of("identifier") if parameter.is_code(s.value)]
    codes += _code_it_is_for(parameter, utterance, draft)
    return [*files, *named, *(slot.value for slot in quoted), *numbers, *codes]


def _code_it_is_for(
    parameter: Parameter, utterance: Utterance, draft: ArgumentDraft
) -> list[JsonValue]:
    """The one code that something is for, where a single input takes it: "a spot for KLM-204"."""
    codes = [s.value for s in utterance.of("identifier") if s.hint in _FOR_WHOM]
    if len(codes) != 1:
        return []
    needed = (p for p in draft.parameters if p.required and p.kind in (Kind.OTHER, Kind.IDENTIFIER))
    taking = [p.name for p in needed if p.accepts(codes[0])]
    return codes if taking == [parameter.name] else []


def _numbered(parameter: Parameter, utterance: Utterance) -> list[JsonValue]:
    """Numbers behind the noun of an id, as the number and as it is written."""
    numbers: list[str] = []
    for slot in utterance.of("quantity", "identifier"):
        digits, noun = slot.text, slot.hint
        if slot.kind == "quantity" and singular(noun) == noun and " " in digits:
            # "Is pet 12 vaccinated": no 12 of anything.
            digits, noun = digits.split()[0], _noun_before(slot, utterance)
        if parameter.is_numbered_by(digits, noun):
            numbers.append(digits)
    return [form for digits in numbers for form in (int(digits), digits)]


def _noun_before(slot: Slot, utterance: Utterance) -> str:
    return next(iter(tokens(utterance.text[: slot.position])[-1:]), "")


def _whole_name(slot: Slot, utterance: Utterance, draft: ArgumentDraft) -> JsonValue:
    """A name with the plain words that go on with it: "called Winter trip tomorrow".

    None where nothing tells whether it ends: "Blue in Green", of a call that takes no place.
    """
    if stem(slot.hint) not in _NAMED_SO or not isinstance(slot.value, str):
        return slot.value
    end = slot.position + len(slot.text)
    others = sorted((s for s in utterance.slots if s.position >= end), key=lambda s: s.position)
    until = others[0].position if others else len(utterance.text)
    words: list[str] = []
    for word in re.findall(r"\s+([\w'-]+)|(\S)", utterance.text[end:until]):
        if not word[0] or word[0].lower() in STOP_WORDS | lexicon.CONNECTING:
            break
        words.append(word[0])
    takes_place = any(p.kind is Kind.PLACE for p in draft.parameters)
    is_place = bool(others) and others[0].kind == "place" and others[0].hint != "for"
    if not words and is_place and not takes_place:
        between = utterance.text[end:until].strip()
        return slot.value if "," in between else None
    return " ".join((slot.value, *words))


def _named_like_a_value(utterance: Utterance) -> list[JsonValue]:
    """A name that begins with a day or an hour, of which it is none: "called Sunday morning"."""
    match = _CALLED.search(utterance.text)
    begins = match is not None and any(
        slot.position == match.start("name") and slot.kind in ("date", "time", "quantity")
        for slot in (*utterance.slots, *utterance.unread)
    )
    return [match["name"]] if match is not None and begins else []


def _lists(parameter: Parameter, utterance: Utterance, draft: ArgumentDraft) -> list[JsonValue]:
    element = parameter.element
    if element is None or element.kind not in (Kind.EMAIL, Kind.CHOICE):
        return []
    read = _READERS[element.kind]
    values = [v for v in read(element, utterance, draft) if element.accepts(v)]
    return [values] if values else []


_CALLED: Final = re.compile(
    r"\b(?:called|named|titled)\s+(?P<name>[A-Z]\w*(?:\s+\w+){0,3})[\s.!?]*$"
)
_NAMES: Final = frozenset({("name",), ("title",)})
_NAMED_SO: Final = frozenset(map(stem, ("called", "named", "titled")))

_READERS: Final[Mapping[Kind, Callable[[Parameter, Utterance, ArgumentDraft], list[JsonValue]]]] = {
    Kind.DATE: _dates,
    Kind.TIME: _times,
    Kind.DATETIME: _moments,
    Kind.PLACE: _places,
    Kind.MONEY: _money,
    Kind.AMOUNT: _money,
    Kind.CURRENCY: _money,
    Kind.COUNT: _counts,
    Kind.NIGHTS: lambda _, utterance, __: [_stated_nights(utterance)],
    Kind.EMAIL: lambda _, utterance, __: [slot.value for slot in utterance.of("email")],
    Kind.CHOICE: _choices,
    Kind.FLAG: _flags,
    Kind.IDENTIFIER: _identifiers,
    Kind.TITLE: _names,
    Kind.OTHER: _names,
    Kind.LIST: _lists,
}
"""What may be meant for an input of each kind, likeliest first; the schema has the last word."""
