"""Who may decide on a card, what needs no asking, and what follows when nobody decides in time.

All of it is configuration that somebody wrote down; nothing here is guessed from a call.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Annotated, Literal
from unicodedata import normalize

from pydantic import Field, model_validator

from orchestrator.core.budget import Money
from orchestrator.core.record import Record

Pattern = Annotated[str, Field(min_length=1, max_length=200)]
"""A name in which `*` stands for any text and `?` for one character; case does not count."""

POLICY_PREFIX = "policy:"
"""What the names of standing approvals begin with where a person's would stand."""
_LONGEST_NAME = 200


class Scope(Record):
    """Which cards something is for: those whose type and whose tool fit."""

    card_types: tuple[Pattern, ...] = Field(default=(), description="none: every type")
    tools: tuple[Pattern, ...] = Field(default=(), description="none: every tool")

    def covers(self, *, card_type: str, tool: str) -> bool:
        """Whether a card of this type, for a call of this tool, is meant."""
        return _fits(card_type, self.card_types) and _fits(tool, self.tools)


class ApproverRule(Scope):
    """Who may decide on the cards of a scope."""

    approvers: tuple[Pattern, ...] = Field(
        min_length=1, description="such as ann@example.com or *@finance.example.com"
    )


class StandingApproval(Scope):
    """A decision made once, for all calls of a scope up to an amount."""

    name: str = Field(
        pattern=r"^[a-z0-9][a-z0-9._-]{0,79}$",
        description="recorded as the approver: `policy:` and this name",
    )
    max_amount: Money | None = Field(
        default=None,
        description="the most that such a call may cost; with it, a call whose price is unknown or "
        "in another currency is asked about",
    )

    @model_validator(mode="after")
    def _says_for_what(self) -> "StandingApproval":
        if not self.card_types and not self.tools:
            raise ValueError(
                "a standing approval names its card_types or its tools; for all of them write '*'"
            )
        return self

    @property
    def approver(self) -> str:
        """What stands in records where a person's name would."""
        return f"{POLICY_PREFIX}{self.name}"

    def approves(self, *, card_type: str, tool: str, amounts: Iterable[Money] | None) -> bool:
        """Whether it approves a call.

        `amounts` are its price and every other amount on the card; None: its price is unknown.
        """
        if not self.covers(card_type=card_type, tool=tool):
            return False
        if self.max_amount is None:
            return True
        return amounts is not None and _all_within(amounts, self.max_amount)

    def is_covered_by(self, other: "StandingApproval") -> bool:
        """Whether the other approves all that this one does.

        Patterns are compared as they are written: one that the other does not list, and that a
        pattern of the other does not fit as plain text, counts as wider.
        """
        if other.max_amount is not None and not (
            self.max_amount and _all_within([self.max_amount], other.max_amount)
        ):
            return False
        return _narrower(self.card_types, other.card_types) and _narrower(self.tools, other.tools)


class TwoApprovers(Scope):
    """Which calls two different people have to approve."""

    above: Money | None = Field(
        default=None,
        description="only those that cost more, or in another currency, or nobody knows what; "
        "none: every call of the scope",
    )

    def asks_for(self, *, card_type: str, tool: str, amounts: Sequence[Money] | None) -> bool:
        """Whether a call needs two; `amounts` as for a standing approval."""
        if not self.covers(card_type=card_type, tool=tool):
            return False
        return self.above is None or amounts is None or not _all_within(amounts, self.above)


class ConfirmationPolicy(Record):
    """How the confirmations of a mission are decided."""

    approvers: tuple[ApproverRule, ...] = Field(
        default=(), description="the first rule that covers a card holds; none: anybody may decide"
    )
    standing: tuple[StandingApproval, ...] = Field(
        default=(), description="the first that approves is recorded as the approver"
    )
    unapproved_plans: bool = Field(
        default=False,
        description="standing approvals cover the orders of a model's plan that nobody approved",
    )
    reminders: tuple[timedelta, ...] = Field(
        default=(),
        max_length=10,
        description="how long after a card was opened; later than its expiry, they never come",
    )
    requester_may_approve: bool = Field(
        default=True, description="false: whoever asked for a mission does not approve its calls"
    )
    two_approvers: tuple[TwoApprovers, ...] = Field(
        default=(), description="a call that any of them covers needs two different approvers"
    )
    on_expiry: Literal["fail_leg", "ask_again"] = "fail_leg"
    max_rounds: int = Field(
        default=3, ge=1, le=100, description="how often one call is asked about, with ask_again"
    )
    max_proposals: int = Field(
        default=5,
        ge=1,
        le=100,
        description="how many calls of a leg may be rejected, sent back or refused by their "
        "provider, one after the other, before no more of them is put to a person",
    )

    @property
    def rounds(self) -> int:
        """How many cards a call may have, one after the other."""
        return self.max_rounds if self.on_expiry == "ask_again" else 1

    def approvers_of(self, *, card_type: str, tool: str) -> tuple[str, ...]:
        """Patterns of those who may decide on such a card; none: anybody."""
        covering = (r for r in self.approvers if r.covers(card_type=card_type, tool=tool))
        rule = next(covering, None)
        return rule.approvers if rule is not None else ()

    def approvals_needed(
        self, *, card_type: str, tool: str, amounts: Sequence[Money] | None
    ) -> int:
        """How many different people have to approve such a call."""
        asked = any(
            rule.asks_for(card_type=card_type, tool=tool, amounts=amounts)
            for rule in self.two_approvers
        )
        return 2 if asked else 1

    def standing_approver(
        self, *, card_type: str, tool: str, amounts: Iterable[Money] | None
    ) -> str | None:
        """The standing approval that a call has, by the name it is recorded under."""
        known = None if amounts is None else tuple(amounts)
        for approval in self.standing:
            if approval.approves(card_type=card_type, tool=tool, amounts=known):
                return approval.approver
        return None


def approver_problem(approver: str, patterns: tuple[str, ...]) -> str | None:
    """Why this name may not decide on a card for which these patterns hold; None when it may."""
    if not approver.strip() or not approver.isprintable() or len(approver) > _LONGEST_NAME:
        return f"say who decides, by a name of at most {_LONGEST_NAME} printable characters"
    if _alike(approver).startswith(POLICY_PREFIX):
        return f"{POLICY_PREFIX}... is the name of a standing approval, not of a person"
    if not _fits(approver, patterns):
        return f"{approver} may not decide on this; who may: {', '.join(patterns)}"
    return None


def is_same_person(name: str, other: str) -> bool:
    """Whether two names are one person's, as far as names tell: case, width and spaces do not."""
    return _alike(name) == _alike(other)


def _alike(name: str) -> str:
    return "".join(normalize("NFKC", name).casefold().split())


def _all_within(amounts: Iterable[Money], most: Money) -> bool:
    return all(one.currency == most.currency and one.amount <= most.amount for one in amounts)


def _narrower(own: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether each pattern fits only what a pattern of the others does; none fits everything."""
    if not others or "*" in others:
        return True
    lowered = {other.lower() for other in others}
    return bool(own) and all(
        one.lower() in lowered or (not set("*?[") & set(one) and _fits(one, others)) for one in own
    )


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(name.lower(), p.lower()) for p in patterns)
