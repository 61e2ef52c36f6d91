"""Confirmations: the card a person reads, the digest they approve, the grant that results."""

import hashlib
import json
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue

from orchestrator.catalog.card_types import OVERCHARGE, PLAN
from orchestrator.confirmation.asked_before import AskedCall, Fate
from orchestrator.confirmation.card_content import (
    Amount,
    CancelTerms,
    CardLine,
    CardSection,
    Change,
    Content,
    NamedThing,
)
from orchestrator.confirmation.choices import (
    Choice,
    choices_on,
    choices_on_done,
    choices_on_plan,
)
from orchestrator.core.budget import Money
from orchestrator.core.call_ref import CallRef
from orchestrator.core.record import JsonObject, OneOfSeveral, Record
from orchestrator.json_schema.canonical import canonical_text


def call_digest(
    call: CallRef,
    *,
    arguments: JsonObject,
    card_type: str,
    confirmation_id: str = "",
    terms: JsonObject | None = None,
) -> str:
    """What an approval is bound to: SHA-256 of the canonical JSON (RFC 8785) of one exact call.

    `confirmation_id` tells apart the cards of a call that is asked about again; the first has the
    call's own id, or none. `terms` is what rules on approvers go by: who asked, for how much.
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
    if terms:
        covered["terms"] = terms
    return canonical_digest(covered)


def canonical_digest(value: JsonObject) -> str:
    """SHA-256 of the canonical JSON of an object, in hexadecimal."""
    return hashlib.sha256(_canonical(value)).hexdigest()


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
    unordered: str = Field(
        default="",
        description="why no order of the plan covers it: its first line; empty: one does",
    )
    goal: str = Field(default="", description="what the mission is to reach")
    clause: str = Field(default="", description="the part of the goal that the call serves")
    agent: str = Field(default="", description="who wants to make the call")
    reason: str = Field(default="", description="why, as the planner says: nothing proves it")
    warnings: tuple[str, ...] = Field(default=(), description="what to mind before deciding")
    exceeds_budget: bool = Field(
        default=False, description="whether it costs more than is left, so that nothing sends it"
    )
    is_unfounded: bool = Field(
        default=False,
        description="an id comes from no answer or person, or the thing that it stands for differs "
        "from the arguments: no standing approval covers it",
    )
    asked_because: str = Field(default="", description="why people are asked again, in sentences")
    changes: tuple[Change, ...] = Field(
        default=(), description="what is otherwise than when people were asked before"
    )
    named: tuple[NamedThing, ...] = Field(
        default=(), description="what the ids among the arguments stand for"
    )
    totals: tuple[Amount, ...] = Field(default=(), description="the sums of lists of items")
    other_inputs: tuple[CardLine, ...] = Field(
        default=(),
        description="sent as well: values from the vault, our own references, explained ids",
    )
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
    opened_at: datetime | None = Field(
        default=None, description="what was signed earlier is no decision on this card"
    )
    expires_at: datetime | None = None
    requester: str = Field(default="", description="who asked for the mission, as its start says")
    requester_may_approve: bool = True
    approvers: tuple[str, ...] = Field(
        default=(), description="patterns of those who may decide; none: anybody"
    )
    operators_approvers: tuple[str, ...] = Field(
        default=(), description="patterns that they must fit as well: those of the worker's policy"
    )
    approvals_needed: int = Field(default=1, description="of that many different approvers")
    approved_by: tuple[str, ...] = Field(
        default=(), description="who has approved it, while it waits for another"
    )
    signed: bool = Field(
        default=False,
        description="whether a decision needs a signature; else approvers are who they say",
    )
    round: int = Field(default=1, description="how often this call is asked about, this included")
    reminded: int = Field(default=0, description="how often it was reminded of so far")

    def sections(self) -> tuple[CardSection, ...]:
        """All there is to read, under its headings; the lines without one come last."""
        parts = tuple(self.content.sections()) if self.content is not None else ()
        sums = CardSection(title="Totals", lines=tuple(one.line() for one in self.totals))
        things = tuple(thing.section() for thing in self.named)
        is_alone = not (parts or self.totals or things)
        rest = CardSection(title="" if is_alone else "Details", lines=self.lines)
        found = (*parts, sums, *things, rest)
        return tuple(section for section in found if section.lines)

    def folded(self) -> str:
        """The other inputs, which say little to a person, in one text."""
        return "; ".join(f"{line.label.lower()} {line.value}" for line in self.other_inputs)

    def purpose(self) -> tuple[CardLine, ...]:
        """What the call is for, whose agent wants it, and why."""
        clause = "" if self.clause == self.goal else self.clause
        lines = {
            "Goal": self.goal,
            "For this part": clause,
            "Wanted by agent": self.agent,
            "Planner's reason": self.reason,
        }
        return tuple(CardLine(label=k, value=v) for k, v in lines.items() if v)

    @property
    def cannot_be_undone(self) -> bool:
        """Whether what it leads to stays, as far as the provider's document tells."""
        terms = self.undo_terms
        return terms is not None and (terms.irreversible or terms.tool is None)

    def choices(self) -> tuple[Choice, ...]:
        """What a person can decide, with the command for it and what follows."""
        if self.card_type == OVERCHARGE:
            can_be_undone = not self.cannot_be_undone
            return choices_on_done(self.confirmation_id, self.digest, can_be_undone=can_be_undone)
        if self.card_type == PLAN:
            return choices_on_plan(self.confirmation_id, self.digest)
        return choices_on(
            self.confirmation_id,
            self.digest,
            changeable=self._changeable(),
            is_sent=not self.exceeds_budget,
        )

    def _changeable(self) -> tuple[str, ...] | None:
        """The inputs that a person may want to change: not those that hold our own references."""
        if self.inputs is None:
            return None
        ours = {name for name, value in self.arguments.items() if self._is_ours(value)}
        return tuple(
            f"{name} (by its handle)" if name in self.personal else name
            for name in self.inputs
            if name not in ours
        )

    def _is_ours(self, value: JsonValue) -> bool:
        return isinstance(value, str) and value.startswith(f"{self.mission_id}.{self.leg_id}.")

    def as_asked(
        self, fate: Fate = "waiting", *, by: str = "", words: str = "", meaning: str = ""
    ) -> AskedCall:
        """What is kept of this card, to tell a later one from it."""
        others = [line for line in self.other_inputs if not self._is_ours(line.value)]
        parts = [*(self.content.sections() if self.content is not None else ())]
        told = [line for part in (*parts, *self.named) for line in part.lines]
        lines = [*told, *self.lines, *others]
        return AskedCall(
            confirmation_id=self.confirmation_id,
            tool=self.tool,
            title=self.title,
            shown=tuple(line.shortened() for line in lines[:_MOST_KEPT]),
            meanings=(meaning,) if meaning else (),
            price=self.price,
            fate=fate,
            by=by,
            words=words,
        )

    def oversight(self) -> tuple[CardLine, ...]:
        """Who asked, who may decide, how they are known, and who has approved so far."""
        may = [", ".join(p) for p in (self.approvers, self.operators_approvers) if p]
        if not self.requester_may_approve:
            may.append("not the requester")
        needed = self.approvals_needed
        lines = {
            "Requested by": self.requester,
            "Who may decide": "; and ".join(may),
            "Approvals needed": f"{needed}, of different people" if needed > 1 else "",
            "Approved by": ", ".join(self.approved_by),
            "Approvers are": _KNOWN_BY[self.signed],
        }
        return tuple(CardLine(label=k, value=v) for k, v in lines.items() if v)


_MOST_KEPT = 40
"""Lines of a card that a later one is compared with."""
_KNOWN_BY = {
    True: "known by their signatures",
    False: "who they say they are: nothing here proves it",
}


MOST_TEXT: Final = 2000
"""Characters of what a person asks for instead."""
Then = Literal["replan", "skip", "undo"]
"""What follows a rejection."""


class Approve(OneOfSeveral):
    """Approves the call exactly as the card shows it."""

    kind: Literal["approve"] = "approve"
    confirmation_id: str
    digest: str
    approver: str = ""
    issuer: str = ""
    signature: str = Field(default="", description="a compact JWS; see confirmation.signatures")


class Amend(OneOfSeveral):
    """Changes arguments of the call; leads to a new card."""

    kind: Literal["amend"] = "amend"
    confirmation_id: str
    changes: JsonObject
    approver: str = ""
    issuer: str = ""
    signature: str = ""


class Reject(OneOfSeveral):
    """Refuses the call, and says what is to follow."""

    kind: Literal["reject"] = "reject"
    confirmation_id: str
    reason: str
    then: Then = Field(
        default="replan",
        description="replan: the planner looks for another way; skip: this part of the goal is "
        "left out; undo: the mission ends, and all that it did is undone",
    )
    approver: str = ""
    issuer: str = ""
    signature: str = ""


class Respond(OneOfSeveral):
    """Sends the call back: the planner is to look again, with a hint that it reads as data."""

    kind: Literal["respond"] = "respond"
    confirmation_id: str
    text: str = Field(
        pattern=r"\S", max_length=MOST_TEXT, description="what is wanted instead: a later flight"
    )
    approver: str = ""
    issuer: str = ""
    signature: str = ""


Verdict = Reject | Respond
"""What closes a card without a call."""
Decision = Annotated[Approve | Amend | Reject | Respond, Field(discriminator="kind")]


class DecisionEnvelope(Record):
    """A decision as it crosses the boundary: one model in, so that fields can be added."""

    decision: Decision


Past = Literal["approved", "amended", "rejected", "responded"]


class DecisionReceipt(Record):
    """What became of a decision."""

    confirmation_id: str
    accepted: Past
    at: datetime
    card: ConfirmationCard | None = Field(
        default=None,
        description="the card that is open now: as amended, or for another approver to approve",
    )


class DecisionRecord(Record):
    """Who decided what, when and on which arguments: kept in the mission's record."""

    confirmation_id: str
    kind: Literal["approved", "amended", "rejected", "expired", "responded"]
    approver: str
    at: datetime
    digest: str
    reason: str = Field(default="", description="of a rejection; of a response its text")
    then: str = Field(default="", description="of a rejection: what was to follow")
    issuer: str = Field(default="", description="who vouches for the approver; empty: nobody")
    signature: str = ""


PAST: Final[dict[str, Past]] = {
    "approve": "approved",
    "amend": "amended",
    "reject": "rejected",
    "respond": "responded",
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
        reason=_words_of(decision),
        then=decision.then if isinstance(decision, Reject) else "",
        issuer=decision.issuer,
        signature=decision.signature,
    )


def _words_of(decision: Decision) -> str:
    match decision:
        case Reject(reason=words) | Respond(text=words):
            return words
    return ""


class Approval(Record):
    """One person's yes, as the grant that it leads to carries it."""

    approver: str
    issuer: str = ""
    signature: str = ""
    at: datetime


class Grant(Record):
    """The permission that an approval gives: for one call, with these arguments, once."""

    confirmation_id: str
    digest: str
    approver: str = Field(description="those who approved; of a standing approval its name")
    granted_at: datetime
    opened_at: datetime | None = Field(default=None, description="when its card was opened")
    approvals: tuple[Approval, ...] = Field(
        default=(), description="none: of a standing approval, or given before they were kept"
    )

    def of_people(self) -> tuple[Approval, ...]:
        """What people said; one that kept no approvals is one of the approver it names."""
        return self.approvals or (Approval(approver=self.approver, at=self.granted_at),)


def grant_of(card: ConfirmationCard, approvals: Iterable[Approval], at: datetime) -> Grant:
    """What the approvals of people on a card permit."""
    given = tuple(approvals)
    return Grant(
        confirmation_id=card.confirmation_id,
        digest=card.digest,
        approver=", ".join(one.approver for one in given),
        granted_at=at,
        opened_at=card.opened_at,
        approvals=given,
    )
