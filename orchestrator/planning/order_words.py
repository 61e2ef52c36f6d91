"""What the words of a clause are: a question, a pointer, those of a leg's goal."""

from collections.abc import Collection
from typing import Final

from orchestrator.language.anaphora import POINTING_STEMS, reference_in
from orchestrator.language.clause_reading import MODALS, ClauseReading
from orchestrator.language.clauses import without_lead
from orchestrator.language.slots import read_slots
from orchestrator.language.words import QUESTION_WORDS, content_stems, name_stems, stem, tokens

_TAKEN_UP: Final = 0.6
"""Share of a clause's words that a leg's goal holds when it takes the clause up."""


def telling_words(text: str, tools: Collection[str]) -> tuple[str, ...]:
    """The stems of a condition that say neither where nor when, nor who tells it."""
    values = {s for slot in read_slots(text, now=None) for s in content_stems(slot.text)}
    asked = values.union(*(name_stems(tool) for tool in tools))
    return tuple(dict.fromkeys(word for word in content_stems(text) if word not in asked))


def only_points(clause: ClauseReading) -> bool:
    """Whether a clause has no word for the thing that is meant."""
    rest = {*content_stems(clause.text)} - {stem(clause.verb)} - POINTING_STEMS
    return bool(reference_in(clause.text)) and not rest


def is_question(clause: ClauseReading) -> bool:
    """Whether a clause asks, by its first word or by its mark."""
    first = next(iter(tokens(without_lead(clause.text)[:40])), "")
    return first in QUESTION_WORDS or first in MODALS or clause.text.rstrip().endswith("?")


def takes_up(text: str, clause: ClauseReading) -> bool:
    """Whether a leg's goal takes a clause up, by its words."""
    said = set(content_stems(clause.text)) - {stem(clause.verb)}
    held = said & set(content_stems(text))
    return len(held) >= _TAKEN_UP * len(said)
