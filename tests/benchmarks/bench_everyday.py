"""How many everyday requests have their tool forwarded, over the project's own documents.

`everyday.jsonl` holds the requests in five lists, each written before its results were looked at:
what is asked, for each part of it the tools of which one will do (none: no tool can do it), and
what was known besides. The rules of the router were made on the first three lists.
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from pydantic import Field

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.record import Record
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext
from orchestrator.settings import bundled_specs
from tests.benchmarks.figure import Figure

_REQUESTS: Final = Path(__file__).parent / "everyday.jsonl"
_NOW: Final = datetime(2026, 11, 21, 21)
_LAST: Final = (4, 5)


class Everyday(Record):
    """One request; `tools` has one of each of these forwarded if it went well."""

    list: int
    request: str
    tools: tuple[tuple[str, ...], ...]
    context: RouteContext = Field(default=RouteContext())


def run() -> list[Figure]:
    """What became of the requests, of all and of the two lists that were written last."""
    lines = _REQUESTS.read_text(encoding="utf-8").splitlines()
    requests = [Everyday.model_validate_json(line) for line in lines]
    router = Router(Catalog.load(bundled_specs()))
    last = [request for request in requests if request.list in _LAST]
    return [*_figures(router, requests, "all lists"), *_figures(router, last, "the last two")]


def _figures(router: Router, requests: Sequence[Everyday], which: str) -> list[Figure]:
    doable = [request for request in requests if request.tools]
    others = [request for request in requests if not request.tools]
    chosen = [router.route(r.request, r.context, now=_NOW).tools for r in doable]
    forwarded = sum(
        all(not set(tools).isdisjoint(part) for part in request.tools)
        for request, tools in zip(doable, chosen, strict=True)
    )
    first = sum(tools[0] in request.tools[0] for request, tools in zip(doable, chosen, strict=True))
    return [
        _counted(f"tool forwarded, {which}", forwarded, doable),
        _counted(f"tool in first place, {which}", first, doable),
        _counted(f"wrongly said to fit nothing, {which}", _unfit(router, doable), doable),
        _counted(f"no tool can do it, and told, {which}", _unfit(router, others), others),
    ]


def _unfit(router: Router, requests: Sequence[Everyday]) -> int:
    return sum(not router.fits(request.request) for request in requests)


def _counted(name: str, count: int, of: Sequence[Everyday]) -> Figure:
    return Figure(name=name, value=count, unit=f"of {len(of)}")
