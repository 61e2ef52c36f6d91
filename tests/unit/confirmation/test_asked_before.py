"""Why a card is asked again, what is otherwise, and what its lists come to."""

import pytest

from orchestrator.confirmation.asked_before import (
    AskedCall,
    Fate,
    last_asked,
    unsuccessful_in_a_row,
    why_asked,
)
from orchestrator.confirmation.build import CardContext, build_card
from orchestrator.confirmation.card_warnings import totals_of
from orchestrator.confirmation.models import ConfirmationCard, as_markdown
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from tests.unit.confirmation.test_cards import CALL, NOW, tool


def asked(*fates: Fate) -> list[AskedCall]:
    return [AskedCall(confirmation_id=str(n), tool="t", fate=f) for n, f in enumerate(fates)]


def euros(amount: str) -> Money:
    return Money.model_validate({"amount": amount, "currency": "EUR"})


def card(arguments: JsonObject, **context: object) -> ConfirmationCard:
    given = CardContext(**context)  # type: ignore[arg-type]
    return build_card(CALL, tool(), arguments, quoted=[], expires_at=NOW, context=given)


@pytest.mark.parametrize(
    ("fates", "count"),
    [
        ((), 0),
        (("rejected", "refused"), 2),
        (("rejected", "done", "responded"), 1),
        (("rejected", "done"), 0),
    ],
)
def test_what_came_to_nothing_is_counted_up_to_the_last_success(
    fates: tuple[Fate, ...], count: int
) -> None:
    """After a success a card is a new affair, and follows on none before it."""
    assert unsuccessful_in_a_row(asked(*fates)) == count
    assert [one.fate for one in last_asked(asked(*fates))] == [*fates[-1:]] * bool(count)


@pytest.mark.parametrize(
    ("fate", "sentence"),
    [
        ("expired", "Nobody decided in time when it was asked before."),
        ("amended", "bo has changed what was proposed."),
        ("rejected", "bo rejected what was proposed before (Book): dear. The planner proposes"),
        ("responded", "bo sent back what was proposed before (Book): dear. The planner proposes"),
        ("refused", "What was approved before (Book) was refused when it was sent: dear. The plan"),
    ],
)
def test_why_people_are_asked_again_is_said(fate: Fate, sentence: str) -> None:
    words = "" if fate in ("expired", "amended") else "dear."
    before = AskedCall(confirmation_id="c", tool="t", title="Book", fate=fate, by="bo", words=words)

    assert why_asked(before, 2).startswith(sentence)
    assert why_asked(before, 4).endswith("This is card no. 4 for this part of the goal.")


def test_what_is_otherwise_is_told_old_and_new() -> None:
    first = card({"view": "sea", "price": {"amount": 90.5, "currency": "EUR"}, "late": True})
    before = first.as_asked("amended", by="bo")
    second = card(
        {"view": "yard", "price": {"amount": 80.5, "currency": "EUR"}, "cot": True}, asked=(before,)
    )

    assert second.changes[0].line().value == "90.50 EUR → 80.50 EUR"
    told = {c.label: (c.before, c.now) for c in second.changes}
    assert told["View"] == ("sea", "yard")
    assert told["Late"] == ("yes", "")
    assert told["Cot"] == ("", "yes")
    assert "bo has changed what was proposed" in as_markdown(second)
    assert "View: sea → yard" in as_markdown(second)


def test_another_tool_is_not_compared() -> None:
    before = AskedCall(confirmation_id="c", tool="other", title="Book", fate="rejected", by="bo")
    made = card({"view": "sea"}, asked=(before,))

    assert made.changes == ()
    assert "bo rejected" in made.asked_because
    assert "CANNOT BE CANCELLED" in as_markdown(made)


def test_a_list_is_summed_up() -> None:
    """Where quantities make a difference both sums are there; the price need only be one."""
    items: JsonObject = {
        "items": [
            {"name": "Lamp", "quantity": 2, "price": {"amount": 30, "currency": "EUR"}},
            {"name": "Desk", "price": {"amount": 100, "currency": "EUR"}},
        ]
    }
    sums = [str(one.money) for one in totals_of(items, euros("160")).amounts]

    assert sums == ["160.00 EUR", "130.00 EUR"]
    assert totals_of(items, euros("160")).warnings == ()
    assert totals_of(items, euros("150")).warnings == (
        "the price is 150.00 EUR, and items come to 160.00 EUR or 130.00 EUR",
    )


def test_a_list_in_two_currencies_has_two_sums_and_says_what_is_in_none() -> None:
    items: JsonObject = {
        "expenses": [
            {"name": "Taxi", "amount": {"amount": 30, "currency": "EUR"}},
            {"name": "Lunch", "amount": {"amount": 20, "currency": "EUR"}},
            {"name": "Visa", "amount": {"amount": 40, "currency": "USD"}},
            {"name": "Tip"},
        ]
    }
    totals = totals_of(items, None)

    assert [str(one.money) for one in totals.amounts] == ["50.00 EUR", "40.00 USD"]
    assert totals.warnings == ("1 of the 4 expenses state no amount, and are in no total",)


def test_what_may_be_changed_leaves_our_own_references_out() -> None:
    """They hold the call's id: a person has none to give."""
    given = {"type": "object", "properties": {"room_id": {}, "ref": {}, "guest": {}}}
    made = build_card(
        CALL,
        tool(input_schema=given, pii_fields=("guest",)),
        {"room_id": "r1", "ref": "m.1-trip.2", "guest": "pii:guest"},
        quoted=[],
        expires_at=NOW,
    )
    (change,) = [choice for choice in made.choices() if choice.name == "Change"]
    assert change.follows[0].startswith("of room_id, guest (by its handle);")
