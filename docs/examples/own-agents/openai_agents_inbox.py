"""An agent of the OpenAI Agents SDK that decides the steps of legs about messages."""

from agents import Agent

from orchestrator import AgentPlanner, OpenAIAgent, PlannerParts

agent = Agent(
    name="inbox",
    model="gpt-5",
    instructions="Find the channel that is meant before you write to one. Be brief.",
)


def planner(parts: PlannerParts) -> AgentPlanner:
    """What the `planner` of a profile names, or ORCHESTRATOR_PLANNER for all legs."""
    return AgentPlanner(OpenAIAgent(agent), default=parts.default)
