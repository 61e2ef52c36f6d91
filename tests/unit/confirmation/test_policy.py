"""Who may decide, and what a standing approval covers: nothing that was not written down."""

from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import ValidationError

from orchestrator.confirmation.policy import (
    ApproverRule,
    ConfirmationPolicy,
    StandingApproval,
    approver_problem,
)
from orchestrator.core.budget import Money
from orchestrator.core.errors import DocumentUnreadable
from orchestrator.settings import load_policy

PAYMENT = {"card_type": "structured-payment", "tool": "pay"}


def eur(amount: str) -> Money:
    return Money(amount=Decimal(amount), currency="EUR")


DOLLARS = Money(amount=Decimal(9), currency="USD")


def test_the_first_rule_that_covers_a_card_holds() -> None:
    """A special rule stands before a general one; what no rule covers anybody may decide."""
    policy = ConfirmationPolicy(
        approvers=(
            ApproverRule(card_types=("structured-pay*",), tools=("pay",), approvers=("cfo@x.io",)),
            ApproverRule(card_types=("structured-pay*",), approvers=("*@x.io",)),
        )
    )

    assert policy.approvers_of(**PAYMENT) == ("cfo@x.io",)
    assert policy.approvers_of(card_type="structured-payment", tool="refund") == ("*@x.io",)
    assert policy.approvers_of(card_type="structured-order", tool="pay") == ()


@pytest.mark.parametrize(
    ("approver", "patterns", "may"),
    [
        ("ann@x.io", (), True),
        ("ann@x.io", ("*@x.io",), True),
        ("ANN@X.IO", ("*@x.io",), True),
        ("ann@x.io.evil.example", ("*@x.io",), False),
        ("ann@y.io", ("bo@x.io", "ann@y.io"), True),
        ("", (), False),
        ("   ", (), False),
        ("a" * 201, (), False),
        ("ann@x.io\n", ("*",), False),
        ("Policy:small-meals", ("*",), False),
        ("group:finance", ("*",), False),
        ("Group:finance", ("group:finance",), False),
        ("finance", ("group:finance",), False),
        ("ann@x.io", ("group:*",), False),
    ],
)
def test_a_name_has_to_fit_a_pattern(approver: str, patterns: tuple[str, ...], may: bool) -> None:
    """Case does not count; a name that reads like a policy's, or is none, never may."""
    assert (approver_problem(approver, patterns) is None) == may


@pytest.mark.parametrize(
    ("groups", "patterns", "may"),
    [
        (("finance",), ("group:finance",), True),
        (("Finance",), ("GROUP:finance",), True),
        (("ops", "finance-eu"), ("group:finance-*",), True),
        (("finance",), ("bo@x.io", "group:finance"), True),
        (("finance",), ("finance",), False),
        (("finance",), ("*finance",), False),
        (("group:finance",), ("group:finance",), False),
        ((), ("group:*",), False),
        ((), (), True),
    ],
)
def test_a_group_may_decide_where_a_pattern_names_groups(
    groups: tuple[str, ...], patterns: tuple[str, ...], may: bool
) -> None:
    """A pattern of names says nothing about groups."""
    assert (approver_problem("ann@y.io", patterns, groups=groups) is None) == may


@pytest.mark.parametrize(
    ("amounts", "approves"),
    [
        ([eur("50")], True),
        ([eur("50.01")], False),
        ([eur("10"), eur("60")], False),
        ([Money(amount=Decimal(1), currency="USD")], False),
        (None, False),
    ],
    ids=["at most", "more", "another amount is more", "another currency", "unknown"],
)
def test_a_standing_approval_ends_at_its_amount(
    amounts: list[Money] | None, approves: bool
) -> None:
    """Every amount on the card counts, for the dearest may be what is charged."""
    small = StandingApproval(name="small", tools=("pay",), max_amount=eur("50"))
    policy = ConfirmationPolicy(standing=(small,))

    assert policy.standing_for(amounts=amounts, **PAYMENT) == (small if approves else None)


def test_a_standing_approval_without_an_amount_covers_what_costs_nothing() -> None:
    """And any known price; never a price that nobody knows, nor another type or tool."""
    message = {"card_type": "structured-message", "tool": "send"}
    notes = StandingApproval(name="notes", card_types=("structured-message",))
    policy = ConfirmationPolicy(standing=(notes,))

    assert policy.standing_for(amounts=(), **message) == notes
    assert policy.standing_for(amounts=(eur("900"),), **message) == notes
    assert policy.standing_for(amounts=None, **message) is None
    assert policy.standing_for(amounts=(), **PAYMENT) is None


@pytest.mark.parametrize("bound", ["max_amount", "total", "per_day"])
def test_each_bound_of_a_standing_approval_excludes_what_it_cannot_count(bound: str) -> None:
    """A price that nobody knows, one in another currency, and one above the bound."""
    rule = StandingApproval.model_validate({"name": "x", "tools": ["pay"], bound: eur("50")})
    policy = ConfirmationPolicy(standing=(rule,))

    assert policy.standing_for(amounts=[eur("50")], **PAYMENT) == rule
    for amounts in (None, [], [eur("51")], [Money(amount=Decimal(1), currency="USD")]):
        assert policy.standing_for(amounts=amounts, **PAYMENT) is None


def test_standing_approvals_for_money_that_never_run_out_are_named() -> None:
    """Neither one with a bound over several calls, nor one for cards that cost nothing."""
    small = {"tools": ["pay"], "max_amount": eur("25")}
    rules = [
        {"name": "endless", **small},
        {"name": "daily", "per_day": eur("100"), **small},
        {"name": "in-all", "total": eur("100"), **small},
        {"name": "notes", "card_types": ["structured-message"]},
    ]
    policy = ConfirmationPolicy.model_validate({"standing": rules})

    assert [note.split()[3] for note in policy.unbounded_standing()] == ["endless"]


@pytest.mark.parametrize(
    "given",
    [
        {"name": "all"},
        {"name": "Not A Name", "tools": ["*"]},
        {"name": "x", "tools": ["*"], "max_amount": {"amount": -1, "currency": "EUR"}},
        {"name": "x", "tools": ["*"], "max_amount": eur("5"), "total": DOLLARS},
    ],
)
def test_a_standing_approval_says_for_what(given: dict[str, object]) -> None:
    """One that names neither types nor tools would approve everything by accident."""
    with pytest.raises(ValidationError):
        StandingApproval.model_validate(given)


def test_a_policy_file_is_read(tmp_path: Path) -> None:
    """Durations as ISO 8601 or seconds, money as amount and currency."""
    path = tmp_path / "policy.yaml"
    path.write_text(
        """
confirmation_expiry: PT4H
confirmation:
  approvers:
    - {card_types: [structured-payment], approvers: ["*@finance.example.com"]}
  standing:
    - {name: small-meals, tools: [dining_*], max_amount: {amount: 49.9, currency: EUR}}
  reminders: [PT1H, 7200]
  on_expiry: ask_again
""",
        encoding="utf-8",
    )
    policy = load_policy(path)

    assert policy is not None
    assert policy.confirmation_expiry == timedelta(hours=4)
    assert policy.confirmation.reminders == (timedelta(hours=1), timedelta(hours=2))
    assert policy.confirmation.standing[0].max_amount == eur("49.9")
    assert policy.confirmation.rounds == 3
    assert load_policy(None) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("confirmation: {aprovers: []}", "confirmation.aprovers is no part of a mission policy"),
        (
            "confirmation: {standing: [{name: all}]}",
            "confirmation.standing.0: a standing approval names its card_types or its tools; "
            "for all of them write '*'",
        ),
        ("confirmation: {on_expiry: shrug}", "Input should be 'fail_leg' or 'ask_again'"),
        ("[]", "a mission policy: Input should be"),
        ("{", "it should be a mission policy"),
        ("on_expiry: ask_again\non_expiry: fail_leg", "the key 'on_expiry' is there twice"),
        ("[" * 3000, "it is nested too deep"),
    ],
)
def test_a_wrong_policy_file_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    """A rule that was mistyped would hold for nobody, so nothing unknown is let through."""
    path = tmp_path / "policy.yaml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(DocumentUnreadable) as refused:
        load_policy(path)
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)
    assert str(path) in str(refused.value)
