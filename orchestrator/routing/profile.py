"""The numbers the router works with: feature weights and band thresholds."""

from pydantic import Field

from orchestrator.core.record import Record


class FeatureWeights(Record):
    """What each feature adds to a fused score.

    The first three are BM25 scores and share one scale: together they make the evidence of the
    words, 1 for the best card. The others lie in [-1, 1].
    """

    text: float = 1.0
    schema_text: float = 0.6
    examples: float = 1.2
    coverage: float = Field(
        default=0.0, description="share of the request's words that it has; widths are read from it"
    )
    near: float = Field(default=1.2, description="words that stand near each other in both")
    name: float = 0.5
    effect: float = 0.5
    agent: float = Field(
        default=0.3, description="tools of the domains that the agent prefers; it forbids nothing"
    )
    negated: float = Field(default=0.5, description="names that say what is not wanted")
    own: float = Field(
        default=0.4, description="views of what was booked, for or against: my flights, flights"
    )
    embedding: float = Field(
        default=1.0, description="nearness of vectors, when an embedder is configured"
    )
    learned: float = Field(default=1.0, description="what `RoutingProfile.learned` counts")


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
    learned: dict[str, float] = Field(
        default_factory=dict, description="tool to what calibration adds to its score"
    )
