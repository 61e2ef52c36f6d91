"""Prompt refresh: unchanged sections are neither built nor sent again."""

from collections.abc import Callable

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.planning.llm.prompt import ToolBlock
from orchestrator.planning.llm.prompt_state import PromptState, SectionSource, tool_sources


class Built:
    """Counts how often a section is built."""

    def __init__(self) -> None:
        self.times = 0

    def source(self, name: str, fingerprint: str, text: str) -> SectionSource:
        return SectionSource(name, fingerprint, self._counting(text))

    def _counting(self, text: str) -> Callable[[], str]:
        def build() -> str:
            self.times += 1
            return text

        return build


def test_the_first_refresh_sends_everything() -> None:
    """Nothing was sent before."""
    built = Built()
    _, changed = PromptState().refreshed([built.source("a", "1", "A"), built.source("b", "1", "B")])

    assert [s.text for s in changed] == ["A", "B"]


def test_a_refresh_is_free_when_nothing_changed() -> None:
    """Nothing is built, nothing is sent, and the state is the same object."""
    built = Built()
    sources = [built.source("a", "1", "A"), built.source("b", "1", "B")]
    state, _ = PromptState().refreshed(sources)
    again, changed = state.refreshed(sources)

    assert built.times == 2
    assert changed == ()
    assert again is state


def test_only_the_changed_section_is_built_and_sent() -> None:
    """The others keep their place."""
    built = Built()
    state, _ = PromptState().refreshed([built.source("a", "1", "A"), built.source("b", "1", "B")])
    state, changed = state.refreshed([built.source("a", "1", "A"), built.source("b", "2", "B2")])

    assert built.times == 3
    assert [s.name for s in changed] == ["b"]
    assert state.text("a", "b") == "A\n\nB2"


def test_a_section_made_from_other_things_with_the_same_text_is_not_sent() -> None:
    """The text decides, as it is what is sent."""
    built = Built()
    state, _ = PromptState().refreshed([built.source("a", "1", "A")])
    _, changed = state.refreshed([built.source("a", "2", "A")])

    assert built.times == 2
    assert changed == ()


def test_a_section_that_is_gone_is_forgotten() -> None:
    """It would be sent again if it came back."""
    built = Built()
    state, _ = PromptState().refreshed([built.source("a", "1", "A"), built.source("b", "1", "B")])
    state, changed = state.refreshed([built.source("a", "1", "A")])

    assert changed == ()
    assert set(state.sections) == {"a"}


def test_a_discovery_changes_its_own_section_only() -> None:
    """Core tools and the catalog stay as they were sent."""
    tools = {
        name: Tool(name=name, document="d", domain="d", input_schema={"type": "object"})
        for name in ("one", "two")
    }
    digest = Catalog({}, tools).digest
    before = ToolBlock((tools["one"],), (), (), (tools["two"],), 2_000)
    after = ToolBlock((tools["one"],), (), (tools["two"],), (tools["two"],), 2_000)

    state, _ = PromptState().refreshed(tool_sources(before, digest))
    _, changed = state.refreshed(tool_sources(after, digest))
    assert [s.name for s in changed] == ["discovered"]
