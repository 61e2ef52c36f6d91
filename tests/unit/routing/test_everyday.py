"""Everyday requests, in the words of people: the tool they need is among those forwarded."""

from datetime import datetime

import pytest

from orchestrator.adapters.embedding.built_in import similarity_in_process
from orchestrator.catalog.catalog import Catalog
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext

REQUESTS = (
    ("any flights to Madrid on Friday?", "flight_search_offers"),
    ("show me flights to Rome", "flight_search_offers"),
    ("fly me to Rome on 2026-12-03 from Berlin", "flight_search_offers"),
    ("is LH123 delayed", "flight_get_status"),
    ("how many bags can I take on my flight", "flight_get_fare_rules"),
    ("how much is a room in Vienna this weekend", "hotel_search_rooms"),
    ("need somewhere to sleep in Porto tomorrow night", "hotel_search_rooms"),
    ("find a cheap hotel in Lisbon but don't book it yet", "hotel_search_rooms"),
    ("what do guests say about Hotel Bica", "hotel_list_reviews"),
    ("scrap my hotel reservation", "hotel_cancel_booking"),
    ("hire a car in Porto from 2026-12-03 to 2026-12-06", "car_book_offer"),
    ("get me a taxi", "car_search_offers"),
    ("give me a ride from the airport in Lisbon", "car_search_offers"),
    ("I no longer need the car, cancel it", "car_cancel_booking"),
    ("get rid of my car booking", "car_cancel_booking"),
    ("look for a place to stay near the beach in Porto", "hotel_search_rooms"),
    ("I'm starving, get a burger delivered", "dining_search_meals"),
    ("pay my phone bill", "payment_pay_invoice"),
    ("message the sales channel: numbers are up", "message_send"),
    ("withdraw my last expense report", "expense_cancel_report"),
    ("was it raining in Rome yesterday", "weather_get_history"),
    ("grab me a table for two tonight in Rome", "dining_reserve_table"),
    ("where can we eat tonight in Porto", "dining_search_tables"),
    ("hungry, order me some sushi", "dining_order_meal"),
    ("plan dinner in Lisbon for four on Friday at 20:00", "dining_search_tables"),
    ("do I need an umbrella in London tomorrow", "weather_get_forecast"),
    ("is the air clean in Delhi", "weather_get_air_quality"),
    ("warn me about storms in Bergen", "weather_subscribe_alerts"),
    ("stop bothering me about storms in Bergen", "weather_unsubscribe_alerts"),
    ("tell Alice I am late", "message_send"),
    ("let the team know the meeting is moved to 3pm", "message_send"),
    ("ping the design team about the launch", "message_send"),
    ("shoot an email to lee@example.com about lunch", "message_send_email"),
    ("write to anna@example.com that I will be late", "message_send_email"),
    ("take back the message I sent to the team", "message_unsend"),
    ("remind me to call mum at 18:00", "calendar_create_reminder"),
    ("put lunch with Sam on my calendar for Tuesday at 12:30", "calendar_create_event"),
    ("am I free on Thursday afternoon", "calendar_find_free_slots"),
    ("what's on my agenda tomorrow", "calendar_list_events"),
    ("call off the meeting with Sam", "calendar_cancel_event"),
    ("settle the electricity bill", "payment_pay_invoice"),
    ("which bills are still open", "payment_list_invoices"),
    ("don't pay the invoice, just show it to me", "payment_get_invoice"),
    ("submit my expenses", "expense_file_report"),
    ("reimburse me for the train ticket of 45 EUR", "expense_file_report"),
    ("can I claim a 200 EUR dinner", "expense_check_policy"),
    ("trash the old budget file", "file_delete_file"),
    ("I deleted the budget by mistake, bring it back", "file_restore_file"),
    ("unshare the budget with Lee", "file_revoke_share"),
    ("put the budget file into the archive folder", "file_move_file"),
    ("save these notes as a new file", "file_upload_file"),
    ("book a flihgt to Lisbon on 2026-12-03", "flight_book_offer"),
    ("wether in Oslo tomorrow", "weather_get_forecast"),
    ("cancle my restaurant resevation", "dining_cancel_reservation"),
    ("I want my money back", "payment_refund_payment"),
    ("what did I spend on taxis", "expense_list_reports"),
    ("who can see the budget file", "file_list_shares"),
    ("what did the team write", "message_search_messages"),
    ("did anyone mention the launch date", "message_search_messages"),
    ("how much did the company pay me back", "expense_list_reports"),
    ("unsend my last email", "message_recall_email"),
    ("do I have anything on Friday", "calendar_list_events"),
    ("cancel the pizza", "dining_cancel_order"),
    ("I changed my mind about the curry, cancel it", "dining_cancel_order"),
    ("should I take a coat to Bergen tomorrow", "weather_get_forecast"),
    ("don't let me forget to buy milk at 17:00", "calendar_create_reminder"),
    ("I don't have to be reminded of the dentist any more", "calendar_cancel_reminder"),
    ("do we owe anybody money", "payment_list_invoices"),
    ("has the rent been paid", "payment_list_payments"),
    ("where did I put the slides from Monday", "file_find_files"),
    ("bin the draft of the contract", "file_delete_file"),
    ("what's in the recycle bin", "file_list_deleted"),
    ("shift the invoice file into finance", "file_move_file"),
    ("put the file back where it was before", "file_undo_move"),
    ("nudge me about the tax return next Monday", "calendar_create_reminder"),
    ("is it foggy in London", "weather_get_current"),
    ("find out whether Ryan's plane AB123 has landed yet", "flight_get_status"),
    ("please get rid of my ticket to Dublin", "flight_cancel_booking"),
    ("how cold will it get in Tromso tonight", "weather_get_forecast"),
    ("let me know whenever there's a storm coming to Kiel", "weather_subscribe_alerts"),
    ("call the review meeting off", "calendar_cancel_event"),
    ("how much have I spent on hotels this year", "expense_list_reports"),
    ("let me know which cars you have in Bari", "car_search_offers"),
    ("is there any place for tapas in Seville at nine", "dining_search_tables"),
    ("I want a salad delivered to the hotel", "dining_search_meals"),
    ("will I need sunscreen in Malaga tomorrow", "weather_get_forecast"),
    ("make sure I remember to water the plants on Sunday", "calendar_create_reminder"),
    ("nobody but me should see the salary sheet, unshare it", "file_revoke_share"),
)
SEVERAL = (
    (
        "Find the quarterly report and share it with bob@example.com",
        {"file_find_files", "file_share_file"},
    ),
    (
        "book me a flight and a hotel in Lisbon from 2026-12-03 to 2026-12-06",
        {"flight_book_offer", "hotel_book_room"},
    ),
    (
        "check the weather in Oslo, then message the team about it",
        {"weather_get_forecast", "message_send"},
    ),
    ("find a table in Rome and reserve it", {"dining_search_tables", "dining_reserve_table"}),
    (
        "throw the draft away and share the final spreadsheet with ann@example.com",
        {"file_delete_file", "file_share_file"},
    ),
)
FOLLOW_UPS = (
    ("does it have a gym", "hotel_get_hotel"),
    ("do they have parking", "hotel_get_hotel"),
    ("and now reserve it", "hotel_book_room"),
    ("pick me the second one", "hotel_book_room"),
)
UNHEARD = (
    "what is 17 times 23",
    "play some jazz",
    "who won the match last night",
    "turn off the lights in the kitchen",
    "how tall is Mount Everest",
    "draw me a picture of a cat",
    "start the washing machine",
    "how many calories are in a banana",
    "fix my bike",
    "lower the volume",
)


@pytest.fixture(scope="module")
def router(shipped: Catalog) -> Router:
    """As a worker has it: with the built-in embedder."""
    return Router(shipped, similarity=similarity_in_process()(shipped))


@pytest.mark.parametrize(("text", "tool"), REQUESTS)
def test_the_tool_is_forwarded(text: str, tool: str, router: Router, now: datetime) -> None:
    """Other verbs than the API's, slips of the pen, half sentences."""
    assert tool in router.route(text, now=now).tools


@pytest.mark.parametrize(("text", "tools"), SEVERAL)
def test_the_tools_of_several_requests_are_forwarded(
    text: str, tools: set[str], router: Router, now: datetime
) -> None:
    """Also where only the second says what the first is about: what is shared is a file."""
    assert tools <= set(router.route(text, now=now).tools)


@pytest.mark.parametrize(("text", "tool"), FOLLOW_UPS)
def test_what_is_said_after_a_search_is_about_it(
    text: str, tool: str, router: Router, now: datetime
) -> None:
    """The rooms that were found, whether they are asked about or taken."""
    context = RouteContext(goal="book a hotel in Rome", earlier=("hotel_search_rooms",))

    assert tool in router.route(text, context, now=now).tools


@pytest.mark.parametrize("text", UNHEARD)
def test_what_no_tool_can_do_is_told(text: str, router: Router) -> None:
    """However everyday it is."""
    assert not router.fits(text)


def test_a_few_are_enough(router: Router, now: datetime) -> None:
    """None of them forwards more than the bands and four prerequisites allow."""
    sizes = [len(router.route(text, now=now).tools) for text, _ in REQUESTS]

    assert max(sizes) <= 8
    assert sum(sizes) / len(sizes) < 4.5


def test_real_words_are_no_slips(router: Router) -> None:
    """What the catalog or everyday language knows stays as it is; so do values and names."""
    for text in ("find a heart", "plain text", "weigh it", "hotels in Wether"):
        assert router._parser.corrected(text) == text
    assert router.route("book a flihgt").tools[0] == "flight_book_offer"
    assert router._parser.corrected("a flihgt and a resevation") == "a flight and a reserv"
