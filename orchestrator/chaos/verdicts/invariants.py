"""The invariants: comparison of the providers' effects with the missions' accounts.

When all missions are settled, every standing effect belongs to a mission that succeeded, to one
that is incomplete and says so, or is parked; only an effect that could not be cancelled is parked;
no call had its effect twice; every change carried its own key, the approved arguments and the
approved price; receipts are true; and nobody was asked anything once a rollback had begun.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
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
            name, sent = request.request_id or "", request.operation
            known: Sequence[ApprovedCall | None] = self._calls.get(name) or [None]
            others = all(one is not None and one.tool != sent for one in known)
            # A new branch after a reset may read something else under the id of an approved call;
            # what changes nothing needs no approval.
            if request.arguments is None or (sent in self._evidence.reads and others):
                continue
            found = []
            for approved in known:
                wanted = approved or written.get(name)
                differing = [] if wanted is None else list(self._differences(wanted, request))
                if approved is not None and approved.tool != sent:
                    differing.insert(
                        0, f"{name} was approved as {approved.tool} and sent as {sent}"
                    )
                found.append(differing)
            if all(found):
                yield from found[-1]

    def _differences(
        self, wanted: ApprovedCall | Obligation, request: HeldRequest
    ) -> Iterator[str]:
        """Yield differences by name only: values may be personal."""
        received, added = (
            request.arguments or {},
            self._evidence.defaults.get(request.operation, {}),
        )
        arguments = {name: self._revealed(value) for name, value in wanted.arguments.items()}
        for name in sorted({*arguments, *received}):
            what = ""
            if name not in received:
                what = "was approved and did not arrive"
            elif name not in arguments:
                is_default = name in added and added[name] == received[name]
                what = "" if is_default else "arrived and was not approved"
            elif arguments[name] != received[name]:
                what = "arrived with another value than was approved"
            if what:
                yield f"{request.operation} ({request.request_id or ''}): {name} {what}"

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
            obligation = written.get(effect.cause)
            if not effect.is_live or effect.operation not in self._evidence.spending:
                continue
            if obligation is None or obligation.state is not ObligationState.COMMITTED:
                continue
            above = []
            for approved in self._calls.get(effect.cause, ()):
                price = approved.price
                if price is None or effect.amount is None or price.currency != effect.currency:
                    above.append(Decimal(0))
                    continue
                charged = Decimal(str(effect.amount)) - price.amount
                above.append(charged.quantize(Decimal("0.01")))
            # One approval that covers the charge is enough; an unknown price counts as covered.
            more = min(above, default=Decimal(0))
            if more <= 0:
                continue
            if obligation.overcharged is None:
                yield f"{effect.cause} cost {more} more than was approved, and is not marked"
            elif account.status == "succeeded" and effect.cause not in self._kept:
                yield f"{effect.cause} cost {more} more than was approved, and nobody was asked"


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
    known = obligation.obligation_id
    theirs = [r for r in requests if f"{r.request_id or ''}.".startswith(f"{known}.")]
    cancels = [r for r in theirs if r.operation == obligation.cancel_tool]
    # A refusal parks at once, so a refusal before another attempt excuses nothing.
    if any(map(_is_refused, cancels[-1:])):
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
    # The id of a call is mission, leg and step; those of cancels and probes have more parts.
    cancelling = [r for r in theirs if r.request_id and r.request_id.count(".") > 2]
    if unclear + min(cuts, sum(request.fault is None for request in cancelling)) >= needed:
        return None
    return (
        f"{obligation.obligation_id} is parked ({obligation.note}), and its providers were unclear "
        f"{unclear} times of the {needed} that its contract gives"
    )


def _is_refused(request: HeldRequest) -> bool:
    # `status_after` refuses a cancel that was carried out, which only a probe can detect.
    refusals = {"refuse_cancel", "status_before", "status_after", "refuse_repeat"}
    is_struck = not refusals.isdisjoint((request.fault or "").split("+"))
    status = request.status
    is_later = status in (408, 425, 429)
    return is_struck and status is not None and 400 <= status < 500 and not is_later


def _is_unclear(request: HeldRequest) -> bool:
    # A later retry uses up no attempt, and the others do not change the answer.
    clear = {"", "rate_limit", "overcharge", "duplicate", "late_duplicate"}
    return bool(set((request.fault or "").split("+")) - clear)


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
    for one in evidence.effects:
        if one.mission_id not in known:
            what = f"{one.operation} {one.resource_id} ({one.cause}) is of no mission of this run"
            stray = InvariantBreach(
                index=-1, mission_id=one.mission_id, goal="", invariant="stray", what=what
            )
            found.append(stray)
    return found


class _Case:
    """The evidence of a run, by mission."""

    def __init__(self, evidence: RunEvidence) -> None:
        self._evidence = evidence
        self._effects: dict[str, list[HeldEffect]] = defaultdict(list)
        for effect in evidence.effects:
            self._effects[effect.mission_id].append(effect)
        self._requests: dict[str, list[HeldRequest]] = defaultdict(list)
        for request in evidence.requests:
            self._requests[(request.request_id or "").partition(".")[0]].append(request)

    def breaches(self, account: Account) -> _Broken:
        effects, requests = self._effects[account.mission_id], self._requests[account.mission_id]
        approvals = ApprovedCalls(self._evidence.model_copy(update={"requests": tuple(requests)}))
        counted = Counter((effect.kind, effect.cause) for effect in effects)
        for (_, cause), count in counted.items():
            if count > 1:
                yield "duplicate", f"{cause} had its effect {count} times"
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
        yield from _orphans(account, effects)
        held = {effect.cause for effect in effects if effect.is_live}
        if account.status in LEAVES_STANDING:
            obligations = account.ledger.obligations
            made = [o.obligation_id for o in obligations if o.state is ObligationState.COMMITTED]
            for call_id in dict.fromkeys([*account.receipts, *made]):
                if call_id not in held:
                    yield "phantom", f"{call_id} has a receipt, and nothing stands"
        served = {effect.operation for effect in effects if effect.is_live}
        for operation in account.orders if account.status == "succeeded" else ():
            if operation not in served:
                yield "unserved", f"the mission succeeded, and nothing that {operation} made stands"
        for obligation in account.ledger.obligations:
            if obligation.state in _KNOWN_TO_A_PERSON:
                why = why_not_parked(
                    obligation,
                    requests,
                    cuts=self._evidence.cuts,
                    is_probed=obligation.tool not in self._evidence.unprobed,
                    is_blind=obligation.obligation_id in self._evidence.blind,
                    deaths=self._evidence.deaths,
                )
                if why is not None:
                    yield "parked", why
        for what in approvals.unnoticed_overcharges(account, effects):
            yield "overcharge", what


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


def _orphans(account: Account, effects: Sequence[HeldEffect]) -> _Broken:
    states = {o.obligation_id: o.state for o in account.ledger.obligations}
    standing = _KNOWN_TO_A_PERSON
    if account.status in LEAVES_STANDING:
        standing = standing | {ObligationState.COMMITTED}
    if account.status in _UNSETTLED:
        standing = standing | {ObligationState.INTENDED, ObligationState.COMMITTED}
    for effect in effects:
        state = states.get(effect.cause)
        if effect.is_live and state not in standing:
            written = f"is {state.value} in" if state else "is not in"
            yield (
                "orphan",
                f"{effect.operation} {effect.resource_id} ({effect.cause}) stands at its "
                f"provider and {written} the ledger of a mission that {account.status}",
            )


def _keyless(effects: Sequence[HeldEffect], keyed: frozenset[str]) -> _Broken:
    forward = {effect.idempotency_key for effect in effects if effect.kind == "create"}
    for effect in effects:
        if effect.operation not in keyed:
            continue
        if effect.idempotency_key is None:
            yield "keyless", f"{effect.operation} ({effect.cause}) was called without a key"
        elif effect.kind == "cancel" and effect.idempotency_key in forward:
            yield "keyless", f"{effect.operation} ({effect.cause}) has the key of its call"
