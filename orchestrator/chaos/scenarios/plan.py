"""What will happen to each mission of a chaos run, derived from the seed and nothing else."""

from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Literal

from pydantic import Field

from orchestrator.chaos.scenarios.chaos_faults import SERVER_STRIKES, ChaosFault
from orchestrator.chaos.scenarios.provider_faults import LIMITS, draw_rules, lost_booking
from orchestrator.core.record import Record
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.sandbox.faults import FaultRule

HOLD_S = 0.75
"""How long a request is held on its way, so that the mission is interrupted meanwhile."""
_REWOUND = 25
"""One mission in so many runs on the server that is restored from an older copy."""
_HASTY = LIMITS.model_copy(update={"confirmation_expiry": timedelta(seconds=2)})

_LASTS_S = 8.0
"""About so long a mission lasts."""

Part = Literal["mission", "leg", "rollback"]


class InterruptionMoment(Record):
    """When a mission is interrupted: after so many seconds, or with the n-th request on its way."""

    after_s: float = 0.0
    request: int | None = Field(default=None, description="counted from 1, as providers see them")

    def hold(self, mission_id: str) -> FaultRule | None:
        """The rule that keeps the request on its way until the interruption is over."""
        if self.request is None:
            return None
        return FaultRule(
            kind="latency",
            delay_s=HOLD_S,
            after=self.request - 1,
            times=1,
            request_prefix=f"{mission_id}.",
        )


class Interruption(Record):
    """A cancel request or a termination."""

    kind: Literal["cancel", "terminate"]
    part: Part = "mission"
    moment: InterruptionMoment


class MissionScript(Record):
    """One mission, and everything that happens to it."""

    index: int
    mission_id: str
    goal: str
    policy: MissionPolicy = LIMITS
    rules: tuple[FaultRule, ...] = ()
    """Faults at the providers, for this mission's requests only."""
    interruptions: tuple[Interruption, ...] = ()
    rejected_card: int | None = None
    """The card that is rejected, counted from 0 in the order they open."""
    ignored_card: int | None = None
    """The card that nobody decides on."""
    is_rewound: bool = False
    """Whether it runs on a server that is restored from an older copy meanwhile."""


class Strike(Record):
    """A process that is killed or restarted, so many seconds after the run began."""

    at_s: float
    fault: ChaosFault
    worker: int = 0
    lasts_s: float = 0.0
    """How long a worker is paused or cut off."""
    part: Literal["server", "providers"] = "server"
    """What a worker is cut off from."""


def write_script(
    seed: int, index: int, faults: frozenset[ChaosFault], goals: Sequence[str]
) -> MissionScript:
    """Everything that happens to mission `index`; no other mission has a part in it."""
    rng = Random(f"{seed}:{index}")
    mission_id = f"chaos-{seed}-{index}"
    goal = rng.choice(goals)
    rules = draw_rules(rng, mission_id, faults)
    interruptions = _interruptions(rng, faults)
    holds = [interruption.moment.hold(mission_id) for interruption in interruptions]
    rules = (*rules, *(hold for hold in holds if hold is not None))
    if any(interruption.part == "rollback" for interruption in interruptions):
        # Without a loss there is no rollback to terminate.
        rules = (*rules, lost_booking(rng, mission_id))
    ignored = _card(rng, ChaosFault.EXPIRE, faults)
    return MissionScript(
        index=index,
        mission_id=mission_id,
        goal=goal,
        policy=LIMITS if ignored is None else _HASTY,
        rules=rules,
        interruptions=interruptions,
        rejected_card=_card(rng, ChaosFault.REJECT, faults),
        ignored_card=ignored,
        is_rewound=ChaosFault.RESTORE_SERVER in faults and index % _REWOUND == _REWOUND - 1,
    )


def schedule_strikes(
    seed: int, faults: frozenset[ChaosFault], *, workers: int, lasts_s: float
) -> list[Strike]:
    """Which processes are struck when, over `lasts_s` seconds; a worker often, the server seldom.

    Each kind of strike has a stream of chance of its own: to leave one out shifts no other.
    """
    strikes: list[Strike] = []
    for fault, (first, then) in _OFTEN.items():
        rng = Random(f"{seed}:{fault.value}")
        moments = _moments(rng, first, then, lasts_s) if fault in faults else []
        strikes += [_strike(rng, fault, at_s, workers) for at_s in moments]
    servers = sorted(faults & SERVER_STRIKES)
    rng = Random(f"{seed}:server")
    moments = _moments(rng, (3.0, 8.0), (15.0, 40.0), lasts_s) if servers else []
    strikes += [Strike(at_s=at_s, fault=rng.choice(servers)) for at_s in moments]
    return sorted(strikes, key=lambda strike: strike.at_s)


_OFTEN: dict[ChaosFault, tuple[tuple[float, float], tuple[float, float]]] = {
    ChaosFault.KILL_WORKER: ((1.0, 4.0), (6.0, 12.0)),
    ChaosFault.PAUSE_WORKER: ((2.0, 6.0), (20.0, 40.0)),
    ChaosFault.PARTITION_WORKER: ((4.0, 8.0), (20.0, 40.0)),
    ChaosFault.LOSE_CATALOGS: ((5.0, 9.0), (30.0, 60.0)),
    ChaosFault.CHANGE_VAULT: ((1.0, 3.0), (3.0, 8.0)),
    ChaosFault.KILL_STORE: ((3.0, 8.0), (10.0, 25.0)),
}
"""When a fault strikes first, and after how long again, in seconds."""
_SILENT_S = (7.0, 10.0)
"""Longer than the seconds after which a worker without a heartbeat is missed."""


def _strike(rng: Random, fault: ChaosFault, at_s: float, workers: int) -> Strike:
    parts: tuple[Literal["server", "providers"], ...] = ("server", "providers")
    return Strike(
        at_s=at_s,
        fault=fault,
        worker=rng.randrange(max(workers, 1)),
        lasts_s=rng.uniform(*_SILENT_S),
        part=rng.choice(parts),
    )


def _moments(
    rng: Random, first: tuple[float, float], then: tuple[float, float], lasts_s: float
) -> list[float]:
    moments = [rng.uniform(*first)]
    while moments[-1] < lasts_s:
        moments.append(moments[-1] + rng.uniform(*then))
    return moments[:-1]


def _interruptions(rng: Random, faults: frozenset[ChaosFault]) -> tuple[Interruption, ...]:
    interruptions = []
    if ChaosFault.CANCEL in faults and rng.random() < 0.12:
        interruptions.append(Interruption(kind="cancel", moment=_moment(rng)))
    if ChaosFault.TERMINATE in faults and rng.random() < 0.2:
        parts: tuple[Part, ...] = ("mission", "leg", "rollback")
        part = rng.choice(parts)
        # A rollback is over soon: its own moments are counted from when it is first seen.
        moment = (
            InterruptionMoment(after_s=rng.uniform(0, 1.5)) if part == "rollback" else _moment(rng)
        )
        interruptions.append(Interruption(kind="terminate", part=part, moment=moment))
    return tuple(interruptions)


def _moment(rng: Random) -> InterruptionMoment:
    if rng.random() < 0.5:
        return InterruptionMoment(request=rng.randrange(1, 6))
    return InterruptionMoment(after_s=rng.uniform(0.2, _LASTS_S))


def _card(rng: Random, fault: ChaosFault, faults: frozenset[ChaosFault]) -> int | None:
    # Drawn whether or not the fault is on: leaving one out does not shift the others.
    draw, card = rng.random(), rng.choice((0, 0, 1, 2))
    return card if fault in faults and draw < 0.08 else None
