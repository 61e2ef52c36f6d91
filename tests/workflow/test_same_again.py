"""Same again: one approval lets later calls through, each by a grant of its own, until it ends."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from temporalio import workflow

from orchestrator.confirmation.models import Approve, ConfirmationCard
from orchestrator.confirmation.policy import ConfirmationPolicy, TwoApprovers
from orchestrator.confirmation.same_again import RevokeAgain, SameAgain, SameAgainPolicy
from orchestrator.core.budget import Money
from orchestrator.messages import names
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.rollback import RollbackReport
from orchestrator.planning.models import AskUser, CallTool
from tests.workflow.replays import replays_at_every_task
from tests.world import FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage

HUNDRED = Money(amount=Decimal(100), currency="EUR")
PERMITS = MissionPolicy(
    same_again=SameAgainPolicy(
        card_types=("structured-payment",), max_amount=HUNDRED, max_time=timedelta(hours=8)
    )
)
GOAL = (
    "Buy tickets for the seats 12A and 14C at 40.5 EUR, 55.25 EUR, 46.5 EUR, 44.75 EUR, 10.25 EUR, "
    "10.5 EUR and 1.5 EUR"
)
"""All that the calls say: an amount from nowhere would be asked about for that alone."""
WHEN = AskUser(question="When?", fields={"day": {"type": "string"}})


@pytest.fixture(autouse=True)
def permitting(world: FakeWorld) -> None:
    """A worker whose policy permits rules."""
    world.govern(PERMITS)


def buy(amount: float, seat: str = "12A", currency: str = "EUR") -> CallTool:
    price: Any = {"amount": amount, "currency": currency}
    return CallTool(tool="buy_ticket", arguments={"seat": seat, "price": price})


def rule(card: ConfirmationCard, hours: float = 2, **changes: Any) -> Approve:
    assert card.opened_at is not None
    fields = {
        "up_to": HUNDRED,
        "until": card.opened_at + timedelta(hours=hours),
        "may_differ": ("price",),
    }
    return Approve(
        confirmation_id=card.confirmation_id,
        digest=card.digest,
        approver="ana@example.com",
        again=SameAgain.model_validate({**fields, **changes}),
    )


async def next_card(mission: Mission, seen: ConfirmationCard) -> ConfirmationCard:
    async def look() -> ConfirmationCard | None:
        card = (await mission.waiting("ticket")).card
        return card if card is not None and card.confirmation_id != seen.confirmation_id else None

    return await mission.eventually(look)


async def revoke(mission: Mission, rule_id: str, by: str = "bob@example.com") -> None:
    wanted = RevokeAgain(rule_id=rule_id, by=by, reason="enough")
    await mission.told.execute_update(names.REVOKE_UPDATE, wanted)


def asked(result: MissionResult) -> list[str]:
    """How each call was decided: by which rule, or by a person."""
    return [one.rule or one.approver for one in result.legs[0].decisions]


async def test_later_calls_go_through_until_one_differs(stage: Stage, world: FakeWorld) -> None:
    """The same seat within the sum is bought without asking; another seat, or more, asks."""
    mission = await stage.start_leg(
        "ticket", buy(40.5), buy(55.25), buy(46.5), buy(40.5, "14C"), buy(44.75), goal=GOAL
    )
    first = await mission.card("ticket")
    await mission.decide(rule(first))
    above = await next_card(mission, first)
    await mission.approve(above)
    other = await next_card(mission, above)
    await mission.approve(other)
    result = await mission.end()
    calls, by_rule = world.sent("buy_ticket"), first.confirmation_id

    assert result.status is MissionStatus.SUCCEEDED
    assert above.arguments["price"] == {"amount": 46.5, "currency": "EUR"}
    assert other.arguments["seat"] == "14C"
    assert asked(result) == [
        *("ana@example.com", by_rule, "ada@example.com", "ada@example.com", by_rule)
    ]
    assert len({call.grant.digest for call in calls if call.grant}) == len(calls) == 5
    assert [c.grant.again is not None for c in calls if c.grant] == [
        False,
        True,
        False,
        False,
        True,
    ]
    (made,) = result.again
    assert (made.used, len(made.calls)) == (Decimal(100), 2)
    assert result.receipts[1].confirmed_by == f"ana@example.com (same again as {by_rule})"
    assert result.legs[0].decisions[0].again == made.rule.again
    await replays_at_every_task(mission.handle)


async def test_a_revoked_rule_covers_nothing_more(stage: Stage, world: FakeWorld) -> None:
    """Recorded with who and why; a second revocation, or of what is no rule, is refused."""
    mission = await stage.start_leg("ticket", buy(10.25), WHEN, buy(10.5), goal=GOAL)
    card = await mission.card("ticket")
    await mission.decide(rule(card))
    question = await mission.question("ticket")
    unknown = await mission.refusal(revoke(mission, "nothing"))
    nameless = await mission.refusal(revoke(mission, card.confirmation_id, by=" "))
    await revoke(mission, card.confirmation_id)
    again = await mission.refusal(revoke(mission, card.confirmation_id))
    await mission.answer(question, {"day": "Friday"})
    await mission.approve(await next_card(mission, card))
    result = await mission.end()

    assert [unknown.type, nameless.type, again.type] == [
        *("SameAgainUnknown", "ApproverRefused", "SameAgainUnknown")
    ]
    assert asked(result) == ["ana@example.com", "ada@example.com"]
    (made,) = result.again
    assert (made.revoked_by, made.reason, made.calls) == ("bob@example.com", "enough", ())


async def test_a_rule_ends_at_its_hour(stage: Stage, world: FakeWorld) -> None:
    """A call that is wanted later is asked about."""
    mission = await stage.start_leg("ticket", buy(10.25), WHEN, buy(10.5), goal=GOAL)
    card = await mission.card("ticket")
    await mission.decide(rule(card, hours=1))
    question = await mission.question("ticket")
    await stage.env.sleep(timedelta(hours=1, minutes=1))
    await mission.answer(question, {"day": "Friday"})
    await mission.approve(await next_card(mission, card))

    assert asked(await mission.end()) == ["ana@example.com", "ada@example.com"]


@pytest.mark.parametrize(
    "changes",
    [
        {"up_to": Money(amount=Decimal(101), currency="EUR")},
        {"up_to": Money(amount=Decimal(1), currency="USD")},
        {"hours": 9},
        {"hours": 0},
        {"may_differ": ("price", "seat")},
        {"may_differ": ("berth",)},
    ],
)
async def test_a_rule_beyond_the_policy_leaves_no_trace(
    stage: Stage, world: FakeWorld, changes: Any
) -> None:
    """The approval is refused as a whole, and the card stays open."""
    mission = await stage.start_leg("ticket", buy(10.25), goal=GOAL)
    card = await mission.card("ticket")
    refusal = await mission.refusal(mission.decide(rule(card, **changes)))
    still = (await mission.waiting("ticket")).card
    await mission.approve(card)
    result = await mission.end()

    assert refusal.type == "SameAgainRefused"
    assert still == card
    assert result.again == ()


@pytest.mark.parametrize(
    "policy",
    [
        MissionPolicy(),
        PERMITS.model_copy(
            update={"confirmation": ConfirmationPolicy(two_approvers=(TwoApprovers(),))}
        ),
    ],
)
async def test_without_a_policy_or_with_two_approvers_there_is_no_rule(
    stage: Stage, world: FakeWorld, policy: MissionPolicy
) -> None:
    """The card says so by saying nothing of rules."""
    world.govern(policy)
    mission = await stage.start_leg("ticket", buy(10.25), goal=GOAL)
    card = await mission.card("ticket")
    refusal = await mission.refusal(mission.decide(rule(card)))

    assert card.again is None
    assert refusal.type == "SameAgainRefused"


async def test_a_worker_whose_policy_permits_no_rules_asks_again(
    stage: Stage, world: FakeWorld
) -> None:
    """Also for a rule that was made under another policy."""
    mission = await stage.start_leg("ticket", buy(10.25), WHEN, buy(10.5), goal=GOAL)
    card = await mission.card("ticket")
    await mission.decide(rule(card))
    question = await mission.question("ticket")
    world.govern(MissionPolicy())
    await mission.answer(question, {"day": "Friday"})
    await mission.approve(await next_card(mission, card))

    assert asked(await mission.end()) == ["ana@example.com", "ada@example.com"]


async def test_a_rule_is_carried_into_a_new_run(
    stage: Stage, world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what it has approved so far."""
    monkeypatch.setattr(
        workflow.Info,
        "is_continue_as_new_suggested",
        lambda _: workflow.instance()._rollback._news > 0,
    )
    mission = await stage.start_leg(
        "ticket", buy(40.5), buy(55.25), WHEN, buy(44.75), buy(1.5), goal=GOAL
    )
    card = await mission.card("ticket")
    await mission.decide(rule(card))
    question = await mission.question("ticket")
    empty = RollbackReport(mission_id=mission.mission_id)
    await mission.handle.signal(names.ROLLBACK_SETTLED_SIGNAL, empty)

    async def is_renewed() -> bool | None:
        newest = (await mission.handle.describe()).run_id
        return newest != mission.handle.first_execution_run_id or None

    await mission.eventually(is_renewed)
    await mission.answer(question, {"day": "Friday"})
    last = await next_card(mission, card)
    await mission.approve(last)
    result = await mission.end()
    by_rule = card.confirmation_id

    assert last.arguments["price"] == {"amount": 1.5, "currency": "EUR"}
    assert asked(result) == ["ana@example.com", by_rule, by_rule, "ada@example.com"]
    assert result.again[0].used == Decimal(100)


async def test_what_comes_from_nowhere_is_asked_about(stage: Stage, world: FakeWorld) -> None:
    """A rule never covers a value that stands in neither goal, inputs nor answers."""
    mission = await stage.start_leg("ticket", buy(10.25), buy(9.75), goal=GOAL)
    card = await mission.card("ticket")
    await mission.decide(rule(card))
    unfounded = await next_card(mission, card)
    await mission.approve(unfounded)

    assert unfounded.is_unfounded
    assert asked(await mission.end()) == ["ana@example.com", "ada@example.com"]
