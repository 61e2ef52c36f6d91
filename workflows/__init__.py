"""The durable part: missions, legs and rollbacks, replayed from their histories for ever.

    mission_workflow    the goal, from plan to result; plan_talk.py asks about the plan first, and
                        reservations.py keeps its budget
    leg_workflow        select, plan, do: progress.py is its state, leg_view.py what others see of
                        it; call.py makes a call, which reservations.py pays for, approval.py has
                        decided (confirmation.py holds the open card) and sending.py sends;
                        questions.py asks for what is missing
    plan_workflow       a plan that is only shown
    rollback_workflow   takes back what they left
    scheduled_mission   starts the mission that a schedule has due, and sees its end
    sweep_workflow      starts rollbacks that nobody else did

All of them reach activities through calls.py only, and show themselves through ui.py; waiting.py
and failures.py serve them all.
"""

from workflows.leg_workflow import LegWorkflow
from workflows.mission_workflow import MissionWorkflow
from workflows.plan_workflow import PlanWorkflow
from workflows.rollback_workflow import RollbackWorkflow
from workflows.scheduled_mission import ScheduledMissionWorkflow
from workflows.sweep_workflow import SweepWorkflow

ALL_WORKFLOWS = (
    MissionWorkflow,
    LegWorkflow,
    RollbackWorkflow,
    SweepWorkflow,
    PlanWorkflow,
    ScheduledMissionWorkflow,
)

__all__ = [
    "ALL_WORKFLOWS",
    "LegWorkflow",
    "MissionWorkflow",
    "PlanWorkflow",
    "RollbackWorkflow",
    "ScheduledMissionWorkflow",
    "SweepWorkflow",
]
