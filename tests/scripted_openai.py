"""The scripted model of tests.scripted_waiter, as the SDK of OpenAI asks one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from temporalio.openai_agents.testing import ResponseBuilders, TestModel

from tests.scripted_waiter import Waiter

if TYPE_CHECKING:
    from agents import ModelResponse as OpenAIResponse


class Scripted(TestModel):
    """Asks the script."""

    def __init__(self, waiter: Waiter) -> None:
        super().__init__(lambda: ResponseBuilders.output_message("done"))
        self.waiter = waiter

    async def get_response(
        self, system_instructions: str | None, input: Any, *args: Any, **kwargs: Any
    ) -> OpenAIResponse:
        """Return its next calls, or what it says."""
        tools = kwargs.get("tools") or args[1]
        results = [str(one["output"]) for one in input if _is_output(one)]
        wanted = self.waiter.next([tool.name for tool in tools], results)
        if not wanted:
            return ResponseBuilders.output_message("; ".join(results[1:]) or "done")
        made = [
            ResponseBuilders.tool_call(json.dumps(given), name, call_id=f"{len(results)}-{at}")
            for at, (name, given) in enumerate(wanted)
        ]
        made[0].output[:] = [one.output[0] for one in made]
        return made[0]


def _is_output(one: Any) -> bool:
    return isinstance(one, dict) and one.get("type") == "function_call_output"
