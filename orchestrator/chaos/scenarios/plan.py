"""The script of each mission of a chaos run, derived from the seed alone."""

from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any, Literal, get_args

from pydantic import Field

from orchestrator.chaos.scenarios.chaos_faults import SERVER_STRIKES, ChaosFault
from orchestrator.core.record import Record
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.sandbox.faults import Breach, FaultKind, FaultRule, OddAnswer

LIMITS = MissionPolicy(
    call_timeout=timedelta(seconds=1), call_attempts=2, answer_expiry=timedelta(seconds=5)
)
"""Limits under which an unclear call is resolved in half a minute; nobody answers questions."""
LATEST_S = 5.0
"""Seconds until the last duplicate of a request arrives."""

_PASS = (0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7)
"""Number of requests that pass first: searches, then bookings, then cancels."""
_FEW = (0, 0, 0, 1, 1, 2)
"""Number of changing requests that pass first."""
_FAILURES = (1, 1, 1, 2)
"""A third failure of one cancel would make it wait for minutes."""
_WEIGHTS = {ChaosFault.BREACH: 4, ChaosFault.ODD: 4}
"""Weights of the faults with many forms."""

_DRAWN = frozenset(
    {
        *(ChaosFault.DROP_BEFORE, ChaosFault.DROP_AFTER, ChaosFault.REFUSE, ChaosFault.BREAK),
        *(ChaosFault.BUSY, ChaosFault.LATENCY, ChaosFault.DUPLICATE, ChaosFault.LATE_DUPLICATE),
        *(ChaosFault.BREACH, ChaosFault.ODD, ChaosFault.GATEWAY_404, ChaosFault.REFUSE_REPEAT),
        *(ChaosFault.TRUNCATE, ChaosFault.CUT_CHUNK, ChaosFault.OVERCHARGE),
        ChaosFault.REFUSE_CANCEL,
    }
)
"""The faults of providers."""
_WHERE: tuple[Literal["call", "probe", "cancel"], ...] = ("call", "call", "probe", "cancel")
_BREACHES: tuple[Breach, ...] = ("html", "error", "no_reference")
_ODD: tuple[OddAnswer, ...] = get_args(OddAnswer)
_ODD_STATUSES = {("status_before", 404), ("status_after", 409), ("rate_limit", 403)}
"""A booking that shows late, a refused cancel that took effect, a limited rate."""


def draw_rules(
    rng: Random, mission_id: str, faults: frozenset[ChaosFault]
) -> tuple[FaultRule, ...]:
    """Draw up to three faults of a mission, each with the faults that make it occur."""
    kinds = sorted(faults & _DRAWN)
    if not kinds:
        return ()
    weights = [_WEIGHTS.get(kind, 1) for kind in kinds]
    chosen = rng.choices(kinds, weights, k=rng.choice((0, 1, 2, 2, 3)))
    drawn = [_draw(fault, rng) for fault in chosen]
    # Without a loss there are no cancels or probes.
    for rule in tuple(drawn):
        if rule.meets == "cancel" and rng.random() < 0.8:
            lost = FaultRule(kind="status_before", status=409, meets="call", after=1, times=2)
            drawn.append(lost)
        if rule.meets == "probe":
            after, times = rng.choice((0, 1)), LIMITS.call_attempts
            drawn.append(FaultRule(kind="drop_after", meets="call", after=after, times=times))
    theirs = {"request_prefix": f"{mission_id}."}
    return tuple(rule.model_copy(update=theirs) for rule in drawn)


def _draw(fault: ChaosFault, rng: Random) -> FaultRule:
    def anywhere(kind: FaultKind, often: tuple[int, ...] = _FAILURES, **more: Any) -> FaultRule:
        after = rng.choice(_PASS)
        return FaultRule(kind=kind, after=after, times=rng.choice(often), **more)

    def at_call(kind: FaultKind, **more: Any) -> FaultRule:
        return FaultRule(kind=kind, meets="call", after=rng.choice(_FEW), times=1, **more)

    match fault:
        case ChaosFault.DROP_BEFORE:
            return anywhere("drop_before")
        case ChaosFault.DROP_AFTER:
            return anywhere("drop_after")
        case ChaosFault.REFUSE:
            return anywhere("status_before", (1, 1, 2), status=rng.choice((400, 401, 403, 409)))
        case ChaosFault.BREAK:
            status = rng.choice((500, 502, 503, 504))
            return anywhere(rng.choice(("status_before", "status_after")), status=status)
        case ChaosFault.BUSY:
            return anywhere("rate_limit", (1, 2, 3), retry_after_s=rng.choice((None, 0, 1)))
        case ChaosFault.LATENCY:
            # Up to twice the caller's timeout: the request is then performed after the caller gave
            # up.
            longest_s = 2 * LIMITS.call_timeout.total_seconds()
            return anywhere("latency", delay_s=round(rng.uniform(0.1, longest_s), 2))
        case ChaosFault.DUPLICATE:
            return anywhere("duplicate", (1, 3, 10))
        case ChaosFault.LATE_DUPLICATE:
            return FaultRule(
                kind="late_duplicate",
                meets=rng.choice(("call", "call", "cancel")),
                after=rng.choice(_FEW),
                times=rng.choice((1, 2)),
                delay_s=round(rng.uniform(0.5, LATEST_S), 2),
            )
        case ChaosFault.BREACH:
            where = rng.choice(_WHERE)
            return FaultRule(
                kind=rng.choice(("breach_before", "breach_after")),
                breach=rng.choice(_BREACHES),
                meets=where,
                after=rng.choice(_FEW) if where == "call" else 0,
                times=rng.choice(_FAILURES),
            )
        case ChaosFault.ODD:
            return _odd(rng)
        case ChaosFault.GATEWAY_404:
            where = rng.choice(_WHERE[2:])
            return FaultRule(kind="gateway", status=404, meets=where, times=rng.choice(_FAILURES))
        case ChaosFault.REFUSE_REPEAT:
            # Refusals of a repetition whose first request succeeded.
            return at_call("refuse_repeat", status=rng.choice((402, 422)))
        case ChaosFault.TRUNCATE:
            return at_call("truncate")
        case ChaosFault.CUT_CHUNK:
            return at_call("cut_chunk")
        case ChaosFault.OVERCHARGE:
            return FaultRule(kind="overcharge", meets="call", times=rng.choice((1, 2)))
        case _:
            return FaultRule(kind="refuse_cancel", meets="cancel")


def _odd(rng: Random) -> FaultRule:
    # At a cancel or a probe, it states a falsehood.
    odd = rng.choice(_ODD)
    drawn = (
        FaultRule(kind="breach_after", breach=odd, meets="call", after=rng.choice(_FEW), times=1),
        FaultRule(kind="breach_after", breach="says_no", meets="cancel", times=1),
        FaultRule(kind="breach_before", breach="says_no", meets="cancel", times=1),
        FaultRule(kind="breach_after", breach="hostile_headers", meets="cancel", times=2),
        FaultRule(kind="status_after", status=409, meets="cancel", times=1),
        FaultRule(kind="moved_version", meets="cancel", times=1),
        FaultRule(kind="status_before", status=404, meets="probe", times=rng.choice((1, 2, 3))),
        FaultRule(kind="rate_limit", status=403, after=rng.choice(_PASS), times=1),
    )
    return rng.choices(drawn, (5, 1, 1, 1, 1, 1, 1, 1))[0]


def fault_of(rule: FaultRule) -> ChaosFault:
    """Return the fault of a rule of the sandbox."""
    is_odd = rule.kind.startswith("breach") and rule.breach in _ODD
    if is_odd or (rule.kind, rule.status) in _ODD_STATUSES:
        return ChaosFault.ODD
    match rule.kind:
        case "status_before" | "status_after":
            return ChaosFault.REFUSE if rule.status < 500 else ChaosFault.BREAK
        case "rate_limit":
            return ChaosFault.BUSY
        case "breach_before" | "breach_after":
            return ChaosFault.BREACH
        case "moved_version":
            return ChaosFault.ODD
        case "gateway":
            return ChaosFault.GATEWAY_404
        case kind:
            return ChaosFault(kind.replace("_", "-"))


HOLD_S = 0.75
"""Seconds for which a request is delayed, so that the mission is interrupted meanwhile."""
_HASTY = LIMITS.model_copy(update={"confirmation_expiry": timedelta(seconds=2)})

Part = Literal["mission", "rollback"]


class InterruptionMoment(Record):
    """The moment of an interruption: after some seconds, or while the n-th request is delayed."""

    after_s: float = 0.0
    request: int | None = Field(default=None, description="counted from 1, in the provider's order")

    def hold(self, mission_id: str) -> FaultRule | None:
        """Return the rule that delays the request until the interruption is over."""
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
    """A cancel request, a termination, or a reset."""

    kind: Literal["cancel", "terminate", "reset"]
    part: Part = "mission"
    moment: InterruptionMoment
    keeps: float = Field(default=0.0, description="fraction of the history that a reset keeps")


class MissionScript(Record):
    """A mission and everything that happens to it."""

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
    """The card that nobody decides on, counted in the same way."""
    is_rewound: bool = False
    """True if its server is restored from an older copy meanwhile."""


class Strike(Record):
    """A strike at a process, some seconds after the start of the run."""

    at_s: float
    fault: ChaosFault
    worker: int = 0
    lasts_s: float = 0.0
    """Seconds for which a worker is paused or cut off."""
    part: Literal["server", "providers"] = "server"
    """The peer that a worker is cut off from."""


def write_script(
    seed: int, index: int, faults: frozenset[ChaosFault], goals: Sequence[str]
) -> MissionScript:
    """Return the script of mission `index`, independent of other missions."""
    rng = Random(f"{seed}:{index}")
    mission_id = f"chaos-{seed}-{index}"
    goal = rng.choice(goals)
    rules = list(draw_rules(rng, mission_id, faults))
    interruptions = []
    if ChaosFault.CANCEL in faults and rng.random() < 0.12:
        interruptions.append(Interruption(kind="cancel", moment=_moment(rng)))
    if ChaosFault.TERMINATE in faults and rng.random() < 0.2:
        part: Part = rng.choice(("mission", "rollback"))
        # Moments of a rollback, which is short, are counted from when it is first seen.
        is_late = part == "rollback"
        moment = InterruptionMoment(after_s=rng.uniform(0, 1.5)) if is_late else _moment(rng)
        interruptions.append(Interruption(kind="terminate", part=part, moment=moment))
    # A separate random stream: leaving it out does not shift others.
    resets = Random(f"{seed}:{index}:reset")
    if ChaosFault.RESET in faults and resets.random() <= 0.12:
        moment, keeps = _moment(resets), resets.uniform(0.1, 1.0)
        interruptions.append(Interruption(kind="reset", moment=moment, keeps=keeps))
    holds = (interruption.moment.hold(mission_id) for interruption in interruptions)
    rules += [hold for hold in holds if hold is not None]
    if any(interruption.part == "rollback" for interruption in interruptions):
        # Without a refused booking, once something was made, there is no rollback to terminate.
        lost = FaultRule(kind="status_before", status=409, after=rng.randrange(3, 5), times=2)
        rules.append(lost.model_copy(update={"request_prefix": f"{mission_id}."}))
    ignored = _card(rng, ChaosFault.EXPIRE, faults)
    return MissionScript(
        index=index,
        mission_id=mission_id,
        goal=goal,
        policy=LIMITS if ignored is None else _HASTY,
        rules=tuple(rules),
        interruptions=tuple(interruptions),
        rejected_card=_card(rng, ChaosFault.REJECT, faults),
        ignored_card=ignored,
        # Every 25th mission runs on a server that is restored from an older copy.
        is_rewound=ChaosFault.RESTORE_SERVER in faults and index % 25 == 24,
    )


def schedule_strikes(
    seed: int, faults: frozenset[ChaosFault], *, workers: int, lasts_s: float
) -> list[Strike]:
    """Return the strikes of `lasts_s` seconds: at workers often, at the server seldom.

    Each kind has its own random stream, so that leaving one out does not shift others.
    """

    def moments(first: tuple[float, float], then: tuple[float, float]) -> list[float]:
        found = [rng.uniform(*first)]
        while found[-1] < lasts_s:
            found.append(found[-1] + rng.uniform(*then))
        return found[:-1]

    strikes: list[Strike] = []
    for fault, (first, then) in _OFTEN.items():
        rng = Random(f"{seed}:{fault.value}")
        strikes += [
            Strike(
                at_s=at_s,
                fault=fault,
                worker=rng.randrange(max(workers, 1)),
                # Longer than the heartbeat timeout of a worker.
                lasts_s=rng.uniform(7.0, 10.0),
                part=rng.choice(("server", "providers")),
            )
            for at_s in (moments(first, then) if fault in faults else ())
        ]
    servers = sorted(faults & SERVER_STRIKES)
    rng = Random(f"{seed}:server")
    if servers:
        at = moments((3.0, 8.0), (15.0, 40.0))
        strikes += [Strike(at_s=at_s, fault=rng.choice(servers)) for at_s in at]
    return sorted(strikes, key=lambda strike: strike.at_s)


_OFTEN: dict[ChaosFault, tuple[tuple[float, float], tuple[float, float]]] = {
    ChaosFault.KILL_WORKER: ((1.0, 4.0), (6.0, 12.0)),
    ChaosFault.PAUSE_WORKER: ((2.0, 6.0), (20.0, 40.0)),
    ChaosFault.PARTITION_WORKER: ((4.0, 8.0), (20.0, 40.0)),
    ChaosFault.LOSE_CATALOGS: ((5.0, 9.0), (30.0, 60.0)),
    ChaosFault.CHANGE_VAULT: ((1.0, 3.0), (3.0, 8.0)),
    ChaosFault.KILL_STORE: ((3.0, 8.0), (10.0, 25.0)),
}
"""Range of the first strike and of the intervals, in seconds."""


def _moment(rng: Random) -> InterruptionMoment:
    if rng.random() < 0.5:
        return InterruptionMoment(request=rng.randrange(1, 6))
    # A mission lasts about eight seconds.
    return InterruptionMoment(after_s=rng.uniform(0.2, 8.0))


def _card(rng: Random, fault: ChaosFault, faults: frozenset[ChaosFault]) -> int | None:
    # Drawn even if the fault is off: leaving it out does not shift others.
    draw, card = rng.random(), rng.choice((0, 0, 1, 2))
    return card if fault in faults and draw < 0.08 else None
