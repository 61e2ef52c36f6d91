"""A plan as a model writes it: the one tool that it is shown, and the legs of what it gives."""

from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import Field

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.plan_origin import LegNeed
from orchestrator.core.record import JsonObject, Record
from orchestrator.planning.llm.meta_tools import plain_schema
from orchestrator.planning.models import AgentProfile, LegPlan

MOST_LEGS: Final = 24
PLAN_TOOL: Final = "plan_mission"
PLAN_TOLD: Final = "The legs of the mission: who does which part of the goal, and in which order."
GENERALIST: Final = "generalist"
"""The agent without a preference, where there are no profiles."""

Words = Annotated[str, Field(min_length=1, max_length=2_000)]


class DraftNeed(Record):
    """What a leg waits for."""

    leg: str = Field(description="id of the leg that must be done first")
    what: str = Field(default="", description="what it tells this leg, in a few words")


class DraftLeg(Record):
    """One part of the mission."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$", description="such as 2-hotel")
    goal: Words = Field(
        description="what its agent is told to do: the words that it serves, and nothing made up"
    )
    agent: str
    serves: tuple[Words, ...] = Field(
        min_length=1, description="quotes of the goal, word for word, that this leg carries out"
    )
    needs: tuple[DraftNeed, ...] = Field(
        default=(), description="only what cannot begin before another leg is done"
    )


class DraftPlan(Record):
    """What a model gives to split a goal."""

    legs: tuple[DraftLeg, ...] = Field(min_length=1, max_length=MOST_LEGS)
    asides: tuple[Words, ...] = Field(
        default=(), description="quotes of the goal that ask for nothing, such as a greeting"
    )

    def legs_of(self, agents: Sequence[AgentProfile], catalog: Catalog) -> tuple[LegPlan, ...]:
        """Its legs, each with the profile of its agent.

        Raises:
            ValueError: an agent that there is none of.
        """
        profiles = offered(agents, catalog)
        unknown = [leg for leg in self.legs if leg.agent not in profiles]
        if unknown:
            first = unknown[0]
            raise ValueError(
                f"leg {first.id} is for the agent {first.agent!r}; there are: {', '.join(profiles)}"
            )
        return tuple(_leg(leg, profiles[leg.agent]) for leg in self.legs)


def draft_parameters() -> JsonObject:
    """The input schema of the tool by which a model gives a plan."""
    return plain_schema(DraftPlan, told=True)


def offered(agents: Sequence[AgentProfile], catalog: Catalog) -> dict[str, AgentProfile]:
    """The agents that a plan may name; without profiles, one for each domain and a generalist."""
    if agents:
        return {agent.name: agent for agent in agents}
    domains = sorted({tool.domain for tool in catalog.tools.values() if tool.domain})
    made = {name: AgentProfile(name=name, prefers=(name,)) for name in domains}
    return {**made, GENERALIST: AgentProfile(name=GENERALIST)}


def _leg(draft: DraftLeg, agent: AgentProfile) -> LegPlan:
    return LegPlan(
        leg_id=draft.id,
        goal=" ".join(draft.goal.split()),
        agent=agent,
        depends_on=tuple(dict.fromkeys(need.leg for need in draft.needs)),
        serves=draft.serves,
        needs=tuple(LegNeed(leg_id=need.leg, what=need.what) for need in draft.needs if need.what),
    )
