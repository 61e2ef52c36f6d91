"""The prompt of an agent of one's own: all that it is told for a step, and what it answers.

In no framework's words: an adapter makes its framework's messages and tools of a prompt.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from orchestrator.core.budget import Usage
from orchestrator.core.record import JsonObject


@dataclass(frozen=True)
class PromptTool:
    """A tool of the step; to call it is to propose the call, and nothing is done by it."""

    name: str
    """Of letters, digits, `_` and `-`, as every provider of models takes it."""
    description: str
    parameters: JsonObject
    """A JSON Schema of the arguments."""


@dataclass(frozen=True)
class PastCall:
    """A call that the agent proposed at an earlier step, and what it came to."""

    call_id: str
    tool: str
    arguments: JsonObject
    result: str


@dataclass(frozen=True)
class PastEnding:
    """What the agent said when it took its part for reached, and why it goes on."""

    said: str
    objection: str


Past = PastCall | PastEnding


@dataclass(frozen=True)
class AgentPrompt:
    """All that an agent is told for one step."""

    instructions: str
    """The rules, the instructions of its profile, and the tools that it has no schema of."""
    opening: str
    """The first message of the user: goal, given values, facts of earlier legs."""
    past: tuple[Past, ...]
    tools: tuple[PromptTool, ...]

    def objected(self, answer: "AgentAnswer", objection: str) -> "AgentPrompt":
        """The same, after an answer that cannot be carried out."""
        call = answer.calls[0] if answer.calls else None
        told: Past = (
            PastEnding(answer.text, objection)
            if call is None
            else PastCall(f"objected-{len(self.past)}", call.tool, call.arguments or {}, objection)
        )
        return replace(self, past=(*self.past, told))


@dataclass(frozen=True)
class WantedCall:
    """A call that an agent wants."""

    tool: str
    arguments: JsonObject | None
    """None: what it gives as arguments is no JSON object."""


@dataclass(frozen=True)
class AgentAnswer:
    """What an agent answers to a prompt: calls, or its last word."""

    calls: Sequence[WantedCall] = ()
    text: str = ""
    """Beside calls why it wants them; without any, what its part came to."""
    usage: Usage = field(default_factory=Usage)
