"""What a worker's policy and keys add to a card, and which grants they let pass."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from orchestrator.confirmation.models import Approval, Approve, ConfirmationCard, Grant, call_digest
from orchestrator.confirmation.policy import (
    ApproverRule,
    ConfirmationPolicy,
    StandingApproval,
    TwoApprovers,
)
from orchestrator.confirmation.signatures import PublicKeys, SigningKey, sign_decision
from orchestrator.core.budget import Money
from orchestrator.core.errors import GrantRefused, SignatureRefused
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.oversight import check_grant_rules, governed
from orchestrator.messages.tool_call import PreparedCall, PrepareInput, ToolCall

OPENED = datetime(2026, 11, 22, 12, tzinfo=UTC)
TYPE = "structured-payment"
REF: dict[str, Any] = {
    "call_id": "m.1-pay.2",
    "mission_id": "m",
    "leg_id": "1-pay",
    "tool": "pay",
    "catalog_digest": "c" * 64,
}
PRIVATE, PUBLIC = SigningKey.generate(issuer="example.com", subject="ann@example.com")
KEYS = PublicKeys(keys=(PUBLIC,))


def eur(amount: int) -> Money:
    return Money(amount=Decimal(amount), currency="EUR")


def usd(amount: int) -> Money:
    return Money(amount=Decimal(amount), currency="USD")


def under(expiry: timedelta = timedelta(hours=24), **rules: Any) -> MissionPolicy:
    return MissionPolicy(confirmation_expiry=expiry, confirmation=ConfirmationPolicy(**rules))


ANYBODY = under()
FINANCE = under(approvers=(ApproverRule(approvers=("*@finance.example.com",)),))
STANDING = under(standing=(StandingApproval(name="small", tools=("pay",), max_amount=eur(50)),))
FOUR_EYES = under(requester_may_approve=False)
TWO = under(two_approvers=(TwoApprovers(above=eur(100)),))


def prepared(own: MissionPolicy, amounts: tuple[Money, ...] | None = None) -> PreparedCall:
    """A payment as its mission's own policy has it."""
    call = ToolCall(**REF, arguments={"invoice": "i1"}, card_type=TYPE, amounts=amounts)
    rules = own.confirmation
    return PreparedCall(
        call=call,
        card=ConfirmationCard(
            confirmation_id=call.call_id,
            mission_id="m",
            leg_id="1-pay",
            card_type=TYPE,
            title="Pay",
            tool="pay",
            digest=call_digest(call, arguments=call.arguments, card_type=TYPE),
            approvers=rules.approvers_of(card_type=TYPE, tool="pay"),
        ),
        standing_approver=rules.standing_approver(card_type=TYPE, tool="pay", amounts=amounts),
    )


def carded(
    own: MissionPolicy,
    workers: MissionPolicy,
    *,
    amounts: tuple[Money, ...] | None = None,
    keys: PublicKeys | None = None,
    **more: Any,
) -> PreparedCall:
    wanted = PrepareInput(**REF, arguments={}, policy=own, now=OPENED, **more)
    return governed(prepared(own, amounts), wanted, workers, keys)


def card_of(made: PreparedCall) -> ConfirmationCard:
    assert made.card is not None
    return made.card


def test_without_keys_and_rules_a_card_says_that_nothing_is_proved() -> None:
    """And its digest is what it was before there were any."""
    card = card_of(carded(ANYBODY, ANYBODY))

    assert not card.signed
    assert [line.value for line in card.oversight()] == [
        "who they say they are: nothing here proves it"
    ]
    assert card.digest == card_of(prepared(ANYBODY)).digest


@pytest.mark.parametrize(
    ("own", "workers", "hours"),
    [(24, 1, 1), (1, 24, 1), (2, 3, 2)],
)
def test_a_card_expires_as_the_shorter_policy_says(own: int, workers: int, hours: int) -> None:
    """A mission's own may be shorter."""
    card = card_of(carded(under(timedelta(hours=own)), under(timedelta(hours=workers))))

    assert card.expires_at == OPENED + timedelta(hours=hours)
    assert card.opened_at == OPENED


def test_both_policies_say_who_decides() -> None:
    """The worker's patterns hold beside the mission's, and are shown."""
    own = under(approvers=(ApproverRule(approvers=("ann@*",)),))
    card = card_of(carded(own, FINANCE))

    assert (card.approvers, card.operators_approvers) == (("ann@*",), ("*@finance.example.com",))
    assert card.oversight()[0].value == "ann@*; and *@finance.example.com"


def test_a_standing_approval_counts_where_the_worker_has_one_too() -> None:
    """For the call and its amounts, whatever a mission's own says."""
    wide = under(standing=(StandingApproval(name="all", tools=("*",)),))

    assert carded(wide, STANDING, amounts=(eur(50),)).standing_approver == "policy:all"
    for amounts in ((eur(51),), None):
        assert carded(wide, STANDING, amounts=amounts).standing_approver is None
    assert carded(wide, ANYBODY, amounts=(eur(1),)).standing_approver is None
    assert carded(ANYBODY, STANDING, amounts=(eur(1),)).standing_approver is None


@pytest.mark.parametrize(
    ("amounts", "needed"),
    [
        ((eur(100),), 1),
        ((eur(101),), 2),
        (None, 2),
        ((Money(amount=Decimal(1), currency="USD"),), 2),
    ],
    ids=["at the amount", "above", "unknown", "another currency"],
)
@pytest.mark.parametrize("policies", [(TWO, ANYBODY), (ANYBODY, TWO)], ids=["own", "worker's"])
def test_two_approve_above_an_amount(
    amounts: tuple[Money, ...] | None, needed: int, policies: tuple[MissionPolicy, MissionPolicy]
) -> None:
    """Whichever policy says so, and where nobody knows the price."""
    made = carded(*policies, amounts=amounts)

    assert made.call is not None
    assert made.call.approvals_needed == card_of(made).approvals_needed == needed


def test_a_worker_asks_no_more_often_than_its_policy_says() -> None:
    """A leg that asks again beyond it gets no card."""
    again = under(on_expiry="ask_again", max_rounds=5)

    assert carded(again, under(on_expiry="ask_again", max_rounds=2), round=2).card is not None
    assert carded(again, ANYBODY, round=2).problems


def test_the_digest_covers_who_asked_and_for_how_much() -> None:
    """A grant that is carried to a call with another requester or amount is none for it."""
    digests = {
        card_of(carded(ANYBODY, workers, amounts=amounts, requester=requester)).digest
        for workers in (ANYBODY, under(two_approvers=(TwoApprovers(),)))
        for amounts in (None, (), (eur(1),), (eur(2),))
        for requester in ("", "ann", "bob")
    }

    assert len(digests) == 2 * 4 * 3


# -- grants ----------------------------------------------------------------------------------------


def by(name: str, at: datetime = OPENED, signature: str = "") -> Approval:
    return Approval(approver=name, signature=signature, at=at)


def granted(*approvals: Approval, approver: str = "", **call: Any) -> ToolCall:
    grant = Grant(
        confirmation_id=REF["call_id"],
        digest="d" * 64,
        approver=approver or ", ".join(one.approver for one in approvals),
        granted_at=max([one.at for one in approvals], default=OPENED),
        opened_at=OPENED,
        approvals=approvals,
    )
    return ToolCall(**REF, arguments={}, card_type=TYPE, grant=grant, **call)


def check(call: ToolCall, workers: MissionPolicy, keys: PublicKeys | None = None) -> None:
    check_grant_rules(call, TYPE, workers, keys)


ANN, BOB = by("ann@finance.example.com"), by("bob@finance.example.com")
LATE = by("ann@finance.example.com", OPENED + timedelta(hours=25))


@pytest.mark.parametrize(
    ("call", "workers"),
    [
        (granted(ANN), ANYBODY),
        (granted(ANN), FINANCE),
        (granted(approver="policy:x", amounts=(eur(50),)), STANDING),
        (granted(approver="ann@finance.example.com"), FINANCE),
        (granted(ANN, requester="bob@finance.example.com"), FOUR_EYES),
        (granted(ANN, amounts=(eur(100),)), TWO),
        (granted(ANN, BOB), TWO),
    ],
)
def test_a_grant_of_those_who_may_give_it_passes(call: ToolCall, workers: MissionPolicy) -> None:
    """One that was given before approvals were kept too."""
    check(call, workers)


@pytest.mark.parametrize(
    ("call", "workers", "says"),
    [
        (granted(by("eve@example.com")), FINANCE, "may not decide on this"),
        (granted(approver="eve@example.com"), FINANCE, "may not decide on this"),
        (granted(ANN, by("eve@example.com")), FINANCE, "may not decide on this"),
        (granted(by("")), ANYBODY, "say who decides"),
        (granted(approver="policy:x"), ANYBODY, "no standing approval"),
        (granted(approver="Policy:x"), ANYBODY, "no standing approval"),
        (granted(approver="policy:x", amounts=(eur(51),)), STANDING, "no standing approval"),
        (granted(approver="policy:x"), STANDING, "no standing approval"),
        (granted(by("policy:small"), amounts=(eur(1),)), STANDING, "not of a person"),
        (granted(ANN, requester="ANN@finance.example.com "), FOUR_EYES, "asked for this mission"),
        (granted(ANN), FOUR_EYES, "does not say who asked"),
        (granted(ANN, BOB, requester=BOB.approver), FOUR_EYES, "asked for this mission"),
        (granted(ANN, amounts=(eur(101),)), TWO, "two different people"),
        (granted(ANN), TWO, "two different people"),
        (granted(ANN, ANN), TWO, "two different people"),
        (granted(ANN, by("Ann@Finance.example.com")), TWO, "two different people"),
        (granted(ANN, approvals_needed=2), ANYBODY, "two different people"),
        (granted(LATE), ANYBODY, "later than 1 day"),
        (granted(LATE, by("bob", OPENED)), ANYBODY, "later than 1 day"),
    ],
)
def test_a_grant_of_others_is_refused(call: ToolCall, workers: MissionPolicy, says: str) -> None:
    """Whatever a leg made of it: the worker that sends has a policy of its own."""
    with pytest.raises(GrantRefused, match=says):
        check(call, workers)


def signed(at: datetime = OPENED, **changes: Any) -> ToolCall:
    """A call with one approval, signed by ann."""
    call = granted(by("ann@example.com", at), **changes)
    assert call.grant is not None
    approve = Approve(confirmation_id=call.grant.confirmation_id, digest=call.grant.digest)
    text = sign_decision(approve, SigningKey(PRIVATE), digest=call.grant.digest, at=at).signature
    (approval,) = call.grant.approvals
    return with_grant(call, approvals=(approval.model_copy(update={"signature": text}),))


def with_grant(call: ToolCall, **changes: Any) -> ToolCall:
    assert call.grant is not None
    return call.model_copy(update={"grant": call.grant.model_copy(update=changes)})


def doubled(call: ToolCall) -> ToolCall:
    assert call.grant is not None
    return with_grant(call, approvals=(*call.grant.approvals, *call.grant.approvals))


def renamed(call: ToolCall) -> ToolCall:
    assert call.grant is not None
    (one,) = call.grant.approvals
    return with_grant(call, approvals=(one.model_copy(update={"approver": "cfo@example.com"}),))


def test_a_signed_grant_is_verified_where_the_call_is_sent() -> None:
    """By the keys that this worker trusts now."""
    check(signed(), ANYBODY, KEYS)


@pytest.mark.parametrize(
    "forge",
    [
        lambda call: granted(by("ann@example.com")),
        lambda call: granted(approver="ann@example.com"),
        lambda call: with_grant(call, digest="e" * 64),
        lambda call: with_grant(call, confirmation_id="m.1-pay.3"),
        lambda call: with_grant(call, opened_at=OPENED + timedelta(hours=1)),
        lambda call: with_grant(call, opened_at=None),
        renamed,
    ],
    ids=["unsigned", "of before", "digest", "card", "opened later", "opened never", "renamed"],
)
def test_a_grant_that_nobody_signed_is_refused_where_the_call_is_sent(
    forge: Callable[[ToolCall], ToolCall],
) -> None:
    """A leg, or who pretends to be one, cannot make up an approval."""
    with pytest.raises(SignatureRefused):
        check(forge(signed()), ANYBODY, KEYS)


def test_a_key_that_is_trusted_no_more_lets_nothing_pass() -> None:
    """It was taken out of the set after the decision had arrived."""
    _, other = SigningKey.generate(issuer="example.com", subject="ann@example.com")

    with pytest.raises(SignatureRefused, match="no key that is trusted"):
        check(signed(), ANYBODY, PublicKeys(keys=(other,)))


def test_one_signature_is_not_two_approvers() -> None:
    """However often a grant repeats it."""
    with pytest.raises(GrantRefused, match="two different people"):
        check(doubled(signed()), TWO, KEYS)


def test_a_standing_approval_of_the_worker_needs_no_signature() -> None:
    """The operator wrote it, who set up the keys as well."""
    check(granted(approver="policy:small", amounts=(eur(1),)), STANDING, KEYS)
    with pytest.raises(GrantRefused):
        check(granted(approver="policy:small", amounts=(eur(1),)), ANYBODY, KEYS)
