"""Orders that are only thought of: "maybe cancel it", "I'll book a room", "cancel the flight?"."""

import re
from typing import Final

from orchestrator.language.clause_reading import ClauseReading
from orchestrator.language.intent import Action
from orchestrator.planning.models import Doubt

_ON_WHAT_IS: Final = frozenset({Action.CANCEL, Action.UPDATE, Action.PAY})
"""What is done to things that there are, and seldom undone."""
_JOINED: Final = r"\s*(?:(?:and|or|but|so|then|also)\s+)*"
_HEDGE: Final = r"(?:maybe|perhaps|possibly|probably|potentially)"
_HEDGED: Final = re.compile(rf"{_JOINED}{_HEDGE},?\s+(?:also\s+)?(?P<verb>[a-z]+)", re.IGNORECASE)
_OWN_PLAN: Final = re.compile(
    rf"{_JOINED}(?:i|we)(?:['\u2019]ll|\s+(?:will|might|may|could|should)"
    r"|(?:['\u2019](?:m|re)|\s+(?:am|are|was|were))\s+(?:going|planning|about)\s+to)"
    rf"\s+(?:(?:also|just|then|soon|now|have\s+to|{_HEDGE})\s+)*(?P<verb>[a-z]+)",
    re.IGNORECASE,
)
"""What somebody means to do themselves: "I'll book a room", "we might cancel it"."""
_BARE: Final = re.compile(rf"{_JOINED}(?:please\s+)?(?P<verb>[a-z]+)\b[^?]*\?\s*$", re.IGNORECASE)


def doubt_about_half_order(clause: ClauseReading) -> Doubt | None:
    """The doubt whether a clause orders at all what its verb says."""
    if not clause.asks_side_effect or not clause.verb:
        return None
    patterns = [_HEDGED, _OWN_PLAN, *([_BARE] if clause.action in _ON_WHAT_IS else [])]
    found = (pattern.match(clause.text) for pattern in patterns)
    if not any(match and match["verb"].lower() == clause.verb for match in found):
        return None
    why = "it may only be thought of, and no order; it would be done"
    return Doubt(kind="not_understood", about=clause.text, why=why)
