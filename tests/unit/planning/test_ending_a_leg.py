"""The end of a leg: refused once while an order lacks its effect, or while nothing proves it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.messages.leg import LegResult, LegStatus
from orchestrator.planning.effects import doubt_about_finish, foreign_ids, nothing_read
from orchestrator.planning.models import (
    ANSWER,
    FINISH,
    HAND_OVER,
    AgentProfile,
    Fact,
    Finish,
    Observation,
    StepContext,
)
from orchestrator.saga.orders import Order, WhenRead

DONE = Finish(summary="It is done.")
BOOK = Order(tools=("book",), clause="book a table")
WET = WhenRead(when="if it is dry", holds=False, read="rain 80 %")


def asked(*seen: Observation, **more: Any) -> StepContext:
    """A leg at its end."""
    return StepContext(
        mission_id="m",
        leg_id="1-leg",
        step=9,
        mission_goal="What is open of CUSTOMER-77?",
        leg_goal="What is open of CUSTOMER-77?",
        agent=AgentProfile(name="any"),
        observations=seen,
        now=datetime(2026, 11, 23, tzinfo=UTC),
        catalog_digest="d" * 64,
        **more,
    )


def seen(outcome: Any, tool: str = "get_weather", **more: Any) -> Observation:
    return Observation(step=1, tool=tool, outcome=outcome, **more)


@pytest.mark.parametrize(
    ("context", "why"),
    [
        (asked(), "nothing was looked up"),
        (asked(seen("discovered", "tools.discover")), "nothing was looked up"),
        (asked(seen("unusable", ANSWER)), "nothing was looked up"),
        (asked(seen("rejected")), "nothing was answered by get_weather"),
        (asked(seen("unknown"), seen("invalid", "other")), "by get_weather, other"),
    ],
)
def test_an_ending_without_an_answer_is_refused_once(context: StepContext, why: str) -> None:
    """Then the leg ends, and nothing proves it."""
    assert why in (doubt_about_finish(DONE, context) or "")
    again = {"observations": (*context.observations, seen("refused", FINISH))}
    told = context.model_copy(update=again)
    assert doubt_about_finish(DONE, told) is None
    assert why in nothing_read(told)


@pytest.mark.parametrize(
    "context",
    [
        asked(seen("rejected"), seen("succeeded")),
        asked(facts=(Fact(source="0-a.1", tool="get_weather"),)),
    ],
)
def test_what_was_read_may_be_told(context: StepContext) -> None:
    """By the leg, or by one before it."""
    assert nothing_read(context) == ""
    assert doubt_about_finish(DONE, context) is None


@pytest.mark.parametrize(
    ("orders", "observations", "conditions", "said"),
    [
        ([BOOK], [], [], "book a table"),
        ([BOOK], [seen("rejected", "book")], [], "book a table"),
        ([BOOK], [seen("succeeded", "book")], [], None),
        ([BOOK.model_copy(update={"count": 2})], [seen("succeeded", "book")], [], "book a table"),
        ([BOOK.model_copy(update={"when": "if it is dry"})], [seen("succeeded")], [WET], None),
        ([BOOK.model_copy(update={"when": "if it is dry"})], [seen("succeeded")], [], "if it is"),
        ([BOOK.model_copy(update={"when": "if it is dry"})], [], [WET], "nothing was read"),
        ([BOOK.model_copy(update={"each": "each"})], [seen("succeeded")], [], "each"),
    ],
)
def test_an_order_needs_its_effect_or_its_condition_read(
    orders: list[Order],
    observations: list[Observation],
    conditions: list[WhenRead],
    said: str | None,
) -> None:
    """A condition is read from an answer, and its value is told."""
    context = asked(*observations, orders=tuple(orders))
    doubt = doubt_about_finish(Finish(summary="x", conditions=tuple(conditions)), context)

    assert (doubt is None) is (said is None)
    assert said is None or said in (doubt or "")


def test_what_another_agent_did_serves_the_leg_that_handed_it_over() -> None:
    """Of the facts of other legs no effect counts."""
    fact = Fact(source="h1-1-leg.2", tool="book", side_effect=True)
    handed = seen("handed_over", HAND_OVER, arguments={"leg": "h1-1-leg"})

    assert doubt_about_finish(DONE, asked(handed, facts=(fact,), orders=(BOOK,))) is None
    assert doubt_about_finish(DONE, asked(facts=(fact,), orders=(BOOK,))) is not None


@pytest.mark.parametrize(
    ("summary", "made_up"),
    [
        ("INV-20031 of 1,299.00 EUR is open, and res_8f31aa; seat 12A at 20:00.", ()),
        ("CUSTOMER-77 has two bills, in sum 129900EUR, due on 2026-12-03.", ()),
        ("It is booked, reference ABC123.", ("ABC123",)),
        ("INV-99999 is paid.", ("INV-99999",)),
    ],
)
def test_an_id_that_no_answer_holds_is_marked(summary: str, made_up: tuple[str, ...]) -> None:
    """What its planner itself claimed before proves nothing; a result shows it next to it."""
    body = {"bills": [{"id": "INV-20031", "total": 129900}, {"id": "res_8f31aa"}]}
    claimed = seen("refused", FINISH, arguments={"summary": "INV-99999"})
    found = foreign_ids(summary, asked(seen("succeeded", body=body), claimed))
    leg = LegResult(
        leg_id="1",
        agent="a",
        goal="g",
        status=LegStatus.SUCCEEDED,
        summary="x",
        unverified_ids=found,
    )

    assert found == made_up
    assert all(one in leg.sentence for one in made_up)
