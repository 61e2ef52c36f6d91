"""What agents, legs and missions may use up, and what was used of it: pure arithmetic.

A limit is reached when as much was used as it says: nothing more is begun then. What one request
to a model takes is known only once it is answered, so its last request may go beyond a limit.
"""

from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
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
"""Amounts by the name of what they are of; what is not named is not limited."""


class Limits(Record):
    """What may be used up; what is left out is not limited."""

    requests: int | None = Field(default=None, ge=1, description="requests that models answered")
    input_tokens: int | None = Field(default=None, ge=1)
    output_tokens: int | None = Field(default=None, ge=1)
    total_tokens: int | None = Field(default=None, ge=1, description="of input and output")
    cost_usd: Decimal | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="of models, as far as prices are known"
    )
    tool_calls: int | None = Field(default=None, ge=1, description="calls that were sent")
    steps: int | None = Field(default=None, ge=1, description="decisions of planners")
    wall_clock: timedelta | None = Field(
        default=None, gt=timedelta(), description="from the beginning on, waits for people included"
    )

    @property
    def figures(self) -> Figures:
        """What is limited beside the time that passes."""
        named = ((name, getattr(self, name)) for name in _TOLD if name != WALL_CLOCK)
        return {name: Decimal(most) for name, most in named if most is not None}

    def beside(self, other: "Limits") -> "Limits":
        """What holds where both do: of each the tighter."""
        both = {n: [getattr(self, n), getattr(other, n)] for n in Limits.model_fields}
        said = {name: [one for one in two if one is not None] for name, two in both.items()}
        return Limits(**{name: min(ones) for name, ones in said.items() if ones})


class Used(Record):
    """What a leg, or all of a mission, has used up."""

    usage: Usage = Field(default_factory=Usage)
    tool_calls: int = 0
    steps: int = 0

    @property
    def figures(self) -> Figures:
        """By what may be limited."""
        return {
            **figures_of(self.usage),
            "tool_calls": Decimal(self.tool_calls),
            "steps": Decimal(self.steps),
        }

    def plus(self, other: "Used") -> "Used":
        """This and another."""
        return Used(
            usage=self.usage.plus(other.usage),
            tool_calls=self.tool_calls + other.tool_calls,
            steps=self.steps + other.steps,
        )

    @staticmethod
    def total(several: "Iterable[Used]") -> "Used":
        """The sum of several."""
        return reduce(Used.plus, several, Used())


class LimitReached(Record):
    """A limit that ended a leg: what was used up, how much of it, and whose limit it is."""

    figure: str
    used: Decimal
    limit: Decimal
    of: str = Field(description="whose limit: `the agent scout`, `each leg`, `the mission`")

    def __str__(self) -> str:
        """As a sentence: `the limit of the mission is reached: used 41,200 of 40,000 tokens`."""
        told = _TOLD.get(self.figure, self.figure)
        used, limit = _amount(self.figure, self.used), _amount(self.figure, self.limit)
        return f"the limit of {self.of} is reached: used {used} of {limit} {told}"


class Allowance(Record):
    """What may still be used, of all that is limited."""

    left: Figures = Field(default_factory=dict)

    def is_spent_by(self, usage: Usage) -> bool:
        """Whether no model may be asked again, after this was used of it."""
        used = figures_of(usage)
        return any(used[name] >= most for name, most in self.left.items() if name in used)

    def is_spent(self, *, calls: bool) -> bool:
        """Whether no call of a tool, or else no step, may be begun."""
        return not all(most for name, most in self.left.items() if is_of_calls(name) is calls)

    def after(self, before: Used, now: Used) -> "Allowance":
        """What is left of it, nothing below zero: `before` is what had been used without it."""
        since = {name: used - before.figures[name] for name, used in now.figures.items()}
        left = {n: max(most - since[n], Decimal(0)) for n, most in self.left.items()}
        return Allowance(left=left)

    def of_models(self) -> "Allowance":
        """The part of it that requests to models use up."""
        return Allowance(left={n: most for n, most in self.left.items() if n in _OF_MODELS})

    def beside(self, other: "Allowance") -> "Allowance":
        """What holds where both do: of each the smaller."""
        return Allowance(left=least(self.left, other.left))


def figures_of(usage: Usage) -> Figures:
    """What models took, by what may be limited."""
    return {
        "requests": Decimal(usage.requests),
        "input_tokens": Decimal(usage.input_tokens),
        "output_tokens": Decimal(usage.output_tokens),
        "total_tokens": Decimal(usage.input_tokens + usage.output_tokens),
        "cost_usd": usage.cost_usd,
    }


def least(one: Figures, other: Figures) -> Figures:
    """Of each figure the smaller, where both name it."""
    names = dict.fromkeys([*one, *other])
    return {name: min(each[name] for each in (one, other) if name in each) for name in names}


def is_of_calls(figure: str) -> bool:
    """Whether a figure limits calls of tools, and not steps."""
    return figure == "tool_calls"


def left_of_limits(limits: Limits, used: Used) -> Allowance:
    """What is left, nothing below zero."""
    gone = used.figures
    left = {name: max(most - gone[name], Decimal(0)) for name, most in limits.figures.items()}
    return Allowance(left=left)


def reached(limits: Limits, used: Used, *, of: str, calls: bool = False) -> LimitReached | None:
    """The first limit that keeps the next step, or with `calls` the next call, from beginning.

    A leg that has made all its calls may still end: tool calls keep no step from beginning.
    """
    gone = used.figures
    for name, most in limits.figures.items():
        if gone[name] >= most and is_of_calls(name) is calls:
            return LimitReached(figure=name, used=gone[name], limit=most, of=of)
    return None


def out_of_time(limit: timedelta | None, passed: timedelta, *, of: str) -> LimitReached | None:
    """That the time has passed; None: it has not, or is not limited."""
    if limit is None or passed < limit:
        return None
    used, most = (Decimal(str(round(t.total_seconds(), 3))) for t in (passed, limit))
    return LimitReached(figure=WALL_CLOCK, used=used, limit=most, of=of)


def _amount(figure: str, value: Decimal) -> str:
    if figure == WALL_CLOCK:
        return _duration(value)
    return f"{value:,.4f}".rstrip("0").rstrip(".") if value % 1 else f"{value:,.0f}"


def _duration(seconds: Decimal) -> str:
    """A length of time in its two largest units: `1 h 5 min`, `40 s`."""
    left, parts = int(seconds), []
    for size, unit in _UNITS:
        number, left = divmod(left, size)
        if number:
            parts.append(f"{number} {unit}")
    return " ".join(parts[:2]) or f"{seconds.normalize():f} s"
