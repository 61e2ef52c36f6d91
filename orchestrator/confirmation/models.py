"""Confirmations: the card a person reads, the digest they approve, the grant that results."""

from collections.abc import Iterable
from datetime import datetime, timedelta
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
from orchestrator.confirmation.choices import Choice, choices_on, choices_on_done, choices_on_plan
from orchestrator.confirmation.same_again import AgainRule, AgainTerms, FirstCall, SameAgain
from orchestrator.core.budget import Money
from orchestrator.core.call_ref import CallRef
from orchestrator.core.record import JsonObject, OneOfSeveral, Record
from orchestrator.core.shown_text import markdown_code, markdown_text
from orchestrator.json_schema.canonical import canonical_digest


def call_digest(
    call: CallRef,
    *,
    arguments: JsonObject,
    card_type: str,
    confirmation_id: str = "",
    terms: JsonObject | None = None,
) -> str:
    """Return the digest that an approval covers: SHA-256 of the call's JSON (RFC 8785).

    `confirmation_id` separates the cards of a call that is asked about again; the first has the
    call's own id, or none. `terms` are the inputs of rules on approvers: the requester and the
    amount.
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


class ConfirmationCard(Record):
    """The card that a person reads before a side effect happens. Personal fields are masked."""

    confirmation_id: str = Field(description="id of the call, and the round if asked again")
    mission_id: str
    leg_id: str
    card_type: str
    heading: str = Field(default="", description="title of its type")
    title: str
    tool: str
    content: Content | None = Field(default=None, description="of its type; None if that has none")
    lines: tuple[CardLine, ...] = Field(default=(), description="lines without another place")
    unordered: str = Field(default="", description="why no order of the plan covers the call")
    goal: str = Field(default="", description="goal of the mission")
    clause: str = Field(default="", description="the part of the goal that the call serves")
    agent: str = Field(default="", description="agent that makes the call")
    reason: str = Field(default="", description="the planner's reason, which nothing proves")
    warnings: tuple[str, ...] = Field(default=(), description="warnings for the approver")
    exceeds_budget: bool = Field(default=False, description="the budget does not allow the call")
    is_unfounded: bool = Field(
        default=False,
        description="True if an id comes from no answer or person, or its thing differs "
        "from the arguments: no standing approval covers the call",
    )
    asked_because: str = Field(default="", description="why it is asked about again")
    changes: tuple[Change, ...] = Field(default=(), description="differences from the earlier card")
    named: tuple[NamedThing, ...] = Field(default=(), description="that ids of the arguments name")
    totals: tuple[Amount, ...] = Field(default=(), description="sums of lists of items")
    other_inputs: tuple[CardLine, ...] = ()
    """Further inputs that are sent: vault values, own references, explained ids."""
    arguments: JsonObject = Field(default_factory=dict)
    personal: tuple[str, ...] = Field(default=(), description="arguments that take handles only")
    inputs: tuple[str, ...] | None = Field(default=None, description="what is amendable; None: any")
    price: Money | None = None
    cancellation: str = Field(default="", description="whether and how it can be cancelled")
    cancel_terms: CancelTerms | None = None
    digest: str
    opened_at: datetime | None = Field(default=None, description="no earlier signature decides it")
    expires_at: datetime | None = None
    requester: str = Field(default="", description="requester of the mission")
    requester_may_approve: bool = True
    approvers: tuple[str, ...] = Field(default=(), description="patterns of people; empty: anybody")
    operators_approvers: tuple[str, ...] = Field(default=(), description="by the worker's policy")
    approvals_needed: int = Field(default=1, description="number of different approvers")
    approved_by: tuple[str, ...] = Field(default=(), description="so far; it waits for another")
    signed: bool = Field(default=False, description="True if decisions need a signature")
    max_sign_in_age: timedelta | None = Field(default=None, description="from sign-in to decision")
    again: AgainTerms | None = Field(default=None, description="what a rule made here may cover")
    round: int = Field(default=1, description="how often it was asked about, this time included")
    reminded: int = Field(default=0, description="number of reminders so far")

    def sections(self) -> tuple[CardSection, ...]:
        """Return the sections of the card; the lines without a heading come last."""
        parts = tuple(self.content.sections()) if self.content is not None else ()
        sums = CardSection(title="Totals", lines=tuple(one.line() for one in self.totals))
        things = tuple(thing.section() for thing in self.named)
        is_alone = not (parts or self.totals or things)
        rest = CardSection(title="" if is_alone else "Details", lines=self.lines)
        found = (*parts, sums, *things, rest)
        return tuple(section for section in found if section.lines)

    def folded(self) -> str:
        """Return the other inputs, which mean little to a person, in one text."""
        return "; ".join(f"{line.label.lower()} {line.value}" for line in self.other_inputs)

    def purpose(self) -> tuple[CardLine, ...]:
        """Return the lines about the goal, the agent and its reason."""
        clause = "" if self.clause == self.goal else self.clause
        lines = {
            "Goal": self.goal,
            "For this part": clause,
            "Wanted by agent": self.agent,
            "Planner's reason": self.reason,
        }
        return tuple(CardLine(label=k, value=v) for k, v in lines.items() if v)

    @property
    def cannot_be_cancelled(self) -> bool:
        """True if the provider's document declares no way to cancel the effect."""
        terms = self.cancel_terms
        return terms is not None and (terms.irreversible or terms.tool is None)

    def choices(self) -> tuple[Choice, ...]:
        """Return the possible decisions, with command and consequences."""
        if self.card_type == OVERCHARGE:
            can_be_cancelled = not self.cannot_be_cancelled
            return choices_on_done(
                self.confirmation_id, self.digest, can_be_cancelled=can_be_cancelled
            )
        if self.card_type == PLAN:
            return choices_on_plan(self.confirmation_id, self.digest)
        changeable = self.inputs
        if changeable is not None:  # without generated references
            ours = {name for name, value in self.arguments.items() if self._is_ours(value)}
            changeable = tuple(
                f"{name} (by its handle)" if name in self.personal else name
                for name in changeable
                if name not in ours
            )
        is_sent = not self.exceeds_budget
        return choices_on(self.confirmation_id, self.digest, changeable=changeable, is_sent=is_sent)

    def _is_ours(self, value: JsonValue) -> bool:
        return isinstance(value, str) and value.startswith(f"{self.mission_id}.{self.leg_id}.")

    def as_asked(
        self, fate: Fate = "waiting", *, by: str = "", words: str = "", meaning: str = ""
    ) -> AskedCall:
        """Return the parts of this card that a later one is compared with."""
        others = [line for line in self.other_inputs if not self._is_ours(line.value)]
        parts = [*(self.content.sections() if self.content is not None else ())]
        facts_shown = [line for part in (*parts, *self.named) for line in part.lines]
        lines = [*facts_shown, *self.lines, *others]
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
        """Return the lines about requester, approvers and approvals so far."""
        may = [", ".join(p) for p in (self.approvers, self.operators_approvers) if p]
        if not self.requester_may_approve:
            may.append("not the requester")
        needed, rule = self.approvals_needed, ""
        known_by = "known by their signatures" if self.signed else _UNPROVED
        if self.again is not None:
            choices = ", ".join(self.again.choices(self.arguments)) or "no input"
            hours = self.again.max_time.total_seconds() / 3600
            rule = (
                f"later calls of this mission like this one, up to {self.again.max_amount} "
                f"together and for at most {hours:.3g} h; of its inputs may be let differ: "
                f"{choices}"
            )
        lines = {
            "Requested by": self.requester,
            "Who may decide": "; and ".join(may),
            "Approvals needed": f"{needed}, of different people" if needed > 1 else "",
            "Approved by": ", ".join(self.approved_by),
            "Approvers are": known_by,
            "Signed in within": "" if self.max_sign_in_age is None else str(self.max_sign_in_age),
            "A rule may cover": rule,
        }
        return tuple(CardLine(label=k, value=v) for k, v in lines.items() if v)


_MOST_KEPT = 40
"""The maximum number of lines of a card that are stored for comparison."""
_UNPROVED = "who they say they are: nothing here proves it"
MOST_TEXT: Final = 2000
"""The maximum number of characters of a response."""
Then = Literal["replan", "skip", "rollback"]
"""The consequence of a rejection."""


class _OfPerson(OneOfSeveral):
    """A decision on a card, with the person who makes it."""

    confirmation_id: str
    approver: str = ""
    issuer: str = ""
    signature: str = Field(default="", description="compact JWS; see confirmation.signatures")


class Approve(_OfPerson):
    """Approves the call exactly as the card shows it."""

    kind: Literal["approve"] = "approve"
    digest: str
    again: SameAgain | None = Field(default=None, description="a rule for later calls; None: none")


class Amend(_OfPerson):
    """Changes arguments of the call; leads to a new card."""

    kind: Literal["amend"] = "amend"
    changes: JsonObject


class Reject(_OfPerson):
    """Refuses the call, and states the consequence."""

    kind: Literal["reject"] = "reject"
    reason: str
    then: Then = Field(
        default="replan",
        description="replan: the planner looks for another way; skip: this part of the goal is "
        "left out; rollback: the mission ends, and all that it did is rolled back",
    )


class Respond(_OfPerson):
    """Sends the call back: the planner decides again, with a hint that it reads as data."""

    kind: Literal["respond"] = "respond"
    text: str = Field(
        pattern=r"\S",
        max_length=MOST_TEXT,
        description="the change that is wanted, such as a later flight",
    )


Verdict = Reject | Respond
"""The decisions that close a card without a call."""
Decision = Annotated[Approve | Amend | Reject | Respond, Field(discriminator="kind")]


class DecisionEnvelope(Record):
    """The input model of a decision, so that fields can be added later."""

    decision: Decision


Past = Literal["approved", "amended", "rejected", "responded"]


class DecisionReceipt(Record):
    """The result of a decision."""

    confirmation_id: str
    accepted: Past
    at: datetime
    card: ConfirmationCard | None = Field(default=None, description="the open card, if one is open")


class DecisionRecord(Record):
    """A decision in the mission's record: approver, time, and digest of the arguments."""

    confirmation_id: str
    kind: Literal["approved", "amended", "rejected", "expired", "responded"]
    approver: str
    at: datetime
    digest: str
    reason: str = Field(default="", description="reason of a rejection, or text of a response")
    then: str = Field(default="", description="what follows a rejection")
    issuer: str = Field(default="", description="that vouches for the approver; empty: none does")
    signature: str = ""
    again: SameAgain | None = Field(default=None, description="the rule that the approval made")
    rule: str = Field(default="", description="the rule that approved it; empty: a person did")
    opened_at: datetime | None = Field(default=None, description="when its card was opened")


PAST: Final[dict[str, Past]] = {
    "approve": "approved", "amend": "amended", "reject": "rejected", "respond": "responded",
}  # fmt: skip
"""The past tense of each decision, for records."""


def record_of(decision: Decision, card: ConfirmationCard, at: datetime) -> DecisionRecord:
    """Return the record of a decision on a card."""
    words = ""
    if isinstance(decision, Reject | Respond):
        words = decision.reason if isinstance(decision, Reject) else decision.text
    return DecisionRecord(
        confirmation_id=decision.confirmation_id,
        kind=PAST[decision.kind],
        approver=decision.approver,
        at=at,
        digest=card.digest,
        reason=words,
        then=decision.then if isinstance(decision, Reject) else "",
        issuer=decision.issuer,
        signature=decision.signature,
        again=decision.again if isinstance(decision, Approve) else None,
        opened_at=card.opened_at,
    )


def expiry_of(card: ConfirmationCard, at: datetime) -> DecisionRecord:
    """Return the record of a card on which nobody decided in time."""
    return DecisionRecord(
        confirmation_id=card.confirmation_id,
        kind="expired",
        approver="",
        at=at,
        digest=card.digest,
        opened_at=card.opened_at,
    )


class Approval(Record):
    """The approval of one person, as it is stored in the grant."""

    approver: str
    issuer: str = ""
    signature: str = ""
    at: datetime


class Grant(Record):
    """The permission that an approval gives: for one call, with these arguments, once."""

    confirmation_id: str
    digest: str
    approver: str = Field(description="approvers, or the name of the standing approval")
    granted_at: datetime
    opened_at: datetime | None = Field(default=None, description="when its card was opened")
    approvals: tuple[Approval, ...] = Field(default=(), description="empty for a standing approval")
    again: AgainRule | None = Field(default=None, description="the rule of an earlier card, if any")

    def of_people(self) -> tuple[Approval, ...]:
        """Return the approvals; a grant without any counts as one by its named approver."""
        return self.approvals or (Approval(approver=self.approver, at=self.granted_at),)


def grant_of(card: ConfirmationCard, approvals: Iterable[Approval], at: datetime) -> Grant:
    """Return the grant that the approvals on a card give."""
    given = tuple(approvals)
    return Grant(
        confirmation_id=card.confirmation_id,
        digest=card.digest,
        approver=", ".join(one.approver for one in given),
        granted_at=at,
        opened_at=card.opened_at,
        approvals=given,
    )


def rule_of(approve: Approve, card: ConfirmationCard, first: FirstCall, at: datetime) -> AgainRule:
    """Return the rule that an approval makes; ValueError: it makes none."""
    if approve.again is None:
        raise ValueError("the approval is for one call only")
    return AgainRule(
        rule_id=card.confirmation_id,
        digest=card.digest,
        again=approve.again,
        first=first,
        approver=approve.approver,
        issuer=approve.issuer,
        signature=approve.signature,
        at=at,
        opened_at=card.opened_at,
    )


def approval_of(rule: AgainRule) -> Approve:
    """Return the approval with which a rule was made."""
    return Approve(
        confirmation_id=rule.rule_id,
        digest=rule.digest,
        again=rule.again,
        approver=rule.approver,
        issuer=rule.issuer,
        signature=rule.signature,
    )


def is_of_card(rule: AgainRule) -> bool:
    """Return True if the digest that was approved is that of the rule's first call."""
    first = rule.first
    return rule.digest == call_digest(
        first,
        arguments=first.arguments,
        card_type=first.card_type,
        confirmation_id=rule.rule_id,
        terms=first.terms,
    )


def as_markdown(card: ConfirmationCard) -> str:
    """Return the whole card as Markdown; texts of providers and planners cannot become markup."""
    heading = markdown_text(card.heading or card.card_type)
    lines = [f"**{markdown_text(card.unordered)}**", ""] if card.unordered else []
    lines += [f"### {heading}: {markdown_text(card.title)}", ""]
    if card.asked_because:
        changed = [f"- {_line(change.line())}" for change in card.changes]
        lines += [f"**Asked again** {markdown_text(card.asked_because)}", "", *changed, ""]
    lines += [f"**Mind** {markdown_text(warning)}" for warning in card.warnings]
    lines += [f"**{entry.label}** {markdown_text(entry.value)}" for entry in card.purpose()]
    lines.append("")
    if card.price is not None:
        lines += [f"**Price** {card.price}", ""]
    for section in card.sections():
        lines += [f"**{markdown_text(section.title)}**", ""] if section.title else []
        lines += [f"- {_line(line)}" for line in section.lines]
        lines.append("")
    warning = "CANNOT BE CANCELLED: " if card.cannot_be_cancelled else ""
    lines.append(f"**Cancellation** {warning}{markdown_text(card.cancellation)}")
    if card.other_inputs:
        lines.append(f"**Other inputs** {markdown_text(card.folded())}")
    lines += [f"**{entry.label}** {markdown_text(entry.value)}" for entry in card.oversight()]
    if card.expires_at is not None:
        lines.append(f"**Decide before** {card.expires_at:%Y-%m-%d %H:%M %Z}")
    counted = [f"asked for time no. {card.round}"] if card.round > 1 else []
    counted += [f"reminded {card.reminded}x"] if card.reminded else []
    lines += [", ".join(counted), ""] if counted else [""]
    lines += [
        f"- {choice.name}: {markdown_code(choice.command)} "
        f"({markdown_text('; '.join(choice.follows))})"
        for choice in card.choices()
    ]
    return "\n".join(lines)


def _line(line: CardLine) -> str:
    return f"{markdown_text(line.label)}: {markdown_text(line.value)}"
