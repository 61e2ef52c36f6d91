"""Evidence of a verdict: the sandbox's records, the approved cards and the missions' accounts."""

from typing import Literal

from pydantic import Field

from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject, Record
from orchestrator.saga.ledger import Ledger


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
    spending: frozenset[str] = Field(
        default=frozenset(), description="operations that take money; others may state amounts"
    )
    others: frozenset[str] = Field(
        default=frozenset(), description="missions of the run that are not judged"
    )
    cuts: int = Field(default=0, description="number of times that a worker was cut off")
