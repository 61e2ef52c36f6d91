"""What a person can decide on a card: the commands, and what follows from each."""

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
    follows: tuple[str, ...]


def choices_on(
    confirmation_id: str, digest: str, *, changeable: tuple[str, ...] | None
) -> tuple[Choice, ...]:
    """The choices on a card, approval first; `changeable` are the inputs, None for any."""
    confirm = "orchestrator confirm"
    return (
        Choice(
            "Approve",
            f"{confirm} approve {confirmation_id} --digest {digest}",
            ("exactly this is sent",),
        ),
        Choice(
            "Change",
            f"{confirm} amend {confirmation_id} NAME=VALUE",
            (f"{_names(changeable)}; another card is shown, to be approved",),
        ),
        Choice(
            "Send back",
            f'{confirm} respond {confirmation_id} --text "what you want instead"',
            ("the planner looks again with your words, and asks again",),
        ),
        Choice(
            "Reject",
            f'{confirm} reject {confirmation_id} --reason "why" --then {"|".join(THEN)}',
            tuple(f"{name}: {follows}" for name, follows in THEN.items()),
        ),
    )


def _names(changeable: tuple[str, ...] | None) -> str:
    """Which inputs an amendment may name."""
    if changeable is None:
        return "any input can be changed"
    more = len(changeable) - _MOST_NAMES
    rest = f" and {more} more" if more > 0 else ""
    return f"of {', '.join(changeable[:_MOST_NAMES]) or 'nothing'}{rest}"
