"""A pydantic-ai agent that decides the steps of legs about messages."""

from pydantic_ai import Agent

from orchestrator import AgentPlanner, PlannerParts, PydanticAIAgent

agent = Agent(
    "openai:gpt-5",
    name="inbox",
    instructions="Find the channel that is meant before you write to one. Be brief.",
    defer_model_check=True,
)


def planner(parts: PlannerParts) -> AgentPlanner:
    """What the `planner` of a profile names, or ORCHESTRATOR_PLANNER for all legs."""
    return AgentPlanner(PydanticAIAgent(agent), default=parts.default)
