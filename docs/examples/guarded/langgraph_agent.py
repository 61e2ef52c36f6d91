"""An agent of LangGraph that books with the tools of a session; each consequence has a card."""

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from orchestrator import MissionClient


async def run(
    client: MissionClient, model: BaseChatModel, saver: BaseCheckpointSaver[str], trip: str
) -> list[AnyMessage]:
    """Reserve a table; run again with the same id after a crash, it goes on where it was."""
    session = await client.session(requester="ana@example.com", session_id=trip)
    tools = await session.tools(["dining_*"])
    ask = model.bind_tools(tools)

    async def decide(state: MessagesState) -> MessagesState:
        return {"messages": [await ask.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("decide", decide)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "decide")
    graph.add_conditional_edges("decide", tools_condition)
    graph.add_edge("tools", "decide")
    agent = graph.compile(checkpointer=saver)

    thread = {"configurable": {"thread_id": trip}}
    is_new = not (await agent.aget_state(thread)).values
    request = {"messages": [("user", "Reserve two tables in Lisbon for next week")]}
    try:
        end = await agent.ainvoke(request if is_new else None, thread)
    except Exception:
        await session.rollback(reason="the agent failed")
        raise
    await session.complete()
    return list(end["messages"])
