"""How legs side by side share a mission's limits: never beyond one request each, never too little.

The legs here are simulated: each asks, uses what it was granted request by request, tells what it
used when it is called back between two requests, and may rest for ever with a share in its hands.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from random import Random

import pytest

from orchestrator.core.budget import Usage
from orchestrator.core.limits import Allowance, Limits, LimitShares, Used

TOKENS = 100_000


@dataclass
class Leg:
    """One that may use as much as it is granted."""

    used: int = 0
    requests: int = 0
    since: int = 0
    share: Allowance = field(default_factory=lambda: Allowance(left={"total_tokens": Decimal(0)}))
    largest: int = 0
    refused: bool = False
    rests: bool = False

    def told(self) -> Used:
        return Used(usage=Usage(requests=self.requests, input_tokens=self.used))

    def step(self, dice: Random) -> None:
        """Requests of one step, each checked against the share; the first is not."""
        for _ in range(dice.randint(1, 3)):
            size = dice.randint(500, 6_000)
            self.used += size
            self.since += size
            self.requests += 1
            self.largest = max(self.largest, size)
            if self.share.is_spent_by(Usage(input_tokens=self.since)):
                break


def run(shares: LimitShares, legs: dict[str, Leg], dice: Random) -> int:
    """Let the legs go on in any order until each rests or is refused; how often they asked."""
    asked = 0
    while going := [name for name, leg in legs.items() if not (leg.refused or leg.rests)]:
        name = dice.choice(going)
        leg = legs[name]
        if leg.share.is_spent_by(Usage(input_tokens=leg.since)):
            asked += 1
            share = shares.ask(name, leg.told(), running=len(legs))
            for other in share.call_back:
                shares.record(other, legs[other].told())
                legs[other].share = Allowance(left={"total_tokens": Decimal(0)})
            if share.refusal is not None:
                leg.refused = True
            elif share.allowance is not None:
                leg.share, leg.since = share.allowance, 0
        else:
            leg.step(dice)
            leg.rests = dice.random() < 0.01
    return asked


@pytest.mark.parametrize("number", [1, 2, 5])
def test_together_they_go_beyond_by_at_most_one_request_each(number: int) -> None:
    """Whatever the order in which they ask, and however large each request is."""
    for seed in range(40):
        shares = LimitShares(Limits(total_tokens=TOKENS))
        legs = {f"leg-{n}": Leg() for n in range(number)}

        run(shares, legs, Random(seed))

        used = sum(leg.used for leg in legs.values())
        assert used < TOKENS + sum(leg.largest for leg in legs.values()), seed
        if any(leg.refused for leg in legs.values()):
            assert shares.total.usage.input_tokens >= TOKENS, seed


@pytest.mark.parametrize("number", [2, 5, 10])
def test_a_mission_is_asked_seldom(number: int) -> None:
    """Not at each step of a long leg: each answer is kept in the history of the mission."""
    shares = LimitShares(Limits(total_tokens=100 * TOKENS))
    legs = {f"leg-{n}": Leg() for n in range(number)}

    asked = run(shares, legs, Random(7))
    requests = sum(leg.requests for leg in legs.values())

    assert asked < requests / 5


def test_one_leg_alone_is_granted_all_at_once() -> None:
    """Until another one begins: then what it holds is called back."""
    shares = LimitShares(Limits(requests=40))

    alone = shares.ask("a", Used(), running=1)
    second = shares.ask("b", Used(), running=2)
    shares.record("a", Used(usage=Usage(requests=10)))
    again = shares.ask("b", Used(), running=2)

    assert alone.allowance == Allowance(left={"requests": Decimal(40)})
    assert second.call_back == ("a",)
    assert second.allowance is None
    assert again.allowance == Allowance(left={"requests": Decimal(7)})


def test_what_was_used_before_any_leg_counts() -> None:
    """Splitting the goal took it."""
    before = Used(usage=Usage(requests=3, input_tokens=900))
    shares = LimitShares(Limits(requests=3), before=before)

    refused = shares.ask("a", Used(), running=1).refusal

    assert str(refused) == "the limit of the mission is reached: used 3 of 3 requests to models"
