"""The wall of an agent: the tools that the agent may use, by their names and domains."""

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import lru_cache
from typing import Final

from orchestrator.core.record import Record

_TOLD: Final = 6
"""Maximum number of domains or tools that a refusal lists."""


class Wall(Record):
    """The tools that an agent's profile allows; it travels with every call of that agent.

    A tool is inside if its domain or its name is listed. If nothing is listed, every tool is
    inside. Matching is case-sensitive.
    """

    agent: str
    domains: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    """Names, in which `*` stands for any text and `?` for one character."""

    @property
    def is_open(self) -> bool:
        """True if every tool is inside."""
        return not self.domains and not self.tools

    def admits(self, tool: str, domain: str) -> bool:
        """Return True if a tool of that name and domain is inside."""
        if self.is_open or domain in self.domains:
            return True
        return bool(self.tools) and _names(self.tools).match(tool) is not None

    def refusal(self, tool: str) -> str:
        """Return the reason why a tool outside the wall is not called, for the planner."""
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
    """Return True if a tool is inside all of these walls; True without walls."""
    return all(wall.admits(tool, domain) for wall in walls)


@lru_cache(maxsize=256)
def _names(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return one pattern for whole names that match any of these, in linear time.

    A bracket is literal: only the two documented wildcards have a meaning.
    """
    return re.compile("|".join(translate(one.replace("[", "[[]")) for one in patterns))


def _listed(names: tuple[str, ...]) -> str:
    rest = len(names) - _TOLD
    return ", ".join(names[:_TOLD]) + (f" and {rest} more" if rest > 0 else "")
