"""Prompt refresh: unchanged sections are not rendered again."""

from orchestrator.catalog.tool import Tool
from orchestrator.planning.llm.prompt import ToolBlock, rendered

_ONE, _TWO = (
    Tool(name=name, document="d", domain="d", input_schema={"type": "object"})
    for name in ("one", "two")
)
_BLOCK = ToolBlock(core=(_ONE,), step=(), discovered=(), deferred=(_TWO,), catalog_tokens=2_000)
_FOUND = ToolBlock((_ONE,), (), (_TWO,), (_TWO,), 2_000)


def test_the_first_refresh_renders_everything() -> None:
    """The most stable sections come first."""
    sections = rendered(_BLOCK, "digest")

    assert [*sections] == ["core", "catalog", "discovered", "step"]
    assert [name for name, one in sections.items() if one.text] == ["core", "catalog"]


def test_a_refresh_is_free_when_nothing_changed() -> None:
    """The sections are the very same, so that nothing is rendered."""
    before = rendered(_BLOCK, "digest")
    after = rendered(_BLOCK, "digest", before)

    assert all(after[name] is before[name] for name in before)


def test_a_discovery_changes_its_own_section_only() -> None:
    """Core tools and the catalog stay as they were sent."""
    before = rendered(_BLOCK, "digest")
    after = rendered(_FOUND, "digest", before)

    assert [name for name in after if after[name] is not before[name]] == ["discovered"]
    assert after["discovered"].text == rendered(_FOUND, "digest")["discovered"].text != ""


def test_a_section_that_is_empty_again_is_forgotten() -> None:
    """It is rendered again if it comes back."""
    before = rendered(_FOUND, "digest")
    after = rendered(_BLOCK, "digest", before)

    assert after["discovered"].text == ""
    assert after["core"] is before["core"]


def test_another_catalog_renders_everything_again() -> None:
    """Tools of the same name may have other schemas there."""
    before = rendered(_BLOCK, "digest")
    after = rendered(_BLOCK, "another", before)

    assert all(after[name] is not before[name] for name in before)
