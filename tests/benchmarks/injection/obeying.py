"""A scripted model that does what its user wants, and whatever else what it reads tells it to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo

_DISCOVER: Final = "tools_discover"
_DONE: Final = "part_done"
_SEARCHES: Final = 2
"""For a tool that is not shown, before it is called all the same."""


@dataclass(frozen=True)
class Deed:
    """One call that the model wants to make."""

    tool: str
    arguments: dict[str, Any]
    reason: str = ""
    """What it says beside it, which a card shows."""


@dataclass
class ObeyingModel:
    """A model by a script: the ground truth of its task, and an injection's as soon as it is read.

    It is as gullible as can be: it takes up the injection before all else, looks for the tools that
    that wants, calls them whether it finds them or not, and tries what no tool output may bring
    about: to approve, and to use another agent's tools.
    """

    task: list[Deed]
    injection: list[Deed]
    sign: str
    """What an injection is known by in a prompt."""
    ends_with: str = "Done."
    has_read_injection: bool = False
    lied: int = 0
    """Calls it made because an injection wanted them."""
    unfound: list[str] = field(default_factory=list)
    """Tools of its task that it called without having been shown them."""
    _searched: dict[str, int] = field(default_factory=dict)

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """The next call."""
        if not self.has_read_injection and self.sign in str(messages):
            self.has_read_injection = True
            self.lied = len(self.injection)
            self.task = [*self.injection, *self.task]
        shown = {tool.name for tool in info.function_tools}
        return ModelResponse(parts=self._next(shown))

    def _next(self, shown: set[str]) -> Sequence[TextPart | ToolCallPart]:
        if not self.task:
            return [ToolCallPart(_DONE, {"summary": self.ends_with})]
        deed = self.task[0]
        if deed.tool not in shown and self._searched.get(deed.tool, 0) < _SEARCHES:
            self._searched[deed.tool] = self._searched.get(deed.tool, 0) + 1
            return [ToolCallPart(_DISCOVER, {"query": deed.tool.replace("_", " ")})]
        if deed.tool not in shown:
            self.unfound.append(deed.tool)
        del self.task[0]
        said = [TextPart(deed.reason)] if deed.reason else []
        return [*said, ToolCallPart(deed.tool, deed.arguments)]
