"""What models took of a mission, drawn with rich: leg by leg and step by step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rich.console import Console

from orchestrator.cli.drawing import line, table_of

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
    from orchestrator.core.budget import Usage
    from orchestrator.messages.leg import LegResult
    from orchestrator.messages.mission import MissionResult

_MOST_STEPS: Final = 10
"""The newest steps of a leg; those before are counted in its sum."""


def models(console: Console, result: MissionResult) -> None:
    """Tokens and cost of each leg and of its newest steps; nothing where no model was asked."""
    if not result.usage.requests:
        return
    table = table_of("leg", "step", "requests", "tokens in", "of them cached", "out", "cost")
    for leg in result.legs:
        for row in _rows(leg):
            table.add_row(*row)
    console.print()
    console.print(line(("models", "bold")))
    console.print(table)
    console.print(f"models: {result.usage}")


def _rows(leg: LegResult) -> Iterator[tuple[str, ...]]:
    asked = [step for step in leg.steps if step.usage is not None and step.usage.requests]
    for step in asked[-_MOST_STEPS:]:
        assert step.usage is not None
        yield ("", step.label, *_figures(step.usage))
    if leg.usage.requests:
        yield (leg.leg_id, "all", *_figures(leg.usage))


def _figures(usage: Usage) -> tuple[str, ...]:
    counts = (usage.requests, usage.input_tokens, usage.cached_tokens, usage.output_tokens)
    return (*(f"{count:,}" for count in counts), usage.told_cost)
