"""The default parts of a worker, chosen by its settings."""

import functools
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from orchestrator.adapters.approval_keys import ApprovalKeys
from orchestrator.adapters.embedding.built_in import BuiltInEmbedder
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.secrets import EnvironmentSecrets
from orchestrator.adapters.storage.protocols import ObservationStore
from orchestrator.adapters.storage.sql_observations import MissionFiles
from orchestrator.catalog.catalog import Catalog
from orchestrator.client.stores import store_of
from orchestrator.core.errors import UsageError
from orchestrator.planning.models import CHAINING, LLM, AgentProfile
from orchestrator.planning.per_agent import PerAgentPlanner, Splitter, asks_model, own_planners
from orchestrator.planning.planner import Planner, StepPlanner
from orchestrator.routing.cards.capability_card import CardCache
from orchestrator.routing.profile import STEP_VECTORS_S
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import Embedder
from orchestrator.runtime.extensions import LLM_EXTRA, PlannerParts, load_leg_planner, load_planner
from orchestrator.runtime.vectors import embedder_of, similarity_of
from orchestrator.settings import Settings, load_mcp_servers, load_routing_profile

if TYPE_CHECKING:  # extras, and a database library
    from orchestrator.adapters.mcp.servers import McpServer
    from orchestrator.adapters.storage.store import Store
    from orchestrator.catalog.mcp_documents import McpListing
    from orchestrator.planning.llm.model_planner import LlmPlanner


def default_tools(
    settings: Settings,
    store: "Store | None" = None,
    catalog: Catalog | None = None,
    *,
    mcp: "Sequence[McpServer] | None" = None,
) -> ToolClient:
    """Return a tool client with credentials from the environment, and a store's vault and files.

    The default store and MCP servers are those of the settings; a catalog provides its functions.
    """
    store = store or store_of(settings)
    return ToolClient(
        secrets=EnvironmentSecrets(),
        pii=store.vault,
        files=MissionFiles(store.observations),
        max_file_bytes=settings.max_file_bytes,
        server_variables=settings.server_variables,
        allowed_private_hosts=settings.allowed_private_hosts,
        only_hosts=settings.only_hosts,
        proxy=_proxy_of(settings),
        sends_trace=settings.send_trace,
        functions=catalog.functions if catalog is not None else {},
        mcp=load_mcp_servers(settings.mcp) if mcp is None else mcp,
    )


def list_mcp_servers(
    settings: Settings, servers: "Sequence[McpServer] | None" = None, *, patience_s: float = 0.0
) -> "list[McpListing]":
    """Return what MCP servers list now, by default those of the settings.

    A server that is down is tried again for `patience_s`.

    Raises:
        DocumentUnreadable: their file or an overlay cannot be read.
        UsageError: the extra `mcp` is not installed.
    """
    asked = load_mcp_servers(settings.mcp) if servers is None else servers
    if not asked:
        return []
    from orchestrator.adapters.mcp.listing import list_servers

    return list_servers(
        asked,
        secrets=EnvironmentSecrets(),
        allowed_private_hosts=settings.allowed_private_hosts,
        only_hosts=settings.only_hosts,
        proxy=_proxy_of(settings),
        patience_s=patience_s,
    )


def _proxy_of(settings: Settings) -> str | None:
    return settings.proxy.get_secret_value() if settings.proxy is not None else None


def default_approval_keys(settings: Settings) -> ApprovalKeys | None:
    """Return the keys in the settings that verify decisions; None if there are none."""
    if not settings.approval_keys:
        return None
    keys = ApprovalKeys(settings.approval_keys, proxy=_proxy_of(settings))
    keys.check()
    return keys


def default_planner(
    settings: Settings,
    routers: Callable[[Catalog], Router],
    agents: Sequence[AgentProfile],
    observations: ObservationStore | None = None,
) -> Planner:
    """Return the planner in the settings, else the rule planner, or a model if one is set.

    Conversations with models are stored in `observations`, by default in the settings' store.

    Raises:
        UsageError: a model of an agent or the settings cannot be called from here, for instance
            because its key or its library is missing; or one of their planners is unavailable.
    """
    from orchestrator.planning.rules.rule_planner import RulePlanner

    chaining = RulePlanner(routers)
    asked_with = (
        settings.planner_timeout_s,
        settings.planner_temperature,
        settings.planner_max_tokens,
        settings.planner_thinking,
    )

    @functools.cache
    def modelled() -> "LlmPlanner":
        try:
            from orchestrator.planning.llm.model_asking import request_settings
            from orchestrator.planning.llm.model_planner import LlmPlanner
        except ImportError as error:
            raise UsageError(f"planning with a model needs the llm extra: {LLM_EXTRA}") from error
        return LlmPlanner(
            default_model=settings.planner_model,
            settings=request_settings(*asked_with),
            pieces=observations or store_of(settings).observations,
        )

    @functools.cache
    def splitter() -> Splitter:
        from orchestrator.planning.llm.model_asking import request_settings
        from orchestrator.planning.llm.splitting import ModelSplitter

        return ModelSplitter(
            settings=request_settings(*asked_with),
            ranking=lambda goal, catalog: routers(catalog).rank(goal),
        )

    own: dict[str, StepPlanner] = {}
    default_model = None if settings.planner == CHAINING else settings.planner_model
    ours = PerAgentPlanner(
        chaining,
        modelled,
        default_model=default_model,
        own=own,
        check_model=lambda name: modelled().check(name),
        splitter=splitter if settings.split_by == "model" else None,
    )
    parts = PlannerParts(settings, tuple(agents), routers, ours)
    own |= {named: load_leg_planner(named, parts) for named in own_planners(agents)}
    # An invalid model is refused at the start, not at the first leg that needs it.
    if settings.planner_model or settings.planner == LLM:
        modelled().check(None)
    if settings.planner not in (None, CHAINING, LLM):
        return load_planner(settings.planner, parts)  # it may call any model
    for agent in agents:
        asked = (agent.model, *agent.fallback) if asks_model(agent, default_model) else ()
        for name in asked:
            try:
                modelled().check(name)
            except UsageError as error:
                raise UsageError(f"agent {agent.name}: {error}") from error
    return ours


def default_routers(
    settings: Settings, embedder: Embedder | None = None
) -> Callable[[Catalog], Router]:
    """Return the source of routers, one per catalog, that forward every tool on a timeout.

    An embedder provides vectors in place of the settings' own.
    """
    profile = load_routing_profile(settings.routing_profile)
    waits_s = settings.embedder_timeout_ms / 1000
    if embedder is None:
        embedder = embedder_of(settings.embedder, settings)
    similarity = similarity_of(embedder, timeout_s=waits_s)
    timeout_s = settings.routing_timeout_ms / 1000
    if similarity and not isinstance(embedder, BuiltInEmbedder):
        # The time to wait for vectors beyond the default is added.
        timeout_s += max(0.0, waits_s - STEP_VECTORS_S)
    cards = CardCache()

    @functools.lru_cache(maxsize=8)
    def make(catalog: Catalog) -> Router:
        return Router(
            catalog,
            profile=profile,
            clock=time.monotonic,
            timeout_s=timeout_s,
            similarity=similarity(catalog) if similarity else None,
            cards=cards,
        )

    making = threading.Lock()

    def router_of(catalog: Catalog) -> Router:
        # Steps are routed in threads: the first steps of a catalog must not each build its router.
        with making:
            return make(catalog)

    return router_of
