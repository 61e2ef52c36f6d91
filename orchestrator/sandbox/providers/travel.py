"""Flights, hotels and cars: prices that follow route, dates and length of stay."""

from __future__ import annotations

from datetime import date
from random import Random
from typing import Any

from orchestrator.sandbox.currency_amount import CurrencyAmount, money
from orchestrator.sandbox.playbook import Draft, Playbook
from orchestrator.sandbox.problems import RequestRefused

_AIRLINES = {"Atlantic Air": "AT", "Nordwind": "NW", "Iberia Sol": "IS", "Baltic Wings": "BW"}
_CABIN_FACTORS = {"premium_economy": 1.6, "business": 2.8, "first": 4.5}
_CAR_DAYS = {"mini": 22, "compact": 28, "midsize": 36, "suv": 52, "van": 64, "electric": 48}


def offer_flights(draft: Draft) -> None:
    """One price per route, then a little more or less for each flight."""
    arguments = draft.arguments
    is_return = arguments.get("return_date") is not None
    if is_return:
        _refuse_backwards(draft, "departure_date", "return_date")
    one_way = 62 + Random(_route(arguments)).randint(0, 44)
    for item in draft.items:
        stops = 0 if arguments.get("direct_only") else draft.rng.choice((0, 0, 1))
        share = one_way * (1.9 if is_return else 1.0) * (0.8 if stops else 1.0)
        share *= _CABIN_FACTORS.get(str(arguments.get("cabin")), 1.0) * draft.rng.uniform(0.95, 1.2)
        due = money(round(share, 2), arguments.get("currency")).times(arguments["passengers"])
        item |= {"stops": stops, "price": due.to_json(), **_timetable(draft.rng, stops)}
        if not is_return:
            item.pop("return_date", None)


def tell_flight_status(draft: Draft) -> None:
    """Every flight is on time."""
    draft.body |= {"flight_state": "scheduled", "delay_minutes": 0}


def offer_rooms(draft: Draft) -> None:
    """A rate per night by stars, times the nights."""
    arguments = draft.arguments
    nights = _refuse_backwards(draft, "check_in", "check_out")
    for item in draft.items:
        stars = max(draft.rng.randint(3, 5), int(arguments.get("min_stars", 3)))
        rate = 40 + 15 * stars + draft.rng.uniform(-9, 9) + 12 * (arguments["guests"] - 1)
        due = money(round(rate, 2), arguments.get("currency")).times(nights)
        item |= {"stars": stars, "nights": nights, "price": due.to_json()}


def offer_cars(draft: Draft) -> None:
    """A rate per day by class, times the days begun."""
    days = max(1, _refuse_backwards(draft, "start_date", "end_date", is_same_day_fine=True))
    for item in draft.items:
        rate = _CAR_DAYS.get(item["car_class"], 40) * draft.rng.uniform(0.9, 1.25)
        item["price"] = money(rate, draft.arguments.get("currency")).times(days).to_json()


def charge_car(draft: Draft) -> None:
    """Full insurance costs a quarter more."""
    if draft.arguments.get("insurance") == "full":
        price = draft.body["price"]
        dearer = CurrencyAmount(money(price["amount"] * 1.25).amount, price["currency"])
        draft.body["price"] = dearer.to_json()


def _refuse_backwards(
    draft: Draft, first: str, last: str, *, is_same_day_fine: bool = False
) -> int:
    """Days between two dates.

    Raises:
        RequestRefused: the second is too early.
    """
    days = (_day(draft, last) - _day(draft, first)).days
    if days < 0 or (days == 0 and not is_same_day_fine and first == "check_in"):
        status = draft.call.operation.refusal(422, 400)
        raise RequestRefused(status, f"{last} must come after {first}.")
    return days


def _day(draft: Draft, name: str) -> date:
    return date.fromisoformat(draft.arguments[name])


def _route(arguments: Any) -> str:
    ends = sorted((arguments["origin"].casefold(), arguments["destination"].casefold()))
    return f"{ends}:{arguments['departure_date'][:7]}"


def _timetable(rng: Random, stops: int) -> dict[str, Any]:
    airline = rng.choice(list(_AIRLINES))
    start = rng.randrange(6 * 60, 17 * 60, 5)
    end = start + 150 + 110 * stops + rng.randrange(0, 60, 5)
    return {
        "airline": airline,
        "flight_number": f"{_AIRLINES[airline]}{rng.randint(100, 999)}",
        "departure_time": f"{start // 60:02}:{start % 60:02}",
        "arrival_time": f"{end // 60:02}:{end % 60:02}",
    }


TRAVEL = Playbook(
    behaviours={
        "flight_search_offers": offer_flights,
        "flight_get_status": tell_flight_status,
        "hotel_search_rooms": offer_rooms,
        "car_search_offers": offer_cars,
        "car_book_offer": charge_car,
    },
    words={
        "airline": list(_AIRLINES),
        "city": ["Lisbon", "Berlin", "Oslo", "Rome", "Paris"],
        "hotel_name": [
            "Hotel Miradouro",
            "Casa do Rio",
            "Grand Central",
            "The Harbour House",
            "Park Lodge",
        ],
        "street_address": ["Rua do Sol 12", "Harbour Street 4", "Gartenweg 27"],
        "review_text": [
            "Quiet room, lovely view.",
            "Friendly staff and a good breakfast.",
            "Close to everything, a little noisy.",
        ],
        "car_model": ["Renault Clio", "VW Golf", "Skoda Octavia", "Fiat 500", "Kia Niro"],
        "rental_company": ["Sunrise Rentals", "CityDrive", "Europa Cars"],
        "place": ["Airport, arrivals hall", "Central station", "Harbour office"],
        "rules_text": ["Free cancellation for one day after booking."],
    },
)
