"""What of the found things a clause means: those that bear all that it says of them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.durations import MINUTES
from orchestrator.language.intent import Action, Slot
from orchestrator.language.periods import Period, period_in
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.words import NOUN_LIKE_VERBS, STOP_WORDS, is_verb, stem, tokens
from orchestrator.planning.rules.answers import DATE, Item
from orchestrator.planning.rules.ranking import mentioned
from orchestrator.planning.rules.utterance import MEASURES, Utterance, read_utterance

_EXCEPT: Final = re.compile(
    r"\b(?:except(?:\s+for)?|but\s+not|apart\s+from|other\s+than|excluding|save\s+for)\b",
    re.IGNORECASE,
)
_BOOKKEEPING: Final = lexicon.BOOKKEEPING - {"at"}
_LENGTHS: Final = lexicon.NIGHTS | lexicon.WEEKS | {*MINUTES}
_CALLED: Final = ("place", "origin", "name", "quoted", "identifier", "email")


@dataclass(frozen=True)
class Narrowed:
    """The things that are meant; `unread` are words that nothing which was found bears out."""

    items: tuple[Item, ...]
    unread: tuple[str, ...] = ()


def excepts(text: str) -> bool:
    """Whether a text leaves some of what it is about out: "all except the one in Rome"."""
    return _EXCEPT.search(text) is not None


def narrowed(
    items: Sequence[Item],
    utterance: Utterance,
    *,
    used: JsonObject,
    known: frozenset[str],
    text: str,
) -> Narrowed:
    """Those of the things of which all holds that the clause says.

    What was searched by, or goes into the call itself, has been heeded already.

    Args:
        items: that were found.
        utterance: the clause.
        used: the arguments that they were searched by, and those of the call.
        known: stems of words that are of every such thing.
        text: of the clause, without what somebody is told.
    """
    apart = _EXCEPT.search(text)
    if apart is not None:
        kept = narrowed(items, utterance, used=used, known=known, text=text[: apart.start()])
        rest = read_utterance(text[apart.end() :], now=utterance.now)
        left_out = narrowed(kept.items, rest, used={}, known=known, text=rest.text)
        items = tuple(item for item in kept.items if item not in left_out.items)
        unsure = left_out.unread or (() if items and left_out.items else (apart.group(),))
        return Narrowed(items or kept.items, (*kept.unread, *unsure))
    left, unread = list(items), []
    period = period_in(text, now=utterance.now)
    if period is not None and not _is_heeded(period, used):
        left, missed = _kept(left, [i for i in left if _is_in(i, period)], period.said)
        unread += missed
    heeded = {w for value in _flat(used) for w in map(stem, tokens(str(value)))}
    slots = [s for s in utterance.slots if s.position < len(text)]
    if utterance.reading.action is Action.SEND:
        # "Post 'lunch is here' in #team": what is quoted is sent, and names nothing.
        for slot in (s for s in slots if s.kind == "quoted"):
            text = text.replace(slot.text, " " * len(slot.text))
        slots = [slot for slot in slots if slot.kind != "quoted"]
    for slot in slots:
        wanted = {stem(token) for token in tokens(slot.text)} - heeded
        if slot.kind in _CALLED and wanted and not _overlaps(slot, period, text):
            left, missed = _kept(left, [i for i in left if wanted <= _words(i)], slot.text)
            unread += missed
    for word in words_apart(text, slots, period):
        same = {stem(word), *synonyms_of(stem(word))}
        bearing = [i for i in left if stem(word) in _words(i)]
        if bearing:
            left = bearing
        elif not same & (heeded | known):
            unread.append(word)
    return Narrowed(tuple(left), tuple(dict.fromkeys(unread)))


def called_as_said(items: Sequence[Item], text: str, known: frozenset[str]) -> list[Item]:
    """The things without those whose names say more than the text, where one's name is said whole.

    "The Otter" is the Otter, and not the Otter II; "the meeting" may be any, for `known` words, of
    every such thing, are no name.
    """
    said = {*tokens(text)}
    names = [_name(item) for item in items]
    whole = [name for name in names if name <= said and not {*map(stem, name)} <= known]
    kept = [
        item
        for item, name in zip(items, names, strict=True)
        if not any(one < name and not name - one <= said for one in whole)
    ]
    return kept or [*items]


def _name(item: Item) -> frozenset[str]:
    """The words of what a thing is called."""
    own = ((field, value) for field, value in item.fields.items() if field in item.own)
    texts = [str(value) for field, value in own if lexicon.TITLE & {*tokens(field)[-1:]}]
    return frozenset(word for text in texts for word in tokens(text))


def _kept(items: list[Item], fitting: list[Item], said: str) -> tuple[list[Item], list[str]]:
    return (fitting, []) if fitting else (items, [said])


def _is_heeded(period: Period, used: JsonObject) -> bool:
    """Whether the things were searched by it, or are to be changed to it."""
    days = {str(value)[:10] for value in _flat(used) if DATE.match(str(value)[:10])}
    return bool(days & {period.first.isoformat(), period.last.isoformat()})


def _is_in(item: Item, period: Period) -> bool:
    """Whether a thing is then; when it was made tells that of none that says when it is."""
    texts = ((name, str(value)) for name, value in item.fields.items() if name in item.own)
    days = [(name, text) for name, text in texts if DATE.match(text[:10])]
    when = [(n, day) for n, day in days if not _BOOKKEEPING & {*tokens(n)}]
    return any(period.holds(day) for _, day in when or days)


def _words(item: Item) -> set[str]:
    """Stems of the words in a thing's texts, and in the names of what it says yes to."""
    yes = (name for name, value in item.fields.items() if value is True)
    return mentioned(item) | {stem(token) for name in yes for token in tokens(name)}


def _overlaps(slot: Slot, period: Period | None, text: str) -> bool:
    if period is None:
        return False
    at = text.find(period.said)
    return 0 <= at <= slot.position < at + len(period.said)


def words_apart(text: str, slots: Iterable[Slot], period: Period | None) -> list[str]:
    """The words that may single out some of several things, in their order."""
    spoken = f"{text} "
    for slot in slots:
        if slot.kind in MEASURES or slot.kind in _CALLED:
            # Of "three open" rentals, three is how many, and open is which.
            counts = slot.kind == "quantity" and slot.hint not in _LENGTHS
            kept = slot.hint if counts and slot.hint in slot.text else ""
            spoken = re.sub(rf"{re.escape(slot.text)}(?:['\u2019]s\b)?", f" {kept} ", spoken)
    said = set(tokens(period.said)) if period is not None else set()
    dull = STOP_WORDS | said | lexicon.PREFERENCES | lexicon.MOST_HINTS | lexicon.LEAST_HINTS
    verbs = {w for w in tokens(spoken) if is_verb(w) and w not in NOUN_LIKE_VERBS}
    words = [w for w in tokens(spoken) if w not in dull | verbs and not w.isdigit()]
    return list(dict.fromkeys(words))


def _flat(values: JsonObject) -> Iterable[object]:
    for value in values.values():
        yield from value if isinstance(value, list) else (value,)
