"""Calls, answers, and the hand-written behaviours that complete the generic provider."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from random import Random
from typing import Any

from orchestrator.sandbox.effect_ledger import Cause, CurrencyAmount, find_money, money
from orchestrator.sandbox.problems import RequestRefused
from orchestrator.sandbox.served_operations import ServedOperation
from orchestrator.sandbox.served_schemas import JsonObject


@dataclass(frozen=True)
class Call:
    """A validated call; arguments joins path, query and body, including defaults."""

    operation: ServedOperation
    arguments: dict[str, Any]
    cause: Cause
    now: datetime
    surcharge: Decimal = Decimal(1)
    """Factor on the price."""

    @cached_property
    def fingerprint(self) -> str:
        """A digest that is equal for two calls with equal arguments."""
        text = json.dumps(self.arguments, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def at(self) -> str:
        """The time of the call, ISO 8601 in UTC."""
        return timestamp(self.now)


@dataclass(frozen=True)
class ProviderAnswer:
    """An answer of the provider; `replayed` if its idempotency key already had it."""

    status: int
    body: Any
    replayed: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


def timestamp(moment: datetime) -> str:
    """Format a moment as RFC 3339 in whole seconds, "2026-12-03T09:15:00Z"."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Draft:
    """An unfinished answer, which a behaviour changes in place.

    Attributes:
        call: the call.
        parents: the joined facts of the resources that ids in the request name.
        rng: the random source; equal for equal requests.
        body: the answer; for a list, the properties next to the list.
        items: the items of a list; empty when the answer is not a list.
    """

    call: Call
    parents: Mapping[str, Any]
    rng: Random
    body: JsonObject = field(default_factory=dict)
    items: list[JsonObject] = field(default_factory=list)

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments of the call."""
        return self.call.arguments


Behaviour = Callable[[Draft], None]


@dataclass(frozen=True)
class Playbook:
    """Hand-written parts, each found by a name that documents use.

    Attributes:
        behaviours: by operationId, else by document name.
        standing: resources that exist from the start, by their id property.
        words: usual values of text properties, by property name.
    """

    behaviours: Mapping[str, Behaviour] = field(default_factory=dict)
    standing: Mapping[str, Sequence[JsonObject]] = field(default_factory=dict)
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def behaviour(self, operation_id: str, document: str) -> Behaviour | None:
        """Return the behaviour of an operation; None keeps the generic answer."""
        return self.behaviours.get(operation_id) or self.behaviours.get(document)

    def standing_thing(self, property_name: str, thing_id: str) -> JsonObject | None:
        """Return the standing resource of that id, or None."""
        things = self.standing.get(property_name, ())
        return next((thing for thing in things if thing[property_name] == thing_id), None)


def join(playbooks: Iterable[Playbook]) -> Playbook:
    """Merge playbooks into one; the later wins if two define the same name."""
    joined = Playbook()
    for playbook in playbooks:
        joined = Playbook(
            {**joined.behaviours, **playbook.behaviours},
            {**joined.standing, **playbook.standing},
            {**joined.words, **playbook.words},
        )
    return joined


_AIRLINES = {"Atlantic Air": "AT", "Nordwind": "NW", "Iberia Sol": "IS", "Baltic Wings": "BW"}
_CABIN_FACTORS = {"premium_economy": 1.6, "business": 2.8, "first": 4.5}
_CAR_DAYS = {"mini": 22, "compact": 28, "midsize": 36, "suv": 52, "van": 64, "electric": 48}
_SERVING_TIMES = ("18:30", "19:00", "19:30", "20:00", "20:30")
_DAILY_LIMITS = {"flight": 800, "hotel": 220, "car": 90, "meal": 60, "delivery": 40, "other": 100}
_SUFFIXES = {"spreadsheet": "xlsx", "presentation": "pptx", "image": "png", "document": "pdf"}
_FILE_NAME = re.compile(r"[\w-]+(?:[. ][\w-]+)*\.[A-Za-z]\w{1,4}")
_TEXTS = {
    "clear": "Sunny all day.",
    "cloudy": "Mostly cloudy and dry.",
    "rain": "Rain on and off; take an umbrella.",
    "snow": "Snow showers.",
    "fog": "Fog in the morning, brighter later.",
    "storm": "Stormy with heavy rain.",
}


def offer_flights(draft: Draft) -> None:
    """Price flights by route, with a small variation per flight."""
    arguments, rng = draft.arguments, draft.rng
    is_return = arguments.get("return_date") is not None
    if is_return:
        _refuse_backwards(draft, "departure_date", "return_date")
    ends = sorted((arguments["origin"].casefold(), arguments["destination"].casefold()))
    one_way = 62 + Random(f"{ends}:{arguments['departure_date'][:7]}").randint(0, 44)
    for item in draft.items:
        stops = 0 if arguments.get("direct_only") else rng.choice((0, 0, 1))
        share = one_way * (1.9 if is_return else 1.0) * (0.8 if stops else 1.0)
        share *= _CABIN_FACTORS.get(str(arguments.get("cabin")), 1.0) * rng.uniform(0.95, 1.2)
        due = money(round(share, 2), arguments.get("currency")).times(arguments["passengers"])
        airline = rng.choice(list(_AIRLINES))
        start = rng.randrange(6 * 60, 17 * 60, 5)
        end = start + 150 + 110 * stops + rng.randrange(0, 60, 5)
        item |= {"stops": stops, "price": due.to_json(), "airline": airline}
        item["flight_number"] = f"{_AIRLINES[airline]}{rng.randint(100, 999)}"
        item["departure_time"] = f"{start // 60:02}:{start % 60:02}"
        item["arrival_time"] = f"{end // 60:02}:{end % 60:02}"
        if not is_return:
            item.pop("return_date", None)


def flight_status(draft: Draft) -> None:
    """Report every flight as on time."""
    draft.body |= {"flight_state": "scheduled", "delay_minutes": 0}


def offer_rooms(draft: Draft) -> None:
    """Price rooms by a nightly rate that grows with the stars."""
    arguments = draft.arguments
    nights = _refuse_backwards(draft, "check_in", "check_out")
    for item in draft.items:
        stars = max(draft.rng.randint(3, 5), int(arguments.get("min_stars", 3)))
        rate = 40 + 15 * stars + draft.rng.uniform(-9, 9) + 12 * (arguments["guests"] - 1)
        due = money(round(rate, 2), arguments.get("currency")).times(nights)
        item |= {"stars": stars, "nights": nights, "price": due.to_json()}


def offer_cars(draft: Draft) -> None:
    """Price cars by a daily rate per class, times the days begun."""
    days = max(1, _refuse_backwards(draft, "start_date", "end_date", is_same_day_fine=True))
    for item in draft.items:
        rate = _CAR_DAYS.get(item["car_class"], 40) * draft.rng.uniform(0.9, 1.25)
        item["price"] = money(rate, draft.arguments.get("currency")).times(days).to_json()


def charge_car(draft: Draft) -> None:
    """Charge a quarter more for full insurance."""
    if draft.arguments.get("insurance") == "full":
        price = draft.body["price"]
        dearer = CurrencyAmount(money(price["amount"] * 1.25).amount, price["currency"])
        draft.body["price"] = dearer.to_json()


def _refuse_backwards(
    draft: Draft, first: str, last: str, *, is_same_day_fine: bool = False
) -> int:
    """Return the days between two dates.

    Raises:
        RequestRefused: the second date is too early.
    """
    ends = [date.fromisoformat(draft.arguments[name]) for name in (first, last)]
    days = (ends[1] - ends[0]).days
    if days < 0 or (days == 0 and not is_same_day_fine and first == "check_in"):
        status = draft.call.operation.refusal(422, 400)
        raise RequestRefused(status, f"{last} must come after {first}.")
    return days


TRAVEL = Playbook(
    behaviours={
        "flight_search_offers": offer_flights,
        "flight_get_status": flight_status,
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


def offer_tables(draft: Draft) -> None:
    """Set a deposit per head, and a different time for each table when none was requested."""
    for item, time in zip(draft.items, _SERVING_TIMES, strict=False):
        item["time"] = draft.arguments.get("time", time)
        item["price"] = money(draft.rng.choice((5, 8, 10))).times(item["party_size"]).to_json()


def offer_meals(draft: Draft) -> None:
    """Price a portion of each meal."""
    for item in draft.items:
        due = money(draft.rng.randrange(850, 2400, 50) / 100, draft.arguments.get("currency"))
        item["price"] = due.to_json()


def charge_meals(draft: Draft) -> None:
    """Charge the price of a portion times the quantity."""
    portion = find_money(draft.parents)
    if portion:
        draft.body["price"] = portion.times(draft.body["quantity"]).to_json()


DINING = Playbook(
    behaviours={
        "dining_search_tables": offer_tables,
        "dining_search_meals": offer_meals,
        "dining_order_meal": charge_meals,
    },
    words={
        "restaurant_name": ["Casa Verde", "Tasca da Rua", "The Olive Tree", "Luna", "Old Mill"],
        "meal_name": ["Vegetable curry", "Margherita pizza", "Grilled sea bass", "Ramen", "Tacos"],
        "opening_hours": ["Daily 12:00 to 23:00", "Tuesday to Sunday 18:00 to 24:00"],
    },
)


def sum_report(draft: Draft) -> None:
    """Sum the items of a report, which must have one currency."""
    items = draft.arguments["items"]
    currencies = sorted({item["currency"] for item in items})
    if len(currencies) > 1:
        status = draft.call.operation.refusal(422, 400)
        raise RequestRefused(
            status, f"items: one report has one currency, not {', '.join(currencies)}."
        )
    exact = sum((money(item["amount"]).amount for item in items), Decimal("0.00"))
    draft.body["total"] = money(exact, next(iter(currencies), None)).to_json()


def check_policy(draft: Draft) -> None:
    """Report items over the limit; any such finding disallows the report."""
    draft.items = [
        {"item_number": number, "finding_text": "Costs more than 2000; ask first."}
        for number, item in enumerate(draft.arguments["items"], start=1)
        if item["amount"] > 2000
    ]
    draft.body["allowed"] = not draft.items


def list_categories(draft: Draft) -> None:
    """List every category once, with its limit."""
    draft.items = [
        {"category": name, "daily_limit": money(limit).to_json()}
        for name, limit in _DAILY_LIMITS.items()
    ]


def number_invoices(draft: Draft) -> None:
    """Number the invoices, and let open ones fall due in the coming weeks."""
    for item in draft.items:
        due = draft.call.now + timedelta(days=draft.rng.randint(3, 30))
        item["invoice_number"] = f"INV-{draft.rng.randint(10000, 99999)}"
        item["due_date"] = due.date().isoformat()


def offer_free_slots(draft: Draft) -> None:
    """Offer different times of the day, in order."""
    times = sorted(draft.rng.sample(("09:00", "10:30", "13:00", "14:30", "16:00"), 3))
    minutes = draft.arguments.get("duration_minutes", 30)
    day = draft.arguments["date"]
    draft.items = [{"date": day, "time": time, "duration_minutes": minutes} for time in times]


def find_files(draft: Draft) -> None:
    """Name files after the query, the latest first unless requested otherwise.

    A query that is a whole name, with its suffix, finds that file first.
    """
    query = draft.arguments["query"]
    stem = "-".join(re.findall(r"\w+", query.lower())) or "file"
    for age, item in enumerate(draft.items):
        changed = draft.call.now - timedelta(days=7 * age + 1)
        suffix = _SUFFIXES.get(item["file_kind"], "txt")
        item["file_name"] = f"{stem}-{age + 1}.{suffix}"
        if age == 0 and _FILE_NAME.fullmatch(query):
            item["file_name"] = query
        item["modified_at"] = timestamp(changed)
    if draft.arguments.get("sort_by") == "oldest":
        draft.items.reverse()


OFFICE = Playbook(
    behaviours={
        "expense_file_report": sum_report,
        "expense_check_policy": check_policy,
        "expense_list_categories": list_categories,
        "payment_list_invoices": number_invoices,
        "calendar_find_free_slots": offer_free_slots,
        "file_find_files": find_files,
    },
    standing={
        "channel_id": [
            {"channel_id": "chn_team", "channel_name": "team", "channel_kind": "team"},
            {"channel_id": "chn_travel", "channel_name": "travel", "channel_kind": "project"},
            {"channel_id": "chn_finance", "channel_name": "finance", "channel_kind": "project"},
            {"channel_id": "chn_general", "channel_name": "general", "channel_kind": "company"},
        ],
        "folder_id": [
            {"folder_id": "fld_travel", "folder_name": "Travel"},
            {"folder_id": "fld_reports", "folder_name": "Reports"},
            {"folder_id": "fld_invoices", "folder_name": "Invoices"},
            {"folder_id": "fld_archive", "folder_name": "Archive"},
        ],
    },
    words={
        "vendor_name": ["Papier & Co", "Nordic Hosting", "Blue Cleaning", "Office Plants"],
        "folder_name": ["Travel", "Reports", "Invoices", "Archive"],
        "text_preview": ["Summary of the last quarter, with the figures by region."],
    },
)


def forecast_of_day(draft: Draft) -> None:
    """Report the weather of one city on one day, equal for equal requests."""
    day = draft.arguments.get("date") or draft.call.now.date().isoformat()
    sky = _sky(draft.arguments["city"], day)
    draft.body |= {name: value for name, value in sky.items() if name in draft.body}


def weather_now(draft: Draft) -> None:
    """Report a temperature between today's minimum and maximum."""
    sky = _sky(draft.arguments["city"], draft.call.now.date().isoformat())
    middle = round((sky["temperature_min_c"] + sky["temperature_max_c"]) / 2, 1)
    draft.body |= {"condition": sky["condition"], "temperature_c": middle}
    draft.body |= {"feels_like_c": round(middle - 1.5, 1), "wind_kmh": sky["wind_kmh"]}


def list_alerts(draft: Draft) -> None:
    """Report one warning for some cities, none for most."""
    draft.items = draft.items[: draft.rng.choice((0, 0, 1))]


def air_quality(draft: Draft) -> None:
    """Report an air quality index with its level."""
    index = draft.rng.randint(12, 120)
    levels = ((50, "good"), (100, "fair"), (200, "poor"))
    level = next((name for limit, name in levels if index <= limit), "bad")
    draft.body |= {"air_quality_index": index, "air_quality_level": level}


def _sky(city: str, day: str) -> dict[str, Any]:
    rng = Random(f"{city.casefold()}:{day}")
    north = Random(city.casefold()).uniform(-4, 6)
    turn = date.fromisoformat(day).timetuple().tm_yday / 365 * 2 * math.pi
    low = round(8 - 9 * math.cos(turn) + north + rng.uniform(-3, 3), 1)
    high = round(low + rng.uniform(3, 9), 1)
    wet = "snow" if high < 2 else "rain"
    condition = rng.choice(("clear", "clear", "cloudy", "cloudy", wet, wet, "fog", "storm"))
    is_wet = condition in ("rain", "snow", "storm")
    return {
        "date": day,
        "condition": condition,
        "temperature_min_c": low,
        "temperature_max_c": high,
        "rain_chance_percent": rng.randint(60, 95) if is_wet else rng.randint(0, 25),
        "precipitation_mm": round(rng.uniform(1, 14), 1) if is_wet else 0.0,
        "wind_kmh": round(rng.uniform(4, 60 if condition == "storm" else 28), 1),
        "weather_text": _TEXTS[condition],
    }


WEATHER = Playbook(
    behaviours={
        "weather_get_forecast": forecast_of_day,
        "weather_get_history": forecast_of_day,
        "weather_get_current": weather_now,
        "weather_list_alerts": list_alerts,
        "weather_get_air_quality": air_quality,
    },
    words={"headline": ["Strong wind along the coast", "Heavy rain in the evening"]},
)

STANDARD = join([TRAVEL, DINING, OFFICE, WEATHER])
