"""A parsed request: its action, its values, its frame."""

from enum import StrEnum
from typing import Final, Literal

from pydantic import Field, JsonValue

from orchestrator.core.record import Record


class Action(StrEnum):
    """The class of action that a request asks for."""

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
"""Actions that leave an effect at a provider."""

SlotKind = Literal[
    "date", "time", "origin", "place", "amount", "quantity", "email", "identifier", "quoted", "name"
]


class Slot(Record):
    """A value in a request.

    `value` is JSON: ISO 8601 strings for dates and times, {"amount", "currency"} for money, int for
    quantities, str for the rest. `text` holds the source words, `position` is their start. `value`
    is None if the words are ambiguous; `readings` are then the possible meanings. `hint` is the
    word that introduces the value ("from", "returning", "under", or the noun that a quantity
    counts), lower case.
    """

    kind: SlotKind
    value: JsonValue
    text: str
    position: int
    hint: str = ""
    readings: tuple[str, ...] = ()


class IntentFrame(Record):
    """A parsed request: action, domain, values, and the confidence in this reading."""

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
