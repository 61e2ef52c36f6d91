"""What goes wrong at the providers of one mission: rules for its requests, drawn by chance."""

from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Literal

from orchestrator.chaos.scenarios.chaos_faults import ChaosFault
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.sandbox.faults import Breach, FaultKind, FaultRule

LIMITS = MissionPolicy(
    call_timeout=timedelta(seconds=1), call_attempts=2, answer_expiry=timedelta(seconds=5)
)
"""Limits under which an unclear call is cleared up within half a minute. Questions find nobody."""
LATEST_S = 5.0
"""After so long the last duplicate of a request arrives."""

_REFUSALS = (400, 401, 403, 409)
_AFTER_A_SUCCESS = (402, 422)
"""What a repetition is refused with that had succeeded the first time."""
_BREAKAGES = (500, 502, 503, 504)
_PASS = (0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7)
"""How many requests pass first: searches come first, bookings next, cancels last."""
_FEW = (0, 0, 0, 1, 1, 2)
"""How many pass of those that change something."""
_FAILURES = (1, 1, 1, 2)
"""A third failure of one cancel would make it wait for minutes."""
_WEIGHTS = {ChaosFault.BREACH: 4}
"""Of the faults that come in many forms: what is wrong, done or not, at three kinds of request."""

Draw = Callable[[Random], FaultRule]


def draw_rules(
    rng: Random, mission_id: str, faults: frozenset[ChaosFault]
) -> tuple[FaultRule, ...]:
    """None to three faults of one mission, each with what it needs to be met."""
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
    """A booking is refused once the mission has something to lose."""
    return FaultRule(
        kind="status_before",
        status=409,
        after=rng.randrange(3, 5),
        times=2,
        request_prefix=f"{mission_id}.",
    )


def _needed(rng: Random, rule: FaultRule) -> list[FaultRule]:
    """What else must go wrong: nothing is cancelled without a loss, nor asked about when clear."""
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
    # Up to twice what the caller waits for: the work is then done after it has given up.
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
    ChaosFault.GATEWAY_404: _gateway_404,
    ChaosFault.REFUSE_REPEAT: _refuse_repeat,
    ChaosFault.TRUNCATE: _at_calls("truncate"),
    ChaosFault.CUT_CHUNK: _at_calls("cut_chunk"),
    ChaosFault.OVERCHARGE: _overcharge,
    ChaosFault.REFUSE_CANCEL: _refuse_cancel,
}
"""The faults that a provider makes."""


def fault_of(rule: FaultRule) -> ChaosFault:
    """The fault that a rule of the sandbox makes."""
    match rule.kind:
        case "status_before" | "status_after":
            return ChaosFault.REFUSE if rule.status < 500 else ChaosFault.BREAK
        case "rate_limit":
            return ChaosFault.BUSY
        case "breach_before" | "breach_after":
            return ChaosFault.BREACH
        case "gateway":
            return ChaosFault.GATEWAY_404
        case kind:
            return ChaosFault(kind.replace("_", "-"))
