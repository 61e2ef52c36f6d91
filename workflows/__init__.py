"""The durable part: missions, legs and rollbacks, replayed from their histories for ever.

    mission_workflow    the goal, from plan to result; reservations.py keeps its money
    leg_workflow        select, plan, do: progress.py is its state, leg_view.py what others see of
                        it, permission.py may a call be made (reservations.py; asking.py, at the
                        gate of confirmation.py), sending.py makes it, questions.py asks for what
                        is missing
    rollback_workflow   undoes what they left
    sweep_workflow      starts rollbacks that nobody else did

All of them reach activities through calls.py only; waiting.py and failures.py serve them all.
"""

from workflows.leg_workflow import LegWorkflow
from workflows.mission_workflow import MissionWorkflow
from workflows.rollback_workflow import RollbackWorkflow
from workflows.sweep_workflow import SweepWorkflow

ALL_WORKFLOWS = (MissionWorkflow, LegWorkflow, RollbackWorkflow, SweepWorkflow)

__all__ = ["ALL_WORKFLOWS", "LegWorkflow", "MissionWorkflow", "RollbackWorkflow", "SweepWorkflow"]
