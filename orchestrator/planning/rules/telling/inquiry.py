"""What a request asks of an answer: which field, yes or no, which of several, by what values."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, dropwhile, islice, pairwise, takewhile
from typing import Final

from pydantic import JsonValue

from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.date_words import WEEKDAYS
from orchestrator.language.degrees import DEGREE_WORDS, comparison_in
from orchestrator.language.intent import Action, Slot
from orchestrator.language.negation import denied_words, exclusions
from orchestrator.language.owing import is_still_owed
from orchestrator.language.periods import period_in
from orchestrator.language.predicates import predicate_of
from orchestrator.language.synonyms import equals_of, meanings_of, synonyms_of
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import (
    QUESTION_WORDS,
    STOP_WORDS,
    action_of_stem,
    content_stems,
    is_verb,
    stem,
    tokens,
)
from orchestrator.planning.rules.narrowing import words_apart
from orchestrator.planning.rules.telling.told_field import Told
from orchestrator.planning.rules.utterance import Utterance

_LISTS: Final = WordLists("telling")
_ASKS: Final[Mapping[str, str]] = _LISTS.table("asks")
_AUXILIARIES: Final = _LISTS.word_set("auxiliaries")
_EXISTENTIAL: Final = frozenset(_LISTS.lines("existential"))
_NEGATIONS: Final = _LISTS.word_set("negations")
_SUMS: Final = _LISTS.word_set("sums")
_AVERAGES: Final = _LISTS.word_set("averages")
WHEREABOUTS: Final = lexicon.PLACE | _LISTS.word_set("whereabouts")
"""Words of names that hold where a thing is."""
PERSON: Final = _LISTS.word_set("person")
"""Words of names that hold a person, and of what describes one."""
_WEEKDAYS: Final = frozenset(chain(*WEEKDAYS))
AVAILABLE: Final = _LISTS.word_set("available")
"""Words that say that something can be had."""
_NO_THING: Final = _LISTS.word_set("no_thing")
RANKED: Final = lexicon.CHEAPEST | lexicon.BEST_RATED | lexicon.NEWEST | lexicon.OLDEST
"""Words that ask for the one thing that is most of something."""
_POINTING: Final = frozenset({"my", "our", "the", "this", "that"})
_BOUNDS: Final = frozenset(WordLists("matching").words("earliest")) | frozenset(
    WordLists("matching").words("latest")
)
"""What makes a day an end of those that are meant."""
_FEATURE: Final = re.compile(
    r"\b(?:with|including)\s+(?P<rest>[^,.;?!]+)",
    re.IGNORECASE,
)
_SETTLED: Final = "paid"
_COMING_TO: Final = re.compile(
    rf"\b(?:come|comes|came|add|adds|added)\s+(?:up\s+)?to\b"
    rf"|\bhow\s+much\b.*\b(?:{'|'.join(_LISTS.words('added_up'))})\b"
)
_SUPERLATIVES: Final = ("most", "least", "dearest")
_SHORT_DENIAL: Final = re.compile(r"\b\w+n['\u2019]t\b", re.IGNORECASE)
_OPPOSED: Final = re.compile(r"\b(?:un|non-?)(?P<of>[a-z]{4,})\b")
"""A word that may be the opposite of another: fields tell whether it is."""
_HAS_NO: Final = re.compile(
    r"\b(?:(?:has|have|having|with)\s+no|out\s+of)\s+(?P<of>[a-z]{3,})\b(?:\s+(?P<left>[a-z]+))?"
)
_NOT_IN: Final = re.compile(r"\b(?:not|n['\u2019]t)\s+(?:in|on|under)\s+(?P<of>[a-z]{3,})\b")
"""The state that things are not to be in: "which are not in repair"."""
PARTS_OF_THE_DAY: Final = ("morning", "afternoon", "evening")
_COURTESIES: Final = WordLists("accounting").word_set("courtesies")
DULL: Final = (
    frozenset(chain(*(tokens(beginning) for beginning in _ASKS)))
    | _NEGATIONS
    | _AVERAGES
    | _AUXILIARIES
    | frozenset(WordLists("clauses").words("after_objects"))
    | _LISTS.word_set("of_an_answer")
    | frozenset(PARTS_OF_THE_DAY)
    | _BOUNDS
    | frozenset(WordLists("quantifiers").table("ordinals"))
    | frozenset(chain(*(tokens(line) for key in _SUPERLATIVES for line in _LISTS.lines(key))))
)
"""Words that say what is asked for, and when: they are heeded by themselves."""
_DENIED: Final = re.compile(
    r"\S.*?(?:\b(?:not|no|never|without|except|excluding|than)|n['\u2019]t)\s+(?:[a-z]+\s+){0,2}",
    re.IGNORECASE | re.DOTALL,
)
"""What stands before a value that things are not to have; "didn't Bo come?" denies nothing."""
_WHEN: Final = WordLists("quantifiers").word_set("when") | WordLists("quantifiers").word_set(
    "begins_when"
)
_ENDS: Final = WordLists("clauses").word_set("after_objects")
_POINTING_OR_ONE: Final = frozenset({"a", "an", "some", "any", "my", "our", "the", "this", "that"})
_TELLING_APART: Final = frozenset(
    {"date", "place", "origin", "name", "quoted", "email", "identifier"}
)


def kind_asked(text: str) -> str:
    """The kind of value that a request asks for: "money" of "how much"; empty: it names none."""
    said = " ".join(tokens(text))
    return next((kind for begin, kind in _ASKS.items() if re.search(rf"\b{begin}\b", said)), "")


@dataclass(frozen=True)
class Inquiry:
    """One request, and the arguments of the call that answered it."""

    said: Utterance
    arguments: JsonObject
    dull: frozenset[str] = frozenset()
    """Stems of words that name the thing itself, and so none of its fields."""

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of the request."""
        return frozenset(tokens(self.said.text))

    @cached_property
    def asked_kind(self) -> str:
        """The kind of value that it asks for: "money" of "how much"; empty where none is named."""
        return kind_asked(self.said.text)

    @cached_property
    def is_yes_or_no(self) -> bool:
        """Whether it is answered by yes or no; not where it says "not" itself."""
        first = next(iter(tokens(self.said.text)), "")
        return first in _AUXILIARIES and not _NEGATIONS & self.words

    @cached_property
    def predicate(self) -> str:
        """The stem of what it asks whether it is so, or when it will be; empty: it asks no such."""
        is_denied = bool(_NEGATIONS & self.words)
        return "" if is_denied else stem(predicate_of(self.said.text))

    @property
    def untold_kind(self) -> str:
        """The words that ask for a kind of value which one field can be; empty: there are none."""
        if self.asked_kind in ("", "count", "place"):
            return ""
        said = " ".join(tokens(self.said.text))
        return next((begin for begin in _ASKS if re.search(rf"\b{begin}\b", said)), "")

    @property
    def asks_for_sum(self) -> bool:
        """Whether it asks what several amounts come to: "how much in total"."""
        if self.asked_kind == "count":
            return False  # "how many are there altogether"
        return bool(_SUMS & self.words) or self.may_ask_for_sum

    @cached_property
    def may_ask_for_sum(self) -> bool:
        """Whether it does so where there are several: "how much did we spend in May"."""
        return _COMING_TO.search(self.said.text.lower()) is not None

    @property
    def asks_for_average(self) -> bool:
        """Whether it asks what several amounts come to for each: "the average price"."""
        return bool(_AVERAGES & self.words)

    @cached_property
    def is_of_one(self) -> bool:
        """Whether it asks yes or no of what it names: "does Rita Blum have a licence"."""
        named = any(slot.kind in ("name", "quoted") for slot in self.unasked)
        return self.is_yes_or_no and not self.asks_for_any and named

    @cached_property
    def names_one(self) -> bool:
        """Whether it asks yes or no of something that it names, "are there seats in Hall A"."""
        kinds = ("name", "quoted", "place")
        return self.is_yes_or_no and any(slot.kind in kinds for slot in self.unasked)

    @property
    def asks_for_any(self) -> bool:
        """Whether it asks if there is any at all: "are there ...", "do I have ..."."""
        pair = " ".join(tokens(self.said.text)[:2])
        return self.is_yes_or_no and pair in _EXISTENTIAL

    @cached_property
    def stems(self) -> frozenset[str]:
        """What it speaks of, its values left out, but not what they count: "3 covered"."""
        text = self.said.text
        for slot in reversed(self.said.slots):
            if slot.kind != "quantity":
                text = f"{text[: slot.position]} {text[slot.position + len(slot.text) :]}"
        return frozenset(content_stems(text))

    @cached_property
    def naming(self) -> frozenset[str]:
        """Stems of what it speaks of, without words that only say how it is to be answered."""
        return self.stems - {stem(word) for word in (DULL | DEGREE_WORDS) & self.words}

    @cached_property
    def circumstances(self) -> tuple[str, ...]:
        """Those words that may tell things apart, and say which are meant.

        They stand behind a preposition, or what one is to be most of: "on taxis", "cheapest pizza".
        """
        said = tokens(self.said.text)
        behind = {word for before, word in pairwise(said) if before in _ENDS | RANKED}
        return tuple(word for word in self.telling_apart if word in behind)

    def is_covered(self, *texts: str) -> bool:
        """Whether all that it speaks of is spoken of in these texts, or went into the call.

        Only then can an answer be a yes or a no to it: "are there vegetarian tables" is not
        answered by tables.
        """
        if self.unasked:
            return False
        known = {word for text in texts for word in content_stems(text)}
        known |= {
            word for text in map(str, _scalars(self.arguments)) for word in content_stems(text)
        }
        return all(word in known or known & set(synonyms_of(word)) for word in self.stems)

    def unspoken(self, *texts: str) -> list[str]:
        """The things that it asks for or by, of which none of these texts speaks: "with a pool"."""
        known = {word for text in texts for word in content_stems(text)}
        known |= {word for text in self.sent for word in content_stems(text)}
        values = {word for slot in self.said.slots for word in content_stems(slot.text)}
        things = [*self._objects(), *self._features()]
        inside = {word for thing in things for word in tokens(thing)}
        named = [*things, *(word for word in self.telling_apart if word not in inside)]
        return [
            text
            for text in dict.fromkeys(named)
            if (own := [w for w in tokens(text) if w not in STOP_WORDS | _AVERAGES])
            and not values.issuperset(map(stem, own))
            and known.isdisjoint(m for w in own if stem(w) not in values for m in meanings_of(w))
        ]

    def _objects(self) -> list[str]:
        """What a verb acts on that looks for things: "find a dentist appointment"."""
        reading = self.said.reading
        looks = reading.action in (Action.READ, Action.SEARCH) and is_verb(reading.verb)
        if not looks or reading.verb in QUESTION_WORDS | _AUXILIARIES:
            return []
        things = takewhile(lambda word: word.lower() not in _WHEN, reading.objects)
        return [" ".join(things)]

    def _features(self) -> list[str]:
        """What a thing is to have: "a pool" of "a hotel with a pool"."""
        found = []
        for match in _FEATURE.finditer(self.said.text):
            words = takewhile(lambda word: word not in _ENDS, tokens(match["rest"]))
            found.append(" ".join(islice(dropwhile(_POINTING_OR_ONE.__contains__, words), 3)))
        return [text for text in found if text]

    def speaks_of(self, told: Told, *, at_all: bool = False) -> bool:
        """Whether the request names the field; by what names the thing, too, if `at_all`."""
        named = self.stems if at_all else self.stems - self.dull
        return bool({stem(word) for word in told.words} & named)

    def asks_for(self, told: Told) -> bool:
        """Whether the field is of the kind that the question word asks for."""
        match self.asked_kind:
            case "money":
                return told.sort == "money"
            case "count":
                return told.sort == "number" and not told.unit and self.speaks_of(told)
            case "time":
                return told.sort in ("time", "moment")
            case "moment":
                of_the_week = not _WEEKDAYS.isdisjoint(told.options)
                return told.sort in ("date", "time", "moment") or of_the_week
            case "place":
                return told.sort == "text" and bool(set(told.words) & WHEREABOUTS)
            case "person":
                return told.sort == "text" and bool(set(told.words) & PERSON)
            case "":
                return False
            case dimension:
                return told.unit.startswith(f"{dimension}-")

    @cached_property
    def sent(self) -> tuple[str, ...]:
        """The values that went into the call, lower case."""
        return tuple(text for value in _scalars(self.arguments) for text in _forms(value))

    @property
    def days_left(self) -> list[str]:
        """Of several days that are meant, "this weekend", those that the call was not for."""
        several = [slot.readings for slot in self.said.unread if slot.kind == "date"]
        asked = [days for days in several if {*days} & {*self.sent}]
        left = [day for days in asked for day in days if day not in self.sent]
        # Of "between 12 and 15 December", where one day was looked up.
        said = [str(slot.value) for slot in self.said.of("date")]
        is_one = bool({*said} & {*self.sent})
        return [*left, *(day for day in said if is_one and day not in self.sent)]

    def is_denied(self, slot: Slot) -> bool:
        """Whether the things that have this value are not meant: "that aren't with Alba Air"."""
        if comparison_in(self.said.text) is not None:
            return False  # "heavier than the Heron" leaves out none
        before = self.said.text[: slot.position]
        return _DENIED.fullmatch(before[before.rfind(",") + 1 :].lstrip()) is not None

    @cached_property
    def denied_words(self) -> tuple[str, ...]:
        """What the things are not to be: "paid" of "which are not paid yet", and of "unpaid"."""
        text = self.said.text.lower()
        own = self.said.without_values.lower()  # "Port United" denies nothing
        found = (
            *_OPPOSED.finditer(own),
            *_HAS_NO.finditer(text),
            *_NOT_IN.finditer(self.said.text),
        )
        opposed = (match["of"] for match in found)
        apart = {word for one in self.excluded for word in tokens(one)}
        denied = (*denied_words(self.said.text), *opposed)
        return tuple(word for word in dict.fromkeys(denied) if word not in apart)

    @cached_property
    def excluded(self) -> tuple[str, ...]:
        """Names of several words that it rules out: "without Blue Cleaning"."""
        things = (one.thing.strip() for one in exclusions(self.said.text) if one.thing)
        return tuple(thing for thing in things if len(thing.split()) > 1 and thing.istitle())

    @cached_property
    def lacked(self) -> frozenset[str]:
        """What they are not to have, and the word that says so as well: "no places left"."""
        found = [*_HAS_NO.finditer(self.said.text.lower())]
        return frozenset(m["of"] for m in found) | (AVAILABLE & {m["left"] for m in found})

    @cached_property
    def implied_denials(self) -> tuple[str, ...]:
        """What the things are not to be that no word of it denies: who owes has not paid."""
        owed = is_still_owed(self.said.text) and not self.denied_words
        return (_SETTLED,) if owed else ()

    @property
    def denied(self) -> frozenset[str]:
        """Their stems."""
        return frozenset(map(stem, self.denied_words))

    @cached_property
    def telling_apart(self) -> tuple[str, ...]:
        """Words that may tell some things from others: no grammar, no courtesy, no deed, no value.

        Neither what the things are called as a whole, nor what went into the call.
        """
        said = self.said
        sent = {word for text in self.sent for word in content_stems(text)}
        excluded = {word for one in self.excluded for word in content_stems(one)}
        known = sent | self.dull | self.denied | excluded
        if is_verb(said.reading.verb):
            known |= {stem(said.reading.verb)}
        # "This weekend" is held against their days.
        values = (*said.slots, *(slot for slot in said.unread if slot.kind in ("date", "time")))
        text = _SHORT_DENIAL.sub(lambda match: " " * len(match.group()), said.text)
        words = words_apart(text, values, period_in(said.text, now=said.now))
        return tuple(
            word
            for word in words
            if word not in _COURTESIES | DULL | DEGREE_WORDS | _NO_THING
            and not known & {stem(word), *equals_of(stem(word))}
            and action_of_stem(stem(word)) is Action.UNKNOWN
        )

    @cached_property
    def unasked(self) -> tuple[Slot, ...]:
        """Values of the request that tell things apart, and that no argument carried."""
        apart = (slot for slot in self.said.slots if slot.kind in _TELLING_APART)
        told = [slot for slot in apart if not (STOP_WORDS | DULL).issuperset(tokens(slot.text))]
        return tuple(
            slot
            for slot in told
            if not _POINTING & set(tokens(slot.text)[:1] + tokens(slot.hint))
            and not (slot.kind == "date" and slot.hint in _BOUNDS)
            and not any(form in text for form in _forms(slot.value) for text in self.sent)
            and str(slot.value) not in self.days_left
            # "On Saturday" may be a day of the week, and no day.
            and not (slot.kind == "date" and {*self.sent} & {*tokens(slot.text)})
        )


def _scalars(value: JsonValue) -> Iterator[JsonValue]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _scalars(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _scalars(inner)
    elif value is not None:
        yield value


def _forms(value: JsonValue) -> tuple[str, ...]:
    text = str(value).casefold().strip()
    return (text,) if text else ()
