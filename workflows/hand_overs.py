"""Hand-overs: a leg has another agent do a part of its goal, as a new leg of its mission.

Invariant: a leg that hands over waits for one answer of its mission; its mission starts no more
legs than its policy says, and the same part is handed to the same agent once.
"""

from collections.abc import Awaitable, Callable, Collection
from typing import Final

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, ChildWorkflowError

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.record import JsonObject
    from orchestrator.messages import names
    from orchestrator.messages.hand_over import (
        HandedOver,
        HandOverAsked,
        HandOverPlan,
    )
    from orchestrator.messages.leg import LegResult, LegStatus
    from orchestrator.messages.replanned import has_consequence
    from orchestrator.planning.models import HAND_OVER, CallTool, HandOver, MissionPlan
    from orchestrator.saga.orders import left_to_do
    from workflows.failures import first_words
    from workflows.leg_view import effects_of_leg
    from workflows.progress import Progress

MOST_DEPTH: Final = 3
"""Legs that were handed over one by the other, in a row."""


# -- in the leg that hands over -------------------------------------------------------------------


class Handing:
    """The open hand-over of one leg; at most one."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._open: HandOverAsked | None = None
        self._answer: HandedOver | None = None

    @property
    def open(self) -> list[HandOverAsked]:
        """What it asks its mission for; nothing when it asks for nothing."""
        return [] if self._open is None else [self._open]

    def take(self, answer: HandedOver) -> None:
        """Take the mission's answer; one to something else is passed over."""
        if self._open is not None and answer.hand_over_id == self._open.hand_over_id:
            self._answer = answer

    async def hand_over(self, wanted: HandOver) -> None:
        """Have it done, and keep what came of it for the next step."""
        leg = self._progress.leg
        asked = HandOverAsked(
            hand_over_id=leg.call_id,
            leg_id=leg.leg.leg_id,
            agent=wanted.agent,
            goal=wanted.goal,
            orders=left_to_do(leg.leg.orders, effects_of_leg(leg)),
        )
        self._note(wanted, await self._asked(asked))

    async def _asked(self, asked: HandOverAsked) -> HandedOver:
        parent = workflow.info().parent
        assert parent is not None, "a leg has a mission"
        self._open, self._answer = asked, None
        mission = workflow.get_external_workflow_handle(parent.workflow_id)
        try:
            await mission.signal(names.HAND_OVER_SIGNAL, asked)
            await workflow.wait_condition(lambda: self._answer is not None)
        finally:
            self._open = None
        assert self._answer is not None
        return self._answer

    def _note(self, wanted: HandOver, answer: HandedOver) -> None:
        told: JsonObject = {"agent": wanted.agent, "goal": wanted.goal, "leg": answer.leg_id}
        call = CallTool(tool=HAND_OVER, arguments=told)
        did, ended = f"hand over to {wanted.agent}", answer.status is LegStatus.SUCCEEDED
        if answer.came_to == "ended":
            self._progress.learn_facts(answer.leg_id, answer.facts)
        if ended:
            self._progress.observe(call, outcome="handed_over", body={"summary": answer.summary})
            self._progress.record(did, "done")
            return
        self._progress.observe(call, outcome="refused", error=answer.why)
        self._progress.record(did, "refused", answer.why)


# -- in the mission -------------------------------------------------------------------------------


class HandOvers:
    """The hand-overs of one mission: each becomes a leg, and is answered when that has ended."""

    def __init__(
        self,
        mission_id: str,
        *,
        most: int,
        plan: Callable[[HandOverAsked, str], Awaitable[HandOverPlan]],
        running: Callable[[], Collection[str]],
    ) -> None:
        """Take what holds for them all.

        Args:
            mission_id: the mission's.
            most: how many there may be.
            plan: makes a leg of one, under the id of the new leg.
            running: the ids of the legs that run.
        """
        self._mission_id = mission_id
        self._most = most
        self._plan = plan
        self._running = running
        self._count = 0
        self._by_leg: dict[str, HandOverAsked] = {}
        self._seen: dict[str, HandOverAsked] = {}
        self.new: list[HandOverPlan] = []
        """Those that are planned, and not yet legs of the mission's plan."""

    async def take(self, asked: HandOverAsked, plan: MissionPlan, *, approved: bool) -> None:
        """Plan what a leg hands over, or answer why it is not done.

        Args:
            asked: by whoever sent the signal.
            plan: the mission's as it stands.
            approved: somebody has approved that plan, and no other.
        """
        if asked.leg_id not in self._running() or self._seen.get(asked.hand_over_id) == asked:
            return
        self._seen[asked.hand_over_id] = asked
        refusal = _APPROVED if approved else self._refusal(asked, plan)
        if refusal:
            await self._tell(asked, came_to="refused", why=refusal)
            return
        self._count += 1
        leg_id = f"h{self._count}-{asked.leg_id}"[:64]
        self._by_leg[leg_id] = asked
        try:
            planned = await self._plan(asked, leg_id)
        except ActivityError as error:
            planned = HandOverPlan(refusal=first_words(error))
        if planned.leg is None:
            del self._by_leg[leg_id]
            await self._tell(asked, came_to="refused", why=planned.refusal)
        elif asked.leg_id in self._running():
            self.new.append(planned)

    def _refusal(self, asked: HandOverAsked, plan: MissionPlan) -> str:
        """Why it becomes no leg, as far as that needs no profile; empty: it may."""
        if len(self._by_leg) >= self._most:
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

    async def ended(self, result: LegResult) -> None:
        """Answer the leg that handed a leg over, when that one has ended."""
        asked = self._by_leg.get(result.leg_id)
        if asked is None:
            return
        await self._tell(
            asked,
            came_to="ended",
            leg_id=result.leg_id,
            status=result.status,
            summary=result.summary,
            why=result.error or "",
            facts=result.facts,
        )

    def failed_harmlessly(self, leg_id: str, error: BaseException) -> LegResult | None:
        """The result of a handed-over leg that failed and has left nothing; None otherwise.

        Whoever handed it over is told, and decides what to do without it.
        """
        if leg_id not in self._by_leg:
            return None
        result = failed_result(error)
        return result if result is not None and not has_consequence(result) else None

    async def _tell(self, asked: HandOverAsked, **answer: object) -> None:
        told = HandedOver.model_validate({"hand_over_id": asked.hand_over_id, **answer})
        leg = names.leg_workflow_id(self._mission_id, asked.leg_id)
        try:
            handle = workflow.get_external_workflow_handle(leg)
            await handle.signal(names.HANDED_OVER_SIGNAL, told)
        except ApplicationError:
            workflow.logger.info("the leg that handed a part over has ended")


_APPROVED: Final = "the plan was approved as it is, and a hand-over would be another one"


def failed_result(error: BaseException) -> LegResult | None:
    """The result that a leg failed with; None where it ended otherwise."""
    cause = error.cause if isinstance(error, ChildWorkflowError) else None
    if not isinstance(cause, ApplicationError) or cause.type != names.LEG_FAILED:
        return None
    return LegResult.model_validate(cause.details[0]) if cause.details else None
