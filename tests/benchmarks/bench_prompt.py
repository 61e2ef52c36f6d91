"""How large the tool block of a prompt is, in real tokens, and how fast discovery searches."""

import gc
import time
import tracemalloc
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from statistics import mean, median, quantiles
from typing import Final

from rs_bpe.bpe import openai

from orchestrator.adapters.embedding.built_in import similarity_in_process
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.planning.llm.prompt import (
    CORE_TITLE,
    ToolBlock,
    block_of,
    rendered,
    section,
    tool_schema,
)
from orchestrator.planning.models import AgentProfile, StepContext
from orchestrator.routing.discovery import DiscoveryIndex
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext
from orchestrator.settings import bundled_specs
from orchestrator.testing import fake_selection
from tests.benchmarks.figure import Figure

MANY: Final = 10_000
_NOW: Final = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
_QUERIES: Final = (
    "send a massage to the team",
    "book a flite to Lisbon",
    "somewhere to sleep near the airport",
    "wether forcast",
    "file what I spent",
    "cancel the restarant rezervation",
)
_ROUNDS: Final = 20
_CONTEXT: Final = StepContext(
    mission_id="m",
    leg_id="l",
    step=1,
    mission_goal="",
    leg_goal="",
    agent=AgentProfile(name="generalist"),
    now=_NOW,
    catalog_digest="",
)
_count: Final = openai.o200k_base().count


def run() -> list[Figure]:
    """Tokens of the tool block on the example documents, and both at ten thousand tools."""
    catalog = Catalog.load(bundled_specs())
    many = enlarged(catalog, MANY)
    return [*_small(catalog), *_large(many)]


def enlarged(catalog: Catalog, size: int) -> Catalog:
    """A catalog of so many tools: the given ones again and again, under other names and domains."""
    tools = list(catalog.tools.values())
    made: dict[str, Tool] = {}
    for number in range(size):
        tool, copy = tools[number % len(tools)], number // len(tools)
        changes = {"name": f"{tool.name}_{copy}", "domain": f"{tool.domain}{copy}"}
        changed = tool.model_copy(update=changes) if copy else tool
        made[changed.name] = changed
    return Catalog({}, made)


def _small(catalog: Catalog) -> list[Figure]:
    flat = _count(section(CORE_TITLE, map(tool_schema, catalog.tools.values())))
    initial = _tokens(_initial(catalog))
    pruned = _pruned(catalog)
    share = f"of all {len(catalog)} schemas"
    return [
        Figure(name="tool block, all schemas", value=flat, unit="tokens", note="o200k"),
        Figure(name="tool block, initial", value=initial, unit="tokens", note="o200k"),
        Figure(name="tool block, initial", value=100 * initial / flat, unit="%", note=share),
        Figure(
            name="tool block, initial, one domain, largest", value=_one_domain(catalog), unit="%"
        ),
        Figure(name="tool block, pruned, mean", value=100 * mean(pruned) / flat, unit="%"),
        Figure(name="tool block, pruned, largest", value=100 * max(pruned) / flat, unit="%"),
        Figure(name="refresh, changed", value=_refresh_us(catalog, warm=False), unit="us"),
        Figure(name="refresh, unchanged", value=_refresh_us(catalog, warm=True), unit="us"),
    ]


def _large(catalog: Catalog) -> list[Figure]:
    gc.collect()
    tracemalloc.start()
    index = DiscoveryIndex(catalog)
    memory = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    near = similarity_in_process()(catalog)
    build_ms = _time_us(lambda: DiscoveryIndex(catalog)) / 1_000
    searches = [
        _time_us(lambda query=query: index.search(query, similarity=near)) / 1_000  # type: ignore[misc]
        for _ in range(_ROUNDS)
        for query in _QUERIES
    ]
    size = f"{len(catalog)} tools"
    return [
        Figure(
            name="tool block, initial",
            value=_tokens(_initial(catalog)),
            unit="tokens",
            note=size,
        ),
        Figure(name="discovery, build", value=build_ms, unit="ms", note=size),
        Figure(name="discovery, memory", value=memory / len(catalog), unit="B/tool", note=size),
        Figure(name="discovery, p50", value=median(searches), unit="ms", note=size),
        Figure(name="discovery, p99", value=quantiles(searches, n=100)[98], unit="ms", note=size),
    ]


def _pruned(catalog: Catalog) -> list[int]:
    """The block's tokens at each example request of the tools."""
    router = Router(catalog)
    requests = [request for tool in catalog.tools.values() for request in tool.examples]
    return [
        _tokens(block_of(_CONTEXT, router.route(text, RouteContext(), now=_NOW), catalog))
        for text in requests
    ]


def _initial(catalog: Catalog, *domains: str) -> ToolBlock:
    """What an agent of these domains starts with, or of every domain."""
    nothing = fake_selection(catalog_size=len(catalog), band="fail_open")
    agent = AgentProfile(name="agent", domains=domains)
    return block_of(_CONTEXT.model_copy(update={"agent": agent}), nothing, catalog)


def _one_domain(catalog: Catalog) -> float:
    """The largest share that the block of an agent of one domain has of its own schemas."""
    own: dict[str, list[str]] = defaultdict(list)
    for tool in catalog.tools.values():
        own[tool.domain].append(tool_schema(tool))
    flat = {domain: int(_count(section(CORE_TITLE, lines))) for domain, lines in own.items()}
    return max(100 * _tokens(_initial(catalog, domain)) / size for domain, size in flat.items())


def _tokens(block: ToolBlock) -> int:
    texts = (one.text for one in rendered(block, "").values())
    return int(_count("\n\n".join(text for text in texts if text)))


def _refresh_us(catalog: Catalog, *, warm: bool) -> float:
    block = _initial(catalog)
    known = rendered(block, "") if warm else {}
    return median(_time_us(lambda: rendered(block, "", known)) for _ in range(_ROUNDS))


def _time_us(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return 1e6 * (time.perf_counter() - start)
