"""What models took of a mission, as people read it."""

from decimal import Decimal
from io import StringIO

from rich.console import Console

from orchestrator.cli import render_missions
from orchestrator.core.budget import Usage
from orchestrator.messages.leg import LegResult, LegStatus
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.step import StepRecord

STEP = Usage(
    requests=1,
    input_tokens=4_000,
    cached_tokens=3_072,
    output_tokens=50,
    cost_usd=Decimal("0.0042"),
)


def _shown(*usages: Usage) -> str:
    steps = tuple(
        StepRecord(
            step=n,
            tools_forwarded=(),
            catalog_size=9,
            band="crisp",
            did="call find",
            outcome="succeeded",
            usage=usage,
        )
        for n, usage in enumerate(usages, 1)
    )
    total = Usage.total(usages)
    leg = LegResult(
        leg_id="1-x", agent="a", goal="g", status=LegStatus.SUCCEEDED, steps=steps, usage=total
    )
    result = MissionResult(
        mission_id="m", goal="g", status=MissionStatus.SUCCEEDED, legs=(leg,), usage=total
    )
    written = StringIO()
    render_missions.mission(Console(file=written, width=200), result)
    return written.getvalue()


def test_tokens_and_cost_are_shown_by_step_and_leg() -> None:
    """With what came from a cache."""
    text = _shown(STEP, STEP)

    assert text.count("0.0042 USD") == 2
    assert "2 requests, 8,000 tokens in (6,144 cached), 100 out, 0.0084 USD" in text


def test_what_nobody_knows_the_price_of_costs_not_nothing() -> None:
    """0 would be a lie."""
    unknown = Usage(requests=1, input_tokens=10, unpriced=1)

    assert "0.0000 USD" not in _shown(unknown)
    assert "price unknown" in _shown(unknown)
    assert "0.0042 USD and 1 of unknown price" in _shown(STEP, unknown)


def test_where_no_model_was_asked_nothing_is_said_of_any() -> None:
    """As with the planner by rules."""
    assert "models" not in _shown()
