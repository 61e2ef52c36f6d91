"""An agent of LangGraph that books: its tools are those of a session, all or nothing."""

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from orchestrator import MissionClient


async def dine(
    client: MissionClient, model: BaseChatModel, saver: BaseCheckpointSaver[str], dinner: str
) -> list[AnyMessage]:
    """Reserve two tables; run again under the same id, it goes on where a crash has left it."""
    session = await client.session(requester="ana@example.com", session_id=dinner)
    tools = await session.tools(["dining_*"])
    thinking = model.bind_tools(tools)

    async def think(state: MessagesState) -> MessagesState:
        return {"messages": [await thinking.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "think")
    agent = graph.compile(checkpointer=saver)

    thread = {"configurable": {"thread_id": dinner}}
    is_new = not (await agent.aget_state(thread)).values
    request = {"messages": [("user", "Reserve two tables in Lisbon for next week")]}
    messages = (await agent.ainvoke(request if is_new else None, thread))["messages"]
    if any(isinstance(one, ToolMessage) and one.status == "error" for one in messages):
        await session.rollback(reason="a call of the agent failed")
    else:
        await session.complete()
    return list(messages)
