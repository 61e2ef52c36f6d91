"""Steps of a leg: their planning messages, their records, and the detection of repeated calls."""

import hashlib
from datetime import datetime
from typing import Any

from pydantic import Field

from orchestrator.core.budget import Usage
from orchestrator.core.call_ref import step_label
from orchestrator.core.record import JsonObject, Record
from orchestrator.core.wall import Wall
from orchestrator.json_schema.canonical import canonical_text
from orchestrator.messages.tool_call import PreparedCall, PrepareInput
from orchestrator.planning.models import ANSWER, Dropped, Observation, StepContext, StepDecision
from orchestrator.routing.selection import Selection
from orchestrator.saga.outcome import FollowUp


class KeptMessage(Record):
    """A message to an activity, as the difference from a stored one.

    It shares no field with the messages that it replaces, so that a worker of an earlier release
    rejects it, and a newer worker takes it.
    """

    of_mission: str = Field(description="mission of the stored pieces")
    terms: str = Field(description="key of the complete message of this kind")
    new_terms: dict[str, Any] | None = None
    """The message to store under this key; None: it is stored already."""
    changes: dict[str, Any] = Field(description="fields that differ from the complete message")
    past: str = Field(default="", description="key of the newest stored observations")
    keep_as: str = ""
    """The key under which its observations are to be stored now."""


class PlanStepInput(Record):
    """The planner's input for one step."""

    context: StepContext
    selection: Selection


class PlanStepOutput(Record):
    """The planner's decision; the model preserves the type of the union member."""

    decision: StepDecision
    refusal: str | None = None
    """The reason that the call is not made (its arguments are left out) or that the leg does not
    end yet; the planner reads it."""
    usage: Usage | None = Field(default=None, description="None if no model was asked")
    unusable: str | None = None
    """The reason that no answer of the planner was usable; the step counts as spent."""
    unproved: str = ""
    """Set if no effect or answer proves the summary."""
    follow_ups: tuple[FollowUp, ...] = ()
    """Calls that the last answer makes possible, set if the leg ends."""
    unverified_ids: tuple[str, ...] = ()
    """Ids in the summary that occur in no answer."""
    dropped: tuple[Dropped, ...] = ()
    """Further calls that the planner wanted; none of them is made."""
    conversation: str = ""
    """The key of the stored conversation; empty: none is stored."""


class DiscoverInput(Record):
    """A search for tools that were not forwarded."""

    query: str
    catalog_digest: str
    limit: int = 3
    agent: Wall | None = Field(default=None, description="limits what the searching agent finds")


class DiscoverOutput(Record):
    """Names of the tools found, best first."""

    tools: tuple[str, ...]


class OfferInput(Record):
    """The tools that an agent of one's own is to be offered."""

    catalog_digest: str
    tools: tuple[str, ...] = Field(description="names, with * as wildcard")
    request: str = Field(default="", description="text that selects the tools; empty for all tools")


class OfferedTool(Record):
    """A tool as an agent sees it."""

    name: str = Field(description="name that every model provider accepts")
    tool: str
    description: str
    parameters: JsonObject
    reason: str = Field(default="", description="input that takes the reason; empty for a read")


class OfferOutput(Record):
    """The tools that are offered, best first."""

    tools: tuple[OfferedTool, ...]


class StepRecord(Record):
    """A step of a leg, for people to read."""

    step: int
    part: int = Field(default=0, description="index among the parallel calls of the step")
    step_id: str = Field(default="", description="step of the written workflow that it is of")
    tools_forwarded: tuple[str, ...]
    catalog_size: int
    band: str
    did: str
    outcome: str
    error: str | None = None
    at: datetime | None = None
    usage: Usage | None = None
    """Set on the step's first part; None: no model was asked."""

    @property
    def label(self) -> str:
        """The step number; for concurrent calls 3, 3b, 3c."""
        return step_label(self.step, self.part)

    @property
    def called(self) -> str:
        """The tool that the step called; empty if it called none."""
        verb, _, tool = self.did.partition(" ")
        return tool if verb == "call" else ""


_MOST = 300
"""The most calls whose last answer is stored: each run of the leg carries them."""
_DIGITS = 16


class Repeats(Record):
    """A leg's calls by digest, to detect repetition."""

    last: dict[str, str] = Field(default_factory=dict, description="last answer of each call")
    since: dict[str, int] = Field(default_factory=dict)
    """Equal answers of each call since the last new information."""
    reported: tuple[str, ...] = Field(default=(), description="the planner was warned about these")
    ended_by: str = ""
    """Set if the leg repeats itself after the warning."""

    def afresh(self) -> "Repeats":
        """Return the state after new information that no call gave, such as a person's answer."""
        return self.model_copy(update={"since": {}})

    def after(self, seen: Observation, *, most: int) -> tuple["Repeats", str]:
        """Return the state after a step's observation, and a warning for the planner, if any.

        It comes when a call has had the same outcome `most` times.
        """
        # Either no call at all, which `max_bad_answers` counts, or a call that was deferred.
        if seen.tool == ANSWER or seen.outcome == "dropped":
            return self, ""
        body = seen.body if seen.body_ref is None else seen.body_ref.key
        call = _digest({"tool": seen.tool, "arguments": seen.arguments})
        answer = _digest({"outcome": seen.outcome, "error": seen.error, "body": body})
        did_something = seen.side_effect and seen.outcome in ("succeeded", "unknown")
        is_new = self.last.get(call) != answer or did_something
        others = {name: known for name, known in self.last.items() if name != call}
        last = dict([*others.items(), (call, answer)][-_MOST:])
        since = {call: 1} if is_new else {**self.since, call: self.since.get(call, 0) + 1}
        now = self.model_copy(update={"last": last, "since": since})
        if since[call] < most:
            return now, ""
        named = f"{seen.tool} with the same arguments"
        if seen.outcome == "discovered":
            named = f"the same search for tools ({seen.tool})"
        same = f"{named} came to the same {since[call]} times, with nothing new in between"
        if call in self.reported:
            return now.model_copy(update={"ended_by": f"the leg turns in circles: {same}"}), ""
        sentence = f"{same}: once more ends this part. Do something else, ask the user, or end it"
        return now.model_copy(update={"reported": (*self.reported, call)[-_MOST:]}), sentence


def _digest(value: dict[str, object]) -> str:
    text = canonical_text(value)  # type: ignore[arg-type]
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


class ThinkInput(Record):
    """The input of one step: its context, and the call to prepare."""

    step: StepContext | KeptMessage
    call: PrepareInput | KeptMessage
    """The call to prepare; the planner chooses its tool and arguments."""


class SelectedTools(Record):
    """The tools that the router forwarded for a step."""

    step: int
    tools: tuple[str, ...]
    band: str
    catalog_size: int


class Thought(Record):
    """The outcome of one step."""

    selection: SelectedTools
    planned: PlanStepOutput
    prepared: PreparedCall | None = None
    """The single call that the planner decided on; None: there is none."""
