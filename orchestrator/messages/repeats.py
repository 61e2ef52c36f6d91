"""Noticing that a leg turns in circles: the same call, again and again, with the same answer.

A poll whose answer changes is no circle, nor is a look after something was done, or after a person
said something: whatever is new begins the count again. All of it is counted in the workflow, of
digests, so it holds for every planner.
"""

import hashlib

from pydantic import Field

from orchestrator.core.record import Record
from orchestrator.json_schema.canonical import canonical_text
from orchestrator.planning.models import ANSWER, Observation

_MOST = 300
"""Calls whose last answer is known: it travels with each run of the leg."""
_DIGITS = 16


class Repeats(Record):
    """What a leg has tried, by digest, and how often since anything new."""

    last: dict[str, str] = Field(default_factory=dict, description="call to its last answer")
    since: dict[str, int] = Field(
        default_factory=dict, description="how often each call was answered so, nothing new between"
    )
    told: tuple[str, ...] = Field(default=(), description="those that the planner was told of")
    ended_by: str = Field(
        default="", description="why the leg turns in circles; empty: it does not"
    )

    def afresh(self) -> "Repeats":
        """After something new, that no call answered: a person's word, for instance."""
        return self.model_copy(update={"since": {}})

    def after(self, seen: Observation, *, most: int) -> tuple["Repeats", str]:
        """After what a step saw, and what its planner is to be told of it; empty: nothing.

        Args:
            seen: the call, and what came of it.
            most: how often the same may come of the same call before that is told.
        """
        # No call at all, which `max_bad_answers` counts; or one that was told to come later.
        if seen.tool == ANSWER or seen.outcome == "dropped":
            return self, ""
        call, answer = _digest(_call(seen)), _digest(_answer(seen))
        is_new = self.last.get(call) != answer or _did_something(seen)
        others = {name: known for name, known in self.last.items() if name != call}
        last = dict([*others.items(), (call, answer)][-_MOST:])
        since = {call: 1} if is_new else {**self.since, call: self.since.get(call, 0) + 1}
        now = self.model_copy(update={"last": last, "since": since})
        if since[call] < most:
            return now, ""
        same = f"{_named(seen)} came to the same {since[call]} times, with nothing new in between"
        if call in self.told:
            return now.model_copy(update={"ended_by": f"the leg turns in circles: {same}"}), ""
        sentence = f"{same}: once more ends this part. Do something else, ask the user, or end it"
        return now.model_copy(update={"told": (*self.told, call)[-_MOST:]}), sentence


def _call(seen: Observation) -> dict[str, object]:
    return {"tool": seen.tool, "arguments": seen.arguments}


def _answer(seen: Observation) -> dict[str, object]:
    """What came of it, without when; a body that is kept elsewhere is told by its digest."""
    body = seen.body if seen.body_ref is None else seen.body_ref.key
    return {"outcome": seen.outcome, "error": seen.error, "body": body}


def _did_something(seen: Observation) -> bool:
    return seen.side_effect and seen.outcome in ("succeeded", "unknown")


def _named(seen: Observation) -> str:
    if seen.outcome == "discovered":
        return f"the same search for tools ({seen.tool})"
    return f"{seen.tool} with the same arguments"


def _digest(value: dict[str, object]) -> str:
    text = canonical_text(value)  # type: ignore[arg-type]
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
