"""The durable ring: mission and rollback workflows, deterministic under replay.

    mission_workflow    the goal, from plan to result; plan_talk.py asks about the plan first
    legs, leg_task      the legs of a mission as tasks of its workflow: think (thinking.py), then
                        act; progress.py holds a leg's state; the legs share mission_budget.py and
                        mission_limits.py
    call                one tool call: approval.py obtains the decision (confirmation.py holds the
                        open card), sending.py records and sends the call
    rollback_workflow   cancels the effects of a mission, newest first
    sweep_workflow      starts the rollbacks that nothing else started
    plan_workflow       previews a plan without running it
    session_workflow    makes the guarded calls of a loop that runs elsewhere
    scheduled_mission   starts the mission that is due on a schedule and waits for its end

All of them reach activities through calls.py only, and publish their state through ui.py.
"""

from orchestrator.workflows.mission_workflow import MissionWorkflow
from orchestrator.workflows.plan_workflow import PlanWorkflow
from orchestrator.workflows.rollback_workflow import RollbackWorkflow
from orchestrator.workflows.scheduled_mission import ScheduledMissionWorkflow
from orchestrator.workflows.session_workflow import SessionCallWorkflow, SessionWorkflow
from orchestrator.workflows.sweep_workflow import SweepWorkflow

ALL_WORKFLOWS = (
    MissionWorkflow,
    RollbackWorkflow,
    SweepWorkflow,
    PlanWorkflow,
    ScheduledMissionWorkflow,
    SessionWorkflow,
    SessionCallWorkflow,
)

__all__ = [
    "ALL_WORKFLOWS",
    "MissionWorkflow",
    "PlanWorkflow",
    "RollbackWorkflow",
    "ScheduledMissionWorkflow",
    "SessionCallWorkflow",
    "SessionWorkflow",
    "SweepWorkflow",
]
