"""Limits of agents, legs and missions, and the use that counts against them: pure arithmetic.

A limit is reached when the use equals it; nothing new begins then. The use of one model request is
known only after its answer, so the last request may exceed a limit.
"""

from collections.abc import Iterable
from datetime import timedelta
from decimal import ROUND_FLOOR, Decimal
from functools import reduce
from typing import Final

from pydantic import Field

from orchestrator.core.budget import Usage
from orchestrator.core.record import Record

WALL_CLOCK: Final = "wall_clock"
_TOLD: Final = {
    "requests": "requests to models",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "total_tokens": "tokens",
    "cost_usd": "USD for models",
    "tool_calls": "tool calls",
    "steps": "steps",
    WALL_CLOCK: "wall clock time",
}
_OF_MODELS: Final = frozenset(
    {"requests", "input_tokens", "output_tokens", "total_tokens", "cost_usd"}
)
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))

Figures = dict[str, Decimal]
"""Amounts by the name of the figure; a figure that is absent is unlimited."""


class Limits(Record):
    """Limits on use; a figure that is left out is unlimited."""

    requests: int | None = Field(default=None, ge=1, description="requests that models answered")
    input_tokens: int | None = Field(default=None, ge=1)
    output_tokens: int | None = Field(default=None, ge=1)
    total_tokens: int | None = Field(default=None, ge=1, description="input and output tokens")
    cost_usd: Decimal | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="cost of models, as far as prices are known",
    )
    tool_calls: int | None = Field(default=None, ge=1, description="calls sent")
    steps: int | None = Field(default=None, ge=1, description="decisions of planners")
    wall_clock: timedelta | None = Field(
        default=None,
        gt=timedelta(),
        description="time since the beginning, waits for people included",
    )

    @property
    def figures(self) -> Figures:
        """Return the limited figures, without the wall clock time."""
        named = ((name, getattr(self, name)) for name in _TOLD if name != WALL_CLOCK)
        return {name: Decimal(most) for name, most in named if most is not None}

    def intersect(self, other: "Limits") -> "Limits":
        """Return the limits that satisfy both: the tighter of each figure."""
        both = {n: [getattr(self, n), getattr(other, n)] for n in Limits.model_fields}
        said = {name: [one for one in two if one is not None] for name, two in both.items()}
        return Limits(**{name: min(ones) for name, ones in said.items() if ones})


class Used(Record):
    """The use of a leg, or of a whole mission."""

    usage: Usage = Field(default_factory=Usage)
    tool_calls: int = 0
    steps: int = 0

    @property
    def figures(self) -> Figures:
        """Return the use by limitable figure."""
        return {
            **figures_of(self.usage),
            "tool_calls": Decimal(self.tool_calls),
            "steps": Decimal(self.steps),
        }

    def plus(self, other: "Used") -> "Used":
        """Return the sum of this and another."""
        return Used(
            usage=self.usage.plus(other.usage),
            tool_calls=self.tool_calls + other.tool_calls,
            steps=self.steps + other.steps,
        )

    @staticmethod
    def total(several: "Iterable[Used]") -> "Used":
        """Return the sum of several."""
        return reduce(Used.plus, several, Used())


class LimitReached(Record):
    """A limit that ended a leg: the figure, the amount used, and the limit's owner."""

    figure: str
    used: Decimal
    limit: Decimal
    of: str = Field(description="owner of the limit: `the agent scout`, `each leg`, `the mission`")

    def __str__(self) -> str:
        """Return a sentence: `the limit of the mission is reached: used 12 of 10 tokens`."""
        label = _TOLD.get(self.figure, self.figure)
        used, limit = _amount(self.figure, self.used), _amount(self.figure, self.limit)
        return f"the limit of {self.of} is reached: used {used} of {limit} {label}"

    def is_still_reached_by(self, raised: Limits) -> bool:
        """Return True if another value of the figure leaves nothing more to use."""
        value = getattr(raised, self.figure)
        most = value.total_seconds() if isinstance(value, timedelta) else value
        return Decimal(str(most)) <= self.used


class Allowance(Record):
    """The remaining amount of each limited figure."""

    left: Figures = Field(default_factory=dict)

    def is_spent_by(self, usage: Usage) -> bool:
        """Return True if this usage leaves nothing for another model request."""
        used = figures_of(usage)
        return any(used[name] >= most for name, most in self.left.items() if name in used)

    def part(self, others: int) -> "Allowance":
        """Return an equal part, next to that many others; of less than a unit, all that is left."""
        parts: Figures = {}
        for name, most in self.left.items():
            unit = Decimal("0.01") if name == "cost_usd" else Decimal(1)
            parts[name] = (most / (1 + others)).quantize(unit, ROUND_FLOOR)
        return Allowance(left=parts) if all(parts.values()) else self

    def without(self, parts: "Iterable[Allowance]") -> "Allowance":
        """Return the rest after these parts, never below zero."""
        gone = [part.left for part in parts]
        left = {n: most - sum(p.get(n, Decimal(0)) for p in gone) for n, most in self.left.items()}
        return Allowance(left={n: max(most, Decimal(0)) for n, most in left.items()})

    def of_models(self) -> "Allowance":
        """Return the part that model requests use up."""
        return Allowance(left={n: most for n, most in self.left.items() if n in _OF_MODELS})

    def intersect(self, other: "Allowance") -> "Allowance":
        """Return the allowance that satisfies both: the smaller of each figure."""
        return Allowance(left=least(self.left, other.left))


def figures_of(usage: Usage) -> Figures:
    """Return the use of models by limited figure."""
    return {
        "requests": Decimal(usage.requests),
        "input_tokens": Decimal(usage.input_tokens),
        "output_tokens": Decimal(usage.output_tokens),
        "total_tokens": Decimal(usage.input_tokens + usage.output_tokens),
        "cost_usd": usage.cost_usd,
    }


def least(one: Figures, other: Figures) -> Figures:
    """Return the smaller of each figure; a figure on one side only is included."""
    names = dict.fromkeys([*one, *other])
    return {name: min(each[name] for each in (one, other) if name in each) for name in names}


def left_of_limits(limits: Limits, used: Used) -> Allowance:
    """Return the rest of each limit, never below zero."""
    gone = used.figures
    left = {name: max(most - gone[name], Decimal(0)) for name, most in limits.figures.items()}
    return Allowance(left=left)


def reached(limits: Limits, used: Used, *, of: str, calls: bool = False) -> LimitReached | None:
    """Return the first limit that prevents the next step, or with `calls` the next call.

    A leg that has made all its calls may still end: the limit of tool calls prevents no step.
    """
    gone = used.figures
    for name, most in limits.figures.items():
        if gone[name] >= most and (name == "tool_calls") is calls:
            return LimitReached(figure=name, used=gone[name], limit=most, of=of)
    return None


def out_of_time(limit: timedelta | None, passed: timedelta, *, of: str) -> LimitReached | None:
    """Return the reached limit; None if time remains or is unlimited."""
    if limit is None or passed < limit:
        return None
    used, most = (Decimal(str(round(t.total_seconds(), 3))) for t in (passed, limit))
    return LimitReached(figure=WALL_CLOCK, used=used, limit=most, of=of)


def _amount(figure: str, value: Decimal) -> str:
    if figure == WALL_CLOCK:
        left, parts = int(value), []
        for size, unit in _UNITS:
            number, left = divmod(left, size)
            if number:
                parts.append(f"{number} {unit}")
        return " ".join(parts[:2]) or f"{value.normalize():f} s"
    return f"{value:,.4f}".rstrip("0").rstrip(".") if value % 1 else f"{value:,.0f}"
