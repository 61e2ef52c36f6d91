"""What of a goal is taken up by its plan, and what a person is asked about first."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.record import JsonObject
from orchestrator.language.clause_reading import read_clause
from orchestrator.messages.plan_answers import asks_first
from orchestrator.planning.accounting.account import with_account
from orchestrator.planning.accounting.grounds import takes
from orchestrator.planning.accounting.paths import Path
from orchestrator.planning.accounting.things_said import Said, things_said
from orchestrator.planning.accounting.uses import Taken
from orchestrator.planning.models import AgentProfile, GoalBrief, LegPlan, MissionPlan
from orchestrator.planning.orders import with_orders
from orchestrator.planning.rules.chaining import ChainingPlanner
from orchestrator.routing.router import Router
from orchestrator.runtime.demo import DINNER, RETURNING, TRIP
from orchestrator.saga.served import Order

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)

PLAIN = (
    "todo: remind me on 6 December to call the plumber",
    "TODO - book a table for four in Madrid on 2026-12-09 at 20:30",
    "Reminder for 7 December 10:00: call the bank",
    "Schedule a message to #general for 4 December at 9:00: Happy Friday everyone",
    "Tell everyone in #general that the office is closed on Friday",
    "Book a flight from Berlin to Lisbon on 2026-12-06 if it's under 400 euros, otherwise tell me",
    "Book a hotel room in Rome, arriving on 1 December and leaving on 3 December",
    "Get me an electric car in Amsterdam on 2 December, bringing it back on 4 December",
    "Make a dinner reservation in Paris for 2026-12-04 19:00, party of 6, Italian",
    "Remind me in the morning of 5 December to take my pills",
    "Remind me tomorrow morning to take my pills",
    "pay office plants",
    "Write to bo@example.com: please pay the Acme invoice",
    "Cancel the hotel and keep the flight",
    "See if there are flights from Paris to Rome on 12 December. If there are, book the cheapest",
    "Pay all open invoices. Don't pay the one from Papier & Co.",
    "Book a hotel in Rome from 4 to 6 December. It must have a pool.",
    "Write in the team channel that the bus leaves at six",
    "drop a line to bo@example.com that I am late",
    "Set a reminder for 2026-12-04, 6 in the evening, to water the plants",
    "Create a meeting called Retro on 2026-12-03 from 14:00 to 15:30",
    TRIP,
    DINNER,
    "Reserve a table for four in Lisbon on 2026-12-04 at 20:00 and message my team about it",
    "Rent a car in Lisbon from 2026-12-03 to 2026-12-06 and add it to my calendar",
    "Find the latest sales report file and share it with lee@example.com",
    "Could you please book me the cheapest flight from Oslo to Rome next Friday?",
    "I'd like to reserve a quiet table for two near the river in Porto tomorrow at 7pm",
    "Book a hotel room in Madrid for 3 nights from 2026-12-10 under 400 EUR",
    "Book a hotel in Ghent for three nights starting 3 December",
    "Pay invoice INV-20031",
    "Cancel my car rental in Lisbon",
    "Delete the file contract-draft-old.docx",
    "Don't let me forget to buy milk tomorrow at 17:00",
    "Post in the travel channel that I am not coming tomorrow because the flight was cancelled",
    "Email anna@example.com that the meeting is moved to Friday at 10, not Thursday",
    "Put lunch with Maria at Cafe Central on 2026-12-02 at 13:00 in my calendar",
    "Order two vegetarian pizzas to Hauptstrasse 5 in Berlin",
    "Remind me tomorrow at 9am to buy milk, eggs and bread",
    "Book a room in Rome, two nights, leaving 7 December",
    "Cancel the 2nd reminder",
    'Add "Demo" on 2026-12-03 from 15:00, ending at 16:00',
    "Remind me on Friday to move the meeting from Monday to Tuesday and to call Al",
    "Remind me tomorrow to buy milk and on the way to fetch the kids",
    "Book a flight from Bonn to Oslo on 2026-12-03 and a hotel there from the day after for a week",
    "Remind me tomorrow at 9am to water the plants",
    "Get us a table for 5 in Rome on Saturday at eight pm, ideally something Japanese",
    "Refund the payment to Nordic Hosting, it was a duplicate",
    "Rent a car in Porto from 12 to 14 December and let Bob know",
    "Rent a car in Porto from 12 to 14 December and tell bob@acme.io what it costs",
    "Book the cheapest flight from Bonn to Oslo on 2026-12-03 and tell #trips the flight number",
    "Book a hotel in Ghent for three nights starting 3 December and inform bob@acme.io of its name",
    "Pay invoice INV-20031 and tell bob@acme.io the amount",
    "File an expense of 30 EUR for a taxi to the airport",
    "Book the earliest flight from Bonn to Paris on 2026-12-09 and a hotel there until 2026-12-11",
    "Share budget-2027.xlsx with mia@example.com and tell the team channel about it",
    "Rent an electric SUV with automatic transmission in Nice from 2026-12-01 to 2026-12-03",
    'Send a message to the project channel saying "we are live, do not touch anything"',
    "Upload a note called todo.txt with the text buy stamps",
    "Book a one-way flight from Vienna to Zurich on December 14 for 2 passengers, economy class",
    "Book a flight from Berlin to Rome on 2026-12-03 but do not book a hotel",
    "Book a flight from Berlin to Oslo tomorrow, no, to Rome",
    "Book a hotel in Rome 12-14 December for 2 guests",
    "Rent a car in Porto December 12 - 14",
    "Can I book a table in Rome for 2 tomorrow at 20:00?",
    "rent a van in Kyoto from 2026-12-13 to 2026-12-15, no more than 60000 yen",
    "Could you cancel the Madrid flight?",
    "Book a flight from Berlin to Rome tomorrow, but not with Ryanair",
    "Cancel all my hotels except the one in Rome",
    "Rent a car in Rome from 3 to 5 December, not an electric one",
    "Book a hotel in Rome from 3 to 5 December without breakfast",
    "Pay all open invoices over 100 EUR",
    "Tell Bo: the table is booked. Then cancel the Oslo car",
    'Email bo@example.com: "the car is here" and cancel the Oslo car',
    "Remind me tomorrow at 9am to buy milk, then cancel the Oslo car",
    "Put a review on 2026-12-02 at 15:00 in my calendar and invite ana@example.com",
    "Remind me on 2026-12-02 at 9:00 to stretch",
    "Remind me tomorrow at 8 to call Bo, and remind me on Friday at 9 to pay the rent",
    "Add a meeting titled Budget to my calendar tomorrow at 10",
    "Remind me on 2026-12-02 at 9:00 of the taxi",
    "Please do two things: pay INV-20031 and cancel my car in Oslo",
    "Submit an expense of 12 EUR for lunch yesterday",
    "Expense 40 EUR for a taxi yesterday and 12 EUR for lunch today",
    "Book a flight from Rome to Oslo on 4 December, not before 10 am",
    "Book the cheapest flight from Rome to Oslo on 4 December, no earlier than 10:00",
    "Book a flight from Rome to Oslo on 4 December, departing at 14:00 at the latest",
    "Book a table in Rome tomorrow at 20:00 for me and my wife",
)
"""Plainly understood: nothing of them is worth a question before anything is done."""

DOUBTFUL = (
    (
        "Book a room in Oslo from 4 to 6 December for me and one for her mother",
        "and one for her mother",
    ),
    ("Pay Papier & Co in two instalments", "in two instalments"),
    ("Yesterday I spent 12 EUR on a taxi, file it as an expense", "Yesterday"),
    ("Cancel my hotel, the flight can stay.", "the flight can stay"),
    ("Pay the Papier & Co invoice, the other one is wrong", "the other one is wrong"),
    ("Book a hotel in Rome from 4 to 6 December. The tea must be hot.", "The tea must be hot"),
    ("Delete all files older than a year in Archive", "older than a year"),
    ("Book a flight from Rome to Oslo on 4 December better than the last", "better than the last"),
    ("Create a podcast called Winter trip tomorrow at 10", "a podcast called"),
    ("Cancel somebody else's hotel in Rome", "somebody else's"),
    ("Pay the invoice that belongs to someone else", "to someone else"),
    ("Cancel another person's car in Oslo", "another person's"),
    ("Message Anna that I am late, then cancel her flight to Madrid", "her"),
    ("Cancel all my reminders but the one about milk", "but the one about milk"),
    ("Put a review in my calendar on 2026-12-02 at 15:00 and invite Ana", "Ana"),
    (
        "Schedule a call with Bo on 8 December at 3pm, and one with Ana right after it",
        "right after it",
    ),
    (
        'Add an event "debrief" tomorrow right after the team meeting',
        "right after the team",
    ),
    ("tell #general that I'll book the hotel and cancel the car", "cancel the car"),
    ("Tell #team: don't forget to cancel your hotels, and pay your invoices", "pay your invoices"),
    ("Tell Bo to buy milk and cancel the Oslo car", "cancel the Oslo car"),
    ("Remind me tomorrow at 9am to cancel the car and pay the bill", "pay the bill"),
    ("Upload todo.txt saying: buy milk, cancel the car in Oslo", "cancel the car in Oslo"),
    ("Upload todo.txt with the text buy milk and pay the Acme invoice", "pay the Acme invoice"),
    ("Email bo@example.com: please come. Cancel the Oslo car", "Cancel the Oslo car"),
    ("Maybe cancel the Madrid flight", "Maybe cancel the Madrid flight"),
    ("Cancel the Madrid flight?", "Cancel the Madrid flight?"),
    (
        "I'll book a hotel in Rome from 3 to 5 December",
        "I'll book a hotel in Rome from 3 to 5 December",
    ),
    (
        "Book a hotel in Rome from 3 to 5 December and maybe cancel the Madrid flight",
        "maybe cancel the Madrid flight",
    ),
    ("Book a hotel in Rome from 14 to 12 December for 2", "14 to 12 December"),
    ("Book a flight from Berlin to Rome on 2026-12-03 and back", "and back"),
    ("Email ana@example.com when the car is here", "when the car is here"),
    ("Remind me of the flight on 2026-12-03 three hours before it", "three hours before it"),
    (
        "Remind me on 4 December to pack and the day before that to buy a suitcase",
        "and the day before that to buy a suitcase",
    ),
    ("Remind me at 9am to call Bo, at 3pm to call Al", "at 3pm to call Al"),
    ("Remind me from Tuesday to Thursday to stretch", "to Thursday"),
    ("Order a pizza in Berlin in two hours", "in two hours"),
    ("Order a pizza and two salads in Berlin", "and two salads"),
    ("Order two salads and a pizza in Berlin", "two salads"),
    ("Remind me before Friday to call the bank", "before Friday"),
    ('Add "Demo" on 2026-12-03 ending at 16:00', "at 16:00"),
    ("Set three reminders for tomorrow: milk, eggs, bread", "milk, eggs, bread"),
    ('Send the team and the travel channel "Hi, all"', "and the travel channel"),
    ("Pay the Papier & Co invoice on its due date", "on its due date"),
    (
        "Make a meeting with ana@example.com at the first free slot tomorrow",
        "at the first free slot",
    ),
    ('Find a free hour on Wednesday and put "Focus" there', "there"),
    ("Set two reminders: milk tomorrow at 9am and bread tomorrow at 10am", "at 10am"),
    ("Rent a car in Rome from 3 to 5 December, not near the airport", "not near the airport"),
    ("Book a hotel in Lisbon from 5 to 8 December below 100 EUR a night", "100 EUR"),
    ("Book a table for two in Oslo tomorrow at 19:00 every week", "every week"),
    ("Book a room in Oslo from 2026-12-01 to 2026-12-03 except on Sunday", "except on Sunday"),
    ("Pay invoice INV-20031 with my card, but don't pay the fee", "don't pay the fee"),
    ("Put a dentist appointment in my calendar on 2026-12-02 at 9:00, repeating weekly", "weekly"),
    ("Order a pizza to the office in Berlin without onions", "without onions"),
    ("Pay invoice INV-20031 in three instalments", "in three instalments"),
    ("Rent 2 cars in Porto from 12 to 14 December, one automatic and one manual", "one automatic"),
    ("should I pay INV-20031?", "should I pay INV-20031?"),
    ("Can I cancel my car?", "Can I cancel my car?"),
    ("can you pay invoices?", "pay invoices"),
    ("Cancel one of my two cars", "of my two cars"),
    ("Send flowers to my mother", "flowers"),
    ("Book a table in Oslo on 2026-12-04 or 2026-12-05 for two at 19:00", "2026-12-05"),
    (
        "My budget is 300 EUR. Book a flight from Berlin to Rome on 2026-12-03",
        "My budget is 300 EUR",
    ),
    ("buy me a train ticket from Vienna to Graz for tomorrow", "a train ticket"),
    ("hire me a cleaner for saturday", "a cleaner"),
    (
        "never mind the flight, rent a car in Malaga from 2026-11-27 to 2026-11-29",
        "never mind the flight",
    ),
    ("I don't want breakfast. Book a hotel in Rome for tomorrow", "don't want breakfast"),
    ("Cancel all my bookings except the hotel in Rome", "except the hotel"),
)
"""Each with the part that nothing takes up, and that would change what is done."""

READING = (
    "What's the weather like in Oslo tomorrow, but not in Bergen?",
    "Show me flights from Berlin to Oslo tomorrow without a stop, every week",
    "Find me a unicorn in the files",
)
"""Nothing is ordered: what is not read is left out, and nobody is asked."""


@pytest.fixture(scope="module")
def planned(shipped: Catalog, router: Router) -> Callable[[str], MissionPlan]:
    """Plans goals by rules over the shipped documents, and accounts for them."""
    planner = ChainingPlanner(lambda _: router)

    def plan(goal: str) -> MissionPlan:
        brief = GoalBrief(mission_id="m", goal=goal, now=NOW, catalog_digest=shipped.digest)
        made = asyncio.run(planner.split_goal(brief, shipped, ()))
        ordered = with_orders(made, goal, shipped, router, now=NOW)
        return with_account(ordered, goal, shipped, router, now=NOW)

    return plan


@pytest.mark.parametrize("goal", PLAIN, ids=lambda goal: "-".join(goal.split()[:5]))
def test_what_is_plainly_understood_is_not_asked_about(
    goal: str, planned: Callable[[str], MissionPlan]
) -> None:
    """Whatever its words; the plan says of each as what it is used."""
    plan = planned(goal)

    assert [doubt.about for doubt in plan.doubts] == []
    assert [m.text for m in plan.mentions if not m.used_as] == []


@pytest.mark.parametrize(("goal", "about"), DOUBTFUL, ids=lambda text: "-".join(text.split()[:5]))
def test_what_nothing_takes_up_is_asked_about(
    goal: str, about: str, planned: Callable[[str], MissionPlan]
) -> None:
    """In the words of the goal, with what would be done instead."""
    plan = planned(goal)

    assert about in {doubt.about for doubt in plan.doubts}
    assert all("would be" in doubt.why for doubt in plan.doubts)


@pytest.mark.parametrize(
    ("goal", "about"),
    [
        ("Cancel everything I booked for Oslo", "everything booked"),
        ("Cancel all my bookings", "all bookings"),
        ("Cancel my booking in Oslo", "booking"),
        ("Call off everything for the Lisbon trip", "everything"),
    ],
)
def test_an_order_of_no_kind_of_thing_is_asked_about(
    goal: str, about: str, planned: Callable[[str], MissionPlan]
) -> None:
    """Flights, rooms, cars: who says none of them does not mean the first that is looked at."""
    (doubt,) = [doubt for doubt in planned(goal).doubts if doubt.about == about]

    assert "flights" in doubt.why or "cars" in doubt.why


@pytest.mark.parametrize(
    "goal",
    [
        "Cancel all my hotel bookings",
        "Delete all drafts",
        "Pay all open invoices",
        "Cancel my flights to Rome",
        "Cancel the booking htb_4711",
    ],
)
def test_an_order_of_one_kind_of_thing_is_not(
    goal: str, planned: Callable[[str], MissionPlan]
) -> None:
    """Its words, or the thing's own id, tell of what it is."""
    assert not [doubt for doubt in planned(goal).doubts if "does not say of what" in doubt.why]


@pytest.mark.parametrize(
    ("goal", "is_asked"),
    [
        ("Table for two in Rome tomorrow at 8pm", True),
        ("hotel in Rome from 10 to 12 December, two people", True),
        ("Lunch with Sam tomorrow at 12:30", True),
        ("get me a parking permit for tomorrow", True),
        ("Get me a business class seat from Oslo to Rome on 5 December", True),
        ("I need a forecast for Oslo tomorrow", False),
        ("get me some information on flights from Oslo to Rome tomorrow", False),
        ("weather in Oslo tomorrow", False),
        ("flights from Berlin to Rome on 9 December", False),
        ("my next meeting", False),
        ("Anything on 8 December?", True),
        ("2x table for 4 in Hamburg on 2026-12-01 19:00", True),
        ("Move the pitch deck to Archive and the holiday plan to Reports", True),
        ("Book a direct flight from Berlin to Rome on 2026-12-07, business class", True),
        ("Return the VW Golf", True),
        ("return my rental car", True),
        ("Return the list of my invoices", False),
        ("free between 2 and 4 pm tomorrow", False),
        ("what tables are free in Rome tomorrow at 8pm?", False),
    ],
)
def test_what_names_a_thing_to_be_made_and_no_deed_is_asked_about(
    goal: str, is_asked: bool, planned: Callable[[str], MissionPlan]
) -> None:
    """It may be meant to be looked up only; it is not done, and not told as done either."""
    plan = planned(goal)

    assert [doubt.kind for doubt in plan.doubts] == (["deed"] if is_asked else [])
    assert asks_first(plan) is is_asked


def test_what_names_no_deed_is_asked_about_beside_an_order(
    planned: Callable[[str], MissionPlan],
) -> None:
    """Unless the order is what does it: "table in Rome at 8 pm, book the cheapest"."""
    table = "Table for two in Rome tomorrow at 8pm"

    (doubt,) = planned(f"{table} and then tell #team that lunch is off").doubts

    assert (doubt.kind, doubt.about) == ("deed", table)
    assert planned(f"{table}, book the cheapest").doubts == ()


def test_a_tool_that_does_another_deed_is_asked_about(shipped: Catalog) -> None:
    """To book a taxi is not to file the expense of one, whoever takes it for that."""
    goal = "book a taxi"
    order = Order(clause=goal, tools=("expense_file_report",))
    path = Path((shipped.tool("expense_file_report"),))
    said = things_said(goal, now=NOW)
    assert Taken.of(read_clause(goal), path, order, said).use(said[0]) == ""


def test_one_input_takes_one_text(shipped: Catalog) -> None:
    """Three things are not made by making one: what no input is left for is left over."""
    goal = 'Upload a "Red", then a "Green" in it, then a "Blue" and a "Grey" in that'
    taken, said = uploading(shipped, goal)
    texts = [one for one in said if one.is_text]
    free = [p for _, p in taken.path.grounds.inputs if any(takes(one, p) for one in texts)]

    assert [bool(taken.use(one)) for one in texts] == [n < len(free) for n in range(4)]
    assert 0 < len(free) < len(texts)


def test_the_name_of_another_thing_is_no_part_of_a_name(shipped: Catalog) -> None:
    """What stands behind a first name is written as it is said, up to the next thing."""
    taken, said = uploading(shipped, "Upload a note named Ops, a chart named Launch in it")

    used = {one.text: taken.use(one) for one in said}
    assert used["Ops"]
    assert not used["Launch"]


def uploading(shipped: Catalog, goal: str) -> tuple[Taken, tuple[Said, ...]]:
    tool = shipped.tool("file_upload_file")
    said = things_said(goal, now=NOW)
    order = Order(clause=goal, tools=(tool.name,))
    return Taken.of(read_clause(goal), Path((tool,)), order, said), said


@pytest.mark.parametrize("goal", READING)
def test_who_only_reads_is_asked_nothing(goal: str, planned: Callable[[str], MissionPlan]) -> None:
    """Not reading a part of it harms nobody."""
    assert planned(goal).doubts == ()


def test_a_plan_says_what_takes_each_thing_up(planned: Callable[[str], MissionPlan]) -> None:
    """A value by the input that it goes to: where to, where from, when back."""
    used = {(m.text, m.leg_id): m.used_as for m in planned(TRIP).mentions}

    assert used["Berlin", "1-flights"] == "origin of flight_search_offers"
    assert used["Lisbon", "1-flights"] == "destination of flight_search_offers"
    assert used[RETURNING, "1-flights"] == "return_date of flight_search_offers"
    assert used["reserve", "2-hotels"] == "the tool hotel_book_room"


def test_a_clause_that_no_leg_takes_up_is_asked_about(shipped: Catalog, router: Router) -> None:
    """Whatever planner made the legs."""
    goal = "Book a table for two in Rome tomorrow at 20:00 and message my team about it"
    agent = AgentProfile(name="agent")
    leg = LegPlan(leg_id="1", goal="Reserve a table for two in Rome tomorrow, 20:00", agent=agent)
    ordered = with_orders(MissionPlan(legs=(leg,)), goal, shipped, router, now=NOW)

    plan = with_account(ordered, goal, shipped, router, now=NOW)
    assert [doubt.about for doubt in plan.doubts] == ["message my team about it"]


def test_a_plan_without_a_router_is_accounted_for(shipped: Catalog) -> None:
    """Any tool may then be meant."""
    goal = "Book a table for two in Rome tomorrow at 20:00"
    leg = LegPlan(leg_id="1", goal=goal, agent=AgentProfile(name="agent"))
    ordered = with_orders(MissionPlan(legs=(leg,)), goal, shipped, None, now=NOW)

    assert with_account(ordered, goal, shipped, None, now=NOW).mentions


@pytest.mark.parametrize(
    ("given", "left"),
    [({}, ["of figs"]), ({"reference": "figs"}, ["of figs"]), ({"crop": "figs"}, [])],
)
def test_what_is_given_with_the_goal_is_taken_up(given: JsonObject, left: list[str]) -> None:
    """By an input of a tool that the goal comes to, and by no other."""
    body: JsonObject = {
        "type": "object",
        "required": ["crop"],
        "properties": {"crop": {"type": "string"}},
    }
    operation: JsonObject = {
        "operationId": "sowBed",
        "tags": ["beds"],
        "summary": "Sow a bed",
        "x-orchet-tool": True,
        "x-orchet-requires-confirmation": True,
        "x-orchet-irreversible": True,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {"201": {"description": "Sown."}},
    }
    document: JsonObject = {
        "openapi": "3.1.0",
        "info": {"title": "Allotment", "version": "1"},
        "servers": [{"url": "http://127.0.0.1/allotment"}],
        "paths": {"/beds": {"post": operation}},
    }
    catalog = Catalog.from_documents({"allotment": document})
    own, goal = Router(catalog), "Sow a bed of figs"
    leg = LegPlan(leg_id="1", goal=goal, agent=AgentProfile(name="agent"))
    ordered = with_orders(MissionPlan(legs=(leg,)), goal, catalog, own, now=NOW)

    plan = with_account(ordered, goal, catalog, own, now=NOW, given=given)

    assert [doubt.about for doubt in plan.doubts] == left


@pytest.mark.parametrize(
    ("goal", "is_asked"),
    [
        ("Book it", True),
        ("cancel it", True),
        ("Tell the team channel that the demo is off and cancel it", True),
        ("Find flights from Oslo to Rome on 2026-12-08 and book it", False),
        ("Pay it", False),
    ],
)
def test_an_order_of_nothing_is_asked_about_where_tools_do_it_to_several_kinds(
    goal: str, is_asked: bool, planned: Callable[[str], MissionPlan]
) -> None:
    """What it would be is not guessed; of one kind, its leg asks for what is missing."""
    plan = planned(goal)

    assert ["may be of" in doubt.why for doubt in plan.doubts] == ([True] if is_asked else [])


@pytest.mark.parametrize(
    ("goal", "about"),
    [
        (
            "Put a dinner on my calendar on 2026-12-04 at 19:00 and book a table then for 2",
            "then",
        ),
        (
            "Remind me on Friday at 9 am to call mum and on Saturday at 10 am to call dad",
            "and on Saturday at 10 am to call dad",
        ),
        ("Book a table in Oslo on 2026-12-04 at 19:00 for 2, then tell the team", ""),
    ],
)
def test_a_moment_that_nothing_takes_is_asked_about(
    goal: str, about: str, planned: Callable[[str], MissionPlan]
) -> None:
    """An hour that is pointed at, and a second moment within what is to be said."""
    assert [doubt.about for doubt in planned(goal).doubts] == ([about] if about else [])
