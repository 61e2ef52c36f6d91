"""The values in a request: dates, times, places, money, quantities, ids, names."""

import re
from collections.abc import Collection, Iterator
from datetime import datetime
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

from pydantic import JsonValue

from orchestrator.core import currencies
from orchestrator.language import dates, money_phrases
from orchestrator.language.date_words import MONTHS, WEEKDAYS
from orchestrator.language.dates import find_date_phrases
from orchestrator.language.durations import find_durations
from orchestrator.language.intent import Slot, SlotKind
from orchestrator.language.money_phrases import find_money
from orchestrator.language.numbers import NUMBER_WORDS, find_spoken_numbers
from orchestrator.language.related_times import related_times
from orchestrator.language.times import find_time_phrases
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, is_verb, lowered

_LISTS: Final = WordLists("slots")
_PEOPLE: Final = "|".join(_LISTS.words("people"))
_PLACE_HINTS: Final = _LISTS.word_set("place_openers")
_SENDING: Final = _LISTS.word_set("sending")
_NO_PLACES: Final = _LISTS.word_set("no_places")
_PROVISOS: Final = WordLists("provisos")
# "A table for 4 unless it rains" is for four, and not for four unlesses.
_NO_UNIT: Final = STOP_WORDS | _LISTS.word_set("no_units") | _PROVISOS.word_set("strict")
_NUM = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_NUMBER_WORD = "|".join(sorted(NUMBER_WORDS, key=len, reverse=True))

_QUOTED = re.compile(
    r"\"([^\"]+)\"|“([^”]+)”|(?<![^\s(:,])'([^']{1,200})'(?![^\s.,;:!?)])|`([^`]+)`"
)
_QUOTES: Final = frozenset("\"“'`")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_URL = re.compile(
    r"\b[a-z][a-z0-9+.-]*://[^\s\"'<>)]+[^\s\"'<>).,;:!?]|(?<![\w.])/(?:[\w.-]+/)+[\w.-]*"
)
_UUID = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE)
# What each of these cannot do without: most requests hold no such mark.
_ADDRESSES: Final[tuple[tuple[SlotKind, re.Pattern[str], str], ...]] = (
    ("email", _EMAIL, "@"),
    ("identifier", _URL, "/"),
    ("identifier", _UUID, "-"),
)
_DIGIT = re.compile(r"\d")
_KEPT: Final = 1 << 11
"""Texts whose values are remembered: a goal and its clauses are read again and again."""
_IDENTIFIER = re.compile(
    r"(?<![\w@#/.-])#?(?=[\w./-]*\d)(?=[\w./-]*[A-Za-z])[A-Za-z0-9]+(?:[-_/.][A-Za-z0-9]+)*(?![\w@-])"
    r"|(?<![\w.])#\d+\b|(?<![\w.])\d+(?:\.\d+){2,}(?!\w)"
)
_NUMBERED = re.compile(
    r"\b(?:id|number|no\.?|code|reference|ref|order|booking|reservation|invoice|ticket|account|case"
    r"|flight|trip|report|payment|transaction)\s+(?:is\s+|with\s+)?(?:id\s+|number\s+|no\.?\s+)?"
    r"(?P<n>\d{3,})\b(?![.,:/-]\d)"
)
_IN_TWO_GROUPS = re.compile(r"\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z][A-Z\d]\b")
"""A code that is written with a blank in it, letters and digits in both parts: "LS6 3AA"."""
_LETTERS_THEN_DIGITS: Final = re.compile(
    r"(?<![\w-])(?P<letters>[A-Z]{2,3}) \d{2,4}\b(?![.,:/-]\d|\s+[a-z]{3,}s\b)"
)
"""A code in two parts, unless its number counts what follows: "KLM 204", not "IBM 200 chairs"."""
_NOT_IDENTIFIER = re.compile(
    r"\d+(?:\.\d+)?[a-zA-Z]{1,3}\d?|\d+(?:st|nd|rd|th)|\d+-[a-z]+(?:-[a-z]+)*"
)
_FILE_NAME = re.compile(r"\b[\w-]+\.[A-Za-z][A-Za-z0-9]{1,4}\b")
_QUANTITY = re.compile(
    rf"(?<![\w.,:/-])(?P<n>{_NUM}|(?:{_NUMBER_WORD})\b)(?P<pct>\s?%|°\s?[cf]?\b)?"
    rf"(?:(?P<glued>[a-z]{{1,3}}\d?)\b|(?:\s+|-)(?P<noun>[a-z]{{2,}})\b)?(?![\d:])"
)
_UNIT: Final = re.compile(r"(?:\s+|-)(?P<unit>[^\W\d_]{2,})\b")
_CAP = r"[A-ZÀ-ÖØ-Þ][\w'\u2019À-ÿ]*(?:[.&-][A-ZÀ-ÖØ-Þ][\w'\u2019]*)*\.?"
_LINK = r"(?:de|del|della|da|do|dos|du|der|den|di|la|le|las|los|el|of|the|van|von|am|an|sur)"
_ARTICLE: Final = re.compile(r"^(?:(?:of|the|an)\s+)+")
_FIRM = "|".join(word.title() for word in _LISTS.words("firm_tails"))
_PROPER = re.compile(
    # "Bo I" is nobody: what goes on with the pronoun is another sentence.
    rf"(?<![\w'\u2019]){_CAP}(?:(?:\s+{_LINK}){{0,2}}\s+(?!I\b){_CAP}|,\s+[A-Z]{{2}}\b"
    rf"|\s+(?:&|and)\s+(?:{_FIRM})\b\.?)*"
)
# A number that stands after a proper name, and before nothing that it could count, is a part of it:
# "to Hauptstrasse 5", "at Gate 7, please"; so is one before two: "to 12 Rue Mouffetard".
_COUNTS_NOTHING = (
    r"(?=\s*(?:[.,;:!?)]|$)|\s+(?:and|or|at|on|in|by|for|from|to|with|near|before|after)\b)"
)
_NUMBERED_NAME = re.compile(
    rf"(?:\b(?:to|at|in|from|near)\s+)(?P<name>(?:{_CAP}(?:(?:\s+{_LINK}){{0,2}}\s+{_CAP})*"
    rf"\s+\d{{1,4}}[a-z]?{_COUNTS_NOTHING}"
    rf"|\d{{1,4}}[a-zA-Z]?\s+{_CAP}(?:(?:\s+{_LINK}){{0,2}}\s+{_CAP})+))"
)
_LOWER_NUMBERED = re.compile(
    rf"\b(?:to|at|in|from|near)\s+(?P<name>[a-zß-ÿ]{{4,}}\s+\d{{1,4}}[a-z]?{_COUNTS_NOTHING})"
)
_LOWER_PLACE = re.compile(
    r"\b(?P<prep>from|in|near|to)\s+"
    r"(?P<place>(?:(?:new|san|los|las|saint|santa|el|la|rio de|hong|tel|abu|cape)\s)?[a-z]{3,})\b"
)
_CALLED: Final = re.compile(
    r"\b(?:an?|one|another)\s+(?:[A-Za-z-]+\s+){0,3}?(?P<how>called|named|titled)\s+"
    r"(?P<name>[a-z][\w-]*)(?![\w.@-])"
)
_PERSON = re.compile(rf"\b(?:my|our|the)\s+(?P<who>(?:[a-z]+\s+)?(?:{_PEOPLE}))\b")
_ONE_PERSON: Final = "|".join(_LISTS.words("one_person"))
_WE_TWO: Final = re.compile(
    rf"\bfor\s+(?P<two>(?:me|myself)\s+and\s+my\s+(?:{_ONE_PERSON})"
    rf"|my\s+(?:{_ONE_PERSON})\s+and\s+(?:me|myself|i))\b(?!\s*,?\s*(?:and|or|plus)\b|['\u2019])"
)
"""Two people, of whom none has a name: "for me and my wife"."""
_WE_AND: Final = re.compile(
    rf"\bfor\s+(?P<all>(?:me|myself)\s+and\s+(?:my|our)\s+(?P<others>[2-9]|{'|'.join(NUMBER_WORDS)})\s+[a-z]+s?)\b"
    r"(?!\s*,?\s*(?:and|or|plus)\b|['\u2019])"
)
"""As many and oneself: "for me and my two kids"."""
_TWO: Final = 2
_HANDLE = re.compile(r"(?<![\w&])[#@][A-Za-z][\w-]*")
_FOR: Final = "for"
_IN: Final = "in"
_CLOSE_TO: Final = frozenset({"at", "near"})
"""Before what is smaller than a place that "in" stands before."""
_AFTER_THE: Final = re.compile(r"\bthe\s+$", re.IGNORECASE)
_PAUSE: Final = re.compile(r"[,.;:!?\n]|\b(?:and|or|then)\b", re.IGNORECASE)
_ENDS = (
    r"\b(?:(?P<plain>ending|ends?{more})|check(?:ing)?[\s-]*out|(?P<leaving>leav(?:es?|ing)|depart(?:s|ing)?))"
    r"\s+(?:(?:on|at)\s+)?(?:the\s+)?$"
)
_ENDING: Final = {
    "date": re.compile(_ENDS.format(more="|returning|returns?|back"), re.IGNORECASE),
    "time": re.compile(_ENDS.format(more=""), re.IGNORECASE),
}
"""What stands before the day, or the hour, on which something ends."""
_STAYING: Final = re.compile(r"\b(?:arriv\w+|check\w*[\s-]?in|nights?|stay\w*)\b", re.IGNORECASE)
"""Who leaves where they stayed ends that; who leaves on a flight begins it."""
_LAST_WORD = re.compile(r"([^\W\d_]+(?:['\u2019][^\W\d_]+)*)$")


class _Found(NamedTuple):
    """A slot without its hint; `hint` set only where the pattern itself knows it."""

    kind: SlotKind
    value: JsonValue
    start: int
    end: int
    hint: str | None = None
    readings: tuple[str, ...] = ()


def find_slots(text: str, *, now: datetime | None, before: str = "") -> tuple[Slot, ...]:
    """The values in a request, by position; no character belongs to two of them.

    Args:
        text: the request.
        now: what "tomorrow" is relative to, in the requester's own time; None leaves out every date
            that needs it ("tomorrow", "3 December").
        before: what was said before it, to which "the day after" may refer.
    """
    slots = read_slots(text, now=now, before=before)
    return tuple(slot for slot in slots if slot.value is not None)


@lru_cache(maxsize=_KEPT)
def read_slots(text: str, *, now: datetime | None, before: str = "") -> tuple[Slot, ...]:
    """Like `find_slots`, and with value None what cannot be told: "tomorrow" without `now`, "at 8".

    Where a date stands, which is all that scoring needs, does not depend on the day.
    """
    taken = bytearray(len(text))
    found: list[_Found] = []
    for slot in _candidates(text, now, before):
        if slot.start < slot.end and 1 not in taken[slot.start : slot.end]:
            taken[slot.start : slot.end] = b"\x01" * (slot.end - slot.start)
            found.append(slot)
    found.sort(key=lambda slot: slot.start)
    found = _with_names(found, text)
    ends = {slot.end for slot in found}
    return tuple(_as_slot(slot, text, ends) for slot in found)


def _with_names(found: list[_Found], text: str) -> list[_Found]:
    """What another word says the place of: "for Ana from Berlin to Rome", "at Luna in Rome"."""
    where = [slot for slot in found if slot.kind in ("origin", "place") and slot.hint != _FOR]
    return [
        slot._replace(kind="name")
        if slot.kind == "place"
        and any(_says_where(other, slot) and _is_one_phrase(text, slot, other) for other in where)
        else slot
        for slot in found
    ]


def _says_where(other: _Found, slot: _Found) -> bool:
    """Whether a place is the one in which a thing called so is, or for whom something is."""
    return slot.hint == _FOR or (slot.hint in _CLOSE_TO and other.hint == _IN)


def is_addressed(text: str) -> bool:
    """Whether a text names an address or a channel, whatever its verb: "write to a@b.co"."""
    return any(s.kind == "email" or s.text.startswith("#") for s in read_slots(text, now=None))


def _is_one_phrase(text: str, one: _Found, other: _Found) -> bool:
    first, second = sorted((one, other), key=lambda slot: slot.start)
    return _PAUSE.search(text, first.end, second.start) is None


def _candidates(text: str, now: datetime | None, before: str) -> Iterator[_Found]:
    """The kinds in order of certainty: what an earlier one took, a later one leaves alone."""
    certain = (
        _quoted(text),
        _addresses(text),
        _dates(text, now, before),
        _times(text, now, before),
        _money(text),
    )
    likely = (_durations(text), _numbered_names(text), _identifiers(text), _quantities(text))
    words = (_people(text), _proper(text), _called(text), _lower_places(text))
    return chain(*certain, *likely, *words)


def _quoted(text: str) -> Iterator[_Found]:
    for match in _QUOTED.finditer(text) if _QUOTES & {*text} else ():
        inner = next(g for g in match.groups() if g)
        kind: SlotKind = "identifier" if is_identifier(inner) else "quoted"
        yield _Found(kind, inner, *match.span())


def _addresses(text: str) -> Iterator[_Found]:
    for kind, pattern, mark in _ADDRESSES:
        if mark in text:
            for match in pattern.finditer(text):
                yield _Found(kind, match.group(), *match.span())


def _dates(text: str, now: datetime | None, before: str) -> Iterator[_Found]:
    for phrase in find_date_phrases(text, now=now, before=before):
        value = phrase.day.isoformat() if phrase.day else None
        readings = tuple(day.isoformat() for day in phrase.readings)
        yield _Found("date", value, phrase.start, phrase.end, readings=readings)


def _times(text: str, now: datetime | None, before: str) -> Iterator[_Found]:
    said = find_time_phrases(text)
    for phrase in chain(said, related_times(text, said, now=now, before=before)):
        only = phrase.readings[0] if len(phrase.readings) == 1 else None
        yield _Found("time", only, phrase.start, phrase.end, phrase.bound, phrase.readings)


def _money(text: str) -> Iterator[_Found]:
    for phrase in find_money(text):
        value: JsonValue = {"amount": _plain(phrase.amount), "currency": phrase.currency}
        yield _Found("amount", value, phrase.start, phrase.end)


def warm_up() -> None:
    """Load what libraries load on first use, so that no request pays for it."""
    dates.warm_up()
    money_phrases.warm_up()


def _identifiers(text: str) -> Iterator[_Found]:
    if _DIGIT.search(text):
        for match in _IN_TWO_GROUPS.finditer(text):
            yield _Found("identifier", match.group(), *match.span())
        for match in _LETTERS_THEN_DIGITS.finditer(text):
            if match["letters"].lower() not in STOP_WORDS:
                yield _Found("identifier", match.group(), *match.span())
        for match in _IDENTIFIER.finditer(text):
            if is_identifier(match.group()):
                yield _Found("identifier", match.group(), *match.span())
        for match in _NUMBERED.finditer(lowered(text)):
            yield _Found("identifier", match["n"], *match.span("n"))
    if "." in text:
        for match in _FILE_NAME.finditer(text):
            yield _Found("identifier", match.group(), *match.span())


def _numbered_names(text: str) -> Iterator[_Found]:
    """Places and names with a number in them, as of a house in its street."""
    if not _DIGIT.search(text):
        return
    pattern = _LOWER_NUMBERED if text == text.lower() else _NUMBERED_NAME
    for match in pattern.finditer(text):
        words = match["name"]
        start = match.start("name")
        if set(words.lower().split()) & (STOP_WORDS | _NO_PLACES | {*NUMBER_WORDS}):
            continue
        yield _Found(_kind_after(text, start), words, start, match.end("name"))


def _kind_after(text: str, start: int) -> SlotKind:
    """What a name is, by the word before it: where to, where from, or who."""
    hint = _word_before(text, start)
    if hint == "from":
        return "origin"
    addressed = hint == "to" and _is_addressed(text, start)
    return "place" if hint in _PLACE_HINTS and not addressed else "name"


def is_identifier(token: str) -> bool:
    """Whether a word is an id rather than a word, a number or a measure."""
    return bool(_IDENTIFIER.fullmatch(token)) and not _NOT_IDENTIFIER.fullmatch(token)


def _durations(text: str) -> Iterator[_Found]:
    for stretch in find_durations(lowered(text)):
        yield _Found("quantity", stretch.value, stretch.start, stretch.end, stretch.unit)


def _quantities(text: str) -> Iterator[_Found]:
    low = lowered(text)
    for match in _WE_TWO.finditer(low):
        yield _Found("quantity", _TWO, *match.span("two"), "people")
    for match in _WE_AND.finditer(low):
        others = match["others"]
        people = 1 + int(others if others.isdigit() else NUMBER_WORDS[others])
        yield _Found("quantity", people, *match.span("all"), "people")
    for start, end, spoken in find_spoken_numbers(low):
        after = _UNIT.match(low, end)
        noun = after["unit"] if after and after["unit"] not in _NO_UNIT else ""
        stop = after.end() if after and noun else end
        yield _Found("quantity", spoken, start, stop, noun or None)
    for match in _QUANTITY.finditer(low):
        unit = match["glued"] or match["noun"]
        if match["n"] == "one" and (unit is None or unit in _NO_UNIT):
            continue
        value = NUMBER_WORDS.get(match["n"])
        number = value if value is not None else _plain(float(match["n"].replace(",", "")))
        if match["pct"]:
            sign = text[slice(*match.span("pct"))].strip()
            yield _Found("quantity", number, match.start(), match.end("pct"), sign)
        elif unit is None or unit in _NO_UNIT:
            yield _Found("quantity", number, match.start(), match.end("n"))
        else:
            yield _Found("quantity", number, match.start(), match.end(), unit)
            # "Shipment 501 tomorrow": what follows is taken already, and counted by nothing.
            yield _Found("quantity", number, match.start(), match.end("n"))


def _people(text: str) -> Iterator[_Found]:
    for match in _PERSON.finditer(lowered(text)):
        yield _Found("name", text[slice(*match.span("who"))], *match.span())
    if "#" in text or "@" in text:
        for match in _HANDLE.finditer(text):
            yield _Found("name", match.group(), *match.span())


def _called(text: str) -> Iterator[_Found]:
    """Names without a capital, where it is said that they are such: "a tag called urgent"."""
    for match in _CALLED.finditer(text):
        if match["name"] not in STOP_WORDS:
            yield _Found("name", match["name"], *match.span("name"), match["how"])


def _proper(text: str) -> Iterator[_Found]:
    """Capitalised words: places after a preposition of place, else names."""
    for match in _PROPER.finditer(text):
        start, words = _without_sentence_start(text, match)
        if not words or words.lower() in STOP_WORDS or words in {"I", "I'm", "I'd", "I'll", "I've"}:
            continue
        if currencies.exists(words):
            continue
        hint = _word_before(text, start)
        if hint == "from":
            yield _Found("origin", words, start, start + len(words), hint)
        elif hint == _FOR and _AFTER_THE.search(text[:start]):
            yield _Found("name", words, start, start + len(words), hint)  # no town has an article
        elif hint in _PLACE_HINTS and not (hint == "to" and _is_addressed(text, start)):
            yield _Found("place", words, start, start + len(words), hint)
        elif hint or not _at_sentence_start(text, start):
            yield _Found("name", words, start, start + len(words), hint)


def _without_sentence_start(text: str, match: re.Match[str]) -> tuple[int, str]:
    """The run without a first word that is upper case only because a sentence starts there."""
    start, words = match.start(), match.group().rstrip(".")
    if words.endswith(("'s", "\u2019s")):
        words = words[:-2]
    first, _, rest = words.partition(" ")
    if _at_sentence_start(text, start) and (first.lower() in STOP_WORDS or is_verb(first.lower())):
        # "Pay the Nordic Hosting" begins with a verb, and no name begins with an article.
        name = _ARTICLE.sub("", rest)
        return start + len(words) - len(name), name
    return start, words


def _at_sentence_start(text: str, start: int) -> bool:
    before = text[:start].rstrip(" \"'“(")
    return not before or before[-1] in ".!?:;\n"


def _is_addressed(text: str, start: int) -> bool:
    """Whether the "to" before this position names a receiver: "send it to Alice"."""
    words = re.findall(r"[a-z]+", text[max(0, start - 60) : start].lower())
    return not _SENDING.isdisjoint(words[-5:])


def _word_before(text: str, start: int) -> str:
    """The last word before a position, lower case; "the" and "a" are looked through."""
    before = text[max(0, start - 40) : start].lower()
    cut = before.rstrip(" \t\n:")
    for article in ("the", "a"):
        shorter = cut[: -len(article)].rstrip(" \t\n:")
        if len(cut) < len(before) and cut.endswith(" " + article) and shorter:
            cut = shorter
            break
    match = _LAST_WORD.search(cut[cut.rfind(" ") + 1 :])
    return match.group(1) if match else ""


_CALENDAR: Final = "|".join(name for line in (*MONTHS, *WEEKDAYS) for name in line)
_ALWAYS_UPPER: Final = re.compile(rf"\b(?:(?i:{_CALENDAR})|I|[A-Z]{{3}})\b")
"""Who writes no name with a capital may still write a month, a currency and "I" with one."""


def _lower_places(text: str) -> Iterator[_Found]:
    """Places typed in lower case, looked for only where nothing is upper case by choice."""
    if (plain := _ALWAYS_UPPER.sub("", text)) != plain.lower():
        return
    for match in _LOWER_PLACE.finditer(text):
        word = match["place"]
        if word in STOP_WORDS or is_verb(word) or word in NUMBER_WORDS or word in _NO_PLACES:
            continue
        kind: SlotKind = "origin" if match["prep"] == "from" else "place"
        yield _Found(kind, word, *match.span("place"), match["prep"])


def _as_slot(found: _Found, text: str, ends: Collection[int]) -> Slot:
    """The slot with its hint; a word that belongs to another slot introduces nothing."""
    hint = found.hint
    if hint is None:
        before = text[: found.start].rstrip(" :,")
        hint = "" if len(before) in ends else _word_before(text, found.start)
        if found.kind == "quantity" and hint == "of":
            hint = _word_before(text, len(before) - len(hint)) or hint  # "a party of six"
        if found.kind in _ENDING and (ending := _ending_before(text, found)):
            hint = ending
    return Slot(
        kind=found.kind,
        value=found.value,
        text=text[found.start : found.end],
        position=found.start,
        hint=hint,
        readings=found.readings if found.value is None else (),
    )


def _ending_before(text: str, found: _Found) -> str:
    """The word before a day or an hour by which something ends then: "checking out on"."""
    match = _ENDING[found.kind].search(text, max(0, found.start - 40), found.start)
    if match is None or (match["leaving"] and not _STAYING.search(text, 0, match.start())):
        return ""
    return match["plain"].lower() if match["plain"] else "ending"


def _plain(number: float) -> int | float:
    """An int where nothing is lost."""
    return int(number) if number == int(number) else number
