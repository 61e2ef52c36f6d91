"""What a leg that orders nothing is ended by: something that was read, and no word alone."""

from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.planning.finishing import doubt_about_finish, nothing_read
from orchestrator.planning.models import (
    ANSWER,
    FINISH,
    AgentProfile,
    Fact,
    GoalCondition,
    Observation,
    StepContext,
)


def asked(*seen: Observation, **more: Any) -> StepContext:
    """A leg that is to tell something, at its end."""
    return StepContext(
        mission_id="m",
        leg_id="1-weather",
        step=9,
        mission_goal="What is the weather in Oslo?",
        leg_goal="What is the weather in Oslo?",
        agent=AgentProfile(name="weather"),
        observations=seen,
        now=datetime(2026, 11, 23, tzinfo=UTC),
        catalog_digest="d" * 64,
        **more,
    )


def seen(outcome: Any, tool: str = "get_weather") -> Observation:
    return Observation(step=1, tool=tool, outcome=outcome)


@pytest.mark.parametrize(
    ("context", "why"),
    [
        (asked(), "nothing was looked up"),
        (asked(seen("discovered", "tools.discover")), "nothing was looked up"),
        (asked(seen("unusable", ANSWER)), "nothing was looked up"),
        (asked(seen("rejected")), "nothing was answered by get_weather"),
        (asked(seen("unknown"), seen("invalid", "other")), "by get_weather, other"),
    ],
)
def test_what_nobody_read_is_a_planners_word(context: StepContext, why: str) -> None:
    """It is told so once; then the leg ends, and nothing proves it."""
    assert why in nothing_read(context)
    assert why in (doubt_about_finish(context) or "")
    told = context.model_copy(
        update={"observations": (*context.observations, seen("refused", FINISH))}
    )
    assert doubt_about_finish(told) is None
    assert why in nothing_read(told)


@pytest.mark.parametrize(
    "context",
    [
        asked(seen("rejected"), seen("succeeded")),
        asked(facts=(Fact(source="0-a.1", tool="get_weather"),)),
        asked(decides=(GoalCondition(clause="if it rains", told="it rains"),), only_looks=True),
    ],
)
def test_what_was_read_may_be_told(context: StepContext) -> None:
    """By the leg, or by one before it; a condition is decided by what was found, or by a person."""
    assert nothing_read(context) == ""
    assert doubt_about_finish(context) is None
