"""What a text says: every thing in it that is more than grammar and courtesy."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from pydantic import JsonValue

from orchestrator.language import lexicon
from orchestrator.language.bounds import limit_of
from orchestrator.language.clause_reading import ClauseReading, read_clause
from orchestrator.language.clauses import clause_spans
from orchestrator.language.durations import MINUTES, STRETCH
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action, Slot
from orchestrator.language.negation import exclusions
from orchestrator.language.provisos import conditions_in
from orchestrator.language.said import told_end
from orchestrator.language.slots import read_slots
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, content_stems, tokens
from orchestrator.planning.accounting.spoken import spoken_from
from orchestrator.planning.models import MentionKind

_LISTS: Final = WordLists("accounting")
_COURTESIES: Final = _LISTS.word_set("courtesies")
_PLURAL: Final = re.compile(r"\s+[a-z]+(?<![su])s\b")
_MEASURES: Final = frozenset(MINUTES)
_COUNTING: Final = _LISTS.word_set("counting")
_NEGATIONS: Final = _LISTS.word_set("negations")
_WORD: Final = re.compile(r"[^\W_]+(?:['’&-][^\W_]+)*")  # noqa: RUF001
_GAP: Final = re.compile(r"[\s-]*(?:(?:the|a|an)\s+)?")
_PREPOSITIONS: Final = WordLists("clauses").word_set("after_objects")
_END: Final = re.compile(r"[,;.!?\n]|\b(?:and|but|or)\b|$")
_NO_DENIAL: Final = re.compile(r"\s+(?:let\s+\w+\s+)?(?:forget|hesitate)\b", re.IGNORECASE)
"""What is denied so is wanted: "don't let me forget"."""
_CLAUSE_END: Final = re.compile(r"[,;.!?\n]|$")
_CONDITIONAL: Final = _LISTS.word_set("conditional")
_LOOKING: Final = WordLists("provisos").word_set("before_none") - {"even", "as", "what"}
_SO: Final = frozenset({"so", "not"})
_DASH: Final = re.compile(r"(?:\d(?:st|nd|rd|th)?|[a-z])\.?\s*[-\u2013]\s*$", re.IGNORECASE)
"""What stands before the last day of several: "12-14 December"."""
_UNTIL: Final = "until"
_OWN_BOUND: Final = re.compile(
    r"\b(?:it|they|that|this)(?:['\u2019]s)?\s+(?:[a-z]+\s+){0,3}(?:than\s+)?$", re.IGNORECASE
)
_WAY_TO_DAY: Final = re.compile(
    r"\w+ing\s+(?:(?:it|them)\s+)?(?:back\s+|off\s+)?(?:on\s+|by\s+)?", re.IGNORECASE
)
RELATIVE: Final = "relative"
"""The hint of what is told by something else alone: "right after it", "as last time"."""
OF_OTHERS: Final = "of others"
"""The hint of what belongs to somebody that nobody names."""
_HABITS: Final = "|".join(line.replace(" ", r"\s+") for line in _LISTS.lines("habits"))
_HABIT: Final = re.compile(rf"\b(?:{_HABITS})\b", re.IGNORECASE)
_RELATION: Final = re.compile(
    r"(?:\bones?\s+(?:right\s+)?(?:after|before)\s+(?:it|that|this)\b"
    rf"|(?<=\w\s)(?:(?:{STRETCH}|right|just|shortly|straight|directly|immediately|soon)\s+)?"
    r"(?:after|before)"
    r"\s+(?:it|that|this|them|those|these)\b(?!\s+[\w']))",
    re.IGNORECASE,
)
_THEN: Final = re.compile(
    r"(?<=\w\s)then\b(?=\s+(?:for|in|at|with|near)\b|\s*[.!?]?\s*$)", re.IGNORECASE
)
"""A moment, and no word between two requests."""
_BESIDE: Final = re.compile(
    rf"\b{STRETCH}\s+(?:later|earlier|afterwards?|beforehand)\b(?!\s+than\b)"
    rf"|\b(?:{STRETCH}|right|just|shortly|straight|directly|immediately|soon)\s+(?:after|before)\s+"
    r"(?:the|my|our|your|his|her|their|this|that)\s+[\w'\u2019-]+"
    rf"|\b{STRETCH}\s+(?:before|after)\b(?=\s*[.,;!?]|\s*$|\s+(?:to|and|that)\b)"
    r"|\bon\s+(?:the|my|our|your|its|his|her|their)\s+(?:[\w'\u2019-]+\s+){0,2}?(?:day|date)\b"
    r"|\b(?:at|in|on|for)\s+(?:the|my|our|your|any|some|a)\s+(?:(?:first|next|earliest|last)\s+)?"
    r"(?:free|available)\s+(?:slot|hour|time|moment|gap|day|evening|morning|afternoon)s?\b",
    re.IGNORECASE,
)
"""When something is, by another thing or hour: "half an hour after my standup", "an hour later",
"on its due date".
"""
_UNTIL_THEN: Final = re.compile(
    r"\b(?:when|whenever|once|as\s+soon\s+as|after|before|until|till|while)\s*$", re.IGNORECASE
)
"""What makes what is said behind it no text, but when something is done."""
_COMPARED: Final = re.compile(r"\b(?:[a-z]{2,}er|more|less|fewer)\s+(?:[a-z]+\s+)?than\b")
_EITHER_NUMBER: Final = re.compile(
    r"(?<![\w.,:/#-])\d{1,3}\s?[-\u2013\u00b1]\s?\d{1,3}\s+[a-z]{2,}", re.IGNORECASE
)
"""A count that may be several: "2-3 people"."""
_THERE: Final = re.compile(
    r"\bthere\b(?!['\u2019]|\s+(?:is|are|was|were|will|has|have|may|might|and\s+back)\b)", re.I
)
_PLACES: Final = frozenset({"place", "origin", "name", "identifier"})
_AND_BACK: Final = re.compile(r"\b(?:there\s+)?and\s+back\b(?!\s+up\b)", re.IGNORECASE)
"""That somebody returns, which no day tells."""
_ANYBODY: Final = rf"(?:{'|'.join(_LISTS.words('anybody'))})"
_OTHERS: Final = re.compile(
    rf"\b(?:{_ANYBODY}\s+else(?:['\u2019]s)?|{_ANYBODY}['\u2019]s"
    r"|(?:another|other)\s+(?:person|people)(?:['\u2019]?s)?['\u2019]?)(?!\w)",
    re.IGNORECASE,
)
"""Whose something is that is not one's own, whoever that is: "somebody else's"."""
_THEIRS: Final = re.compile(r"\b(?:his|hers?|theirs?)\b", re.IGNORECASE)
"""Whose something is that is to be taken back."""
_MOMENTS: Final = frozenset({"date", "time"})
_KINDS: Final[dict[str, MentionKind]] = {
    "date": "date",
    "time": "time",
    "duration": "duration",
    "origin": "place",
    "place": "place",
    "amount": "amount",
    "quantity": "count",
    "email": "addressee",
    "identifier": "identifier",
    "name": "name",
}

Span = tuple[int, int]


@dataclass(frozen=True)
class Said:
    """One thing that a text says.

    `value` is what was read from it (ISO 8601, a number, {"amount", "currency"}, or the words);
    `stems` are of its words that say something, `hint` is the word that introduces it or the noun
    that it counts. `is_text` is what somebody is told, or what a thing is called.
    """

    kind: MentionKind
    text: str
    position: int
    value: JsonValue = None
    stems: tuple[str, ...] = ()
    hint: str = ""
    is_text: bool = False

    @property
    def end(self) -> int:
        """Where its words end."""
        return self.position + len(self.text)


@lru_cache(maxsize=64)
def things_said(text: str, *, now: datetime, before: str = "") -> tuple[Said, ...]:
    """Everything that a text says beside grammar and courtesy, in its order; none overlap.

    Of each clause its verb, what that acts on, and its values; what is said to somebody as one
    thing, a condition as one, and a negation with what it denies.

    Args:
        text: a goal, or a part of one.
        now: the requester's time.
        before: what was said before it, to which "the day after" may refer.
    """
    slots = read_slots(text, now=now, before=before)
    found: list[Said] = []
    for start, end in clause_spans(text):
        found += _Clause(text, start, end, slots, before).said()
    return tuple(sorted(found, key=lambda said: said.position))


@dataclass(frozen=True)
class _Clause:
    """One clause of a text, and the values of the whole text."""

    text: str
    start: int
    end: int
    slots: Sequence[Slot]
    before: str = ""

    def said(self) -> list[Said]:
        """What it says; each part of its text is taken once, by the widest reading first."""
        reading = read_clause(self.text[self.start : self.end])
        taken = bytearray(len(self.text))
        found: list[Said] = []
        readers = (
            self._spoken(reading),
            self._quoted(),
            self._conditions(reading),
            self._conditionals(taken),
            self._others(reading),
            self._negations(reading, taken),
            self._relations(),
            self._comparisons(taken),
            self._either_number(),
            self._there(),
            self._then(),
            self._values(reading),
            self._words(reading, taken),
        )
        for said in (said for reader in readers for said in reader):
            if 1 not in taken[said.position : said.end]:
                taken[said.position : said.end] = b"\x01" * (said.end - said.position)
                found.append(said)
        return found

    def _spoken(self, reading: ClauseReading) -> Iterator[Said]:
        """What somebody is told: no sign of a tool, whatever it says."""
        begin = spoken_from(reading)
        told = reading.text[begin : told_end(reading.text)].rstrip() if begin is not None else ""
        when = _UNTIL_THEN.search(reading.text[:begin]) if begin is not None else None
        if when is not None and tokens(told)[:1] not in ([], ["to"]):
            end = self.start + (begin or 0) + len(told)
            yield self._of("condition", self.start + when.start(), end)
        elif begin is not None and tokens(told):
            yield self._of("remark", self.start + begin, self.start + begin + len(told), text=True)

    def _conditions(self, reading: ClauseReading) -> Iterator[Said]:
        for condition in conditions_in(reading.text, reading.action):
            at = reading.text.find(condition)
            yield self._of("condition", self.start + at, self.start + at + len(condition))

    def _conditionals(self, taken: Sequence[int]) -> Iterator[Said]:
        """What may be a condition, though nothing reads it as one; a bound on a price is none."""
        for match in _WORD.finditer(self.text, self.start, self.end):
            if match.group().lower() not in _CONDITIONAL or taken[match.start()]:
                continue
            if {*tokens(self.text[self.start : match.start()])[-1:]} & _LOOKING:
                continue  # "see if there are any" is what is to be looked up
            after = _CLAUSE_END.search(self.text, match.end(), self.end)
            end = after.start() if after else self.end
            amounts = (slot for slot in self._own() if slot.kind == "amount")
            priced = any(match.end() <= slot.position < end for slot in amounts)
            told = {*tokens(self.text[match.end() : end])}
            if not priced and (told - STOP_WORDS - _COURTESIES or told & _SO):
                yield self._of("condition", match.start(), end)

    def _others(self, reading: ClauseReading) -> Iterator[Said]:
        """Who is meant that is not oneself: it denies that things are one's own."""
        patterns = (_OTHERS, _THEIRS) if reading.action is Action.CANCEL else (_OTHERS,)
        for match in (m for p in patterns for m in p.finditer(self.text, self.start, self.end)):
            yield self._of("negation", match.start(), match.end(), hint=OF_OTHERS)

    def _relations(self) -> Iterator[Said]:
        """What is told by something else and by no value: when it is, how it always is."""
        for pattern in (_RELATION, _HABIT):
            for match in pattern.finditer(self.text, self.start, self.end):
                if match.start() > self.start:
                    yield self._of("time", match.start(), match.end(), hint=RELATIVE)
        for match in _AND_BACK.finditer(self.text, self.start, self.end):
            days = (slot for slot in self._own() if slot.kind == "date")
            if not any(self._hint(day) in lexicon.END_HINTS for day in days):
                yield self._of("time", match.start(), match.end(), hint=RELATIVE)
        for match in _BESIDE.finditer(self.text, self.start, self.end):
            read = (slot for slot in self._own() if slot.kind in _MOMENTS)
            if not any(match.start() <= slot.position < match.end() for slot in read):
                yield self._of("time", match.start(), match.end(), hint=RELATIVE)

    def _comparisons(self, taken: Sequence[int]) -> Iterator[Said]:
        """What something is more or less than, where no value says it: "older than a year"."""
        for match in _COMPARED.finditer(self.text, self.start, self.end):
            end = self._denied(match.end(), taken)
            ends = ((slot, slot.position + len(slot.text)) for slot in self._own())
            if not any(slot.position < end and match.start() < stop for slot, stop in ends):
                yield self._of("quality", match.start(), end, hint=RELATIVE)

    def _either_number(self) -> Iterator[Said]:
        """A count of which no number is meant alone, unless it is read as days or hours."""
        for match in _EITHER_NUMBER.finditer(self.text, self.start, self.end):
            read = (s for s in self._own() if match.start() <= s.position < match.end())
            if all(slot.kind == "quantity" for slot in read):
                yield self._of("count", match.start(), match.end(), hint=RELATIVE)

    def _there(self) -> Iterator[Said]:
        """What points at a place that nobody has named: "find a free hour and put it there"."""
        earlier = (*read_slots(self.before, now=None), *self.slots) if self.before else ()
        if earlier and not any(slot.kind in _PLACES for slot in earlier):
            for match in _THERE.finditer(self.text, self.start, self.end):
                yield self._of("place", match.start(), match.end(), hint=RELATIVE)

    def _then(self) -> Iterator[Said]:
        """What points at an hour that was said before: "dinner at 19:00, and book a table then"."""
        earlier = read_slots(self.before, now=None) if self.before else ()
        own = {slot.kind for slot in self._own()}
        if "time" not in own and any(slot.kind == "time" for slot in earlier):
            for match in _THEN.finditer(self.text, self.start, self.end):
                yield self._of("time", match.start(), match.end(), hint=RELATIVE)

    def _values(self, reading: ClauseReading) -> Iterator[Said]:
        sends = reading.action is Action.SEND
        for slot in self._own():
            kind = _KINDS.get(slot.kind, "thing")
            kind = "addressee" if sends and kind == "name" else kind
            end, hint = slot.position + len(slot.text), self._hint(slot)
            if slot.kind == "quantity" and slot.text.endswith(f" {slot.hint}"):
                # Of "two adjoining rooms" adjoining says which, and is none of the number.
                counted = _PLURAL.match(self.text, end)
                if counted and singular(slot.hint) == slot.hint and slot.hint not in _MEASURES:
                    end, hint = end - len(slot.hint) - 1, counted.group().strip()
            yield self._of(kind, slot.position, end, slot.value, hint)

    def _hint(self, slot: Slot) -> str:
        """What introduces a value; of a day that ends something, that: "back on 3 May"."""
        if slot.kind == "date" and _DASH.search(self.text[self.start : slot.position]):
            return _UNTIL
        words = tokens(self.text[self.start : slot.position])[-2:]
        # "To Rome 12 December" ends nothing on that day.
        words = words if {*words[-1:]} <= STOP_WORDS else words[-1:]
        ends = [word for word in words if word in lexicon.END_HINTS and word != "by"]
        return ends[0] if slot.kind == "date" and ends else slot.hint

    def _quoted(self) -> Iterator[Said]:
        for slot in self._own():
            if slot.kind == "quoted":
                end = slot.position + len(slot.text)
                yield self._of("remark", slot.position, end, slot.value, slot.hint, text=True)

    def _own(self) -> list[Slot]:
        return [slot for slot in self.slots if self.start <= slot.position < self.end]

    def _negations(self, reading: ClauseReading, taken: Sequence[int]) -> Iterator[Said]:
        """A clause that forbids; else each negation, with the one thing or value that it denies."""
        if reading.is_negated:
            yield self._of("negation", self.start, self.end)
            return
        ruling_out = {
            self.start + e.start
            for e in exclusions(reading.text)
            if _NEGATIONS.isdisjoint(tokens(reading.text[e.start : e.end]))
        }
        for match in _WORD.finditer(self.text, self.start, self.end):
            word = match.group().lower().replace("’", "'")  # noqa: RUF001
            denies = word in _NEGATIONS or match.start() in ruling_out
            if not denies or taken[match.start()]:
                continue
            if _NO_DENIAL.match(self.text, match.end(), self.end):
                continue
            end = self._denied(match.end(), taken)
            if not any(match.start() <= slot.position < end for slot in self._bounded()):
                yield self._of("negation", match.start(), end)

    def _bounded(self) -> list[Slot]:
        """What is a most or a least: "no more than 300 EUR", "not before 9" deny nothing."""
        amounts = (slot for slot in self._own() if slot.kind == "amount")
        limits = [slot for slot in amounts if limit_of(self.text, slot) is not None]
        times = (slot for slot in self._own() if slot.kind == "time")
        return [*limits, *(slot for slot in times if {*tokens(slot.text)} & _NEGATIONS)]

    def _denied(self, start: int, taken: Sequence[int]) -> int:
        """Where what is denied from `start` on ends: "no onions", "not before noon"."""
        after = _END.search(self.text, start, self.end)
        end = next((n for n in range(start, after.start() if after else self.end) if taken[n]), 0)
        end = end or (after.start() if after else self.end)
        value = next((s for s in self._own() if start <= s.position < end), None)
        stop = value.position + len(value.text) if value else end
        said = False
        for match in _WORD.finditer(self.text, start, stop):
            if said and match.group().lower() in _PREPOSITIONS:
                return match.start()
            said = said or match.group().lower() not in STOP_WORDS
        return stop

    def _words(self, reading: ClauseReading, taken: Sequence[int]) -> Iterator[Said]:
        """Verb, things and qualities: words beside each other are one thing."""
        found = _WORD.finditer(self.text, self.start, self.end)
        days = {slot.position for slot in self._own() if slot.kind == "date"}
        bounds = [self._bound_before(slot) for slot in self._bounded()]
        words = [
            m
            for m in found
            if not taken[m.start()]
            and not self._leads_to(m, days)
            and not any(start <= m.start() < end for start, end in bounds)
        ]
        opener = self._opener(words, reading)
        kinds = (("verb" if m is opener else _kind(m.group(), reading), m) for m in words)
        run: list[tuple[MentionKind, re.Match[str]]] = []
        for kind, match in kinds:
            if kind is None:
                continue
            if run and (kind != run[-1][0] or not self._touch(run[-1][1], match)):
                yield self._joined(run)
                run = []
            run.append((kind, match))
        if run:
            yield self._joined(run)

    def _bound_before(self, amount: Slot) -> Span:
        """The words that make an amount a bound, and say no more: "if it costs less than"."""
        said = _OWN_BOUND.search(self.text, self.start, amount.position)
        return (said.start(), amount.position) if said else (amount.position, amount.position)

    def _leads_to(self, word: re.Match[str], days: Collection[int]) -> bool:
        """Whether a word only says what is done on a day: ", bringing it back on Friday"."""
        way = _WAY_TO_DAY.match(self.text, word.start())
        return way is not None and way.end() in days

    def _opener(
        self, words: Sequence[re.Match[str]], reading: ClauseReading
    ) -> re.Match[str] | None:
        """Where a verb of several words begins: "let Bob know" notifies."""
        if not reading.verb or reading.verb in tokens(self.text[self.start : self.end]):
            return None
        return next((m for m in words if m.group().lower() not in _COURTESIES), None)

    def _touch(self, one: re.Match[str], two: re.Match[str]) -> bool:
        return bool(_GAP.fullmatch(self.text, one.end(), two.start()))

    def _joined(self, run: Sequence[tuple[MentionKind, re.Match[str]]]) -> Said:
        return self._of(run[0][0], run[0][1].start(), run[-1][1].end())

    def _of(
        self,
        kind: MentionKind,
        start: int,
        end: int,
        value: JsonValue = None,
        hint: str = "",
        *,
        text: bool = False,
    ) -> Said:
        written = self.text[start:end]
        start += len(written) - len(written.lstrip(" \t\n,:"))
        words = written.strip(" \t\n,:;.")
        return Said(
            kind=kind,
            text=words,
            position=start,
            value=words if value is None else value,
            stems=tuple(content_stems(words)),
            hint=hint,
            is_text=text,
        )


def _kind(word: str, reading: ClauseReading) -> MentionKind | None:
    """What a word of a clause is there; None for one that says nothing."""
    low = tokens(word)
    if any(w in _COUNTING for w in low):
        return "count"
    if reading.verb in low:
        return None if reading.verb in STOP_WORDS | _COURTESIES else "verb"
    if not low or all(w in STOP_WORDS | _COURTESIES | _CONDITIONAL for w in low):
        return None
    things = {token for thing in reading.objects for token in tokens(thing)}
    return "thing" if things & {*low} else "quality"
