"""An agent of the OpenAI Agents SDK that decides the steps of legs about messages."""

from agents import Agent

from orchestrator import AgentPlanner, OpenAIAgent, PlannerParts

agent = Agent(
    name="inbox",
    model="gpt-5",
    instructions="Find the channel that is meant before you write to one. Be brief.",
)


def planner(parts: PlannerParts) -> AgentPlanner:
    """What the profile's `planner` names."""
    return AgentPlanner(OpenAIAgent(agent))
