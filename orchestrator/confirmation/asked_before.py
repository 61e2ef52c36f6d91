"""Earlier cards of a leg, which a new card mentions: the reason for it, and the changes.

A leg stores these through all its runs; nothing here knows a provider or a planner.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal

from pydantic import Field

from orchestrator.confirmation.card_content import CardLine, Change
from orchestrator.core.budget import Money
from orchestrator.core.record import Record

Fate = Literal[
    "waiting", "approved", "rejected", "responded", "expired", "amended", "repeated", "refused",
    "done",
]  # fmt: skip
"""The outcome of a card.

`repeated`: its call would repeat an effect that the mission has had since. `refused` is by the
provider, after an approval, and `done` a success.
"""

_NOTHING: Final = frozenset({"rejected", "responded", "refused", "expired"})
MANY: Final = 3
"""From this number on, a card says how many came before it."""


class AskedCall(Record):
    """A call that people were asked about, and its outcome."""

    confirmation_id: str
    tool: str
    title: str = ""
    shown: tuple[CardLine, ...] = Field(default=(), description="lines of its card")
    meanings: tuple[str, ...] = Field(default=(), description="digests, as proposed and as amended")
    price: Money | None = None
    fate: Fate = "waiting"
    by: str = Field(default="", description="the person or policy that decided")
    words: str = Field(default="", description="reason or request of the person, or the provider's")
    at: datetime | None = None
    cancels: bool = Field(default=False, description="True if the call cancels an obligation")

    @property
    def was_unsuccessful(self) -> bool:
        """True if the card led to no call."""
        return self.fate in _NOTHING


def unsuccessful_in_a_row(asked: Sequence[AskedCall]) -> int:
    """Return the number of latest calls in a row that led to nothing."""
    count = 0
    for one in reversed(asked):
        if not one.was_unsuccessful:
            break
        count += 1
    return count


def last_asked(asked: Sequence[AskedCall]) -> tuple[AskedCall, ...]:
    """Return the last call that a new card follows; empty after one that was carried out."""
    return tuple(asked[-1:]) if asked and asked[-1].fate != "done" else ()


def why_asked(earlier: AskedCall, number: int) -> str:
    """Return why people are asked again, in sentences; `number` counts the cards so far."""
    because = _BECAUSE[earlier.fate].format(by=earlier.by or "somebody", what=earlier.title)
    words = f": {earlier.words.rstrip('.')}" if earlier.words else ""
    then = "" if earlier.fate in _SAME_CALL else " The planner proposes this instead."
    count = f" This is card no. {number} for this part of the goal." if number >= MANY else ""
    return f"{because}{words}.{then}{count}"


_SAME_CALL: Final = frozenset({"amended", "expired", "repeated", "waiting"})
_BECAUSE: Final = {
    "amended": "{by} has changed what was proposed",
    "expired": "Nobody decided in time when it was asked before",
    "repeated": "Another part of the mission has done the same since it was asked before",
    "rejected": "{by} rejected what was proposed before ({what})",
    "responded": "{by} sent back what was proposed before ({what})",
    "refused": "What was approved before ({what}) was refused when it was sent",
    "approved": "What was approved before ({what}) was not carried out",
    "waiting": "It was asked before",
    "done": "It was asked before",
}


def changes_between(
    before: AskedCall, now: Sequence[CardLine], price: Money | None
) -> list[Change]:
    """Return the differences between a card and the one before it, the price first."""
    old, new = _by_label(before.shown), _by_label(now)
    was, costs = str(before.price or "unknown"), str(price or "unknown")
    changes = [Change(label="Price", before=was, now=costs)] if before.price != price else []
    return changes + [
        Change(label=label, before=old.get(label, ""), now=new.get(label, ""))
        for label in dict.fromkeys([*new, *old])
        if old.get(label, "") != new.get(label, "")
    ]


def _by_label(lines: Sequence[CardLine]) -> dict[str, str]:
    values: dict[str, list[str]] = {}
    for line in lines:
        values.setdefault(line.label, []).append(line.value)
    return {label: "; ".join(held) for label, held in values.items()}
