"""What legs and their mission tell each other of limits that they share, and what a leg keeps."""

from pydantic import Field

from orchestrator.core.limits import Allowance, LimitReached, Used
from orchestrator.core.record import Record


class ShareInput(Record):
    """A leg tells its mission what it has used in all, and asks for its next share, or does not."""

    leg_id: str
    used: Used
    asks: int = Field(default=0, description="how often it has asked; 0: it only tells")
    calls: bool = Field(default=False, description="for a call of a tool, and not for a step")


class ShareOutput(Record):
    """A mission grants a leg a share of its limits, refuses it one, or calls back what it holds."""

    asks: int = Field(default=0, description="which question it answers; 0: none, a call back")
    allowance: Allowance = Field(default_factory=Allowance)
    refusal: LimitReached | None = None


class LegShare(Record):
    """The share of a leg, and what the leg had used when it asked for it."""

    asks: int = 0
    allowance: Allowance | None = Field(default=None, description="None: it has to ask first")
    since: Used = Field(default_factory=Used)
