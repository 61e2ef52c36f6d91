"""Hand over a part of a leg's goal to another agent, as a new leg of the same mission.

Invariant: a mission starts at most as many legs as its policy allows, and hands the same part to
the same agent only once.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.shown_text import markdown_summary
    from orchestrator.messages import names
    from orchestrator.messages.leg import (
        HandedOver,
        HandOverAsked,
        HandOverInput,
        HandOverPlan,
        LegResult,
        LegStatus,
    )
    from orchestrator.planning.models import MissionPlan
    from orchestrator.workflows import running
    from orchestrator.workflows.failures import WORK_FAILURES, first_words

MOST_DEPTH: Final = 3
"""The greatest number of legs in a chain of hand-overs."""
_APPROVED: Final = "the plan was approved as it is, and a hand-over would be another one"

HandOver = Callable[[HandOverAsked], Awaitable[HandedOver]]
"""Makes a leg of a hand-over; the answer comes when the new leg has ended."""


class HandOvers:
    """The hand-overs of one mission, as a map from hand-over id to leg id."""

    def __init__(
        self,
        mission_id: str,
        *,
        most: int,
        results: Callable[[], Mapping[str, LegResult]],
        handed: Mapping[str, str],
    ) -> None:
        """Take the settings that all hand-overs of the mission share."""
        self._most = most
        self._mission_id = mission_id
        self._results = results
        self.legs = dict(handed)
        self.is_planning = 0
        """Number of hand-overs that are being planned."""
        self.new: list[HandOverPlan] = []
        """Hand-overs that are planned, and not yet legs of the mission's plan."""

    async def hand_over(
        self, asked: HandOverAsked, plan: MissionPlan, catalog_digest: str, *, approved: bool
    ) -> HandedOver:
        """Make a leg of a hand-over and wait for its end, or return the reason for a refusal."""
        leg_id = self.legs.get(asked.hand_over_id)
        if leg_id is None:
            refusal = _APPROVED if approved else self._refusal(asked, plan)
            # The goal of a workflow's step is in its plan.
            if refusal and asked.output_schema is None:
                return _refused(refusal)
            leg_id = f"h{len(self.legs) + 1}-{asked.leg_id}"[:64]
            self.legs[asked.hand_over_id] = leg_id
            self.is_planning += 1
            try:
                planned = await running.run(
                    names.PLAN_HAND_OVER,
                    HandOverInput(
                        mission_id=self._mission_id,
                        asked=asked,
                        asking=next(leg for leg in plan.legs if leg.leg_id == asked.leg_id),
                        new_leg_id=leg_id,
                        catalog_digest=catalog_digest,
                    ),
                    result_type=HandOverPlan,
                    summary=markdown_summary(
                        f"plan what is handed over to {asked.agent}: {asked.goal}"
                    ),
                    **running.LOCAL,
                )
            except WORK_FAILURES as error:
                if not isinstance(error, ActivityError) or is_cancelled_exception(error):
                    del self.legs[asked.hand_over_id]
                    raise
                planned = HandOverPlan(refusal=first_words(error))
            finally:
                self.is_planning -= 1
            if planned.leg is None:
                del self.legs[asked.hand_over_id]
                return _refused(planned.refusal)
            self.new.append(planned)
        await workflow.wait_condition(lambda: leg_id in self._results())
        result = self._results()[leg_id]
        return HandedOver(
            outcome="ended",
            leg_id=leg_id,
            status=result.status,
            summary=result.summary,
            why=result.error or "",
            facts=result.facts,
            outputs=result.outputs,
        )

    def _refusal(self, asked: HandOverAsked, plan: MissionPlan) -> str:
        """Return why no leg may be made, by checks that need no profile; empty: allowed."""
        if len(self.legs) >= self._most:
            return f"no more than {self._most} parts of a mission are handed over"
        legs = {leg.leg_id: leg for leg in plan.legs}
        above, depth = legs.get(asked.leg_id), 0
        while above is not None and above.handed_over_by:
            above, depth = legs.get(above.handed_over_by), depth + 1
        if depth >= MOST_DEPTH:
            return f"it was handed on {depth} times already: do it yourself, or give up"
        said = " ".join(asked.goal.casefold().split())
        for leg in plan.legs:
            alike = " ".join(leg.goal.casefold().split()) == said
            if alike and leg.agent.name == asked.agent:
                return f"{asked.agent} has that already, as {leg.leg_id}"
        return ""

    def failed_harmlessly(self, result: LegResult) -> bool:
        """Return True if a handed-over leg failed without effects: the asking leg decides then."""
        if result.leg_id not in self.legs.values() or result.status is not LegStatus.FAILED:
            return False
        has_effect = any(fact.side_effect for fact in result.facts)
        return not (result.ledger.obligations or result.ledger.cancels or has_effect)


def _refused(why: str) -> HandedOver:
    return HandedOver(outcome="refused", why=why)
