"""Confirmations: the card a person reads, the digest they approve, the grant that results."""

import hashlib
import json
from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import Field

from orchestrator.confirmation.card_content import CancelTerms, CardLine, CardSection, Content
from orchestrator.core.budget import Money
from orchestrator.core.call_ref import CallRef
from orchestrator.core.record import JsonObject, Record
from orchestrator.json_schema.canonical import canonical_text


def call_digest(
    call: CallRef, *, arguments: JsonObject, card_type: str, confirmation_id: str = ""
) -> str:
    """What an approval is bound to: SHA-256 of the canonical JSON (RFC 8785) of one exact call.

    `confirmation_id` tells apart the cards of a call that is asked about again; the first has the
    call's own id, or none.
    """
    covered: JsonObject = {
        "tool": call.tool,
        "catalog_digest": call.catalog_digest,
        "arguments": arguments,
        "card_type": card_type,
        "call_id": call.call_id,
    }
    if confirmation_id not in ("", call.call_id):
        covered["confirmation_id"] = confirmation_id
    return hashlib.sha256(_canonical(covered)).hexdigest()


def _canonical(value: JsonObject) -> bytes:
    """Canonical JSON; for what RFC 8785 excludes (integers from 2**53 on), plain JSON in order."""
    try:
        return canonical_text(value, exact=True).encode()
    except ValueError:
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


class ConfirmationCard(Record):
    """What a person reads before a side effect happens. Personal fields appear masked."""

    confirmation_id: str = Field(
        description="the call's id (mission, leg and step), and the round where it is asked again"
    )
    mission_id: str
    leg_id: str
    card_type: str
    heading: str = Field(default="", description="what its type is called")
    title: str
    tool: str
    content: Content | None = Field(
        default=None, description="what its type shows; None: the type has no parts of its own"
    )
    lines: tuple[CardLine, ...] = Field(default=(), description="all that has no other place")
    arguments: JsonObject = Field(default_factory=dict)
    personal: tuple[str, ...] = Field(
        default=(), description="names of the arguments that may only hold handles"
    )
    inputs: tuple[str, ...] | None = Field(
        default=None, description="names of what an amendment may change; None: any"
    )
    price: Money | None = None
    undo: str = Field(default="", description="whether and how it can be cancelled")
    undo_terms: CancelTerms | None = None
    digest: str
    expires_at: datetime | None = None
    approvers: tuple[str, ...] = Field(
        default=(), description="patterns of those who may decide; none: anybody"
    )
    round: int = Field(default=1, description="how often this call is asked about, this included")
    reminded: int = Field(default=0, description="how often it was reminded of so far")

    def sections(self) -> tuple[CardSection, ...]:
        """All there is to read, under its headings; the lines without one come last."""
        parts = tuple(self.content.sections()) if self.content is not None else ()
        rest = (CardSection(title="Details" if parts else "", lines=self.lines),)
        return (*parts, *(rest if self.lines else ()))


class Approve(Record):
    """Approves the call exactly as the card shows it."""

    kind: Literal["approve"] = "approve"
    confirmation_id: str
    digest: str
    approver: str


class Amend(Record):
    """Changes arguments of the call; leads to a new card."""

    kind: Literal["amend"] = "amend"
    confirmation_id: str
    changes: JsonObject
    approver: str


class Reject(Record):
    """Refuses the call."""

    kind: Literal["reject"] = "reject"
    confirmation_id: str
    reason: str
    approver: str


Decision = Annotated[Approve | Amend | Reject, Field(discriminator="kind")]


class DecisionEnvelope(Record):
    """A decision as it crosses the boundary: one model in, so that fields can be added."""

    decision: Decision


class DecisionReceipt(Record):
    """What became of a decision."""

    confirmation_id: str
    accepted: Literal["approved", "amended", "rejected"]
    at: datetime
    card: ConfirmationCard | None = Field(
        default=None, description="after an amendment: the new card, to be approved in its turn"
    )


class DecisionRecord(Record):
    """Who decided what, when and on which arguments: kept in the mission's record."""

    confirmation_id: str
    kind: Literal["approved", "amended", "rejected", "expired"]
    approver: str
    at: datetime
    digest: str
    reason: str = ""


PAST: Final[dict[str, Literal["approved", "amended", "rejected"]]] = {
    "approve": "approved",
    "amend": "amended",
    "reject": "rejected",
}
"""What a decision is called once it was taken."""


def record_of(decision: Decision, card: ConfirmationCard, at: datetime) -> DecisionRecord:
    """What is kept of a decision on a card."""
    return DecisionRecord(
        confirmation_id=decision.confirmation_id,
        kind=PAST[decision.kind],
        approver=decision.approver,
        at=at,
        digest=card.digest,
        reason=decision.reason if isinstance(decision, Reject) else "",
    )


class Grant(Record):
    """The permission that an approval gives: for one call, with these arguments, once."""

    confirmation_id: str
    digest: str
    approver: str
    granted_at: datetime
