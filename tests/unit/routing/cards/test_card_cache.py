"""Cards made before: the same ones, made again only for what changed."""

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.routing.cards import card_cache
from orchestrator.routing.cards.capability_card import make_card, make_cards
from orchestrator.routing.cards.card_cache import CardCache, tool_digest
from orchestrator.routing.router import Router


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the tools for which a card was made."""
    names: list[str] = []

    def counting(tool: Tool, **flags: bool) -> Any:
        names.append(tool.name)
        return make_card(tool, **flags)

    monkeypatch.setattr(card_cache, "make_card", counting)
    return names


def test_an_unchanged_catalog_makes_no_card(shipped: Catalog, made: list[str]) -> None:
    """Loaded again, it has other objects and the same digests."""
    cache, tools = CardCache(), tuple(shipped.tools.values())
    first = cache.of(tools)
    copies = tuple(Tool.model_validate(tool.as_json()) for tool in tools)

    assert cache.of(copies) == first == make_cards(tools)
    assert made == [tool.name for tool in tools]


def test_a_changed_tool_makes_its_card_only(shipped: Catalog, made: list[str]) -> None:
    """Whatever of it changed."""
    cache, tools = CardCache(), list(shipped.tools.values())
    cache.of(tools)
    made.clear()
    tools[3] = tools[3].model_copy(update={"examples": ("something else",)})

    assert cache.of(tools)[3].example_stems == (("someth",),)
    assert made == [tools[3].name]


def test_what_other_tools_say_of_one_is_part_of_its_card(make_tool: Callable[..., Tool]) -> None:
    """The same listing beside a search is another card than alone."""
    thing, lease = {"thing_id": {"type": "string"}}, {"lease_id": {"type": "string"}}
    listing, search = make_tool("list", outputs=lease), make_tool("look", outputs=thing)
    place = make_tool(
        "lease", inputs=thing, required=("thing_id",), outputs=lease, effect=Effect.OBLIGATION
    )
    cache = CardCache()

    assert [card.shows_own for card in cache.of([listing])] == [False]
    assert [card.shows_own for card in cache.of([listing, search, place])] == [True, False, False]


def test_the_cards_used_longest_ago_go(make_tool: Callable[..., Tool]) -> None:
    """At most so many are kept."""
    cache = CardCache(most_cards=5)
    for number in range(20):
        cache.of([make_tool(f"tool_{number}")])

    assert len(cache) == 5


def test_a_router_with_kept_cards_routes_alike(shipped: Catalog) -> None:
    """Also the second one."""
    cache = CardCache()
    for _ in range(2):
        again = Router(shipped, cards=cache)
        assert again.route("book a flight") == Router(shipped).route("book a flight")


def test_plain_functions_are_kept_too() -> None:
    """Their x-orqen-examples tell two apart; odd characters are no trouble."""
    one = {"name": "a", "description": "\ud800", "x-orqen-examples": ["first"]}
    first, second = (
        Catalog.from_functions([{**one, "x-orqen-examples": [text]}]).tool("a")
        for text in ("first", "second")
    )

    assert tool_digest(first) != tool_digest(second)
    assert CardCache().of([second])[0].example_stems == (("second",),)
