"""What others see of a mission: its result document, its waits, and its page in the Temporal UI."""

import asyncio
from collections.abc import Callable

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.budget import Usage
    from orchestrator.messages.leg import LegResult, LegStatus, LegWaiting
    from orchestrator.messages.mission import MissionResult, MissionStatus
    from orchestrator.messages.plan_preview import set_aside
    from orchestrator.messages.receipts import proved, unserved_of
    from orchestrator.workflows import ui
    from orchestrator.workflows.mission_page import MissionPage
    from orchestrator.workflows.running_mission import RunningMission

_REACHED = frozenset({MissionStatus.SUCCEEDED, MissionStatus.INCOMPLETE})


class MissionDisplay:
    """Shows a mission in its memo, its search attributes and its page, and notifies readers."""

    def __init__(
        self, mission: RunningMission, observer: Callable[[], Callable[[], None] | None]
    ) -> None:
        """Take the mission, and the reader to call, if any, after each change that was shown."""
        self._mission = mission
        self._observer = observer
        self._is_due = False
        # Its own: a coroutine of a discarded run is closed while no loop runs, or that of another.
        self._loop = asyncio.get_running_loop()
        self._attributes: ui.Searched = (MissionStatus.PLANNING, (), (), ())
        self._waits: dict[str, LegWaiting] = {}
        if mission.carried is not None:
            # The server may have taken over only a part of what the previous run set.
            self._attributes = ui.UNKNOWN
            self._waits = dict.fromkeys(self._all_waiting(), LegWaiting())

    def changed(self) -> None:
        """Show the mission again once the events of this workflow task are handled."""
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._show_if_due)

    def _show_if_due(self) -> None:
        if self._is_due:
            self.show()

    def show(self) -> None:
        """Show the mission as it is now."""
        self._is_due = False
        self._waits = ui.note_waits(self._all_waiting(), before=self._waits)
        under_way = self._mission.legs.under_way
        waiting = {leg_id: leg.progress.waiting for leg_id, leg in under_way.items()}
        page = MissionPage(self.result(), waiting=waiting)
        self._attributes = ui.note_mission(page, before=self._attributes)
        workflow.set_current_details(page.markdown())
        if (observer := self._observer()) is not None:
            observer()

    def result(self) -> MissionResult:
        """Return the current result document; final once the mission is over."""
        mission = self._mission
        request, plan, results = mission.request, mission.plan, mission.legs.all_results()
        ledger = mission.ledger or mission.live_ledger()
        reached = mission.status in _REACHED
        missing = unserved_of(plan, results.values(), ledger) if reached else ()
        rest = LegStatus.WAITING if mission.finished_at is None else LegStatus.CANCELLED
        unstarted = {
            leg.leg_id: LegResult(
                leg_id=leg.leg_id,
                agent=leg.agent.name,
                goal=leg.goal,
                status=rest,
                planned_by=leg.planned_by,
            )
            for leg in plan.legs
            if leg.leg_id not in results
        }
        known = {**unstarted, **results}
        legs = tuple(proved((known[leg.leg_id] for leg in plan.legs), missing))
        return MissionResult(
            mission_id=mission.mission_id,
            goal=request.goal,
            goal_became=mission.talk.goal if mission.talk.goal != request.goal else "",
            requester=request.requester,
            observed=request.observe,
            status=mission.status,
            error=mission.error,
            summary=" ".join(leg.sentence for leg in legs if leg.sentence) if reached else "",
            legs=legs,
            unserved=missing,
            set_aside=set_aside(plan, mission.talk.answers) if reached else (),
            uncovered=plan.uncovered,
            ledger=ledger,
            budget=request.budget,
            usage=Usage.total([mission.limits.before.usage, *(r.usage for r in results.values())]),
            limit=next((leg.limit for leg in legs if leg.limit is not None), None),
            catalog_digest=mission.catalog.digest,
            catalog_size=mission.catalog.size,
            started_at=mission.started_at,
            finished_at=mission.finished_at,
            stopped=mission.is_cancelled,
            plan_made_by=plan.made_by,
            plan_waits=self._own_wait,
            plan_answers=mission.talk.answers,
            plan_decisions=mission.talk.decisions,
            holds=mission.hold.records,
            again=mission.rules.records,
            stalled="" if mission.finished_at else mission.stalled,
        )

    def _all_waiting(self) -> dict[str, LegWaiting]:
        """Return the waits by leg id, with the mission's own wait under an empty id."""
        mission = self._mission
        own = LegWaiting(stalled="" if mission.finished_at else mission.stalled)
        if mission.finished_at is not None or mission.status is MissionStatus.ROLLING_BACK:
            return {"": own} if own.stalled else {}
        own = self._own_wait.model_copy(update={"stalled": own.stalled})
        legs = {k: leg.progress.waiting for k, leg in mission.legs.under_way.items()}
        return {k: one for k, one in {"": own, **legs}.items() if one != LegWaiting()}

    @property
    def _own_wait(self) -> LegWaiting:
        """The question or card of the mission itself: about its plan, or a hold."""
        held = self._mission.hold.question
        return self._mission.talk.waiting if held is None else LegWaiting(question=held)
