"""Durable multi-agent missions over OpenAPI tools, with confirmation and automatic rollback.

The public names, each imported from its module when it is first used:

    missions    MissionClient starts a MissionRequest, with a MissionPolicy and a budget in Money;
                its MissionHandle shows each ConfirmationCard and, at the end, the MissionResult
                with its MissionStatus
    decisions   sign_decision proves whose one is, with a SigningKey, over its decision_claims
    errors      OrchestratorError is the base of all; the others are in `orchestrator.core.errors`
    tools       Catalog compiles OpenAPI documents to Tools; Router chooses a Selection of them;
                tool makes one of an async Python function, which raises Rejected
    workers     run_worker serves missions, as its Settings say
    planners    Planner is the protocol: a GoalBrief becomes a MissionPlan, one LegPlan for each
                AgentProfile that has work; a StepContext with its Selection becomes a StepDecision,
                which is CallTool, DiscoverTools, AskUser, Finish or GiveUp, or a PlannedStep that
                says what deciding it took; PlannerParts is what the factory of one is given
    workflows   ToolSaga makes guarded calls in a workflow of one's own, with a SagaState between
                two runs of it; one that fails raises ToolCallFailed. A worker serves it with an
                OrchestratorPlugin
    loops       MissionClient.session gives a SessionHandle: guarded calls of a loop that runs
                anywhere; its end is a SessionResult
    agents      ReadTools are for an agent without a workflow; in one, ToolSaga has tools for agents
    pruning     prune leaves those tools of a model's request that fit it; PruningTransport and
                AsyncPruningTransport do so inside of an httpx client
    embedders   Embedder is the protocol: texts become vectors, for the Router
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.catalog.catalog import Catalog as Catalog
    from orchestrator.catalog.python_functions import Rejected as Rejected
    from orchestrator.catalog.python_functions import tool as tool
    from orchestrator.catalog.tool import Tool as Tool
    from orchestrator.client.mission_client import MissionClient as MissionClient
    from orchestrator.client.mission_handle import MissionHandle as MissionHandle
    from orchestrator.client.session_handle import SessionHandle as SessionHandle
    from orchestrator.confirmation.models import ConfirmationCard as ConfirmationCard
    from orchestrator.confirmation.signatures import SigningKey as SigningKey
    from orchestrator.confirmation.signatures import decision_claims as decision_claims
    from orchestrator.confirmation.signatures import sign_decision as sign_decision
    from orchestrator.core.budget import Money as Money
    from orchestrator.core.errors import OrchestratorError as OrchestratorError
    from orchestrator.messages.mission import MissionRequest as MissionRequest
    from orchestrator.messages.mission import MissionResult as MissionResult
    from orchestrator.messages.mission import MissionStatus as MissionStatus
    from orchestrator.messages.mission_policy import MissionPolicy as MissionPolicy
    from orchestrator.messages.session import SessionResult as SessionResult
    from orchestrator.planning.models import AgentProfile as AgentProfile
    from orchestrator.planning.models import AskUser as AskUser
    from orchestrator.planning.models import CallTool as CallTool
    from orchestrator.planning.models import DiscoverTools as DiscoverTools
    from orchestrator.planning.models import Finish as Finish
    from orchestrator.planning.models import GiveUp as GiveUp
    from orchestrator.planning.models import GoalBrief as GoalBrief
    from orchestrator.planning.models import LegPlan as LegPlan
    from orchestrator.planning.models import MissionPlan as MissionPlan
    from orchestrator.planning.models import StepContext as StepContext
    from orchestrator.planning.models import StepDecision as StepDecision
    from orchestrator.planning.planner import PlannedStep as PlannedStep
    from orchestrator.planning.planner import Planner as Planner
    from orchestrator.proxy.pruning_transport import AsyncPruningTransport as AsyncPruningTransport
    from orchestrator.proxy.pruning_transport import PruningTransport as PruningTransport
    from orchestrator.proxy.pruning_transport import prune as prune
    from orchestrator.routing.router import Router as Router
    from orchestrator.routing.scoring.embedding import Embedder as Embedder
    from orchestrator.routing.selection import Selection as Selection
    from orchestrator.runtime.extensions import PlannerParts as PlannerParts
    from orchestrator.runtime.worker import run_worker as run_worker
    from orchestrator.settings import Settings as Settings
    from orchestrator.temporal.orchestrator_plugin import OrchestratorPlugin as OrchestratorPlugin
    from orchestrator.temporal.read_tools import ReadTools as ReadTools
    from orchestrator.workflows.guarded_call import ToolCallFailed as ToolCallFailed
    from orchestrator.workflows.tool_saga import SagaState as SagaState
    from orchestrator.workflows.tool_saga import ToolSaga as ToolSaga

_HOMES = {
    "catalog.catalog": ("Catalog",),
    "catalog.python_functions": ("Rejected", "tool"),
    "catalog.tool": ("Tool",),
    "client.mission_client": ("MissionClient",),
    "client.mission_handle": ("MissionHandle",),
    "client.session_handle": ("SessionHandle",),
    "confirmation.models": ("ConfirmationCard",),
    "confirmation.signatures": ("SigningKey", "decision_claims", "sign_decision"),
    "core.budget": ("Money",),
    "core.errors": ("OrchestratorError",),
    "messages.mission": ("MissionRequest", "MissionResult", "MissionStatus"),
    "messages.mission_policy": ("MissionPolicy",),
    "messages.session": ("SessionResult",),
    "planning.models": (
        *("AgentProfile", "AskUser", "CallTool", "DiscoverTools", "Finish", "GiveUp", "GoalBrief"),
        *("LegPlan", "MissionPlan", "StepContext", "StepDecision"),
    ),
    "planning.planner": ("PlannedStep", "Planner"),
    "proxy.pruning_transport": ("AsyncPruningTransport", "PruningTransport", "prune"),
    "routing.router": ("Router",),
    "routing.scoring.embedding": ("Embedder",),
    "routing.selection": ("Selection",),
    "runtime.extensions": ("PlannerParts",),
    "runtime.worker": ("run_worker",),
    "settings": ("Settings",),
    "temporal.orchestrator_plugin": ("OrchestratorPlugin",),
    "temporal.read_tools": ("ReadTools",),
    "workflows.guarded_call": ("ToolCallFailed",),
    "workflows.tool_saga": ("SagaState", "ToolSaga"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> object:
    """Import a public name when it is first used.

    Workflow code imports this package too; it must not draw in HTTP clients and indexes with it.
    """
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
