"""Anaphora: words that point at what came before, as it, that one, the second one, try again."""

import re
from typing import Final

from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import content_stems

_ORDINAL = (
    r"first|second|third|fourth|fifth|last|next|other|same|cheapest|best|latest|top|former|latter"
)
POINTS: Final = re.compile(
    rf"""\b(?:(?:this|that|the|these|those|your|another)\s+(?:(?:{_ORDINAL})\s+)?(?:one|ones)
        |(?:the|number)\s+(?:{_ORDINAL}|one|two|three|four|five)(?=\s*(?:[.,;!?]|$|for\b|with\b|on\b|please\b))
        |it|them|both|either|all\s+of\s+(?:them|it)
        |(?:this|that|these|those)(?=\s*(?:[.,;!?]|$|for\b|with\b|to\b|by\b|on\b|at\b|in\b|from\b|too\b
            |now\b|please\b|instead\b|again\b|back\b|as\b)))\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words that stand for a thing."""
REPEATS: Final = re.compile(
    r"\b(?:retry|try\s+(?:it\s+|that\s+|this\s+)?(?:again|once\s+more)|re-?do"
    r"|(?:do|run|repeat)\s+(?:it|that|this)(?:\s+again|\s+once\s+more)?|once\s+more|same\s+again)\b",
    re.IGNORECASE,
)
"""An order to do the same once more."""
POINTING_STEMS: Final = frozenset(content_stems(" ".join(WordLists("anaphora").words("pointing"))))
"""Stems of words that say which thing, or to go ahead, and not what."""


def reference_in(clause: str) -> str:
    """The words of a clause that point at what came before; empty when none do."""
    match = REPEATS.search(clause) or POINTS.search(clause)
    return " ".join(match.group().split()) if match else ""
