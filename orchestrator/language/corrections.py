"""Corrections in mid-sentence: "Rome, no, Milan" asks for Milan.

What takes back and what stands in its place is told by structure: a marker, and behind it a phrase
of the same kind as one before it. Where nothing of the kind stands before it, or several do, what
was meant is not told, and the text stays as it is.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from orchestrator.language.clauses import clause_spans, without_lead
from orchestrator.language.date_words import MONTH
from orchestrator.language.given_up import ended
from orchestrator.language.intent import Slot
from orchestrator.language.numbered_lists import without_list_marks
from orchestrator.language.said import Span, is_within, quoted_spans, told_spans
from orchestrator.language.slots import read_slots
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, is_verb, lowered

_LISTS: Final = WordLists("corrections")
_KEPT: Final = 64
_PAUSE: Final = r"(?:\s*[,;:.!?(\u2026\u2014\u2013]+\s*|\s+-+\s+|\s*--+\s*)"
_OPENER: Final = "|".join(_LISTS.words("openers"))
_ARTICLE: Final = "|".join(_LISTS.words("articles"))
_LEAD_IN: Final = re.compile(rf"\s*(?:(?P<opener>{_OPENER})\s+)?(?:(?:the|a|an)\s+)?", re.I)
_BEFORE: Final = re.compile(rf"\b(?P<opener>{_OPENER})\s+(?:the\s+)?$", re.I)
_THING: Final = re.compile(
    rf"(?:{_ARTICLE})\s+(?:(?!(?:{_OPENER}|and|or)\b)[\w'\u2019-]+)"
    rf"(?:\s+(?!(?:{_OPENER}|and|or|that|which|please|instead|then)\b)[\w'\u2019-]+){{0,2}}",
    re.I,
)
_NOT: Final = re.compile(r"(?:please\s+)?(?:do\s+not|don['\u2019]?t|not)\b", re.I)
_BARE_NAME: Final = re.compile(
    r"(?:(?:to|in|at|from)\s+)?(?P<name>[^\W\d_]{3,})(?=\s*(?:[,;.!?)]|$|and\b|for\b|on\b))"
)
_NUMBER: Final = re.compile(r"[\d.,]*\d[kK]?|[a-z]+(?:-[a-z]+)?", re.I)
_JOINING: Final = "or "
_NO: Final = "no"
_BOTH: Final = 2
"""Readings of an hour whose half of the day is not said."""
_MOST: Final = 6
"""Markers of one goal that are followed: nobody means more."""


def _phrases(key: str) -> str:
    """The phrases of a list as a pattern, the longest first; commas may stand within one."""
    lines = sorted(_LISTS.lines(key), key=len, reverse=True)
    return "|".join(r"[\s,]+".join(map(re.escape, line.split())) for line in lines)


_MARK: Final = re.compile(
    rf"(?:(?P<pause>{_PAUSE})(?:(?:and|but|oh|ah|um|uh|er|hmm?|well|ok|okay)[\s,]+)*(?P<word>(?:{_phrases('sure')}"
    rf"|{_phrases('paused')}|{_phrases('whole')})(?:[\s,]+(?:{_phrases('sure')}|{_phrases('paused')}))*)"
    rf"|\s+(?P<sure>{_phrases('sure')}))\b(?P<after>\s*[,;:.!?\u2026\u2014\u2013-]*)\s*",
    re.I,
)
_WHOLE: Final = re.compile(rf"(?:{_phrases('whole')})", re.I)
_SURE: Final = re.compile(rf"\b(?:{_phrases('sure')})\b", re.I)
"""In a marker, which may be of several: "actually, make that"."""
_CONTRAST: Final = re.compile(
    rf"\s*(?:[,(]|\s-)?\s*\b(?P<word>{_phrases('contrast_behind')})\s+", re.I
)
_END: Final = re.compile(r"\s*(?:[,;.!?)]|\s-\s|$|(?:and|but|then|please)\b)", re.I)
# What may follow a value that stands in for another: no verb, as of "Saturday is better".
_ENDS_VALUE: Final = re.compile(
    rf"(?:['\u2019]s)?(?:{_END.pattern}|\s+(?:{_OPENER}|{_ARTICLE}|people|persons|that|saying)\b)",
    re.I,
)
_BUT: Final = re.compile(r"\s*,?\s+but\s+(?:rather\s+)?(?=\S)", re.I)
"""Between what is not meant and what is: "not Friday but Saturday"."""
_UP_TO: Final = re.compile(r"\s*(?:-|\u2013|\b(?:to|until|till|and)\b)\s*", re.I)
_SAID_AGAIN: Final = frozenset({"date", "time"})
"""What may be said again behind what is corrected: "Thursday at 10"."""
_NOON: Final = "12:00"
_ENDING: Final = frozenset({"to", "until", "till"})
_BARE_DAY: Final = re.compile(r"(?:the\s+)?\d{1,2}(?:st|nd|rd|th)", re.I)
_OF_MONTH: Final = re.compile(rf"\s+(?:of\s+)?(?:{MONTH})(?:,?\s+\d{{4}})?$", re.I)
"""The month of a day, which one that stands in for it may leave out: "until the 7th"."""
_CLITIC: Final = re.compile(r"^['\u2019]s\b")
_ALIKE: Final = {
    "origin": "place",
    "name": "place",
    "quantity": "number",
    "amount": "number",
}


@dataclass(frozen=True, slots=True)
class Replaced:
    """What was taken back, in the words of the goal; `by` is empty where nothing took its place."""

    was: str
    by: str
    said: str
    """The words that took it back, with what follows them."""


@dataclass(frozen=True, slots=True)
class Corrected:
    """A text as it is meant; `unsure` are corrections of which nothing tells what they correct."""

    text: str
    replaced: tuple[Replaced, ...] = ()
    unsure: tuple[str, ...] = ()


@lru_cache(maxsize=_KEPT)
def corrected(text: str) -> Corrected:
    """The text with what it takes back left out; one that corrects nothing costs next to nothing.

    Examples:
        "Book Rome, no, Milan" is "Book Milan"; "for two, I mean three" is "for three"; "I no longer
        need the car" is "cancel the car". What is quoted, and what somebody is told, stays as is.
        Requests that are listed lose the marks of their list.
    """
    text = without_list_marks(text)
    replaced: list[Replaced] = []
    unsure: list[str] = []
    start = 0
    for _ in range(_MOST):
        step = _next(text, start)
        if step is None:
            break
        text, start = step.text, step.goes_on
        replaced += step.replaced
        unsure += step.unsure
    text, orders = ended(text)
    replaced += [Replaced(was, order, was) for was, order in orders]
    return Corrected(text, tuple(replaced), tuple(unsure))


@dataclass(frozen=True, slots=True)
class _Step:
    """What one marker came to, and where the text is read on."""

    text: str
    goes_on: int
    replaced: tuple[Replaced, ...] = ()
    unsure: tuple[str, ...] = ()


def _next(text: str, start: int) -> _Step | None:
    """What the first marker from `start` on comes to; None when there is none."""
    marks = [m for p in (_MARK, _CONTRAST) if (m := p.search(text, start)) is not None]
    if not marks:
        return None
    mark = min(marks, key=lambda m: (m.start(), -m.end()))
    if mark.start() == 0 or not text[: mark.start()].strip():
        return _Step(text, mark.end())
    if is_within(mark.start(), mark.end(), quoted_spans(text)):
        return _Step(text, mark.end())
    if is_within(mark.start() + 1, mark.end(), told_spans(text)):
        return _within_told(text, mark)
    return _contrast(text, mark) if mark.re is _CONTRAST else _repair(text, mark)


def _within_told(text: str, mark: re.Match[str]) -> _Step:
    """What somebody is told is passed on as it is; a sure sign there is worth a question."""
    word = _word_of(mark)
    sure = mark.re is _MARK and _SURE.search(word) is not None
    return _Step(text, mark.end(), unsure=(_shown(text, mark),) if sure else ())


def _word_of(mark: re.Match[str]) -> str:
    groups = mark.groupdict()
    return str(groups.get("word") or groups.get("sure"))


def _shown(text: str, mark: re.Match[str]) -> str:
    """The marker and what follows it, up to the end of its phrase."""
    word = mark.start("word") if mark.groupdict().get("word") else mark.start("sure")
    end = _END.search(text, mark.end())
    return text[word : end.start() if end else len(text)].strip(" ,;:.")


def _contrast(text: str, mark: re.Match[str]) -> _Step:
    """Leave out what is not meant, of "Milan, not Rome", where one of its kind is beside it."""
    slots = _slots_around(text, mark)
    excluded = _slot_after(text, mark.end(), slots)
    if excluded is None:
        return _Step(text, mark.end())
    but = _BUT.match(text, _end(excluded))
    meant = _slot_after(text, but.end(), slots) if but else None
    if but is not None and meant is not None and _kind(meant) == _kind(excluded):
        said = text[mark.start() : but.end()].strip(" ,(-")
        pause = ", " if "," in mark.group() else " "
        now = f"{text[: mark.start()]}{pause}{text[but.end() :]}"
        return _Step(now, mark.start(), (Replaced(excluded.text, meant.text, said),))
    kept = [slot for slot in slots if _end(slot) <= mark.start() and _kind(slot) == _kind(excluded)]
    if not kept or text[_end(kept[-1]) : mark.start()].strip():
        return _Step(text, mark.end())
    end = _end(excluded)
    closing = text[end : end + 1] == ")" and "(" in mark.group()
    said = text[mark.start() : end].strip(" ,(-")
    now = text[: mark.start()] + text[end + closing :]
    return _Step(now, mark.start(), (Replaced(excluded.text, kept[-1].text, said),))


def _repair(text: str, mark: re.Match[str]) -> _Step:
    word = _word_of(mark)
    if _is_of_a_time(text, mark):
        return _Step(text, mark.end())
    text = _in_the_same_half(text, mark)
    slots = _slots_around(text, mark)
    repair = _slot_after(text, mark.end(), slots)
    is_no = word.lower() == _NO and not mark["after"].strip()
    if repair is not None and is_no and _kind(repair) == "place":
        # "Rome on Friday, no Ryanair" leaves one out; "Rome, no Milan" reads alike and is asked.
        beside = any(_end(s) == mark.start() and _kind(s) == "place" for s in slots)
        return _Step(text, mark.end(), unsure=(_shown(text, mark),) if beside else ())
    if repair is not None:
        return _with_value(text, mark, repair, slots)
    rest = text[mark.end() :]
    if not rest.strip() and "?" in mark["after"]:
        return _Step(text, mark.end())  # "is it raining, no?"
    if _NOT.match(rest):
        return _Step(text, mark.end(), unsure=(_shown(text, mark),))
    if not rest.strip() or _begins_order(rest):
        return _with_order(text, mark)
    if (thing := _THING.match(rest)) is not None:
        return _with_thing(text, mark, thing)
    if (bare := _bare_name(text, mark, slots)) is not None:
        return bare
    return _Step(text, mark.end(), unsure=_doubted(text, mark, word))


def _bare_name(text: str, mark: re.Match[str], slots: Sequence[Slot]) -> _Step | None:
    """A name in lower case, in the place of one right before the marker: "in rome, no, milan"."""
    old = next((s for s in slots if _end(s) == mark.start() and _kind(s) == "place"), None)
    name = _BARE_NAME.match(text, mark.end())
    if old is None or name is None or not old.text.islower() or name["name"] in STOP_WORDS:
        return None
    return _spliced(text, mark, (old.position, _end(old)), name["name"], name.end("name"))


def _doubted(text: str, mark: re.Match[str], word: str) -> tuple[str, ...]:
    """What is asked about where a marker took nothing back: idle words are not."""
    pausing = bool(mark["after"].strip()) and mark.groupdict().get("pause") is not None
    sure = _SURE.search(word) or _WHOLE.fullmatch(word) or " " in word.strip()
    idle = word.lower() in ("make it", "actually")
    return (_shown(text, mark),) if (sure or pausing) and not idle else ()


def _is_of_a_time(text: str, mark: re.Match[str]) -> bool:
    """Whether the word makes an hour the earliest or the latest: "..., no later than noon"."""
    start = mark.start("word")
    times = (slot for slot in read_slots(text, now=None) if slot.kind == "time")
    return any(slot.position <= start < _end(slot) for slot in times)


def _slots_around(text: str, mark: re.Match[str]) -> list[Slot]:
    """The values before a marker and behind it: no name reaches over it, or starts a sentence."""
    behind = read_slots(f"{_JOINING}{text[mark.end() :]}", now=None)
    shift = mark.end() - len(_JOINING)
    moved = (s.model_copy(update={"position": s.position + shift}) for s in behind)
    return [*read_slots(text[: mark.start()], now=None), *moved]


def _slot_after(text: str, start: int, slots: Sequence[Slot]) -> Slot | None:
    """The value that begins right there, but for a preposition and an article."""
    lead = _LEAD_IN.match(text, start)
    first = lead.end() if lead else start
    return next((slot for slot in slots if start <= slot.position <= first < _end(slot)), None)


def _with_value(text: str, mark: re.Match[str], repair: Slot, slots: Sequence[Slot]) -> _Step:
    """The text with the value before the marker that the one behind it stands for."""
    earlier = [s for s in slots if _end(s) <= mark.start() and _kind(s) == _kind(repair)]
    times = [s for s in slots if _end(s) <= mark.start() and s.kind == "time"]
    opener = _opener(text, mark.end(), repair.position)
    # "For two at seven, actually for three": said with the same preposition, it is no time.
    said_so = bool(opener) and any(_opener_before(text, slot) == opener for slot in earlier)
    bare = _is_bare_number(repair) and not said_so
    both = bare and bool(times) and bool(earlier)
    earlier = times if bare and times else earlier
    earlier = [s for s in earlier if not is_within(s.position, _end(s), told_spans(text))]
    old = _meant(text, earlier, opener, mark.start(), slots)
    if old is None or both or not _is_over(text, _end(repair), slots):
        idle = _word_of(mark).lower() in ("make it", "actually") and not earlier
        return _Step(text, mark.end(), unsure=() if idle else (_shown(text, mark),))
    start, by = old.position, _possessive(text, repair)
    before = _BEFORE.search(text[: old.position])
    if opener and before and before["opener"].lower() != opener:
        start, by = before.start(), text[mark.end() : _end(repair)].strip()
    if (month := _OF_MONTH.search(old.text)) and _BARE_DAY.fullmatch(repair.text):
        by += month.group()
    was = _number_in(old) if _is_bare_number(repair) else _possessive(text, old)
    end = old.position + len(was)
    stop, again = _said_again(text, mark, repair, slots)
    return _spliced(text, mark, (start, end), by, stop, again)


def _in_the_same_half(text: str, mark: re.Match[str]) -> str:
    """The text, an hour behind the marker in the half of the day of the one that it corrects.

    "At 3 pm, make it 4" is 4 pm, and "from 4 to 6" then from 4 to 6 pm.
    """
    slots = _slots_around(text, mark)
    hour = _slot_after(text, mark.end(), slots)
    before = [s for s in slots if _end(s) <= mark.start() and s.kind == "time"]
    if hour is None or hour.kind != "time" or len(hour.readings) < _BOTH or len(before) != 1:
        return text
    if not before[0].value:
        return text
    at = _end(hour)
    for other in slots:
        if other.kind == "time" and _UP_TO.fullmatch(text, at, max(at, other.position)):
            if other.value is not None:
                return text
            at = _end(other)
    half = "pm" if str(before[0].value) >= _NOON else "am"
    return f"{text[:at]} {half}{text[at:]}"


def _said_again(
    text: str, mark: re.Match[str], repair: Slot, slots: Sequence[Slot]
) -> tuple[int, list[tuple[Span, str]]]:
    """Where what stands in for something ends, and what else it says again, each with its place.

    "On Friday at 9, no, Thursday at 10" says both again.
    """
    stop, again = repair.position + len(_possessive(text, repair)), list[tuple[Span, str]]()
    told = told_spans(text)
    while (more := _slot_after(text, stop, slots)) is not None:
        own = [s for s in slots if _end(s) <= mark.start() and s.kind == more.kind]
        own = [s for s in own if not is_within(s.position, _end(s), told)]
        if {more.kind, repair.kind} != _SAID_AGAIN or len(own) != 1 or again:
            break
        again.append(((own[0].position, _end(own[0])), more.text))
        stop = _end(more)
    return stop, again


def _is_over(text: str, end: int, slots: Sequence[Slot]) -> bool:
    """Whether a phrase ends there: at a pause, a preposition, or where the next value begins."""
    after = len(text[end:]) - len(text[end:].lstrip())
    return bool(_ENDS_VALUE.match(text, end)) or any(s.position == end + after for s in slots)


def _possessive(text: str, slot: Slot) -> str:
    """A value as it is written, with the "'s" that makes a name of it that of a place."""
    clitic = re.match(r"['\u2019]s\b", text[_end(slot) :])
    return slot.text + (clitic.group() if clitic else "")


def _meant(
    text: str, earlier: Sequence[Slot], opener: str, mark: int, slots: Sequence[Slot]
) -> Slot | None:
    """The one of several values that is taken back; None where nothing tells which."""
    if opener:
        alike = (
            _ENDING if opener in _ENDING and earlier and earlier[-1].kind == "date" else {opener}
        )
        same = [slot for slot in earlier if _opener_before(text, slot) in alike]
        if len(same) == 1:
            return same[0]
    before = [slot for slot in slots if _end(slot) <= mark]
    gap = text[_end(before[-1]) : mark] if before else ""
    if earlier and before[-1] is earlier[-1] and not _CLITIC.sub("", gap).strip():
        return earlier[-1]
    return earlier[0] if len(earlier) == 1 else None


def _opener(text: str, start: int, end: int) -> str:
    lead = _LEAD_IN.match(text[start:end])
    return (lead["opener"] or "").lower() if lead else ""


def _opener_before(text: str, slot: Slot) -> str:
    before = _BEFORE.search(text[: slot.position])
    return before["opener"].lower() if before else ""


def _is_bare_number(slot: Slot) -> bool:
    return slot.kind == "quantity" and not _unit(slot)


def _unit(slot: Slot) -> str:
    number = _NUMBER.match(slot.text)
    return slot.text[number.end() :].strip() if number else slot.text


def _number_in(slot: Slot) -> str:
    """The number of "two nights"; all of what holds none, or of an amount before its currency."""
    number = _NUMBER.match(slot.text)
    return number.group() if number and slot.text != number.group() else slot.text


def _with_thing(text: str, mark: re.Match[str], thing: re.Match[str]) -> _Step:
    """Replace the thing right before the marker, as of "a flight, no, a train"."""
    before = [m for m in _THING.finditer(text, 0, mark.start()) if m.end() == mark.start()]
    end = mark.end() + thing.end()
    if not before:
        return _Step(text, mark.end(), unsure=_doubted(text, mark, _word_of(mark)))
    start, old = before[-1].start(), before[-1].group()
    # "The cheapest hotel, no, the second cheapest" is still about a hotel.
    last = re.search(rf"\b{re.escape(thing.group().split()[-1])}\b", old, re.I)
    stop = start + (last.end() if last else len(old))
    return _spliced(text, mark, (start, stop), thing.group(), end)


def _with_order(text: str, mark: re.Match[str]) -> _Step:
    """What is to be done instead of what the clause before the marker orders, or nothing at all."""
    word, rest = _word_of(mark), text[mark.end() :]
    takes_back = _WHOLE.fullmatch(re.split(r"[,]", word)[-1].strip()) or _WHOLE.fullmatch(word)
    spans = clause_spans(text[: mark.start()])
    orders = [s for s in spans if _begins_order(text[slice(*s)])]
    last = spans[-1] if spans else (0, 0)
    verb, said = _verb_of(rest), _verb_of(text[slice(*last)])
    if verb and without_lead(text[slice(*last)]).strip().lower() == said:
        return _spliced(text, mark, last, rest, len(text))
    same = bool(verb) and verb == said
    instead = re.search(r"\binstead\b", _first_sentence(rest), re.I) is not None
    is_told = (takes_back and len(orders) == 1) or same or instead
    if not rest.strip() or not is_told or re.match(r"also\b", rest, re.I):
        idle = word.lower() == "actually" and re.match(r"(?:please\s+)?also\b", rest, re.I)
        return _Step(text, mark.end(), unsure=() if idle else (_shown(text, mark) or word,))
    was = text[slice(*last)]
    begun = text[: last[0]]
    replaced = Replaced(was, rest.strip() and _first_sentence(rest), _shown(text, mark))
    return _Step(begun + rest, len(begun), (replaced,))


def _first_sentence(rest: str) -> str:
    return re.split(r"(?<=\w)[.!?](?:\s|$)", rest.strip(), maxsplit=1)[0]


def _begins_order(rest: str) -> bool:
    return is_verb(_verb_of(rest))


def _verb_of(rest: str) -> str:
    match = re.match(r"[^\W\d_]+", lowered(without_lead(rest)))
    return match.group() if match else ""


def _spliced(
    text: str,
    mark: re.Match[str],
    old: Span,
    by: str,
    end: int,
    again: Sequence[tuple[Span, str]] = (),
) -> _Step:
    """The text with one phrase in the place of another, and without what took it back.

    `again` are others that are replaced with it.
    """
    tail = text[end:]
    if "(" in (mark.groupdict().get("pause") or "") and tail.startswith(")"):
        tail = tail[1:]
    tail = re.sub(r"^\s*(?:-+|[\u2014\u2013])(?=\s)", "", tail) if _is_dash(mark) else tail
    was = text[slice(*old)]
    kept = text[: mark.start()]
    for span, phrase in sorted([(old, by), *again], reverse=True):
        kept = kept[: span[0]] + phrase + kept[span[1] :]
    now = kept + tail
    goes_on = len(kept) if again else old[0] + len(by)
    return _Step(now, goes_on, (Replaced(was, by, text[mark.start() : end].strip(" ,;.-(")),))


def _is_dash(mark: re.Match[str]) -> bool:
    return bool(set(mark.groupdict().get("pause") or "") & set("-\u2014\u2013"))


def _kind(slot: Slot) -> str:
    return _ALIKE.get(slot.kind, slot.kind)


def _end(slot: Slot) -> int:
    """Where a value ends, without the full stop behind "7 pm." that ends the sentence."""
    return slot.position + len(slot.text.rstrip(".") if slot.kind == "time" else slot.text)
