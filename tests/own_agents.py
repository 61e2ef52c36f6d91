"""The examples of docs/examples/own-agents, each with a fake model of its own framework."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from orchestrator import PlannerParts, Router, Settings
from orchestrator.core.record import JsonObject
from orchestrator.planning.rules.rule_planner import RulePlanner

if TYPE_CHECKING:
    from agents.testing import ModelStep
    from agents.testing.model import ModelCall

PARTS: Final = PlannerParts(Settings(), (), Router, RulePlanner(Router))
EXAMPLES: Final = Path(__file__).parents[1] / "docs/examples/own-agents"


@dataclass
class Asked:
    """What a fake model was asked, whatever framework asked it."""

    instructions: str
    opening: str
    tools: dict[str, JsonObject]
    results: list[str]
    """What came of the calls before, the oldest first."""


@dataclass
class Reply:
    """What a fake model answers: calls, or a text."""

    calls: Sequence[tuple[str, Any]] = ()
    text: str = ""


Script = Callable[[Asked], Reply]


@dataclass
class Model:
    """A scripted model of any framework, which keeps what it was asked."""

    script: Script
    asked: list[Asked] = field(default_factory=list)

    def reply(self, asked: Asked) -> Reply:
        """The next answer; whatever it raises is trouble of the provider's."""
        self.asked.append(asked)
        return self.script(asked)


def example(name: str) -> ModuleType:
    """A fresh module of an example."""
    spec = spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def pydantic_ai(model: Model) -> Iterator[Any]:
    """The example's planner, over pydantic-ai's own fake model."""

    async def answered(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts = [part for message in messages for part in message.parts]
        asked = Asked(
            info.instructions or "",
            next(str(part.content) for part in parts if isinstance(part, UserPromptPart)),
            {tool.name: tool.parameters_json_schema for tool in info.function_tools},
            [str(part.content) for part in parts if isinstance(part, ToolReturnPart)],
        )
        reply = model.reply(asked)
        said = [TextPart(reply.text)] if reply.text else []
        calls = [ToolCallPart(name, arguments) for name, arguments in reply.calls]
        taken = RequestUsage(input_tokens=100, output_tokens=7)
        return ModelResponse(parts=[*said, *calls], usage=taken)

    module = example("pydantic_ai_inbox")
    with module.agent.override(model=FunctionModel(answered)):
        yield module.planner(PARTS)


@contextmanager
def openai_agents(model: Model) -> Iterator[Any]:
    """The example's planner, over the SDK's own scripted model."""
    # Imported for a second, by the few who need it: collecting tests is no need.
    from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
    from agents.usage import Usage as SdkUsage

    def answered(call: ModelCall) -> ModelStep:
        items: list[Any] = list(call.input)
        asked = Asked(
            "\n".join(
                [call.system_instructions or ""]
                + [item["content"] for item in items if item.get("role") == "system"]
            ),
            next(item["content"] for item in items if item.get("role") == "user"),
            {tool.name: getattr(tool, "params_json_schema", {}) for tool in call.tools},
            [item["output"] for item in items if item.get("type") == "function_call_output"],
        )
        reply = model.reply(asked)
        said = [assistant_message(reply.text)] if reply.text else []
        calls = [
            function_call(name, arguments, call_id=f"c{number}")
            for number, (name, arguments) in enumerate(reply.calls)
        ]
        taken = SdkUsage(requests=1, input_tokens=100, output_tokens=7, total_tokens=107)
        return ModelStep(output=[*said, *calls], usage=taken)

    module = example("openai_agents_inbox")
    module.agent.model = ScriptedModel([ModelStep.respond(answered)] * 50)
    yield module.planner(PARTS)


class FakeChat(BaseChatModel):
    """A chat model of LangChain's that answers by a script."""

    model: Any
    tools: Any = ()

    @property
    def _llm_type(self) -> str:
        return "fake"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        """The same, with tools."""
        return FakeChat(model=self.model, tools=tools)

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        texts = [str(m.content) for m in messages if m.type == "human"]
        asked = Asked(
            "\n".join(str(m.content) for m in messages if isinstance(m, SystemMessage)),
            texts[0],
            {tool.name: tool.args_schema for tool in self.tools},
            [str(m.content) for m in messages if isinstance(m, ToolMessage)],
        )
        reply = self.model.reply(asked)
        good = [(n, c) for n, c in enumerate(reply.calls) if isinstance(c[1], dict)]
        bad = [(n, c) for n, c in enumerate(reply.calls) if not isinstance(c[1], dict)]
        answer = AIMessage(
            reply.text,
            tool_calls=[{"name": c[0], "args": c[1], "id": f"c{n}"} for n, c in good],
            invalid_tool_calls=[
                {"name": c[0], "args": str(c[1]), "id": f"c{n}", "error": None} for n, c in bad
            ],
            usage_metadata={"input_tokens": 100, "output_tokens": 7, "total_tokens": 107},
        )
        return ChatResult(generations=[ChatGeneration(message=answer)])


@contextmanager
def langgraph(model: Model) -> Iterator[Any]:
    """The example's planner, over a fake chat model of LangChain's."""
    module = example("langgraph_inbox")
    module.chat_model = lambda: FakeChat(model=model)  # type: ignore[attr-defined]
    yield module.planner(PARTS)


FRAMEWORKS: Final = {
    "pydantic-ai": pydantic_ai,
    "openai-agents": openai_agents,
    "langgraph": langgraph,
}


def as_json(arguments: Any) -> str:
    """Arguments as a model writes them."""
    return json.dumps(arguments)
