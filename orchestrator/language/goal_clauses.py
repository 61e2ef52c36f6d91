"""The clauses of a goal: where one request ends and the next begins."""

import re
from collections.abc import Callable, Collection, Sequence
from typing import Final

from orchestrator.core.record import Record
from orchestrator.language.values import quoted_spans
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import NOUN_LIKE_VERBS, QUESTION_WORDS, STOP_WORDS, is_verb


class Clause(Record):
    """A request within a goal; `text` is `goal[start:end]`."""

    text: str
    start: int
    end: int


_LISTS: Final = WordLists("splitting")
# Possessive, matched from its first blank only: a run of blanks may be a page long.
_BOUNDARY: Final = re.compile(
    r"(?P<strong>(?<=[.!?])[\"”')]*\s+|(?:(?<!\s)\s++)?;\s*|(?<!\s)\s*\n\s*)"
    r"|(?P<then>(?:(?:(?<!\s)\s++)?,\s++|(?<!\s)\s++)"
    r"(?:and\s+|but\s+)?(?:then|afterwards|after\s+that)\b,?\s*)"
    r"|(?P<weak>(?:(?<!\s)\s++)?,\s*(?:(?:and|but|plus|as\s+well\s+as)\s+)?(?:also\s+)?"
    r"|(?<!\s)\s++(?:and|but|plus|as\s+well\s+as|&)\s+(?:also\s+)?)",
    re.IGNORECASE,
)
_ABBREVIATED: Final = re.compile(
    rf"(?:\b(?:{'|'.join(_LISTS.words('abbreviations'))}|[a-z]\.[a-z])\.|(?<!\S)\d{{1,2}}[.)])\s+$",
    re.IGNORECASE,
)
_BETWEEN: Final = re.compile(r"\bbetween\b[^.;!?\n]{0,80}?\band\b", re.IGNORECASE)
_BULLET: Final = re.compile(r"(?:[-*•]|\d{1,2}[.)])\s+")
_LEAD: Final = re.compile(
    rf"(?:(?:{'|'.join(_LISTS.words('leads'))}|after\s+that)\b[\s,:]*)+", re.IGNORECASE
)


def _phrases(key: str) -> str:
    return "|".join(r"\s+".join(line.split()) for line in _LISTS.lines(key))


_POLITE: Final = re.compile(rf"(?:(?:{_phrases('polite')})\b[\s,]*)+", re.IGNORECASE)
_CONDITION: Final = re.compile(rf"(?:{_phrases('dependent')})\b", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_OBJECT: Final = re.compile(
    r"\s+(?:(?:"
    + "|".join(_LISTS.words("before_objects"))
    + r")\b|[A-Z\"“'#@$€£\d]|\w+://|\w*[\d_@])"
)
_LOOKED_AT: Final = 120
"""Characters on either side of a boundary that decide whether a request begins there."""
_NOTHING: Final[Collection[str]] = frozenset()


def split_goal(
    goal: str,
    *,
    verbs: Collection[str] = _NOTHING,
    is_other: Callable[[str, str], bool] = lambda clause, phrase: False,
    at_commas: bool = False,
    whole: Sequence[tuple[int, int]] = (),
) -> tuple[Clause, ...]:
    """Return the clauses of a goal in order; at least one unless the goal is blank.

    A goal is split at the end of a sentence, at `;`, "then" and a new line, and at "and" or a comma
    before a verb; never in quotes, in "between X and Y", or after an abbreviation. A clause that
    only conditions the next one ("If it rains, ...") stays with it.

    Args:
        goal: as a person wrote it.
        verbs: further verbs, lower case (the first words of tools' summaries).
        is_other: returns True if the noun phrase after an "and" (the second argument) is about
            another tool than the clause before it (the first argument): "weather in London and
            files".
        at_commas: call `is_other` after a mere comma as well.
        whole: further spans that are never split, like quotes.
    """
    covered = [*quoted_spans(goal), *(m.span() for m in _BETWEEN.finditer(goal)), *whole]
    clauses = []
    start = _begin(goal, 0)
    for match in _BOUNDARY.finditer(goal):
        if match.start() < start or any(a < match.end() and match.start() < b for a, b in covered):
            continue
        before, after = goal[start : match.start()], goal[match.end() : match.end() + _LOOKED_AT]
        is_asked = at_commas or match.group().strip(" ,") != ""
        if after.strip() and _splits(match, before, after, verbs, is_other if is_asked else None):
            clauses.append(_clause(goal, start, match.start()))
            start = _begin(goal, match.end())
    clauses.append(_clause(goal, start, len(goal)))
    return tuple(clause for clause in clauses if clause.text)


def _begin(goal: str, at: int) -> int:
    while match := _BULLET.match(goal, at) or _LEAD.match(goal, at):
        if match.end() >= len(goal):
            break
        at = match.end()
    return at


def _clause(goal: str, start: int, end: int) -> Clause:
    text = goal[start:end]
    start += len(text) - len(text.lstrip(" \t\r\n,;"))
    text = goal[start:end].rstrip(" \t\r\n,;.!")
    return Clause(text=text, start=start, end=start + len(text))


def _splits(
    match: re.Match[str],
    before: str,
    after: str,
    verbs: Collection[str],
    is_other: Callable[[str, str], bool] | None,
) -> bool:
    if match["strong"] is not None:
        return bool(before.strip()) and not _ABBREVIATED.search(f"{before[-20:]}{match.group()}")
    begun = without_lead(before[:_LOOKED_AT])
    if "," in match.group() and _CONDITION.match(begun):
        return False
    if match["then"]:
        return _has_object(begun) and not _CONDITION.match(begun)
    joint = match.group().lower()
    if begins_request(after, verbs=verbs, after_comma="," in joint, after_but="but" in joint):
        return _has_object(begun)
    if is_other is None:
        return False
    phrase = re.split(r"\s*(?:[,;.!?\n]|\s(?:and|but|then)\s)", after, maxsplit=1)[0]
    return _has_object(begun) and is_other(before, phrase)


def begins_request(
    text: str,
    *,
    verbs: Collection[str] = _NOTHING,
    after_comma: bool = False,
    after_but: bool = False,
) -> bool:
    """Return True if a text begins with an imperative or a question.

    After "but", which joins no two things, any word with an object may be a verb.
    """
    rest = without_lead(text)
    word = _WORD.match(rest)
    if word is None:
        return False
    verb, mark, _ = word.group().lower().replace("\u2019", "'").partition("'")
    if verb in QUESTION_WORDS:
        # ", which is in Rome" is a mere relative clause.
        is_relative = after_comma and rest == text and verb in _RELATIVE
        return not is_relative and _ASKED.match(rest, len(verb) if mark else word.end()) is not None
    if verb not in verbs and not is_verb(verb):
        is_plain = word.group().islower() and verb not in STOP_WORDS and not verb.endswith("ing")
        done_to = _ACTS_ON if after_but and verb not in _PREPOSITIONS else _DONE_TO
        return is_plain and done_to.match(rest, word.end()) is not None
    is_sure = rest != text or verb not in NOUN_LIKE_VERBS
    return is_sure or _OBJECT.match(rest, word.end()) is not None


_DONE_TO: Final = re.compile(r"\s+(?:(?:my|our)\s+\w|(?:it|them)\b)", re.IGNORECASE)
"""After an unknown word these show that the word is a verb: "paint my house"."""
_ACTS_ON: Final = re.compile(r"\s+(?:(?i:the|my|our|his|her|their|it|them|him|us|me)\b|[A-Z])")
_PREPOSITIONS: Final = WordLists("rules").word_set("leads")
_ASKED: Final = re.compile(r"['\u2019]s\b|\s+\w+\s+\w")
_RELATIVE: Final = frozenset({"which", "who", "whom", "whose", "where", "when"})


def without_lead(clause: str) -> str:
    """Return a clause from its verb on, without "please", "then", "could you", "I want to"."""
    rest = clause.lstrip()
    while match := _LEAD.match(rest) or _POLITE.match(rest):
        if match.end() == len(rest):
            break
        rest = rest[match.end() :].lstrip()
    return rest


def _has_object(piece: str) -> bool:
    """Return True if a piece has more than its verb, unlike "find" in "find and book a flight"."""
    return len(re.findall(r"[\w@#.-]+", without_lead(piece))) > 1
