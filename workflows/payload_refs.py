"""Refer to parts of a leg that are in the store already, so that no message carries them again.

The history of a step then holds only new data, however long the leg is. The keys come from the
workflow's own random numbers: a replay generates the same keys, and a run after a reset different
ones.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.errors import OBSERVATIONS_UNKEPT, ObservationMissing
    from orchestrator.core.record import JsonObject, Record
    from orchestrator.messages.step import KeptMessage

_OF_OBSERVATIONS: Final = (ObservationMissing.__name__, OBSERVATIONS_UNKEPT)
"""Types of errors for which the leg waits; they are never a failure of the leg."""
_MOST_CHANGED: Final = 2_000
"""Characters of changes against the last whole message, above which a whole one is sent again."""


class PayloadRefs:
    """The messages of one run of a leg, each sent as its changes."""

    def __init__(self) -> None:
        self._whole: dict[str, tuple[str, dict[str, Any]]] = {}
        """By kind of message, the last message that was sent whole, and its key."""

    def message(
        self, message: Record, *, of_mission: str, past: str, keeps: bool = False
    ) -> KeptMessage:
        """Return the message to send in place of a whole one, without the stored observations.

        `past` is the key of the newest stored ones; with `keeps`, the others are stored now.
        """
        fields = message.model_dump(mode="json", exclude_defaults=True)
        kind = type(message).__name__
        key, before = self._whole.get(kind, ("", {}))
        seen = [_bare(one) for one in fields.pop("observations", ())]
        keep_as = new_key(past, seen) if keeps else ""
        changes = {name: value for name, value in fields.items() if before.get(name) != value}
        if at_defaults := before.keys() - fields.keys():
            changes |= message.model_dump(mode="json", include=at_defaults)
        new = None
        if not key or len(str(changes)) > _MOST_CHANGED:
            key, new, changes = new_key(past, seen), fields, {}
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
        """Send the next message of each kind whole, since the last may not have been stored."""
        self._whole.clear()


def new_key(past: str, seen: Sequence[JsonObject]) -> str:
    """Return a key that no other piece has, derived from the leg's observations.

    A server that was restored from an older copy gives a run the same random numbers again, after
    which the run may see other things. Neither the time nor the signals received can distinguish
    the keys: both differ between a run that a query has advanced and its replay, and the keys have
    to be the same.
    """
    lasting = [{name: one[name] for name in sorted(one) if name != "at"} for one in seen]
    content = json.dumps([past, lasting], sort_keys=True)
    return f"{workflow.uuid4()}@{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def of_observations(error: ActivityError) -> bool:
    """Return True if no worker could read or store the leg's observations."""
    cause = error.cause
    return isinstance(cause, ApplicationError) and cause.type in _OF_OBSERVATIONS


def _bare(seen: dict[str, Any]) -> dict[str, Any]:
    """Return an observation without unset fields, and without a body that is stored already."""
    left_out = {"body"} if seen.get("body_ref") else set()
    left_out |= {name for name, value in seen.items() if value is None or value == ""}
    return {name: value for name, value in seen.items() if name not in left_out}
