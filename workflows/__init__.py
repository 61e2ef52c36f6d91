"""The durable ring: mission and rollback workflows, deterministic under replay.

    mission_workflow    the goal, from plan to result; plan_talk.py asks about the plan first;
                        running_mission.py is what a new run continues from, mission_display.py
                        what others see
    legs, leg_task      the legs of a mission as tasks of its workflow: think (thinking.py), then
                        act; progress.py holds a leg's state; the legs share mission_budget.py and
                        mission_limits.py
    call                one tool call: approval.py obtains the decision (confirmation.py holds the
                        open card), sending.py records and sends the call
    rollback_workflow   cancels the effects of a mission, newest first
    sweep_workflow      starts the rollbacks that nothing else started
    plan_workflow       previews a plan without running it
    session_workflow    makes the guarded calls of a loop that runs elsewhere
    notices_workflow    announces cards and questions, each by a workflow of its own

They reach activities through running.py only: calls.py has the activities that several modules
need, and each other module those that it alone needs. They publish their state through ui.py.
"""

from orchestrator.workflows.mission_workflow import MissionWorkflow
from orchestrator.workflows.notices_workflow import (
    NoticesWorkflow,
    NoticeWorkflow,
    UpgradedNoticesWorkflow,
    UpgradedNoticeWorkflow,
)
from orchestrator.workflows.plan_workflow import PlanWorkflow
from orchestrator.workflows.rollback_workflow import RollbackWorkflow
from orchestrator.workflows.session_workflow import SessionCallWorkflow, SessionWorkflow
from orchestrator.workflows.sweep_workflow import SweepWorkflow

ALL_WORKFLOWS = (
    MissionWorkflow,
    RollbackWorkflow,
    SweepWorkflow,
    PlanWorkflow,
    SessionWorkflow,
    SessionCallWorkflow,
    NoticesWorkflow,
    NoticeWorkflow,
)

_UPGRADED: dict[type, type] = {
    NoticesWorkflow: UpgradedNoticesWorkflow,
    NoticeWorkflow: UpgradedNoticeWorkflow,
}
WORKFLOWS_OF_BUILDS: tuple[type, ...] = tuple(_UPGRADED.get(one, one) for one in ALL_WORKFLOWS)
"""The same workflows for workers that declare a build; those that never end move between builds."""

__all__ = [
    "ALL_WORKFLOWS",
    "WORKFLOWS_OF_BUILDS",
    "MissionWorkflow",
    "NoticeWorkflow",
    "NoticesWorkflow",
    "PlanWorkflow",
    "RollbackWorkflow",
    "SessionCallWorkflow",
    "SessionWorkflow",
    "SweepWorkflow",
]
