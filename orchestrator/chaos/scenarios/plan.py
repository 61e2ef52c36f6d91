"""What will happen to each mission of a chaos run, derived from the seed and nothing else."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from random import Random
from typing import Literal

from pydantic import Field

from orchestrator.chaos.scenarios.chaos_faults import MACHINES, ChaosFault
from orchestrator.core.record import Record
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.sandbox.faults import FaultKind, FaultRule

LIMITS = MissionPolicy(
    call_timeout=timedelta(seconds=1), call_attempts=2, answer_expiry=timedelta(seconds=5)
)
"""Limits under which an unclear call is cleared up within half a minute. Questions find nobody."""
HOLD_S = 0.75
"""How long a request is held on its way, so that the mission is interrupted meanwhile."""
_HASTY = LIMITS.model_copy(update={"confirmation_expiry": timedelta(seconds=2)})

_REFUSALS = (400, 401, 403, 409)
"""What says nothing of an earlier attempt. A 404 to a cancel or a probe, or a 422 to a key that is
known, would be a lie about what the provider holds."""
_BREAKAGES = (500, 502, 503, 504)
_PASS = (0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7)
"""How many requests pass first: searches come first, bookings next, cancels last."""
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


class Strike(Record):
    """A process that is killed or restarted, so many seconds after the run began."""

    at_s: float
    fault: ChaosFault
    worker: int = 0


def write_script(
    seed: int, index: int, faults: frozenset[ChaosFault], goals: Sequence[str]
) -> MissionScript:
    """Everything that happens to mission `index`; no other mission has a part in it."""
    rng = Random(f"{seed}:{index}")
    mission_id = f"chaos-{seed}-{index}"
    goal = rng.choice(goals)
    rules = _rules(rng, mission_id, faults)
    interruptions = _interruptions(rng, faults)
    holds = [interruption.moment.hold(mission_id) for interruption in interruptions]
    rules = (*rules, *(hold for hold in holds if hold is not None))
    if any(interruption.part == "rollback" for interruption in interruptions):
        # Without a loss there is no rollback to terminate.
        rules = (*rules, _lost(rng, mission_id))
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
    )


def schedule_strikes(
    seed: int, faults: frozenset[ChaosFault], *, workers: int, lasts_s: float
) -> list[Strike]:
    """Which processes die when, over `lasts_s` seconds; a worker often, the server seldom."""
    rng = Random(f"{seed}:machines")
    strikes: list[Strike] = []
    if ChaosFault.KILL_WORKER in faults:
        for at_s in _moments(rng, (1.0, 4.0), (6.0, 12.0), lasts_s):
            worker = rng.randrange(workers)
            strikes.append(Strike(at_s=at_s, fault=ChaosFault.KILL_WORKER, worker=worker))
    servers = sorted(faults & MACHINES - {ChaosFault.KILL_WORKER})
    if servers:
        strikes += [
            Strike(at_s=at_s, fault=rng.choice(servers))
            for at_s in _moments(rng, (3.0, 8.0), (15.0, 40.0), lasts_s)
        ]
    return sorted(strikes, key=lambda strike: strike.at_s)


def _moments(
    rng: Random, first: tuple[float, float], then: tuple[float, float], lasts_s: float
) -> list[float]:
    moments = [rng.uniform(*first)]
    while moments[-1] < lasts_s:
        moments.append(moments[-1] + rng.uniform(*then))
    return moments[:-1]


def _rules(rng: Random, mission_id: str, faults: frozenset[ChaosFault]) -> tuple[FaultRule, ...]:
    kinds = sorted(faults & _DRAWN.keys())
    if not kinds:
        return ()
    chosen = rng.choices(kinds, k=rng.choice((0, 1, 2, 2, 3)))
    return tuple(_rule(rng, mission_id, fault) for fault in chosen)


def _rule(rng: Random, mission_id: str, fault: ChaosFault) -> FaultRule:
    draw, times = _DRAWN[fault]
    # Cancels are few and come last: a refusal of them waits for no other request.
    after = 0 if fault is ChaosFault.REFUSE_CANCEL else rng.choice(_PASS)
    where = {"request_prefix": f"{mission_id}.", "after": after, "times": rng.choice(times)}
    return draw(rng).model_copy(update=where)


def _lost(rng: Random, mission_id: str) -> FaultRule:
    """A booking is refused once the mission has something to lose."""
    return FaultRule(
        kind="status_before",
        status=409,
        after=rng.randrange(3, 5),
        times=2,
        request_prefix=f"{mission_id}.",
    )


def _refuse(rng: Random) -> FaultRule:
    return FaultRule(kind="status_before", status=rng.choice(_REFUSALS))


def _break(rng: Random) -> FaultRule:
    kinds: tuple[FaultKind, ...] = ("status_before", "status_after")
    return FaultRule(kind=rng.choice(kinds), status=rng.choice(_BREAKAGES))


def _busy(rng: Random) -> FaultRule:
    return FaultRule(kind="rate_limit", retry_after_s=rng.choice((None, 0, 1)))


def _latency(rng: Random) -> FaultRule:
    # Up to twice what the caller waits for: the work is then done after it has given up.
    longest_s = 2 * LIMITS.call_timeout.total_seconds()
    return FaultRule(kind="latency", delay_s=round(rng.uniform(0.1, longest_s), 2))


_FAILURES = (1, 1, 1, 2)
"""A third failure of one cancel would make it wait for minutes."""
_DRAWN: dict[ChaosFault, tuple[Callable[[Random], FaultRule], tuple[int, ...]]] = {
    ChaosFault.DROP_BEFORE: (lambda _: FaultRule(kind="drop_before"), _FAILURES),
    ChaosFault.DROP_AFTER: (lambda _: FaultRule(kind="drop_after"), _FAILURES),
    ChaosFault.REFUSE: (_refuse, (1, 1, 2)),
    ChaosFault.BREAK: (_break, _FAILURES),
    ChaosFault.BUSY: (_busy, (1, 2, 3)),
    ChaosFault.LATENCY: (_latency, _FAILURES),
    ChaosFault.DUPLICATE: (lambda _: FaultRule(kind="duplicate"), (1, 3, 10)),
    ChaosFault.REFUSE_CANCEL: (lambda _: FaultRule(kind="refuse_cancel"), (1, 2, 4)),
}
"""The faults that a provider makes: how a rule is drawn, and how often it may strike."""


def fault_of(rule: FaultRule) -> ChaosFault:
    """The fault that a rule of the sandbox makes."""
    match rule.kind:
        case "status_before" | "status_after":
            return ChaosFault.REFUSE if rule.status < 500 else ChaosFault.BREAK
        case "rate_limit":
            return ChaosFault.BUSY
        case kind:
            return ChaosFault(kind.replace("_", "-"))


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
