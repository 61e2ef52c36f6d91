"""docs/prompt.md shows a prompt as it really is."""

from pathlib import Path
from typing import Final

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.llm.prompt import block_of
from orchestrator.planning.llm.prompt_state import PromptState, tool_sources
from orchestrator.planning.models import AgentProfile, StepContext
from orchestrator.testing import fake_selection

_ROOT: Final = Path(__file__).parents[4]


@pytest.mark.parametrize("name", ["core", "catalog", "discovered", "step"])
def test_the_document_shows_the_sections_that_are_built(
    step_context: StepContext, shipped: Catalog, name: str
) -> None:
    """Of the step that it describes, over the example documents."""
    agent = AgentProfile(name="office", domains=("messages", "weather"))
    context = step_context.model_copy(
        update={"agent": agent, "discovered": ("weather_list_alerts",)}
    )
    selection = fake_selection(
        "message_find_channels", "weather_get_forecast", catalog_size=93, band="moderate"
    )
    block = block_of(context, selection, shipped)
    state, _ = PromptState().refreshed(tool_sources(block, ""))

    text = state.text(name)
    assert text
    assert text in (_ROOT / "docs/prompt.md").read_text(encoding="utf-8")
