"""What a worker's operator allows: its policy, and the keys that decisions are signed with."""

from dataclasses import dataclass, field

from orchestrator.adapters.approval_keys import ApprovalKeys
from orchestrator.confirmation.signatures import PublicKeys
from orchestrator.core.errors import GrantRefused, SignatureRefused
from orchestrator.core.limits import Limits
from orchestrator.messages.begin import BeginInput, check_begin
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.oversight import check_grant_rules, governed
from orchestrator.messages.plan_preview import BegunPlan
from orchestrator.messages.spending_policy import SpendingPolicy
from orchestrator.messages.tool_call import PreparedCall, PrepareInput, ToolCall
from orchestrator.planning.models import MissionPlan


@dataclass(frozen=True)
class Authority:
    """The operator's say over all missions of a worker; by default what any mission has."""

    policy: MissionPolicy = field(default_factory=MissionPolicy)
    keys: ApprovalKeys | None = None

    def check_begin(self, mission: BeginInput) -> None:
        """Refuse a mission that the operator's policy does not let begin.

        Raises:
            PolicyWidened: its own policy allows more than this worker's.
            RequesterMissing: nobody says who asks for it, and the policy goes by that.
        """
        check_begin(mission, self.policy)

    def begun(self, plan: MissionPlan, mission: BeginInput) -> BegunPlan:
        """A plan, and whether the mission's policy or the operator's wants it approved."""
        wanted = mission.policy.plan_first or self.policy.plan_first
        fields = {name: getattr(plan, name) for name in MissionPlan.model_fields}
        return BegunPlan(
            **fields,
            needs_approval=wanted,
            limits=self.limits(mission.policy),
            leg_limits=mission.policy.leg_limits.beside(self.policy.leg_limits),
        )

    def limits(self, missions: MissionPolicy) -> Limits:
        """The limits of a whole mission: its own and the operator's."""
        return missions.limits.beside(self.policy.limits)

    def spending(self, missions: MissionPolicy) -> SpendingPolicy:
        """The rules on spending that hold for a mission: its own and the operator's."""
        return missions.spending.beside(self.policy.spending)

    async def over(self, prepared: PreparedCall, wanted: PrepareInput) -> PreparedCall:
        """A prepared call with what the operator's policy adds to its card.

        Raises:
            ApprovalKeysUnavailable: the keys cannot be had now.
        """
        keys = await self._public_keys() if prepared.card is not None else None
        return governed(prepared, wanted, self.policy, keys)

    async def refusal_of(self, call: ToolCall, card_type: str | None) -> str | None:
        """Why the grant of a call lets nobody send it; None when policy and keys bear it out.

        Args:
            call: with its grant; one without has none to refuse.
            card_type: of its tool; None: the call says what it was asked about as.

        Raises:
            ApprovalKeysUnavailable: the keys cannot be had now.
        """
        if call.grant is None:
            return None
        asked_as, keys = card_type or call.card_type or "", await self._public_keys()
        try:
            check_grant_rules(call, asked_as, self.policy, keys)
        except (GrantRefused, SignatureRefused) as refusal:
            return str(refusal)
        return None

    async def _public_keys(self) -> PublicKeys | None:
        return None if self.keys is None else await self.keys.current()
