"""Holds calls to the walls of their agents, and counts those that are refused."""

from orchestrator.adapters.telemetry.instruments import (
    RefusedAt,
    Telemetry,
    count_refusal,
    default_telemetry,
)
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import OutsideWall
from orchestrator.core.wall import Wall
from orchestrator.planning.walls import Walls


class WallGuard:
    """The walls of a worker, and where it counts what they kept out."""

    def __init__(self, walls: Walls | None = None, telemetry: Telemetry | None = None) -> None:
        """Take the worker's; without any, each call is held to what travels with it."""
        self.walls = walls or Walls()
        self._telemetry = telemetry or default_telemetry()

    def refusal(self, agent: Wall | None, tool: Tool, *, at: RefusedAt) -> str | None:
        """Why a call is not made; None when its agent may touch the tool."""
        try:
            self.walls.check(agent, tool)
        except OutsideWall as error:
            self.count(at)
            return str(error)
        return None

    def count(self, at: RefusedAt) -> None:
        """Count one call that was refused."""
        count_refusal(self._telemetry, at)
