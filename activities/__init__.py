"""Activities: everything that missions do outside their histories, one class per concern."""

from collections.abc import Callable, Sequence
from typing import Any

from temporalio.client import Client

from orchestrator.activities.authority import Authority, WallGuard
from orchestrator.activities.catalog_activities import CatalogActivities, await_key
from orchestrator.activities.fair_slots import FairSlots
from orchestrator.activities.kept_messages import KeptMessages, NothingKept
from orchestrator.activities.notice_activities import NoticeActivities
from orchestrator.activities.observe_activities import ObserveActivities
from orchestrator.activities.offer_activities import OfferActivities
from orchestrator.activities.plan_activities import PlanActivities
from orchestrator.activities.planning_activities import (
    HandOverActivities,
    PlanningActivities,
    ThinkingActivities,
)
from orchestrator.activities.prepare_activities import PrepareActivities
from orchestrator.activities.rollback_activities import RollbackActivities, SweepActivities
from orchestrator.activities.tool_activities import ToolActivities
from orchestrator.adapters.approval_keys import ApprovalKeys
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.files import BegunThoughts
from orchestrator.adapters.storage.protocols import (
    CatalogStore,
    GrantBook,
    ObservationStore,
    RouteTraces,
)
from orchestrator.catalog.catalog import Catalog
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import AgentProfile
from orchestrator.planning.planner import ModelChooser, Planner
from orchestrator.planning.walls import Walls
from orchestrator.routing.router import Router

Activities = list[Callable[..., Any]]


def all_activities(
    *,
    catalog: Catalog,
    catalogs: CatalogStore,
    routers: Callable[[Catalog], Router],
    planner: Planner | None,
    agents: Sequence[AgentProfile],
    tools: ToolClient,
    grants: GrantBook,
    traces: RouteTraces,
    client: Client,
    policy: MissionPolicy | None = None,
    approval_keys: ApprovalKeys | None = None,
    observations: ObservationStore | None = None,
    begun_thoughts: BegunThoughts | None = None,
    serves_sagas: bool = False,
    may_observe: bool = False,
    observes_sagas: bool = False,
    slots: int = 100,
    check_store: Callable[[], None] = lambda: None,
    notices: NoticeActivities | None = None,
) -> Activities:
    """Return every activity that `orchestrator.messages.names` names, bound to its dependencies.

    New missions are pinned to `catalog`; running missions read their own catalog from `catalogs`.
    No mission may do more than `policy` allows; with `approval_keys`, decisions have to be signed.
    With `serves_sagas`, workflows other than missions may make calls, each in the name of its own
    sagas. With `may_observe`, calls may be made without guards; with `observes_sagas`, those of
    sagas that state no mode are. Without a planner, only the activities that such workflows need
    are returned. Providers and missions share the `slots` of a task queue. `check_store` raises an
    error if this worker cannot use its store. Without `notices`, cards are announced by others.
    """
    fair = FairSlots(slots)
    guard = WallGuard(Walls(agents))
    authority = Authority(policy or MissionPolicy(), approval_keys, serves_sagas, may_observe)
    kept = KeptMessages(observations or NothingKept())
    preparing = PrepareActivities(catalogs, tools, guard, authority, kept=kept, grants=grants)
    calling = ToolActivities(catalogs, tools, grants, guard, authority, kept=kept, slots=fair)
    observing = ObserveActivities(catalogs, tools, grants, guard, authority, kept=kept)
    by_rules = isinstance(planner, ModelChooser) and planner.splits_by_rules(agents)
    stored = CatalogActivities(
        catalog,
        catalogs,
        by_rules=by_rules,
        observes=observes_sagas,
        slots=fair,
        check_store=check_store,
    )
    offering = OfferActivities(catalogs, routers)
    rollback = RollbackActivities(
        catalogs, tools, client, grants, serves_sagas=serves_sagas, slots=fair
    )
    sweep = SweepActivities(client, grants)
    notices = notices or NoticeActivities()
    of_calls: Activities = [
        stored.pin_catalog,
        stored.await_state,
        kept.read_kept,
        await_key,
        offering.offer_tools,
        preparing.prepare_call,
        preparing.prepare_overcharge,
        calling.invoke_tool,
        observing.observe_call,
        rollback.collect_ledger,
        rollback.compensate,
        rollback.read_rollback,
        rollback.conclude_mission,
        sweep.find_stranded,
        sweep.recover_mission,
        notices.read_notices,
        notices.deliver_notice,
        notices.note_undelivered,
    ]
    if planner is None:
        return of_calls
    planning = PlanningActivities(
        catalogs, routers, planner, agents, traces, authority=authority, kept=kept, slots=fair
    )
    plans = PlanActivities(catalog, catalogs, planning, authority)
    return [
        *of_calls,
        planning.split_goal,
        planning.check_model,
        planning.discover_tools,
        plans.preview_plan,
        plans.review_plan,
        HandOverActivities(catalogs, agents).plan_hand_over,
        ThinkingActivities(planning, preparing, kept, begun_thoughts).think,
    ]
