"""The confirmation policy: approvers, standing approvals, and the consequence of expiry.

The policy is written configuration; nothing here is guessed from a call.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Annotated, Literal
from unicodedata import normalize

from pydantic import Field, model_validator

from orchestrator.catalog.card_types import spends
from orchestrator.core.budget import Money
from orchestrator.core.record import Record

Pattern = Annotated[str, Field(min_length=1, max_length=200)]
"""A name in which `*` stands for any text and `?` for one character; case does not matter."""

POLICY_PREFIX = "policy:"
"""The prefix of standing approvals' names, which replace a person's name."""
GROUP_PREFIX = "group:"
"""The prefix of patterns for groups, which only signed decisions prove."""
_LONGEST_NAME = 200


class Scope(Record):
    """The cards that a rule covers: those whose type and whose tool match."""

    card_types: tuple[Pattern, ...] = Field(default=(), description="empty for every type")
    tools: tuple[Pattern, ...] = Field(default=(), description="empty for every tool")

    def covers(self, *, card_type: str, tool: str) -> bool:
        """Return True for a card of this type, for a call of this tool."""
        return fits(card_type, self.card_types) and fits(tool, self.tools)


class ApproverRule(Scope):
    """The approvers of the cards of a scope."""

    approvers: tuple[Pattern, ...] = Field(
        min_length=1,
        description="such as ann@example.com, *@finance.example.com or group:finance; groups count "
        "where decisions are signed",
    )
    max_age: timedelta | None = Field(
        default=None,
        description="longest time from the sign-in of an approver to the decision, which has to be "
        "signed; None for any",
    )


class StandingApproval(Scope):
    """A decision made once, for all calls of a scope up to an amount."""

    name: str = Field(
        pattern=r"^[a-z0-9][a-z0-9._-]{0,79}$",
        description="recorded as the approver: `policy:` and this name",
    )
    max_amount: Money | None = Field(
        default=None,
        description="highest price of a call; a call that states no price, or one in another "
        "currency, is asked about",
    )
    total: Money | None = Field(
        default=None,
        description="highest sum of all calls under this name, over missions and workers; "
        "currencies as for max_amount",
    )
    per_day: Money | None = Field(
        default=None, description="highest sum of the calls of any 24 hours"
    )

    @model_validator(mode="after")
    def _says_for_what(self) -> "StandingApproval":
        if not self.card_types and not self.tools:
            raise ValueError(
                "a standing approval names its card_types or its tools; for all of them write '*'"
            )
        if len({bound.currency for bound in self._bounds}) > 1:
            raise ValueError("max_amount, total and per_day are in one currency")
        return self

    @property
    def _bounds(self) -> tuple[Money, ...]:
        every = (self.max_amount, self.total, self.per_day)
        return tuple(one for one in every if one is not None)

    @property
    def approver(self) -> str:
        """The name of the approval in records, in place of a person's."""
        return f"{POLICY_PREFIX}{self.name}"

    def approves(self, *, card_type: str, tool: str, amounts: Iterable[Money] | None) -> bool:
        """Return True if it approves a call.

        `amounts` are its price and every other amount on the card: None if its price is unknown,
        which no approval covers, and empty if its contract says that it costs nothing.
        """
        if amounts is None or not self.covers(card_type=card_type, tool=tool):
            return False
        known = tuple(amounts)
        return all(known and _all_within(known, most) for most in self._bounds)

    @property
    def counts(self) -> bool:
        """True if the calls under this approval have to be counted."""
        return self.total is not None or self.per_day is not None

    def refusal(self, price: Money, spent: Decimal, spent_in_a_day: Decimal) -> str | None:
        """Return why one more call at this price does not fit; None if it does.

        Both sums are of earlier calls under this name, in the currency of the price.
        """
        for most, so_far, when in (
            (self.total, spent, "in total"),
            (self.per_day, spent_in_a_day, "in 24 hours"),
        ):
            if most is not None and so_far + price.amount > most.amount:
                used = Money(amount=so_far, currency=price.currency)
                return (
                    f"the standing approval {self.name} covers {most} {when}, and calls for "
                    f"{used} have used it"
                )
        return None

    def is_covered_by(self, other: "StandingApproval") -> bool:
        """Return True if the other approves every call that this one does.

        Patterns are compared as text: a pattern that the other does not list, and that no pattern
        of the other matches as plain text, counts as wider.
        """
        if other.max_amount is not None and not (
            self.max_amount and _all_within([self.max_amount], other.max_amount)
        ):
            return False
        return is_narrower(self.card_types, other.card_types) and is_narrower(
            self.tools, other.tools
        )


class TwoApprovers(Scope):
    """The calls that two different people have to approve."""

    above: Money | None = Field(
        default=None,
        description="threshold: calls that cost more, in another currency or of unknown "
        "price; None for every call of the scope",
    )

    def asks_for(self, *, card_type: str, tool: str, amounts: Sequence[Money] | None) -> bool:
        """Return True if a call needs two approvers; `amounts` as for a standing approval."""
        if not self.covers(card_type=card_type, tool=tool):
            return False
        return self.above is None or not amounts or not _all_within(amounts, self.above)


class ConfirmationPolicy(Record):
    """The rules by which the confirmations of a mission are decided."""

    approvers: tuple[ApproverRule, ...] = Field(
        default=(),
        description="the first rule that covers a card applies; empty: anybody may decide",
    )
    standing: tuple[StandingApproval, ...] = Field(
        default=(), description="the first that approves is recorded as the approver"
    )
    unapproved_plans: bool = Field(
        default=False,
        description="standing approvals cover the orders of a model's plan that nobody approved",
    )
    reminders: tuple[timedelta, ...] = Field(
        default=(), max_length=10, description="delays after a card was opened"
    )
    max_age: timedelta | None = Field(
        default=None, description="as for a rule on approvers, for all cards; the shorter counts"
    )
    requester_may_approve: bool = Field(
        default=True, description="False if the requester of a mission may not approve its calls"
    )
    two_approvers: tuple[TwoApprovers, ...] = Field(
        default=(), description="a call that any of these covers needs two different approvers"
    )
    on_expiry: Literal["fail_leg", "ask_again"] = "fail_leg"
    max_rounds: int = Field(
        default=3,
        ge=1,
        le=100,
        description="number of times that one call is asked about, with ask_again",
    )
    max_proposals: int = Field(
        default=5,
        ge=1,
        le=100,
        description="number of consecutive calls of a leg that may be rejected, sent back "
        "or refused before it may propose no more",
    )

    @property
    def rounds(self) -> int:
        """The maximum number of consecutive cards for one call."""
        return self.max_rounds if self.on_expiry == "ask_again" else 1

    def approvers_of(self, *, card_type: str, tool: str) -> tuple[str, ...]:
        """Return patterns of the people who may decide on a card; empty for anybody."""
        rule = self._rule_on(card_type=card_type, tool=tool)
        return rule.approvers if rule is not None else ()

    def max_age_of(self, *, card_type: str, tool: str) -> timedelta | None:
        """Return the longest time from a sign-in to a decision on a card; None for any."""
        rule = self._rule_on(card_type=card_type, tool=tool)
        return shortest(self.max_age, None if rule is None else rule.max_age)

    def _rule_on(self, *, card_type: str, tool: str) -> ApproverRule | None:
        covering = (r for r in self.approvers if r.covers(card_type=card_type, tool=tool))
        return next(covering, None)

    def approvals_needed(
        self, *, card_type: str, tool: str, amounts: Sequence[Money] | None
    ) -> int:
        """Return how many different people have to approve a call."""
        asked = any(
            rule.asks_for(card_type=card_type, tool=tool, amounts=amounts)
            for rule in self.two_approvers
        )
        return 2 if asked else 1

    def standing_for(
        self, *, card_type: str, tool: str, amounts: Sequence[Money] | None
    ) -> StandingApproval | None:
        """Return the first standing approval that covers a call."""
        covering = (
            one
            for one in self.standing
            if one.approves(card_type=card_type, tool=tool, amounts=amounts)
        )
        return next(covering, None)

    def unbounded_standing(self) -> Iterator[str]:
        """Yield a sentence for each standing approval for money that never runs out."""
        for one in self.standing:
            if not one.counts and (not one.card_types or any(map(spends, one.card_types))):
                yield (
                    f"the standing approval {one.name} has neither total nor per_day: any number "
                    "of calls goes out under it without a person"
                )


def shortest(*waits: timedelta | None) -> timedelta | None:
    """Return the shortest of some limits; None if there is none."""
    return min((wait for wait in waits if wait is not None), default=None)


def approver_problem(
    approver: str, patterns: tuple[str, ...], *, groups: tuple[str, ...] = ()
) -> str | None:
    """Return why this name may not decide on a card with these patterns; None if it may."""
    if not approver.strip() or not approver.isprintable() or len(approver) > _LONGEST_NAME:
        return f"say who decides, by a name of at most {_LONGEST_NAME} printable characters"
    if _alike(approver).startswith(POLICY_PREFIX):
        return f"{POLICY_PREFIX}... is the name of a standing approval, not of a person"
    if _alike(approver).startswith(GROUP_PREFIX):
        return f"{GROUP_PREFIX}... is the name of a group, not of a person"
    if patterns and not (
        any(fits(approver, (one,)) for one in patterns if not is_of_group(one))
        or any(in_group(one, groups) for one in patterns)
    ):
        return f"{approver} may not decide on this; who may: {', '.join(patterns)}"
    return None


def is_of_group(pattern: str) -> bool:
    """Return True if a pattern is about groups, and not about names of people."""
    return pattern.lower().startswith(GROUP_PREFIX)


def in_group(pattern: str, groups: Iterable[str]) -> bool:
    """Return True if a pattern is about groups, and one of these fits it."""
    wanted = pattern[len(GROUP_PREFIX) :]
    return is_of_group(pattern) and any(fits(group, (wanted,)) for group in groups)


def is_same_person(name: str, other: str) -> bool:
    """Return True if two names are equal, apart from case, width and spaces."""
    return _alike(name) == _alike(other)


def _alike(name: str) -> str:
    return "".join(normalize("NFKC", name).casefold().split())


def _all_within(amounts: Iterable[Money], most: Money) -> bool:
    return all(one.currency == most.currency and one.amount <= most.amount for one in amounts)


def is_narrower(own: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Return True if each pattern matches only names that the others match.

    No pattern at all matches every name.
    """
    if not others or "*" in others:
        return True
    lowered = {other.lower() for other in others}
    return bool(own) and all(
        one.lower() in lowered or (not set("*?[") & set(one) and fits(one, others)) for one in own
    )


def fits(name: str, patterns: tuple[str, ...]) -> bool:
    """Return True if a name matches one of the patterns, or there are none."""
    return not patterns or any(fnmatchcase(name.lower(), p.lower()) for p in patterns)
