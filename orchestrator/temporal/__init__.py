"""Guarded tools for other people's workflows and agents, on their own workers."""

from orchestrator.temporal.orchestrator_plugin import OrchestratorPlugin
from orchestrator.temporal.read_tools import ReadTools

__all__ = ["OrchestratorPlugin", "ReadTools"]
