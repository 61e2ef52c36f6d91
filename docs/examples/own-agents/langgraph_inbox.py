"""A LangGraph graph that decides the steps of legs about messages."""

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langchain_core.tools import BaseTool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from orchestrator import AgentPlanner, LangGraphAgent, PlannerParts

INSTRUCTIONS = "Find the channel that is meant before you write to one. Be brief."


def chat_model() -> BaseChatModel:
    """Any chat model of LangChain's: this one needs `pip install langchain-openai`."""
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="gpt-5")


def graph(tools: Sequence[BaseTool]) -> Any:
    """The graph of one step: the tools are those of the step, and a call of one ends it."""
    model = chat_model().bind_tools(tools)

    async def think(state: MessagesState) -> dict[str, Any]:
        told = [SystemMessage(INSTRUCTIONS), *state["messages"]]
        return {"messages": [await model.ainvoke(told)]}

    built = StateGraph(MessagesState)
    built.add_node("think", think)
    built.add_node("tools", ToolNode(tools))
    built.add_edge(START, "think")
    built.add_conditional_edges("think", tools_condition)
    built.add_edge("tools", "think")
    return built.compile()


def planner(parts: PlannerParts) -> AgentPlanner:
    """What the `planner` of a profile names, or ORCHESTRATOR_PLANNER for all legs."""
    return AgentPlanner(LangGraphAgent(graph, name="inbox"), default=parts.default)
