"""Plain goals by rules: what is called, with which values, what is asked and what is refused."""

from typing import Any, cast

import pytest
from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.record import JsonObject
from orchestrator.messages.plan_preview import asks_first
from orchestrator.planning.models import (
    AgentProfile,
    AskUser,
    CallTool,
    Finish,
    GiveUp,
    Observation,
    StepContext,
    StepDecision,
)
from orchestrator.planning.rules.items import read_items
from orchestrator.planning.rules.rule_planner import Leg
from orchestrator.planning.rules.split import Reader, Reading
from orchestrator.routing.router import Router
from tests.refusals import raises_code
from tests.unit.planning.conftest import NOW, Mission, Provider, Run

ORDERS = [
    (
        "Book a table for 4 in Lisbon on 6 December at 20:00",
        "dining_search_tables",
        {"city": "Lisbon", "date": "2026-12-06", "time": "20:00", "party_size": 4},
        "dining_reserve_table",
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
            "Email kim@example.com saying that the parcel has arrived",
            "message_send_email",
            {"recipient_email": "kim@example.com", "text": "the parcel has arrived"},
        ),
        (
            'Email kim@example.com with the subject "Plan" saying "See you"',
            "message_send_email",
            {"recipient_email": "kim@example.com", "subject": "Plan", "text": "See you"},
        ),
        (
            "Create an event called Budget review at 14:00 on 4 December for 90 minutes",
            "calendar_create_event",
            {
                "title": "Budget review",
                "start_date": "2026-12-04",
                "time": "14:00",
                "duration_minutes": 90,
            },
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


def _operation(name: str, summary: str, path: str, /, **inputs: JsonObject) -> JsonObject:
    required: list[JsonValue] = [
        name for name, one in inputs.items() if one not in (_OPTIONAL, _COUNT, _COPIES, _BY, _GIFT)
    ]
    schema: JsonObject = {"type": "object", "properties": {**inputs}, "required": required}
    return {
        path: {
            "post": {
                "operationId": name,
                "summary": summary,
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": schema}},
                },
                "responses": {"201": {"description": "done"}},
                "x-orchet-tool": True,
                "x-orchet-irreversible": True,
                "x-orchet-requires-confirmation": "change",
            }
        }
    }


def _things(paths: JsonObject) -> Catalog:
    info: JsonObject = {"title": "T", "version": "1"}
    return Catalog.from_documents({"things": {"openapi": "3.1.0", "info": info, "paths": paths}})


async def _run(paths: JsonObject, goal: str, body: JsonObject | None = None, **more: Any) -> Run:
    """What a mission over these paths does, whose provider answers every call with the body."""
    catalog = _things(paths)
    provider = Provider(script=lambda tool, arguments: {"id": "t-1"} if body is None else body)
    return await Mission(catalog, Router(catalog), provider=provider, **more).run(goal)


_NUMBER: JsonObject = {"type": "number"}
_TEXT: JsonObject = {"type": "string"}
_OPTIONAL: JsonObject = {"type": "string", "maxLength": 200}
_COUNT: JsonObject = {"type": "integer", "minimum": 0}
_TIME: JsonObject = {"type": "string", "format": "time"}
_DAY: JsonObject = {"type": "string", "format": "date"}
_LAST_DAY: JsonObject = {**_DAY, "description": "Last day."}
_MAILS: JsonObject = {"type": "array", "items": {"type": "string", "format": "email"}}
_COPIES: JsonObject = {**_MAILS, "maxItems": 20}
_BY: JsonObject = {**_DAY, "maxLength": 10}
_GIFT: JsonObject = {"type": "boolean"}
_CODE: dict[str, JsonObject] = {"currency": _TEXT}
_PATHS: JsonObject = {
    **_operation("makeDevice", "Create a device", "/devices", nickname=_TEXT),
    **_operation("sendParcel", "Send a parcel", "/parcels", weight_kg=_NUMBER),
    **_operation("setHeat", "Set the temperature", "/heat", celsius=_NUMBER),
    **_operation(
        "makeDeal", "Create a deal", "/deals", title=_TEXT, amount=_NUMBER, currency=_TEXT
    ),
    **_operation(
        "addRecord", "Add a record", "/records", title=_TEXT, artist=_OPTIONAL, reason=_OPTIONAL
    ),
    **_operation("openHatch", "Open the hatch", "/hatch", start=_TIME),
    **_operation("ban", "Ban a user", "/bans", user_id=_TEXT, delete_message_seconds=_COUNT),
    **_operation(
        "update", "Update a task", "/tasks", task_id=_TEXT, name=_OPTIONAL, notes=_OPTIONAL
    ),
    **_operation("refill", "Order a refill", "/refills", patient_id=_TEXT, medicine=_TEXT),
    **_operation("makeAlarm", "Create an alarm", "/alarms", time=_TIME),
    **_operation("makeRoom", "Create a room", "/rooms", name=_TEXT, seats={"default": 4}),
    **_operation("exportBills", "Export the bills", "/exports", min_total=_NUMBER),
    **_operation("post", "Send a letter", "/letters", recipients=_MAILS, text=_TEXT, cc=_COPIES),
    **_operation("leave", "Request leave", "/leave", start=_DAY, end=_LAST_DAY),
    **_operation("buy", "Order a map", "/maps", city=_TEXT, deliver_by=_BY, gift=_GIFT),
    **_operation("rent", "Rent a tent", "/rentals", start=_DAY, end=_DAY, cover=_OPTIONAL),
}


@pytest.mark.parametrize(
    ("goal", "tool", "arguments"),
    [
        ("Create a device called Scanner", "makeDevice", {"nickname": "Scanner"}),
        ("Send a 2.5 kg parcel", "sendParcel", {"weight_kg": 2.5}),
        ("Set the temperature to 21 degrees", "setHeat", {"celsius": 21}),
        (
            "Create a deal called Renewal worth 400 EUR",
            "makeDeal",
            {"title": "Renewal", "amount": 400, "currency": "EUR"},
        ),
        (
            'Add the record "Blue" by Joni Mitchell',
            "addRecord",
            {"title": "Blue", "artist": "Joni Mitchell"},
        ),
        ("Open the hatch at 10:00", "openHatch", {"start": "10:00:00Z"}),
        ("Set an alarm for 6:30", "makeAlarm", {"time": "06:30:00Z"}),
        ("Create a room called Attic", "makeRoom", {"name": "Attic", "seats": 4}),
        ('Rename task t_12 to "Final"', "update", {"task_id": "t_12", "name": "Final"}),
        ("Export the bills over 100", "exportBills", {"min_total": 100}),
        (
            'Send the letter "Hi" to a@b.org, c@d.org and e@f.org',
            "post",
            {"recipients": ["a@b.org", "c@d.org", "e@f.org"], "text": "Hi"},
        ),
        (
            'Send the letter "Hi" to a@b.org, cc c@d.org',
            "post",
            {"recipients": ["a@b.org"], "text": "Hi", "cc": ["c@d.org"]},
        ),
        ("Order a map to Basel as a gift", "buy", {"city": "Basel", "gift": True}),
        (
            "Request leave for 3 days from 2026-12-21",
            "leave",
            {"start": "2026-12-21", "end": "2026-12-23"},
        ),
        (
            "Rent a tent for 3 days from 2026-12-21",
            "rent",
            {"start": "2026-12-21", "end": "2026-12-24"},
        ),
    ],
)
def test_an_order_over_any_document_is_filled_by_schema(
    goal: str, tool: str, arguments: JsonObject
) -> None:
    """Names, units and declared defaults fill inputs; no word is left over."""
    read = _read(goal, tool)

    assert read.chain.draft.arguments == arguments
    assert not read.account.left_over
    assert not read.chain.unsaid


def _read(goal: str, tool: str) -> Reading:
    catalog = _things(_PATHS)
    return Reader(catalog, {}, NOW).read(goal, catalog.tool(tool))


@pytest.mark.parametrize(
    ("goal", "tool", "arguments", "left"),
    [
        ("Ban user u_12 for 7 days", "ban", {"user_id": "u_12"}, ["7 days"]),
        ('Update task t_12 with "Final"', "update", {"task_id": "t_12"}, ["Final"]),
        ("Order a refill of insulin for Rex", "refill", {"medicine": "insulin"}, ["Rex"]),
        ("Open the hatch from 10:00 to 11:00", "openHatch", {"start": "10:00:00Z"}, ["11:00"]),
        ("Order a map to Basel after 2026-12-10", "buy", {"city": "Basel"}, ["2026-12-10"]),
        ("Order a map to where I live", "buy", {}, ["live"]),
        ("Rent a tent with cover", "rent", {}, ["cover"]),
        (
            'Send the letter "Hi" from a@b.org to c@d.org',
            "post",
            {"recipients": ["c@d.org"], "text": "Hi"},
            ["a@b.org"],
        ),
    ],
)
def test_a_value_goes_to_no_input_that_the_goal_does_not_mean(
    goal: str, tool: str, arguments: JsonObject, left: list[str]
) -> None:
    """Durations of something else, one of several texts, owners and ends are left over."""
    read = _read(goal, tool)

    assert read.chain.draft.arguments == arguments
    assert [run.text.strip('"') for run in read.account.left_over] == left


def test_a_verb_that_only_a_look_up_knows_is_left_over(shipped: Catalog) -> None:
    """An order for something that its tool does not do is asked about."""
    read = Reader(shipped, {}, NOW).read("Forward file fil_1", shipped.tool("file_move_file"))

    assert [run.text for run in read.account.left_over] == ["Forward"]


_TABLE = "Book a table for 4 in Lisbon on 6 December at 20:00"


@pytest.mark.parametrize(
    "addition",
    [
        "unless it rains",
        "but not with Ryanair",
        "but Casa Roma",
        "for Ben",
        "in blue",
        "otherwise by train",
        "the week after",
        "and one for my mother",
        "no wait, make it 7",
        "or on 20 December",
        "twice",
        "but cancel my other table",
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


@pytest.mark.parametrize(
    ("goal", "code"),
    [
        ("Compose a symphony in D minor", "NothingFits"),
        ("do not pay the invoice", "NothingFits"),
        ("Mute the event evt_1 in my calendar", "NothingFits"),
        ("list them", "NothingFits"),
        ("Bitte bezahle die Rechnung von Papier & Co", "LanguageUnread"),
    ],
)
async def test_what_nothing_does_is_refused_before_anything_is_done(
    mission: Mission, goal: str, code: str
) -> None:
    """A goal without a tool that does it is said so; the rules read English alone."""
    with raises_code(code):
        await mission.run(goal)


@pytest.mark.parametrize(
    ("goal", "kind"),
    [
        # Nobody guesses whether the hotel, the flight or the car is meant.
        ("Cancel all my bookings", "ambiguous"),
        ("Cancel my booking", "ambiguous"),
        # It may be another order rather than the end of the text.
        ("Remind me tomorrow at 8am to call the bank and at 9am to pay the rent", "ambiguous"),
        (f"Email kim@example.com that I am late and {_TABLE.lower()}", "ambiguous"),
        # A day before today is never one of next year.
        ("Book a flight from Oslo to Rome on 19 November", "impossible"),
    ],
)
async def test_an_order_of_several_readings_is_asked_about(
    mission: Mission, goal: str, kind: str
) -> None:
    """Whose tool, text or day it is, is not said."""
    plan = (await mission.run(goal)).plan

    assert kind in {doubt.kind for doubt in plan.doubts}


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


@pytest.mark.parametrize(
    "added", ["but leave Bob out", "unless it rains", ", except on Mondays", ", no wait, to Bo"]
)
@pytest.mark.parametrize("lead", ["saying", "that"])
async def test_nobody_guesses_where_an_unquoted_text_ends(
    mission: Mission, lead: str, added: str
) -> None:
    """What may be the order's rather than the text's is asked about; a quotation is sent whole."""
    order = f"Email kim@example.com {lead}"

    plan = (await mission.run(f"{order} the parcel has arrived {added}")).plan
    quoted = (await mission.run(f'{order} "the parcel has arrived {added}"')).plan

    assert plan.doubts
    assert not quoted.doubts


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


@pytest.mark.parametrize(
    "goal",
    [
        "hotel in Oslo from 6 to 7 December, book it",
        "weather in Oslo, Bergen and Stavanger tomorrow",
        "block two hours for taxes tomorrow at 13:00",
    ],
)
async def test_a_read_that_nothing_asks_for_is_asked_about(mission: Mission, goal: str) -> None:
    """Neither a verb nor a question says that the rest of the goal may be left out."""
    plan = (await mission.run(goal)).plan

    assert not plan.has_orders
    assert asks_first(plan)


async def test_side_by_side_clauses_do_not_wait(mission: Mission) -> None:
    """Two clauses that need nothing of each other are legs without dependencies."""
    run = await mission.run("weather in London and list my reminders")

    assert [leg.depends_on for leg in run.plan.legs] == [(), ()]
    assert run.names(run.plan.legs[1].leg_id)[0] == "calendar_list_reminders"


async def test_what_a_read_does_not_apply_is_said(mission: Mission) -> None:
    """An answer names the words of the question that it does not take into account."""
    run = await mission.run("Show me flights from Berlin to Oslo on 5 December unless it snows")

    end = run.last(run.plan.legs[0].leg_id)
    assert isinstance(end, Finish) and end.table is not None
    assert "unless it snows" in end.summary


def _cottages(**paging: JsonObject) -> Catalog:
    """Cottages that are found in a list, and booked."""
    find: JsonObject = {
        "operationId": "cottages_find",
        "summary": "Find cottages.",
        "x-orchet-tool": True,
        "parameters": [
            {"name": n, "in": "query", "schema": s, "required": n == "place"}
            for n, s in paging.items()
        ],
        "responses": {"200": {"description": "offers", "content": _ANY}},
    }
    book = _operation("cottages_book", "Book a cottage", "/orders", offer_id=_TEXT)
    return _things({"/offers": {"get": find}, **book})


_OFFER: JsonObject = {
    "type": "object",
    "properties": {"offer_id": _TEXT, "name": _TEXT, "price": _NUMBER},
}
_LIST: JsonObject = {"type": "array", "items": _OFFER}
_OFFERS: JsonObject = {"type": "object", "properties": {"offers": _LIST}}
_ANY: JsonObject = {"application/json": {"schema": _OFFERS}}


_Seen = tuple[str, JsonObject, JsonValue]


def _step(catalog: Catalog, goal: str, *seen: _Seen) -> StepDecision:
    """What the rules do after these calls; a body that is a text is the provider's refusal."""
    observations = [
        Observation(
            step=step,
            tool=tool,
            arguments=arguments,
            outcome="rejected" if isinstance(body, str) else "succeeded",
            body=body,
            error=body if isinstance(body, str) else None,
        )
        for step, (tool, arguments, body) in enumerate(seen, start=1)
    ]
    context = StepContext(
        mission_id="m",
        leg_id="1-x",
        step=len(seen) + 1,
        mission_goal=goal,
        leg_goal=goal,
        agent=AgentProfile(name="agent"),
        observations=tuple(observations),
        now=NOW,
        catalog_digest=catalog.digest,
    )
    reading = Reader(catalog, {}, NOW).read(goal, catalog.tool("cottages_book"))
    return Leg(context, catalog, frozenset(catalog.tools), reading).decide()


def _offers(*offers: tuple[str, str, int], **more: JsonValue) -> JsonObject:
    made: list[JsonValue] = [{"offer_id": o, "name": n, "price": p} for o, n, p in offers]
    return {"offers": made, **more}


@pytest.mark.parametrize(
    "goal", ["Book the cheapest cottage", "Book a cottage in the cheapest place"]
)
def test_words_of_a_choice_are_no_place(goal: str) -> None:
    """A superlative says which of several is meant, and is not searched for."""
    decision = _step(_cottages(place=_TEXT), goal)

    assert isinstance(decision, AskUser)


async def test_what_was_made_before_is_no_source_of_what_it_is_made_of() -> None:
    """A list of reservations has courts too: those that are taken."""
    court: JsonObject = {"court_id": _TEXT, "starts_at": _TEXT}
    find = _listed("find_courts", "Find free courts", courts=court)
    find["parameters"] = [{"name": "day", "in": "query", "required": True, "schema": _DAY}]
    made = _operation("reserve_court", "Reserve a court", "/reservations", court_id=_TEXT)
    mine = _listed("list_reservations", "List reservations", reservations=court)
    order = cast("JsonObject", made["/reservations"])
    paths: JsonObject = {"/courts": {"get": find}, "/reservations": {**order, "get": mine}}
    info: JsonObject = {"title": "T", "version": "1"}
    catalog = Catalog.from_documents({"club": {"openapi": "3.1.0", "info": info, "paths": paths}})
    provider = Provider(script=lambda tool, arguments: {"courts": [{"court_id": "c-1"}]})

    run = await Mission(catalog, Router(catalog), provider=provider).run(
        "Reserve a court on 2026-12-04"
    )

    calls = [(call.tool, call.arguments) for call in run.calls(run.plan.legs[0].leg_id)]
    assert calls == [("find_courts", {"day": "2026-12-04"}), ("reserve_court", {"court_id": "c-1"})]


async def test_a_verb_of_a_consequence_is_no_read_of_its_noun() -> None:
    """To return loans is what `return_book` does, although documents return lists."""
    find = _listed("list_loans", "List loans", loans={"loan_id": _TEXT, "title": _TEXT})
    give = _operation("return_book", "Return a book", "/returns", loan_id=_TEXT)
    loans: list[JsonValue] = [{"loan_id": "l-1", "title": "A"}, {"loan_id": "l-2", "title": "B"}]

    run = await _run({"/loans": {"get": find}, **give}, "Return all loans", {"loans": loans})

    calls = [(call.tool, call.arguments) for call in run.calls(run.plan.legs[0].leg_id)]
    assert calls == [
        ("list_loans", {}),
        ("return_book", {"loan_id": "l-1"}),
        ("return_book", {"loan_id": "l-2"}),
    ]


async def test_a_verb_of_reading_changes_what_a_consequence_makes_by_it() -> None:
    """To print labels is what `print_label` does; to print the parcels still lists them."""
    find = _listed("list_parcels", "List parcels", parcels={"parcel_id": _TEXT})
    label = _operation("print_label", "Print a label for a parcel", "/labels", parcel_id=_TEXT)
    paths: JsonObject = {"/parcels": {"get": find}, **label}
    parcels: list[JsonValue] = [{"parcel_id": "p-1"}, {"parcel_id": "p-2"}]

    made = await _run(paths, "Print a label for every parcel", {"parcels": parcels})
    read = await _run(paths, "Print all parcels", {"parcels": parcels})

    assert [call.tool for call in made.calls(made.plan.legs[0].leg_id)] == [
        "list_parcels",
        "print_label",
        "print_label",
    ]
    assert [call.tool for call in read.calls(read.plan.legs[0].leg_id)] == ["list_parcels"]


def _listed(name: str, summary: str, **lists: JsonObject) -> JsonObject:
    """A read that answers with lists of objects with these properties."""
    held: JsonObject = {
        n: {"type": "array", "items": {"type": "object", "properties": one}}
        for n, one in lists.items()
    }
    schema: JsonObject = {"type": "object", "properties": held}
    answer: JsonObject = {
        "description": "found",
        "content": {"application/json": {"schema": schema}},
    }
    return {
        "operationId": name,
        "summary": summary,
        "x-orchet-tool": True,
        "responses": {"200": answer},
    }


async def test_a_limit_that_nothing_found_states_is_said() -> None:
    """Prices that cannot be read are within no limit."""
    find = _listed("find_courts", "Find courts", courts={"name": _TEXT, "fee": _TEXT})
    info: JsonObject = {"title": "T", "version": "1"}
    document: JsonObject = {"openapi": "3.1.0", "info": info, "paths": {"/courts": {"get": find}}}
    catalog = Catalog.from_documents({"club": document})
    court: JsonObject = {"name": "Court A", "fee": "low"}
    provider = Provider(script=lambda tool, arguments: {"courts": [court]})

    run = await Mission(catalog, Router(catalog), provider=provider).run("Find courts under 13 EUR")

    end = run.last(run.plan.legs[0].leg_id)
    assert isinstance(end, Finish)
    assert "Not applied: 'under 13 EUR'" in end.summary


def test_messages_beside_nothing_else_are_the_answer() -> None:
    """A list that other answers have as an aside is the list of an answer that has only it."""
    one, *_ = read_items({"messages": [{"message_id": "m-1"}], "next": None})
    whole, *_ = read_items({"order_id": "o-1", "messages": [{"code": "late"}]})

    assert one.value("message_id") == "m-1"
    assert whole.value("order_id") == "o-1"


def test_a_refused_offer_is_searched_for_again() -> None:
    """Another price is another offer, and so another card; at most three searches."""
    catalog, gone = _cottages(place=_TEXT), "offer_no_longer_available"
    goal, find, book = "Book a cottage in Lofoten", "cottages_find", "cottages_book"
    asked: JsonObject = {"place": "Lofoten"}
    first: _Seen = (find, asked, _offers(("o1", "Fjord", 90)))
    refused: _Seen = (book, {"offer_id": "o1"}, gone)
    second: _Seen = (find, asked, _offers(("o2", "Fjord", 96)))

    again = _step(catalog, goal, first, refused)
    taken = _step(catalog, goal, first, refused, second)
    same = _step(catalog, goal, first, refused, first)

    assert isinstance(again, CallTool) and again.tool == find
    assert isinstance(taken, CallTool) and taken.arguments == {"offer_id": "o2"}
    assert isinstance(same, GiveUp) and gone in same.reason


@pytest.mark.parametrize(
    ("inputs", "more", "turned"),
    [
        ({"cursor": _TEXT}, {"next_cursor": "c2"}, {"cursor": "c2"}),
        ({"starting_after": _TEXT}, {"has_more": True}, {"starting_after": "o2"}),
        ({"page": {"type": "integer"}}, {"has_more": True}, {"page": 2}),
        ({"page": {"type": "integer"}}, {"next_page": 7}, {"page": 7}),
        ({"offset": {"type": "integer"}, "limit": {"type": "integer"}}, {"has_more": True},
         {"offset": 2}),
        ({"page": {"type": "integer"}, "per_page": {"type": "integer"}},
         {"links": {"next": "https://cottages.example/offers?page=2&per_page=2"}}, {"page": 2}),
        ({"cursor": _TEXT}, {"next": "/offers?cursor=a%3Db"}, {"cursor": "a=b"}),
    ],
)  # fmt: skip
def test_a_name_is_looked_for_on_every_page(
    inputs: dict[str, JsonObject], more: JsonObject, turned: JsonObject
) -> None:
    """By a cursor, a link, a number of pages, or an offset: as the answer says that it goes on."""
    catalog, goal = _cottages(**inputs), "Book the cottage called Fjord"
    page: _Seen = ("cottages_find", {}, _offers(("o1", "Anchor", 90), ("o2", "Bay", 80), **more))

    following = _step(catalog, goal, page)
    assert isinstance(following, CallTool)
    assert (following.tool, following.arguments) == ("cottages_find", turned)
    last: _Seen = ("cottages_find", turned, _offers(("o3", "Fjord", 70)))
    found = _step(catalog, goal, page, last)
    assert isinstance(found, CallTool) and found.arguments == {"offer_id": "o3"}


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        ("Book the cottage called Fjord", "lists more, of which only its first page was read)"),
        # A part done would be reported as the whole.
        ("Book all cottages", "cannot be done whole"),
    ],
)
def test_pages_that_are_not_read_are_said(goal: str, said: str) -> None:
    """What is not found may stand on one of them: here nothing says how to turn to it."""
    page: _Seen = ("cottages_find", {}, _offers(("o1", "Anchor", 90), has_more=True))
    end = _step(_cottages(), goal, page)

    assert isinstance(end, GiveUp)
    assert said in end.reason


async def test_an_amount_in_an_unclear_unit_still_says_its_currency() -> None:
    """Only the number is asked for, with the reason."""
    said = "In minor units, unlike ISO 4217 for ISK."
    unit: JsonObject = {"type": "integer", "description": said}
    paths = _operation("pay", "Make a payment", "/payments", value=unit, currency=_TEXT)

    run = await _run(paths, "Make a payment of 2790 ISK")

    (asked,) = run.decisions[run.plan.legs[0].leg_id]
    assert isinstance(asked, AskUser)
    assert {*asked.fields} == {"value"}
    assert "unit is not declared" in asked.why


@pytest.mark.parametrize(
    ("goal", "tool"),
    [
        ("Create a New VPC in Oslo", "vpcs_create"),
        ("Create the Network Peering in Oslo", "peerings_create"),
        ("Create an API Key in Oslo", "createKey"),
    ],
)
async def test_nouns_of_a_tool_in_capitals_are_no_names(goal: str, tool: str) -> None:
    """However a noun is written; a name next to it is used, or left over as a doubt."""
    run = await _of_networks(goal)

    assert not run.plan.doubts
    assert [call.tool for call in run.calls(run.plan.legs[0].leg_id)] == [tool]
    for named in ("Create a Berlin VPC in Oslo", "Create VPC Nord in Oslo"):
        assert [doubt.kind for doubt in (await _of_networks(named)).plan.doubts] == ["left_over"]


@pytest.mark.parametrize(
    ("said", "amount", "shown"),
    [
        ("In the smallest unit of the currency: cents for USD.", 1200, "12.00 USD"),
        ("In units of the currency: dollars for USD.", 1200, "1200 USD"),
    ],
)
async def test_a_result_states_amounts_in_units_of_their_currency(
    said: str, amount: int, shown: str
) -> None:
    """The card showed 12.00 USD, so the result does not speak of 1200."""
    money: JsonObject = {
        "type": "object",
        "properties": {"amount": {"type": "integer", "description": said}, "currency": _TEXT},
    }
    paths = _operation("pay", "Make a payment", "/payments", memo=_TEXT)
    operation = cast("dict[str, dict[str, JsonObject]]", paths["/payments"])["post"]
    answer: JsonObject = {"type": "object", "properties": {"held_money": money}}
    content: JsonObject = {"application/json": {"schema": answer}}
    operation["responses"] = {"200": {"description": "Made.", "content": content}}
    held: JsonObject = {"held_money": {"amount": amount, "currency": "USD"}}

    run = await _run(paths, 'Make a payment with the memo "Lunch"', held)

    end = run.decisions[run.plan.legs[0].leg_id][-1]
    assert isinstance(end, Finish)
    assert end.summary == f"Payment made: {shown}."


async def test_an_input_begins_no_optional_object_by_a_namesake() -> None:
    """`source_id` is the payment's own; its external details, which have one too, stay out."""
    details: JsonObject = {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": _TEXT, "source_id": _TEXT},
    }
    paths = _operation("pay", "Make a payment", "/payments", source_id=_TEXT, details=details)
    operation = cast("dict[str, dict[str, JsonObject]]", paths["/payments"])["post"]
    body: Any = operation["requestBody"]
    body["content"]["application/json"]["schema"]["required"] = ["source_id"]

    run = await _run(paths, "Make a payment", inputs={"source_id": "card-1"})

    (call,) = run.calls(run.plan.legs[0].leg_id)
    assert call.arguments == {"source_id": "card-1"}


async def _of_networks(goal: str) -> Run:
    paths: JsonObject = {
        **_operation("vpcs_create", "Create a New VPC", "/vpcs", city=_TEXT),
        **_operation("peerings_create", "Create a New Network Peering", "/peerings", city=_TEXT),
        **_operation("createKey", "Create an API Key", "/keys", city=_TEXT),
    }
    return await _run(paths, goal)


@pytest.mark.parametrize(
    ("goal", "tool"),
    [("Switch on the lamp l_12", "lightLamp"), ("Turn lamp l_12 off", "darkenLamp")],
)
async def test_what_is_turned_on_is_not_turned_off(goal: str, tool: str) -> None:
    """The particle of a verb tells its tool from the opposite; without one, none is called."""
    paths: JsonObject = {
        **_operation("lightLamp", "Turn on a lamp", "/lights", lamp_id=_TEXT),
        **_operation("darkenLamp", "Turn off a lamp", "/darkness", lamp_id=_TEXT),
    }

    run = await _run(paths, goal)
    with raises_code("NothingFits"):
        await _run(paths, "Switch the lamp l_12")

    assert not run.plan.doubts
    assert [call.tool for call in run.calls(run.plan.legs[0].leg_id)] == [tool]


@pytest.mark.parametrize("deprecated", [False, True])
async def test_another_version_of_a_tool_takes_its_place(deprecated: bool) -> None:
    """An equal tool comes before a deprecated one, and after one that is gone (410)."""
    paths: JsonObject = {
        **_operation("orderPickup", "Order a pickup", "/v1/pickups", address=_TEXT),
        **_operation("orderPickup2", "Order a pickup", "/v2/pickups", address=_TEXT),
    }
    cast("dict[str, dict[str, JsonValue]]", paths["/v1/pickups"])["post"]["deprecated"] = deprecated
    catalog = _things(paths)
    gone = Observation(step=1, tool="orderPickup", outcome="rejected", error="HTTP 410 Gone")
    taken = Observation(step=2, tool="orderPickup2", outcome="succeeded", side_effect=True)
    answers = {"orderPickup": gone, "orderPickup2": taken}
    mission = Mission(catalog, Router(catalog), outcomes=lambda tool, a, n: answers[tool.name])

    run = await mission.run('Order a pickup with the address "Pier 4"')

    (leg,) = run.plan.legs
    called = [call.tool for call in run.calls(leg.leg_id)]
    assert called == (["orderPickup2"] if deprecated else ["orderPickup", "orderPickup2"])
    assert {*leg.orders[0].tools} == {"orderPickup", "orderPickup2"}


async def test_an_id_beside_a_chosen_offer_is_the_id_that_was_said() -> None:
    """One id is said and the other is found: each is looked for in the list of its own things."""
    day: JsonObject = {"type": "string", "format": "date"}
    wanted: JsonObject = {"name": "date", "in": "query", "required": True, "schema": day}
    paths: JsonObject = {
        "/members": {"get": _lists("listMembers", "List the members", "member_id")},
        "/courses": {
            "get": _lists("listCourses", "List courses of a day", "course_id", parameters=[wanted])
        },
        **_operation("book", "Book a course", "/bookings", course_id=_TEXT, member_id=_TEXT),
    }
    catalog = _things(paths)
    answers: dict[str, JsonObject] = {
        "listMembers": {"items": [{"member_id": "41"}, {"member_id": "4711"}]},
        "listCourses": {"items": [{"course_id": "c-4711"}, {"course_id": "c-2"}]},
        "book": {"id": "b-1"},
    }
    provider = Provider(script=lambda tool, arguments: answers[tool.name])

    run = await Mission(catalog, Router(catalog), provider=provider).run(
        "Book a course on 5 December for member 4711"
    )

    assert not run.plan.doubts
    (*_, call) = run.calls(run.plan.legs[0].leg_id)
    assert call.tool == "book"
    assert call.arguments == {"course_id": "c-4711", "member_id": "4711"}


def _lists(operation_id: str, summary: str, name: str, **more: JsonValue) -> JsonObject:
    item: JsonObject = {"type": "object", "properties": {name: _TEXT}}
    items: JsonObject = {"type": "array", "items": item}
    schema: JsonObject = {"type": "object", "properties": {"items": items}}
    content: JsonObject = {"application/json": {"schema": schema}}
    told: JsonObject = {"operationId": operation_id, "summary": summary, "x-orchet-tool": True}
    return {**told, "responses": {"200": {"description": "all", "content": content}}, **more}
