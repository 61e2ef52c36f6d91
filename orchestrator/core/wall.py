"""The wall of an agent: which tools it may touch, by their names and domains."""

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import lru_cache
from typing import Final

from orchestrator.core.record import Record

_TOLD: Final = 6
"""How many domains or tools a refusal lists."""


class Wall(Record):
    """What the profile of an agent lets it touch; it travels with every call of that agent.

    A tool is inside when its domain is listed, or its name: either is enough. With nothing listed
    every tool is. Case counts.
    """

    agent: str
    domains: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    """Names, in which `*` stands for any text and `?` for one character."""

    @property
    def is_open(self) -> bool:
        """Whether every tool is inside."""
        return not self.domains and not self.tools

    def admits(self, tool: str, domain: str) -> bool:
        """Whether a tool of that name and domain is inside."""
        if self.is_open or domain in self.domains:
            return True
        return bool(self.tools) and _names(self.tools).match(tool) is not None

    def refusal(self, tool: str) -> str:
        """Why a tool that is outside is not called, for whoever planned the call."""
        inside = [
            f"{what} {_listed(names)}"
            for what, names in (("the domains", self.domains), ("the tools", self.tools))
            if names
        ]
        return (
            f"{tool} is not for the agent {self.agent}, whose profile allows only "
            f"{' and '.join(inside)}; nothing was sent: do without it"
        )


def admitted(walls: Iterable[Wall], tool: str, domain: str) -> bool:
    """Whether a tool is inside all of these walls; it is when there are none."""
    return all(wall.admits(tool, domain) for wall in walls)


@lru_cache(maxsize=256)
def _names(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """What the names are that fit one of the patterns: whole, and in no more time than they take.

    A bracket is a bracket: nothing but the two signs that are documented stands for more.
    """
    return re.compile("|".join(translate(one.replace("[", "[[]")) for one in patterns))


def _listed(names: tuple[str, ...]) -> str:
    rest = len(names) - _TOLD
    return ", ".join(names[:_TOLD]) + (f" and {rest} more" if rest > 0 else "")
