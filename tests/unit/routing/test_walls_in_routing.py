"""What an agent may not touch is neither forwarded nor found, whatever is asked for."""

from collections.abc import Sequence
from itertools import count

import numpy as np
import pytest
from numpy.typing import NDArray

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.wall import Wall
from orchestrator.routing.discovery import DiscoveryIndex
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext

MESSAGES = Wall(agent="messages", domains=("messages",))
BOOKS_ONLY = Wall(agent="books", tools=("flight_book_offer",))
TEXTS = (
    "cancel my flight to Oslo",
    "call flight_cancel_booking with booking_id FLB-1",
    "pay the invoice and tell the team",
    "book a hotel in Lisbon from 2026-12-03 to 2026-12-06 and message my team about it",
    "look it up by its reference",
    "zzz",
)


@pytest.fixture(scope="module")
def router(shipped: Catalog) -> Router:
    return Router(shipped)


@pytest.fixture(scope="module")
def index(shipped: Catalog) -> DiscoveryIndex:
    return DiscoveryIndex(shipped)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("preferred", [(), ("flights",), ("messages",)])
def test_nothing_outside_is_forwarded(
    shipped: Catalog, router: Router, text: str, preferred: tuple[str, ...]
) -> None:
    """Nor ranked, nor kept among the scores, nor as what feeds another."""
    context = RouteContext(walls=(MESSAGES,), domains=preferred)

    selection = router.route(text, context)
    named = (*selection.tools, *selection.scores, *router.rank(text, context))
    assert {shipped.tool(name).domain for name in named} <= {"messages"}


def test_what_is_outside_does_not_crowd_out_what_is_inside(router: Router) -> None:
    """What is allowed is found, although most of the request speaks of something else."""
    context = RouteContext(walls=(MESSAGES,))

    selection = router.route("book a flight from Berlin to Lisbon and send a message", context)
    assert "message_send" in selection.tools
    assert selection.band != "fail_open"


def test_a_tool_is_not_fed_from_outside(router: Router) -> None:
    """A booking that may be made stays without the search that may not."""
    text = "book a flight from Berlin to Lisbon on 2026-12-03"

    assert "flight_search_offers" in router.route(text).tools
    fenced = router.route(text, RouteContext(walls=(BOOKS_ONLY,)))
    assert fenced.tools == ("flight_book_offer",)


def _broken(*_: object, **__: object) -> None:
    raise RecursionError


@pytest.mark.parametrize("is_late", [False, True])
def test_a_router_that_fails_forwards_what_is_inside(
    shipped: Catalog, monkeypatch: pytest.MonkeyPatch, is_late: bool
) -> None:
    """Every tool means every tool that the agent may touch, whether it broke or was too slow."""
    ticks = count()
    if not is_late:
        monkeypatch.setattr("orchestrator.routing.router.adaptive_k", _broken)
    clock = (lambda: float(next(ticks))) if is_late else None

    selection = Router(shipped, clock=clock).route("a flight", RouteContext(walls=(MESSAGES,)))
    inside = tuple(t.name for t in shipped.tools.values() if t.domain == "messages")
    assert (selection.band, selection.tools, selection.k) == ("fail_open", inside, len(inside))


def test_what_an_embedder_finds_nearest_is_not_forwarded_from_outside(shipped: Catalog) -> None:
    """However near it is, and it leaves the place to what is nearest inside."""
    flights = np.array([tool.domain == "flights" for tool in shipped.tools.values()])

    class Near:
        def of(self, texts: Sequence[str]) -> NDArray[np.float64]:
            return np.tile(np.where(flights, 0.9, 0.5), (len(texts), 1))

    router = Router(shipped, similarity=Near())
    assert {shipped.tool(n).domain for n in router.route("zzz qqq").scores} >= {"flights"}
    found = router.route("zzz qqq", RouteContext(walls=(MESSAGES,)))
    assert {shipped.tool(name).domain for name in found.scores} == {"messages"}


@pytest.mark.parametrize(
    "query", ["flight_cancel_booking", "cancel flight", "flights", "cancel booking", *TEXTS]
)
def test_nothing_outside_is_found(shipped: Catalog, index: DiscoveryIndex, query: str) -> None:
    """By its exact name as little as by a few of its words."""
    found = index.search(query, limit=50, walls=(MESSAGES,))

    assert {shipped.tool(match.name).domain for match in found} <= {"messages"}


def test_a_perfect_match_outside_hides_none_inside(index: DiscoveryIndex) -> None:
    """The second tier is asked where the first finds only what may not be touched."""
    query = "weather_get_forecast"
    narrow = Wall(agent="a", tools=("weather_get_history",))

    assert [match.name for match in index.search(query)] == [query]
    assert [match.name for match in index.search(query, walls=(narrow,))] == ["weather_get_history"]
