"""What is understood of a request: its action, its values, its frame."""

from enum import StrEnum
from typing import Final, Literal

from pydantic import Field, JsonValue

from orchestrator.core.record import Record


class Action(StrEnum):
    """The class of thing a request asks to be done."""

    READ = "read"
    SEARCH = "search"
    CREATE = "create"
    UPDATE = "update"
    CANCEL = "cancel"
    SEND = "send"
    PAY = "pay"
    EXECUTE = "execute"
    UNKNOWN = "unknown"


SIDE_EFFECT_ACTIONS: Final = frozenset(
    {Action.CREATE, Action.CANCEL, Action.SEND, Action.PAY, Action.UPDATE, Action.EXECUTE}
)
"""Actions that leave something behind at a provider."""

SlotKind = Literal[
    "date", "time", "origin", "place", "amount", "quantity", "email", "identifier", "quoted", "name"
]


class Slot(Record):
    """One value found in a request.

    `value` is JSON: ISO 8601 strings for dates and times, {"amount", "currency"} for money, int for
    quantities, str for the rest. `text` is the words it was read from, `position` where they start.
    `value` is None where the words do not tell it, of which `readings` are what they may mean.
    `hint` is the word that introduced it ("from", "returning", "under", or the noun that a quantity
    counts), lower case.
    """

    kind: SlotKind
    value: JsonValue
    text: str
    position: int
    hint: str = ""
    readings: tuple[str, ...] = ()


class IntentFrame(Record):
    """A request, read: what to do, in which domain, with what, and how sure we are."""

    domain: str | None = None
    action: Action = Action.UNKNOWN
    verb: str = ""
    objects: tuple[str, ...] = Field(default=(), description="nouns acted on, as written")
    references: tuple[str, ...] = Field(
        default=(), description="words that point at what came before: it, that one, the second one"
    )
    slots: tuple[Slot, ...] = ()
    side_effect_allowed: bool = False
    previous_tool_error: bool = False
    clauses: tuple[str, ...] = Field(default=(), description="the single requests in the text")
    confidence: float = Field(default=0.0, ge=0, le=1)
