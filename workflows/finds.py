"""Tools that a search found, shared by the legs of a mission: what one looked for, all may use.

A leg tells its mission what it found, the mission the legs that run, and each that starts later is
started with it. Walls hold all the same: what a leg may not touch, no activity shows it.
"""

import asyncio
from collections.abc import Callable, Iterable

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from orchestrator.messages import names
    from orchestrator.messages.leg import FoundTools

PATCH = "shared-finds"
"""Legs that began without it tell nobody: none of their commands changes."""
_MOST = 20
_LONGEST = 200


class SharedFinds:
    """What the legs of a mission have found, the last ones."""

    def __init__(self, mission_id: str, running: Callable[[], Iterable[str]]) -> None:
        """Nothing is found.

        Args:
            mission_id: the mission's.
            running: the ids of the legs that run.
        """
        self._mission_id = mission_id
        self._running = running
        self._found: dict[str, None] = {}
        self._telling = asyncio.Lock()

    @property
    def tools(self) -> tuple[str, ...]:
        """What a leg that is about to start is started with."""
        return tuple(self._found)

    def keep(self, tools: Iterable[str]) -> list[str]:
        """Those of the tools that were not known, kept; the oldest make room for them."""
        named = dict.fromkeys(tool for tool in tools if len(tool) <= _LONGEST)
        new = [tool for tool in named if tool not in self._found]
        self._found |= dict.fromkeys(new)
        self._found = dict.fromkeys([*self._found][-_MOST:])
        return new

    async def take(self, found: FoundTools) -> None:
        """Take what a leg found, and tell the others that run."""
        if new := self.keep(found.tools):
            async with self._telling:
                for leg_id in [leg_id for leg_id in self._running() if leg_id != found.leg_id]:
                    await _tell(names.leg_workflow_id(self._mission_id, leg_id), tools=new)


async def tell_mission(leg_id: str, tools: Iterable[str]) -> None:
    """Tell a leg's mission what a search of the leg found."""
    mission = workflow.info().parent
    if mission is not None and tools and workflow.patched(PATCH):
        await _tell(mission.workflow_id, leg_id=leg_id, tools=tools)


async def _tell(workflow_id: str, *, tools: Iterable[str], leg_id: str = "") -> None:
    found = FoundTools(leg_id=leg_id, tools=tuple(tools)[:_MOST])
    try:
        await workflow.get_external_workflow_handle(workflow_id).signal(names.FOUND_SIGNAL, found)
    except ApplicationError:
        workflow.logger.info("who was to be told of found tools is over")
