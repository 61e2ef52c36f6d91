"""The invariants: comparison of the providers' effects with the missions' accounts.

When all missions are settled, every standing effect belongs to a mission that succeeded, to one
that is incomplete and says so, or is parked; only an effect that could not be cancelled is parked;
no call had its effect twice; every change carried its own key, the approved arguments and the
approved price; receipts are true; and nobody was asked anything once a rollback had begun.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final, Literal

from pydantic import Field, JsonValue

from orchestrator.core.budget import Money
from orchestrator.core.pii import Handle, handle_of, replace_handles
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages.mission import LEAVES_STANDING
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation, ObligationState


class HeldEffect(Record):
    """A change that a provider made, from the sandbox's ledger."""

    operation: str
    kind: Literal["create", "update", "cancel"]
    resource_id: str
    status: Literal["live", "cancelled"]
    idempotency_key: str | None = None
    request_id: str | None = None
    amount: float | None = None
    currency: str | None = None

    @property
    def is_live(self) -> bool:
        """True if a resource was made or changed and stands."""
        return self.kind != "cancel" and self.status == "live"

    @property
    def cause(self) -> str:
        """Id of the causing call: "mission.leg.step", of a cancel "mission.leg.step.cancel"."""
        return self.request_id or self.idempotency_key or ""

    @property
    def mission_id(self) -> str:
        """The mission of the causing call."""
        return self.cause.partition(".")[0]


class HeldRequest(Record):
    """A request that arrived at a provider, from the sandbox's ledger."""

    operation: str
    request_id: str | None = None
    status: int | None = Field(default=None, description="None if no complete answer was sent")
    fault: str | None = Field(default=None, description="planned faults that struck it")
    arguments: JsonObject | None = Field(
        default=None,
        description="arguments that the provider read, defaults included; None if unread",
    )


class ApprovedCall(Record):
    """A call that the kit's approver approved, taken from the card."""

    call_id: str
    tool: str
    card_type: str
    arguments: JsonObject = Field(description="personal fields as handles")
    price: Money | None = None


class Account(Record):
    """The account that a settled mission gives of itself."""

    index: int
    mission_id: str
    goal: str
    status: str = Field(description="a MissionStatus, `terminated`, `lost`, `stuck` or `slow`")
    error: str | None = None
    ledger: Ledger = Field(default_factory=Ledger)
    catalog: str = Field(default="", description="digest of its documents")
    receipts: tuple[str, ...] = Field(default=(), description="ids of the calls of its receipts")
    orders: tuple[str, ...] = Field(
        default=(), description="tools whose effects its success must have"
    )
    prompts_during_rollback: int = 0
    rollback_s: float | None = Field(default=None, description="None if nothing was rolled back")
    seconds: float = 0.0
    rewound: bool = Field(
        default=False, description="True if its server was restored from a copy while it ran"
    )


class RunEvidence(Record):
    """Evidence of a run, independent of the missions' accounts."""

    effects: tuple[HeldEffect, ...] = ()
    requests: tuple[HeldRequest, ...] = ()
    approved: tuple[ApprovedCall, ...] = ()
    values: dict[str, str] = Field(
        default_factory=dict, description="value of each pinned handle in the kit's vault"
    )
    defaults: dict[str, JsonObject] = Field(
        default_factory=dict, description="provider's input defaults by operation"
    )
    keyed: frozenset[str] = Field(
        default=frozenset(), description="operations that take an idempotency key"
    )
    unprobed: frozenset[str] = Field(
        default=frozenset(), description="operations whose contract has a cancel and no probe"
    )
    blind: frozenset[str] = Field(
        default=frozenset(),
        description="obligations that nothing can cancel once the answer of their call is lost",
    )
    spending: frozenset[str] = Field(
        default=frozenset(), description="operations that take money; others may state amounts"
    )
    reads: frozenset[str] = Field(default=frozenset(), description="operations that change nothing")
    others: frozenset[str] = Field(
        default=frozenset(), description="missions of the run that are not judged"
    )
    cuts: int = Field(default=0, description="number of times that a worker was cut off")
    deaths: int = Field(default=0, description="number of times that a worker was killed")


OVERCHARGE_CARD = "structured-overcharge"
_CENT = Decimal("0.01")


class ApprovedCalls:
    """The approved calls of a run, by id.

    After a reset a person may approve the same call again, with another value of the vault or at
    another price, although it was sent before: its request has to match one of the approvals.
    """

    def __init__(self, evidence: RunEvidence) -> None:
        """Read the approved calls and the values of their handles."""
        self._evidence = evidence
        self._calls: dict[str, list[ApprovedCall]] = {}
        for one in evidence.approved:
            if one.card_type != OVERCHARGE_CARD:
                self._calls.setdefault(one.call_id, []).append(one)
        self._kept = {a.call_id for a in evidence.approved if a.card_type == OVERCHARGE_CARD}

    def deviations(self, account: Account) -> Iterator[str]:
        """Yield the deviations of a mission's requests from the approved calls."""
        written = {o.obligation_id: o for o in account.ledger.obligations}
        for request in self._evidence.requests:
            name = request.request_id or ""
            known: Sequence[ApprovedCall | None] = self._calls.get(name) or [None]
            if self._is_read_of_another_branch(request, known):
                continue
            found = [list(self._deviations_from(c, written.get(name), request)) for c in known]
            if all(found):
                yield from found[-1]

    def _is_read_of_another_branch(
        self, request: HeldRequest, known: Sequence[ApprovedCall | None]
    ) -> bool:
        """Return True for a read under the id of a call that was approved before a reset.

        A new branch may take another step for each number; what changes nothing needs no approval.
        """
        others = all(one is not None and one.tool != request.operation for one in known)
        return request.operation in self._evidence.reads and others

    def _deviations_from(
        self, approved: ApprovedCall | None, written: Obligation | None, request: HeldRequest
    ) -> Iterator[str]:
        name = request.request_id or ""
        wanted = self._wanted(approved, written)
        if request.arguments is None or wanted is None:
            return
        if approved is not None and approved.tool != request.operation:
            yield f"{name} was approved as {approved.tool} and sent as {request.operation}"
        added = self._evidence.defaults.get(request.operation, {})
        for what in _differences(wanted, request.arguments, added):
            yield f"{request.operation} ({name}): {what}"

    def _wanted(
        self, approved: ApprovedCall | None, written: Obligation | None
    ) -> JsonObject | None:
        """Return the approved arguments of a call, else those of its obligation, or None."""
        known = approved or written
        return (
            None
            if known is None
            else {name: self._revealed(value) for name, value in known.arguments.items()}
        )

    def _revealed(self, value: JsonValue) -> JsonValue:
        if isinstance(value, dict):
            return {name: self._revealed(held) for name, held in value.items()}
        if isinstance(value, list):
            return [self._revealed(held) for held in value]
        if not isinstance(value, str):
            return value
        if handle_of(value) is not None:
            return self._value_of(handle_of(value))
        fields = {handle.field for text in self._evidence.values if (handle := handle_of(text))}
        return replace_handles(value, fields, self._value_of)

    def _value_of(self, handle: Handle | None) -> str:
        return self._evidence.values.get(str(handle), str(handle))

    def unnoticed_overcharges(self, account: Account, effects: list[HeldEffect]) -> Iterator[str]:
        """Yield standing effects that cost more than approved without a person knowing."""
        written = {o.obligation_id: o for o in account.ledger.obligations}
        for effect in effects:
            approved, obligation = self._calls.get(effect.cause), written.get(effect.cause)
            if not effect.is_live or effect.operation not in self._evidence.spending:
                continue
            if approved is None or obligation is None:
                continue
            above = [_charged_above(one, effect) for one in approved]
            more = None if None in above else min(one for one in above if one is not None)
            if more is None or obligation.state is not ObligationState.COMMITTED:
                continue
            if not _is_marked(obligation):
                yield f"{effect.cause} cost {more} more than was approved, and is not marked"
            elif account.status == "succeeded" and effect.cause not in self._kept:
                yield f"{effect.cause} cost {more} more than was approved, and nobody was asked"


def _is_marked(obligation: Obligation) -> bool:
    return getattr(obligation, "overcharged", None) is not None


def _charged_above(approved: ApprovedCall, effect: HeldEffect) -> Decimal | None:
    """Return the charge above the approved price; None if there is none or it is unknown."""
    price = approved.price
    if price is None or effect.amount is None or price.currency != effect.currency:
        return None
    more = (Decimal(str(effect.amount)) - price.amount).quantize(_CENT)
    return more if more > 0 else None


def _differences(
    wanted: JsonObject, received: JsonObject, added: Mapping[str, JsonValue]
) -> Iterator[str]:
    """Yield differences by name only: values may be personal."""
    for name in sorted({*wanted, *received}):
        if name not in received:
            yield f"{name} was approved and did not arrive"
        elif name not in wanted:
            if name not in added or added[name] != received[name]:
                yield f"{name} arrived and was not approved"
        elif wanted[name] != received[name]:
            yield f"{name} arrived with another value than was approved"


_DOTS = 2
"""Dots in the id of a call: mission, leg and step; cancels and probes have more."""
_LATER = frozenset({408, 425, 429})
_DEFERS = frozenset({"rate_limit"})
"""Faults that ask for a later retry and use up no attempt."""
_HARMLESS = frozenset({"overcharge", "duplicate", "late_duplicate"})
"""Faults that do not change the answer."""


def why_not_parked(
    obligation: Obligation,
    requests: Iterable[HeldRequest],
    *,
    cuts: int = 0,
    is_probed: bool = True,
    is_blind: bool = False,
    deaths: int = 0,
) -> str | None:
    """Return why a parked obligation should have been cancelled; None if parking was right.

    A fault that strikes once must not end on an operator's list. Four things excuse it: a provider
    that refuses the cancel as its document declares; as many unclear answers as attempts; without a
    probe, a refusal of the repeated call, which does not say what the first one did; and a lost
    answer that alone names what the cancel needs, of a call without key and probe.

    Args:
        obligation: a parked one, or one that its contract accepts.
        requests: of its mission, in the order they arrived.
        cuts: how often a worker was cut off, each time perhaps losing an answer. A worker's death
            uses up no attempt.
        is_probed: its contract has a probe.
        is_blind: nothing can cancel it once the answer of its call is lost.
        deaths: how often a worker died, each time perhaps with an answer.
    """
    if obligation.cancel_tool is None:
        return None
    theirs = [r for r in requests if _is_about(r, obligation)]
    # A refusal parks at once, so a refusal before another attempt excuses nothing.
    if any(_is_refused(r) for r in [r for r in theirs if _is_cancel(r, obligation)][-1:]):
        return None
    sent = [r for r in theirs if r.operation == obligation.tool]
    is_answer_lost = any(map(_is_unclear, sent)) or (sent and deaths)
    if is_blind and obligation.committed_at is None and is_answer_lost:
        return None
    is_in_doubt = not is_probed and obligation.committed_at is None
    if is_in_doubt and any(_is_refused(r) for r in theirs[-1:] if r.operation == obligation.tool):
        return None
    unclear = sum(_is_unclear(r) for r in theirs)
    needed = obligation.cancel_max_attempts
    if unclear + _lost(theirs, cuts) >= needed:
        return None
    return (
        f"{obligation.obligation_id} is parked ({obligation.note}), and its providers were unclear "
        f"{unclear} times of the {needed} that its contract gives"
    )


def _is_about(request: HeldRequest, obligation: Obligation) -> bool:
    name, known = request.request_id or "", obligation.obligation_id
    return name == known or name.startswith(f"{known}.")


def _is_cancel(request: HeldRequest, obligation: Obligation) -> bool:
    return request.operation == obligation.cancel_tool


def _is_refused(request: HeldRequest) -> bool:
    kinds = (request.fault or "").split("+")
    # `status_after` refuses a cancel that was carried out, which only a probe can detect.
    refusals = {"refuse_cancel", "status_before", "status_after", "refuse_repeat"}
    refuses = not refusals.isdisjoint(kinds)
    return refuses and request.status is not None and _is_final(request.status)


def _is_final(status: int) -> bool:
    return 400 <= status < 500 and status not in _LATER


def _is_unclear(request: HeldRequest) -> bool:
    kinds = set((request.fault or "").split("+")) - {""}
    return bool(kinds - _DEFERS - _HARMLESS)


def _lost(requests: Sequence[HeldRequest], cuts: int) -> int:
    """Return how many clear answers may have been lost on their way."""
    cancelling = [r for r in requests if r.request_id and r.request_id.count(".") > _DOTS]
    return min(cuts, sum(request.fault is None for request in cancelling))


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
"""States in which a person knows of a standing effect."""
_UNSETTLED: Final = ("stuck", "slow")
"""Statuses of missions that are not over, whose ledgers still account for effects."""
_Broken = Iterator[tuple[Invariant, str]]


class InvariantBreach(Record):
    """An invariant that one mission broke."""

    index: int
    mission_id: str
    goal: str
    invariant: Invariant
    what: str


def judge(accounts: Iterable[Account], evidence: RunEvidence) -> list[InvariantBreach]:
    """Return all breaches in the order of the missions; stray effects come last."""
    every = sorted(accounts, key=lambda account: account.index)
    case = _Case(evidence)
    found = [
        InvariantBreach(
            index=account.index,
            mission_id=account.mission_id,
            goal=account.goal,
            invariant=invariant,
            what=what,
        )
        for account in every
        for invariant, what in case.breaches(account)
    ]
    known = {account.mission_id for account in every} | evidence.others
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

    def breaches(self, account: Account) -> _Broken:
        effects = self._effects.get(account.mission_id, [])
        requests = self._requests.get(account.mission_id, [])
        theirs = self._evidence.model_copy(update={"requests": tuple(requests)})
        approvals = ApprovedCalls(theirs)
        yield from _duplicates(effects)
        yield from _keyless(effects, self._evidence.keyed)
        yield from _foreign(effects)
        yield from _late(requests)
        for what in approvals.deviations(account):
            yield "unapproved", what
        if account.prompts_during_rollback:
            yield "prompt", f"{account.prompts_during_rollback} asked after the rollback had begun"
        if account.rewound:
            return
        if account.status in _UNSETTLED:
            kind: Invariant = "stuck" if account.status == "stuck" else "slow"
            yield kind, f"not settled after {account.seconds:.0f} s: {account.error or 'no error'}"
        states = {o.obligation_id: o.state for o in account.ledger.obligations}
        standing = _KNOWN_TO_A_PERSON
        if account.status in LEAVES_STANDING:
            standing = standing | {ObligationState.COMMITTED}
        if account.status in _UNSETTLED:
            standing = standing | {ObligationState.INTENDED, ObligationState.COMMITTED}
        for effect in effects:
            if effect.is_live and states.get(effect.cause) not in standing:
                state = states.get(effect.cause)
                written = f"is {state.value} in" if state else "is not in"
                yield (
                    "orphan",
                    f"{effect.operation} {effect.resource_id} ({effect.cause}) stands at its "
                    f"provider and {written} the ledger of a mission that {account.status}",
                )
        yield from _phantoms(account, effects)
        yield from _unserved(account, effects)
        evidence = self._evidence
        for obligation in account.ledger.obligations:
            if obligation.state in _KNOWN_TO_A_PERSON:
                is_probed = obligation.tool not in evidence.unprobed
                is_blind = obligation.obligation_id in evidence.blind
                why = why_not_parked(
                    obligation,
                    requests,
                    cuts=evidence.cuts,
                    is_probed=is_probed,
                    is_blind=is_blind,
                    deaths=evidence.deaths,
                )
                if why is not None:
                    yield "parked", why
        for what in approvals.unnoticed_overcharges(account, effects):
            yield "overcharge", what


def _duplicates(effects: Sequence[HeldEffect]) -> _Broken:
    """Yield calls that had their effect more than once, cancelled or not."""
    for kind in ("create", "update", "cancel"):
        counted = Counter(effect.cause for effect in effects if effect.kind == kind)
        for cause, count in counted.items():
            if count > 1:
                yield "duplicate", f"{cause} had its effect {count} times"


def _phantoms(account: Account, effects: Sequence[HeldEffect]) -> _Broken:
    """Yield receipts of missions with standing obligations that no effect proves."""
    if account.status not in LEAVES_STANDING:
        return
    held = {effect.cause for effect in effects if effect.is_live}
    committed = [
        o.obligation_id for o in account.ledger.obligations if o.state is ObligationState.COMMITTED
    ]
    for call_id in dict.fromkeys([*account.receipts, *committed]):
        if call_id not in held:
            yield "phantom", f"{call_id} has a receipt, and nothing stands"


def _unserved(account: Account, effects: Sequence[HeldEffect]) -> _Broken:
    if account.status != "succeeded":
        return
    held = {effect.operation for effect in effects if effect.is_live}
    for operation in account.orders:
        if operation not in held:
            yield "unserved", f"the mission succeeded, and nothing that {operation} made stands"


def _foreign(effects: Sequence[HeldEffect]) -> _Broken:
    makers = {(e.resource_id): e.cause for e in effects if e.kind == "create"}
    made = {e.cause: e.resource_id for e in effects if e.kind == "create"}
    for effect in effects:
        call_id = effect.cause.removesuffix(".cancel")
        if effect.kind != "cancel" or call_id == effect.cause:
            continue
        if made.get(call_id) != effect.resource_id:
            whose = makers.get(effect.resource_id, "another mission")
            yield "foreign", f"{effect.cause} cancelled {effect.resource_id}, made by {whose}"


def _late(requests: Sequence[HeldRequest]) -> _Broken:
    """Yield calls that were sent again after their cancel.

    A provider that forgets idempotency keys would perform them again.
    """
    cancelled: set[str] = set()
    for request in requests:
        name, is_ours = request.request_id or "", "duplicate" not in (request.fault or "")
        if name.endswith(".cancel") and request.status is not None and request.status < 300:
            cancelled.add(name.removesuffix(".cancel"))
        elif name in cancelled and is_ours:
            yield "late", f"{request.operation} ({name}) arrived again after its cancel"


def _keyless(effects: Sequence[HeldEffect], keyed: frozenset[str]) -> _Broken:
    forward = {effect.idempotency_key for effect in effects if effect.kind == "create"}
    for effect in effects:
        if effect.operation not in keyed:
            continue
        if effect.idempotency_key is None:
            yield "keyless", f"{effect.operation} ({effect.cause}) was called without a key"
        elif effect.kind == "cancel" and effect.idempotency_key in forward:
            yield (
                "keyless",
                f"{effect.operation} ({effect.cause}) has the key of its call",
            )
