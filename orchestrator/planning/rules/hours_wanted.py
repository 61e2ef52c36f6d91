"""At which hours of the day a clause wants things: "in the morning", "landing by six"."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Final

from orchestrator.language import lexicon
from orchestrator.language.times import HOURS_OF
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import name_words, tokens
from orchestrator.planning.rules.answers import TIME, Item
from orchestrator.planning.rules.utterance import Utterance

_LISTS: Final = WordLists("matching")
_EARLIEST: Final = _LISTS.word_set("earliest")
_LATEST: Final = _LISTS.word_set("latest")
_ARRIVES: Final = _LISTS.word_set("arrives")
_MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}")
_BEGINS: Final = lexicon.START | lexicon.ORIGIN
_BOOKKEEPING: Final = lexicon.BOOKKEEPING - {"at"}
_HAS: Final = frozenset({"with", "without", "including", "and"})
"""What a thing has, and not when it is: "with breakfast"."""
_THERE: Final = _LISTS.word_set("there")
_NEAR_WORDS: Final = 5
_DAY: Final = "24:00"


@dataclass(frozen=True)
class HoursWanted:
    """The times at which things begin, or arrive: HH:MM, both ends included."""

    first: str
    last: str
    arrives: bool = False

    def hold(self, clock: str) -> bool:
        """Whether a time lies within them; the hours after midnight are of the night before."""
        late = f"{int(clock[:2]) + 24:02d}{clock[2:]}"
        return self.first <= clock <= self.last or self.first <= late <= self.last


def at_hours_wanted(items: Sequence[Item], utterance: Utterance) -> list[Item]:
    """Those of the things that begin, or arrive, when the clause wants it; all where none does."""
    kept = list(items)
    for wanted in hours_wanted(utterance):
        kept = [i for i in kept if any(map(wanted.hold, _clocks(i, wanted, utterance.now)))]
    return kept or list(items)


def hours_wanted(utterance: Utterance) -> Iterator[HoursWanted]:
    """What the clause says of hours that no single time tells: bounds, else a part of the day."""
    text, times = utterance.wanted, [s for s in utterance.of("time") if s.value is not None]
    for slot in times:
        arrives, clock = is_of_arriving(text[: slot.position]), str(slot.value)[:5]
        if slot.hint in _EARLIEST:
            yield HoursWanted(clock, _DAY, arrives)
        elif slot.hint in _LATEST:
            yield HoursWanted("00:00", clock, arrives)
    if not times and not any(s.kind == "time" and s.readings for s in utterance.unread):
        for part in parts_wanted(text).values():
            yield HoursWanted(f"{part.start:02d}:00", f"{part.stop - 1:02d}:59")


def parts_wanted(text: str) -> dict[str, range]:
    """The words of a text for a part of the day, each with its hours; none for what a thing has."""
    words = pairwise(("", *tokens(text)))
    return {w: HOURS_OF[w] for before, w in words if w in HOURS_OF and before not in _HAS}


def is_of_arriving(before: str) -> bool:
    """Whether a time is one of arriving, by the words before it: "landing in Rome by", "be in"."""
    near = tokens(before)[-_NEAR_WORDS - 1 :]
    is_there = any(one == "be" and where in _THERE for one, where in pairwise(near))
    return is_there or not _ARRIVES.isdisjoint(near[-_NEAR_WORDS:])


def _clocks(item: Item, wanted: HoursWanted, now: datetime) -> list[str]:
    """The times at which a thing begins, or arrives; where its fields tell neither, all of them."""
    told = [
        (clock, {*name_words(name)})
        for name, value in item.fields.items()
        if name in item.own and isinstance(value, str) and (clock := _clock(value, now))
    ]
    told = [(clock, words) for clock, words in told if not words & _BOOKKEEPING]
    arriving = [clock for clock, words in told if words & _ARRIVES]
    if wanted.arrives and arriving:
        return arriving
    begins = [c for c, words in told if words & _BEGINS and not words & _ARRIVES]
    return begins or [clock for clock, _ in told]


def _clock(value: str, now: datetime) -> str:
    if TIME.match(value):
        return value[:5]
    if not _MOMENT.match(value):
        return ""
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return ""
    return f"{moment.astimezone(now.tzinfo) if moment.tzinfo else moment:%H:%M}"
