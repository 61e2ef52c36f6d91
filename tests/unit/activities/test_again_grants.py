"""Grants by a person's rule, verified where the call is sent, against the rule's own card."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from orchestrator.activities.again_grants import check_again_grant, counted_as, inputs_that_differ
from orchestrator.catalog.catalog import Catalog
from orchestrator.confirmation.models import Grant, approval_of, call_digest
from orchestrator.confirmation.policy import ApproverRule, ConfirmationPolicy, TwoApprovers
from orchestrator.confirmation.same_again import AgainRule, FirstCall, SameAgain, SameAgainPolicy
from orchestrator.confirmation.signatures import PublicKeys, SigningKey, sign_decision
from orchestrator.core.budget import Money
from orchestrator.core.errors import GrantRefused, SignatureRefused
from orchestrator.core.record import JsonObject
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.tool_call import ToolCall

DOCUMENTS = Path(__file__).parents[2] / "documents"
TRANSFERS = Catalog.load(DOCUMENTS / "transfers.yaml")
SEND = TRANSFERS.tool("transfer_send")
TYPE = "structured-payment"
OPENED = datetime(2026, 11, 30, 12, tzinfo=UTC)
MADE = OPENED + timedelta(minutes=1)
ANA = "ana@example.com"
_PRIVATE, _PUBLIC = SigningKey.generate(issuer="https://id.example.com", subject=ANA)
KEY, KEYS = SigningKey(_PRIVATE), PublicKeys(keys=(_PUBLIC,))


def eur(amount: str) -> Money:
    return Money(amount=Decimal(amount), currency="EUR")


def permits(amount: str = "100", hours: int = 8, **changes: Any) -> MissionPolicy:
    rules = SameAgainPolicy(
        card_types=(TYPE,), max_amount=eur(amount), max_time=timedelta(hours=hours)
    )
    return MissionPolicy(same_again=rules, **changes)


def arguments(payee: str = "ACME", value: float = 40.5) -> JsonObject:
    return {"payee": payee, "sum": {"value": value, "currency": "EUR"}}


def call_ref(step: int) -> dict[str, Any]:
    return {
        "call_id": f"trip.1-pay.{step}",
        "mission_id": "trip",
        "leg_id": "1-pay",
        "tool": "transfer_send",
        "catalog_digest": TRANSFERS.digest,
        "origin": "run-1",
    }


def rule(**changes: Any) -> AgainRule:
    first = FirstCall(**call_ref(1), arguments=arguments(), card_type=TYPE, terms={"price": 1})
    digest = call_digest(first, arguments=first.arguments, card_type=TYPE, terms=first.terms)
    made = {
        "rule_id": first.call_id,
        "digest": digest,
        "again": SameAgain(up_to=eur("100"), until=OPENED + timedelta(hours=2)),
        "first": first,
        "approver": ANA,
        "at": MADE,
        "opened_at": OPENED,
    }
    return AgainRule(**{**made, **changes})


def later(made: AgainRule, *, at: datetime = MADE + timedelta(hours=1), **changes: Any) -> ToolCall:
    grant = Grant(
        confirmation_id="trip.1-pay.2",
        digest="d" * 64,
        approver=f"{ANA} (same again as {made.rule_id})",
        granted_at=at,
        again=made,
    )
    given = {"arguments": arguments(value=55.25), "amounts": (eur("55.25"),), "card_type": TYPE}
    return ToolCall(**call_ref(2), grant=grant, **{**given, **changes})


def check(call: ToolCall, workers: MissionPolicy, keys: PublicKeys | None = None) -> None:
    check_again_grant(call, SEND, TYPE, workers, keys)


def test_the_declared_price_is_free_and_nothing_else() -> None:
    """Only the number: the currency next to it stays equal, and so does the payee."""
    assert inputs_that_differ(SEND) == (("sum", "value"),)


def permits_if(**confirmation: Any) -> MissionPolicy:
    return permits(confirmation=ConfirmationPolicy(**confirmation))


def test_a_covered_call_is_accepted() -> None:
    """By the rule's person, within its sum and time, and under a name of its own in the store."""
    check(later(rule()), permits())

    assert counted_as(rule()).total == eur("100")
    assert counted_as(rule()) != counted_as(
        rule(first=rule().first.model_copy(update={"origin": "run-2"}))
    )


OTHER = rule().first.model_copy(update={"arguments": arguments("Other")})


@pytest.mark.parametrize(
    ("call", "workers"),
    [
        pytest.param(later(rule()), MissionPolicy(), id="no rules here"),
        pytest.param(later(rule()), permits("99"), id="sum beyond this policy"),
        pytest.param(later(rule()), permits(hours=1), id="end beyond this policy"),
        pytest.param(later(rule(), arguments=arguments("Other")), permits(), id="other payee"),
        pytest.param(later(rule(), amounts=None), permits(), id="unknown price"),
        pytest.param(later(rule(), amounts=(eur("100.01"),)), permits(), id="above the sum"),
        pytest.param(later(rule(), at=OPENED + timedelta(hours=3)), permits(), id="too late"),
        pytest.param(later(rule(), approvals_needed=2), permits(), id="two approvers"),
        pytest.param(later(rule(), approvers=(ANA,)), permits(), id="approvers of its workflow"),
        pytest.param(later(rule(), repeats="m.l.1"), permits(), id="repeats an effect"),
        pytest.param(
            later(rule()), permits_if(two_approvers=(TwoApprovers(),)), id="two approvers here"
        ),
        pytest.param(
            later(rule()),
            permits_if(approvers=(ApproverRule(approvers=("bob@*",)),)),
            id="others approve here",
        ),
        pytest.param(
            later(rule(), requester=ANA), permits_if(requester_may_approve=False), id="own mission"
        ),
        pytest.param(
            later(rule(first=OTHER), arguments=arguments("Other")), permits(), id="forged"
        ),
        pytest.param(
            later(rule(at=OPENED + timedelta(hours=25))), permits(), id="approved after expiry"
        ),
        pytest.param(later(rule(approver="policy:x")), permits(), id="no person"),
    ],
)
def test_anything_else_is_refused(call: ToolCall, workers: MissionPolicy) -> None:
    """Whatever a workflow says: the sender decides by its own policy and the rule's own card."""
    with pytest.raises(GrantRefused):
        check(call, workers)


def test_a_call_without_its_tool_or_rule_is_refused() -> None:
    """No rule covers a plan's card, whose tool is none."""
    with pytest.raises(GrantRefused):
        check_again_grant(later(rule()), None, TYPE, permits(), None)


def test_with_keys_the_rule_is_signed() -> None:
    """Unsigned, or signed for a smaller rule, it gives no grant."""
    signature = sign_decision(approval_of(rule()), KEY, digest=rule().digest, at=MADE)
    proved = {"signature": signature.signature, "issuer": signature.issuer}
    wider = SameAgain(up_to=eur("100"), until=OPENED + timedelta(hours=3))

    check(later(rule(**proved)), permits(), KEYS)
    for made in (rule(), rule(**proved, again=wider)):
        with pytest.raises(SignatureRefused):
            check(later(made), permits(), KEYS)
