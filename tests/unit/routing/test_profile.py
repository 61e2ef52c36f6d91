"""The routing profile, as docs/routing.md tells it."""

import re
from pathlib import Path
from typing import Final

import pytest

from orchestrator.core.errors import DocumentUnreadable
from orchestrator.routing.profile import DROPPED, FeatureWeights
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


def test_a_profile_that_weighs_dropped_features_is_read_without_them(tmp_path: Path) -> None:
    """Written before they were dropped; a name that never was one is refused as ever."""
    old, wrong = tmp_path / "old.json", tmp_path / "wrong.json"
    old.write_text('{"weights": {"tags": 0.3, "held": -0.6, "name": 0.2}}', "utf-8")
    wrong.write_text('{"weights": {"nmae": 0.2}}', "utf-8")

    profile = load_routing_profile(old)

    assert profile is not None
    assert profile.weights == FeatureWeights(name=0.2)
    assert DROPPED.isdisjoint(FeatureWeights.model_fields)
    with pytest.raises(DocumentUnreadable):
        load_routing_profile(wrong)
