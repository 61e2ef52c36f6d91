"""How legs that run side by side share the limits of their mission: pure, and deterministic.

A leg is granted a part of what is left, uses it up without asking, and asks again. What was granted
to one is granted to nobody else, so that together they go beyond a limit by no more than the last
request, or the last step, of each. Once little is left, what others hold is called back: what is
left over is used up, and no leg ends while another one holds what it will not use.
"""

from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal
from typing import Final

from orchestrator.core.limits import (
    Allowance,
    Figures,
    LimitReached,
    Limits,
    Used,
    is_of_calls,
    left_of_limits,
    reached,
)

_CENT: Final = Decimal("0.01")
_FINEST: Final = 200
"""Parts of a limit: shares get smaller as less is left, down to one such part. Beyond that legs
share one request after the other, so that no mission answers its legs without end."""


@dataclass(frozen=True)
class Share:
    """What follows when a leg asks: what it may use, why nothing, or whom to call back first."""

    allowance: Allowance | None = None
    refusal: LimitReached | None = None
    call_back: tuple[str, ...] = ()


@dataclass
class LimitShares:
    """The limits of a mission, and what each of its legs has used and may use."""

    limits: Limits
    before: Used = field(default_factory=Used)
    """What was used before any leg began."""
    used: dict[str, Used] = field(default_factory=dict)
    granted: dict[str, Figures] = field(default_factory=dict)
    """What each leg may use beside what it has told of."""

    @property
    def is_limited(self) -> bool:
        """Whether there is anything to share."""
        return bool(self.limits.figures)

    @property
    def total(self) -> Used:
        """What all have used, as far as they have told."""
        return Used.total([self.before, *self.used.values()])

    def tell(self, leg_id: str, used: Used) -> None:
        """Take what a leg has used in all; what it was granted is free again."""
        self.used[leg_id] = used
        self.granted.pop(leg_id, None)

    def ask(self, leg_id: str, used: Used, *, running: int, calls: bool = False) -> Share:
        """What a leg may use next; `running` legs share what is left, this one included.

        It asks for its next step, or with `calls` for its next call of a tool.
        """
        self.tell(leg_id, used)
        total = self.total
        refusal = reached(self.limits, total, of="the mission", calls=calls)
        if refusal is not None:
            return Share(refusal=refusal)
        left = left_of_limits(self.limits, total).left
        if running < 2 and not self.granted:
            return self._grant(leg_id, left)
        free = {name: most - self._held(name) for name, most in left.items()}
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

    def _held(self, name: str) -> Decimal:
        return sum((share.get(name, Decimal(0)) for share in self.granted.values()), Decimal(0))


def _smallest(name: str) -> Decimal:
    """What is granted of a figure when it is granted one request, or one step, at a time."""
    return _CENT if name == "cost_usd" else Decimal(1)


def _whole(name: str, most: Decimal) -> Decimal:
    """A part that is not more than the sum allows: whole where things are counted."""
    return most if name == "cost_usd" else most.to_integral_value(ROUND_FLOOR)
