"""Trouble with the model that plans a leg: what a planner tells of it, and the pause that follows.

Nothing of it holds what a provider wrote: that may quote a prompt or a key.
"""

from datetime import datetime, timedelta
from typing import Literal

from pydantic import Field

from orchestrator.core.record import Record

_LONGEST = 400


class ModelTrouble(Record):
    """Why no model answered: the details of the failure of a planner."""

    model: str = Field(default="", description="provider:model; empty: none was chosen yet")
    reason: str = Field(description="in a few words, such as `401, the key is not taken`")
    remedy: str = Field(default="", description="what helps, with the variable to set")
    retry_after: timedelta | None = Field(
        default=None, description="as the provider asks to wait; None: it does not say"
    )

    @property
    def told(self) -> str:
        """Which model, why not, and what helps: `openai:gpt-5: 401, ...; set ...`."""
        named = f"{self.model}: " if self.model else ""
        return f"{named}{self.reason}{f'; {self.remedy}' if self.remedy else ''}"


class ModelPause(Record):
    """A leg that waits for the provider of its model: nothing that it did is undone meanwhile."""

    pause_id: str
    mission_id: str
    leg_id: str
    model: str = Field(default="", description="empty: the default of the worker")
    reason: str
    remedy: str = ""
    before: tuple[str, ...] = Field(
        default=(), description="the trouble of each model that was asked before it, in a sentence"
    )
    since: datetime = Field(description="when the first request came to nothing")
    attempts: int = Field(default=1, ge=1, description="how often it was asked since, in rounds")
    retried_at: datetime | None = Field(
        default=None, description="when it is asked again; None: not before the deadline"
    )
    deadline: datetime = Field(description="when the leg is given up, and its mission rolled back")

    @property
    def told(self) -> str:
        """All of it in a sentence: `waits for the model provider: 401, ...; retried at 14:05`."""
        last = ModelTrouble(model=self.model, reason=self.reason, remedy=self.remedy)
        told = "; then ".join([*self.before, last.told])
        return f"waits for the model provider: {told}; {self.when}"

    @property
    def when(self) -> str:
        """When it is asked again, and when it is given up."""
        ends = f"given up at {_moment(self.deadline)}"
        if self.retried_at is None:
            return f"not retried by itself before it is {ends}"
        return f"retried at {_moment(self.retried_at)}, {ends}"


ResumeAction = Literal["retry", "change_model", "give_up"]


class ResumeInput(Record):
    """What a person does about a pause: retry now, go on with another model, or give up."""

    pause_id: str
    action: ResumeAction = "retry"
    model: str = Field(default="", max_length=_LONGEST, description="provider:model to go on with")
    by: str = Field(default="", max_length=_LONGEST)


def resume_action(model: str | None, *, give_up: bool) -> ResumeAction:
    """What a person wants who names a model, or gives up, or neither."""
    if give_up:
        return "give_up"
    return "retry" if model is None else "change_model"


class ModelCheck(Record):
    """Whether a worker could ask a model; a worker answers with the problem, if there is one."""

    model: str
    problem: str = ""


class ModelChange(Record):
    """That a leg goes on with another model than before, and why."""

    model: str = Field(description="empty: the default of the worker")
    why: str
    by: str = Field(default="", description="who decided; empty: the list of its agent's profile")
    at: datetime


class ModelState(Record):
    """What a leg keeps about its models: which it asks, and what came of those before."""

    name: str | None = Field(
        default=None, description="in place of the one of its profile; empty: the worker's default"
    )
    bad_answers: int = Field(
        default=0, description="steps spent on answers of this model that were of no use"
    )
    passed_over: tuple[str, ...] = Field(
        default=(), description="models that gave too many such answers"
    )
    questions: int = Field(default=0, description="how often a person was asked what follows")
    changes: tuple[ModelChange, ...] = ()


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S %Z}".rstrip()
