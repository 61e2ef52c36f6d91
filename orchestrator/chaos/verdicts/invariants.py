"""The invariants: what the providers hold against what each mission says of itself.

When all is settled, every effect that still stands belongs to a mission that succeeded, or to one
that is incomplete and says so to whoever asked, or waits for an operator; no call had its effect
twice; every change was asked for under a key of its own; what a receipt says is there; and nobody
was asked anything once the rollback had begun.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

from pydantic import Field

from orchestrator.core.record import Record
from orchestrator.messages.standing import LEAVES_STANDING
from orchestrator.saga.ledger import Ledger, ObligationState

Invariant = Literal["orphan", "duplicate", "phantom", "keyless", "prompt", "stuck"]

_STANDS = frozenset({ObligationState.PARKED, ObligationState.ACCEPTED})
"""States in which a person knows of what still stands."""


class HeldEffect(Record):
    """One change that a provider made, as the sandbox's ledger has it."""

    operation: str
    kind: Literal["create", "update", "cancel"]
    resource_id: str
    status: Literal["live", "cancelled"]
    idempotency_key: str | None = None
    request_id: str | None = None

    @property
    def is_live(self) -> bool:
        """Whether it is something that was made, and stands."""
        return self.kind == "create" and self.status == "live"

    @property
    def cause(self) -> str:
        """The call that caused it: "mission.leg.step", for a cancel "mission.leg.step.cancel"."""
        return self.request_id or self.idempotency_key or ""

    @property
    def mission_id(self) -> str:
        """The mission whose call it was."""
        return self.cause.partition(".")[0]


class Account(Record):
    """What a mission says of itself once it is settled."""

    index: int
    mission_id: str
    goal: str
    status: str = Field(description="a MissionStatus, `terminated`, or `stuck`")
    error: str | None = None
    ledger: Ledger = Field(default_factory=Ledger)
    prompts_during_rollback: int = 0
    rollback_s: float | None = Field(default=None, description="None: nothing was rolled back")
    seconds: float = 0.0


class InvariantBreach(Record):
    """An invariant that one mission broke."""

    index: int
    mission_id: str
    goal: str
    invariant: Invariant
    what: str


def judge(
    accounts: Iterable[Account], effects: Iterable[HeldEffect], *, keyed: Collection[str]
) -> list[InvariantBreach]:
    """Every breach, in the order of the missions.

    Args:
        accounts: one of each mission.
        effects: the sandbox's whole ledger; what other missions did there is left out.
        keyed: the operations that take an idempotency key.
    """
    by_mission: dict[str, list[HeldEffect]] = {}
    for effect in effects:
        by_mission.setdefault(effect.mission_id, []).append(effect)
    return [
        InvariantBreach(
            index=told.index,
            mission_id=told.mission_id,
            goal=told.goal,
            invariant=invariant,
            what=what,
        )
        for told in sorted(accounts, key=lambda told: told.index)
        for invariant, what in _breaches(told, by_mission.get(told.mission_id, []), keyed)
    ]


def _breaches(
    told: Account, effects: Sequence[HeldEffect], keyed: Collection[str]
) -> Iterator[tuple[Invariant, str]]:
    if told.status == "stuck":
        yield "stuck", f"not settled after {told.seconds:.0f} s: {told.error or 'no error'}"
    yield from _orphans(told, effects)
    yield from _duplicates(effects)
    yield from _phantoms(told, effects)
    yield from _keyless(effects, keyed)
    if told.prompts_during_rollback:
        yield "prompt", f"{told.prompts_during_rollback} asked after the undoing had begun"


def _orphans(told: Account, effects: Sequence[HeldEffect]) -> Iterator[tuple[Invariant, str]]:
    states = {o.obligation_id: o.state for o in told.ledger.obligations}
    standing = _STANDS
    if told.status in LEAVES_STANDING:
        standing = standing | {ObligationState.COMMITTED}
    for effect in effects:
        if effect.is_live and states.get(effect.cause) not in standing:
            state = states.get(effect.cause)
            written = f"is {state.value} in" if state else "is not in"
            yield (
                "orphan",
                f"{effect.operation} {effect.resource_id} ({effect.cause}) stands at its provider "
                f"and {written} the ledger of a mission that {told.status}",
            )


def _duplicates(effects: Sequence[HeldEffect]) -> Iterator[tuple[Invariant, str]]:
    """Calls that had their effect more than once, whether or not all but one were taken back."""
    for kind in ("create", "cancel"):
        counted = Counter(effect.cause for effect in effects if effect.kind == kind)
        for cause, count in counted.items():
            if count > 1:
                yield "duplicate", f"{cause} had its effect {count} times"


def _phantoms(told: Account, effects: Sequence[HeldEffect]) -> Iterator[tuple[Invariant, str]]:
    """What a mission that is meant to stand has a receipt for, and its provider does not hold."""
    if told.status not in LEAVES_STANDING:
        return
    held = {effect.cause for effect in effects if effect.is_live or effect.kind != "create"}
    for obligation in told.ledger.obligations:
        if obligation.state is ObligationState.COMMITTED and obligation.obligation_id not in held:
            yield "phantom", f"{obligation.obligation_id} has a receipt, and nothing stands"


def _keyless(
    effects: Sequence[HeldEffect], keyed: Collection[str]
) -> Iterator[tuple[Invariant, str]]:
    forward = {effect.idempotency_key for effect in effects if effect.kind == "create"}
    for effect in effects:
        if effect.operation not in keyed:
            continue
        if effect.idempotency_key is None:
            yield "keyless", f"{effect.operation} ({effect.cause}) was called without a key"
        elif effect.kind == "cancel" and effect.idempotency_key in forward:
            yield "keyless", f"{effect.operation} ({effect.cause}) has the key of what it undoes"
