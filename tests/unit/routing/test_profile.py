"""The routing profile, as docs/routing.md tells it."""

import re
from pathlib import Path
from typing import Final

from orchestrator.routing.profile import FeatureWeights

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
