"""Hand-written behaviour of the documents that ship."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.sandbox import load_documents

SPECS = load_documents([Path(__file__).parents[3] / "specs"])
TRIP = {"origin": "Berlin", "destination": "Lisbon", "departure_date": "2026-12-03"}
TRIP |= {"return_date": "2026-12-06"}
STAY = {"city": "Lisbon", "check_in": "2026-12-03", "check_out": "2026-12-06"}
HEADERS = {"X-Api-Key": "key", "Authorization": "Bearer token"}


@pytest.fixture
async def http(open_app: Callable[..., Any]) -> AsyncIterator[httpx.AsyncClient]:
    async with open_app(documents=SPECS) as client:
        client.headers.update(HEADERS)
        yield client


async def get(http: httpx.AsyncClient, path: str, **params: Any) -> Any:
    answer = await http.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def post(http: httpx.AsyncClient, path: str, body: dict[str, Any]) -> Any:
    answer = await http.post(path, json=body)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


def amounts(items: list[dict[str, Any]]) -> list[float]:
    return [item["price"]["amount"] for item in items]


async def test_return_flight_costs_what_one_expects(http: httpx.AsyncClient) -> None:
    """Berlin to Lisbon and back: 100 to 260 EUR, cheapest first, dearer for two."""
    for_one = (await get(http, "/flights/offers", **TRIP))["offers"]
    for_two = (await get(http, "/flights/offers", **TRIP, passengers=2))["offers"]

    assert all(100 <= amount <= 260 for amount in amounts(for_one))
    assert amounts(for_one) == sorted(amounts(for_one))
    assert amounts(for_two)[0] > amounts(for_one)[0] * 1.4
    assert {offer["return_date"] for offer in for_one} == {"2026-12-06"}


async def test_one_way_flight_has_no_return(http: httpx.AsyncClient) -> None:
    """Without a return date there is none in the offer, nor in its booking."""
    one_way = {name: value for name, value in TRIP.items() if name != "return_date"}
    offers = (await get(http, "/flights/offers", **one_way, direct_only=True))["offers"]
    body = {"offer_id": offers[0]["offer_id"], "traveler_id": "trv_1"}
    booking = await post(http, "/flights/book", body)

    assert all("return_date" not in offer for offer in [*offers, booking])
    assert {offer["stops"] for offer in offers} == {0}
    assert booking["flight_number"] == offers[0]["flight_number"]


async def test_dates_in_the_wrong_order_are_refused(http: httpx.AsyncClient) -> None:
    stay = {**STAY, "check_out": STAY["check_in"]}
    trip = {**TRIP, "return_date": "2026-12-02"}
    asked = (("/hotels/rooms", stay), ("/flights/offers", trip))
    answers = [await http.get(path, params=params) for path, params in asked]

    assert [answer.status_code for answer in answers] == [400, 400]
    assert "check_out must come after check_in" in answers[0].json()["detail"]


async def test_room_costs_its_rate_times_the_nights(http: httpx.AsyncClient) -> None:
    """Three nights cost 210 to 420 EUR, each offer at a hotel of its own."""
    offers = (await get(http, "/hotels/rooms", **STAY))["offers"]

    assert all(210 <= amount <= 420 for amount in amounts(offers))
    assert {offer["nights"] for offer in offers} == {3}
    cents = [round(amount * 100) for amount in amounts(offers)]
    assert all(cent % 3 == 0 for cent in cents)
    assert len({offer["hotel_name"] for offer in offers}) == len(offers)


async def test_insurance_and_portions_make_it_dearer(http: httpx.AsyncClient) -> None:
    span = {"city": "Lisbon", "start_date": "2026-12-03", "end_date": "2026-12-06"}
    offer = (await get(http, "/cars/offers", **span))["offers"][0]
    body = {"car_offer_id": offer["car_offer_id"], "traveler_id": "trv_1", "insurance": "full"}
    booking = await post(http, "/cars/bookings", body)
    meal = (await get(http, "/dining/meals", city="Lisbon"))["meals"][0]
    body = {"meal_id": meal["meal_id"], "payment_method_id": "pm_1", "quantity": 3}
    order = await post(http, "/dining/orders", body)

    assert booking["price"]["amount"] == pytest.approx(offer["price"]["amount"] * 1.25, abs=0.01)
    assert order["price"]["amount"] == pytest.approx(meal["price"]["amount"] * 3)


async def test_report_sums_its_items(http: httpx.AsyncClient) -> None:
    def items(*pairs: tuple[float, str]) -> dict[str, Any]:
        listed = [{"description": "x", "amount": a, "currency": c} for a, c in pairs]
        return {"employee_id": "emp_1", "items": listed}

    report = await post(http, "/expenses/reports", items((0.1, "EUR"), (0.2, "EUR")))
    mixed = await http.post("/expenses/reports", json=items((1, "EUR"), (1, "USD")))

    assert report["total"] == {"amount": 0.3, "currency": "EUR"}
    assert len(report["items"]) == 2
    assert mixed.status_code == 422


async def test_paid_amount_is_that_of_the_invoice(http: httpx.AsyncClient) -> None:
    """A payment and its refund carry the total of the invoice."""
    invoice = (await get(http, "/payments/invoices"))["invoices"][0]
    body = {"invoice_id": invoice["invoice_id"], "payment_method_id": "pm_1"}
    payment = await post(http, "/payments/payments", body)
    refund = await post(http, "/payments/refunds", {"payment_id": payment["payment_id"]})

    assert payment["total"] == refund["total"] == invoice["total"]
    assert payment["invoice_number"] == invoice["invoice_number"]


async def test_a_known_channel_and_a_new_file_can_be_named(http: httpx.AsyncClient) -> None:
    """Other operations know the file_id that an upload answers."""
    found = (await get(http, "/messages/channels", query="my team"))["channels"]
    every = (await get(http, "/messages/channels"))["channels"]
    sent = await post(http, "/messages/messages", {"channel_id": "chn_general", "text": "Hi"})
    file = {"file_name": "plan.txt", "content_text": "one two"}
    upload = await post(http, "/files/uploads", file)
    shared = {"file_id": upload["file_id"], "recipient_email": "sam@example.com"}
    share = await post(http, "/files/shares", shared)

    assert [channel["channel_name"] for channel in found] == ["team"]
    assert len(every) > 1
    assert (sent["channel_name"], share["file_name"]) == ("general", "plan.txt")


async def test_weather_belongs_to_city_and_day(http: httpx.AsyncClient) -> None:
    """Equal requests get equal answers; another city or day gets another."""
    asked = {"city": "Oslo", "date": "2026-12-03"}
    first = await get(http, "/weather/forecast", **asked)
    again = await get(http, "/weather/forecast", **{**asked, "city": "oslo"})
    later = await get(http, "/weather/forecast", **{**asked, "date": "2026-12-04"})

    assert {**first, "city": ""} == {**again, "city": ""}
    assert first != later
    assert (first["city"], first["date"]) == ("Oslo", "2026-12-03")
    assert first["temperature_min_c"] < first["temperature_max_c"]


async def test_event_list_takes_a_span(http: httpx.AsyncClient) -> None:
    trip = {"title": "Lisbon", "start_date": "2026-12-03", "end_date": "2026-12-06"}
    event = await post(http, "/calendar/events", trip)
    inside = await get(http, "/calendar/events", start_date="2026-12-05", end_date="2026-12-31")
    outside = await get(http, "/calendar/events", start_date="2026-12-07")

    assert inside["events"] == [event]
    assert outside["events"] == []
