"""What a person can decide on a card: the commands, and what follows from each."""

from collections.abc import Collection
from typing import Final, NamedTuple

_MOST_NAMES: Final = 12

THEN: Final = {
    "replan": "the planner looks for another way; if it finds none, this part fails and all that "
    "the mission did is undone",
    "skip": "this part of the goal is left out, with what depends on it; the rest goes on",
    "undo": "the mission ends, and all that it did is undone",
}
"""What follows a rejection, by its `then`."""


class Choice(NamedTuple):
    """One thing that a person can do."""

    name: str
    command: str
    follows: str


def choices_on(
    confirmation_id: str,
    digest: str,
    inputs: tuple[str, ...] | None,
    personal: Collection[str],
) -> tuple[Choice, ...]:
    """The choices on a card, approval first."""
    confirm = "orchestrator confirm"
    then = "; ".join(f"{name}: {follows}" for name, follows in THEN.items())
    return (
        Choice(
            "Approve",
            f"{confirm} approve {confirmation_id} --digest {digest}",
            "exactly this is sent",
        ),
        Choice(
            "Change",
            f"{confirm} amend {confirmation_id} NAME=VALUE",
            f"another card is shown, to be approved; {_changeable(inputs, personal)}",
        ),
        Choice(
            "Send back",
            f'{confirm} respond {confirmation_id} --text "what you want instead"',
            "the planner looks again with your words, and asks again",
        ),
        Choice(
            "Reject",
            f'{confirm} reject {confirmation_id} --reason "why" --then replan|skip|undo',
            then,
        ),
    )


def _changeable(inputs: tuple[str, ...] | None, personal: Collection[str]) -> str:
    """Which inputs an amendment may name."""
    if inputs is None:
        return "any input can be changed"
    if not inputs:
        return "it takes no input"
    named = [name for name in inputs if name not in personal]
    named += [f"{name} (by its handle)" for name in inputs if name in personal]
    more = f" and {len(named) - _MOST_NAMES} more" if len(named) > _MOST_NAMES else ""
    return f"what can be changed: {', '.join(named[:_MOST_NAMES])}{more}"
