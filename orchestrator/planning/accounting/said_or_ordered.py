"""Orders that may be a part of what somebody is told: "tell Bo that I'll book it and cancel it"."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from orchestrator.language.clause_reading import ClauseReading
from orchestrator.language.said import is_within, quoted_spans, told_in
from orchestrator.planning.models import Doubt

_PLANS: Final = re.compile(
    r"\b(?:i|we|you|he|she|they)(?:['\u2019](?:ll|d)|\s+(?:will|would|can|could|shall|should|must|may"
    r"|might|(?:am|are|is)\s+going\s+to|(?:have|has|want|wants|need|needs|plan|plans)\s+to))\b",
    re.IGNORECASE,
)
"""What somebody will do or has to; a second verb without a subject of its own may go on with it."""
_JOINED: Final = re.compile(r",?\s+(?:and|or)\s+", re.IGNORECASE)
_WHY: Final = (
    "it may be a part of what is said before it, or an order of its own; it would be done as an"
    " order, and not be said"
)


def doubts_about_orders_said(goal: str, clauses: Sequence[ClauseReading]) -> Iterator[Doubt]:
    """The doubt about each order that goes on, by "and", with what somebody is told of plans.

    Args:
        goal: in which the clauses stand.
        clauses: in their order.
    """
    quoted = quoted_spans(goal)
    for told, ordered in pairwise(clauses):
        start = goal.find(told.text) + len(told.text)
        between = goal[start : goal.find(ordered.text, start)]
        said = told_in(told.text) or ""
        goes_on = _JOINED.fullmatch(between) and ordered.asks_side_effect
        if not goes_on or is_within(start - len(said), start, quoted):
            continue
        begins = ordered.text.lower().startswith(ordered.verb)
        if ordered.verb and begins and _PLANS.search(said):
            yield Doubt(kind="not_understood", about=ordered.text, why=_WHY)
