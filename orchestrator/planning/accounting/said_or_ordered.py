"""Orders that may be a part of a text: "tell Bo that I'll book it and cancel it"."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from orchestrator.language.clause_reading import ClauseReading, matter_start, read_clause
from orchestrator.language.clauses import begins_request, dependent_end, without_lead
from orchestrator.language.intent import Action
from orchestrator.language.said import is_within, quoted_spans, told_in
from orchestrator.language.slots import is_addressed, read_slots
from orchestrator.language.words import tokens
from orchestrator.planning.models import Doubt

_PLANS: Final = re.compile(
    r"\b(?:i|we|you|he|she|they)(?:['\u2019](?:ll|d)|\s+(?:will|would|can|could|shall|should|must|may"
    r"|might|(?:am|are|is)\s+going\s+to|(?:have|has|want|wants|need|needs|plan|plans)\s+to))\b",
    re.IGNORECASE,
)
"""What somebody will do or has to; a second verb without a subject of its own may go on with it."""
_JOINED: Final = re.compile(r",?\s+(?:(?:and|or)\s+)?", re.IGNORECASE)
_ENDED: Final = re.compile(r"[.!?]+\s+")
_SPELLED_OUT: Final = re.compile(
    r"(?P<opener>\bsaying:?|\bwith\s+the\s+(?:text|words|message|content):?|:)\s+(?P<text>\S.*)$",
    re.IGNORECASE | re.DOTALL,
)
_OPENING: Final = 2
"""Words that say what is done and to whom: "remind me"."""
_TO: Final = re.compile(r"\s*to\s+", re.IGNORECASE)
_MOMENTS: Final = frozenset({"date", "time"})
_WHY: Final = (
    "it may be a part of what is said before it, or an order of its own; it would be done as an"
    " order, and not be said"
)


_AGAIN: Final = re.compile(
    r"(?:,|\b(?:and|then|plus)|&)\s+(?:(?:then|again|also)\s+)?(?:(?:on|at|by|from)\s+)?(?:the\s+)?$",
    re.IGNORECASE,
)
"""What stands before another day on which somebody is to be told something else."""
_WITHIN_ONE: Final = re.compile(r"\s*,?\s+(?:(?:on|at|by|from)\s+)?(?:the\s+)?", re.IGNORECASE)
"""What stands between the day and the hour of one moment."""
_TO_DO: Final = re.compile(r"\s+(?:that\s+|then\s+)?to\s+(?=[a-z])")
_WHY_MORE: Final = (
    "it may be a part of what is said before it, or one more to be said then; it would be said as"
    " a part, and at no time of its own"
)


def _doubt_about_more_said(clause: ClauseReading) -> Doubt | None:
    """The doubt about a second time and deed in one: "on Monday to pack and on Friday to call"."""
    if matter_start(clause.text) is None:
        return None
    quoted = quoted_spans(clause.text)
    moments = [s for s in read_slots(clause.text, now=None) if s.kind in _MOMENTS]
    for number, slot in enumerate(moments):
        joint = _AGAIN.search(clause.text[: slot.position])
        first = _TO_DO.search(clause.text, 0, joint.start()) if joint else None
        end = slot.position + len(slot.text)
        for further in moments[number + 1 :]:  # "and on Saturday at 10 am to call"
            if not _WITHIN_ONE.fullmatch(clause.text, end, further.position):
                break
            end = further.position + len(further.text)
        deed = _TO_DO.match(clause.text, end) if first else None
        if joint and deed and not is_within(slot.position, slot.position + 1, quoted):
            about = clause.text[joint.start() :].lstrip(", ")
            return Doubt(kind="not_understood", about=about, why=_WHY_MORE)
    return None


def doubts_about_orders_said(goal: str, clauses: Sequence[ClauseReading]) -> Iterator[Doubt]:
    """The doubt about each order that may go on with the text before it.

    A text that nothing closes may: one that is spelled out ("saying ...", "...: ..."), that tells
    of plans ("that I'll book it") or that is itself an order ("remind me to pay it"). What follows
    one behind "then" is an order, and so is what begins as the order before it does: "remind me to
    pay it and remind me to call".

    Args:
        goal: in which the clauses stand.
        clauses: in their order.
    """
    yield from filter(None, map(_doubt_about_more_said, clauses))
    for clause in clauses:
        spelled = _SPELLED_OUT.search(clause.text)
        orders = clause.asks_side_effect and clause.action is not Action.SEND
        addressed = spelled is not None and is_addressed(clause.text[: spelled.start()])
        if spelled and orders and addressed and begins_request(spelled["text"], firm=True):
            yield Doubt(kind="not_understood", about=spelled["text"], why=_WHY)
    text: _Text | None = None
    for clause, ordered in pairwise(clauses):
        text = _text_of(goal, clause) or text
        start = goal.find(clause.text) + len(clause.text)
        between = goal[start : goal.find(ordered.text, start)]
        goes_on = _JOINED.fullmatch(between) or (
            _ENDED.fullmatch(between) and text is not None and text.is_after_colon
        )
        text = text if goes_on and not _begin_alike(clause, ordered) else None
        begins = ordered.text.lower().startswith(ordered.verb)
        if text is not None and ordered.asks_side_effect and ordered.verb and begins:
            yield Doubt(kind="not_understood", about=ordered.text, why=_WHY)


def _begin_alike(one: ClauseReading, other: ClauseReading) -> bool:
    """Whether both tell the same person by the same verb."""
    openings = [tokens(without_lead(clause.text))[:_OPENING] for clause in (one, other)]
    return openings[0] == openings[1]


@dataclass(frozen=True)
class _Text:
    """A text with which the clause behind it may go on."""

    is_after_colon: bool = False
    """Whether it may have several sentences."""


def _text_of(goal: str, clause: ClauseReading) -> _Text | None:
    """The text that a clause ends with; None where it has none, or quotation marks close it."""
    spelled = _SPELLED_OUT.search(clause.text)
    written = spelled["text"] if spelled and _is_written(clause, spelled) else ""
    said = written or told_in(clause.text) or ""
    end = goal.find(clause.text) + len(clause.text)
    if not said or is_within(end - len(said), end, quoted_spans(goal)):
        return None
    if spelled and written:
        return _Text(is_after_colon=spelled["opener"].endswith(":"))
    whole = said[dependent_end(said) :].lstrip(" ,")  # "when Ana writes, cancel it"
    is_order = begins_request(_TO.sub("", whole, count=1), firm=True)
    return _Text() if is_order or _PLANS.search(said) else None


def _is_written(clause: ClauseReading, spelled: re.Match[str]) -> bool:
    """Whether what is spelled out is a text: a colon may as well stand before a list of orders."""
    if spelled["opener"] != ":":
        return True
    opening = read_clause(clause.text[: spelled.start()])
    return opening.asks_side_effect or is_addressed(opening.text)
