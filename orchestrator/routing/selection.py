"""Selections: the tools forwarded to the planner, and the reasons."""

from typing import Final, Literal

from pydantic import Field

from orchestrator.core.record import Record
from orchestrator.core.wall import Wall
from orchestrator.language.intent import IntentFrame

USED: Final = "used"
"""Value of `Selection.embedder` for an embedder that answered."""

Band = Literal["crisp", "moderate", "multi_step", "side_effect", "nothing_fits", "fail_open"]


class RouteContext(Record):
    """The context of a request: goal, known values, earlier calls, and the agent."""

    goal: str = ""
    """The whole mission's goal, when the text is one leg of it."""
    known: tuple[str, ...] = ()
    """Names of the values that the leg has: inputs, facts, earlier answers."""
    last_error: str | None = None
    """The failure of the leg's last tool call."""
    earlier: tuple[str, ...] = ()
    """Names of the tools called before, most recent first: the antecedents of "it"."""
    domains: tuple[str, ...] = ()
    """Domains that the agent prefers: their tools need less evidence."""
    walls: tuple[Wall, ...] = ()
    """The agent's walls: a tool outside one of them is never forwarded."""


class Selection(Record):
    """The tools forwarded at one step, best first."""

    tools: tuple[str, ...]
    k: int = Field(description="number of tools that the band asks for, without prerequisites")
    band: Band
    reason: str
    frame: IntentFrame
    scores: dict[str, float] = Field(
        default_factory=dict, description="fused score of the best candidates, at most 20"
    )
    chances: tuple[float, ...] = Field(
        default=(), description="probability that the best 1, 2, 3 and 4 tools suffice"
    )
    prerequisites: tuple[str, ...] = Field(
        default=(), description="members of `tools` that provide an input of another"
    )
    padding: tuple[str, ...] = Field(
        default=(),
        description="members of `tools` without a matching word, which fill the band's width",
    )
    catalog_size: int
    embedder: str = Field(
        default="", description="'' without one, else 'used', or why it was left out"
    )

    fits: bool = Field(
        default=True, description="whether a tool seems to do what is asked; true after a fail-open"
    )
    fitness: float | None = Field(
        default=None,
        description="how well the tool that fits best does, 0 to 1, comparable between catalogs; "
        "None after a fail-open",
    )

    @property
    def headers(self) -> dict[str, str]:
        """The x-orqen-* trace headers of this selection."""
        routing = "semantic" if self.fits else "nothing_fits"
        if self.band == "fail_open":
            routing = "fail_open"
        headers = {
            "x-orqen-tools-input": str(self.catalog_size),
            "x-orqen-tools-output": str(len(self.tools)),
            "x-orqen-prune-ratio": f"{len(self.tools)}/{self.catalog_size}",
            "x-orqen-routing": routing,
        }
        if self.embedder:
            headers["x-orqen-embedder"] = "used" if self.embedder == USED else "left_out"
        return headers
