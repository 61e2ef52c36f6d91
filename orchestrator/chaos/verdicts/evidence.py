"""What a verdict goes by: the sandbox's records, the approver's cards, and each mission's word."""

from typing import Literal

from pydantic import Field

from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject, Record
from orchestrator.saga.ledger import Ledger


class HeldEffect(Record):
    """One change that a provider made, as the sandbox's ledger has it."""

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
        """Whether it is something that was made or changed, and stands."""
        return self.kind != "cancel" and self.status == "live"

    @property
    def cause(self) -> str:
        """The call that caused it: "mission.leg.step", for a cancel "mission.leg.step.cancel"."""
        return self.request_id or self.idempotency_key or ""

    @property
    def mission_id(self) -> str:
        """The mission whose call it was."""
        return self.cause.partition(".")[0]


class HeldRequest(Record):
    """One request that arrived at a provider, as the sandbox's ledger has it."""

    operation: str
    request_id: str | None = None
    status: int | None = Field(default=None, description="None: no whole answer left")
    fault: str | None = Field(default=None, description="what was planned for it, and happened")
    arguments: JsonObject | None = Field(
        default=None, description="as the provider read them, defaults included; None: unread"
    )


class ApprovedCall(Record):
    """What the kit's approver said yes to, taken from the card before the decision was sent."""

    call_id: str
    tool: str
    card_type: str
    arguments: JsonObject = Field(description="personal fields as handles")
    price: Money | None = None


class Account(Record):
    """What a mission says of itself once it is settled."""

    index: int
    mission_id: str
    goal: str
    status: str = Field(description="a MissionStatus, `terminated`, `lost`, `stuck` or `slow`")
    error: str | None = None
    ledger: Ledger = Field(default_factory=Ledger)
    catalog: str = Field(default="", description="the digest of the documents that it goes by")
    receipts: tuple[str, ...] = Field(default=(), description="ids of the calls of its receipts")
    orders: tuple[str, ...] = Field(
        default=(), description="tools whose effects a success of its goal has"
    )
    prompts_during_rollback: int = 0
    rollback_s: float | None = Field(default=None, description="None: nothing was rolled back")
    seconds: float = 0.0
    rewound: bool = Field(
        default=False, description="its server was restored from a copy while it was under way"
    )


class RunEvidence(Record):
    """All that is known of a run beside what the missions say."""

    effects: tuple[HeldEffect, ...] = ()
    requests: tuple[HeldRequest, ...] = ()
    approved: tuple[ApprovedCall, ...] = ()
    values: dict[str, str] = Field(
        default_factory=dict, description="what each pinned handle stands for, by the kit's vault"
    )
    defaults: dict[str, JsonObject] = Field(
        default_factory=dict, description="by operation, what a provider adds to what is not sent"
    )
    keyed: frozenset[str] = Field(
        default=frozenset(), description="the operations that take an idempotency key"
    )
    spending: frozenset[str] = Field(
        default=frozenset(), description="the operations that take money; others may state amounts"
    )
    others: frozenset[str] = Field(
        default=frozenset(), description="missions that ran beside those that are judged"
    )
    cuts: int = Field(default=0, description="how often a worker was cut off from something")
