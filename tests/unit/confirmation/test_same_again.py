"""Rules for later calls: what one may say, and that no call outside it is ever covered."""

import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from orchestrator.confirmation.models import Approve, approval_of, call_digest, is_of_card
from orchestrator.confirmation.same_again import (
    AgainRecord,
    AgainRule,
    AgainTerms,
    FirstCall,
    SameAgain,
    SameAgainPolicy,
    refusal_of_rule,
    terms_of,
    why_not_again,
)
from orchestrator.confirmation.signatures import (
    PublicKeys,
    SigningKey,
    decision_claims,
    proved_signer,
    sign_decision,
)
from orchestrator.core.budget import Money
from orchestrator.core.call_ref import CallRef
from orchestrator.core.errors import SignatureRefused
from orchestrator.core.record import JsonObject

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HUNDRED = Money(amount=Decimal(100), currency="EUR")
TERMS = AgainTerms(
    max_amount=HUNDRED, max_time=timedelta(hours=8), free=(("sum", "value"),), fixed=("payer",)
)
ARGUMENTS: JsonObject = {
    "payee": "ACME",
    "payer": "pii:iban@" + "0" * 32,
    "sum": {"value": 40, "currency": "EUR"},
    "memo": "first",
    "count": 1,
}


def money(amount: str, currency: str = "EUR") -> Money:
    return Money(amount=Decimal(amount), currency=currency)


def again(**changes: Any) -> SameAgain:
    return SameAgain(
        **{"up_to": HUNDRED, "until": NOW + timedelta(hours=2), "may_differ": ("memo",), **changes}
    )


def ref(step: int = 2, **changes: Any) -> CallRef:
    fields = {
        "call_id": f"trip.1-pay.{step}",
        "mission_id": "trip",
        "leg_id": "1-pay",
        "tool": "pay",
        "catalog_digest": "c" * 64,
        "origin": "run-1",
    }
    return CallRef(**{**fields, **changes})


def rule(made: SameAgain | None = None, arguments: JsonObject = ARGUMENTS) -> AgainRule:
    first = FirstCall(**ref(1).ref, arguments=arguments, card_type="structured-payment")
    digest = call_digest(first, arguments=arguments, card_type=first.card_type)
    return AgainRule(
        rule_id="trip.1-pay.1",
        digest=digest,
        again=made or again(),
        first=first,
        approver="ana@example.com",
        at=NOW,
        opened_at=NOW - timedelta(minutes=1),
    )


def why_not(arguments: JsonObject = ARGUMENTS, **changes: Any) -> str | None:
    given: dict[str, Any] = {
        "rule": rule(),
        "call": ref(),
        "arguments": arguments,
        "card_type": "structured-payment",
        "amounts": (money("40"),),
        "approvals_needed": 1,
        "free": TERMS.free,
        "left": HUNDRED,
        "at": NOW + timedelta(hours=1),
    }
    given |= changes
    return why_not_again(given.pop("rule"), given.pop("call"), **given)


@pytest.mark.parametrize(
    "changes", [{}, {"memo": "second"}, {"sum": {"value": 99, "currency": "EUR"}}]
)
def test_a_call_with_the_same_inputs_is_covered(changes: JsonObject) -> None:
    """The price may differ, and what the person named; also what its contract calls free."""
    assert why_not({**ARGUMENTS, **changes}) is None
    assert why_not({**ARGUMENTS, **changes}, amounts=()) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"payee": "Other"},
        {"payer": "pii:iban@" + "1" * 32},
        {"payer": "pii:other@" + "0" * 32},
        {"sum": {"value": 40, "currency": "USD"}},
        {"sum": {"value": "pii:iban", "currency": "EUR"}},
        {"memo": "pii:iban"},
        {"memo": "for pii:iban"},
        {"count": 2},
        {"count": True},
        {"count": "1"},
        {"extra": None},
        {"payee": ["ACME"]},
    ],
)
def test_any_other_difference_asks(changes: JsonObject) -> None:
    """Also of personal values in inputs that may differ, and of types that look the same."""
    assert why_not({**ARGUMENTS, **changes}) is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"arguments": {k: v for k, v in ARGUMENTS.items() if k != "count"}},
        {"call": ref(mission_id="other")},
        {"call": ref(origin="run-2")},
        {"call": ref(tool="refund")},
        {"call": ref(catalog_digest="d" * 64)},
        {"call": ref(1)},
        {"card_type": "structured-order"},
        {"amounts": None},
        {"amounts": (money("100.01"),)},
        {"amounts": (money("40"), money("101"))},
        {"amounts": (money("40", "USD"),)},
        {"left": money("39.99")},
        {"approvals_needed": 2},
        {"at": NOW + timedelta(hours=2, seconds=1)},
        {"at": NOW - timedelta(seconds=1)},
    ],
)
def test_a_missing_input_another_call_price_or_time_asks(changes: dict[str, Any]) -> None:
    assert why_not(**changes) is not None


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from(["", "ACME", "Other", "pii:iban", "pii:iban@" + "0" * 32, "1"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["value", "currency", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)
_INPUTS = st.dictionaries(
    st.sampled_from(["payee", "payer", "sum", "memo", "count"]), _VALUES, max_size=5
)


@given(
    first=_INPUTS,
    later=_INPUTS,
    named=st.sets(st.sampled_from(["payee", "payer", "sum", "memo", "count"])),
    amount=st.decimals(0, 200, places=2),
    left=st.decimals(0, 150, places=2),
    currency=st.sampled_from(["EUR", "USD"]),
    hours=st.floats(-1, 4),
)
def test_nothing_outside_a_rule_is_covered(
    first: JsonObject,
    later: JsonObject,
    named: set[str],
    amount: Decimal,
    left: Decimal,
    currency: str,
    hours: float,
) -> None:
    """If a call is covered, all but price and named inputs is equal, within sum and time."""
    made = rule(again(may_differ=tuple(named)), first)
    at = NOW + timedelta(hours=hours)
    price, most = Money(amount=amount, currency=currency), Money(amount=left, currency="EUR")
    if why_not(later, rule=made, amounts=(price,), left=most, at=at) is not None:
        return

    assert currency == "EUR"
    assert amount <= left
    assert NOW <= at <= made.again.until
    for name in first.keys() | later.keys():
        if name in named and not any("pii:" in str(one.get(name)) for one in (first, later)):
            continue
        mine, others = first.get(name), later.get(name)
        assert (name in first) == (name in later)
        if name == "sum" and isinstance(mine, dict) and isinstance(others, dict):
            mine, others = ({k: v for k, v in o.items() if k != "value"} for o in (mine, others))
        assert json.dumps(mine, sort_keys=True) == json.dumps(others, sort_keys=True)


@pytest.mark.parametrize(
    ("made", "because"),
    [
        (again(), None),
        (again(up_to=money("100.01")), "at most"),
        (again(up_to=money("1", "USD")), "at most"),
        (again(until=NOW), "is over"),
        (again(until=NOW + timedelta(hours=9)), "later than"),
        (again(until=NOW + timedelta(hours=8, seconds=30)), None),  # by a clock that is ahead
        (again(may_differ=("payer",)), "payer"),
        (again(may_differ=("nothing",)), "nothing"),
        (again(may_differ=("payee", "memo", "count", "sum")), None),
    ],
)
def test_a_rule_stays_within_its_card_and_policy(made: SameAgain, because: str | None) -> None:
    refusal = refusal_of_rule(made, TERMS, arguments=ARGUMENTS, tool="pay", at=NOW)

    assert (refusal is None) == (because is None)
    assert because is None or because in str(refusal)


def test_without_terms_or_an_input_that_stays_equal_there_is_no_rule() -> None:
    """By default no policy permits one, and one under which all may differ is not the same."""
    alone: JsonObject = {"memo": "first"}

    assert refusal_of_rule(again(), None, arguments=ARGUMENTS, tool="pay", at=NOW) is not None
    assert refusal_of_rule(again(), TERMS, arguments=alone, tool="pay", at=NOW) is not None


def policy(amount: str = "100", hours: int = 8, currency: str = "EUR", **scope: Any) -> Any:
    return SameAgainPolicy(
        max_amount=money(amount, currency),
        max_time=timedelta(hours=hours),
        **(scope or {"card_types": ("structured-payment",)}),
    )


@pytest.mark.parametrize(
    ("policies", "limits"),
    [
        ((None,), None),
        ((policy(), None), None),
        ((policy(), policy("50", 10)), (money("50"), timedelta(hours=8))),
        ((policy(), policy(currency="USD")), None),
        ((policy(), policy(tools=("other",))), None),
        ((policy(tools=("p*",)),), (HUNDRED, timedelta(hours=8))),
    ],
)
def test_the_strictest_policy_counts(policies: Any, limits: Any) -> None:
    """Each has to permit a rule for this card and tool."""
    assert terms_of(policies, card_type="structured-payment", tool="pay") == limits
    with pytest.raises(ValidationError, match="card_types or its tools"):
        SameAgainPolicy(max_amount=HUNDRED, max_time=timedelta(hours=1))


def test_an_end_is_one_moment_in_any_zone() -> None:
    """A signature covers the moment, however it is written; without a zone it is refused."""
    there = timezone(timedelta(hours=2))
    shifted = again(until=(NOW + timedelta(hours=2)).astimezone(there), may_differ=("b", "a"))

    assert shifted.content() == again(may_differ=("a", "b", "a")).content()
    with pytest.raises(ValidationError):
        again(until=datetime(2026, 11, 30, 14))


def test_what_is_left_and_said_of_a_rule() -> None:
    """Each approved price uses it up; its words name person, tool, sum and end."""
    record = AgainRecord(rule=rule(), used=Decimal("60"), calls=("trip.1-pay.2",))

    assert record.left == money("40")
    for word in ("ana@example.com", "pay", "memo may differ", "100.00 EUR", "60.00 EUR", "1 call"):
        assert word in record.sentence


# -- signatures ------------------------------------------------------------------------------------

PRIVATE, PUBLIC = SigningKey.generate(issuer="https://id.example.com", subject="ana@example.com")
KEY, KEYS = SigningKey(PRIVATE), PublicKeys(keys=(PUBLIC,))


def signed(approve: Approve) -> Approve:
    return sign_decision(approve, KEY, digest=approve.digest, at=NOW)


def proved(approve: Approve) -> str:
    opened = NOW - timedelta(minutes=1)
    at = NOW + timedelta(seconds=1)
    return proved_signer(approve, KEYS, digest=approve.digest, opened_at=opened, at=at).subject


PLAIN = Approve(confirmation_id="trip.1-pay.1", digest="d" * 64)


def test_a_signature_of_before_there_were_rules_stays_valid() -> None:
    """The claims of an approval without a rule are what they were."""
    claims = decision_claims(PLAIN, digest="d" * 64, issuer="i", subject="s", at=NOW)

    assert "content" not in claims
    assert proved(signed(PLAIN)) == "ana@example.com"


def test_a_signature_covers_the_rule() -> None:
    """A rule is neither added, nor left out, nor widened after it was signed."""
    with_rule = signed(PLAIN.model_copy(update={"again": again()}))

    assert proved(with_rule) == "ana@example.com"
    for forged in (
        with_rule.model_copy(update={"again": None}),
        with_rule.model_copy(update={"again": again(up_to=money("101"))}),
        with_rule.model_copy(update={"again": again(may_differ=("memo", "payee"))}),
        signed(PLAIN).model_copy(update={"again": again()}),
    ):
        with pytest.raises(SignatureRefused):
            proved(forged)


def test_a_rule_carries_its_approval() -> None:
    """With the digest of the call that was approved, which another call does not have."""
    made = rule()
    other = made.first.model_copy(update={"arguments": {**ARGUMENTS, "payee": "Other"}})

    assert is_of_card(made)
    assert not is_of_card(made.model_copy(update={"first": other}))
    assert approval_of(made).again == made.again
