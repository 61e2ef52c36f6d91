"""Remarks: sentences that say how things are, and ask for nothing."""

import re
from typing import Final

from orchestrator.language.clauses import begins_request, joints, without_lead
from orchestrator.language.numbers import NUMBER_WORDS
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import (
    NOUN_LIKE_VERBS,
    QUESTION_WORDS,
    STOP_WORDS,
    is_verb,
    tokens,
)

_LISTS: Final = WordLists("provisos")
_SUBJECTS: Final = _LISTS.word_set("subjects")
_STATES: Final = _LISTS.word_set("states")
_WISHES: Final = _LISTS.word_set("wishes")
_OWNERS: Final = frozenset({"my", "our", "the", "this", "that", "his", "her", "their"})
_WORD: Final = re.compile(r"[^\W\d_]+|['\u2019][a-z]+\b", re.IGNORECASE)
_NEGATED_AUXILIARY: Final = re.compile(r"(?i)(?<=[a-z])n['\u2019]t\b")
_COURTESY: Final = re.compile(
    r"\s*(?:(?:many\s+)?thanks|thank\s+you|cheers|hello|hi|hey|good\s+(?:morning|afternoon|evening))\b",
    re.IGNORECASE,
)
_LONGEST_COURTESY: Final = 8
"""Words; a longer one may say something."""
_REACH: Final = 5
"""Words after its first in which a statement has its verb."""
_PAUSE: Final = re.compile(r":\s+|\s[-\u2013\u2014]\s+")
_THEREFORE: Final = re.compile(r"\s+so\s+", re.IGNORECASE)
"""Where a request may follow what it is for: "I am in Oslo: book me a hotel", "... so book one"."""
_ANNOUNCED: Final = _LISTS.word_set("announced")
_ANNOUNCING: Final = _LISTS.word_set("announcing") | WordLists("quantifiers").word_set("vague")
_SO: Final = re.compile(r"\s*(?:and|so|therefore|thus|hence|please)\s+", re.IGNORECASE)


def remark_end(sentence: str) -> int:
    """How much of a sentence is a remark, from its start: all, none, or up to a request."""
    if not is_remark(sentence):
        return 0
    paused = (*_PAUSE.finditer(sentence), *_THEREFORE.finditer(sentence))
    for start, end in sorted((*joints(sentence), *(match.span() for match in paused))):
        rest = _SO.sub("", sentence[end:], count=1)
        if begins_request(rest, firm=sentence[start:end].strip() != ""):
            return start
    return len(sentence)


def announcement_end(sentence: str) -> int:
    """How much of a sentence only says that requests follow: "please do two things: ..."."""
    colon = _PAUSE.search(sentence)
    if colon and colon.group()[0].isspace() and not begins_request(sentence[colon.end() :]):
        return 0  # "Todo - milk" says what it is about
    words = tokens(sentence[: colon.start()]) if colon else []
    if colon is None or _ANNOUNCED.isdisjoint(words):
        return 0
    said = {w for w in words if w not in STOP_WORDS and w not in NUMBER_WORDS and not w.isdigit()}
    return colon.end() if said <= _ANNOUNCED | _ANNOUNCING else 0


def is_courtesy(text: str) -> bool:
    """Whether a text only greets or thanks: "Hello there", "thanks for your help yesterday"."""
    return _COURTESY.match(text) is not None and len(text.split()) <= _LONGEST_COURTESY


def is_remark(text: str) -> bool:
    """Whether a text states something: "I am vegetarian", "my mother arrives on Friday"."""
    if text.rstrip().endswith("?"):
        return False
    bare = _NEGATED_AUXILIARY.sub(" not", without_lead(text))
    words = [word.lower().replace("\u2019", "'") for word in _WORD.findall(bare)][: _REACH + 2]
    if is_courtesy(text):
        return True
    if len(words) < 2 or words[0] in QUESTION_WORDS or not _WISHES.isdisjoint(words[1:4]):
        return False
    if words[0] in _SUBJECTS and words[1].startswith("'"):
        return True  # "it's our anniversary"
    if begins_request(bare, firm=True):
        return False
    if words[0] in _SUBJECTS:
        return not (words[0] in ("this", "that") and is_verb(words[1]))
    owned = words[0] in _OWNERS or bare[:1].isupper()
    return owned and any(_states(word) for word in words[1:_REACH])


def _states(word: str) -> bool:
    """Whether a word is the verb of a statement: "is", "arrives"."""
    if word in _STATES:
        return True
    base = word.removesuffix("s")
    plain = base if is_verb(base) else base.removesuffix("e")
    return base != word and is_verb(plain) and plain not in NOUN_LIKE_VERBS
