"""The shape of a path: which things it goes through, and which of them a parameter names."""

import re
from dataclasses import dataclass

from orchestrator.language.inflection import singular
from orchestrator.language.words import name_words

_PARAMETER = re.compile(r"\{([^{}]*)\}")
_ENDING = re.compile(r"(?<=.)\.[A-Za-z]{2,5}$")
"""Of a file, as in `/Messages/{Sid}.json`: it says the format, and nothing of the thing."""


@dataclass(frozen=True)
class PathShape:
    """A path as its segments; a parameter stands for any value."""

    segments: tuple[str, ...]
    parameters: tuple[str, ...]
    """Names, in the order of the path."""

    @classmethod
    def of(cls, path: str) -> "PathShape":
        """Read a path template."""
        bare = _ENDING.sub("", path.partition("?")[0].partition("#")[0].rstrip("/"))
        parameters = tuple(_PARAMETER.findall(bare))
        return cls(tuple(_PARAMETER.sub("{}", bare).split("/")[1:]), parameters)

    @property
    def ends_in_parameter(self) -> bool:
        """Whether it is that of one thing: `/orders/{order_id}`."""
        return bool(self.segments) and self.segments[-1] == "{}"

    @property
    def last(self) -> str:
        """Its last segment; empty of the root."""
        return self.segments[-1] if self.segments else ""

    @property
    def parent(self) -> "PathShape":
        """The path without its last segment."""
        kept = len(self.parameters) - self.last.count("{}")
        return PathShape(self.segments[:-1], self.parameters[:kept])

    @property
    def thing(self) -> tuple[str, ...]:
        """The words of the last segment that names something, in the singular."""
        named = next((s for s in reversed(self.segments) if "{}" not in s), "")
        return tuple(map(singular, name_words(named)))

    @property
    def words(self) -> frozenset[str]:
        """The words of all segments that name something, in the singular."""
        named = (name_words(s) for s in self.segments if "{}" not in s)
        return frozenset(singular(word) for words in named for word in words)
