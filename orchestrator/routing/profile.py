"""The router's parameters: feature weights, band thresholds and time limits."""

from collections.abc import Callable
from typing import Final

from pydantic import Field

from orchestrator.core.record import Record

PROXY_LIMIT_S: Final = 0.05
"""Default time limit of one routing in seconds: the delay that a proxy may add to a call."""
STEP_LIMIT_S: Final = 1.0
"""Time limit of a mission step in seconds: a busy machine may need that long for a millisecond's
work, and the call that follows takes longer."""
STEP_VECTORS_S: Final = 0.3
"""The part of that limit for which a step waits for the vectors of an external embedder."""


class FeatureWeights(Record):
    """The weight of each feature in a fused score.

    The first three are BM25 scores on one scale; together they are the evidence of the words, 1 for
    the best card. The others lie in [-1, 1].
    """

    text: float = 1.0
    schema_text: float = 0.6
    examples: float = 1.4
    joint: float = Field(
        default=2.0,
        description="the three as one field, in which a word counts once; 1 for the best",
    )
    near: float = Field(default=1.8, description="words that stand near each other in both")
    name: float = 0.7
    domain: float = 0.4
    effect: float = 1.0
    fit: float = Field(default=0.26, description="share of the required inputs that can be filled")
    agent: float = Field(
        default=0.6, description="tools of the domains that the agent prefers; it forbids nothing"
    )
    negated: float = Field(default=1.0, description="names that say what is not wanted")
    embedding: float = Field(
        default=1.6, description="nearness of vectors, when an embedder is configured"
    )
    alike: float = Field(
        default=1.5,
        description="the nearest word of the tool for each word, with the built-in embedder",
    )
    learned: float = Field(default=2.0, description="what `RoutingProfile.learned` counts")


class RoutingProfile(Record):
    """Weights and thresholds; the defaults are fitted to public routing data."""

    weights: FeatureWeights = FeatureWeights()
    synonym: float = Field(default=0.3, ge=0, le=1, description="what a synonym counts")
    crisp: float = Field(default=0.72, description="confidence from which one tool suffices")
    unsure: float = Field(
        default=0.55, description="confidence below which a request gets no fewer than three tools"
    )
    sure: float = Field(
        default=0.92, description="chance to have all that is needed from which no tool is added"
    )
    gain: float = Field(
        default=0.045,
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


class OutOfTime(Exception):
    """Routing exceeded its time limit; never leaves the router."""


class Deadline:
    """The deadline of one routing, checked between its stages.

    Nothing is interrupted: a stage that hangs holds the request until it returns, and its result is
    then discarded.
    """

    def __init__(self, clock: Callable[[], float] | None, timeout_s: float) -> None:
        """Start the clock.

        Args:
            clock: seconds from any origin, monotonic; None: no deadline.
            timeout_s: seconds from now.
        """
        self._clock = clock
        self._timeout_s = timeout_s
        self._end = clock() + timeout_s if clock else 0.0

    def check(self, stage: str) -> None:
        """Raise `OutOfTime`, naming the stage that has just ended, if the deadline has passed."""
        if self._clock and self._clock() > self._end:
            raise OutOfTime(f"took over {self._timeout_s * 1000:g} ms, up to {stage}")


NO_DEADLINE: Final = Deadline(None, 0)
