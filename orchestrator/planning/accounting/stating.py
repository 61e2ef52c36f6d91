"""What is said beside the orders of a goal: how things are, which orders nothing."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from orchestrator.language.clause_reading import ClauseReading, read_clause
from orchestrator.language.intent import Action
from orchestrator.language.slots import read_slots
from orchestrator.language.words import stem, tokens
from orchestrator.planning.accounting.paths import Path
from orchestrator.planning.accounting.things_said import Said
from orchestrator.planning.rules.parameters import Parameter
from orchestrator.saga.served import Order

_ENDS: Final = re.compile(
    r"[.!?]+(?:\s+|$)|\n+|[,;]\s+(?=(?:because|since|as|i|we|he|she|they|it)\b)", re.IGNORECASE
)
_STATES: Final = re.compile(
    r"\s*(?:(?:and|but|because|since|as|so)\s+)?(?:i|we|he|she|it|they|there|this|that|my|our|his|her"
    r"|their)\b",
    re.IGNORECASE,
)
_VALUES: Final = frozenset({"date", "time", "duration", "amount", "identifier", "negation"})


def aside(said: Said, clause: ClauseReading, around: Path, *, is_alone: bool) -> str:
    """That a thing is a remark, where its sentence states how things are; empty for all else.

    A value, or a word for what the tools of the plan take, may be meant for them: that is none.

    Args:
        said: what nothing takes up.
        clause: that it stands in.
        around: the tools of the whole plan.
        is_alone: whether no leg takes its clause up.
    """
    sentence = sentence_of(said, clause)
    orders = bool(clause.verb) and clause.verb in sentence.lower() and not is_alone
    if (
        not states(sentence)
        or orders
        or said.kind in _VALUES
        or isinstance(said.value, int | float)
    ):
        return ""
    taken = {stem(word) for _, p in around.grounds.inputs for word in (*p.words, *_options(p))}
    return "" if taken & {*said.stems} else "a remark"


def states(text: str) -> bool:
    """Whether a text begins with who or what it states something of."""
    return _STATES.match(text) is not None


def explains_an_end(text: str, orders: Iterable[Order]) -> bool:
    """Whether a text says no more than why something is ended: "I don't need it any longer".

    A value in it tells which thing is to be ended, and has to be taken up.
    """
    ends = any(read_clause(order.clause).action is Action.CANCEL for order in orders)
    return ends and states(text) and not read_slots(text, now=None)


def _options(parameter: Parameter) -> Iterator[str]:
    return (word for option in parameter.options for word in tokens(option))


def sentence_of(said: Said, clause: ClauseReading) -> str:
    """The sentence, or the part of one that has a subject of its own, that a thing stands in."""
    start = 0
    for match in _ENDS.finditer(clause.text):
        if match.end() > said.position:
            return clause.text[start : match.start()]
        start = match.end()
    return clause.text[start:]
