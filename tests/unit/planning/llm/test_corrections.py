"""A model's decision is sent back once: a give-up over optional inputs, and a repeated effect."""

from typing import Any, Final

from pydantic import JsonValue
from pydantic_ai.messages import ModelResponsePart, ToolCallPart

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.models import CallTool, Finish, GiveUp, Observation, StepContext
from orchestrator.planning.planner import PlannedStep
from orchestrator.saga.orders import Order
from orchestrator.testing import fake_selection
from tests.unit.planning.llm.test_model_planner import CONTEXT, Script, _planner

ROOM: Final = {"room_offer_id": "rof_1", "traveler_name": "pii:traveler_name"}
GIVES_UP: Final = ToolCallPart("part_lost", {"reason": "It does not work."})
INVOICES: Final[JsonValue] = {"invoices": [{"invoice_id": f"inv_{n}"} for n in "123"]}


async def _step(
    catalog: Catalog, *answers: ModelResponsePart, tool: str, **changes: Any
) -> tuple[PlannedStep, list[str]]:
    """Return the decision of a scripted model, and the last text of each request."""
    script = Script(*answers)
    context: StepContext = CONTEXT.model_copy(update={"step": 9, **changes})
    selection = fake_selection(tool, catalog_size=93)
    planned = await _planner(script.model).plan_step(context, selection, catalog)
    return planned, [str(messages[-1]) for messages, _ in script.requests]


def _booked(**arguments: JsonValue) -> tuple[Observation, ...]:
    """Return an invalid call of a booking."""
    given = {**ROOM, "traveler_email": "pii:traveler_email", **arguments}
    why = "arrival_time must match the pattern"
    booking: Any = {"step": 1, "tool": "hotel_book_room", "arguments": given}
    return (Observation(**booking, outcome="invalid", error=why),)


async def test_an_invalid_call_says_which_inputs_it_can_do_without(shipped: Catalog) -> None:
    """The fault is an optional input only: its name stands in the request."""
    seen = _booked(arrival_time="late")
    _, asked = await _step(
        shipped,
        ToolCallPart("tools_discover", {"query": "x"}),
        tool="hotel_book_room",
        observations=seen,
    )

    assert "does not need arrival_time: call it again without" in asked[0]


async def test_a_required_input_is_to_be_corrected(shipped: Catalog) -> None:
    """A call without it would be invalid too."""
    seen = _booked(arrival_time="late", room_offer_id="")
    planned, asked = await _step(shipped, GIVES_UP, tool="hotel_book_room", observations=seen)

    assert "does not need" not in asked[0]
    assert planned.decision == GiveUp(reason="It does not work.")


async def test_giving_up_over_an_optional_input_is_refused_once(shipped: Catalog) -> None:
    """The second answer stands, whichever it is."""
    again = ToolCallPart(
        "hotel_book_room", {**ROOM, "traveler_email": "pii:traveler_email", "reason": "ordered"}
    )
    given = {"inputs": {"offer": "rof_1"}, "observations": _booked(arrival_time="late")}
    planned, asked = await _step(shipped, GIVES_UP, again, tool="hotel_book_room", **given)
    insists, _ = await _step(shipped, GIVES_UP, GIVES_UP, tool="hotel_book_room", **given)

    assert isinstance(planned.decision, CallTool)
    assert "does not need arrival_time" in asked[1]
    assert planned.usage is not None
    assert planned.usage.requests == 2
    assert isinstance(insists.decision, GiveUp)


def _paid(*numbers: str) -> tuple[Observation, ...]:
    """Return the observations of a leg that has listed its invoices, and paid some."""
    listed = Observation(step=1, tool="payment_list_invoices", outcome="succeeded", body=INVOICES)
    paid = (
        Observation(
            step=step,
            tool="payment_pay_invoice",
            arguments=_payment(number),
            outcome="succeeded",
            side_effect=True,
            body={"payment_id": f"pay_{step}"},
        )
        for step, number in enumerate(numbers, 2)
    )
    return (listed, *paid)


def _payment(number: str) -> dict[str, JsonValue]:
    return {"invoice_id": f"inv_{number}", "payment_method_id": "pii:payment_method_id"}


def _pays(number: str) -> ToolCallPart:
    return ToolCallPart("payment_pay_invoice", _payment(number))


EACH: Final = (Order(tools=("payment_pay_invoice",), each="my overdue invoices"),)


async def _pay(
    catalog: Catalog, *answers: ModelResponsePart, paid: str, orders: tuple[Order, ...] = EACH
) -> tuple[PlannedStep, list[str]]:
    """Return what follows when the invoices of these numbers are paid."""
    seen = _paid(*paid)
    tool = "payment_pay_invoice"
    return await _step(catalog, *answers, tool=tool, observations=seen, orders=orders)


async def test_an_effect_that_stands_is_not_made_again_for_each_of_a_list(shipped: Catalog) -> None:
    """The model reads what it has done, and what of the list it has not."""
    planned, asked = await _pay(shipped, _pays("1"), _pays("2"), paid="1")

    assert isinstance(planned.decision, CallTool)
    assert planned.decision.arguments["invoice_id"] == "inv_2"
    assert "its effect stands" in asked[1]
    assert '["inv_2","inv_3"]' in asked[1]


async def test_a_list_that_is_done_ends_the_part(shipped: Catalog) -> None:
    """Nothing of it is left."""
    _, asked = await _pay(shipped, _pays("3"), GIVES_UP, paid="123")

    assert "its effect stands. End your part" in asked[1]


async def test_a_model_that_turns_in_circles_ends_its_leg(shipped: Catalog) -> None:
    """A person has read on two cards that the effect stands; what was ordered is not lost."""
    once = (Order(tools=("payment_pay_invoice",)),)
    insists, _ = await _pay(shipped, _pays("1"), _pays("1"), paid="11")
    ended, _ = await _pay(shipped, _pays("1"), paid="111")
    served, _ = await _pay(shipped, _pays("1"), paid="111", orders=once)

    assert isinstance(insists.decision, CallTool)
    assert isinstance(ended.decision, GiveUp)
    assert "circles" in ended.decision.reason
    assert isinstance(served.decision, Finish)


async def test_the_same_effect_may_be_ordered_twice(shipped: Catalog) -> None:
    """The order has room for another, so that nothing is corrected."""
    twice = (Order(tools=("payment_pay_invoice",), count=2),)
    _, asked = await _pay(shipped, _pays("1"), paid="1", orders=twice)

    assert len(asked) == 1


async def test_what_was_cancelled_may_be_done_again(shipped: Catalog) -> None:
    """Its effect does not stand."""
    books: dict[str, JsonValue] = {**ROOM, "traveler_email": "pii:traveler_email"}
    done: Any = {"outcome": "succeeded", "side_effect": True}
    seen = (
        Observation(step=1, tool="hotel_book_room", arguments=books, **done),
        Observation(step=2, tool="hotel_cancel_booking", arguments={"booking_id": "b"}, **done),
    )
    again = ToolCallPart("hotel_book_room", books)
    given = {"inputs": {"offer": "rof_1"}, "observations": seen}
    _, asked = await _step(shipped, again, tool="hotel_book_room", **given)

    assert len(asked) == 1
