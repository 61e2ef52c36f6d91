"""A hold: the question after a final failure, before the effects that stand are rolled back."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, Literal

from pydantic import Field, JsonValue, ValidationError

from orchestrator.core.budget import Money
from orchestrator.core.limits import WALL_CLOCK, LimitReached, Limits
from orchestrator.core.pii import bare_personal, handle_for, is_handle
from orchestrator.core.record import JsonObject, Record, shared_fields
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import ObligationState

HoldDecision = Literal["repair", "roll back", "keep"]

DECISION: Final = "decision"
ARGUMENTS: Final = "arguments"
HINT: Final = "hint"
LIMIT: Final = "limit"
"""Fields of the answer; the last three belong to a repair."""
_LONGEST_HINT: Final = 2000
_ABOUT: Final = {
    "repair": "it goes on from there, and nothing that stands is done again",
    "roll back": "all that stands is cancelled",
    "keep": "it ends as incomplete, and all that stands is left standing",
}


class Standing(Record):
    """An effect that stands, or may stand, while a person decides."""

    call_id: str
    tool: str
    title: str
    state: ObligationState
    price: Money | None = None
    cancel_tool: str | None = Field(default=None, description="None: it cannot be cancelled")
    fee: Money | None = Field(default=None, description="what cancelling it may cost")
    until: datetime | None = Field(default=None, description="end of its window; None: no end")

    def __str__(self) -> str:
        """Return one line: `Book flight (120 EUR; cancelling costs up to 20 EUR, until ...)`."""
        terms = [str(self.price or "")]
        if self.state is ObligationState.INTENDED:
            terms.append("whether it took effect is unknown")
        if self.cancel_tool is None:
            terms.append("cannot be cancelled")
        else:
            until = f", until {self.until:%Y-%m-%d %H:%M %Z}" if self.until is not None else ""
            costs = f"costs up to {self.fee}" if self.fee is not None else "has no declared fee"
            terms.append(f"its cancel {costs}{until}")
        return f"{self.title or self.tool} ({'; '.join(filter(None, terms))})"


class FailedCall(Record):
    """The last call of a failed leg or saga, which a repair may make again."""

    tool: str
    arguments: JsonObject = Field(default_factory=dict)


class Hold(Record):
    """The subject of a hold's question."""

    error: str
    leg_id: str = Field(default="", description="the leg that failed; empty: no single one")
    failed: FailedCall | None = None
    limit: LimitReached | None = Field(default=None, description="which a repair may raise")
    most: Limits = Field(default_factory=Limits, description="up to which it may be raised")
    standing: tuple[Standing, ...] = ()
    no_repair: str = Field(default="", description="why it cannot be repaired; empty: it can be")


class HoldRecord(Record):
    """A hold that is over, with its answer."""

    id: str
    error: str
    decision: HoldDecision | Literal["expired"]
    by: str = Field(default="", description="who answered, as they say")
    at: datetime
    hint: str = ""
    arguments: JsonObject | None = Field(default=None, description="changes of the failed call")
    limit: str = Field(default="", description="the new value of the limit that was reached")

    def __str__(self) -> str:
        """Return one line: `held after 'no visa': repair by ana, 2026-12-01 10:00`."""
        by = f" by {self.by}" if self.by else ""
        return f"held after {self.error!r}: {self.decision}{by}, {self.at:%Y-%m-%d %H:%M:%S}"


def standing_of(ledger: Ledger) -> tuple[Standing, ...]:
    """Return the effects that a rollback would cancel, in that order."""
    return tuple(
        Standing(
            **{**shared_fields(one, Standing), "price": one.price or one.approved_price},
            call_id=one.obligation_id,
            until=one.cancellable_until,
        )
        for one in ledger.compensation_order()
    )


def rolls_back_at(ledger: Ledger, now: datetime, limit: timedelta) -> datetime:
    """Return when a rollback has to begin, so that each cancel arrives within its window.

    A rollback cancels one after the other: each needs the time of all attempts of those before it.
    """
    due, needed = now + limit, timedelta()
    for one in ledger.compensation_order():
        needed += one.cancel_max_attempts * one.cancel_timeout
        if one.cancellable_until is not None:
            due = min(due, one.cancellable_until - needed)
    return due


def why_not_repaired(ledger: Ledger) -> str:
    """Return why a mission cannot go on with this ledger; empty: it can.

    Only a rollback finds out about a call or a cancel of unknown outcome.
    """
    for one in ledger.live():
        if one.state is ObligationState.INTENDED:
            return f"whether {one.tool} took effect is unknown, and only a rollback finds out"
        if one.cancel_sent or one.cancel_call is not None:
            return f"whether {one.tool} was cancelled is unknown, and only a rollback finds out"
    if any(cancel.outcome == "unknown" for cancel in ledger.cancels):
        return "the outcome of a cancel is unknown, and only a rollback finds out"
    return ""


def hold_question(hold: Hold) -> str:
    """Return the question in sentences."""
    limit = " A repair has to raise the limit." if hold.limit is not None else ""
    refusal = f" It cannot be repaired: {hold.no_repair}." if hold.no_repair else ""
    listed = "; ".join(map(str, hold.standing))
    return f"It failed: {hold.error.rstrip('.')}. What stands: {listed}.{limit}{refusal} What now?"


def answer_fields(hold: Hold) -> dict[str, JsonObject]:
    """Return the schemas of the answer."""
    offered = {name: about for name, about in _ABOUT.items() if name in choices_of(hold)}
    options: list[JsonValue] = [
        {"const": name, "description": about} for name, about in offered.items()
    ]
    fields: dict[str, JsonObject] = {DECISION: {"type": "string", "oneOf": options}}
    if hold.no_repair:
        return fields
    if hold.failed is not None:
        about = f"of a repair: changes of the arguments of {hold.failed.tool}"
        fields[ARGUMENTS] = {"type": "object", "description": about, "default": {}}
    if hold.leg_id:
        about = "of a repair: what its planner is to do instead"
        length = {"maxLength": _LONGEST_HINT}
        fields[HINT] = {"type": "string", "description": about, "default": "", **length}
    if hold.limit is not None:
        about = f"of a repair: the new limit of {hold.limit.figure}"
        fields[LIMIT] = {"type": "string", "description": about, "default": ""}
    return fields


def choices_of(hold: Hold) -> tuple[HoldDecision, ...]:
    """Return the decisions that a person may take."""
    return ("roll back", "keep") if hold.no_repair else ("repair", "roll back", "keep")


def hold_problems(hold: Hold, values: JsonObject) -> Iterator[str]:
    """Yield a sentence for each fault of an answer whose values match their schemas."""
    given = [name for name in (ARGUMENTS, HINT, LIMIT) if values.get(name)]
    if given and values.get(DECISION) != "repair":
        yield f"{', '.join(given)}: only a repair takes that"
    changes = values.get(ARGUMENTS)
    if hold.failed is not None and isinstance(changes, dict):
        personal = [name for name, value in hold.failed.arguments.items() if is_handle(value)]
        for name in bare_personal(changes, personal):
            yield (
                f"{name} is personal and must not be sent as it is; store it (orchestrator pii "
                f"{name}) and give its handle, {handle_for(name)}"
            )
    if values.get(LIMIT):
        try:
            raised_limit(hold, str(values[LIMIT]))
        except ValueError as problem:
            yield str(problem)


def raised_limit(hold: Hold, text: str) -> Limits:
    """Return the figure that was reached, with the value that a person gives.

    Raises:
        ValueError: a sentence; it is no value of the figure, too low, or above the worker's policy.
    """
    reached = hold.limit
    if reached is None:
        raise ValueError("no limit was reached that can be raised")
    figure = reached.figure
    try:
        raised = Limits.model_validate({figure: text})
    except ValidationError:
        wanted = "a time such as PT2H" if figure == WALL_CLOCK else "a number above 0"
        raise ValueError(f"limit: {text!r} is no {figure}: give {wanted}") from None
    if reached.is_still_reached_by(raised):
        raise ValueError(f"limit: {text} is used up already: {reached}; give more")
    if raised.intersect(hold.most) != raised:
        raise ValueError(
            f"limit: the worker's policy allows {figure} up to {getattr(hold.most, figure)}"
        )
    return raised
