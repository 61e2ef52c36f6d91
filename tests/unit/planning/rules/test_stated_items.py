"""Items of a list, out of a clause that gives their amounts."""

from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.planning.models import AskUser
from orchestrator.planning.rules.stated_items import paid_for
from orchestrator.planning.rules.utterance import read_utterance

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("goal", "description", "amount", "currency"),
    [
        ("file an expense of $42.50 for lunch with a client", "Lunch with a client", 42.5, "USD"),
        ("file an expense of $12 for lunch yesterday", "Lunch yesterday", 12, "USD"),
        ("submit an expense report for 42 EUR lunch", "Lunch", 42, "EUR"),
        ("expense 35 euros for parking in Bonn", "Parking in Bonn", 35, "EUR"),
    ],
)
async def test_an_expense_is_filed_as_it_was_said(
    mission: Any, goal: str, description: str, amount: float, currency: str
) -> None:
    """Amount, currency and what it was for make the one item."""
    run = await mission.run(goal)

    (filed,) = run.calls(run.plan.legs[0].leg_id)
    (item,) = filed.arguments["items"]
    assert (item["description"], item["amount"], item["currency"]) == (
        description,
        amount,
        currency,
    )


@pytest.mark.parametrize(
    "goal",
    [
        "File an expense of 40 EUR for taxi and 20 EUR for lunch",
        "File an expense report for a taxi, 40 EUR, and lunch, 20 EUR",
        "File an expense report for a taxi 40 EUR and lunch 20 EUR",
    ],
)
async def test_each_amount_that_says_what_it_is_for_is_an_item(mission: Any, goal: str) -> None:
    """Two receipts are one report with two items."""
    run = await mission.run(goal)

    (filed,) = run.calls(run.plan.legs[0].leg_id)
    items = [(item["description"], item["amount"]) for item in filed.arguments["items"]]
    assert items == [("Taxi", 40), ("Lunch", 20)]


@pytest.mark.parametrize(
    "goal",
    [
        "File an expense of 40 EUR and 20 EUR for taxi and lunch",
        "File an expense report for a dinner for two, 40 EUR, and lunch, 20 EUR",
        "File an expense report for taxi, lunch, 40 EUR, 20 EUR",
    ],
)
async def test_amounts_that_do_not_say_what_they_are_for_are_asked_about(
    mission: Any, goal: str
) -> None:
    """Which belongs to what nobody can tell."""
    run = await mission.run(goal)

    assert isinstance(run.last(run.plan.legs[0].leg_id), AskUser)


@pytest.mark.parametrize("goal", ["expense 40 EUR", "file an expense report for my taxi ride"])
async def test_what_was_not_said_is_asked(mission: Any, goal: str) -> None:
    """Neither an amount nor what it was for is made up."""
    run = await mission.run(goal)

    assert isinstance(run.last(run.plan.legs[0].leg_id), AskUser)


def test_what_an_amount_is_for_is_left_when_verb_and_noun_are_gone(shipped: Any) -> None:
    """Values other than the amount stay: they say which one it was."""
    said = read_utterance("please file an expense for a taxi to Bonn, 31 EUR", now=NOW)

    assert paid_for(said, shipped.tools["expense_file_report"]) == "taxi to Bonn"
