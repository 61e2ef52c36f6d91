"""The choices on a card: the command for each, and its consequences."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from orchestrator.core import command_lines

_MOST_NAMES: Final = 12
LOOKS_AGAIN: Final = "the planner looks again with your words, and asks again"
"""The consequence of sending a card back."""

THEN: Final = {
    "replan": "the planner looks for another way; if it finds none, this part fails and all that "
    "the mission did is rolled back",
    "skip": "this part of the goal is left out, with what depends on it; the rest goes on",
    "rollback": "the mission ends, and all that it did is rolled back",
}
"""The consequence of a rejection, by its `then`."""


class Choice(NamedTuple):
    """A decision that a person can make."""

    name: str
    command: str
    follows: tuple[str, ...]


def choices_on(
    confirmation_id: str, digest: str, *, changeable: tuple[str, ...] | None, is_sent: bool = True
) -> tuple[Choice, ...]:
    """Return the choices on a card, approval first."""
    approved = "exactly this is sent" if is_sent else "it is not sent: the budget does not allow it"
    names = "any input can be changed"
    if changeable is not None:
        more = len(changeable) - _MOST_NAMES
        rest = f" and {more} more" if more > 0 else ""
        names = f"of {', '.join(changeable[:_MOST_NAMES])}{rest}"
    follows = (f"{names}; another card is shown, to be approved",)
    change = Choice("Change", command_lines.amend_card(confirmation_id), follows)
    return (
        _approve(confirmation_id, digest, approved),
        *((change,) if changeable != () else ()),
        _send_back(confirmation_id, LOOKS_AGAIN),
        _reject(confirmation_id, THEN),
    )


def choices_on_done(
    confirmation_id: str, digest: str, *, can_be_cancelled: bool
) -> tuple[Choice, ...]:
    """Return the choices on the card of a call that was sent and charged: keep or cancel."""
    lost = (
        "nothing cancels it: the mission ends, what else it did is rolled back, and an operator "
        "decides on this"
    )
    back = f"it is cancelled; then {LOOKS_AGAIN}" if can_be_cancelled else lost
    then = {name: f"it is cancelled; then {follows}" for name, follows in THEN.items()}
    if not can_be_cancelled:
        then = {"/".join(THEN): lost}
    return (
        _approve(confirmation_id, digest, "it is kept, at what was charged; nothing more is sent"),
        _send_back(confirmation_id, back),
        _reject(
            confirmation_id, {**then, "rollback": THEN["rollback"]} if can_be_cancelled else then
        ),
    )


def choices_on_plan(confirmation_id: str, digest: str) -> tuple[Choice, ...]:
    """Return the choices on the card of a plan, of which nothing was done yet."""
    command = command_lines.reject_card(confirmation_id)
    return (
        _approve(
            confirmation_id,
            digest,
            "this is begun; each consequence still waits at its own card, where its tool has one",
        ),
        _send_back(
            confirmation_id,
            "your words are the whole goal from then on: it is planned again, and asked again",
        ),
        Choice("Reject", command, ("the mission ends; nothing was done",)),
    )


def _approve(confirmation_id: str, digest: str, follows: str) -> Choice:
    return Choice("Approve", command_lines.approve_card(confirmation_id, digest), (follows,))


def _send_back(confirmation_id: str, follows: str) -> Choice:
    return Choice("Send back", command_lines.respond_to_card(confirmation_id), (follows,))


def _reject(confirmation_id: str, then: Mapping[str, str]) -> Choice:
    command = command_lines.reject_card(confirmation_id, THEN)
    return Choice("Reject", command, tuple(f"{name}: {follows}" for name, follows in then.items()))
