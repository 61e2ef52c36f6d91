"""Times of day said by others: "an hour before", "two hours later", "in half an hour".

What one refers to must be said in the text, or before it; where it is not, or several times may be
meant, the hour stays untold, and its words are those of a time all the same.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from orchestrator.language.inflection import singular
from orchestrator.language.times import (
    FOLLOWED,
    SOME_MINUTES,
    TimePhrase,
    find_time_phrases,
    stated_stretch,
)
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, lowered, tokens

_POINTING: Final = WordLists("dates").word_set("pointing")
_BACK: Final = frozenset({"before", "beforehand", "earlier", "prior"})
_OF_A_THING: Final = frozenset({"before", "after", "prior"})
NOW: Final = "now"
"""The bound of a time that is counted from the moment at which it is said: it is on that day."""

_MARKS: Final = ("hour", "min")
_OFFSET: Final = re.compile(
    rf"(?<!\bfor )(?<!\blasting )\b{SOME_MINUTES}\s+(?:(?:just|right)\s+)?"
    r"(?P<side>before(?:hand)?|after(?:wards)?|earlier|later|prior(?:\s+to)?)\b(?!\s+than\b)"
)
_FROM_NOW: Final = re.compile(
    rf"\bin\s+{SOME_MINUTES}(?:['\u2019]?s?['\u2019]?\s+time)?{FOLLOWED}"
    rf"|\b{SOME_MINUTES.replace('?P<', '?P<now_')}\s+from\s+now\b"
)
_ENDS: Final = re.compile(FOLLOWED)
_THING: Final = re.compile(
    r"\s+(?P<words>(?!(?:on|at|in|to|and|or|for|with|from|by)\b)[^\W\d_][\w'\u2019-]*"
    r"(?:\s+(?!(?:on|at|in|to|and|or|for|with|from|by|about|of|that|tomorrow|today|tonight)\b)"
    r"[^\W\d_][\w'\u2019-]*){0,2})"
)
_LASTS: Final = re.compile(r"\b(?:for|lasting)\s+(?:an?|half|\d+|[a-z]+)\s+(?:an?\s+)?(?:hour|min)")
_PIECE: Final = re.compile(r"[.;!?\n]\s*|,\s+|\s+(?:and|then|but)\s+", re.IGNORECASE)


def related_times(
    text: str, said: Sequence[TimePhrase], *, now: datetime | None, before: str = ""
) -> Iterator[TimePhrase]:
    """The phrases that say a time by another one.

    Args:
        text: that may hold some.
        said: its other times.
        now: the requester's time; without it "in two hours" is untold.
        before: what was said before the text, to which "an hour later" may refer.
    """
    low = lowered(text)
    if not any(mark in low for mark in _MARKS):
        return
    for match in _OFFSET.finditer(low):
        yield _offset(low, match, said, before)
    for match in _FROM_NOW.finditer(low):
        minutes = stated_stretch(match, "now_" if match["now_unit"] else "")
        then = now + timedelta(minutes=minutes) if now else None
        told = now is not None and then is not None and then.date() == now.date()
        readings = (f"{then:%H:%M}",) if told else ()
        yield TimePhrase(*match.span(), readings, NOW if told else None)


def _offset(low: str, match: re.Match[str], said: Sequence[TimePhrase], before: str) -> TimePhrase:
    side = match["side"].split()[0]
    thing = _THING.match(low, match.end()) if side in _OF_A_THING else None
    words = thing["words"].split() if thing else []
    earlier = [low[: match.start()], *_pieces_behind(before)]
    own = [phrase for phrase in said if phrase.end <= match.start()]
    if not words or words[0] in _POINTING:
        end = match.end() if thing is None else match.end() + len(f" {words[0]}")
        anchors = own or next(filter(None, map(_times_in, earlier[1:])), [])
        piece = low if own else next((p for p in earlier[1:] if _times_in(p)), "")
        return _moved(match, end, anchors, piece)
    assert thing is not None
    nouns = {singular(word) for word in words} - STOP_WORDS
    speaking = [piece for piece in earlier if nouns & {*map(singular, tokens(piece))}]
    anchors = _times_in(speaking[0]) if len(speaking) == 1 else []
    return _moved(match, thing.end(), anchors, speaking[0] if anchors else "")


def _moved(match: re.Match[str], end: int, anchors: Sequence[TimePhrase], piece: str) -> TimePhrase:
    """The time that lies so far before or after the only one of these."""
    back = match["side"].split()[0] in _BACK
    known = {phrase.readings for phrase in anchors}
    readings = known.pop() if len(known) == 1 else ()
    if len(readings) != 1 or (not back and _LASTS.search(lowered(piece))):
        return TimePhrase(match.start(), end, ())  # after what lasts: from its start, or its end
    hours, minutes = map(int, readings[0].split(":"))
    by = stated_stretch(match)
    at = 60 * hours + minutes + (-by if back else by)
    told = (f"{at // 60:02d}:{at % 60:02d}",) if 0 <= at < 24 * 60 else ()
    return TimePhrase(match.start(), end, told)


def _pieces_behind(before: str) -> list[str]:
    return [piece for piece in reversed(_PIECE.split(before)) if piece.strip()]


def _times_in(piece: str) -> list[TimePhrase]:
    """The times of what was said before; one that is itself said by another is untold."""
    low = lowered(piece)
    found = find_time_phrases(piece)
    apart = [
        m for m in _OFFSET.finditer(low) if not any(p.start <= m.start() < p.end for p in found)
    ]
    return [*found, *(TimePhrase(*m.span(), ()) for m in apart)]
