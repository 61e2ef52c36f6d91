"""A clause of a goal, parsed once: its words, typed values and the phrases around them."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Final, Literal

from pydantic import JsonValue

from orchestrator.language import lexicon
from orchestrator.language.values import Value, find_values
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, is_verb, stem, tokens

_LISTS: Final = WordLists("rules")
_WORD: Final = re.compile(r"[^\W_]+(?:[-_'\u2019./&@+][^\W_]+)*|#[\w-]+")
_BREAK: Final = re.compile(r"[,;:!?()\[\]\"\u201c\u201d]|\.(?=\s|$)")
_TAIL: Final = re.compile(r"[\s.,;!?]+$")
_JOINED: Final = re.compile(r"\s*(?:,|&|and|,\s*and|plus)\s*(?:(?:in|to|for|on|the)\s+)?", re.I)
LEADS: Final = _LISTS.word_set("leads")
ARTICLES: Final = frozenset(
    ["a", "an", "the", "my", "our", "your", "his", "her", "their", "this", "some", "any"]
)
CALLED: Final = frozenset(["called", "named", "titled", "entitled", "labelled", "labeled"])
SAYING: Final = frozenset(["that", "saying", "says", "reading", "stating"])
_CONJUNCTIONS: Final = frozenset({"and", "or", "but", "then"})
_COUNTED: Final = frozenset(stem(word) for word in lexicon.COUNTED | lexicon.NIGHTS)
_MOST: Final = re.compile(
    r"\b(?:for )?(?:under|below|at most|up to|less than|cheaper than|within|max(?:imum)?(?: of)?"
    r"|(?:no|not) (?:cost )?more than)\s*$",
    re.IGNORECASE,
)
_LEAST: Final = re.compile(
    r"\b(?:for )?(?:over|above|at least|more than|min(?:imum)?(?: of)?)\s*$", re.IGNORECASE
)
_LONGEST_BOUND: Final = 40
_DENIED: Final = re.compile(r"(?:\b(?:no|not|never)|n't)\b[\w ]{0,16}$", re.IGNORECASE)
_POLITE: Final = _LISTS.word_set("before_verb")
_DEPENDENT: Final = frozenset({"if", "unless", "when", "whenever", "once", "after", "before"})
_ASKED_TO: Final = frozenset({"remind", "ask", "tell", "invite", "order"})


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the clause and its position."""

    text: str
    lower: str
    stem: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A value or phrase that an input may take, with the word that introduces it."""

    kind: str
    value: JsonValue
    text: str
    start: int
    end: int
    cue: str = ""
    cue_start: int = -1
    noun: str = ""
    """The stem of the word right before it, articles skipped."""
    after: str = ""
    """The stem of the word right after it."""
    after_end: int = -1
    """The position at which that word ends."""
    readings: tuple[str, ...] = ()
    """Its possible meanings, if its words are ambiguous and it has no value."""
    around: tuple[int, int] = (0, 0)
    """The unit that a number counts, or the words that make an amount a limit."""

    @property
    def span(self) -> tuple[int, int]:
        """The part of the clause that it occupies, its cue included."""
        return (self.start if self.cue_start < 0 else self.cue_start, self.end)

    def overlaps(self, spans: Iterable[tuple[int, int]]) -> bool:
        """Return True if it shares a character with one of the spans."""
        return any(self.start < end and start < self.end for start, end in spans)


@dataclass(frozen=True)
class Clause:
    """The text of one request and its typed values."""

    text: str
    now: datetime
    words: tuple[Word, ...]
    values: tuple[Value, ...]

    @cached_property
    def verb_index(self) -> int:
        """The index of the first word after politeness and a leading condition."""
        first = self.place_of(len(self.dependent)) if self.dependent else 0
        for number, word in enumerate(self.words[first:], first):
            if word.lower not in _POLITE and not word.text.isdigit():
                return number
        return 0

    @cached_property
    def dependent(self) -> str:
        """The condition at the start of the clause: "once Kim has agreed"; '' without one."""
        is_one = self.words and self.words[0].lower in _DEPENDENT and "," in self.text
        return self.text[: self.text.index(",")] if is_one else ""

    @property
    def verb(self) -> str:
        """The first word after politeness; '' for an empty clause."""
        return self.words[self.verb_index].lower if self.words else ""

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """The typed values, then phrases, the object of the verb and texts to pass on."""
        typed = [self._typed(value) for value in self.values]
        called = [
            replace(run, kind="called", cue=word.lower, cue_start=word.start)
            for number, word in enumerate(self.words)
            if word.lower in CALLED and (run := self.run_at(number + 1)) is not None
        ]
        found = [*typed, *called, *self._moments(typed), *self._phrases(typed)]
        return tuple([*found, *self._objects(typed), *self._texts(typed)])

    def of_kind(self, *kinds: str) -> list[Candidate]:
        """Return the candidates of these kinds, in text order."""
        if (found := self._of_kinds.get(kinds)) is None:
            found = [one for one in self.candidates if one.kind in kinds]
            self._of_kinds[kinds] = found
        return [*found]

    @cached_property
    def _of_kinds(self) -> dict[tuple[str, ...], list[Candidate]]:
        return {}

    def bound_of(self, value: "Value | Candidate") -> "tuple[Literal['max', 'min'], int] | None":
        """Return "max" or "min" by the words before a value, and the start of those words."""
        before = self.text[: value.start][-_LONGEST_BOUND:]
        if found := _MOST.search(before):
            return "max", value.start - len(before) + found.start()
        found = _LEAST.search(before)
        if found is None or _DENIED.search(before[: found.start()]):
            return None
        return "min", value.start - len(before) + found.start()

    def are_joined(self, first: Candidate, second: Candidate) -> bool:
        """Return True if only a comma or "and" separates two values; "or" leaves a choice open."""
        return bool(_JOINED.fullmatch(self.text[first.end : second.start]))

    def run_at(self, number: int, *, over_leads: bool = False) -> Candidate | None:
        """Return the words from this index up to the next preposition, value or punctuation."""
        first = number
        while first < len(self.words) and self.words[first].lower in ARTICLES:
            first += 1
        starts = {value.start for value in self.values if value.kind not in ("name", "id")}
        last = first
        for place in range(first, len(self.words)):
            word = self.words[place]
            if place > first and _BREAK.search(self.text[self.words[place - 1].end : word.start]):
                break
            if word.start in starts or word.lower in CALLED | SAYING | _CONJUNCTIONS:
                break
            if word.lower in LEADS and not (over_leads and word.lower in ("with", "of", "for")):
                break
            last = place + 1
        if last == first:
            return None
        start, end = self.words[first].start, self.words[last - 1].end
        return Candidate("phrase", self.text[start:end], self.text[start:end], start, end)

    def place_of(self, start: int) -> int:
        """Return the index of the first word at or after a position."""
        return next((n for n, w in enumerate(self.words) if w.start >= start), len(self.words))

    def before(self, start: int, *, skipping: Collection[str] = ()) -> Word | None:
        """Return the last word before a position that is none of `skipping`."""
        words = (w for w in reversed(self.words) if w.end <= start)
        return next((w for w in words if w.lower not in skipping), None)

    def after(self, end: int) -> Word | None:
        """Return the first word at or after a position."""
        return next((w for w in self.words if w.start >= end), None)

    def _typed(self, value: Value) -> Candidate:
        last, after = self.before(value.start, skipping=ARTICLES), self.after(value.end)
        if last is not None and _BREAK.search(self.text[last.end : value.start]):
            last = None
        around = (0, 0)
        if value.kind == "number" and after is not None:
            if after.stem in _COUNTED and after.start - value.end <= 2:
                around = (value.end, after.end)
        elif value.kind == "amount" and (bound := self.bound_of(value)) is not None:
            around = (bound[1], value.start)
        if after is not None and _BREAK.search(self.text[value.end : after.start]):
            after = None
        is_cue = last is not None and last.lower in LEADS | CALLED | SAYING
        if last is not None and last.lower == "that":  # "saying that"
            first = self.before(last.start)
            last = first if first is not None and first.lower in SAYING else last
        return Candidate(
            value.kind,
            value.value,
            value.text,
            value.start,
            value.end,
            cue=last.lower if last else "",
            cue_start=last.start if last and is_cue else -1,
            noun=last.stem if last else "",
            after=after.stem if after else "",
            after_end=after.end if after else -1,
            readings=value.readings,
            around=around,
        )

    def _moments(self, typed: list[Candidate]) -> Iterator[Candidate]:
        days = [one for one in typed if one.kind == "date" and one.value]
        times = [one for one in typed if one.kind == "time" and one.value]
        for day in days:
            if not times:
                return
            near = min(times, key=lambda t: abs(t.start - day.start))
            value = [day.value, near.value]
            start, end = min(day.start, near.start), max(day.end, near.end)
            yield Candidate("datetime", value, self.text[start:end], start, end, day.cue)

    def _phrases(self, typed: list[Candidate]) -> Iterator[Candidate]:
        taken = [one.start for one in typed]
        for number, word in enumerate(self.words):
            if word.lower not in LEADS:
                continue
            run = self.run_at(number + 1)
            noun = self.words[number - 1].stem if number else ""
            if run is not None and run.start not in taken:
                yield replace(run, cue=word.lower, cue_start=word.start, noun=noun)

    def _objects(self, typed: list[Candidate]) -> Iterator[Candidate]:
        number = self.verb_index
        if number < len(self.words):
            verb = self.words[number]
            number += is_verb(verb.lower) or is_stop(verb)
        counts = {one.start for one in typed if one.kind == "number"}
        while number < len(self.words) and (
            self.words[number].lower in ("me", "us", "up", "down", *ARTICLES)
            or self.words[number].start in counts
        ):
            number += 1
        for wide in (True, False):
            run = self.run_at(number, over_leads=wide)
            if run is not None:
                yield replace(run, kind="object")

    def _texts(self, typed: list[Candidate]) -> Iterator[Candidate]:
        """Yield texts to pass on: after "that", "saying", a colon, or "to" and a verb."""
        asks = self.verb in _ASKED_TO or any(word.stem == "remind" for word in self.words)
        values = {one.start for one in typed}  # "to Basel" is no verb
        for number, word in enumerate(self.words):
            following = self.words[number + 1] if number + 1 < len(self.words) else None
            if following is None:
                continue
            is_verb_next = following.lower not in ARTICLES and following.start not in values
            is_to = asks and word.lower == "to" and is_verb_next
            if word.lower in SAYING or is_to:
                yield from self._rest(word.start, following.start, typed, is_to=is_to)
        colon = self.text.find(": ")
        if colon > 0:
            yield from self._rest(colon, colon + 2, typed)

    def _rest(
        self, cue: int, start: int, typed: list[Candidate], *, is_to: bool = False
    ) -> Iterator[Candidate]:
        end = len(_TAIL.sub("", self.text))
        if end <= start:
            return
        bounds = [c.around for c in typed if c.kind == "amount" and c.around[0] > start]
        if is_to and bounds:  # a price limits the action, and does not belong to the text
            end = len(self.text[: bounds[0][0]].rstrip())
        ends = [one for one in typed if one.kind in ("date", "time") and one.start > start]
        cut = end
        for one in reversed(ends):
            between = self.text[one.end : cut]
            if not set(tokens(between)) <= {"at", "on", "by", "in"}:
                break
            before = self.before(one.start)
            cut = before.start if before and before.lower in LEADS else one.start
        if start < cut < end:
            trimmed = _TAIL.sub("", self.text[start:cut])
            yield Candidate("trimmed", trimmed, trimmed, start, start + len(trimmed), "", cue)
        yield Candidate("text", self.text[start:end], self.text[start:end], start, end, "", cue)


def read_clause(text: str, *, now: datetime) -> Clause:
    """Parse a clause; the result for a text is cached for a day."""
    return _read(text, now.replace(hour=0, minute=0, second=0, microsecond=0))


@lru_cache(maxsize=512)
def _read(text: str, now: datetime) -> Clause:
    words = []
    for match in _WORD.finditer(text):
        word, low = match.group(), match.group().lower()
        parts = tokens(word)
        stem_of = stem(parts[0] if len(parts) == 1 else low)
        words.append(Word(word, low, stem_of, match.start(), match.end()))
    return Clause(text, now, tuple(words), find_values(text, now=now))


def is_stop(word: Word) -> bool:
    """Return True if a word has no meaning by itself, such as "what's"."""
    return word.lower in STOP_WORDS or word.lower.partition("'")[0] in STOP_WORDS
