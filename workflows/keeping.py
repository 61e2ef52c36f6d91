"""What of a leg its workers keep already, so that no message carries it again.

A step's history then holds what is new of it, however long the leg is. The keys come from the
workflow's own random numbers: a replay gives them again, and a run that was reset gives others.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.errors import ObservationMissing, ObservationsUnkept
    from orchestrator.core.record import JsonObject, Record
    from orchestrator.messages.kept import KeptMessage

PATCH = "kept-observations"
"""Runs that began without it carry all in each message: none of their commands changes."""
_OF_OBSERVATIONS: Final = (ObservationMissing.__name__, ObservationsUnkept.__name__)
"""Types of errors that are no failure of a leg, whatever its work is: it waits."""
_MOST_CHANGED: Final = 2_000
"""Characters of what differs from the message that was sent whole, before one is sent anew."""


class Keeping:
    """The messages of one run of a leg, each told by what is new of it."""

    def __init__(self) -> None:
        self._whole: dict[str, tuple[str, dict[str, Any]]] = {}
        """By kind of message the last that was sent whole, and its key."""

    def message(
        self, message: Record, *, of_mission: str, past: str, keeps: bool = False
    ) -> KeptMessage:
        """What is to be sent in the place of a message.

        Args:
            message: whole, but for the observations that are kept.
            of_mission: whose mission's pieces it names.
            past: the key of the newest observations that are kept.
            keeps: whether its observations are to be kept now, under a key of their own.
        """
        told = message.model_dump(mode="json")
        kind = type(message).__name__
        key, before = self._whole.get(kind, ("", {}))
        seen = [_bare(one) for one in told.pop("observations")]
        keep_as = new_key(past, seen) if keeps else ""
        changes = {name: value for name, value in told.items() if before.get(name) != value}
        new = None
        if not key or len(str(changes)) > _MOST_CHANGED:
            key, new, changes = new_key(past, seen), told, {}
            self._whole[kind] = (key, new)
        return KeptMessage(
            of_mission=of_mission,
            terms=key,
            new_terms=new,
            changes={**changes, "observations": seen},
            past=past,
            keep_as=keep_as,
        )

    def forget(self) -> None:
        """Send the next of each kind whole: whether the last was kept is not known."""
        self._whole.clear()


def new_key(past: str, seen: Sequence[JsonObject]) -> str:
    """A key that no other piece has, which goes by what the leg has seen when it is given.

    A server that was restored from an older copy gives a run the numbers again that it had given,
    and goes on to see other things. Neither the time nor what signals bring tells them apart: a
    run that a query has moved has them otherwise than its replay, and the keys have to be the same.
    """
    lasting = [{name: one[name] for name in sorted(one) if name != "at"} for one in seen]
    told = json.dumps([past, lasting], sort_keys=True)
    return f"{workflow.uuid4()}@{hashlib.sha256(told.encode()).hexdigest()[:16]}"


def of_observations(error: ActivityError) -> bool:
    """Whether no worker could read or keep what the leg has seen."""
    cause = error.cause
    return isinstance(cause, ApplicationError) and cause.type in _OF_OBSERVATIONS


def _bare(seen: dict[str, Any]) -> dict[str, Any]:
    """An observation without what is not set, and without a body that is kept already."""
    left_out = {"body"} if seen["body_ref"] else set()
    left_out |= {name for name, value in seen.items() if value is None or value == ""}
    return {name: value for name, value in seen.items() if name not in left_out}
