"""The invariants: what the providers hold against what each mission says of itself.

When all is settled, every effect that still stands belongs to a mission that succeeded, or to one
that is incomplete and says so to whoever asked, or waits for an operator; none is of a mission that
did not run; what waits for an operator could not be
undone; no call had its effect twice; every change was asked for under a key of its own, with the
arguments that were approved, for the price that was approved; what a receipt says is there; and
nobody was asked anything once the rollback had begun.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

from orchestrator.chaos.verdicts.approvals import ApprovedCalls
from orchestrator.chaos.verdicts.evidence import Account, HeldEffect, HeldRequest, RunEvidence
from orchestrator.chaos.verdicts.parking import why_not_parked
from orchestrator.core.record import Record
from orchestrator.messages.standing import LEAVES_STANDING
from orchestrator.saga.ledger import ObligationState

Invariant = Literal[
    "orphan",
    "stray",
    "duplicate",
    "phantom",
    "unserved",
    "keyless",
    "unapproved",
    "foreign",
    "late",
    "overcharge",
    "parked",
    "prompt",
    "stuck",
    "slow",
]

_KNOWN_TO_A_PERSON = frozenset({ObligationState.PARKED, ObligationState.ACCEPTED})
"""States in which a person knows of what still stands."""
_UNSETTLED: Final = ("stuck", "slow")
"""Missions that are not over: what their ledgers hold is not lost sight of yet."""
_Broken = Iterator[tuple[Invariant, str]]


class InvariantBreach(Record):
    """An invariant that one mission broke."""

    index: int
    mission_id: str
    goal: str
    invariant: Invariant
    what: str


def judge(accounts: Iterable[Account], evidence: RunEvidence) -> list[InvariantBreach]:
    """Every breach, in the order of the missions; those that no mission answers for come last."""
    every = sorted(accounts, key=lambda told: told.index)
    case = _Case(evidence)
    found = [
        InvariantBreach(
            index=told.index,
            mission_id=told.mission_id,
            goal=told.goal,
            invariant=invariant,
            what=what,
        )
        for told in every
        for invariant, what in case.breaches(told)
    ]
    known = {told.mission_id for told in every} | evidence.others
    strays = [effect for effect in evidence.effects if effect.mission_id not in known]
    return found + [_stray(effect) for effect in strays]


def _stray(effect: HeldEffect) -> InvariantBreach:
    what = f"{effect.operation} {effect.resource_id} ({effect.cause}) is of no mission of this run"
    return InvariantBreach(
        index=-1, mission_id=effect.mission_id, goal="", invariant="stray", what=what
    )


class _Case:
    """The evidence of a run, by mission."""

    def __init__(self, evidence: RunEvidence) -> None:
        self._evidence = evidence
        self._effects: dict[str, list[HeldEffect]] = {}
        for effect in evidence.effects:
            self._effects.setdefault(effect.mission_id, []).append(effect)
        self._requests: dict[str, list[HeldRequest]] = {}
        for request in evidence.requests:
            mission_id = (request.request_id or "").partition(".")[0]
            self._requests.setdefault(mission_id, []).append(request)

    def breaches(self, told: Account) -> _Broken:
        effects = self._effects.get(told.mission_id, [])
        requests = self._requests.get(told.mission_id, [])
        theirs = self._evidence.model_copy(update={"requests": tuple(requests)})
        approvals = ApprovedCalls(theirs)
        yield from _duplicates(effects)
        yield from _keyless(effects, self._evidence.keyed)
        yield from _foreign(effects)
        yield from _late(requests)
        for what in approvals.deviations(told):
            yield "unapproved", what
        if told.prompts_during_rollback:
            yield "prompt", f"{told.prompts_during_rollback} asked after the undoing had begun"
        if told.rewound:
            return
        if told.status in _UNSETTLED:
            kind: Invariant = "stuck" if told.status == "stuck" else "slow"
            yield kind, f"not settled after {told.seconds:.0f} s: {told.error or 'no error'}"
        yield from _orphans(told, effects)
        yield from _phantoms(told, effects)
        yield from _unserved(told, effects)
        yield from _parked(told, requests, self._evidence.cuts)
        for what in approvals.unnoticed_overcharges(told, effects):
            yield "overcharge", what


def _orphans(told: Account, effects: Sequence[HeldEffect]) -> _Broken:
    states = {o.obligation_id: o.state for o in told.ledger.obligations}
    standing = _KNOWN_TO_A_PERSON
    if told.status in LEAVES_STANDING:
        standing = standing | {ObligationState.COMMITTED}
    if told.status in _UNSETTLED:
        standing = standing | {ObligationState.INTENDED, ObligationState.COMMITTED}
    for effect in effects:
        if effect.is_live and states.get(effect.cause) not in standing:
            state = states.get(effect.cause)
            written = f"is {state.value} in" if state else "is not in"
            yield (
                "orphan",
                f"{effect.operation} {effect.resource_id} ({effect.cause}) stands at its provider "
                f"and {written} the ledger of a mission that {told.status}",
            )


def _duplicates(effects: Sequence[HeldEffect]) -> _Broken:
    """Calls that had their effect more than once, whether or not all but one were taken back."""
    for kind in ("create", "update", "cancel"):
        counted = Counter(effect.cause for effect in effects if effect.kind == kind)
        for cause, count in counted.items():
            if count > 1:
                yield "duplicate", f"{cause} had its effect {count} times"


def _phantoms(told: Account, effects: Sequence[HeldEffect]) -> _Broken:
    """What a mission whose obligations stand has a receipt for, and its provider does not hold."""
    if told.status not in LEAVES_STANDING:
        return
    held = {effect.cause for effect in effects if effect.is_live}
    committed = [
        o.obligation_id for o in told.ledger.obligations if o.state is ObligationState.COMMITTED
    ]
    for call_id in dict.fromkeys([*told.receipts, *committed]):
        if call_id not in held:
            yield "phantom", f"{call_id} has a receipt, and nothing stands"


def _unserved(told: Account, effects: Sequence[HeldEffect]) -> _Broken:
    if told.status != "succeeded":
        return
    held = {effect.operation for effect in effects if effect.is_live}
    for operation in told.orders:
        if operation not in held:
            yield "unserved", f"the mission succeeded, and nothing that {operation} made stands"


def _parked(told: Account, requests: Sequence[HeldRequest], cuts: int) -> _Broken:
    for obligation in told.ledger.obligations:
        if obligation.state in _KNOWN_TO_A_PERSON:
            why = why_not_parked(obligation, requests, cuts=cuts)
            if why is not None:
                yield "parked", why


def _foreign(effects: Sequence[HeldEffect]) -> _Broken:
    """Cancels that took back what another call had made than the one that they are to undo."""
    makers = {(e.resource_id): e.cause for e in effects if e.kind == "create"}
    made = {e.cause: e.resource_id for e in effects if e.kind == "create"}
    for effect in effects:
        undone = effect.cause.removesuffix(".cancel")
        if effect.kind != "cancel" or undone == effect.cause:
            continue
        if made.get(undone) != effect.resource_id:
            whose = makers.get(effect.resource_id, "another mission")
            yield "foreign", f"{effect.cause} took back {effect.resource_id}, made by {whose}"


def _late(requests: Sequence[HeldRequest]) -> _Broken:
    """Calls that were sent once more after what they had made was taken back.

    A provider that keeps keys does not mind; one that forgets them would do it again.
    """
    undone: set[str] = set()
    for request in requests:
        name, is_ours = request.request_id or "", "duplicate" not in (request.fault or "")
        if name.endswith(".cancel") and request.status is not None and request.status < 300:
            undone.add(name.removesuffix(".cancel"))
        elif name in undone and is_ours:
            yield "late", f"{request.operation} ({name}) arrived again after its cancel"


def _keyless(effects: Sequence[HeldEffect], keyed: frozenset[str]) -> _Broken:
    forward = {effect.idempotency_key for effect in effects if effect.kind == "create"}
    for effect in effects:
        if effect.operation not in keyed:
            continue
        if effect.idempotency_key is None:
            yield "keyless", f"{effect.operation} ({effect.cause}) was called without a key"
        elif effect.kind == "cancel" and effect.idempotency_key in forward:
            yield "keyless", f"{effect.operation} ({effect.cause}) has the key of what it undoes"
