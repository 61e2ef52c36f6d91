"""Limits of agents, legs and missions, and the use that counts against them: pure arithmetic.

A limit is reached when the use equals it; nothing new begins then. The use of one model request is
known only after its answer, so the last request may exceed a limit.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
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

    def is_spent(self, *, calls: bool) -> bool:
        """Return True if no further step may begin, or with `calls` no further tool call."""
        return not all(most for name, most in self.left.items() if is_of_calls(name) is calls)

    def after(self, before: Used, now: Used) -> "Allowance":
        """Return the rest after more use, never below zero; `before` is the use without it."""
        since = {name: used - before.figures[name] for name, used in now.figures.items()}
        left = {n: max(most - since[n], Decimal(0)) for n, most in self.left.items()}
        return Allowance(left=left)

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


def is_of_calls(figure: str) -> bool:
    """Return True if a figure limits tool calls rather than steps."""
    return figure == "tool_calls"


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
        if gone[name] >= most and is_of_calls(name) is calls:
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
        seconds = value
        left, parts = int(seconds), []
        for size, unit in _UNITS:
            number, left = divmod(left, size)
            if number:
                parts.append(f"{number} {unit}")
        return " ".join(parts[:2]) or f"{seconds.normalize():f} s"
    return f"{value:,.4f}".rstrip("0").rstrip(".") if value % 1 else f"{value:,.0f}"


_CENT: Final = Decimal("0.01")
_FINEST: Final = 200
"""Parts of a limit. Shares shrink as less is left, down to one part. Below that, legs take turns
with single requests, so that a mission does not answer its legs without end."""


@dataclass(frozen=True)
class Share:
    """The answer to a leg's request: an allowance, a refusal, or legs to call back first."""

    allowance: Allowance | None = None
    refusal: LimitReached | None = None
    call_back: tuple[str, ...] = ()


@dataclass
class LimitShares:
    """The limits of a mission, with each leg's use and allowance."""

    limits: Limits
    before: Used = field(default_factory=Used)
    """The use before any leg began."""
    used: dict[str, Used] = field(default_factory=dict)
    granted: dict[str, Figures] = field(default_factory=dict)
    """The allowance of each leg, on top of its reported use."""

    @property
    def is_limited(self) -> bool:
        """True if there is anything to share."""
        return bool(self.limits.figures)

    @property
    def total(self) -> Used:
        """The use of all legs, as far as they have reported it."""
        return Used.total([self.before, *self.used.values()])

    def record(self, leg_id: str, used: Used) -> None:
        """Record the total use of a leg; its granted allowance becomes free again."""
        self.used[leg_id] = used
        self.granted.pop(leg_id, None)

    def ask(self, leg_id: str, used: Used, *, running: int, calls: bool = False) -> Share:
        """Return the next share of a leg; `running` legs share the rest, this leg included.

        The leg asks for its next step, or with `calls` for its next tool call.
        """
        self.record(leg_id, used)
        total = self.total
        refusal = reached(self.limits, total, of="the mission", calls=calls)
        if refusal is not None:
            return Share(refusal=refusal)
        left = left_of_limits(self.limits, total).left
        if running < 2 and not self.granted:
            return self._grant(leg_id, left)
        held = {n: sum(s.get(n, Decimal(0)) for s in self.granted.values()) for n in left}
        free = {name: most - held[name] for name, most in left.items()}
        parts = {name: most / (2 * running) for name, most in free.items()}
        finest = {name: most / _FINEST for name, most in self.limits.figures.items()}
        wanted = [name for name in parts if is_of_calls(name) is calls]
        if all(parts[name] >= max(finest[name], _smallest(name)) for name in wanted):
            return self._grant(leg_id, {name: _whole(name, most) for name, most in parts.items()})
        if self.granted:
            return Share(call_back=tuple(self.granted))
        return Share(allowance=Allowance(left={name: _smallest(name) for name in left}))

    def _grant(self, leg_id: str, share: Figures) -> Share:
        self.granted[leg_id] = share
        return Share(allowance=Allowance(left=share))


def _smallest(name: str) -> Decimal:
    return _CENT if name == "cost_usd" else Decimal(1)


def _whole(name: str, most: Decimal) -> Decimal:
    """Return the largest share up to `most`: for counts, a whole number."""
    return most if name == "cost_usd" else most.to_integral_value(ROUND_FLOOR)
