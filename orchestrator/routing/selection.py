"""What the router answers: the tools forwarded to the planner, and why."""

from typing import Literal

from pydantic import Field

from orchestrator.intent import IntentFrame
from orchestrator.record import Record

Band = Literal["crisp", "moderate", "multi_step", "side_effect", "fail_open"]


class RouteContext(Record):
    """What the router may know beside the request's text."""

    goal: str = ""
    """The whole mission's goal, when the text is one leg of it."""
    known: tuple[str, ...] = ()
    """Names of the values that the leg already holds: inputs, facts, earlier answers."""
    last_error: str | None = None
    """What the last tool call of the leg failed with."""
    domains: tuple[str, ...] = ()
    """The agent's domains; empty when it may use every tool."""


class Selection(Record):
    """The tools forwarded at one step, best first."""

    tools: tuple[str, ...]
    k: int = Field(description="how many the band asked for, prerequisites not counted")
    band: Band
    reason: str
    frame: IntentFrame
    scores: dict[str, float] = Field(
        default_factory=dict, description="fused score of the best candidates, at most 20"
    )
    chances: tuple[float, ...] = Field(
        default=(), description="that the best 1, 2, 3 and 4 tools are all that is needed"
    )
    prerequisites: tuple[str, ...] = Field(
        default=(), description="those of `tools` that are there to feed another"
    )
    catalog_size: int

    @property
    def headers(self) -> dict[str, str]:
        """The x-orqen-* trace headers of this selection."""
        routing = "fail_open" if self.band == "fail_open" else "semantic"
        return {
            "x-orqen-tools-input": str(self.catalog_size),
            "x-orqen-tools-output": str(len(self.tools)),
            "x-orqen-prune-ratio": f"{len(self.tools)}/{self.catalog_size}",
            "x-orqen-routing": routing,
        }
