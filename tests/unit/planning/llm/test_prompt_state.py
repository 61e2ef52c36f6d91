"""Prompt refresh: unchanged sections are not rendered again."""

from orchestrator.catalog.tool import Tool
from orchestrator.planning.llm.prompt import ToolBlock, rendered

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
