"""Missions planned from end to end over the shipped documents, answered by a made-up provider."""

from typing import Any

import pytest

from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import NothingFits
from orchestrator.core.record import JsonObject
from orchestrator.planning.models import AskUser, CallTool, Finish

TRIP = (
    "Book a flight from Berlin to Lisbon on 2026-12-03, returning 2026-12-06, "
    "reserve a hotel in Lisbon for those nights and file the expense"
)
DINNER = (
    "Reserve a table for four at an Italian restaurant in Lisbon on 2026-12-04 at 20:00 "
    "and message my team about it"
)


def team_channels(tool: Tool, arguments: JsonObject) -> JsonObject | None:
    """Two channels, one of which is the team's."""
    if tool.name != "message_find_channels":
        return None
    names = {"c-1": "sales", "c-2": "team"}
    return {"channels": [{"channel_id": k, "channel_name": v} for k, v in names.items()]}


def choices(question: AskUser, name: str) -> list[Any]:
    """The values to choose from that a question lists."""
    options: Any = question.fields[name]["oneOf"]
    return [option["const"] for option in options]


async def test_trip_books_what_it_found_and_files_what_it_cost(mission: Any) -> None:
    """Two legs run side by side; the third carries their real prices and ids."""
    run = await mission.run(TRIP)

    flight, hotel, expense = run.plan.legs
    assert (flight.depends_on, hotel.depends_on) == ((), ())
    assert expense.depends_on == (flight.leg_id, hotel.leg_id)
    assert hotel.goal == "reserve a hotel in Lisbon for those nights"
    search, book = run.calls(flight.leg_id)
    assert search.arguments == {
        "origin": "Berlin",
        "destination": "Lisbon",
        "departure_date": "2026-12-03",
        "return_date": "2026-12-06",
    }
    assert book.arguments["traveler_id"] == "pii:traveler_id"
    assert run.calls(hotel.leg_id)[0].arguments == {
        "city": "Lisbon",
        "check_in": "2026-12-03",
        "check_out": "2026-12-06",
    }
    (filed,) = run.calls(expense.leg_id)
    bought = [run.facts[leg.leg_id][0] for leg in (flight, hotel)]
    lines = filed.arguments["items"]
    assert isinstance(lines, list)
    assert [(line["amount"], line["currency"], line["reference"]) for line in lines] == [
        (float(b.price.amount), b.price.currency, next(iter(b.body.values()))) for b in bought
    ]
    assert all(isinstance(run.last(leg.leg_id), Finish) for leg in run.plan.legs)


async def test_cheapest_offer_is_the_one_that_is_booked(mission: Any) -> None:
    """The id that is booked belongs to the offer with the lowest price."""
    prices = {"off-a": 90, "off-b": 40, "off-c": 60}

    def offers(tool: Tool, arguments: JsonObject) -> JsonObject | None:
        if tool.name != "flight_search_offers":
            return None
        return {
            "offers": [
                {"offer_id": k, "price": {"amount": v, "currency": "EUR"}}
                for k, v in prices.items()
            ]
        }

    mission.provider.script = offers

    run = await mission.run("Book a flight from Berlin to Lisbon on 2026-12-03")

    assert run.calls(run.plan.legs[0].leg_id)[-1].arguments["offer_id"] == "off-b"


async def test_dinner_is_reserved_for_four_and_told_to_the_team(mission: Any) -> None:
    """Words become a party size, a cuisine and a time; the message says what was reserved."""
    mission.provider.script = team_channels

    run = await mission.run(DINNER)

    table, message = run.plan.legs
    assert message.depends_on == (table.leg_id,)
    assert run.calls(table.leg_id)[0].arguments == {
        "city": "Lisbon",
        "date": "2026-12-04",
        "time": "20:00",
        "party_size": 4,
        "cuisine": "italian",
    }
    find, send = run.calls(message.leg_id)
    assert find.arguments == {"query": "team"}
    text = str(send.arguments["text"])
    assert text.startswith("Restaurant table reserved: ")
    assert "2026-12-04, 20:00, party size 4" in text


async def test_question_is_answered_in_one_sentence(mission: Any) -> None:
    """A goal that only reads ends with the answer."""
    run = await mission.run("what is the weather in Oslo tomorrow")

    (leg,) = run.plan.legs
    (call,) = run.calls(leg.leg_id)
    assert call.arguments == {"city": "Oslo", "date": "2026-11-22"}
    ended = run.last(leg.leg_id)
    assert isinstance(ended, Finish)
    assert ended.summary.startswith("Weather forecast in Oslo on 22 November: ")
    assert "clear" in ended.summary


async def test_rented_car_goes_into_the_calendar(mission: Any) -> None:
    """The event has the car's dates and place and is titled by what was done."""
    run = await mission.run(
        "Rent a compact car in Lisbon from 2026-12-03 to 2026-12-06 and add it to my calendar"
    )

    car, event = run.plan.legs
    assert run.calls(car.leg_id)[0].arguments["car_class"] == "compact"
    (added,) = run.calls(event.leg_id)
    assert added.arguments["start_date"] == "2026-12-03"
    assert added.arguments["end_date"] == "2026-12-06"
    assert str(added.arguments["title"]).startswith("Car rented")


async def test_latest_of_the_found_files_is_shared(mission: Any) -> None:
    """The second leg takes its file from what the first one found, by date."""
    files = [
        {"file_id": f"f{n}", "file_name": f"Budget {n}", "modified_at": f"2026-11-{day}T09:00:00Z"}
        for n, day in enumerate(("02", "20", "11"))
    ]
    mission.provider.script = lambda tool, arguments: (
        {"files": files} if tool.name == "file_find_files" else None
    )

    run = await mission.run(
        "Find the files about the budget and share the latest with anna@example.com"
    )

    find, share = run.plan.legs
    assert run.calls(find.leg_id)[0].arguments == {"query": "budget"}
    ended = run.last(find.leg_id)
    assert isinstance(ended, Finish)
    assert ended.summary == "3 files about 'budget': Budget 0, Budget 1, Budget 2."
    assert ended.table is not None
    assert ended.table.rows == (("Budget 0",), ("Budget 1",), ("Budget 2",))
    (shared,) = run.calls(share.leg_id)
    assert shared.arguments == {"file_id": "f1", "recipient_email": "anna@example.com"}


async def test_one_verb_with_two_objects_is_two_legs(mission: Any) -> None:
    """Nothing that was asked is dropped, and the second leg takes its dates from the first."""
    run = await mission.run(
        "Book a flight from Berlin to Lisbon on 2026-12-03 and a hotel there for 3 nights"
    )

    flight, hotel = run.plan.legs
    assert run.names(flight.leg_id)[:2] == ["flight_search_offers", "flight_book_offer"]
    assert run.calls(hotel.leg_id)[0].arguments == {
        "city": "Lisbon",
        "check_in": "2026-12-03",
        "check_out": "2026-12-06",
    }


async def test_what_nothing_can_supply_is_asked_for_once(mission: Any) -> None:
    """The question names the field and its schema; the answer is used."""
    mission.answers = {"origin": "Berlin"}

    run = await mission.run("Book a flight to Lisbon on 2026-12-03, under 900 EUR")

    (leg,) = run.plan.legs
    question = run.decisions[leg.leg_id][0]
    assert isinstance(question, AskUser)
    assert set(question.fields) == {"origin"}
    assert question.fields["origin"]["type"] == "string"
    search = run.calls(leg.leg_id)[0]
    assert search.arguments["origin"] == "Berlin"
    assert search.arguments["max_price"] == 900
    assert isinstance(run.last(leg.leg_id), Finish)


async def test_answer_that_does_not_fit_is_not_asked_for_again(mission: Any) -> None:
    """A question is put once; an unusable answer ends the leg with its reason."""
    mission.answers = {"origin": ""}

    run = await mission.run("Book a flight to Lisbon on 2026-12-03")

    leg_id = run.plan.legs[0].leg_id
    assert run.names(leg_id) == ["ask_user", "give_up"]
    assert "origin" in str(run.last(leg_id))


async def test_given_inputs_need_no_question(mission: Any) -> None:
    """Values given by name come first, read as the type that the schema wants."""
    mission.inputs = {"origin": "Berlin", "passengers": "2"}

    run = await mission.run("Book a flight to Lisbon on 2026-12-03")

    assert run.calls(run.plan.legs[0].leg_id)[0].arguments == {
        "origin": "Berlin",
        "destination": "Lisbon",
        "departure_date": "2026-12-03",
        "passengers": 2,
    }


async def test_cancelling_asks_which_of_several_is_meant(mission: Any) -> None:
    """A cancel asks for no confirmation, so it is never made on a guess."""
    mission.answers = {}

    run = await mission.run("Cancel my flight to Lisbon")

    leg_id = run.plan.legs[0].leg_id
    question = run.last(leg_id)
    assert isinstance(question, AskUser)
    assert len(choices(question, "booking_id")) == 3
    assert "flight_cancel_booking" not in run.names(leg_id)


async def test_goal_beyond_every_tool_is_refused_before_anything_is_done(mission: Any) -> None:
    """Nothing of it is within reach; where a part is, the other one is in doubt."""
    with pytest.raises(NothingFits) as refused:
        await mission.run("Paint my house blue")
    run = await mission.run(
        "Book a flight from Berlin to Lisbon on 2026-12-03. Paint my house blue"
    )

    assert refused.value.text == "Paint my house blue"
    assert [leg.leg_id for leg in run.plan.legs] == ["1-flights"]
    assert [(d.kind, d.about) for d in run.plan.doubts] == [
        ("not_understood", "Paint my house blue")
    ]


async def test_same_situation_gives_the_same_decisions(mission: Any) -> None:
    """The planner keeps nothing between steps or missions."""
    first = await mission.run(TRIP)
    second = await mission.run(TRIP)

    assert first.decisions == second.decisions


async def test_only_calls_change_anything(mission: Any) -> None:
    """Every personal field is a handle, in every call of every leg."""
    for goal in (TRIP, DINNER):
        run = await mission.run(goal)
        calls = [d for leg in run.decisions.values() for d in leg if isinstance(d, CallTool)]
        for call in calls:
            for name in mission.catalog.tool(call.tool).pii_fields:
                assert call.arguments.get(name) in (None, f"pii:{name}")


async def test_thing_of_another_kind_is_not_ordered_unasked(mission: Any) -> None:
    """When nothing that was found is called what was asked for, a person says which one to take."""
    meals = [{"meal_id": "m1", "meal_name": "Tacos"}, {"meal_id": "m2", "meal_name": "Ramen"}]
    mission.provider.script = lambda tool, arguments: (
        {"meals": meals} if tool.name == "dining_search_meals" else None
    )

    asked = await mission.run("Order sushi in Lisbon")
    found = await mission.run("Order ramen in Lisbon")

    question = asked.last(asked.plan.legs[0].leg_id)
    assert isinstance(question, AskUser)
    assert choices(question, "meal_id") == ["m1", "m2"]
    assert found.calls(found.plan.legs[0].leg_id)[-1].arguments["meal_id"] == "m2"


async def test_vague_trip_asks_for_what_is_missing(mission: Any) -> None:
    """Dates and limit are understood; where it starts is asked for before anything is booked."""
    goal = "Book a trip to Lisbon from the 3rd to the 6th of December, under 900 EUR"
    asked = await mission.run(goal)
    mission.answers = {"origin": "Berlin"}
    told = await mission.run(goal)

    leg_id = asked.plan.legs[0].leg_id
    assert asked.names(leg_id) == ["ask_user"]
    assert told.calls(leg_id)[0].arguments == {
        "origin": "Berlin",
        "destination": "Lisbon",
        "departure_date": "2026-12-03",
        "return_date": "2026-12-06",
        "max_price": 900,
        "currency": "EUR",
    }


@pytest.mark.parametrize(
    ("other", "first"),
    [
        ("cancel my flight to Oslo", "flight_list_bookings"),
        ("cancel the flight to Lisbon", "flight_cancel_booking"),
        ("then cancel it", "flight_cancel_booking"),
    ],
)
async def test_what_a_mission_made_is_cancelled_only_when_it_is_meant(
    mission: Any, other: str, first: str
) -> None:
    """Who names another one means that, and it is looked up."""
    run = await mission.run(f"Book a flight from Berlin to Lisbon on 2026-12-03 and {other}")

    assert run.calls(run.plan.legs[1].leg_id)[0].tool == first


async def test_a_search_that_finds_only_what_the_mission_made_ends_in_no_cancel(
    mission: Any,
) -> None:
    """What was asked for is somewhere else, or nowhere."""
    found: list[Any] = []

    def only_ours(tool: Tool, arguments: JsonObject) -> JsonObject | None:
        if tool.name == "flight_book_offer":
            found.append({"booking_id": "bkg_1", "destination": "Lisbon"})
            return {"booking_id": "bkg_1"}
        return {"bookings": found} if tool.name == "flight_list_bookings" else None

    mission.provider.script = only_ours
    run = await mission.run(
        "Book a flight from Berlin to Lisbon on 2026-12-03 and cancel my flight to Oslo"
    )

    called = [call.tool for call in run.calls(run.plan.legs[1].leg_id)]
    assert "flight_cancel_booking" not in called


async def test_the_list_answers_where_no_one_thing_is_meant(mission: Any) -> None:
    """What was charged is not told by the first of two invoices."""

    def invoices(tool: Tool, arguments: JsonObject) -> JsonObject | None:
        if tool.name != "payment_list_invoices":
            return None
        names = ("Blue Cleaning", "Blue Cleaning", "Acme")
        return {
            "invoices": [
                {
                    "invoice_id": f"inv_{number}",
                    "vendor_name": name,
                    "total": {"amount": 10.0 * number, "currency": "EUR"},
                    "due_date": "2026-12-01",
                }
                for number, name in enumerate(names, 1)
            ]
        }

    mission.provider.script = invoices
    run = await mission.run("what did Blue Cleaning charge us")

    (leg,) = run.plan.legs
    assert [call.tool for call in run.calls(leg.leg_id)] == ["payment_list_invoices"]
    end = run.last(leg.leg_id)
    assert isinstance(end, Finish)
    assert end.summary.startswith("3 invoices, 2 of them 'Blue Cleaning': ")


async def test_between_two_days_is_no_way_back(mission: Any) -> None:
    """The second day is told as not looked up, where nothing has to end."""
    run = await mission.run("Find a flight from Berlin to Rome between 12 and 15 December")

    (leg,) = run.plan.legs
    (call,) = run.calls(leg.leg_id)
    assert call.arguments["departure_date"] == "2026-12-12"
    assert "return_date" not in call.arguments
    assert "Not looked up: 15 December." in run.last(leg.leg_id).summary


@pytest.mark.parametrize(
    ("goal", "tool"),
    [
        ("Make a list of my hotel bookings", "hotel_list_bookings"),
        ("reminders for next week", "calendar_list_reminders"),
        ("reminders about milk", "calendar_list_reminders"),
    ],
)
async def test_what_is_to_be_listed_is_looked_up_at_once(
    mission: Any, goal: str, tool: str
) -> None:
    """Neither the noun of a deed nor a week that need not be sent is asked about."""
    run = await mission.run(goal)

    (leg,) = run.plan.legs
    assert [call.tool for call in run.calls(leg.leg_id)] == [tool]
    assert isinstance(run.last(leg.leg_id), Finish)
