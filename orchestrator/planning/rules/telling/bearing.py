"""Which of the things that were found bear what a request says, where no argument carried it."""

from collections.abc import Callable, Iterator, Sequence, Set
from functools import partial
from typing import Final, NamedTuple

from orchestrator.language import lexicon
from orchestrator.language.intent import Slot
from orchestrator.language.synonyms import meanings_of
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, content_stems, stem, tokens
from orchestrator.planning.rules.telling.inquiry import AVAILABLE, Inquiry
from orchestrator.planning.rules.telling.restrictions import ends_of_stretch, restrictions
from orchestrator.planning.rules.telling.spoken_values import said_day, said_words
from orchestrator.planning.rules.telling.told_field import Told

_WORDED: Final = frozenset({"text", "list"})
"""Sorts of fields whose values are words."""

_NAMES: Final = frozenset({"name", "quoted", "identifier", "email", "place"})
_TO_COME: Final = frozenset({"do", "does", "will"})
_AUXILIARIES: Final = WordLists("telling").word_set("auxiliaries")
_FREE: Final = frozenset(map(stem, AVAILABLE))
_SAID_SO: Final = frozenset({"flag", "number"})

Thing = tuple[Told, ...]
_NOT: Final = "not "
_LACKING: Final = "without "
_Test = Callable[[Thing], bool]


class Named(NamedTuple):
    """The things that a request means, and a note of how many bear what it says of them.

    Where none bears all, those that bear some of it; or all, where none bears any.
    """

    things: Sequence[Thing]
    note: str
    is_none: bool


def named(things: Sequence[Thing], question: Inquiry) -> Named:
    """The things that bear what the request says and no argument carried."""
    note = ""
    every, some = list(things), []
    called = {in_words(slot, question) for slot in question.unasked if slot.kind in _NAMES}
    by_name: list[Thing] = []
    for text, bearing in _borne(things, question):
        if len(bearing) == len(things):
            continue
        if not bearing and text.startswith((_NOT, _LACKING)):
            _, _, denied = text.partition(" ")
            note += f", all of them {'with ' if text.startswith(_LACKING) else ''}{denied}"
        else:
            note += f", {len(bearing) or 'none'} of them {text}"
        every = [t for t in every if t in bearing]
        some += [t for t in bearing if t not in some]
        by_name += [t for t in bearing if text in called and t not in by_name]
    # Who names one thing means that one, whatever else is not so of it.
    left = [t for t in by_name if t in some]
    return Named(every or left or [t for t in things if t in some] or things, note, not every)


class Borne(NamedTuple):
    """What a request names that tells things apart, and what of it is borne by what was found."""

    names: tuple[str, ...]
    """Its values, called so: "Dune Messiah"."""
    words: tuple[str, ...]
    """Other words, which may be verbs that nobody has heard of: "fencing"."""
    borne: tuple[str, ...]

    @property
    def named(self) -> tuple[str, ...]:
        """All of it."""
        return (*self.names, *self.words)

    @property
    def numbers(self) -> tuple[int, int]:
        """How many of its names are borne, and how much in all."""
        return len({*self.names} & {*self.borne}), len(self.borne)

    @property
    def is_enough(self) -> bool:
        """Whether all names are borne, or one of the words where there are none."""
        return {*self.borne} >= {*self.names} and bool(self.borne or not self.words)


def borne(things: Sequence[Thing], question: Inquiry, own: Set[str]) -> Borne:
    """What of that by which a request names things is found in them.

    Args:
        things: that were found.
        question: what is asked of them.
        own: stems of the words that are said of all of them, which tell none apart.
    """
    slots = (s for s in question.unasked if s.kind in _NAMES and not question.is_denied(s))
    names = {slot.text: _having(str(slot.value).casefold(), wanted=True) for slot in slots}
    apart = (word for word in question.telling_apart if word not in AVAILABLE)
    left = (word for word in apart if own.isdisjoint(meanings_of(word)))
    words = {word: _saying(stem(word)) for word in left}
    tests = {**words, **names}
    held = tuple(text for text, test in tests.items() if any(map(test, things)))
    return Borne(tuple(names), tuple(words), held)


def not_told(things: Sequence[Thing], question: Inquiry) -> str:
    """A sentence about what the request restricts its things by, and none of them tells."""
    untold = [
        one.text for one in restrictions(question) if not (one.was_sent or one.is_told(things))
    ]
    excluded = {s for slot in question.unasked for s in content_stems(slot.text)}
    untold += [
        f"not {word!r}"
        for word in question.denied_words
        if stem(word) not in excluded | question.dull and not _is_told(things, stem(word))
    ]
    return f" Nothing here tells which are {' and '.join(untold)}." if untold else ""


def says_whether(told: Told, question: Inquiry) -> bool:
    """Whether a field answers by yes or no whether something can be had: "free seats"."""
    named = (word for word in AVAILABLE & question.words if _is_called(told, stem(word)))
    return told.sort in _SAID_SO and not told.unit and any(named)


def in_words(slot: Slot, question: Inquiry) -> str:
    """A value of the request, as it is told back."""
    if slot.kind == "date":
        return f"on {said_day(str(slot.value), question.said.now)}"
    return repr(slot.text.strip("\"'"))


def bears(told: Told, value: str) -> bool:
    """Whether a field has a value, lower case; of a stretch of days, whether it holds the day."""
    text, until = str(told.value).casefold(), str(told.until or "").casefold()
    if until and told.sort in ("date", "moment"):
        return text[:10] <= value <= until[:10]
    return text == value if told.options else value in text or (bool(until) and value in until)


def options_asked(told: Told, question: Inquiry) -> list[str]:
    """Those of the only values of a field that the request names, and no argument carried."""
    words = question.words
    if not {"status", "state"} & set(told.words):
        words -= lexicon.AMBIGUOUS_CHOICES
    if _TO_COME & words:
        # "When does she play" asks of no match that was played.
        done = {one for option in told.options if (one := option.casefold()).endswith("ed")}
        words = words - {w for w in words - done if stem(w) in map(stem, done)}
    said = {stem(word) for word in words} - question.denied
    sent = set(map(str, question.arguments.values()))
    apart = ((o, set(tokens(o.replace("_", " ")))) for o in told.options if o not in sent)
    return [option for option, parts in apart if parts and {stem(p) for p in parts} <= said]


def _borne(things: Sequence[Thing], question: Inquiry) -> Iterator[tuple[str, list[Thing]]]:
    """What is said of the things, in words, and those that bear it."""
    for text, test in (
        *_values(things, question),
        *_options(things, question),
        *_words(things, question),
        *_denials(things, question),
    ):
        yield text, [thing for thing in things if test(thing)]
    for one in restrictions(question):
        if any(one.holds(thing) is not None for thing in things):
            yield one.text, [thing for thing in things if one.holds(thing)]


def _values(things: Sequence[Thing], question: Inquiry) -> Iterator[tuple[str, _Test]]:
    stretch = ends_of_stretch(question)
    apart = (slot for slot in question.unasked if slot not in stretch)
    for slot in sorted(apart, key=lambda slot: not question.is_denied(slot)):
        value, text = str(slot.value).casefold(), in_words(slot, question)
        day = _weekday(slot)
        if day and any(
            bears(told, day) or day in told.options for thing in things for told in thing
        ):
            value, text = day, repr(slot.text)  # of each week
        is_denied = question.is_denied(slot)
        yield f"not {text}" if is_denied else text, _having(value, wanted=not is_denied)


def _weekday(slot: Slot) -> str:
    """The last word of a day that is said in words, "saturday"; empty for others."""
    last = tokens(slot.text)[-1:] if slot.kind == "date" else []
    return next((word for word in last if word.isalpha()), "")


def _having(value: str, *, wanted: bool) -> _Test:
    return lambda thing: any(bears(told, value) for told in thing) is wanted


def _options(things: Sequence[Thing], question: Inquiry) -> Iterator[tuple[str, _Test]]:
    options = {o for thing in things for told in thing for o in options_asked(told, question)}
    options = {one for one in options if stem(one.casefold()) != question.predicate}
    known = {text for s in question.unasked for text in (str(s.value).casefold(), _weekday(s))}
    for option in sorted(one for one in options if one.casefold() not in known):
        yield said_words(option), _having(option.casefold(), wanted=True)


def _words(things: Sequence[Thing], question: Inquiry) -> Iterator[tuple[str, _Test]]:
    """Words that some of the things bear: "swimming" of one course among others."""
    options = {s for thing in things for t in thing for o in t.options for s in content_stems(o)}
    flags = {word for t in things for told in t if told.sort == "flag" for word in told.words}
    others = (flags - _AUXILIARIES - STOP_WORDS | AVAILABLE) & question.words
    others -= {*question.denied_words, *question.telling_apart, *question.lacked}
    others -= {word for words in _denied_flags(things, question) for word in words}
    for word in (*question.telling_apart, *sorted(others)):
        root = stem(word)
        if root in options or _is_asked_for(root, things, question):
            continue
        if len({_says(thing, root) for thing in things}) > 1:
            yield repr(word), _saying(root)


def _denied_flags(things: Sequence[Thing], question: Inquiry) -> Iterator[tuple[str, ...]]:
    """The words of fields that say yes or no to what is denied: "which are not sold out"."""
    denied = question.denied
    flags = (told for thing in things for told in thing if told.sort == "flag")
    return (told.words for told in flags if not denied.isdisjoint(map(stem, told.words)))


def _is_asked_for(root: str, things: Sequence[Thing], question: Inquiry) -> bool:
    """Whether a word names a field whose value is asked for, and so tells no thing from another."""
    named = [told for thing in things for told in thing if _is_called(told, root)]
    return any(question.asks_for(t) or (question.names_one and t.sort in _SAID_SO) for t in named)


def _saying(root: str) -> _Test:
    return lambda thing: _says(thing, root)


def _says(thing: Thing, root: str) -> bool:
    """Whether a thing says a word: in a text, or by the name of what it has, or says yes to."""
    return any(
        (told.sort in _WORDED and root in content_stems(str(told.value)))
        or (told.sort in _SAID_SO and bool(told.value) and _is_called(told, root))
        for told in thing
    )


def _denials(things: Sequence[Thing], question: Inquiry) -> Iterator[tuple[str, _Test]]:
    """What the things are not to be, where a field of theirs tells that: "not paid"."""
    for name in question.excluded:
        roots = {*content_stems(name)}
        yield f"not {name!r}", partial(_says_not_all, roots)
    for word in (*question.denied_words, *question.implied_denials):
        root = stem(word)
        if _is_told(things, root):
            denied = _as_called(word, things, question)
            yield f"{_LACKING if word in question.lacked else _NOT}{denied}", _not_saying(root)


def _as_called(word: str, things: Sequence[Thing], question: Inquiry) -> str:
    """What is denied, as the field that tells it is called and the request says: "sold out"."""
    flags = (told for thing in things for told in thing if told.sort == "flag")
    called = (told.heading for told in flags if word in told.words)
    text = " ".join(tokens(question.said.text))
    return next((one for one in called if one in text), word)


def _says_not_all(roots: Set[str], thing: Thing) -> bool:
    return not all(_says(thing, root) for root in roots)


def _is_told(things: Sequence[Thing], root: str) -> bool:
    return any(_tells_of(told, root) for thing in things for told in thing)


def _tells_of(told: Told, root: str) -> bool:
    """Whether a field can say of a thing that it is so: yes or no, how many, a word of its list."""
    if told.sort in _SAID_SO:
        return _is_called(told, root)
    if told.sort == "list" and root in content_stems(str(told.value)):
        return True
    return any(root in content_stems(option) for option in told.options)


def _is_called(told: Told, root: str) -> bool:
    """Whether a field is named by a word, or by another for what can be had: "places left"."""
    own = {*map(stem, told.words)}
    return root in own or (root in _FREE and not _FREE.isdisjoint(own))


def _not_saying(root: str) -> _Test:
    return lambda thing: not _says(thing, root)
