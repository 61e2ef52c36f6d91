"""Which documents and overlays a service works on."""

import warnings
from pathlib import Path

import pytest
import yaml

from orchestrator.cli.document_options import choose
from orchestrator.core.errors import OverlayWarning
from orchestrator.settings import Settings


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """An overlay for a document that is not there."""
    overlay = {
        "overlay": "1.0.0",
        "info": {"title": "Other", "version": "1"},
        "extends": "erp.yaml",
        "actions": [{"target": "$", "update": {"x-other": True}}],
    }
    file = tmp_path / "other.yaml"
    file.write_text(yaml.safe_dump(overlay))
    return file


def test_the_settings_overlays_stay_with_other_documents_that_they_fit(
    crm: Path, ours: Path, other: Path
) -> None:
    """One that is for a document which is not among them is left out, and said."""
    settings = Settings(specs=(Path("specs"),), overlays=(ours, other))

    with pytest.warns(OverlayWarning, match=r"other\.yaml .* extends erp\.yaml"):
        chosen = choose(settings, [crm], None)

    assert chosen == ((crm,), (ours,))


def test_what_the_command_line_names_comes_first(crm: Path, ours: Path, other: Path) -> None:
    """Overlays that are named are those that are applied; without any name, the settings'."""
    settings = Settings(specs=(crm,), overlays=(ours,))
    with warnings.catch_warnings(action="error"):
        assert choose(settings, None, [other]) == ((crm,), (other,))
        assert choose(settings, None, None) == ((crm,), (ours,))
        assert choose(settings, [other], [ours]) == ((other,), (ours,))
        assert choose(Settings(specs=(crm,)), [other], None) == ((other,), ())
