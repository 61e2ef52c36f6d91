"""A model that does exactly what a goal asks is asked, blocked and doubted nowhere."""

from collections.abc import Sequence
from typing import Final

from temporalio.testing import WorkflowEnvironment

from orchestrator.core.record import JsonObject
from orchestrator.messages.leg import LegStatus
from tests.workflow.model_missions import Call, Case, ModelWorld, Part, order, run_all

RESERVE, PAY, SEND = "dining_reserve_table", "payment_pay_invoice", "message_send"
EMAIL, ROOM, FLIGHT = "message_send_email", "hotel_book_room", "flight_book_offer"
EVENT: Final = "calendar_create_event"
DAY: Final = "2026-12-06"


def table(city: str, date: str = DAY, time: str = "20:00", people: int = 4) -> list[Call]:
    """Search a table and reserve the first."""
    asked: JsonObject = {"city": city, "date": date, "time": time, "party_size": people}
    return [("dining_search_tables", asked), reserve("tbl_1")]


def reserve(slot: str) -> Call:
    who: JsonObject = {
        "traveler_name": "pii:traveler_name",
        "traveler_phone": "pii:traveler_phone",
    }
    return (RESERVE, {"table_slot_id": slot, **who})


def room(city: str, check_in: str, check_out: str, offer: str = "rof_1") -> list[Call]:
    """Search a room and book it."""
    asked: JsonObject = {"city": city, "check_in": check_in, "check_out": check_out}
    who: JsonObject = {
        "traveler_name": "pii:traveler_name",
        "traveler_email": "pii:traveler_email",
    }
    return [("hotel_search_rooms", asked), (ROOM, {"room_offer_id": offer, **who})]


def flight(origin: str, destination: str, date: str, offer: str = "off_1") -> list[Call]:
    """Search a flight and book it."""
    asked: JsonObject = {"origin": origin, "destination": destination, "departure_date": date}
    return [
        ("flight_search_offers", asked),
        (FLIGHT, {"offer_id": offer, "traveler_id": "pii:traveler_id"}),
    ]


def pay(invoice: str) -> Call:
    return (PAY, {"invoice_id": invoice, "payment_method_id": "pii:payment_method_id"})


def invoices(status: str) -> Call:
    return ("payment_list_invoices", {"invoice_status": status})


def forecast(city: str, date: str = DAY) -> Call:
    return ("weather_get_forecast", {"city": city, "date": date})


def find(query: str) -> Call:
    return ("tools_discover", {"query": query})


def tell(text: str, channel: str = "chn_7") -> list[Call]:
    """Find a channel and post to it."""
    return [("message_find_channels", {}), (SEND, {"channel_id": channel, "text": text})]


def email(to: str, text: str) -> Call:
    return (EMAIL, {"recipient_email": to, "text": text})


def event(title: str, date: str, time: str) -> Call:
    return (EVENT, {"title": title, "start_date": date, "time": time})


def one(goal: str, calls: Sequence[Call], *orders: JsonObject) -> Case:
    """A goal of one leg."""
    return Case(goal, [Part(calls, orders)])


def held(goal: str, when: str, read: str, holds: bool, calls: Sequence[Call], tool: str) -> Case:
    """A goal of one leg that depends on something."""
    said: JsonObject = {"when": when, "holds": holds, "read": read}
    return Case(goal, [Part(calls, [order(tool, when=when)], conditions=[said])])


RAIN, DRY = "forecast for 6 December: rain 80 %", "forecast for 6 December: rain 5 %"
ON_TIME: Final = "Table for four on 6 December at 20:00."
TWO: Final = [
    Part(table("Lisbon"), [order(RESERVE)], ["Reserve a table for 4 in Lisbon on 6 December 2026"]),
    Part(
        tell("The table is reserved for 6 December 2026."),
        [order(SEND)],
        ["tell the travel channel that it is reserved"],
        needs=["leg-1"],
    ),
]
CASES: Final = [
    # One consequence.
    one(
        "Reserve a table for 4 in Lisbon on 6 December 2026 at 20:00",
        table("Lisbon"),
        order(RESERVE),
    ),
    one(
        "Could you get the four of us a dinner table in Lisbon on December 6, 2026, 8 pm?",
        table("Lisbon"),
        order(RESERVE),
    ),
    one(
        "We're 2 on 2026-12-06: dinner in Porto at 19:30, please book it",
        table("Porto", DAY, "19:30", 2),
        order(RESERVE),
    ),
    one(
        "Reserva una mesa para 4 en Lisboa el 6 de diciembre de 2026 a las 20:00",
        table("Lisbon"),
        order(RESERVE),
    ),
    one(
        "Quisiera cenar en Oporto el 6 de diciembre de 2026 a las 21:00, somos 2",
        table("Porto", DAY, "21:00", 2),
        order(RESERVE),
    ),
    one(
        "Reserviere bitte einen Tisch für 4 Personen in Lissabon am 6. Dezember 2026 um 20:00 Uhr",
        table("Lisbon"),
        order(RESERVE),
    ),
    one(
        "Wir brauchen am 6. Dezember 2026 um 19:30 Uhr einen Tisch für 2 in Porto",
        table("Porto", DAY, "19:30", 2),
        order(RESERVE),
    ),
    one(
        "2026年12月6日20:00にリスボンで4人のテーブルを予約してください",
        table("Lisbon"),
        order(RESERVE),
    ),
    one(
        "Book a room in Porto from 3 to 5 December 2026",
        room("Porto", "2026-12-03", "2026-12-05"),
        order(ROOM),
    ),
    one(
        "I need a hotel in Lisbon for 2 nights from 3 December 2026",
        room("Lisbon", "2026-12-03", "2026-12-05"),
        order(ROOM),
    ),
    one(
        "Resérvame un hotel en Lisboa del 3 al 5 de diciembre de 2026",
        room("Lisbon", "2026-12-03", "2026-12-05"),
        order(ROOM),
    ),
    one(
        "Buche ein Zimmer in Porto vom 3. Dezember 2026 bis 5. Dezember 2026",
        room("Porto", "2026-12-03", "2026-12-05"),
        order(ROOM),
    ),
    one(
        "12月3日から2泊、ポルトのホテルを予約して",
        room("Porto", "2026-12-03", "2026-12-05"),
        order(ROOM),
    ),
    one(
        "Book me the cheapest flight from Berlin to Lisbon on 3 December 2026",
        flight("Berlin", "Lisbon", "2026-12-03"),
        order(FLIGHT),
    ),
    one(
        "Vuelo de Berlín a Lisboa el 3 de diciembre de 2026, el más barato",
        flight("Berlin", "Lisbon", "2026-12-03"),
        order(FLIGHT),
    ),
    one(
        "Einen Flug von Berlin nach Lissabon am 3. Dezember 2026 buchen",
        flight("Berlin", "Lisbon", "2026-12-03"),
        order(FLIGHT),
    ),
    one("Pay invoice INV-2026-118", [("payment_list_invoices", {}), pay("inv_118")], order(PAY)),
    one(
        "Zahle die Rechnung INV-2026-119 von Contoso",
        [("payment_list_invoices", {}), pay("inv_119")],
        order(PAY),
    ),
    one(
        "Paga la factura INV-2026-120", [("payment_list_invoices", {}), pay("inv_120")], order(PAY)
    ),
    one('Post "We are late" in the travel channel', tell("We are late"), order(SEND)),
    one("Schreib dem Kanal travel: „Wir kommen später“", tell("Wir kommen später"), order(SEND)),
    one(
        "E-mail ana@example.com that dinner is on 6 December at 20:00",
        [email("ana@example.com", "Dinner is on 6 December at 20:00.")],
        order(EMAIL),
    ),
    one(
        "ana@example.com に「遅れます」とメールして",
        [email("ana@example.com", "遅れます")],
        order(EMAIL),
    ),
    one(
        "Put the board meeting in my calendar on 10 December 2026 at 14:00",
        [event("Board meeting", "2026-12-10", "14:00")],
        order(EVENT),
    ),
    # All of a list, and several of a kind.
    one(
        "Pay all overdue invoices",
        [invoices("overdue"), pay("inv_118"), pay("inv_119")],
        order(PAY, each="all overdue invoices"),
    ),
    one(
        "Paga todas las facturas vencidas",
        [invoices("overdue"), pay("inv_118"), pay("inv_119")],
        order(PAY, each="todas las facturas vencidas"),
    ),
    one(
        "Bezahle alle überfälligen Rechnungen",
        [invoices("overdue"), pay("inv_118"), pay("inv_119")],
        order(PAY, each="alle überfälligen Rechnungen"),
    ),
    one(
        "期限切れの請求書をすべて支払って",
        [invoices("overdue"), pay("inv_118"), pay("inv_119")],
        order(PAY, each="期限切れの請求書をすべて"),
    ),
    one(
        "Write to ana@example.com and bob@example.com that we leave at 18:00",
        [
            email("ana@example.com", "We leave at 18:00."),
            email("bob@example.com", "We leave at 18:00."),
        ],
        order(EMAIL, count=2),
    ),
    # On a condition that holds, and on one that does not.
    held(
        "If it rains in Lisbon on 6 December 2026, tell the travel channel to bring umbrellas",
        "If it rains in Lisbon on 6 December 2026",
        RAIN,
        True,
        [find("weather forecast"), forecast("Lisbon"), *tell("Bring umbrellas.")],
        SEND,
    ),
    held(
        "Reserve a table for 4 in Porto on 6 December 2026 at 20:00 unless it rains there",
        "unless it rains there",
        DRY,
        True,
        [find("weather forecast"), forecast("Porto"), *table("Porto")],
        RESERVE,
    ),
    held(
        "Reserva una mesa para 4 en Lisboa el 6 de diciembre de 2026 a las 20:00, salvo que llueva",
        "salvo que llueva",
        RAIN,
        False,
        [find("weather forecast"), forecast("Lisbon")],
        RESERVE,
    ),
    held(
        "Falls es am 6. Dezember 2026 in Porto regnet, sag es dem Kanal travel",
        "Falls es am 6. Dezember 2026 in Porto regnet",
        DRY,
        False,
        [find("weather forecast"), forecast("Porto")],
        SEND,
    ),
    held(
        "リスボンで12月6日に雨が降るなら、travelチャンネルに傘を忘れないように伝えて",
        "リスボンで12月6日に雨が降るなら",
        RAIN,
        True,
        [find("weather forecast"), forecast("Lisbon"), *tell("傘を忘れないでください。")],
        SEND,
    ),
    # Reading alone.
    one("What's the weather going to be like in Lisbon on 6 December 2026?", [forecast("Lisbon")]),
    one("¿Qué facturas tengo vencidas?", [find("list invoices"), invoices("overdue")]),
    one("Welche Rechnungen sind offen?", [find("list invoices"), invoices("open")]),
    one("12月6日のリスボンの天気を教えて", [find("weather forecast"), forecast("Lisbon")]),
    # Two parts.
    Case(
        "Reserve a table for 4 in Lisbon on 6 December 2026, "
        "then tell the travel channel that it is reserved",
        TWO,
    ),
    Case(
        "Buche ein Zimmer in Porto vom 3. Dezember 2026 bis 5. Dezember 2026 "
        "und zahle INV-2026-118",
        [
            Part(
                room("Porto", "2026-12-03", "2026-12-05"),
                [order(ROOM)],
                ["Buche ein Zimmer in Porto vom 3. Dezember 2026 bis 5. Dezember 2026"],
            ),
            Part(
                [("payment_list_invoices", {}), pay("inv_118")],
                [order(PAY)],
                ["zahle INV-2026-118"],
            ),
        ],
    ),
]


async def test_a_perfect_model_is_asked_blocked_and_doubted_nowhere(
    workflow_env: WorkflowEnvironment,
) -> None:
    """Forty goals in four languages, under a standing approval, with nobody there to answer."""
    world = ModelWorld(workflow_env.client, CASES)

    results = await run_all(workflow_env, world, CASES, "perfect")

    wrong = {}
    for case, result in results:
        # Legs run side by side: calls are in order within each.
        sent = sorted(map(repr, world.calls_of(result.mission_id)))
        found = [
            f"status {result.status}" if result.status != "succeeded" else "",
            f"sent {sent}" if sent != sorted(map(repr, case.expected)) else "",
            f"uncovered {result.uncovered}" if result.uncovered else "",
            *(
                f"{leg.leg_id} {leg.status} {leg.error}"
                for leg in result.legs
                if leg.status != LegStatus.SUCCEEDED
            ),
            *world.complaints_of(result.mission_id, [tool for tool, _ in case.expected]),
            *(p for one in world.prepared if one.call is None for p in one.problems),
        ]
        if any(found):
            wrong[case.goal] = [text for text in found if text]
    assert len({case.goal for case in CASES}) == 40
    assert wrong == {}
