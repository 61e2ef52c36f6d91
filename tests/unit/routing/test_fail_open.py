"""Whatever goes wrong in the router, the request goes on with every tool."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count, cycle
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.wall import Wall
from orchestrator.routing import clause_reading, request_parser
from orchestrator.routing import router as module
from orchestrator.routing.cards.prerequisites import Producers
from orchestrator.routing.cards.vocabulary import CatalogVocabulary, EvidenceIndex
from orchestrator.routing.learning.trace import record_of
from orchestrator.routing.profile import PROXY_LIMIT_S, STEP_LIMIT_S
from orchestrator.routing.request_parser import FollowUps, RequestParser
from orchestrator.routing.router import Router
from orchestrator.routing.scoring import request_scoring
from orchestrator.routing.scoring import scorer as scoring
from orchestrator.routing.scoring.scorer import CloserLook, Scorer
from orchestrator.routing.selection import RouteContext, Selection

MOMENT = datetime(2026, 11, 23, tzinfo=UTC)
GOAL = "find a hotel in Lisbon and book a table for four"
STAGES = (
    (request_parser, "split_goal"),
    (request_parser, "read_clause"),
    (request_parser, "read_slots"),
    (FollowUps, "resolve"),
    (request_parser, "_frame_of"),
    (clause_reading, "content_stems"),
    (CatalogVocabulary, "best_domain"),
    (request_scoring, "joined"),
    (Scorer, "score_all"),
    (EvidenceIndex, "find"),
    (CloserLook, "features"),
    (scoring, "value_stems"),
    (module, "needs_of"),
    (module, "adaptive_k"),
    (Producers, "prerequisites"),
)


class SlowClock:
    """A clock that stands still, until something takes its time."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def assert_all_tools(selection: Selection, catalog: Catalog) -> None:
    """Every tool is there, and the headers say so."""
    size = str(len(catalog.tools))
    assert selection.band == "fail_open"
    assert (selection.fits, selection.fitness) == (True, None)
    assert selection.tools == tuple(catalog.tools)
    assert selection.headers["x-orqen-routing"] == "fail_open"
    assert selection.headers["x-orqen-tools-output"] == size
    assert selection.headers["x-orqen-prune-ratio"] == f"{size}/{size}"


@pytest.fixture(scope="module")
def clock() -> SlowClock:
    """The clock of the router that all stages share."""
    return SlowClock()


@pytest.fixture(scope="module")
def router(shipped: Catalog, clock: SlowClock) -> Router:
    """One for all stages, as a worker has one for all requests."""
    return Router(shipped, clock=clock)


@pytest.fixture(autouse=True)
def nothing_read(router: Router) -> None:
    """No text is known from an earlier test: each is read in its own."""
    for recent in (router._requests._requests, router._requests._scores):
        recent._values.clear()
    router._requests._parser._own.cache_clear()
    clause_reading.read_clause.cache_clear()


ERRORS = cycle((ValueError, KeyError, RecursionError, MemoryError))


@pytest.mark.parametrize(("owner", "stage", "error"), [(*one, next(ERRORS)) for one in STAGES])
def test_a_fault_in_any_stage_forwards_every_tool(
    shipped: Catalog,
    router: Router,
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    stage: str,
    error: type[Exception],
) -> None:
    """The reason names the kind of fault, and nothing that the request said."""

    def fails(*args: object, **kwargs: object) -> None:
        raise error(GOAL)

    monkeypatch.setattr(owner, stage, fails)

    selection = router.route(GOAL)

    assert_all_tools(selection, shipped)
    assert selection.reason == f"{error.__name__} in the router"
    record = record_of(selection)
    assert (record.band, record.reason) == ("fail_open", selection.reason)
    assert "Lisbon" not in record.model_dump_json()


@pytest.mark.parametrize(("owner", "stage"), STAGES)
def test_slowness_in_any_stage_forwards_every_tool(
    shipped: Catalog,
    router: Router,
    clock: SlowClock,
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    stage: str,
) -> None:
    """A stage that takes longer than it may is cut at the next check."""
    real: Callable[..., Any] = getattr(owner, stage)

    def slow(*args: Any, **kwargs: Any) -> Any:
        clock.seconds += 0.051
        return real(*args, **kwargs)

    monkeypatch.setattr(owner, stage, slow)

    selection = router.route(GOAL)

    assert_all_tools(selection, shipped)
    assert selection.reason.startswith("took over 50 ms, up to ")


def test_no_stage_follows_the_one_that_was_too_slow(
    shipped: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Out of time after the first text was looked up: no clause is looked up after it."""
    clock = SlowClock()
    scored = []
    real = EvidenceIndex.find

    def slow(*args: Any, **kwargs: Any) -> Any:
        scored.append(args)
        clock.seconds += 1
        return real(*args, **kwargs)

    monkeypatch.setattr(EvidenceIndex, "find", slow)

    selection = Router(shipped, clock=clock).route(GOAL)

    assert selection.band == "fail_open"
    assert selection.reason == "took over 50 ms, up to scoring"
    assert len(scored) == 1


def test_each_caller_brings_its_own_limit(shipped: Catalog) -> None:
    """One router for the step of a mission, which waits a second, and for a proxy, which does not.

    A busy machine takes 60 ms for each stage.
    """
    ticks = count(0.0, 0.06)
    router = Router(shipped, clock=lambda: next(ticks))

    proxy, step = (router.route(GOAL, limit_s=s) for s in (PROXY_LIMIT_S, STEP_LIMIT_S))
    assert proxy.band == "fail_open"
    assert proxy.reason.startswith("took over 50 ms, up to ")
    assert step.band != "fail_open"


def test_a_limit_is_counted_by_the_clock_that_a_router_has(shipped: Catalog) -> None:
    """One without a clock takes what it takes: it reads none that nobody gave it."""
    router = Router(shipped, clock=time.monotonic, timeout_s=60.0)

    assert router.route(GOAL, limit_s=1e-9).band == "fail_open"
    assert router.route(GOAL, limit_s=60.0) == router.route(GOAL)
    assert router.without_deadline().route(GOAL, limit_s=1e-9) == router.route(GOAL)


def test_a_clock_that_fails_is_a_fault_like_any_other(shipped: Catalog) -> None:
    """Even that forwards every tool."""

    def broken() -> float:
        raise OSError("no clock")

    assert_all_tools(Router(shipped, clock=broken).route(GOAL), shipped)


def test_a_text_is_read_once(shipped: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning a goal asks of each clause several times; another moment or context is another.

    What no score depends on has none be told anew: another moment, another goal around it, values
    that no tool asks for. What the agent may touch, or what of a call is known, has.
    """
    router = Router(shipped)
    done: list[str] = []
    _count(monkeypatch, RequestParser, "parse", done)
    _count(monkeypatch, Scorer, "score_all", done)

    def asked(**context: Any) -> list[str]:
        done.clear()
        router.route(GOAL, RouteContext(**context), now=MOMENT)
        return [*done]

    first = router.route(GOAL)
    assert router.route(GOAL) == first
    assert done == ["parse", "score_all"]
    assert asked() == ["parse"]
    assert asked() == []
    assert asked(goal="A trip", known=("weather_of_yesterday",)) == ["parse"]
    assert asked(known=("origin",)) == ["parse", "score_all"]
    assert asked(domains=("hotels",)) == ["parse", "score_all"]
    assert asked(walls=(Wall(agent="a", domains=("flights",)),)) == ["parse", "score_all"]


def _count(patch: pytest.MonkeyPatch, owner: type, name: str, done: list[str]) -> None:
    """Have each call noted."""
    original = getattr(owner, name)

    def counted(*args: Any, **named: Any) -> Any:
        done.append(name)
        return original(*args, **named)

    patch.setattr(owner, name, counted)
