"""The beginning of a mission: what a worker is asked to plan, and under which policy."""

from pydantic import Field

from orchestrator.core.errors import RequesterMissing
from orchestrator.core.limits import Used
from orchestrator.messages.mission_policy import MissionPolicy, check_not_widened
from orchestrator.messages.new_requests import check_new
from orchestrator.planning.models import GoalBrief


class BeginInput(GoalBrief):
    """A goal to split, and what its mission may do before a worker takes it on."""

    policy: MissionPolicy = Field(default_factory=MissionPolicy)
    requester: str = ""
    used: Used = Field(
        default_factory=Used, description="what its mission has used up until it is planned"
    )

    @property
    def brief(self) -> GoalBrief:
        """What its planner is told of it."""
        return GoalBrief.model_validate(self.model_dump(include=set(GoalBrief.model_fields)))


def check_begin(mission: BeginInput, workers: MissionPolicy) -> None:
    """Refuse a mission that the worker's policy does not let begin.

    Raises:
        PolicyWidened: its own policy allows more than the worker's.
        RequesterMissing: nobody says who asks for it, and one of the policies goes by that.
        UsageError: it says nothing, or would be over before it begins: no client of ours sends it.
    """
    check_new(mission.goal, mission.policy)
    check_not_widened(mission.policy, workers)
    rules = (mission.policy.confirmation, workers.confirmation)
    if not mission.requester.strip() and not all(rule.requester_may_approve for rule in rules):
        raise RequesterMissing(
            "who asks for a mission may not approve its calls here: say who asks "
            "(orchestrator mission start --requester NAME)"
        )
