"""Texts that a planner made out of a request, which may hold more of it than what is to be written.

"Upload a.txt with the text hello and b.txt with the text bye": nothing tells where a text ends that
stands in no quotation marks. Where it holds what begins another one, or whom another one is for, a
person is shown what would be written.
"""

import re
from collections.abc import Iterator
from typing import Final

from orchestrator.language import lexicon
from orchestrator.language.clauses import split_clauses
from orchestrator.language.coordination import coordinated
from orchestrator.language.corrections import corrected
from orchestrator.language.said import is_within, quoted_spans
from orchestrator.language.slots import read_slots
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import tokens
from orchestrator.planning.matching.taken import TakenCall
from orchestrator.planning.models import Doubt
from orchestrator.planning.rules.parameters import Kind, Parameter

_PROSE: Final = frozenset({Kind.TEXT, Kind.TITLE})
_INTRODUCING: Final = WordLists("matching").word_set("introducing") | lexicon.TEXT
_JOINED: Final = r"(?:\b(?:and|with|plus|the)\b|,|;)\s+(?:(?:with|the|a|an|as|its|another|one)\s+)*"
_ORDERED: Final = re.compile(
    r"(?:\band|\bthen|;)\s+(?:(?:then|also|please)\s+)*[a-z]+\s+(?:it|them)\b(?!\s+(?:is|was|are|were)\b)",
    re.IGNORECASE,
)
"""What is done to a thing by one word alone: "and pin it"."""
_ANOTHER: Final = re.compile(
    r"(?:\band|,|;)\s+(?:(?:\S+\s+){1,5}(?:to|in|for)\s+|[a-z]+\s+)?$", re.IGNORECASE
)
_ONE_BY_ONE: Final = re.compile(
    r"\b(?:first|former|one)\b.*\b(?:second|latter|other)\b|\brespectively\b",
    re.IGNORECASE | re.DOTALL,
)
"""What tells several apart: "the first about the budget, the second about the venue"."""
_LONGEST_SHOWN: Final = 200


def doubts_of_texts(call: TakenCall) -> Iterator[Doubt]:
    """The texts of a call that may hold more than what is to be written."""
    given = call.given_by_people | call.chosen_by_people
    for name, value in call.arguments.items():
        parameter = call.parameters.get(name)
        if call.hints or name in given or parameter is None or parameter.kind not in _PROSE:
            continue
        if isinstance(value, str) and (why := _holds_more(value, parameter, call)):
            shown = value if len(value) <= _LONGEST_SHOWN else f"{value[:_LONGEST_SHOWN]}…"
            told = f"where the text ends is not plain, for it holds {why}; it would be {shown!r}"
            yield Doubt(kind="not_matched", about=f"{' '.join(parameter.words)}", why=told)


def _holds_more(value: str, parameter: Parameter, call: TakenCall) -> str:
    """What a text that stands in the request holds beside itself; empty where it is quoted."""
    goal = corrected(call.goal or call.clause).text
    start = goal.casefold().find(value.casefold())
    if start < 0 or is_within(start, start + len(value), quoted_spans(goal)):
        return ""
    before = tokens(goal[:start])
    again = [
        w for w in sorted(_INTRODUCING | {*parameter.words}) if w in before and _begins(w, value)
    ]
    if again:
        return f"{again[0]!r} once more"
    others = [p for p in call.parameters.values() if p.kind in _PROSE and p.name != parameter.name]
    named = (word for p in others for word in p.words if word not in parameter.words)
    if (
        other := next((word for word in named if _begins(word, value)), "")
    ) and other not in before:
        return f"what may be the {other}"
    if _ONE_BY_ONE.search(value) and _is_for_several(value, goal):
        return "what may be a text for each of several"
    ordered = _ORDERED.search(value)
    return f"what may be an order, {ordered.group()!r}" if ordered else _addressee(value)


def _is_for_several(value: str, goal: str) -> bool:
    """Whether what is written stands in a clause that asks for the same of several."""
    clauses = (clause for clause in split_clauses(goal) if value in clause)
    return any(coordinated(clause) is not None for clause in clauses)


def _begins(word: str, text: str) -> bool:
    """Whether a word begins another part of a text: "..., with the subject Budget"."""
    introduced = rf"{_JOINED}(?:[\w.-]+\s+){{0,2}}?{re.escape(word)}\s+\S"
    return re.search(introduced, text, re.IGNORECASE) is not None


def _addressee(value: str) -> str:
    """Whom another text is for: "hello and goodbye to #random"."""
    for slot in read_slots(value, now=None):
        is_address = slot.kind == "email" or slot.text.startswith("#")
        if is_address and (slot.position == 0 or _ANOTHER.search(value[: slot.position])):
            return f"{slot.text!r}, to whom something else may be sent"
    return ""
