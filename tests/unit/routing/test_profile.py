"""The routing profile, as docs/routing.md tells it."""

import re
from pathlib import Path
from typing import Final

import pytest

from orchestrator.core.errors import DocumentUnreadable
from orchestrator.routing.profile import FeatureWeights
from orchestrator.settings import load_routing_profile

PAGE: Final = Path(__file__).parents[3] / "docs" / "routing.md"


def test_the_documented_weights_are_the_defaults() -> None:
    """Every feature stands in the table once, with the weight that it has."""
    rows = re.findall(r"^\| (`.*`) \| .* \| ([-\d., ]+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    documented = [
        (feature, float(weight))
        for features, weights in rows
        for feature, weight in zip(re.findall(r"\w+", features), weights.split(", "), strict=True)
        if feature in FeatureWeights.model_fields
    ]

    assert sorted(documented) == sorted(FeatureWeights().model_dump().items())


def test_an_unknown_feature_is_refused(tmp_path: Path) -> None:
    """A profile with a misspelt weight is not read."""
    path = tmp_path / "profile.json"
    path.write_text('{"weights": {"nmae": 0.2}}', "utf-8")

    with pytest.raises(DocumentUnreadable):
        load_routing_profile(path)
