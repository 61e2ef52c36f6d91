"""Plain goals by rules: what is called, with which values, what is asked and what is refused."""

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import LanguageUnread, NothingFits
from orchestrator.planning.models import AskUser, Finish, GiveUp
from tests.unit.planning.conftest import Mission

ORDERS = [
    (
        "Book a table for 4 in Lisbon on 6 December at 20:00",
        "dining_search_tables",
        {"city": "Lisbon", "date": "2026-12-06", "time": "20:00", "party_size": 4},
        "dining_reserve_table",
    ),
    (
        "Book a flight from Berlin to Oslo on 2026-12-03, returning 2026-12-06",
        "flight_search_offers",
        {
            "origin": "Berlin",
            "destination": "Oslo",
            "departure_date": "2026-12-03",
            "return_date": "2026-12-06",
        },
        "flight_book_offer",
    ),
    (
        "Rent a compact car in Nice from 7 December to 9 December for at most 90 EUR",
        "car_search_offers",
        {
            "city": "Nice",
            "start_date": "2026-12-07",
            "end_date": "2026-12-09",
            "car_class": "compact",
            "max_price": 90,
            "currency": "EUR",
        },
        "car_book_offer",
    ),
]


@pytest.mark.parametrize(("goal", "search", "arguments", "tool"), ORDERS)
async def test_an_order_gets_its_search_by_schema(
    mission: Mission, goal: str, search: str, arguments: dict[str, object], tool: str
) -> None:
    """A booking is made of what its search finds, which takes every value that was said."""
    run = await mission.run(goal)

    (leg,) = run.plan.legs
    calls = run.calls(leg.leg_id)
    assert [call.tool for call in calls] == [search, tool]
    assert calls[0].arguments == arguments
    assert [order.tools for order in leg.orders] == [(tool,)]
    assert not run.plan.doubts


@pytest.mark.parametrize(
    ("goal", "tool", "arguments"),
    [
        (
            "Remind me tomorrow at 9am to call the landlord",
            "calendar_create_reminder",
            {"reminder_text": "call the landlord", "date": "2026-11-22", "time": "09:00"},
        ),
        (
            'Upload a file called "todo.txt" with the text "buy stamps"',
            "file_upload_file",
            {"file_name": "todo.txt", "content_text": "buy stamps"},
        ),
        (
            "Email kim@example.com that the parcel has arrived",
            "message_send_email",
            {"recipient_email": "kim@example.com", "text": "the parcel has arrived"},
        ),
    ],
)
async def test_values_go_to_the_inputs_that_mean_them(
    mission: Mission, goal: str, tool: str, arguments: dict[str, object]
) -> None:
    """Quoted texts, names, days, hours and addresses fill their inputs, optional ones too."""
    run = await mission.run(goal)

    (call,) = run.calls(run.plan.legs[0].leg_id)
    assert (call.tool, call.arguments) == (tool, arguments)


_TABLE = "Book a table for 4 in Lisbon on 6 December at 20:00"


@pytest.mark.parametrize(
    "addition",
    [
        "unless it rains",
        "but not with Ryanair",
        "for Ben",
        "in blue",
        "otherwise by train",
        "the week after",
        "and one for my mother",
        "no wait, make it 7",
        "or on 20 December",
        "twice",
    ],
)
async def test_nothing_that_is_added_to_an_order_is_dropped(
    mission: Mission, addition: str
) -> None:
    """Words that nothing uses next to a consequence are one question before the first effect."""
    plan = (await mission.run(f"{_TABLE} {addition}")).plan

    assert plan.doubts
    assert all(doubt.kind in ("not_carried_out", "left_over") for doubt in plan.doubts)


@pytest.mark.parametrize(
    "goal",
    [
        "Can I cancel my flight to Oslo?",
        "Is flight LH2034 on time on 5 December?",
        "What does a hotel in Rome cost from 5 December to 7 December?",
        "I would like to know what a hotel in Rome costs from 5 December to 7 December",
        "Show me flights from Berlin to Oslo on 5 December",
    ],
)
async def test_a_question_never_reaches_a_consequence(
    mission: Mission, shipped: Catalog, goal: str
) -> None:
    """What only asks has no orders and calls nothing that changes anything."""
    run = await mission.run(goal)

    assert not any(leg.orders for leg in run.plan.legs)
    called = [c.tool for leg in run.plan.legs for c in run.calls(leg.leg_id)]
    assert called
    assert not any(shipped.tool(name).is_side_effect for name in called)


@pytest.mark.parametrize("goal", ["Compose a symphony in D minor", "do not pay the invoice"])
async def test_what_nothing_does_is_refused_before_anything_is_done(
    mission: Mission, goal: str
) -> None:
    """A goal without a tool that does it is said so."""
    with pytest.raises(NothingFits):
        await mission.run(goal)


async def test_another_language_is_refused(mission: Mission) -> None:
    """The rules read English alone."""
    with pytest.raises(LanguageUnread):
        await mission.run("Bitte bezahle die Rechnung von Papier & Co")


async def test_a_said_id_is_never_replaced_by_another(mission: Mission) -> None:
    """Where the list has no such thing, the order ends, and no other thing is taken."""
    run = await mission.run("Pay invoice INV-99999")

    (leg,) = run.plan.legs
    assert "payment_pay_invoice" not in run.names(leg.leg_id)
    assert isinstance(run.last(leg.leg_id), GiveUp)


async def test_one_of_several_is_a_question_with_readable_choices(mission: Mission) -> None:
    """What was said does not tell which reminder is meant, so a person chooses."""
    run = await mission.run("Cancel my reminder")

    asked = run.last(run.plan.legs[0].leg_id)
    assert isinstance(asked, AskUser)
    (schema,) = asked.fields.values()
    options = schema["oneOf"]
    assert isinstance(options, list) and len(options) == 3
    assert all(isinstance(one, dict) and one["title"] for one in options)


async def test_all_of_a_list_is_a_call_for_each(mission: Mission) -> None:
    """An order for each of a list says so, and each thing has its own call."""
    run = await mission.run("Cancel all my reminders")

    (leg,) = run.plan.legs
    assert leg.orders[0].each == "all my reminders"
    assert run.names(leg.leg_id).count("calendar_cancel_reminder") == 3
    assert isinstance(run.last(leg.leg_id), Finish)


async def test_a_missing_value_is_asked_for_by_its_schema(mission: Mission) -> None:
    """What neither the goal nor an answer says is asked for, all of it at once."""
    run = await mission.run("Book a flight to Rome")

    asked = run.last(run.plan.legs[0].leg_id)
    assert isinstance(asked, AskUser)
    assert set(asked.fields) == {"origin", "departure_date"}


async def test_a_day_that_has_just_passed_is_asked_about(mission: Mission) -> None:
    """An order for a day before today is in doubt, and is never one for next year."""
    plan = (await mission.run("Book a flight from Oslo to Rome on 19 November")).plan

    assert [doubt.kind for doubt in plan.doubts] == ["impossible"]


async def test_the_demo_trip_takes_days_and_prices_of_its_earlier_legs(mission: Mission) -> None:
    """Those nights are said before: flight and hotel need not wait; the expense takes both."""
    run = await mission.run(
        "Book a flight from Berlin to Lisbon on 2026-12-03, returning 2026-12-06, "
        "reserve a hotel in Lisbon for those nights and file the expense"
    )

    flight, hotel, expense = run.plan.legs
    assert not run.plan.doubts
    assert hotel.depends_on == ()
    assert set(expense.depends_on) == {flight.leg_id, hotel.leg_id}
    searched = run.calls(hotel.leg_id)[0].arguments
    assert (searched["check_in"], searched["check_out"]) == ("2026-12-03", "2026-12-06")
    items = run.calls(expense.leg_id)[-1].arguments["items"]
    assert isinstance(items, list) and len(items) == 2


async def test_side_by_side_clauses_do_not_wait(mission: Mission) -> None:
    """Two clauses that need nothing of each other are legs without dependencies."""
    run = await mission.run("weather in London and list my reminders")

    assert [leg.depends_on for leg in run.plan.legs] == [(), ()]
    names = [run.names(leg.leg_id)[0] for leg in run.plan.legs]
    assert names[1] == "calendar_list_reminders"


async def test_what_a_read_does_not_apply_is_said(mission: Mission) -> None:
    """An answer names the words of the question that it does not take into account."""
    run = await mission.run("Show me flights from Berlin to Oslo on 5 December unless it snows")

    end = run.last(run.plan.legs[0].leg_id)
    assert isinstance(end, Finish)
    assert "unless it snows" in end.summary
    assert end.table is not None
