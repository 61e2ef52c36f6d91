"""What a worker is made of where nobody gives it anything else: as the settings say."""

import functools
import gc
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from orchestrator.adapters.approval_keys import ApprovalKeys
from orchestrator.adapters.embedding.built_in import BuiltInEmbedder
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.secrets import EnvironmentSecrets
from orchestrator.adapters.storage.mission_files import MissionFiles
from orchestrator.adapters.storage.observation_store import ObservationStore
from orchestrator.catalog.catalog import Catalog
from orchestrator.client.stores import store_of
from orchestrator.core.errors import UsageError
from orchestrator.planning.models import CHAINING, LLM, AgentProfile
from orchestrator.planning.per_agent import (
    PerAgentPlanner,
    Splitter,
    asks_model,
    own_planners,
)
from orchestrator.planning.planner import Planner, StepPlanner
from orchestrator.routing.cards.card_cache import CardCache
from orchestrator.routing.deadline import STEP_VECTORS_S
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import Embedder
from orchestrator.runtime.agent_profiles import LLM_EXTRA
from orchestrator.runtime.extensions import PlannerParts, load_leg_planner, load_planner
from orchestrator.runtime.vectors import embedder_of, similarity_of
from orchestrator.settings import Settings, load_routing_profile

if TYPE_CHECKING:  # an extra, and a database library
    from orchestrator.adapters.storage.store import Store
    from orchestrator.planning.llm.model_planner import LlmPlanner


def default_tools(
    settings: Settings,
    store: "Store | None" = None,
    observations: ObservationStore | None = None,
) -> ToolClient:
    """A tool client with credentials from the environment, the vault and the files of a store.

    Without one it is the store that the settings name; files may have a store of their own.
    """
    store = store or store_of(settings)
    return ToolClient(
        secrets=EnvironmentSecrets(),
        pii=store.vault,
        files=MissionFiles(observations or store.observations),
        max_file_bytes=settings.max_file_bytes,
        server_variables=settings.server_variables,
        allowed_private_hosts=settings.allowed_private_hosts,
        only_hosts=settings.only_hosts,
        proxy=_proxy_of(settings),
        sends_trace=settings.send_trace,
    )


def _proxy_of(settings: Settings) -> str | None:
    return settings.proxy.get_secret_value() if settings.proxy is not None else None


def default_approval_keys(settings: Settings) -> ApprovalKeys | None:
    """The keys that the settings name, by which decisions are proved; None when they name none.

    Raises:
        UsageError: a URL that is not https, or a file without keys that can be used.
    """
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
    """The planner that the settings name, else the deterministic one, or a model where one is set.

    Args:
        settings: which planner and model.
        routers: by catalog, for the deterministic one.
        agents: the worker's profiles.
        observations: where conversations with models are kept; by default in the settings' store.

    Raises:
        UsageError: a model that an agent or the settings name cannot be asked from here, as when
            its key or its library is missing; or a planner that one of them names cannot be had.
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
    # All that is wrong with a model is told before the first mission, not at the leg that needs it.
    if settings.planner_model or settings.planner == LLM:
        modelled().check(None)
    if settings.planner not in (None, CHAINING, LLM):
        return load_planner(settings.planner, parts)  # which asks models as it likes
    for agent in agents:
        _check_models(agent, default_model, modelled)
    return ours


def _check_models(
    agent: AgentProfile, default_model: str | None, modelled: Callable[[], "LlmPlanner"]
) -> None:
    if not asks_model(agent, default_model):
        return
    for name in (agent.model, *agent.fallback):
        try:
            modelled().check(name)
        except UsageError as error:
            raise UsageError(f"agent {agent.name}: {error}") from error


def default_routers(
    settings: Settings, embedder: Embedder | None = None, store: "Store | None" = None
) -> Callable[[Catalog], Router]:
    """Routers that forward every tool when they take too long, one for each catalog.

    Args:
        settings: the limits, and what embeds when no embedder is given.
        embedder: gives vectors, in place of the settings' own.
        store: keeps the vectors of another embedder than the built-in one.

    Raises:
        UsageError: the embedder that is set is none, or its library is not installed.
    """
    profile = load_routing_profile(settings.routing_profile)
    waits_s = settings.embedder_timeout_ms / 1000
    if embedder is None:
        embedder = embedder_of(settings.embedder, settings)
    similarity = similarity_of(
        embedder, settings, timeout_s=waits_s, vectors=store.vectors if store else None
    )
    timeout_s = settings.routing_timeout_ms / 1000
    if similarity and not isinstance(embedder, BuiltInEmbedder):
        # What is waited for vectors beyond the default comes on top.
        timeout_s += max(0.0, waits_s - STEP_VECTORS_S)
    cards = CardCache()

    @functools.lru_cache(maxsize=8)
    def make(catalog: Catalog) -> Router:
        router = Router(
            catalog,
            profile=profile,
            clock=time.monotonic,
            timeout_s=timeout_s,
            similarity=similarity(catalog) if similarity else None,
            cards=cards,
        )
        _spare_the_collector()
        return router

    making = threading.Lock()

    def router_of(catalog: Catalog) -> Router:
        # Steps are routed in threads: the first ones of a catalog must not each build its router.
        with making:
            return make(catalog)

    return router_of


def _spare_the_collector() -> None:
    """Take what lives long out of the garbage collector's sight, what is garbage by now apart.

    A full collection stops everything for tens of milliseconds with a thousand tools, and for more
    than a router may take with several thousand.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
