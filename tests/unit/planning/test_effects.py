"""An effect is checked against the orders of its leg, and so is the end of the leg."""

from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.core.record import JsonObject
from orchestrator.messages.leg import LegResult, LegStatus
from orchestrator.planning.effects import (
    doubt_about_finish,
    essence_of,
    essential_arguments,
    foreign_ids,
    is_covered,
    longest_list,
    nothing_read,
    why_unordered,
)
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
from orchestrator.saga.orders import Effect, Order, WhenRead, left_to_do
from tests.fakes import fake_tool

PAY = fake_tool(
    "pay_invoice",
    cancel_tool="refund",
    input_schema={
        "type": "object",
        "required": ["invoice_id", "payee"],
        "properties": {
            "invoice_id": {"type": "string"},
            "payee": {"type": "string"},
            "day": {"type": "string", "format": "date"},
            "note": {"type": "string"},
            "speed": {"type": "string", "default": "normal"},
            "amount": {"type": "number"},
        },
    },
)
ONE = Order(tools=("pay_invoice",), clause="pay it")
PAID: JsonObject = {"invoice_id": "i1", "payee": "Ana Ruiz", "amount": 90, "note": "as agreed"}


STANDS = Effect(call_id="m.l.1", leg_id="l", tool="pay_invoice")


def why(*orders: Order, effects: tuple[Effect, ...] = (), most_each: int = 9) -> str:
    return why_unordered(PAY, orders, effects, most_each=most_each)


@pytest.mark.parametrize(
    ("orders", "effects", "said"),
    [
        ([ONE], [], ""),
        ([], [], "orders no consequence"),
        ([Order(tools=("other",), clause="something else")], [], "it orders something else"),
        ([ONE], [STANDS], "more than the plan orders: 1, and 1 stand"),
        ([ONE, ONE], [STANDS], ""),
        # A call that was refused, or cancelled since, is no effect.
        ([ONE], [STANDS.model_copy(update={"why_not": "it is void"})], ""),
    ],
)
def test_why_no_order_covers_an_effect(
    orders: list[Order], effects: list[Effect], said: str
) -> None:
    """It is none of them, or they have their effects."""
    found = why(*orders, effects=tuple(effects))

    assert said in found
    assert bool(said) is bool(found)


@pytest.mark.parametrize(
    ("changes", "repeats"),
    [
        ({}, True),
        ({"note": "Many thanks for all of it"}, True),
        ({"speed": "normal"}, True),
        ({"invoice_id": "i2"}, False),
        ({"payee": "Ben Li"}, False),
        ({"amount": 91}, False),
        ({"day": "2026-12-05"}, False),
    ],
)
def test_free_texts_and_defaults_tell_no_two_effects_apart(
    changes: dict[str, Any], repeats: bool
) -> None:
    """Ids, names and values do, and so does the tool."""
    refund = PAY.model_copy(update={"name": "refund"})

    assert (essence_of(PAY, {**PAID, **changes}) == essence_of(PAY, PAID)) is repeats
    assert essence_of(refund, PAID) != essence_of(PAY, PAID)


@pytest.mark.parametrize(("why_not", "said"), [("", "stands"), ("it is intended", "was sent")])
def test_an_effect_that_is_repeated_is_named(why_not: str, said: str) -> None:
    """Though its own leg orders one, and has none of its own."""
    other = STANDS.model_copy(update={"why_not": why_not})
    found = why_unordered(PAY, [ONE], [], most_each=9, repeats=other)

    assert "repeats" in found
    assert said in found


def test_each_has_as_many_effects_as_things_were_read() -> None:
    """The list is what bounds them."""
    each = Order(tools=("pay_invoice",), each="every open one")

    assert why(each, effects=(STANDS,), most_each=2) == ""
    assert "each of the 1" in why(each, effects=(STANDS,), most_each=1)


def test_a_standing_approval_covers_what_is_left_of_covered_orders() -> None:
    """Another effect of theirs takes that room."""
    assert is_covered("pay_invoice", [ONE], [], most_each=1)
    assert not is_covered("pay_invoice", [ONE], [STANDS], most_each=1)
    assert not is_covered("pay_invoice", [], [], most_each=1)


def test_what_is_left_to_do_is_handed_over_with_its_count() -> None:
    """An order for each thing of a list stays whole."""
    three = ONE.model_copy(update={"count": 3})
    each = Order(tools=("other",), each="all")

    assert left_to_do([three, each], [STANDS]) == (ONE.model_copy(update={"count": 2}), each)
    assert left_to_do([ONE], [STANDS]) == ()


@pytest.mark.parametrize(
    ("body", "length"),
    [(None, 0), ({"a": 1}, 0), ([1, 2], 2), ({"items": [{"tags": [1, 2, 3]}], "errors": []}, 3)],
)
def test_the_longest_list_counts(body: Any, length: int) -> None:
    """Wherever in an answer it is."""
    assert longest_list([body]) == length


def test_ids_and_names_are_essential_and_remarks_are_not() -> None:
    """A required name stays, however many words it has up to a sentence."""
    assert essential_arguments(PAY, {**PAID, "speed": "normal"}) == {
        "invoice_id": "i1",
        "payee": "Ana Ruiz",
        "amount": 90,
    }


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
