"""The numbers the router works with: feature weights and band thresholds."""

from typing import Any, Final

from pydantic import Field, model_validator

from orchestrator.core.record import Record

DROPPED: Final = frozenset({"tags", "held", "spelling", "action", "slots"})
"""Features that there were once; a profile that still weighs them is read without them."""


class FeatureWeights(Record):
    """What each feature adds to a fused score.

    The first three are BM25 scores and share one scale: together they make the evidence of the
    words, 1 for the best card. The others lie in [-1, 1].
    """

    text: float = 1.0
    schema_text: float = 0.6
    examples: float = 1.4
    joint: float = Field(
        default=2.0,
        description="the three as one field, in which a word counts once; 1 for the best",
    )
    near: float = Field(default=1.8, description="words that stand near each other in both")
    order: float = Field(default=0.6, description="words that follow each other in both")
    name: float = 0.7
    domain: float = 0.8
    effect: float = 1.0
    fit: float = Field(default=0.26, description="share of the required inputs that can be filled")
    coverage: float = Field(
        default=0.0, description="share of the request's words that it has; widths are read from it"
    )
    agent: float = Field(
        default=0.6, description="tools of the domains that the agent prefers; it forbids nothing"
    )
    negated: float = Field(default=1.0, description="names that say what is not wanted")
    own: float = Field(
        default=0.8, description="views of what was booked, for or against: my flights, flights"
    )
    embedding: float = Field(
        default=1.6, description="nearness of vectors, when an embedder is configured"
    )
    alike: float = Field(
        default=1.5,
        description="the nearest word of the tool for each word, with the built-in embedder",
    )
    learned: float = Field(default=2.0, description="what `RoutingProfile.learned` counts")

    @model_validator(mode="before")
    @classmethod
    def _without_dropped(cls, content: Any) -> Any:
        """The weights without those of dropped features; other unknown names are left to refuse."""
        if not isinstance(content, dict):
            return content
        return {name: weight for name, weight in content.items() if name not in DROPPED}


class RoutingProfile(Record):
    """Weights and thresholds; the defaults are fitted to public routing data."""

    weights: FeatureWeights = FeatureWeights()
    related: float = Field(
        default=0.4, ge=0, le=1, description="what a word of the same family counts: book, booking"
    )
    synonym: float = Field(default=0.3, ge=0, le=1, description="what a synonym counts")
    crisp: float = Field(default=0.72, description="confidence from which one tool suffices")
    unsure: float = Field(
        default=0.55, description="confidence below which a request gets no fewer than three tools"
    )
    sure: float = Field(
        default=0.92, description="chance to have all that is needed from which no tool is added"
    )
    gain: float = Field(
        default=0.05,
        description="least gain of the root of the chance to have all that is needed that a tool "
        "is worth: lower forwards more",
    )
    side_effect_sure: float = Field(
        default=0.9, description="confidence from which a side effect needs no third tool"
    )
    fits: float = Field(default=0.85, description="evidence below which no tool fits a text")
    apart: float = Field(
        default=0.8,
        description="what the parts of a clause must gain over the whole to be requests of their "
        "own; in words that only one tool has",
    )
    least_fitness: float = Field(
        default=0.15, ge=0, le=1, description="fitness of the best tool below which nothing fits"
    )
    learned: dict[str, float] = Field(
        default_factory=dict, description="tool to what calibration adds to its score"
    )
