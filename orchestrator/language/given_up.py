"""What somebody has and says that they need no longer: an order to end it, said as a remark."""

import re
from typing import Final

from orchestrator.language.clause_reading import read_clause
from orchestrator.language.clauses import split_clauses
from orchestrator.language.intent import Action
from orchestrator.language.said import is_within, quoted_spans, told_spans

_WANT: Final = r"(?:need|want|require)(?:ed|ing)?"
_THING: Final = (
    r"(?P<{}>(?:(?:all|any|both)\s+(?:of\s+)?)?(?:the|my|our|that|this|those|these)\s+[^.;!?,]+?)"
)
_OVER: Final = r"\s+(?:any\s*more|any\s+longer|after\s+all)"
_NOT: Final = r"(?:do\s+not|don['\u2019]?t|will\s+not|won['\u2019]?t)"
_IS_NOT: Final = r"(?:(?:is|are)\s+not|(?:is|are)n['\u2019]?t)"
_END: Final = r"(?=\s*(?:[.;!?,]|$|(?:and|but|so)\s))"
_GIVEN_UP: Final = re.compile(
    rf"""(?:(?<=^)|(?<=[.;!?,]\s)|(?<=\band\s)|(?<=\bbut\s)|(?<=\bso\s))
        (?:(?:i|we)\s+no\s+longer\s+{_WANT}\s+{_THING.format("a")}
        |(?:i|we)\s+{_NOT}\s+(?:be\s+)?{_WANT}\s+{_THING.format("b")}{_OVER}
        |{_THING.format("c")}\s+(?:(?:is|are)\s+no\s+longer\s+{_WANT}|{_IS_NOT}\s+{_WANT}{_OVER})
        ){_END}""",
    re.IGNORECASE | re.VERBOSE,
)
_SAID_AGAIN: Final = re.compile(
    r"[\s,.;]*(?:(?:and|so|please|just)\s+)*(?P<order>[a-z]+)(?:\s+(?:it|that|them))?(?:\s*,?\s*please)?"
    r"(?=\s*(?:[.!;]|$))",
    re.IGNORECASE,
)
"""The order itself behind what is given up, of nothing else: "so please cancel it"."""


def ended(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The text with each thing that is given up as an order to cancel it: what was said, and that.

    Who also says that something is to be cancelled says why: the text stays as it is then. "So
    please cancel" says no more.
    """
    found = [m for m in _GIVEN_UP.finditer(text) if not _is_told(m, text)]
    again = _SAID_AGAIN.match(text, found[0].end()) if len(found) == 1 else None
    if again is not None and read_clause(again["order"]).action is Action.CANCEL:
        text = f"{text[: again.start()]}{text[again.end() :]}"
    if not found or any(read_clause(c).action is Action.CANCEL for c in split_clauses(text)):
        return text, ()
    orders = [(m.group(), f"cancel {m['a'] or m['b'] or m['c']}") for m in found]
    for match, (_, order) in zip(reversed(found), reversed(orders), strict=True):
        text = f"{text[: match.start()]}{order}{text[match.end() :]}"
    return text, tuple(orders)


def _is_told(match: re.Match[str], text: str) -> bool:
    return is_within(match.start(), match.end(), (*quoted_spans(text), *told_spans(text)))
