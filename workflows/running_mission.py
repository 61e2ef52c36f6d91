"""The state of a mission in one run, shared by its story, its legs and its display."""

from collections.abc import Callable
from datetime import datetime, timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.limits import Used, out_of_time
    from orchestrator.messages.leg import LegInput, LegResult
    from orchestrator.messages.mission import BegunPlan, CarriedMission, MissionInput, MissionStatus
    from orchestrator.messages.mission_policy import CatalogPin
    from orchestrator.planning.models import LegPlan
    from orchestrator.saga.ledger import Ledger
    from orchestrator.saga.orders import Order, covered_orders
    from orchestrator.workflows.again_rules import SameAgainRules
    from orchestrator.workflows.hand_overs import HandOvers
    from orchestrator.workflows.leg_task import SharedByLegs
    from orchestrator.workflows.leg_view import MergedLedger
    from orchestrator.workflows.legs import Legs
    from orchestrator.workflows.mission_budget import MissionBudget
    from orchestrator.workflows.mission_hold import MissionHold
    from orchestrator.workflows.mission_limits import MissionLimits
    from orchestrator.workflows.plan_talk import PlanTalk


class RunningMission:
    """The request, the plan, the legs and their shared objects; a new run continues from it."""

    def __init__(self, mission: MissionInput, changed: Callable[[], None]) -> None:
        """Begin, or continue from the previous run; `changed` is called after each shown change."""
        info = workflow.info()
        # Anybody who may start workflows can claim any state: only a continued run has one.
        carried = mission.carried if info.continued_run_id else None
        self.carried = carried
        self.changed = changed
        self.mission_id = info.workflow_id
        self.request = request = mission.request
        self.started_at = info.start_time if carried is None else carried.started_at
        self.status = MissionStatus.PLANNING
        self.catalog = CatalogPin(digest="", size=0) if carried is None else carried.catalog
        self.plan = BegunPlan(legs=()) if carried is None else carried.plan
        self.deadline = carried.deadline if carried else None
        """As a person raised it."""
        self.ledger: Ledger | None = None
        """The final ledger, once the mission is over or was rolled back."""
        self.error: str | None = None
        """The first error."""
        self.is_cancelled = False
        self.finished_at: datetime | None = None
        self.stalled = ""
        """The reason why the mission waits for state that workers are missing."""
        self.is_winding_down = False
        """True if no leg may begin a step, because a new run is about to continue."""
        self.legs = Legs()
        self.live_ledger = MergedLedger(self.legs.ledgers)
        self.budget = MissionBudget(request.budget)
        self.limits = MissionLimits(
            lambda: {leg_id: leg.limits for leg_id, leg in self.legs.under_way.items()},
            carried.planning if carried else None,
        )
        self.rules = SameAgainRules(carried.again if carried else (), changed)
        self.hand_overs = HandOvers(
            self.mission_id,
            most=request.policy.hand_overs,
            results=lambda: self.legs.results,
            handed=carried.handed if carried else {},
        )
        self.talk = PlanTalk(
            request, show=self.show, draw=changed, began=self.started_at, carried=carried
        )
        self.hold = MissionHold(carried.hold if carried else None, carried.holds if carried else ())
        self.shared = SharedByLegs(
            budget=self.budget,
            limits=self.limits,
            hand_over=lambda asked: self.hand_overs.hand_over(
                asked, self.plan, self.catalog.digest, approved=self.talk.is_approved
            ),
            ledger=self.live_ledger,
            changed=changed,
            rules=self.rules,
            is_winding_down=lambda: self.is_winding_down,
        )
        if carried is None:
            return
        # At once: the first update of this run may refer to the previous run's state.
        self.status = MissionStatus.RUNNING
        self.limits.take_plan(carried.plan.limits, Used())
        for result in carried.results:
            self.keep(result)
        self.budget.resume(carried.taken, carried.overcharges)
        if carried.hold is not None and carried.hold.hold is not None:
            self.status, self.error = MissionStatus.ON_HOLD, carried.hold.hold.error
            self.legs.lose(carried.legs)
        for leg in carried.legs if carried.hold is None else ():
            self.legs.resume(leg, self.shared)

    async def suspend(self) -> CarriedMission:
        """Stop the legs, and return the state from which a new run continues."""
        legs, results = await self.legs.suspend(), self.legs.results
        if (held := self.hold.question) is not None:
            legs = tuple(self.legs.lost.values())
            results = {k: one for k, one in results.items() if k not in self.legs.lost}
        return CarriedMission(
            started_at=self.started_at,
            catalog=self.catalog,
            plan=self.plan,
            goal=self.talk.goal,
            said_at=self.talk.said_at,
            answers=self.talk.answers,
            decisions=self.talk.decisions,
            planning=self.limits.before,
            legs=legs,
            results=tuple(results.values()),
            taken=dict(self.budget.taken),
            overcharges=dict(self.budget.overcharges),
            handed=self.hand_overs.legs,
            hold=held,
            holds=self.hold.records,
            deadline=self.deadline,
            again=self.rules.records,
        )

    def is_ready_for_new_run(self) -> bool:
        """Return True if the server suggests a new run, and nothing is in flight in this one."""
        if workflow.info().is_continue_as_new_suggested():
            self.is_winding_down = True
        at_rest = self.legs.are_at_rest and not self.hand_overs.is_planning
        return self.is_winding_down and at_rest and workflow.all_handlers_finished()

    def show(self, status: MissionStatus) -> None:
        """Move to this status, and show it."""
        self.status = status
        self.changed()

    @property
    def longest(self) -> timedelta:
        """The maximum duration of the mission."""
        limit = self.limits.limits.wall_clock
        deadline = self.deadline or self.request.policy.deadline
        return deadline if limit is None else min(limit, deadline)

    @property
    def late_because(self) -> str:
        """The limit that has ended the mission's time, in words."""
        passed = workflow.now() - self.started_at
        limit = out_of_time(self.limits.limits.wall_clock, passed, of="the mission")
        return "the mission's deadline has passed" if limit is None else str(limit)

    def start_ready(self) -> None:
        """Start each leg whose dependencies have ended; while winding down, the new run does."""
        if self.is_winding_down:
            return
        for leg in self.legs.ready(self.plan):
            self.legs.start(self._terms(leg), self.shared)
        self.changed()

    def keep(self, result: LegResult) -> None:
        """Store the result of a leg that has ended, and settle its share of budget and limits."""
        self.legs.results[result.leg_id] = result
        self.budget.settle(result.leg_id, result.taken)
        self.budget.release(result.leg_id)
        self.limits.record(result.leg_id, result.used)

    def plan_handed_over(self) -> None:
        """Make legs of the hand-overs that are planned."""
        new = tuple(one.leg for one in self.hand_overs.new if one.leg is not None)
        self.hand_overs.new.clear()
        self.plan = self.plan.model_copy(update={"legs": (*self.plan.legs, *new)})

    def _terms(self, leg: LegPlan) -> LegInput:
        request, results = self.request, self.legs.results
        return LegInput(
            mission_id=self.mission_id,
            origin=workflow.info().first_execution_run_id,
            mission_goal=self.talk.goal,
            leg=leg,
            inputs={**request.inputs, **leg.inputs},
            facts=tuple(f for needed in leg.depends_on for f in results[needed].facts),
            outputs_of={
                one.written.workflow_id: results[one.leg_id].outputs
                for one in self.plan.legs
                if one.leg_id in leg.depends_on and one.written is not None
            },
            budget=request.budget,
            policy=request.policy,
            # The goal of a workflow's step has the effects that the workflow orders.
            read_only=request.read_only or (leg.output_schema is not None and not leg.orders),
            observe=request.observe,
            covered=self._covered(leg),
            requester=request.requester,
            limits=self.plan.leg_limits,
            catalog=self.catalog,
            started_at=self.talk.said_at,
        )

    def _covered(self, leg: LegPlan) -> tuple[Order, ...]:
        """Return the orders of a leg that a standing approval may cover."""
        policy = self.request.policy.confirmation
        if leg.handed_over_by:
            asking = next(one for one in self.plan.legs if one.leg_id == leg.handed_over_by)
            return tuple(o for o in leg.orders if o.is_part_of(self._covered(asking)))
        if not self.plan.is_unproven or self.talk.is_approved or policy.unapproved_plans:
            return leg.orders
        orders = {one.leg_id: one.orders for one in self.plan.legs if not one.handed_over_by}
        return covered_orders(orders, self.request.orders).get(leg.leg_id, ())
