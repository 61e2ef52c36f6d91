"""A LangGraph graph as an agent that is run for a step: every tool interrupts, so a call ends it.

Needs the extra `langgraph`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import LLMResult
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.errors import GraphRecursionError
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt

from orchestrator.core.budget import Usage
from orchestrator.core.errors import DecisionInvalid, UsageError
from orchestrator.planning import metering
from orchestrator.planning.frameworks.agent_prompt import (
    AgentAnswer,
    AgentPrompt,
    PastCall,
    PromptTool,
    WantedCall,
)

_INTERRUPTS: Final = "__interrupt__"
MOST_NODES: Final = 12
"""Of one step: a tool node tells a model itself when it calls what is not there."""


class Graph(Protocol):
    """What of a compiled graph is used."""

    nodes: Any

    async def ainvoke(self, input: Any, config: Any = None) -> Any:
        """Run it to its end, or to its first interrupt."""
        ...


class LangGraphAgent:
    """Runs a graph over messages for one step.

    The graph is built for each step, of its tools: each of them interrupts the run, so
    that the first call is what the run comes to. Threads and checkpoints are not used: a run begins
    at the graph's entry, with the calls of earlier steps and their results among its messages.
    """

    def __init__(
        self,
        build: Callable[[Sequence[BaseTool]], Graph],
        *,
        name: str = "langgraph",
        most_nodes: int = MOST_NODES,
    ) -> None:
        """Take what builds the graph.

        Args:
            build: a compiled graph whose state has `messages`, with these tools for its model and
                its tool node. What its nodes do besides is no call of a tool here, and asks nobody.
            name: for errors that people read.
            most_nodes: that may run before the first call, or the end.

        Raises:
            UsageError: the graph has tools of its own.
        """
        self._most_nodes = most_nodes
        self.name = name
        self._build = build
        # With any tool: what a graph lacks, or has of its own, is told when its worker begins.
        self._built([_tool(PromptTool("tools_discover", "Find tools.", {"type": "object"}))])

    async def answer(self, prompt: AgentPrompt) -> AgentAnswer:
        """What the graph calls first, or its last message.

        Raises:
            DecisionInvalid: it ends without a message of its model, runs on and on, or interrupts
                for itself.
            UsageError: it has tools of its own.
        """
        tools = [_tool(tool) for tool in prompt.tools]
        graph = self._built(tools)
        told = list(_messages(prompt))
        taken = _Taken()
        config = {"recursion_limit": self._most_nodes, "callbacks": [taken]}
        try:
            state = await graph.ainvoke({"messages": told}, config)
        except GraphRecursionError as error:
            metering.count(taken.usage)
            raise DecisionInvalid(f"no call in {self._most_nodes} nodes of the graph") from error
        new: list[AnyMessage] = state["messages"][len(told) :]
        usage = taken.usage
        said = next((m for m in reversed(new) if isinstance(m, AIMessage)), None)
        if interrupts := state.get(_INTERRUPTS):
            calls = [_asked(one.value) for one in interrupts]
            return AgentAnswer(calls, "" if said is None else str(said.text), usage)
        if said is None:
            raise DecisionInvalid("the graph ended without a message of its model")
        bad = [WantedCall(call["name"] or "", None) for call in said.invalid_tool_calls]
        return AgentAnswer(bad, str(said.text), usage)

    def _built(self, tools: Sequence[BaseTool]) -> Graph:
        graph = self._build(tools)
        ours = {tool.name for tool in tools}
        for node in graph.nodes.values():
            bound = getattr(node, "bound", None)
            own = set(bound.tools_by_name) - ours if isinstance(bound, ToolNode) else set()
            if own:
                raise UsageError(
                    f"the graph {self.name} has tools of its own ({', '.join(sorted(own))}), which "
                    "would act without a card: mark operations of a document as tools instead"
                )
        return graph


def _tool(tool: PromptTool) -> BaseTool:
    async def propose(**arguments: Any) -> Any:
        return interrupt(WantedCall(tool.name, arguments))

    return StructuredTool.from_function(
        coroutine=propose,
        name=tool.name,
        description=tool.description,
        args_schema=tool.parameters,
        infer_schema=False,
    )


def _asked(value: Any) -> WantedCall:
    if not isinstance(value, WantedCall):
        raise DecisionInvalid("the graph interrupts for itself: call user_ask to ask a person")
    return value


def _messages(prompt: AgentPrompt) -> Iterator[BaseMessage]:
    yield SystemMessage(prompt.instructions)
    yield HumanMessage(prompt.opening)
    for past in prompt.past:
        if isinstance(past, PastCall):
            call = {"name": past.tool, "args": past.arguments, "id": past.call_id}
            yield AIMessage("", tool_calls=[call])
            yield ToolMessage(past.result, tool_call_id=past.call_id, name=past.tool)
        else:
            yield AIMessage(past.said)
            yield HumanMessage(past.objection)


class _Taken(BaseCallbackHandler):
    """What the models of a run tell that they took, whichever node asks them."""

    def __init__(self) -> None:
        self.usage = Usage()

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        """Count one request, also of a model that tells nothing."""
        for answers in response.generations:
            told = getattr(getattr(answers[0], "message", None), "usage_metadata", None) or {}
            cached = (told.get("input_token_details") or {}).get("cache_read", 0)
            reasoning = (told.get("output_token_details") or {}).get("reasoning", 0)
            request = Usage(
                requests=1,
                input_tokens=told.get("input_tokens", 0),
                cached_tokens=cached,
                output_tokens=told.get("output_tokens", 0),
                reasoning_tokens=reasoning,
                unpriced=1,
            )
            self.usage = self.usage.plus(request)
