"""The activities: everything missions do outside their histories, one class per concern."""

from collections.abc import Callable, Sequence
from typing import Any

from temporalio.client import Client

from activities.authority import Authority
from activities.call_origins import MissionOrigins
from activities.catalog_activities import CatalogActivities
from activities.hand_over_activities import HandOverActivities
from activities.kept_messages import KeptMessages, NothingKept
from activities.key_activities import await_key
from activities.overcharge_activities import OverchargeActivities
from activities.plan_activities import PlanActivities
from activities.planning_activities import PlanningActivities
from activities.prepare_activities import PrepareActivities
from activities.rollback_activities import RollbackActivities
from activities.sweep_activities import SweepActivities
from activities.thinking_activities import ThinkingActivities
from activities.tool_activities import ToolActivities
from activities.wall_guard import WallGuard
from orchestrator.adapters.approval_keys import ApprovalKeys
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.catalog_store import CatalogStore
from orchestrator.adapters.storage.grant_book import GrantBook
from orchestrator.adapters.storage.observation_store import ObservationStore
from orchestrator.adapters.storage.route_traces import RouteTraces
from orchestrator.catalog.catalog import Catalog
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import AgentProfile
from orchestrator.planning.planner import ModelChooser, Planner
from orchestrator.planning.walls import Walls
from orchestrator.routing.router import Router


def all_activities(
    *,
    catalog: Catalog,
    catalogs: CatalogStore,
    routers: Callable[[Catalog], Router],
    planner: Planner,
    agents: Sequence[AgentProfile],
    tools: ToolClient,
    grants: GrantBook,
    traces: RouteTraces,
    client: Client,
    policy: MissionPolicy | None = None,
    approval_keys: ApprovalKeys | None = None,
    observations: ObservationStore | None = None,
) -> list[Callable[..., Any]]:
    """Every activity that `orchestrator.messages.names` names, bound to what it works with.

    New missions are pinned to `catalog`; running ones find theirs in `catalogs`. No mission may do
    more than `policy` allows; with `approval_keys` its decisions have to be signed.
    """
    guard = WallGuard(Walls(agents))
    authority = Authority(policy or MissionPolicy(), approval_keys)
    kept = KeptMessages(observations or NothingKept())
    planning = PlanningActivities(
        catalogs, routers, planner, agents, traces, authority=authority, kept=kept
    )
    plans = PlanActivities(catalog, catalogs, planning, authority)
    rollback = RollbackActivities(catalogs, tools, client, grants)
    sweep = SweepActivities(client)
    origins = MissionOrigins(client)
    preparing = PrepareActivities(
        catalogs, tools, client, guard, authority, origins=origins, kept=kept
    )
    by_rules = isinstance(planner, ModelChooser) and planner.splits_by_rules(agents)
    stored = CatalogActivities(catalog, catalogs, by_rules=by_rules)
    return [
        stored.pin_catalog,
        stored.await_state,
        planning.split_goal,
        planning.select_tools,
        planning.plan_step,
        kept.read_kept,
        await_key,
        planning.check_model,
        planning.discover_tools,
        HandOverActivities(catalogs, agents).plan_hand_over,
        plans.preview_plan,
        plans.review_plan,
        preparing.prepare_call,
        ThinkingActivities(planning, preparing, kept).think,
        OverchargeActivities(
            catalogs, client, authority, origins=origins, kept=kept
        ).prepare_overcharge,
        ToolActivities(
            catalogs, tools, grants, client, guard, authority, origins=origins, kept=kept
        ).invoke_tool,
        rollback.collect_legs,
        rollback.compensate,
        rollback.read_rollback,
        sweep.find_stranded,
        sweep.recover_mission,
    ]
