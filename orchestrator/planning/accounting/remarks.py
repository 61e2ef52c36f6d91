"""What is said beside the orders of a goal: how things are, which orders nothing."""

import re
from typing import Final

from orchestrator.language.clause_reading import ClauseReading
from orchestrator.planning.accounting.grounds import unexplained
from orchestrator.planning.accounting.paths import Path
from orchestrator.planning.accounting.said import Said

_SENTENCE: Final = re.compile(r"[^.!?\n]+(?:[.!?](?!\s|$)[^.!?\n]*)*[.!?]*")
_STATES: Final = re.compile(
    r"\s*(?:(?:and|but|because|since|as|so)\s+)?(?:i|we|he|she|it|they|there|this|that|my|our|his|her"
    r"|their)\b",
    re.IGNORECASE,
)
_VALUES: Final = frozenset(
    {"date", "time", "duration", "amount", "count", "identifier", "negation"}
)


def aside(said: Said, clause: ClauseReading, around: Path, *, is_alone: bool) -> str:
    """ "A remark", of what a sentence says that states how things are; empty for all else.

    A value or a word that the tools of the plan speak of may be meant for them: that is no remark.

    Args:
        said: what nothing takes up.
        clause: that it stands in.
        around: the tools of the whole plan.
        is_alone: whether no leg takes its clause up.
    """
    sentence = _sentence_of(said, clause)
    states = _STATES.match(sentence) is not None
    orders = bool(clause.verb) and clause.verb in sentence.lower() and not is_alone
    if not states or orders or said.kind in _VALUES:
        return ""
    strange = unexplained(said, around.grounds)
    return "a remark" if len(strange) == len(said.stems) else ""


def _sentence_of(said: Said, clause: ClauseReading) -> str:
    spans = [match.span() for match in _SENTENCE.finditer(clause.text)]
    return next((clause.text[a:b] for a, b in spans if a <= said.position < b), clause.text)
