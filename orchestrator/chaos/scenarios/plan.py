"""The script of each mission of a chaos run, derived from the seed alone."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from random import Random
from typing import Literal, get_args

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

_REFUSALS = (400, 401, 403, 409)
_AFTER_A_SUCCESS = (402, 422)
"""Refusals of a repetition whose first request succeeded."""
_BREAKAGES = (500, 502, 503, 504)
_PASS = (0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7)
"""Number of requests that pass first: searches, then bookings, then cancels."""
_FEW = (0, 0, 0, 1, 1, 2)
"""Number of changing requests that pass first."""
_FAILURES = (1, 1, 1, 2)
"""A third failure of one cancel would make it wait for minutes."""
_WEIGHTS = {ChaosFault.BREACH: 4, ChaosFault.ODD: 4}
"""Weights of the faults with many forms."""

_ODD: tuple[OddAnswer, ...] = get_args(OddAnswer)
_ODD_STATUSES = {("status_before", 404), ("status_after", 409), ("rate_limit", 403)}
"""A booking that shows late, a refused cancel that took effect, a limited rate."""

Draw = Callable[[Random], FaultRule]


def draw_rules(
    rng: Random, mission_id: str, faults: frozenset[ChaosFault]
) -> tuple[FaultRule, ...]:
    """Draw up to three faults of a mission, each with the faults that make it occur."""
    kinds = sorted(faults & _DRAWN.keys())
    if not kinds:
        return ()
    weights = [_WEIGHTS.get(kind, 1) for kind in kinds]
    chosen = rng.choices(kinds, weights, k=rng.choice((0, 1, 2, 2, 3)))
    drawn = [_DRAWN[fault](rng) for fault in chosen]
    needed = [rule for one in drawn for rule in _needed(rng, one)]
    theirs = {"request_prefix": f"{mission_id}."}
    return tuple(rule.model_copy(update=theirs) for rule in (*drawn, *needed))


def lost_booking(rng: Random, mission_id: str) -> FaultRule:
    """Refuse a booking once the mission has something to roll back."""
    return FaultRule(
        kind="status_before",
        status=409,
        after=rng.randrange(3, 5),
        times=2,
        request_prefix=f"{mission_id}.",
    )


def _needed(rng: Random, rule: FaultRule) -> list[FaultRule]:
    """Return the faults that make a rule occur: without a loss there are no cancels or probes."""
    if rule.meets == "cancel" and rng.random() < 0.8:
        return [FaultRule(kind="status_before", status=409, meets="call", after=1, times=2)]
    if rule.meets == "probe":
        lost = rng.choice((0, 1))
        attempts = LIMITS.call_attempts
        return [FaultRule(kind="drop_after", meets="call", after=lost, times=attempts)]
    return []


def _anywhere(kind: FaultKind, often: tuple[int, ...] = _FAILURES) -> Draw:
    def draw(rng: Random) -> FaultRule:
        return FaultRule(kind=kind, after=rng.choice(_PASS), times=rng.choice(often))

    return draw


def _at_calls(kind: FaultKind) -> Draw:
    def draw(rng: Random) -> FaultRule:
        return FaultRule(kind=kind, meets="call", after=rng.choice(_FEW), times=1)

    return draw


def _refuse(rng: Random) -> FaultRule:
    status = rng.choice(_REFUSALS)
    return _anywhere("status_before", (1, 1, 2))(rng).model_copy(update={"status": status})


def _break(rng: Random) -> FaultRule:
    kinds: tuple[FaultKind, ...] = ("status_before", "status_after")
    status = rng.choice(_BREAKAGES)
    return _anywhere(rng.choice(kinds))(rng).model_copy(update={"status": status})


def _busy(rng: Random) -> FaultRule:
    wait_s = rng.choice((None, 0, 1))
    return _anywhere("rate_limit", (1, 2, 3))(rng).model_copy(update={"retry_after_s": wait_s})


def _latency(rng: Random) -> FaultRule:
    # Up to twice the caller's timeout: the request is then performed after the caller gave up.
    longest_s = 2 * LIMITS.call_timeout.total_seconds()
    delay_s = round(rng.uniform(0.1, longest_s), 2)
    return _anywhere("latency")(rng).model_copy(update={"delay_s": delay_s})


def _late_duplicate(rng: Random) -> FaultRule:
    meets: tuple[Literal["call", "cancel"], ...] = ("call", "call", "cancel")
    return FaultRule(
        kind="late_duplicate",
        meets=rng.choice(meets),
        after=rng.choice(_FEW),
        times=rng.choice((1, 2)),
        delay_s=round(rng.uniform(0.5, LATEST_S), 2),
    )


def _breach(rng: Random) -> FaultRule:
    kinds: tuple[FaultKind, ...] = ("breach_before", "breach_after")
    breaches: tuple[Breach, ...] = ("html", "error", "no_reference")
    meets: tuple[Literal["call", "probe", "cancel"], ...] = ("call", "call", "probe", "cancel")
    where = rng.choice(meets)
    return FaultRule(
        kind=rng.choice(kinds),
        breach=rng.choice(breaches),
        meets=where,
        after=rng.choice(_FEW) if where == "call" else 0,
        times=rng.choice(_FAILURES),
    )


def _odd(rng: Random) -> FaultRule:
    """Draw an answer with an oddity; at a cancel or a probe, one that states a falsehood."""
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


def _gateway_404(rng: Random) -> FaultRule:
    meets: tuple[Literal["probe", "cancel"], ...] = ("probe", "cancel")
    where = rng.choice(meets)
    return FaultRule(kind="gateway", status=404, meets=where, times=rng.choice(_FAILURES))


def _refuse_repeat(rng: Random) -> FaultRule:
    status = rng.choice(_AFTER_A_SUCCESS)
    return _at_calls("refuse_repeat")(rng).model_copy(update={"status": status})


def _overcharge(rng: Random) -> FaultRule:
    return FaultRule(kind="overcharge", meets="call", times=rng.choice((1, 2)))


def _refuse_cancel(_: Random) -> FaultRule:
    return FaultRule(kind="refuse_cancel", meets="cancel")


_DRAWN: dict[ChaosFault, Draw] = {
    ChaosFault.DROP_BEFORE: _anywhere("drop_before"),
    ChaosFault.DROP_AFTER: _anywhere("drop_after"),
    ChaosFault.REFUSE: _refuse,
    ChaosFault.BREAK: _break,
    ChaosFault.BUSY: _busy,
    ChaosFault.LATENCY: _latency,
    ChaosFault.DUPLICATE: _anywhere("duplicate", (1, 3, 10)),
    ChaosFault.LATE_DUPLICATE: _late_duplicate,
    ChaosFault.BREACH: _breach,
    ChaosFault.ODD: _odd,
    ChaosFault.GATEWAY_404: _gateway_404,
    ChaosFault.REFUSE_REPEAT: _refuse_repeat,
    ChaosFault.TRUNCATE: _at_calls("truncate"),
    ChaosFault.CUT_CHUNK: _at_calls("cut_chunk"),
    ChaosFault.OVERCHARGE: _overcharge,
    ChaosFault.REFUSE_CANCEL: _refuse_cancel,
}
"""The faults of providers."""


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
_REWOUND = 25
"""Every n-th mission runs on a server that is restored from an older copy."""
_HASTY = LIMITS.model_copy(update={"confirmation_expiry": timedelta(seconds=2)})

_LASTS_S = 8.0
"""Approximate duration of a mission."""

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
    rules = draw_rules(rng, mission_id, faults)
    interruptions = (*_interruptions(rng, faults), *_resets(seed, index, faults))
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
    """Return the strikes of `lasts_s` seconds: at workers often, at the server seldom.

    Each kind has its own random stream, so that leaving one out does not shift others.
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
"""Range of the first strike and of the intervals, in seconds."""
_SILENT_S = (7.0, 10.0)
"""Longer than the heartbeat timeout of a worker."""


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
        parts: tuple[Part, ...] = ("mission", "rollback")
        part = rng.choice(parts)
        # Moments of a rollback, which is short, are counted from when it is first seen.
        moment = (
            InterruptionMoment(after_s=rng.uniform(0, 1.5)) if part == "rollback" else _moment(rng)
        )
        interruptions.append(Interruption(kind="terminate", part=part, moment=moment))
    return tuple(interruptions)


def _resets(seed: int, index: int, faults: frozenset[ChaosFault]) -> tuple[Interruption, ...]:
    # A separate random stream: leaving it out does not shift others.
    rng = Random(f"{seed}:{index}:reset")
    if ChaosFault.RESET not in faults or rng.random() > 0.12:
        return ()
    return (Interruption(kind="reset", moment=_moment(rng), keeps=rng.uniform(0.1, 1.0)),)


def _moment(rng: Random) -> InterruptionMoment:
    if rng.random() < 0.5:
        return InterruptionMoment(request=rng.randrange(1, 6))
    return InterruptionMoment(after_s=rng.uniform(0.2, _LASTS_S))


def _card(rng: Random, fault: ChaosFault, faults: frozenset[ChaosFault]) -> int | None:
    # Drawn even if the fault is off: leaving it out does not shift others.
    draw, card = rng.random(), rng.choice((0, 0, 1, 2))
    return card if fault in faults and draw < 0.08 else None
