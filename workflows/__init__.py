"""The durable part: missions, legs and rollbacks, replayed from their histories for ever.

    mission    the goal, from plan to result; purse.py keeps its money
    leg        select, plan, do: progress.py is its state, leg_view.py what others see of it,
               permission.py may a call be made (purse.py; asking.py, at the gate of
               confirmation.py), sending.py makes it, questions.py asks for what is missing
    rollback   undoes what they left
    sweep      starts rollbacks that nobody else did

All of them reach activities through calls.py only; waiting.py and failures.py serve them all.
"""

from workflows.leg import LegWorkflow
from workflows.mission import MissionWorkflow
from workflows.rollback import RollbackWorkflow
from workflows.sweep import SweepWorkflow

ALL_WORKFLOWS = (MissionWorkflow, LegWorkflow, RollbackWorkflow, SweepWorkflow)

__all__ = ["ALL_WORKFLOWS", "LegWorkflow", "MissionWorkflow", "RollbackWorkflow", "SweepWorkflow"]
