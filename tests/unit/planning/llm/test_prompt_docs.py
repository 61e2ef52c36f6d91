"""docs/routing.md shows the catalog section of a prompt as it really is."""

from pathlib import Path
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.llm.prompt import block_of, rendered
from orchestrator.planning.models import AgentProfile, StepContext
from orchestrator.testing import fake_selection

_ROOT: Final = Path(__file__).parents[4]


def test_the_document_shows_the_section_that_is_built(
    step_context: StepContext, shipped: Catalog
) -> None:
    """It is the section of an agent for weather, over the example documents."""
    agent = AgentProfile(name="weather", domains=("weather",))
    context = step_context.model_copy(update={"agent": agent})
    selection = fake_selection("weather_get_forecast", catalog_size=93, band="moderate")

    text = rendered(block_of(context, selection, shipped), "")["catalog"].text
    assert text
    assert text in (_ROOT / "docs/routing.md").read_text(encoding="utf-8")
