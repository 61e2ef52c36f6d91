"""Details of failed activities: model trouble, its pause, missing state, and usage so far."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from pydantic import Field

from orchestrator.core.budget import Usage
from orchestrator.core.record import Record

_LONGEST = 400


class ModelTrouble(Record):
    """The reason that no model answered, as the detail of a planner's failure."""

    model: str = Field(default="", description="provider:model; empty if none was chosen yet")
    reason: str = Field(description="a few words, such as `401, the key is not taken`")
    remedy: str = Field(default="", description="the remedy, with the variable to set")
    retry_after: timedelta | None = None

    @property
    def sentence(self) -> str:
        """The trouble in a sentence: `openai:gpt-5: 401, ...; set ...`."""
        named = f"{self.model}: " if self.model else ""
        return f"{named}{self.reason}{f'; {self.remedy}' if self.remedy else ''}"


class ModelPause(Record):
    """A leg's pause while it waits for its model's provider; the leg's effects stand."""

    pause_id: str
    mission_id: str
    leg_id: str
    model: str = Field(default="", description="empty for the worker's default")
    reason: str
    remedy: str = ""
    before: tuple[str, ...] = ()
    """The trouble of each model that was asked before this one, each in a sentence."""
    since: datetime = Field(description="time at which the first request failed")
    attempts: int = Field(default=1, ge=1, description="rounds of requests since then")
    retried_at: datetime | None = None
    """None: not before the deadline."""
    deadline: datetime = Field(description="when the leg is given up and its mission rolled back")

    @property
    def sentence(self) -> str:
        """The pause in a sentence: `waits for the model provider: 401, ...; retried at 14:05`."""
        last = ModelTrouble(model=self.model, reason=self.reason, remedy=self.remedy)
        text = "; then ".join([*self.before, last.sentence])
        return f"waits for the model provider: {text}; {self.when}"

    @property
    def when(self) -> str:
        """The time of the next request and of the deadline, in words."""
        ends = f"given up at {_moment(self.deadline)}"
        if self.retried_at is None:
            return f"not retried by itself before it is {ends}"
        return f"retried at {_moment(self.retried_at)}, {ends}"


ResumeAction = Literal["retry", "change_model", "give_up"]


class ResumeInput(Record):
    """A person's decision on a pause: retry now, change the model, or give up."""

    pause_id: str
    action: ResumeAction = "retry"
    model: str = Field(default="", max_length=_LONGEST, description="provider:model that continues")
    by: str = Field(default="", max_length=_LONGEST)


def resume_action(model: str | None, *, give_up: bool) -> ResumeAction:
    """Return the action for a named model, for giving up, or for neither."""
    if give_up:
        return "give_up"
    return "retry" if model is None else "change_model"


class ModelCheck(Record):
    """A question to a worker whether it can ask a model; the answer holds the problem."""

    model: str
    problem: str = ""


class ModelChange(Record):
    """A change of a leg's model, with its reason."""

    model: str = Field(description="empty for the worker's default")
    why: str
    by: str = Field(default="", description="who decided; empty: the fallback list of the agent")
    at: datetime


class ModelState(Record):
    """The models of a leg: the current one, and the trouble of earlier ones."""

    name: str | None = None
    """Overrides its profile's model; empty: the worker's default."""
    bad_answers: int = 0
    """Steps spent on unusable answers of this model."""
    passed_over: tuple[str, ...] = ()
    """Models that gave too many unusable answers."""
    changes: tuple[ModelChange, ...] = ()


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S %Z}".rstrip()


class UsageSoFar(Record):
    """Usage of all attempts of an activity so far."""

    usage_so_far: Usage
    text: str = Field(default="", description="end of the text that the model is sending")
    attempt: int = Field(default=0, description="the attempt that receives the text")

    @classmethod
    def found_in(cls, details: Iterable[Any]) -> "UsageSoFar | None":
        """Return it from details that were serialized as JSON; None: it is not among them."""
        for detail in details:
            if isinstance(detail, dict) and "usage_so_far" in detail:
                return cls.model_validate(detail)
        return None


MOST_WORKERS: Final = 5
"""Attempts that look for a worker with the missing state before the wait is shown: they take a few
seconds, and none of them is in a history."""


class MissingState(Record):
    """The detail of a failure caused only by missing state: the work is done later."""

    error_type: str = Field(description="type of the error that reported it")
    catalog: str = Field(default="", description="digest of the missing catalog")
    provider: str = Field(default="", description="whose share of a worker's slots is used up")
    mission_id: str = Field(default="", description="mission whose call waits for a slot")
    nothing_sent: bool = True
    """False if an attempt of the call may have reached its provider."""

    @classmethod
    def found_in(cls, details: Iterable[Any]) -> "MissingState | None":
        """Return the missing state in details that were serialized as JSON; None: not found."""
        for detail in details:
            if isinstance(detail, dict) and "error_type" in detail:
                return cls.model_validate(detail)
        return None


class KeyProbe(Record):
    """An empty message that shows whether a worker has the encryption key."""
