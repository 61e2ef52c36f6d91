"""Everyday requests, in the words of people: the tool they need is among those forwarded."""

from collections.abc import Sequence
from datetime import datetime
from statistics import fmean

import pytest

from orchestrator.adapters.embedding.built_in import similarity_in_process
from orchestrator.catalog.catalog import Catalog
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext, Selection
from tests.benchmarks.everyday_requests import Everyday, catalogs, fresh, older

NOW = datetime(2026, 11, 21, 21)
Answers = Sequence[tuple[Everyday, Selection]]


@pytest.fixture(scope="module")
def router(shipped: Catalog) -> Router:
    """As a worker has it: with the built-in embedder."""
    return Router(shipped, similarity=similarity_in_process()(shipped))


@pytest.fixture(scope="module")
def answers() -> Answers:
    """Every request of the benchmark, routed over its catalog as a worker does."""
    make = similarity_in_process()
    routers = {name: Router(one, similarity=make(one)) for name, one in catalogs().items()}
    asked = [*older(), *fresh()]
    return [(one, routers[one.catalog].route(one.request, one.context, now=NOW)) for one in asked]


def test_the_tools_are_forwarded(answers: Answers) -> None:
    """Other verbs than the API's, slips of the pen, half sentences; few tools are enough."""
    doable = [(one, chosen) for one, chosen in answers if one.tools]
    found = [all(not {*chosen.tools}.isdisjoint(t) for t in one.tools) for one, chosen in doable]
    sizes = [len(chosen.tools) for _, chosen in doable]

    assert fmean(found) >= 0.83
    assert fmean(sizes) < 4


def test_what_no_tool_can_do_is_told(answers: Answers) -> None:
    """However everyday it is; and seldom of what a tool does."""
    assert fmean(not chosen.fits for one, chosen in answers if not one.tools) >= 0.7
    assert fmean(not chosen.fits for one, chosen in answers if one.tools) <= 0.25


@pytest.mark.parametrize(
    ("text", "tool"), [("does it have a gym", "hotel_get_hotel"), ("pick one", "hotel_book_room")]
)
def test_what_is_said_after_a_search_is_about_it(text: str, tool: str, router: Router) -> None:
    """The rooms that were found, whether they are asked about or taken."""
    context = RouteContext(goal="book a hotel in Rome", earlier=("hotel_search_rooms",))

    assert tool in router.route(text, context, now=NOW).tools


def test_real_words_are_no_slips(router: Router) -> None:
    """What the catalog or everyday language knows stays as it is; so do values and names."""
    for text in ("find a heart", "plain text", "weigh it", "hotels in Wether"):
        assert router._parser.corrected(text) == text
    assert router.route("book a flihgt").tools[0] == "flight_book_offer"
    assert router._parser.corrected("a flihgt and a resevation") == "a flight and a reserv"
