"""Typed values in a text: the only parser of dates, times, amounts, numbers, ids and names.

Libraries read the values: dateparser (days, by its own words of each language), text2num (number
words), Babel (decimals and currencies). The patterns here only locate a value.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from functools import cache, lru_cache
from typing import Final

from pydantic import JsonValue

from orchestrator.core import budget
from orchestrator.core.record import Record
from orchestrator.language.days import (
    ENGLISH,
    READ,
    Found,
    ValueKind,
    english_marks,
    find_days,
    find_times,
    hint_at,
    vocabulary,
)
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, is_verb


class Value(Record):
    """A value in a text, between `start` and `end`.

    `value` is JSON: date "2026-12-05", time "20:00", duration {"minutes": 90} or {"days": 3},
    amount {"amount": "90.00", "currency": "EUR"}, a number, a text for the rest. It is None if the
    words name no single value ("next week", "at 8"); `readings` then holds the possible meanings.

    `hint` is the word before it, lower case, articles skipped ("from", "order", "called"); `unit`
    is the thing that a number or a duration counts ("people", "nights", "%").
    """

    kind: ValueKind
    text: str
    start: int
    end: int
    value: JsonValue
    hint: str = ""
    unit: str = ""
    readings: tuple[str, ...] = ()


_LISTS: Final = WordLists("values")
_SIGNS: Final = _LISTS.table("currency_signs")
_MONEY_WORDS: Final = _LISTS.table("currency_words")
_KNOWN_CODES: Final = frozenset({*_SIGNS.values(), *_MONEY_WORDS.values()})
_NO_PLACES: Final = _LISTS.word_set("no_places")
_NO_UNITS: Final = STOP_WORDS | _LISTS.word_set("no_units")
_COUNTING: Final = _LISTS.word_set("counting")
_COUNTED_NOUNS: Final = _LISTS.word_set("counted_nouns")
_NUMBERED_VERBS: Final = _LISTS.word_set("numbered_verbs")
_NAME_ENDS: Final = "|".join(_LISTS.words("name_ends"))
_DIGITS: Final = 20
"""Maximum digits of an amount: longer numbers are no price, and decimal would not write them
out."""
_DIGITS_OF_TIME: Final = 5
"""Maximum digits of a duration: longer ones exceed the calendar."""
_LONGEST: Final = 20_000
"""Characters of a text that are read."""


def find_values(text: str, *, now: datetime, language: str = "en") -> tuple[Value, ...]:
    """Return the values of a text in order; no character belongs to two of them.

    Args:
        text: a goal, a clause or an answer; read up to 20,000 characters.
        now: the requester's own time, to which "tomorrow" is relative.
        language: ISO 639-1 code; number words and names are read in English only.
    """
    return _find_values(text[:_LONGEST], datetime(now.year, now.month, now.day), language)


@lru_cache(maxsize=READ)
def _find_values(text: str, now: datetime, language: str) -> tuple[Value, ...]:
    taken = bytearray(len(text))
    found: list[Found] = []
    for reader in _READERS:
        for one in reader(text, now, language):
            if one.start < one.end and 1 not in taken[one.start : one.end]:
                taken[one.start : one.end] = b"\x01" * (one.end - one.start)
                found.append(one)
    found.sort(key=lambda one: one.start)
    return tuple(
        Value(**one._asdict(), text=text[one.start : one.end], hint=hint_at(text, one.start))
        for one in found
    )


# --- quoted texts, addresses ----------------------------------------------------------------

_QUOTED: Final = re.compile(
    r"\"([^\"]{1,4000})\"|“([^“”]{1,4000})”|„([^„“”]{1,4000})[“”]|«([^«»]{1,4000})»"
    r"|「([^「」]{1,4000})」|`([^`]{1,4000})`"
    r"|(?<![^\s(:,])['\u2018]((?:[^'\u2019]|(?<=\w)['\u2019](?=\w)){1,500})['\u2019](?![^\s.,;:!?)])"
)
_SAYING: Final = re.compile(
    r"\b(?:saying(?:\s+that)?|that\s+says|that\s+reads)\s*:?\s+(?=[^\s\"“'`])", re.IGNORECASE
)
_COLON: Final = re.compile(
    rf"\b(?:{'|'.join(_LISTS.words('colon_nouns'))})\b[^.:;\n]{{0,80}}:\s+(?=[^\s\"“'`\d-])", re.I
)
_EMAIL: Final = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
_URL: Final = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,20}://[^\s\"'<>)]+[^\s\"'<>).,;:!?]|\bwww\.[\w-]+(?:\.[\w-]+)+[^\s\"'<>).,;:!?]*"
)


def quoted_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of quotations in a text, quotes included, and of its addresses."""
    return [m.span() for pattern in (_QUOTED, _EMAIL, _URL) for m in pattern.finditer(text)]


def _quoted_and_addresses(text: str, now: datetime, language: str) -> Iterator[Found]:
    for match in _QUOTED.finditer(text):
        yield Found("quoted", *match.span(), next(g for g in match.groups() if g))
    for lead in (_SAYING.search(text), _COLON.search(text)):
        if lead is not None and (said := text[lead.end() :].rstrip(" .\n")):
            yield Found("quoted", lead.end(), lead.end() + len(said), said)
    if "@" in text:
        for match in _EMAIL.finditer(text):
            yield Found("email", *match.span(), match.group())
    if "://" in text or "www." in text:
        for match in _URL.finditer(text):
            yield Found("url", *match.span(), match.group())


# --- amounts, durations, numbers ------------------------------------------------------------

_NUM_POINT: Final = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_NUM_COMMA: Final = r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+(?:,\d+)?"
_SCALES: Final = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_SPACED_NUMBER: Final = re.compile(
    r"(?<![\w.,:/#-])\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:[.,]\d{1,2})?(?![\d.,])"
)
_SPELLED: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_CURRENCY: Final = re.compile(r"\s*([^\W\d_]+(?:[ -][^\W\d_]+){0,3})")


@cache
def _uses_comma(language: str) -> bool:
    if language == ENGLISH:
        return False
    from babel import UnknownLocaleError
    from babel.numbers import get_decimal_symbol

    try:
        return get_decimal_symbol(language) == ","
    except (UnknownLocaleError, ValueError):
        return False


def _scaled(match: re.Match[str], language: str) -> Decimal:
    """Return the number of a match: "1.5 million"."""
    scale = _SCALES[match["scale"]] if match["scale"] else 1
    return _decimal(match["n"], language) * scale


def _decimal(text: str, language: str) -> Decimal:
    if _uses_comma(language):
        text = text.replace(".", "").replace(",", ".")
    return Decimal(text.replace(",", ""))


@cache
def _number_patterns(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    number = _NUM_COMMA if _uses_comma(language) else _NUM_POINT
    sign = f"[{''.join(map(re.escape, _SIGNS))}]"
    return (
        re.compile(
            rf"(?P<sign>{sign})\s?(?P<a>{number})(?P<ka>[kK]\b)?(?:\s?(?P<code>[A-Z]{{3}})\b)?"
            rf"|\b(?P<before>[A-Z]{{3}})\s?(?P<c>{number})(?P<kc>[kK]\b)?(?![\w-])"
            rf"|(?<![\w.,-])(?P<b>{number})(?P<kb>[kK])?\s?(?P<behind>{sign})"
        ),
        re.compile(
            rf"(?<![\w.,:/#-])(?P<minus>-)?(?P<n>{number})(?![\d:]|[.,/-]\d)"
            r"(?:\s(?P<scale>hundred|thousand|million|billion)\b)?"
            r"(?P<pct>\s?(?:%|percent\b))?(?:(?P<glued>[a-zA-Z]{1,3})\b|°\s?[CcFf]?)?"
        ),
    )


class _Word:
    """A word in the form that text2num expects."""

    def __init__(self, word: str) -> None:
        self._word = word

    def text(self) -> str:
        return self._word

    def text_lowercase(self) -> str:
        return self._word.lower()

    def nt_separated(self, previous: "_Word") -> bool:
        return False

    def not_a_number_part(self) -> bool:
        return False


@lru_cache(maxsize=256)
def _spelled(text: str) -> tuple[tuple[int, int, int], ...]:
    """Return the spans and values of numbers in English words: "a hundred and fifty"."""
    from text_to_num import find_numbers

    words = [m for m in _SPELLED.finditer(text)]
    if not any(part in _COUNTING for m in words for part in m.group().lower().split("-")):
        return ()
    found: list[tuple[int, int, int]] = []
    for one in find_numbers([_Word(m.group()) for m in words], "en", threshold=0.0):
        start, end = words[one.start].start(), words[one.end - 1].end()
        follows_digit = re.search(r"\d\s*$", text[max(0, start - 3) : start]) is not None
        if one.is_ordinal or follows_digit or re.search(r"[^\w\s-]|\d", text[start:end]):
            continue
        if one.start and words[one.start - 1].group() == "a" and text[start:].startswith("hundred"):
            start = words[one.start - 1].start()
        found.append((start, end, int(one.value)))
    return tuple(found)


def _amounts(text: str, now: datetime, language: str) -> Iterator[Found]:
    signed, plain = _number_patterns(language)
    for match in signed.finditer(text):
        code = match["code"] or match["before"] or _SIGNS[match["sign"] or match["behind"]]
        if budget.is_currency(code):
            number = _decimal(match["a"] or match["b"] or match["c"], language)
            thousand = match["ka"] or match["kb"] or match["kc"]
            yield Found("amount", *match.span(), money(number * (1000 if thousand else 1), code))
    for match in _SPACED_NUMBER.finditer(text):
        if (named := currency_at(text, match.end(), language)) is not None:
            number = Decimal(re.sub(r"[^\d.]", "", match.group().replace(",", ".")))
            yield Found("amount", match.start(), named[1], money(number, named[0]))
    for match in plain.finditer(text):
        glued = "k" if (match["glued"] or "").lower() == "k" else ""
        end = match.end("glued" if glued else "scale" if match["scale"] else "n")
        if (named := currency_at(text, end, language)) is not None:
            number = _scaled(match, language) * (1000 if glued else 1)
            yield Found("amount", match.start("n"), named[1], money(number, named[0]))
    for start, end, spoken in _spelled(text) if language == ENGLISH else ():
        if (named := currency_at(text, end, language)) is not None:
            yield Found("amount", start, named[1], money(Decimal(spoken), named[0]))


def money(amount: Decimal, currency: str) -> JsonValue:
    """Return an amount as JSON, with the decimals of its currency: "90.00"."""
    places = Decimal(1).scaleb(-budget.EXPONENTS.get(currency, 2))
    exact = not budget.has_too_many_decimals(amount, currency)
    is_written_out = exact and amount.adjusted() < _DIGITS
    return {
        "amount": str(amount.quantize(places) if is_written_out else amount),
        "currency": currency,
    }


def currency_at(text: str, at: int, language: str) -> tuple[str, int] | None:
    """Return the currency whose code or name begins at a place of a text, and its end."""
    match = _CURRENCY.match(text, at)
    name = match[1] if match else ""
    while match and name:
        low, end = name.lower(), match.start(1) + len(name)
        code = name if name.isupper() else low.upper() if low.upper() in _KNOWN_CODES else ""
        if len(name) == 3 and code and budget.is_currency(code):
            return code, end
        if (code := _MONEY_WORDS.get(low)) is not None:
            return code, end
        name = re.sub(r"[ -]?[^ -]+$", "", name)
    return None


_UNITS_OF_TIME: Final = _LISTS.word_set("units_of_time")
_UNIT: Final = re.compile(r"[\s-]{1,2}([^\W\d_]{1,30})\b")
_TENS: Final = frozenset({"one"})


def _numbers(text: str, now: datetime, language: str) -> Iterator[Found]:
    """Yield numbers, and the durations that they form with their units."""
    for match in _number_patterns(language)[1].finditer(text):
        number = _scaled(match, language) * (-1 if match["minus"] else 1)
        glued = match["glued"] or ""
        if glued and not glued.islower() and glued not in ("C", "F"):
            continue  # "a 3D printer"
        if match["pct"]:
            yield Found("number", match.start(), match.end("pct"), _plain(number), "%")
        elif glued not in ("st", "nd", "rd", "th"):
            end = match.end("scale" if match["scale"] else "n")
            yield _counted(text, match.start(), end, number, language, glued, match.end())
    for start, end, spoken in _spelled(text) if language == ENGLISH else ():
        one = _counted(text, start, end, Decimal(spoken), language)
        if text[start:end].lower() in _TENS and not one.unit and hint_at(text, start) != "for":
            continue
        yield one


def _counted(
    text: str, start: int, end: int, number: Decimal, language: str, glued: str = "", stop: int = 0
) -> Found:
    """Return a number with the thing that it counts; a duration if that is a unit of time."""
    after = None if glued else _UNIT.match(text, end)
    word = glued or (after[1] if after else "")
    units = None
    if language != ENGLISH or word.lower() in _UNITS_OF_TIME:  # so most texts load no vocabulary
        units = vocabulary(language).durations.get(word.lower())
    last = stop if glued else after.end() if after else end
    if units is not None and number.adjusted() < _DIGITS_OF_TIME:
        name, size = units
        return Found("duration", start, last, {name: _plain(number * size)}, word.lower())
    if word and word.lower() not in _NO_UNITS and (word.islower() or glued):
        return Found("number", start, stop if glued else end, _plain(number), word.lower())
    return Found("number", start, end, _plain(number))


def _plain(number: Decimal) -> int | float:
    return int(number) if number == int(number) else float(number)


# --- ids ------------------------------------------------------------------------------------

_UUID: Final = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE)
_PHONE: Final = re.compile(
    r"(?<![\w+])\+\d(?:[\s().-]{0,2}\d){6,16}(?![\w-])"
    r"|(?<![\w.-])(?:\(?\d{3}\)?[ .-])?\d{3}[.-]\d{4}(?![\w-]|\.\d)"
)
_VERSION: Final = re.compile(r"(?<![\w.])\d+(?:\.\d+){2,}(?![\w.]*\d)")
_CODE: Final = re.compile(r"(?<![\w@#/.-])[A-Za-z0-9]+(?:[-_/.:][A-Za-z0-9]+)*(?![\w@-])")
_MEASURE: Final = re.compile(
    r"\d+(?:[.,]\d+)?[a-zA-Z]{1,3}|\d+-[a-z]+(?:-[a-z]+)*|(?:\d+[.:/-])*\d+|[a-z]+(?:[-/.][a-z]+)*",
    re.I,
)
_NUMBERED: Final = re.compile(
    r"(?P<noun>[^\W\d_]{2,30})\s+(?P<mark>(?:with\s+)?(?:the\s+)?(?:id|number|no\.?|nr\.?|code)\s+"
    r"(?:is\s+)?)?(?P<n>\d{1,20}(?:-\d{1,20})?)\b(?![.,:/-]\d|\s?%)(?:[\s-]+(?P<after>[^\W\d_]{2,30}))?",
    re.IGNORECASE,
)
_HASHED: Final = re.compile(r"(?<![\w&#])#(?P<n>\d+)\b|(?<![\w&@])[#@][^\W\d_][\w-]*(?![\w@.])")
_CAPS_DIGITS: Final = re.compile(r"(?<![\w-])[A-Z]{2,3} \d{2,4}\b(?![.,:/-]\d|\s+[a-z]{3,}s\b)")
_POSTCODE: Final = re.compile(r"\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}\b")
_FILE: Final = re.compile(r"(?<![\w.])/(?:[\w.-]+/)+[\w.-]*|\b[\w-]+\.[A-Za-z][A-Za-z0-9]{1,4}\b")


def _ids(text: str, now: datetime, language: str) -> Iterator[Found]:
    if "#" in text or "@" in text:
        for match in _HASHED.finditer(text):
            yield Found("id", *match.span(), match["n"] or match.group())
    if any(char.isdigit() for char in text):
        for pattern in (_UUID, _PHONE, _POSTCODE, _VERSION):
            for match in pattern.finditer(text):
                yield Found("id", *match.span(), match.group())
        for match in _CAPS_DIGITS.finditer(text):
            if not budget.is_currency(match.group()[:3]):
                yield Found("id", *match.span(), match.group())
        for match in _NUMBERED.finditer(text):
            if _names_one(match, language):
                yield Found("id", *match.span("n"), match["n"])
    for match in _CODE.finditer(text):
        if is_identifier(match.group()):
            yield Found("id", *match.span(), match.group())
    if "." in text or "/" in text:
        for match in _FILE.finditer(text):
            yield Found("id", *match.span(), match.group())


def is_identifier(token: str) -> bool:
    """Return True if a word is an id, rather than a plain word, a number or a measure."""
    if "_" in token.strip("_"):
        return True
    mixed = any(c.isdigit() for c in token) and any(c.isalpha() for c in token)
    return mixed and _CODE.fullmatch(token) is not None and not _MEASURE.fullmatch(token)


def _names_one(match: re.Match[str], language: str) -> bool:
    """Return True for "order 4711"; False for "order 4 pizzas", "for 4" and "quantity 4"."""
    if match["mark"]:
        return True
    if "-" in match["n"]:  # "2-4" is a range and "2026-12" a month, "2026-101" an id
        first, second = map(int, match["n"].split("-"))
        if first <= second or re.fullmatch(r"\d{4}-(?:0[1-9]|1[0-2])", match["n"]):
            return False
    noun, after = match["noun"].lower(), (match["after"] or "").lower()
    if language != ENGLISH or noun in STOP_WORDS | _COUNTING | _COUNTED_NOUNS:
        return False
    if after and after not in _NO_UNITS and "-" not in match["n"]:
        return False
    if match.string[: match.start("noun")].strip() or not is_verb(noun):
        return True
    return len(match["n"]) > 2 and noun in _NUMBERED_VERBS


# --- names ----------------------------------------------------------------------------------

_CAP: Final = r"[^\W\d_a-zß-ÿ][\w'\u2019]*(?:[.&-][^\W\d_a-zß-ÿ][\w'\u2019]*)*"
_LINK: Final = (
    r"(?:de|del|della|da|do|dos|du|der|den|di|la|le|las|los|el|of|the|van|von|am|an|sur|&)"
)
_PROPER: Final = re.compile(
    rf"(?<![\w'\u2019@#])(?:(?:Dr|Mrs?|Ms|Prof)\.\s+)?{_CAP}(?:(?:\s+{_LINK}){{0,2}}\s+(?!I\b){_CAP})*"
    r"(?P<number>\s+\d{1,4}(?=\s*(?:[.,;!?)]|$|(?:on|at|in|for|with|to|and|near)\b)))?"
)
_POSSESSIVE: Final = re.compile(r"['\u2019]s?$")
_NAME_WORD: Final = r"[^\s,.;:!?\"“`()]+(?:\.[^\s,.;:!?\"“`()]+)*"
_CALLED: Final = re.compile(
    rf"\b(?:called|named|titled|entitled)\s+"
    rf"(?P<name>{_NAME_WORD}(?:\s+(?!(?:{_NAME_ENDS})\b){_NAME_WORD}){{0,7}})",
    re.IGNORECASE,
)
_LOWER_PLACE: Final = re.compile(
    r"\b(?:from|to|in|near)\s+(?P<place>(?:(?:new|san|los|las|saint|santa|el|la|rio de|hong|tel|abu"
    r"|cape)\s)?[^\W\d_]{3,})\b"
)
_NEXT_WORD: Final = re.compile(r"\s+#?([\w-]+)")
_DETERMINERS: Final = WordLists("words").word_set("determiners")
_SENTENCE_START: Final = re.compile(r"(?:^|[.!?:;]\s+|\n\s*)(?:[-*•]\s*|\d{1,2}[.)]\s+)?$")


def _numbered_names(text: str, now: datetime, language: str) -> Iterator[Found]:
    """Yield names that include a number, such as a street address; "Invoice 12" is not one."""
    for match in _PROPER.finditer(text) if language == ENGLISH else ():
        is_name = match["number"] and not _CAPS_DIGITS.fullmatch(match.group())
        span = _proper_span(text, match) if is_name else None
        if span is not None and not is_verb(text[slice(*span)].split()[-2].lower()):
            yield Found("name", *span, text[slice(*span)])


def _names(text: str, now: datetime, language: str) -> Iterator[Found]:
    for match in _CALLED.finditer(text):
        start, name = match.start("name"), match["name"]
        while name:  # the longest part without other values: "called stand-up tomorrow"
            yield Found("name", start, start + len(name), name)
            name = name.rpartition(" ")[0].rstrip()
    if text.isupper() or language not in (ENGLISH, "es", "fr", "it", "pt", "nl"):
        return
    for match in _PROPER.finditer(text):
        if (span := _proper_span(text, match)) is not None:
            yield Found("name", *span, text[slice(*span)])
    if not any(char.isupper() for char in text[1:]):
        for match in _LOWER_PLACE.finditer(text):
            word = match["place"]
            if word not in _NO_PLACES and word not in STOP_WORDS and not is_verb(word):
                yield from _lower_name(text, *match.span("place"))


def _lower_name(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield a lower-case name: a place, or a name after its noun, as in "from index movies"."""
    word = _NEXT_WORD.match(text, end)
    if word is None:
        yield Found("name", start, end, text[start:end])
    elif word[1] in _DETERMINERS:
        return  # "to water the plants": a verb
    elif word[1] in _NO_UNITS or english_marks().match(word[1]):
        yield Found("name", start, end, text[start:end])
    elif word[1].isalpha():
        yield Found("name", *word.span(1), word[1])


def _proper_span(text: str, match: re.Match[str]) -> tuple[int, int] | None:
    """Return the span of a name, without a sentence's first word or a possessive."""
    start, end = match.span()
    first, _, rest = match.group().partition(" ")
    low = _POSSESSIVE.sub("", first).lower()
    opens = _SENTENCE_START.search(text[max(0, start - 8) : start]) is not None
    is_plain = is_verb(low) or not rest[:1].isupper()  # "Weather of Rome": no name first
    if low in STOP_WORDS or (opens and is_plain and not _POSSESSIVE.search(first)):
        start = next((n for n in range(start + len(first), end) if text[n].isupper()), end)
    if possessive := _POSSESSIVE.search(text[start:end]):
        end -= len(possessive.group())
    return (start, end) if any(char.isupper() for char in text[start:end]) else None


_READERS: Final = (
    *(_quoted_and_addresses, find_days, find_times),
    *(_amounts, _numbered_names, _ids, _numbers, _names),
)
"""Readers in order of certainty: later readers skip what earlier ones have read."""


def warm_up() -> None:
    """Load the libraries' lazy data now, so that no request waits for it."""
    find_values("tomorrow at 8 pm, 6 December, two people, 90 EUR", now=datetime(2026, 1, 1))
