"""The right to make a call: its workflow, the worker's policy and keys, grants and signatures."""

import contextlib
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue
from temporalio.testing import ActivityEnvironment

from orchestrator.activities.authority import (
    Authority,
    check_compensation,
    check_grant_rules,
    check_sender,
    governed,
)
from orchestrator.activities.planning_activities import PlanningActivities
from orchestrator.activities.prepare_activities import PrepareActivities
from orchestrator.activities.tool_activities import ToolActivities
from orchestrator.adapters.approval_keys import ApprovalKeys
from orchestrator.adapters.storage.protocols import CatalogStore
from orchestrator.catalog.catalog import Catalog
from orchestrator.confirmation.models import Approval, Approve, ConfirmationCard, Grant, call_digest
from orchestrator.confirmation.policy import (
    ApproverRule,
    ConfirmationPolicy,
    StandingApproval,
    TwoApprovers,
)
from orchestrator.confirmation.signatures import PublicKeys, SigningKey, sign_decision
from orchestrator.core.budget import Money
from orchestrator.core.call_ref import CallRef
from orchestrator.core.errors import GrantRefused, SignatureRefused, SignInTooOld
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.tool_call import PreparedCall, PrepareInput, ToolCall
from orchestrator.planning.models import CallTerms, Observation
from orchestrator.routing.router import Router
from orchestrator.saga.orders import Order
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import MemoryGrants, MemoryTraces, fake_obligation
from tests.refusals import raises_code
from tests.unit.activities.environments import of_mission, of_rollback
from tests.unit.activities.made_calls import (
    approved,
    call_of,
    card_of,
    failure_of,
    left_by,
    wanted_call,
)
from tests.unit.activities.planners import Scripted, mission_of

ORDERED = ToolOutcome(kind="succeeded", status=200, body={"order_id": "o1"})
PRIVATE, PUBLIC = SigningKey.generate(issuer="example.com", subject="ann@example.com")
CFO_ALONE = MissionPolicy(
    confirmation=ConfirmationPolicy(approvers=(ApproverRule(approvers=("cfo@example.com",)),))
)


class Seller:
    """Prepares and sends orders of book b7, which zoe asks for."""

    def __init__(self, store: CatalogStore, catalog: Catalog, client: Any, keys: Path) -> None:
        self.store, self.catalog, self.client = store, catalog, client
        self.signing = Authority(keys=ApprovalKeys(str(keys)))
        """A worker with approval keys."""
        self.grants: MemoryGrants | None = None

    async def prepare(
        self, authority: Authority, *, mission: str = "m", **more: Any
    ) -> PreparedCall:
        wanted = wanted_call(
            f"{mission}.1-shop.2",
            tool="order_book",
            arguments={"book_id": "b7"},
            catalog_digest=self.catalog.digest,
            requester="zoe@example.com",
            **{"now": datetime.now(UTC), **more},
        )
        activities = PrepareActivities(
            self.store, self.client.as_client, authority=authority, grants=self.grants
        )
        made = await of_mission(mission).run(activities.prepare_call, wanted)
        assert isinstance(made, PreparedCall)
        return made

    async def ordered(
        self, authority: Authority, policy: MissionPolicy, *, mission: str = "m", **more: JsonValue
    ) -> PreparedCall:
        """Prepare it as the plan orders it, after it was found at 30 EUR."""
        price: JsonObject = {"amount": "30.00", "currency": "EUR"}
        body: JsonObject = {"book_id": "b7", "price": price, **more}
        found = Observation(step=1, tool="find", outcome="succeeded", body=body)
        orders = (Order(tools=("order_book",)),)
        about = {"goal": "order b7", "orders": orders, "covered": orders}
        return await self.prepare(
            authority, mission=mission, policy=policy, observations=(found,), **about
        )

    async def send(self, call: ToolCall, authority: Authority, *, attempt: int = 1) -> ToolOutcome:
        activities = ToolActivities(
            self.store, self.client.as_client, self.grants or MemoryGrants(), authority=authority
        )
        environment = of_mission(call.mission_id, attempt=attempt)
        outcome = await environment.run(activities.invoke_tool, call)
        assert isinstance(outcome, ToolOutcome)
        return outcome


@pytest.fixture
def seller(
    store: CatalogStore, shop: Callable[..., Catalog], scripted: Any, tmp_path: Path
) -> Seller:
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [PUBLIC]}))
    return Seller(store, shop(), scripted({"order_book": [ORDERED]}), path)


def decided(made: PreparedCall, *, signed: bool) -> ToolCall:
    """The call with ann's approval."""
    card, at = card_of(made), datetime.now(UTC)
    yes = Approve(
        confirmation_id=card.confirmation_id, digest=card.digest, approver="ann@example.com"
    )
    if signed:
        yes = sign_decision(yes, SigningKey(PRIVATE), digest=card.digest, at=at)
    approval = Approval(approver=yes.approver, issuer=yes.issuer, signature=yes.signature, at=at)
    call = approved(made, yes.approver)
    return with_grant(call, granted_at=at, opened_at=card.opened_at, approvals=(approval,))


def total_of(amount: int, name: str = "books") -> MissionPolicy:
    """A standing approval for orders of books that ends at an amount."""
    rule = StandingApproval(name=name, tools=("order_book",), total=eur(amount))
    return MissionPolicy(confirmation=ConfirmationPolicy(standing=(rule,)))


async def test_no_standing_approval_covers_a_price_in_doubt(seller: Seller) -> None:
    """What is found has another amount, or counts something: the card names both."""
    policy = total_of(500)
    authority = Authority(policy)
    plain = await seller.ordered(authority, policy)
    another: JsonObject = {"amount": "20.00", "currency": "EUR"}
    deposit = await seller.ordered(authority, policy, deposit=another)
    counted = await seller.ordered(authority, policy, volumes=12)

    assert plain.standing_approver == "policy:books"
    for doubtful, said in ((deposit, "20.00 EUR"), (counted, "volumes: 12")):
        assert doubtful.standing_approver is None
        assert call_of(doubtful).amounts is None
        assert any(said in warning for warning in card_of(doubtful).warnings)
        # Sent with a person's approval, it costs something that nobody knows.
        assert left_by(doubtful).has_price
    assert not left_by(await seller.prepare(authority)).has_price


@pytest.mark.parametrize(("missions", "workers"), [(50, 100), (100, 50)])
async def test_a_standing_approval_that_is_used_up_asks_a_person_and_sends_nothing_more(
    seller: Seller, missions: int, workers: int
) -> None:
    """Three missions order books at 30 EUR; the narrower total counts, of mission or worker.

    The third order was prepared while there was room; its worker counts again as it sends.
    """
    seller.grants = MemoryGrants()
    authority, policy = Authority(total_of(workers, "workers")), total_of(missions, "missions")
    first, late = [await seller.ordered(authority, policy, mission=name) for name in "ab"]
    outcomes = [
        await seller.send(approved(made, "policy:missions"), authority) for made in (first, late)
    ]
    asked = await seller.ordered(authority, policy, mission="c")

    assert (first.standing_approver, asked.standing_approver) == ("policy:missions", None)
    assert [outcome.kind for outcome in outcomes] == ["succeeded", "rejected"]
    assert seller.client.called == ["order_book"]
    assert any("covers 50.00 EUR in total" in one for one in card_of(asked).warnings)


async def test_the_public_keys_travel_with_a_prepared_call(seller: Seller) -> None:
    """For the gate, which may read no file; the card says that signatures are needed."""
    made = await seller.prepare(seller.signing)

    assert card_of(made).signed
    assert card_of(made).requester == "zoe@example.com"
    assert made.approval_keys == PublicKeys(keys=(PUBLIC,))


async def test_keys_that_cannot_be_had_let_nobody_ask(seller: Seller, tmp_path: Path) -> None:
    """No card without them: it would be decided by names again. Another attempt may have them."""
    lost = Authority(keys=ApprovalKeys(str(tmp_path / "lost.json")))
    refused = await failure_of(seller.prepare(lost))

    assert (refused.type, refused.non_retryable) == ("ApprovalKeysUnavailable", False)


async def test_a_forged_grant_never_leaves(seller: Seller) -> None:
    """A leg that makes one up, or that took an unsigned decision, is refused where it counts."""
    made, keys = await seller.prepare(Authority()), seller.signing
    unsigned, signed = decided(made, signed=False), decided(made, signed=True)
    without_keys = await seller.send(unsigned, keys)
    of_another = await seller.send(signed, Authority(CFO_ALONE, keys.keys))
    for change in ({"requester": "eve@example.com"}, {"amounts": ()}):
        refused = await failure_of(seller.send(signed.model_copy(update=change), keys))
        assert (refused.type, refused.non_retryable) == ("GrantMissing", True)

    assert (without_keys.kind, of_another.kind) == ("rejected", "rejected")
    assert "have to be signed here" in str(without_keys.reason)
    assert "may not decide on this" in str(of_another.reason)
    assert seller.client.calls == []


@pytest.mark.parametrize("signed", [False, True])
async def test_the_approvers_of_a_written_step_are_checked_at_the_send(
    seller: Seller, signed: bool
) -> None:
    """A decision that a leg took past its validator; and a call that leaves the approvers out.

    Signatures are verified again with the keys of this worker.
    """
    authority = seller.signing if signed else Authority()
    theirs, others = [
        decided(
            await seller.prepare(authority, call_terms=CallTerms(approvers=(name,))), signed=signed
        )
        for name in ("ann@example.com", "cfo@example.com")
    ]
    assert (await seller.send(theirs, authority)).kind == "succeeded"
    refused = await seller.send(others, authority)
    unbound = await failure_of(seller.send(others.model_copy(update={"approvers": ()}), authority))

    assert refused.kind == "rejected"
    assert "may not decide on this" in str(refused.reason)
    assert unbound.type == "GrantMissing"
    assert len(seller.client.calls) == 1


async def test_a_grant_that_is_refused_later_leaves_the_first_attempt_unclear(
    seller: Seller,
) -> None:
    """Its key was taken out of the set between two attempts: the first may have arrived."""
    unsigned = decided(await seller.prepare(Authority()), signed=False)

    assert (await seller.send(unsigned, seller.signing, attempt=2)).kind == "unknown"
    assert seller.client.calls == []


async def test_the_worker_plans_no_mission_whose_policy_is_wider_than_its_own(
    seller: Seller,
) -> None:
    """Whatever its client has looked at."""
    planning = PlanningActivities(
        seller.store, Router, Scripted(), (), MemoryTraces(), authority=Authority()
    )
    free = ConfirmationPolicy(standing=(StandingApproval(name="all", tools=("*",)),))
    mission = mission_of(seller.catalog, policy=MissionPolicy(confirmation=free))
    refused = await failure_of(of_mission().run(planning.split_goal, mission))

    assert (refused.type, refused.non_retryable) == ("PolicyWidened", True)


OPENED = datetime(2026, 11, 22, 12, tzinfo=UTC)
TYPE = "structured-payment"
REF: dict[str, Any] = {
    "call_id": "m.1-pay.2",
    "mission_id": "m",
    "leg_id": "1-pay",
    "tool": "pay",
    "catalog_digest": "c" * 64,
}
KEYS = PublicKeys(keys=(PUBLIC,))


def eur(amount: int) -> Money:
    return Money(amount=Decimal(amount), currency="EUR")


def under(expiry: timedelta = timedelta(hours=24), **rules: Any) -> MissionPolicy:
    return MissionPolicy(confirmation_expiry=expiry, confirmation=ConfirmationPolicy(**rules))


ANYBODY = under()
FINANCE = under(approvers=(ApproverRule(approvers=("*@finance.example.com",)),))
STANDING = under(standing=(StandingApproval(name="small", tools=("pay",), max_amount=eur(50)),))
FOUR_EYES = under(requester_may_approve=False)
TWO = under(two_approvers=(TwoApprovers(above=eur(100)),))


def payment(own: MissionPolicy, amounts: tuple[Money, ...] | None = None) -> PreparedCall:
    """A payment as its mission's own policy has it."""
    call = ToolCall(**REF, arguments={"invoice": "i1"}, card_type=TYPE, amounts=amounts)
    rules = own.confirmation
    standing = rules.standing_for(card_type=TYPE, tool="pay", amounts=amounts)
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
        standing_approver=standing.approver if standing is not None else None,
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
    return governed(payment(own, amounts), wanted, workers, keys)


def test_without_keys_and_rules_a_card_says_that_nothing_is_proved() -> None:
    """And its digest is what it was before there were any."""
    card = card_of(carded(ANYBODY, ANYBODY))

    assert not card.signed
    assert [line.value for line in card.oversight()] == [
        "who they say they are: nothing here proves it"
    ]
    assert card.digest == card_of(payment(ANYBODY)).digest


@pytest.mark.parametrize(("own", "workers", "hours"), [(24, 1, 1), (1, 24, 1), (2, 3, 2)])
def test_a_card_expires_as_the_shorter_policy_says(own: int, workers: int, hours: int) -> None:
    """A mission's own may be shorter."""
    card = card_of(carded(under(timedelta(hours=own)), under(timedelta(hours=workers))))

    assert card.expires_at == OPENED + timedelta(hours=hours)
    assert card.opened_at == OPENED


def test_both_policies_say_who_decides() -> None:
    """The worker's patterns hold beside the mission's, and are shown."""
    card = card_of(carded(under(approvers=(ApproverRule(approvers=("ann@*",)),)), FINANCE))

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

    assert call_of(made).approvals_needed == card_of(made).approvals_needed == needed


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
        (granted(ANN, approvers=("ann@*",)), FINANCE),
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
        (granted(BOB, approvers=("ann@*",)), FINANCE, "may not decide on this"),
        (granted(ANN, BOB, approvers=("ann@*",)), ANYBODY, "may not decide on this"),
        (granted(approver="policy:x", amounts=(eur(1),), approvers=("ann@*",)), STANDING, "names"),
        (granted(approver="policy:x", amounts=(eur(1),), repeats="m.l.1"), STANDING, "it repeats"),
        (granted(LATE), ANYBODY, "later than 1 day"),
        (granted(LATE, by("bob", OPENED)), ANYBODY, "later than 1 day"),
    ],
)
def test_a_grant_of_others_is_refused(call: ToolCall, workers: MissionPolicy, says: str) -> None:
    """Whatever a leg made of it: the worker that sends has a policy of its own."""
    with pytest.raises(GrantRefused, match=says):
        check(call, workers)


def signed(
    at: datetime = OPENED,
    *,
    auth_time: datetime | None = None,
    groups: tuple[str, ...] = (),
    **changes: Any,
) -> ToolCall:
    """A call with one approval, signed by ann."""
    call = granted(by("ann@example.com", at), **changes)
    grant = grant_of(call)
    approve = Approve(confirmation_id=grant.confirmation_id, digest=grant.digest)
    text = sign_decision(
        approve, SigningKey(PRIVATE), digest=grant.digest, at=at, auth_time=auth_time, groups=groups
    ).signature
    (approval,) = grant.approvals
    return with_grant(call, approvals=(approval.model_copy(update={"signature": text}),))


def grant_of(call: ToolCall) -> Grant:
    assert call.grant is not None
    return call.grant


def with_grant(call: ToolCall, **changes: Any) -> ToolCall:
    return call.model_copy(update={"grant": grant_of(call).model_copy(update=changes)})


def renamed(call: ToolCall) -> ToolCall:
    (one,) = grant_of(call).approvals
    return with_grant(call, approvals=(one.model_copy(update={"approver": "cfo@example.com"}),))


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
    """A leg, or who pretends to be one, cannot make up an approval; the signed one passes."""
    check(signed(), ANYBODY, KEYS)
    with pytest.raises(SignatureRefused):
        check(forge(signed()), ANYBODY, KEYS)


FRESH = under(max_age=timedelta(minutes=10))
OF_GROUP = under(approvers=(ApproverRule(approvers=("group:finance",)),))


@pytest.mark.parametrize("own_or_workers", ["mission", "worker"])
def test_an_approval_after_a_fresh_sign_in_is_sent(own_or_workers: str) -> None:
    """Whichever of both policies requires it; an older or unknown sign-in is refused."""
    limit = timedelta(minutes=10)
    is_workers = own_or_workers == "worker"
    workers = FRESH if is_workers else ANYBODY
    more: dict[str, Any] = {} if is_workers else {"max_sign_in_age": limit}
    check(signed(auth_time=OPENED - limit, **more), workers, KEYS)
    for old in (OPENED - limit - timedelta(seconds=1), None):
        with pytest.raises(SignInTooOld):
            check(signed(auth_time=old, **more), workers, KEYS)
    with pytest.raises(SignInTooOld):
        check(granted(by("ann@example.com"), **more), workers)


@pytest.mark.parametrize("longer_and_shorter", [(60, 10), (10, 60), (None, 10), (10, None)])
def test_a_card_asks_for_the_freshest_sign_in_of_both_policies(
    longer_and_shorter: tuple[int | None, int | None],
) -> None:
    """A mission's own policy can only shorten the time, and the digest covers it."""
    own, workers = (
        ANYBODY if minutes is None else under(max_age=timedelta(minutes=minutes))
        for minutes in longer_and_shorter
    )
    made = carded(own, workers, keys=KEYS)

    assert call_of(made).max_sign_in_age == card_of(made).max_sign_in_age == timedelta(minutes=10)
    assert card_of(made).digest != card_of(carded(ANYBODY, ANYBODY, keys=KEYS)).digest


def test_a_group_counts_only_where_a_signature_proves_it() -> None:
    """A grant that nobody signed has no groups, whatever the approver is called."""
    check(signed(groups=("ops", "Finance")), OF_GROUP, KEYS)
    for call, keys in (
        (signed(groups=("finance-interns",)), KEYS),
        (signed(), KEYS),
        (signed(groups=("finance",)), None),
        (granted(by("group:finance")), None),
        (granted(by("finance")), None),
    ):
        with pytest.raises(GrantRefused):
            check(call, OF_GROUP, keys)


def test_a_key_that_is_trusted_no_more_lets_nothing_pass() -> None:
    """It was taken out of the set after the decision had arrived."""
    _, other = SigningKey.generate(issuer="example.com", subject="ann@example.com")

    with pytest.raises(SignatureRefused, match="no key that is trusted"):
        check(signed(), ANYBODY, PublicKeys(keys=(other,)))


def test_one_signature_is_not_two_approvers() -> None:
    """However often a grant repeats it."""
    one = signed()
    with pytest.raises(GrantRefused, match="two different people"):
        check(with_grant(one, approvals=grant_of(one).approvals * 2), TWO, KEYS)


def test_a_standing_approval_of_the_worker_needs_no_signature() -> None:
    """The operator wrote it, who set up the keys as well."""
    check(granted(approver="policy:small", amounts=(eur(1),)), STANDING, KEYS)
    with pytest.raises(GrantRefused):
        check(granted(approver="policy:small", amounts=(eur(1),)), ANYBODY, KEYS)


CALL = {
    "call_id": "trip.1-shop.2",
    "mission_id": "trip",
    "leg_id": "1-shop",
    "tool": "order_book",
    "catalog_digest": "d",
}


@pytest.mark.parametrize(
    ("environment", "changed"),
    [
        (of_mission("trip-2"), {}),
        (of_mission("trip", workflow_type="Impostor"), {}),
        (of_mission("trip.1-shop", workflow_type="LegWorkflow"), {}),
        (of_rollback("trip"), {}),
        (of_mission("trip"), {"mission_id": "other"}),
        (of_mission("trip"), {"call_id": "other.1-shop.2"}),
        (of_mission("trip"), {"call_id": "trip.2-shop.2"}),
    ],
    ids=["mission", "type", "leg", "rollback", "named mission", "call of another", "other leg"],
)
async def test_a_call_of_another_workflow_is_refused(
    environment: ActivityEnvironment, changed: dict[str, Any]
) -> None:
    """Whatever its message says; a mission's own calls name leg and step, or a part of it."""
    for part in ("", "b"):
        own = CallRef.model_validate({**CALL, "call_id": f"trip.1-shop.2{part}"})
        of_mission("trip").run(check_sender, own)

    with raises_code("CallUnowned"):
        environment.run(check_sender, CallRef.model_validate({**CALL, **changed}))


@pytest.mark.parametrize(
    ("workflow_id", "serves_sagas", "is_sent"),
    [("order/7", True, True), ("order/7", False, False), ("order/8", True, False)],
    ids=["own", "not served", "of another workflow"],
)
async def test_a_workflow_calls_under_the_ids_of_its_own_sagas(
    workflow_id: str, serves_sagas: bool, is_sent: bool
) -> None:
    """Where its worker serves sagas: the id derives from the workflow that the server names."""
    saga = names.saga_id("trip", "order/7", "run-1")
    sent = {"call_id": f"{saga}.call-1.1", "mission_id": saga, "leg_id": "call-1"}
    call = CallRef.model_validate({**CALL, **sent, "origin": "run-1"})
    own = of_mission(workflow_id, workflow_type="Order")

    with contextlib.nullcontext() if is_sent else raises_code("CallUnowned"):
        own.run(check_sender, call, serves_sagas=serves_sagas)


async def test_a_cancel_is_its_rollbacks_or_of_an_overcharge_its_missions() -> None:
    """Nobody else has an obligation cancelled."""
    made = fake_obligation("trip.1-shop.2")
    more = Money.model_validate({"amount": "5", "currency": "EUR"})
    dear = made.model_copy(update={"overcharged": more})

    of_rollback("trip").run(check_compensation, made)
    of_mission("trip").run(check_compensation, dear)
    for environment, obligation in (
        (of_mission("trip"), made),
        (of_rollback("other"), made),
        (of_mission("trip", workflow_type=names.ROLLBACK_WORKFLOW), made),
        (of_mission("trip", workflow_type=names.SWEEP_WORKFLOW), dear),
    ):
        with raises_code("CallUnowned"):
            environment.run(check_compensation, obligation)
