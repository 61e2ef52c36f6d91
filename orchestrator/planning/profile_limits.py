"""A plan's agents, held to the limits of the worker's profiles that they are called after."""

from collections.abc import Sequence

from orchestrator.planning.models import AgentProfile, LegPlan, MissionPlan


def within_profiles(plan: MissionPlan, agents: Sequence[AgentProfile]) -> MissionPlan:
    """The plan, no agent of it allowed more than the profile of its name."""
    profiles = {agent.name: agent for agent in agents}

    def held(leg: LegPlan) -> LegPlan:
        profile = profiles.get(leg.agent.name)
        if profile is None:
            return leg
        return leg.model_copy(update={"agent": leg.agent.within(profile.leg_limits)})

    return plan.model_copy(update={"legs": tuple(map(held, plan.legs))})
