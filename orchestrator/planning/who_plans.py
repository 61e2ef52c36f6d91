"""Who decides the steps of a leg: what its agent's profile says, else its mission, else the worker.

A profile comes first: which provider sees what its agent handles is the decision of whoever runs
the worker, and no mission's.
"""

from collections.abc import Iterable

from orchestrator.planning.models import CHAINING, LLM, AgentProfile, GoalBrief, MissionPlan


def chosen(agent: AgentProfile, brief: GoalBrief) -> AgentProfile:
    """The agent as it handles legs of this mission: what it leaves open, the mission says."""
    if agent.planner not in (None, LLM) or agent.model is not None:
        return agent
    changes = {"planner": agent.planner or brief.planner, "model": brief.model}
    if changes["planner"] == CHAINING:
        changes["model"] = None
    return agent.model_copy(update=changes)


def with_choice(plan: MissionPlan, brief: GoalBrief) -> MissionPlan:
    """The plan, with what the mission says of who decides put into the profiles of its legs."""
    if brief.planner is None and brief.model is None:
        return plan
    legs = tuple(leg.model_copy(update={"agent": chosen(leg.agent, brief)}) for leg in plan.legs)
    return plan.model_copy(update={"legs": legs})


def asks_model(agent: AgentProfile, default_model: str | None) -> bool:
    """Whether a model decides the steps of this agent, where the worker's default is this one."""
    if agent.planner is not None:
        return agent.planner == LLM
    return (agent.model or default_model) is not None


def who_decides(agent: AgentProfile, default_model: str | None = None) -> str:
    """Who decides the steps of this agent, as a person reads it; empty where nothing names it.

    Args:
        agent: as it handles legs of a mission.
        default_model: of the worker, where it is known.
    """
    if asks_model(agent, default_model):
        return agent.model or default_model or "a model"
    return {None: "", CHAINING: "rules"}.get(agent.planner, agent.planner or "")


def own_planners(agents: Iterable[AgentProfile]) -> tuple[str, ...]:
    """The planners of a user's own that these agents name, each once."""
    named = (agent.planner for agent in agents)
    return tuple(dict.fromkeys(one for one in named if one not in (None, CHAINING, LLM)))
