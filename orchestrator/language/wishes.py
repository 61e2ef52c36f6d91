"""Wishes: a thing ordered for oneself by no verb that orders: "I need a car", "fly me to Oslo"."""

import re
from typing import Final, NamedTuple

from orchestrator.language.clauses import without_lead
from orchestrator.language.intent import Action
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import QUESTION_WORDS, STOP_WORDS, action_of, tokens

_LISTS: Final = WordLists("wishes")
_ENDS: Final = WordLists("clauses").word_set("after_objects")


def _any_of(key: str) -> str:
    return "|".join(_LISTS.words(key))


_THING: Final = re.compile(
    rf"""(?:(?:can|could|may|might)\s+(?:i|we)\s+(?:please\s+)?(?:{_any_of("obtaining")})
        |(?:i|we)(?:['\u2019](?:d|ll)|\s+(?:would|will))?(?:\s+(?:also|really|just|still|urgently))*
            \s+(?:{_any_of("needing")})
        |(?:\w+\s+){{1,3}}?(?:needs|wants)
        |(?:{_any_of("obtaining")})\s+(?:me|us)
        |(?:{_any_of("obtaining_alone")})(?=\s+(?:an?|some|another)\s)
        |(?P<resolving>[a-z]+)\s+(?:(?:me|us)\s+)?(?P<particle>{_any_of("resolving")})(?:\s+for)?)
        \s+(?P<which>{_any_of("indefinite")}|\d+)\s+(?P<thing>\S.*)""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
# What is done to somebody, and not the thing that they are to be given: "pick me a hotel".
_FOR_ME: Final = re.compile(
    r"(?P<verb>[a-z]+)\s+(?:me|us)\s+(?:from|to|in|into|out|over|back|there)\b", re.IGNORECASE
)
_TO_DO: Final = re.compile(
    r"(?:i|we)(?:['\u2019]d|\s+would)?(?:\s+\w+ly|\s+just)*\s+(?:want|need|like|love|have)\s+to"
    r"\s+(?P<verb>[a-z]+)\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W\d_]+(?:[-'\u2019][^\W\d_]+)*")


_INDEFINITE: Final = re.compile(rf"\s*(?:{_any_of('indefinite')})\s", re.IGNORECASE)
_TOLD: Final = _LISTS.word_set("told")
_ONE: Final = ("one", "another")


class WishedThing(NamedTuple):
    """What somebody wants for themselves: a `thing` by its noun, else what its `verb` comes to."""

    thing: str = ""
    verb: str = ""


def wish_of(clause: str) -> WishedThing | None:
    """What a clause wishes for; None where it wishes nothing, or says itself what is to be done.

    A noun of what is told ("I need a list of ...") names no thing to be had. What "one" stands for,
    what is said before tells.
    """
    bare = without_lead(clause)
    found = _THING.match(bare)
    if found is not None and not _looks(found["resolving"], found["particle"]):
        which = found["which"].lower()
        noun = _head(found["thing"]) or (which if which in _ONE else "")
        is_reading = noun in _TOLD or action_of(noun) in (Action.READ, Action.SEARCH)
        return WishedThing(thing=noun) if noun and not is_reading else None
    found = _FOR_ME.match(bare) or _TO_DO.search(clause)
    verb = found["verb"].lower() if found else ""
    known = action_of(verb) is not Action.UNKNOWN or verb in STOP_WORDS | QUESTION_WORDS
    return None if not verb or known else WishedThing(verb=verb)


def wishing(clause: str) -> str:
    """The words of a clause that wish, up to the thing: "I need" of "I need a car in Faro"."""
    bare = without_lead(clause)
    found = _THING.match(bare) if wish_of(clause) is not None else None
    return bare[: found.start("which")].rstrip() if found is not None else ""


def is_indefinite(text: str) -> bool:
    """Whether a text begins with one of its kind, or some of it: "a hotel there"."""
    return _INDEFINITE.match(text) is not None


def _looks(verb: str | None, particle: str | None) -> bool:
    """Whether a verb with its particle only looks for something: "look up", "find out"."""
    reading = (Action.READ, Action.SEARCH)
    low, second = (verb or "").lower(), (particle or "").lower()
    return action_of(low) in reading or action_of(low, second) in reading


def _head(text: str) -> str:
    """The last word of the noun that a text begins with: "car" of "rental car in Faro"."""
    noun = ""
    for match in re.finditer(r"\S+", text):
        word = match.group().lower()
        bare = word.strip("\"'.,;:!?()")
        if bare in _ENDS or (noun and bare in STOP_WORDS) or not _WORD.fullmatch(bare):
            break
        noun = bare
        if word.endswith((",", ";", ".", "!", "?", ":")):
            break
    return next(iter(tokens(noun)), "") if noun not in STOP_WORDS else ""
