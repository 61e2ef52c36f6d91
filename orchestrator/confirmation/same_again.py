"""Same again: a rule that a person makes with an approval, for later calls of the same mission.

A rule covers calls of the same tool whose inputs equal those of its card. The price may differ, and
so may the inputs that the person names; the sum of all later calls and the time are limited.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Final

from pydantic import AfterValidator, Field, JsonValue, model_validator

from orchestrator.confirmation.policy import Scope
from orchestrator.core.budget import Money
from orchestrator.core.call_ref import CallRef
from orchestrator.core.pii import PII_PREFIX
from orchestrator.core.record import JsonObject, Record
from orchestrator.json_schema.canonical import canonical_text

MOST_RULES: Final = 20
"""The maximum number of rules of one mission, whose state carries them."""
_MOST_NAMED: Final = 100
_SKEW: Final = timedelta(minutes=1)
"""Allowed lead of the clock by which a person states the end of a rule."""
InputPath = tuple[str, ...]
"""The steps to a value among the arguments of a call."""


def _in_utc(at: datetime) -> datetime:
    """Return the moment in UTC, so that a signature covers it in one form."""
    if at.tzinfo is None:
        raise ValueError("say the time zone too")
    return at.astimezone(UTC)


_Utc = Annotated[datetime, AfterValidator(_in_utc)]


class SameAgain(Record):
    """The rule that an approval adds: what may go through again, how much and until when."""

    up_to: Money = Field(description="highest sum of all later calls under the rule")
    until: _Utc = Field(description="no call is approved by the rule after this time")
    may_differ: tuple[str, ...] = Field(
        default=(),
        max_length=_MOST_NAMED,
        description="inputs that may differ from the card; all others stay equal",
    )

    def content(self) -> JsonObject:
        """Return the JSON that a signature covers; the order of the inputs does not matter."""
        written: JsonObject = self.model_dump(mode="json")
        named: list[JsonValue] = [*sorted(set(self.may_differ))]
        return {**written, "may_differ": named}


class SameAgainPolicy(Scope):
    """The rules that a policy permits; without it, an approval is for one call only."""

    max_amount: Money = Field(description="highest sum of all later calls under one rule")
    max_time: timedelta = Field(gt=timedelta(0), description="from the approval to its rule's end")

    @model_validator(mode="after")
    def _has_a_scope(self) -> "SameAgainPolicy":
        if not self.card_types and not self.tools:
            raise ValueError("same_again names its card_types or its tools; for all, write '*'")
        return self

    def wider_than(self, other: "SameAgainPolicy") -> bool:
        """Return True if it permits a rule that the other does not; scopes apply both anyway."""
        return (
            self.max_time > other.max_time
            or self.max_amount.currency != other.max_amount.currency
            or self.max_amount.amount > other.max_amount.amount
        )


class AgainTerms(Record):
    """The limits of a rule on one card, and the inputs that its person may let differ."""

    max_amount: Money
    max_time: timedelta
    free: tuple[InputPath, ...] = Field(default=(), description="the price, and own references")
    fixed: tuple[str, ...] = Field(default=(), description="stay equal: those with personal values")

    def choices(self, arguments: JsonObject) -> tuple[str, ...]:
        """Return the inputs that the person may let differ."""
        whole = {path[0] for path in self.free if len(path) == 1}
        return tuple(name for name in arguments if name not in whole and name not in self.fixed)


class FirstCall(CallRef):
    """The call of the card on which a rule was made."""

    arguments: JsonObject
    card_type: str
    terms: JsonObject = Field(default_factory=dict, description="terms of the approval")
    cannot_be_cancelled: bool = False


class AgainRule(Record):
    """A rule as its person made it: with the approval that covers it, and the approved call."""

    rule_id: str = Field(description="id of the confirmation on which it was made")
    digest: str = Field(description="digest of that card")
    again: SameAgain
    first: FirstCall
    approver: str
    issuer: str = ""
    signature: str = ""
    at: datetime
    opened_at: datetime | None = None


class AgainRecord(Record):
    """A rule of a mission, with what it has approved so far."""

    rule: AgainRule
    used: Decimal = Field(default=Decimal(0), description="sum of the approved prices")
    calls: tuple[str, ...] = Field(default=(), description="ids of the approved calls")
    revoked_by: str = ""
    revoked_at: datetime | None = None
    reason: str = Field(default="", description="reason of the revocation")

    @property
    def left(self) -> Money:
        """The amount that the rule may still approve."""
        up_to = self.rule.again.up_to
        return up_to.model_copy(update={"amount": max(Decimal(0), up_to.amount - self.used)})

    @property
    def sentence(self) -> str:
        """The rule in words, for lists and pages."""
        rule, again = self.rule, self.rule.again
        differ = f", {', '.join(again.may_differ)} may differ" if again.may_differ else ""
        used = again.up_to.model_copy(update={"amount": self.used})
        revoked = f"; revoked by {self.revoked_by}" if self.revoked_at else ""
        calls = "1 call" if len(self.calls) == 1 else f"{len(self.calls)} calls"
        return (
            f"{rule.approver} lets {rule.first.tool} be called again like {rule.rule_id}{differ}: "
            f"up to {again.up_to} until {again.until:%Y-%m-%d %H:%M %Z}; {calls} for {used} so far"
            f"{revoked}"
        )


class RevokeAgain(Record):
    """Revokes a rule: later calls are asked about again."""

    rule_id: str
    by: str
    reason: str = Field(default="", max_length=2000)


def terms_of(
    policies: Iterable[SameAgainPolicy | None], *, card_type: str, tool: str
) -> tuple[Money, timedelta] | None:
    """Return the limits of a rule on a card, the strictest of all policies; None: no rule."""
    limits: tuple[Money, timedelta] | None = None
    for policy in policies:
        if policy is None or not policy.covers(card_type=card_type, tool=tool):
            return None
        if limits is None:
            limits = policy.max_amount, policy.max_time
        elif limits[0].currency != policy.max_amount.currency:
            return None
        else:
            most = min(limits[0], policy.max_amount, key=lambda money: money.amount)
            limits = most, min(limits[1], policy.max_time)
    return limits


def refusal_of_rule(
    again: SameAgain, terms: AgainTerms | None, *, arguments: JsonObject, tool: str, at: datetime
) -> str | None:
    """Return why a person may not make a rule with their approval; None if they may."""
    if terms is None:
        return f"the worker's policy (same_again) lets no rule be made here, for {tool}"
    outside = refusal_of_limits(again, terms.max_amount, terms.max_time, at=at)
    if outside is not None:
        return outside
    choices = terms.choices(arguments)
    strange = sorted(set(again.may_differ) - set(choices))
    if strange:
        return (
            f"{', '.join(strange)} cannot be let differ; what can: {', '.join(choices) or 'none'}"
        )
    if arguments and not _fixed_part(arguments, again, terms.free):
        return "one input at least has to stay equal: a rule is for the same again"
    return None


def refusal_of_limits(
    again: SameAgain, max_amount: Money, max_time: timedelta, *, at: datetime
) -> str | None:
    """Return why the amount or the end of a rule made at this time is not permitted."""
    if again.up_to.currency != max_amount.currency or again.up_to.amount > max_amount.amount:
        return f"the rule is up to {again.up_to}, and at most {max_amount} is permitted"
    if again.until <= at:
        return f"the rule ends at {again.until:%Y-%m-%d %H:%M %Z}, which is over"
    if again.until > at + max_time + _SKEW:
        return f"the rule ends later than {max_time} after the approval, which is the most"
    return None


def why_not_again(
    rule: AgainRule,
    call: CallRef,
    *,
    arguments: JsonObject,
    card_type: str,
    amounts: Sequence[Money] | None,
    approvals_needed: int,
    free: Iterable[InputPath],
    left: Money,
    at: datetime,
) -> str | None:
    """Return why a rule does not cover a later call; None if it does.

    `amounts` are its price and other amounts: empty if it is free, None if the price is unknown.
    Inputs in `free` differ anyway, by the contract of the tool; `left` may still be approved.
    """
    first, again = rule.first, rule.again
    same = ("mission_id", "origin", "tool", "catalog_digest")
    if any(getattr(first, name) != getattr(call, name) for name in same):
        return "the rule is for another tool or mission"
    if (first.card_type, first.call_id == call.call_id) != (card_type, False):
        return "the rule is for other calls than this"
    if not rule.at <= at <= again.until:
        return f"the rule ended at {again.until:%Y-%m-%d %H:%M %Z}"
    if approvals_needed > 1:
        return "the call needs two approvers"
    if amounts is None:
        return "the price of the call is unknown"
    if any(one.currency != left.currency or one.amount > left.amount for one in amounts):
        return f"the rule covers {left} more, and the call costs more or another currency"
    free = tuple(free)
    mine, others = _fixed_part(first.arguments, again, free), _fixed_part(arguments, again, free)
    if canonical_text(mine) != canonical_text(others):
        return "an input differs from the card on which the rule was made"
    return None


def _fixed_part(arguments: JsonObject, again: SameAgain, free: Iterable[InputPath]) -> JsonObject:
    """Return the arguments that have to stay equal: a personal value never differs."""
    kept: JsonObject = {
        name: value
        for name, value in arguments.items()
        if name not in again.may_differ or _is_personal(value)
    }

    def without(value: JsonObject, path: InputPath) -> JsonObject:
        name, *rest = path
        inner = value.get(name)
        if name not in value or _is_personal(inner):
            return value
        if not rest:
            return {key: held for key, held in value.items() if key != name}
        if not isinstance(inner, Mapping):
            return value
        return {**value, name: without(dict(inner), tuple(rest))}

    for path in free:
        kept = without(kept, path)
    return kept


def _is_personal(value: JsonValue) -> bool:
    """Return True if a value has a handle of a personal value, or a text that looks like one."""
    return PII_PREFIX in canonical_text(value)
