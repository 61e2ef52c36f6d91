"""The durable part: missions, legs and rollbacks, replayed from their histories for ever."""

from workflows.leg import LegWorkflow
from workflows.mission import MissionWorkflow
from workflows.rollback import RollbackWorkflow
from workflows.sweep import SweepWorkflow

ALL_WORKFLOWS = (MissionWorkflow, LegWorkflow, RollbackWorkflow, SweepWorkflow)

__all__ = ["ALL_WORKFLOWS", "LegWorkflow", "MissionWorkflow", "RollbackWorkflow", "SweepWorkflow"]
