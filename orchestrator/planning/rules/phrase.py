"""What a clause speaks of, in words: what its verb acts on, what it is about, what it tells."""

import re
from collections.abc import Iterable
from typing import Final

from orchestrator.language import lexicon
from orchestrator.language.clauses import without_lead
from orchestrator.language.words import STOP_WORDS, stem, tokens
from orchestrator.planning.rules.utterance import MEASURES, Said

_TELLING = re.compile(
    r"(?:\b(?:that|saying|says)\b|:)\s+(?P<rest>\S.*)$", re.IGNORECASE | re.DOTALL
)
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")  # noqa: RUF001


def object_phrase(said: Said, *, generic: Iterable[str] = (), topic_first: bool = False) -> str:
    """What the clause's verb acts on, in the few words that a search would take.

    Args:
        said: the clause.
        generic: words that name what every answer is ("files" to a file search), left out.
        topic_first: prefer "the budget" in "files about the budget" to "files".
    """
    dull = {stem(word) for word in generic} | {stem(w) for w in lexicon.PREFERENCES}
    thing = _without(_direct_object(said), dull)
    topic = _without(_topic(said), dull)
    return (topic or thing) if topic_first else (thing or topic)


def head_noun(said: Said) -> str:
    """The last word of what the verb acts on: "file" in "move a budget file"."""
    words = _direct_object(said)
    return words[-1].lower() if words else ""


def names_said(nouns: frozenset[str], said: Said) -> list[str]:
    """Names, quoted words and ids that stand beside one of the nouns: "the Archive folder".

    Args:
        nouns: stems of the words that such a thing is called by.
        said: the clause.
    """
    found: list[str] = []
    for slot in said.of("name", "quoted", "identifier", "place"):
        value = str(slot.value)
        beside = {stem(w) for w in tokens(said.text[slot.position + len(slot.text) :][:40])[:1]}
        if slot.kind != "place":
            beside.add(stem(slot.hint))
        if beside & nouns and not value.islower():
            found.append(value)
    return found


def told_text(said: Said) -> str:
    """The message that the clause spells out: what is quoted, or follows "that" or a colon."""
    if quoted := said.of("quoted"):
        return str(quoted[0].value)
    match = _TELLING.search(said.text)
    rest = match["rest"].strip() if match else ""
    return rest if len(rest.split()) > 1 else ""


def _direct_object(said: Said) -> list[str]:
    """The words after the verb, up to the first preposition or value."""
    words = _WORD.findall(without_lead(said.text))[1:]
    values = {word for slot in said.slots if slot.kind in MEASURES for word in slot.text.split()}
    kept: list[str] = []
    for word in words:
        if word.lower() in _STOPS or word in values:
            if kept:
                break
            continue
        if word.lower() not in STOP_WORDS:
            kept.append(word)
    return kept


_STOPS: Final = lexicon.words_of(
    "about regarding concerning on for with to from at in into by of that saying and under called "
    "named titled it them this those these"
)
_TOPIC = re.compile(
    r"\b(?:about|regarding|concerning|on|called|named|titled|mentioning|containing)\s+(?P<topic>.+)$",
    re.IGNORECASE,
)


def _topic(said: Said) -> list[str]:
    if quoted := said.of("quoted"):
        return str(quoted[0].value).split()
    match = _TOPIC.search(said.text)
    if match is None:
        return []
    values = {w for s in said.slots if s.kind in ("date", "time", "email") for w in s.text.split()}
    kept: list[str] = []
    for word in _WORD.findall(match["topic"]):
        if word.lower() in ("with", "to", "from", "and") or word in values:
            break
        if word.lower() not in STOP_WORDS:
            kept.append(word)
    return kept


def _without(words: list[str], dull: set[str]) -> str:
    return " ".join(word for word in words if stem(word.lower()) not in dull)
