"""Whether an answer says that a condition is met: in so many words, or a person is asked."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.record import JsonObject
from orchestrator.planning.deciding import decided_by, deed_of_a_look, is_asked_at_once
from orchestrator.planning.models import (
    AskUser,
    CallTool,
    Finish,
    GiveUp,
    GoalCondition,
    Observation,
    StepContext,
)

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=UTC)
DONE = Finish(summary="Looked.")


def sky(condition: str, **other: JsonValue) -> JsonObject:
    """A forecast for Oslo."""
    return {
        "city": "Oslo",
        "date": "2026-12-04",
        "condition": condition,
        "temperature_min_c": 2.0,
        "temperature_max_c": 6.0,
        "rain_chance_percent": 10,
        "precipitation_mm": 0.0,
        "weather_text": "A quiet day.",
        **other,
    }


RAINY = sky("rain", rain_chance_percent=90, precipitation_mm=8.0, weather_text="Rain all day.")
CLEAR = sky("clear")
DOUBTFUL = sky("storm", rain_chance_percent=80, precipitation_mm=9.0, weather_text="Rain, storm.")
EVENTS: JsonObject = {"events": [{"event_id": "e-1", "title": "Dentist", "start": "x"}]}
SLOTS: JsonObject = {
    "slots": [{"start": "2026-12-04T09:00:00Z", "end": "2026-12-04T11:00:00Z"}],
}
TABLE: JsonObject = {"restaurant_name": "Luna", "city": "Porto", "time": "20:00"}
TABLES = "dining_search_tables"
INVOICE: JsonObject = {
    "invoices": [
        {"invoice_id": "i1", "vendor_name": "Acme", "invoice_status": "open"},
        {"invoice_id": "i2", "vendor_name": "Nordic Hosting", "invoice_status": "paid"},
    ]
}
ANOTHER: JsonObject = {
    "invoices": [{"invoice_id": "i3", "vendor_name": "Plants", "invoice_status": "overdue"}]
}
FORECAST, CALENDAR = "weather_get_forecast", "calendar_list_events"
FREE, BILLS, RENTAL = "calendar_find_free_slots", "payment_list_invoices", "car_get_booking"


@pytest.fixture
def decide(shipped: Catalog, step_context: StepContext) -> Any:
    def decide(
        told: str, tool: str, body: JsonValue, *, unless: bool = False, goal: str = ""
    ) -> Any:
        condition = GoalCondition(clause=f"if {told}", told=told, is_unless=unless, tools=(tool,))
        seen = Observation(step=1, tool=tool, outcome="succeeded", body=body)
        context = step_context.model_copy(
            update={"decides": (condition,), "observations": (seen,), "mission_goal": goal}
        )
        (decided,) = decided_by(DONE, context, shipped)
        return decided

    return decide


@pytest.mark.parametrize(
    ("told", "tool", "body", "met"),
    [
        # A state, by the words that the document lists for it.
        ("it rains in Oslo on 2026-12-04", FORECAST, RAINY, True),
        ("it rains in Oslo on 2026-12-04", FORECAST, CLEAR, False),
        ("it is raining in Oslo", FORECAST, RAINY, True),
        ("it does not rain in Oslo", FORECAST, RAINY, False),
        ("it doesn't rain in Oslo", FORECAST, CLEAR, True),
        ("it snows in Oslo", FORECAST, sky("snow"), True),
        ("it rains in Oslo", FORECAST, DOUBTFUL, None),
        ("it rains in Oslo", FORECAST, sky("cloudy", weather_text="Rain later."), None),
        ("it rains in Oslo", FORECAST, sky("rain", rain_chance_percent=5), None),
        ("it is sunny in Oslo", FORECAST, CLEAR, None),
        # Another day than the one that is meant.
        ("it rains in Oslo on 2026-12-09", FORECAST, RAINY, None),
        # Two things at once.
        ("it rains or snows in Oslo", FORECAST, RAINY, None),
        ("it rains in Oslo and the museum is open", FORECAST, RAINY, None),
        # Numbers of one kind; of several fields all or none.
        ("the temperature is below 10 degrees", FORECAST, CLEAR, True),
        ("the temperature is below 4 degrees", FORECAST, CLEAR, None),
        ("the temperature is above 10 degrees", FORECAST, CLEAR, False),
        ("the chance of rain is over 50 percent", FORECAST, RAINY, True),
        ("the chance of rain is under 50 percent", FORECAST, CLEAR, True),
        ("the chance of rain is no more than 50 percent", FORECAST, RAINY, False),
        ("the temperature in Oslo on 2026-12-04 is below 10 degrees", FORECAST, CLEAR, True),
        ("the wages are above 10", FORECAST, CLEAR, None),
        # What is listed.
        ("I have a meeting on 2026-12-04", CALENDAR, {"events": []}, False),
        ("I have no meeting on 2026-12-04", CALENDAR, {"events": []}, True),
        ("my calendar is empty on 2026-12-04", CALENDAR, {"events": []}, True),
        ("my calendar is empty on 2026-12-04", CALENDAR, EVENTS, False),
        ("there is a Dentist in my calendar", CALENDAR, EVENTS, True),
        ("I have a meeting with Bo", CALENDAR, EVENTS, None),
        ("there is a free table in Porto at 20:00 for 2", TABLES, {"tables": [TABLE]}, True),
        ("there is a free table in Porto at 21:00 for 2", TABLES, {"tables": [TABLE]}, None),
        ("there is a free table at Tasca in Porto", TABLES, {"tables": [TABLE]}, None),
        ("there is a free table in Porto at 20:00", TABLES, {"tables": []}, False),
        ("Bo is busy", CALENDAR, EVENTS, None),
        ("I have nothing on 2026-12-04", CALENDAR, EVENTS, False),
        ("I have nothing on 2026-12-04", CALENDAR, {"events": []}, True),
        ("I have nothing on 2026-12-04", FREE, SLOTS, None),
        ("I am free", FREE, {"slots": []}, False),
        ("I am free on 2026-12-04 at 10:00", FREE, SLOTS, True),
        ("I am free on 2026-12-04 at 12:00", FREE, SLOTS, None),
        # A thing of several by its name, and a field by the name of its value.
        ("the Acme invoice is open", BILLS, INVOICE, True),
        ("the Nordic Hosting invoice is still open", BILLS, INVOICE, False),
        ("the Nordic Hosting invoice is overdue", BILLS, ANOTHER, None),
        ("the invoice is open", BILLS, INVOICE, None),
        ("it is in building South", RENTAL, {"booking_id": "b", "building": "North"}, False),
        ("it is in building North", RENTAL, {"booking_id": "b", "building": "North"}, True),
        ("it is insured", RENTAL, {"booking_id": "b", "insured": True}, True),
        ("it is insured", RENTAL, {"booking_id": "b", "insured": False}, False),
        ("Bo is in a good mood", RENTAL, {"booking_id": "b"}, None),
    ],
)
def test_only_what_is_said_in_so_many_words_decides(
    decide: Any, told: str, tool: str, body: JsonValue, met: bool | None
) -> None:
    """Everything else is left open, and its question holds the answer."""
    decided = decide(told, tool, body)

    assert decided.met is met, decided.why
    assert decided.why
    assert decide(told, tool, body, unless=True).met is (None if met is None else not met)


def test_who_is_free_at_the_time_of_the_goal_is_free(decide: Any) -> None:
    """The time that the goal states is meant, not any free time of the day."""
    at = "If I am free on 2026-12-04, schedule a call at {}"

    assert decide("I am free on 2026-12-04", FREE, SLOTS, goal=at.format("10:00")).met is True
    assert decide("I am free on 2026-12-04", FREE, SLOTS, goal=at.format("15:00")).met is None


def test_a_price_is_compared_with_one_in_its_currency(decide: Any) -> None:
    """Nothing is converted, and of several prices all or the lowest tell."""
    offers: JsonObject = {
        "offers": [
            {"offer_id": "o1", "price": {"amount": "120.00", "currency": "EUR"}},
            {"offer_id": "o2", "price": {"amount": "240.00", "currency": "EUR"}},
        ]
    }
    tool = "flight_search_offers"

    assert decide("the cheapest flight costs less than 200 EUR", tool, offers).met is True
    assert decide("the flights cost less than 200 EUR", tool, offers).met is None
    assert decide("the flights cost more than 300 EUR", tool, offers).met is False
    assert decide("the cheapest flight costs less than 200 USD", tool, offers).met is None


def test_a_look_that_finds_nothing_out_is_asked(
    shipped: Catalog, step_context: StepContext
) -> None:
    """It is no loss of the mission, and no question for what would only help to look."""
    told = GoalCondition(clause="if it rains", told="it rains", tools=(FORECAST,))
    look = step_context.model_copy(update={"decides": (told,), "only_looks": True})
    acting = look.model_copy(update={"only_looks": False})
    ask = AskUser(question="Which city?", fields={"city": {"type": "string"}})

    for ended in (GiveUp(reason="no such city"), ask, DONE):
        (decided,) = decided_by(ended, look, shipped)
        assert decided.met is None
    assert "no such city" in decided_by(GiveUp(reason="no such city"), look, shipped)[0].why
    assert decided_by(GiveUp(reason="no"), acting, shipped) == ()
    assert decided_by(ask, acting, shipped) == ()
    assert decided_by(CallTool(tool=FORECAST), look, shipped) == ()


def test_what_no_tool_tells_is_asked_at_once(step_context: StepContext) -> None:
    """No planner is troubled with it."""
    told = GoalCondition(clause="if Bo likes it", told="Bo likes it")

    assert is_asked_at_once(step_context.model_copy(update={"decides": (told,)}))
    assert not is_asked_at_once(step_context)


def test_a_leg_that_only_looks_makes_no_call_that_leaves_something(
    shipped: Catalog, step_context: StepContext
) -> None:
    """Whatever its planner decides."""
    look = step_context.model_copy(update={"only_looks": True})
    book, read = CallTool(tool="hotel_book_room"), CallTool(tool=FORECAST)

    assert deed_of_a_look(book, look, shipped)
    assert deed_of_a_look(read, look, shipped) is None
    assert deed_of_a_look(book, step_context, shipped) is None


@pytest.mark.parametrize(("day", "met"), [("2026-12-04", True), ("2026-11-23", None)])
def test_a_day_that_the_provider_chose_tells_nothing_of_those_that_are_meant(
    day: str, met: bool | None, decide: Any
) -> None:
    """The condition names no day, and the goal does: the forecast of today is none of it."""
    goal = "Book a room in Oslo from 2026-12-04 to 2026-12-06 if it rains there"

    assert decide("it rains there", FORECAST, {**RAINY, "date": day}, goal=goal).met is met


def test_one_day_of_a_stay_tells_nothing_of_the_others(decide: Any) -> None:
    """The forecast is of the first; whether it rains on the last, nobody has looked up."""
    told = "it rains there from 2026-12-04 to 2026-12-06"

    assert decide(told, FORECAST, {**RAINY, "date": "2026-12-04"}).met is None
