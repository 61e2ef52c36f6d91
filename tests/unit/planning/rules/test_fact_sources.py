"""Values out of what earlier legs did."""

from datetime import UTC, datetime
from decimal import Decimal

from orchestrator.catalog.tool import Tool
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.planning.models import Fact
from orchestrator.planning.rules.fact_sources import total_of, value_from_facts
from orchestrator.planning.rules.parameters import Parameter, read_parameter
from orchestrator.planning.rules.situation import FactSource

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)

DAY: JsonObject = {"type": "string", "format": "date"}
LINES: JsonObject = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "required": ["description", "amount", "currency"],
        "properties": {
            "description": {"type": "string", "maxLength": 40},
            "amount": {"type": "number"},
            "currency": {"type": "string"},
            "reference": {"type": "string"},
            "category": {"type": "string", "enum": ["meal", "boat", "other"]},
        },
    },
}


def learned(
    name: str, body: JsonObject, *, amount: str = "", currency: str = "EUR", reads: bool = False
) -> FactSource:
    tool = Tool(
        name=name,
        document=name,
        domain=f"{name}s",
        summary=f"Hire a {name}.",
        input_schema={"type": "object"},
    )
    price = Money(amount=Decimal(amount), currency=currency) if amount else None
    return FactSource(
        Fact(
            source="1-x.2",
            tool=name,
            side_effect=not reads,
            arguments={"holder": "pii:holder"},
            body=body,
            price=price,
        ),
        tool,
    )


def parameter(name: str, schema: JsonObject) -> Parameter:
    return read_parameter(name, schema, schema, required=True)


BOAT = learned(
    "boat",
    {
        "boat_booking_id": "bb-1",
        "status": "confirmed",
        "harbour_city": "Faro",
        "start_date": "2026-12-03",
        "end_date": "2026-12-06",
        "created_at": "2026-11-21T10:00:00Z",
    },
    amount="120.50",
)
TENT = learned("tent", {"tent_id": "t-1", "from_date": "2026-12-06"}, amount="30")


def test_each_side_effect_becomes_a_line() -> None:
    """A list of costs has one element per call: what it was, its price, its id, its category."""
    lines = value_from_facts(parameter("items", LINES), [BOAT, TENT], now=NOW)

    assert lines == [
        {
            "description": "Boat hired: Faro, 2026-12-03, 2026-12-06",
            "amount": 120.5,
            "currency": "EUR",
            "reference": "bb-1",
            "category": "boat",
        },
        {
            "description": "Tent hired: 2026-12-06",
            "amount": 30,
            "currency": "EUR",
            "reference": "t-1",
            "category": "other",
        },
    ]


def test_calls_without_a_price_or_an_effect_make_no_line() -> None:
    """What was only looked up cost nothing, and a line needs an amount."""
    looked_up = learned("boat", {"price": {"amount": 5, "currency": "EUR"}}, reads=True)

    assert (
        value_from_facts(parameter("items", LINES), [looked_up, learned("tent", {})], now=NOW)
        is None
    )


def test_one_amount_is_the_sum_of_one_currency() -> None:
    """Cents survive the addition; several currencies have no sum."""
    foreign = learned("tent", {}, amount="5", currency="USD")
    number = parameter("amount", {"type": "number"})

    assert value_from_facts(number, [BOAT, TENT], now=NOW) == 150.5
    assert value_from_facts(parameter("currency", {"type": "string"}), [BOAT], now=NOW) == "EUR"
    assert total_of([BOAT, foreign]) is None


def test_limits_are_not_filled_with_what_was_spent() -> None:
    """The most that may be paid is not what something else cost."""
    assert value_from_facts(parameter("max_price", {"type": "number"}), [BOAT], now=NOW) is None


def test_dates_span_all_that_was_done() -> None:
    """The first day starts, the last ends; when the record was made does not matter."""
    both = [TENT, BOAT]

    assert value_from_facts(parameter("start", DAY), both, now=NOW) == "2026-12-03"
    assert value_from_facts(parameter("until", DAY), both, now=NOW) == "2026-12-06"
    assert value_from_facts(parameter("until", DAY), [TENT], now=NOW) is None


def test_moment_is_made_of_a_day_and_a_time() -> None:
    """A date-time input is fed by a date and a time that stand apart."""
    table = learned("table", {"date": "2026-12-04", "time": "20:00"})
    moment = parameter("starts_at", {"type": "string", "format": "date-time"})

    assert value_from_facts(moment, [table], now=NOW) == "2026-12-04T20:00:00Z"


def test_same_name_comes_before_same_meaning() -> None:
    """A place is found by its name, else by any word for a place."""
    text: JsonObject = {"type": "string"}

    assert value_from_facts(parameter("location", text), [BOAT], now=NOW) == "Faro"
    assert value_from_facts(parameter("boat_booking_id", text), [BOAT], now=NOW) == "bb-1"


def test_handles_to_personal_fields_are_not_passed_on() -> None:
    """A handle means something only in the call it was made for."""
    assert value_from_facts(parameter("holder", {"type": "string"}), [BOAT], now=NOW) is None
