"""How legs side by side use up a mission's limits: never beyond one request each.

The legs here are simulated: each thinks again and again, and uses what it may, request by request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, cast

import pytest
from temporalio import workflow

from orchestrator.core.budget import Usage
from orchestrator.core.limits import Limits, Used
from orchestrator.workflows.mission_limits import LimitSpent, MissionLimits

if TYPE_CHECKING:
    from orchestrator.core.limits import Allowance

TOKENS = 100_000


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Conditions are looked at outside of a workflow."""

    async def wait_condition(is_met: Callable[[], bool]) -> None:
        while not is_met():  # noqa: ASYNC110 - no event to wait for
            await asyncio.sleep(0)

    monkeypatch.setattr(workflow, "wait_condition", wait_condition)


@dataclass
class Leg:
    """One that may use as much as it may."""

    used: Used = field(default_factory=Used)
    largest: int = 0

    async def think(self, limits: MissionLimits, name: str, dice: Random) -> None:
        """Think until nothing is left; only the first request of a thought is not checked."""
        while True:
            try:
                part = await limits.reserve(name)
            except LimitSpent:
                return
            await self._ask(part, dice)
            limits.release(name)

    async def _ask(self, part: Allowance, dice: Random) -> None:
        took = Usage()
        for _ in range(dice.randint(1, 3)):
            size = dice.randint(500, 6_000)
            took = took.plus(Usage(requests=1, input_tokens=size))
            self.largest = max(self.largest, size)
            for _ in range(dice.randint(0, 3)):
                await asyncio.sleep(0)
            if part.is_spent_by(took):
                break
        self.used = self.used.plus(Used(usage=took))


def shared(limits: Limits, legs: dict[str, Leg], before: Used | None = None) -> MissionLimits:
    made = MissionLimits(lambda: cast(Any, legs))
    made.take_plan(limits, before or Used())
    return made


@pytest.mark.parametrize("number", [1, 2, 5])
async def test_together_they_go_beyond_by_at_most_one_request_each(number: int) -> None:
    """Whatever the order in which they think, and however large each request is."""
    for seed in range(40):
        legs = {f"leg-{n}": Leg() for n in range(number)}
        limits, dice = shared(Limits(total_tokens=TOKENS), legs), Random(seed)

        await asyncio.gather(*(leg.think(limits, name, dice) for name, leg in legs.items()))

        used = limits.total.usage.input_tokens
        assert TOKENS <= used < TOKENS + sum(leg.largest for leg in legs.values()), seed


async def test_one_leg_alone_may_use_all_that_is_left() -> None:
    """Next to others it may use an equal part; once less than one each is left, they take turns."""
    legs = {"a": Leg()}
    limits = shared(Limits(requests=5), legs)
    alone = await limits.reserve("a")
    limits.release("a")
    legs["b"] = legs["c"] = Leg()
    parts = [await limits.reserve(name) for name in ("a", "b", "c")]
    for name in legs:
        limits.release(name)
    legs["a"].used = Used(usage=Usage(requests=4))
    last = await limits.reserve("a")
    waiting = asyncio.create_task(limits.reserve("b"))
    await asyncio.sleep(0.01)

    assert [int(one.left["requests"]) for one in (alone, *parts, last)] == [5, 1, 2, 2, 1]
    assert not waiting.done()
    legs["a"].used = Used(usage=Usage(requests=5))
    limits.release("a")
    with pytest.raises(LimitSpent):
        await waiting


async def test_what_was_used_before_any_leg_counts() -> None:
    """Splitting the goal took it; a limit of steps keeps no thought of a begun step back."""
    before = Used(usage=Usage(requests=3, input_tokens=900))
    limits = shared(Limits(requests=3), {"a": Leg()}, before)
    steps = shared(Limits(steps=1, requests=9), {"a": Leg(used=Used(steps=1))})

    with pytest.raises(LimitSpent, match="used 3 of 3 requests to models"):
        await limits.reserve("a")
    assert int((await steps.reserve("a")).left["requests"]) == 9
