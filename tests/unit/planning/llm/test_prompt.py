"""The prompt's tool sections: what they show, how small they are, and when they change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st
from rs_bpe.bpe import openai

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.record import JsonObject
from orchestrator.language.intent import IntentFrame
from orchestrator.planning.llm.meta_tools import DISCOVER, META_TOOLS
from orchestrator.planning.llm.prompt import (
    CORE_TITLE,
    ToolBlock,
    block_of,
    catalog_row,
    catalog_section,
    rendered,
    section,
    tool_parameters,
    tool_schema,
)
from orchestrator.planning.models import AgentProfile, StepContext
from orchestrator.planning.trimming import estimate_tokens
from orchestrator.routing.cards.capability_card import probes_of
from orchestrator.routing.discovery import DiscoveryIndex
from orchestrator.routing.router import Router
from orchestrator.routing.selection import Band, RouteContext, Selection
from orchestrator.testing import fake_selection

_COUNT: Final = openai.o200k_base().count
"""Real tokens: o200k is the tokenizer of the GPT-4o family and its successors."""


def _tool(name: str, domain: str = "d", **more: object) -> Tool:
    return Tool.model_validate(
        {"name": name, "document": "d", "domain": domain, "input_schema": {}, **more}
    )


def _catalog(*tools: Tool) -> Catalog:
    return Catalog({}, {tool.name: tool for tool in tools})


def _selection(tools: Sequence[str], band: Band = "crisp") -> Selection:
    return fake_selection(*tools, catalog_size=1, band=band)


def _context(discovered: Iterable[str] = (), domains: Sequence[str] = ()) -> StepContext:
    return StepContext(
        mission_id="m",
        leg_id="l",
        step=1,
        mission_goal="",
        leg_goal="",
        agent=AgentProfile(name="a", domains=tuple(domains)),
        discovered=tuple(discovered),
        now=datetime(2026, 11, 21, 10, tzinfo=UTC),
        catalog_digest="",
    )


def _initial(catalog: Catalog, *domains: str) -> ToolBlock:
    """What an agent of these domains starts with: nothing is known of the step."""
    return block_of(_context(domains=domains), _selection([], "fail_open"), catalog)


def _text(block: ToolBlock) -> str:
    return "\n\n".join(one.text for one in rendered(block, "digest").values() if one.text)


def _flat(catalog: Catalog) -> str:
    return section(CORE_TITLE, map(tool_schema, catalog.tools.values()))


def test_the_initial_tool_block_is_at_most_38_percent_of_all_schemas(shipped: Catalog) -> None:
    """In real tokens, core tools and catalog against every schema, on the example documents."""
    assert _COUNT(_text(_initial(shipped))) <= 0.38 * _COUNT(_flat(shipped))


def test_the_initial_block_of_an_agent_of_one_domain_is_under_45_percent_of_its_own(
    shipped: Catalog,
) -> None:
    """Its baseline is the schemas of its own domain alone; whatever its core tools are."""
    for domain in {tool.domain for tool in shipped.tools.values()}:
        own = [tool for tool in shipped.tools.values() if tool.domain == domain]
        flat = _COUNT(section(CORE_TITLE, map(tool_schema, own)))
        block = _initial(shipped, domain)
        assert _COUNT(_text(block)) < 0.45 * flat, domain
        listed = {t.name for t in (*block.core, *block.deferred)}
        assert listed == {t.name for t in own} - probes_of(own)


def test_the_initial_block_keeps_its_share_for_any_part_of_a_catalog(shipped: Catalog) -> None:
    """Estimated as its budgets are; core tools give way, the meta tools and names never do."""
    tools = [*shipped.tools.values()]
    for size in (1, 5, 10, 20, 40, 93):
        part = _catalog(*tools[:size])
        block = _initial(part)
        flat = estimate_tokens(_flat(part))
        bare = estimate_tokens(_text(replace(block, core=())))
        assert estimate_tokens(_text(block)) <= max(0.45 * flat + 10, bare)


def test_with_pruning_the_block_is_at_most_15_percent(
    shipped: Catalog, step_context: StepContext
) -> None:
    """Each of the example requests of all tools, for an agent of every domain; 10% on average."""
    router, baseline = Router(shipped), _COUNT(_flat(shipped))
    shares = []
    for tool in shipped.tools.values():
        for request in tool.examples:
            selection = router.route(request, RouteContext(), now=step_context.now)
            block = block_of(step_context, selection, shipped)
            shares.append(_COUNT(_text(block)) / baseline)

    assert len(shares) > 100
    assert max(shares) <= 0.15
    assert sum(shares) / len(shares) <= 0.10


def test_the_estimate_is_above_the_real_count_for_schemas_and_prose(shipped: Catalog) -> None:
    """A budget kept by the estimate is kept in real tokens."""
    prose = " ".join(tool.description for tool in shipped.tools.values())

    for text in (_flat(shipped), prose, "日本語のホテルを予約してください。" * 20):
        assert _COUNT(text) <= estimate_tokens(text)


def test_core_tools_are_shown_whole_and_the_others_by_name(shipped: Catalog) -> None:
    """Every tool stands in exactly one of both sections, but for the probes of other tools."""
    block = _initial(shipped)

    assert {t.name for t in block.core} == {
        t.name for t in shipped.tools.values() if t.load_policy == "core"
    }
    probes = probes_of(shipped.tools.values())
    assert probes
    assert {t.name for t in block.deferred} == set(shipped.tools) - {
        t.name for t in block.core
    } - probes
    assert not block.discovered


def test_a_schema_is_one_line_of_json_with_name_description_and_parameters() -> None:
    """What a model needs to call the tool, and what it must know of consequences."""
    tool = _tool(
        "pay",
        summary="Pay a bill.",
        pii_fields=("iban",),
        card_type="structured-payment",
        input_schema={
            "type": "object",
            "properties": {"iban": {"pattern": "^[A-Z]{2}", "description": "Where it goes."}},
        },
    )

    assert json.loads(tool_schema(tool)) == {
        "name": "pay",
        "description": "Pay a bill. A person confirms each call.",
        "parameters": {
            "type": "object",
            "properties": {"iban": {"const": "pii:iban", "description": "Where it goes."}},
        },
    }
    assert "\n" not in tool_schema(tool)


def test_references_that_the_orchestrator_fills_are_not_shown() -> None:
    """Unless the contract requires them."""
    properties = {"client_reference": {"type": "string"}, "room": {"type": "string"}}
    schema = {"type": "object", "properties": properties}
    tool = _tool("book", input_schema=schema, reference_inputs=("client_reference",))
    required = tool.model_copy(
        update={"input_schema": {**schema, "required": ["client_reference"]}}
    )

    assert tool_parameters(tool)["properties"] == {"room": {"type": "string"}}
    assert tool_parameters(required)["properties"] == properties


def test_examples_that_tell_nothing_are_not_shown() -> None:
    """Of optional inputs and consequences, and where type, format or choices say what is taken."""
    day: JsonObject = {"type": "string", "format": "date"}
    city = {"type": "string", "minLength": 2}
    count = {"type": "integer", "minimum": 1, "maximum": 9}
    told: JsonObject = {**day, "examples": ["2026-12-03"]}
    plain = {**city, "examples": ["Berlin"]}

    def days(on: JsonObject) -> JsonObject:
        return {"type": "array", "items": {"type": "object", "properties": {"on": on}}}

    properties = {"on": told, "city": plain, "count": {**count, "examples": [1]}, "any": {}}
    properties |= {"days": days(told), "wish": plain}
    schema = {"type": "object", "properties": properties, "required": ["city"]}
    tool = _tool("t", input_schema=schema)

    shown = {"on": day, "city": plain, "count": count, "any": {}, "days": days(day), "wish": city}
    assert tool_parameters(tool)["properties"] == shown
    assert tool.properties["on"] == told
    changing = tool.model_copy(update={"effect": Effect.WRITE})
    shown |= {"city": city, "reason": {"type": "string"}}
    assert tool_parameters(changing)["properties"] == shown


def test_a_model_is_told_in_words_what_an_amount_counts() -> None:
    """It knows no extensions, and 25 for 25.00 EUR would be a quarter."""
    amount: JsonObject = {"type": "integer", "description": "To charge.", "x-orchet-price": True}
    schema = {"type": "object", "properties": {"amount": amount | {"x-orchet-minor-units": True}}}
    (shown,) = tool_parameters(_tool("charge", input_schema=schema))["properties"].values()  # type: ignore[union-attr]

    said = "To charge. Counts the smallest unit of its currency: 2500 for 25.00 EUR."
    assert shown == {"type": "integer", "description": said}


def test_the_catalog_has_a_line_each_grouped_by_domain() -> None:
    """Marked where a person confirms."""
    rows = [
        catalog_row(_tool("send", "messages", card_type="structured-message")),
        catalog_row(_tool("list_events", "calendar")),
        catalog_row(_tool("find", "messages")),
    ]

    assert catalog_section(rows, most_tokens=2_000).splitlines()[2:] == [
        "calendar:",
        "- list_events",
        "messages:",
        "- find",
        "- send [confirm]",
    ]


def test_what_the_router_selected_joins_the_full_schemas(
    shipped: Catalog, step_context: StepContext
) -> None:
    """Best first, and no core tool twice; those of other domains can still be discovered."""
    selected = ["flight_book_offer", "flight_search_offers"]
    block = block_of(step_context, _selection(selected), shipped)

    assert [t.name for t in block.step] == ["flight_book_offer"]
    assert "flight_search_offers" in {t.name for t in block.core}
    assert {t.domain for t in block.core} == {"flights"}
    assert "weather_get_forecast" in {t.name for t in block.deferred}


def test_core_tools_stay_for_the_best_tool_of_each_request(
    shipped: Catalog, step_context: StepContext
) -> None:
    """A close runner-up of another domain brings none; the second request of two does."""
    chosen = _selection(["flight_book_offer", "hotel_book_room", "car_book_offer"])
    frame = IntentFrame(clauses=("book a flight", "book a hotel"))
    two = chosen.model_copy(update={"frame": frame})

    assert {t.domain for t in block_of(step_context, chosen, shipped).core} == {"flights"}
    assert {t.domain for t in block_of(step_context, two, shipped).core} == {"flights", "hotels"}


def test_a_router_that_failed_open_keeps_every_core_tool(
    shipped: Catalog, step_context: StepContext
) -> None:
    """Nothing is known of the step then."""
    block = block_of(step_context, _selection(["flight_book_offer"], "fail_open"), shipped)

    assert block.core == _initial(shipped).core


def test_discovered_tools_stay_in_their_own_section(
    shipped: Catalog, step_context: StepContext
) -> None:
    """In the order in which they were found, selected or not."""
    found = ("weather_get_history", "message_send")
    context = step_context.model_copy(update={"discovered": found})
    block = block_of(context, _selection(["message_send"]), shipped)

    assert tuple(t.name for t in block.discovered) == found
    assert block.step == ()


def test_the_best_selected_tool_is_shown_whatever_its_size(step_context: StepContext) -> None:
    """A step without its tool would be lost."""
    huge = _tool("huge", description="word " * 50_000)
    block = block_of(step_context, _selection(["huge"]), _catalog(huge, _tool("small")))

    assert [t.name for t in block.step] == ["huge"]


def test_past_its_bound_the_catalog_shows_domains_with_counts() -> None:
    """The largest first; past its bound again, as many as fit, then how many are left."""
    rows = [("travel", f"travel_tool_{n}") for n in range(600)]
    rows += [("office", f"office_tool_{n}") for n in range(700)]
    many = [(f"domain_{n:05}", "tool" * 9) for n in range(10_000)]
    text = catalog_section(many, most_tokens=2_000)
    lines = text.splitlines()[2:]

    assert catalog_section(rows, most_tokens=2_000).splitlines()[2:] == [
        "- office: 700 tools",
        "- travel: 600 tools",
    ]
    assert lines[0] == "- domain_00000: 1 tools"
    assert lines[-1] == f"- {10_000 - len(lines) + 1} more domains"
    assert estimate_tokens(text) <= 2_000
    assert (section(CORE_TITLE, []), catalog_section([], most_tokens=9)) == ("", "")


_WORDS: Final = st.text(min_size=1, max_size=300)


@given(
    st.lists(st.tuples(_WORDS, _WORDS), max_size=60),
    st.integers(min_value=1, max_value=400),
    st.integers(min_value=200, max_value=4_000),
)
@settings(max_examples=60, deadline=None)
def test_the_catalog_section_is_bounded_for_any_catalog(
    rows: list[tuple[str, str]], times: int, most_tokens: int
) -> None:
    """Whatever the domains and tools are called, and however many there are."""
    many = [(f"{domain}{n}", name) for n in range(times) for domain, name in rows]

    assert estimate_tokens(catalog_section(many, most_tokens=most_tokens)) <= most_tokens


@given(
    st.integers(min_value=0, max_value=3_000),
    st.integers(min_value=1, max_value=3_000),
    st.sampled_from(["core", "deferred"]),
    st.integers(min_value=0, max_value=3_000),
    st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_the_tool_block_is_bounded_for_any_catalog(
    size: int, domains: int, policy: str, discovered: int, failed_open: bool
) -> None:
    """All core, all discovered, or all selected: nine sixteenths of the context at most."""
    tools = [
        _tool(f"tool_{n:05}", f"domain_{n % domains}", load_policy=policy, description="word " * 50)
        for n in range(size)
    ]
    catalog = _catalog(*tools)
    context = _context(t.name for t in tools[:discovered])
    selection = _selection(list(catalog.tools), "fail_open" if failed_open else "crisp")
    text = _text(block_of(context, selection, catalog))

    # The meta tools are a constant beside them.
    assert estimate_tokens(text) <= 32_000 * 9 // 16 + 500


def test_ten_thousand_tools_are_reached_by_discovery() -> None:
    """None of them is in the prompt by name, and each can be found."""
    tools = [
        _tool(f"ledger_{n:05}_close", f"books_{n % 40}", description=f"Closes ledger {n}.")
        for n in range(10_000)
    ]
    catalog = _catalog(*tools)
    text = _text(_initial(catalog))

    assert estimate_tokens(text) < 2_500
    assert "- books_7: 250 tools" in text
    assert "ledger_09999_close" not in text
    assert DiscoveryIndex(catalog).search("close ledger 09999")[0].name == "ledger_09999_close"


def test_meta_tools_stand_first_with_plain_schemas(shipped: Catalog) -> None:
    """Discovery, a question and both endings, without the titles that are there for nobody."""
    lines = _text(_initial(shipped)).splitlines()
    shown = [json.loads(line) for line in lines[1 : 1 + len(META_TOOLS)]]

    assert [schema["name"] for schema in shown] == [meta.name for meta in META_TOOLS]
    assert shown[0]["name"] == DISCOVER
    assert shown[0]["parameters"] == {
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
    }


_REPOSITORY: Final = Path(__file__).parents[4]


def test_the_document_shows_the_section_that_is_built(
    step_context: StepContext, shipped: Catalog
) -> None:
    """It is the section of an agent for weather, over the example documents."""
    agent = AgentProfile(name="weather", domains=("weather",))
    context = step_context.model_copy(update={"agent": agent})
    selection = fake_selection("weather_get_forecast", catalog_size=93, band="moderate")

    text = rendered(block_of(context, selection, shipped), "")["catalog"].text
    assert text
    assert text in (_REPOSITORY / "docs/routing.md").read_text(encoding="utf-8")


_ONE, _TWO = (
    Tool(name=name, document="d", domain="d", input_schema={"type": "object"})
    for name in ("one", "two")
)
_BLOCK = ToolBlock(core=(_ONE,), step=(), discovered=(), deferred=(_TWO,), catalog_tokens=2_000)
_FOUND = ToolBlock((_ONE,), (), (_TWO,), (_TWO,), 2_000)


def test_a_refresh_is_free_when_nothing_changed() -> None:
    """The most stable sections come first; another catalog may have other schemas."""
    before = rendered(_BLOCK, "digest")
    after = rendered(_BLOCK, "digest", before)
    other = rendered(_BLOCK, "another", before)

    assert [*before] == ["core", "catalog", "discovered", "step"]
    assert [name for name, one in before.items() if one.text] == ["core", "catalog"]
    assert all(after[name] is before[name] for name in before)
    assert all(other[name] is not before[name] for name in before)


def test_a_discovery_changes_its_own_section_only() -> None:
    """Core tools and the catalog stay as they were sent; what is empty again is forgotten."""
    before = rendered(_BLOCK, "digest")
    found = rendered(_FOUND, "digest", before)
    again = rendered(_BLOCK, "digest", found)

    assert [name for name in found if found[name] is not before[name]] == ["discovered"]
    assert found["discovered"].text == rendered(_FOUND, "digest")["discovered"].text != ""
    assert again["discovered"].text == ""
    assert again["core"] is before["core"]
