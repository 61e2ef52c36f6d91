"""The card of what cost more than was approved: what happened, what it was for, what follows."""

from decimal import Decimal

import pytest

from orchestrator.catalog.tool import Compensation, Effect, Tool, ToolCallTemplate
from orchestrator.confirmation.build import CardContext
from orchestrator.confirmation.models import ConfirmationCard, as_markdown
from orchestrator.confirmation.named_things import EarlierAnswer
from orchestrator.confirmation.overcharge import overcharge_card
from orchestrator.core.budget import Money, Overcharge, SpendingLimit
from orchestrator.core.call_ref import CallRef

CALL = CallRef(
    call_id="m.1-trip.2", mission_id="m", leg_id="1-trip", tool="room_book", catalog_digest="c0ffee"
)
TOOL = Tool(
    name="room_book",
    document="rooms",
    domain="rooms",
    summary="Book a room.",
    input_schema={"type": "object"},
    effect=Effect.OBLIGATION,
    card_type="structured-reservation",
)

UNDO = Compensation(cancel=ToolCallTemplate(tool="room_cancel", arguments={}))


def card(
    charged: str = "97.50 EUR", *, undo: Compensation | None = UNDO, left: Money | None = None
) -> ConfirmationCard:
    """A room that was approved at 78 EUR, and charged otherwise."""
    amount, currency = charged.split()
    limit = SpendingLimit(approved=euros("78"), at_most=euros("78"))
    money = Money(amount=Decimal(amount), currency=currency)
    more = limit.exceeded_by(money)
    assert more is not None
    found = EarlierAnswer(body={"rooms": [{"room_id": "r1", "view": "harbour"}]}, title="Search")
    return overcharge_card(
        CALL,
        TOOL.model_copy(update={"compensation": undo}),
        Overcharge(approved=limit.approved, charged=money, more=more),
        arguments={"room_id": "r1"},
        answer={"booking_id": "b1"},
        confirmation_id="m.1-trip.2-overcharge",
        context=CardContext(
            goal="A trip to Porto", clause="a room", agent="travel", answers=(found,), left=left
        ),
    )


def euros(amount: str) -> Money:
    return Money(amount=Decimal(amount), currency="EUR")


def follows(shown: ConfirmationCard) -> dict[str, str]:
    return {choice.name: " ".join(choice.follows) for choice in shown.choices()}


def test_it_says_what_the_call_was_for_and_about() -> None:
    """A person who has not read the card before reads this one alone."""
    shown = card()
    text = as_markdown(shown)

    assert [line.value for line in shown.purpose()] == ["A trip to Porto", "a room", "travel"]
    assert "harbour" in text


def test_approving_sends_nothing() -> None:
    """The call was sent before: what is approved is that it stands."""
    told = follows(card())

    assert "nothing more is sent" in told["Approve"]
    assert "exactly this is sent" not in as_markdown(card())
    assert "Change" not in told


def test_each_other_choice_cancels_it_first() -> None:
    """Also where the planner looks again."""
    told = follows(card())

    assert told["Send back"].startswith("it is cancelled; then the planner looks again")
    assert "skip: it is cancelled; then this part of the goal is left out" in told["Reject"]


def test_what_nothing_cancels_is_left_to_an_operator_whatever_is_chosen() -> None:
    """No choice promises that the leg goes on."""
    told = follows(card(undo=None))

    assert "nothing cancels it" in told["Send back"]
    assert told["Reject"].startswith("replan/skip/rollback: nothing cancels it")


@pytest.mark.parametrize(("charged", "more"), [("97.50 EUR", "19.50 EUR"), ("78 USD", "nobody")])
def test_a_charge_in_another_currency_is_more_by_nobody_knows_how_much(
    charged: str, more: str
) -> None:
    """All of it counts as more; that is no difference of the two."""
    lines = {line.label: line.value for part in card(charged).sections() for line in part.lines}

    assert lines["More than approved"].startswith(more)


@pytest.mark.parametrize(
    ("charged", "left", "told"),
    [
        ("97.50 EUR", "100", "100.00 EUR"),
        ("97.50 EUR", "80", "80.00 EUR: kept, it exceeds the budget"),
        ("9 USD", "80", "80.00 EUR: whether that is enough nobody knows"),
    ],
)
def test_it_says_whether_the_budget_has_as_much(charged: str, left: str, told: str) -> None:
    """Keeping it is a decision about the budget, too."""
    shown = card(charged, left=euros(left))
    lines = {line.label: line.value for part in shown.sections() for line in part.lines}

    assert lines["The budget has for it"] == told
