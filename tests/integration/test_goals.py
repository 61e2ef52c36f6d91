"""Goals in plain words, over the bundled documents, with the sandbox as the witness."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.messages.mission import MissionRequest, MissionResult, MissionStatus
from orchestrator.runtime.demo import DINING, DINNER, LEAVING, RETURNING, TRIP
from orchestrator.testing import approve, run_to_end

if TYPE_CHECKING:
    from tests.integration.conftest import Witness

RENTAL = (
    f"Rent a car in Lisbon from {LEAVING} to {RETURNING}. "
    f'Add an event titled "Car rental" in Lisbon from {LEAVING} to {RETURNING} to my calendar'
)
SHARE = "Share the file sales-report-q3.xlsx with lee@example.com"
WEATHER = "What is the weather in Oslo tomorrow?"

MOST_TOOLS = 8
"""A step sees at most 4 tools by its band, and what feeds them."""


EFFECTS = {
    TRIP: {"flight_book_offer", "hotel_book_room", "expense_file_report"},
    DINNER: {"dining_reserve_table", "message_send"},
    WEATHER: set(),
    RENTAL: {"car_book_offer", "calendar_create_event"},
    SHARE: {"file_share_file"},
}
"""What each goal asks for, and nothing else."""

each_goal = pytest.mark.parametrize("goal", EFFECTS, ids=lambda goal: "-".join(goal.split()[:3]))


@dataclass(frozen=True)
class Run:
    """A goal that was reached, and the cards that were approved on the way, by tool."""

    result: MissionResult
    cards: dict[str, ConfirmationCard]


async def run(client: MissionClient, goal: str) -> Run:
    cards: dict[str, ConfirmationCard] = {}

    async def keep(mission: MissionHandle, card: ConfirmationCard) -> None:
        cards[card.tool] = card
        await approve(mission, card)

    mission = await client.start(MissionRequest(goal=goal))
    return Run(await run_to_end(mission, keep), cards)


@pytest.fixture(scope="module")
async def runs(client: MissionClient) -> dict[str, Run]:
    """Every goal, run once, all at the same time."""
    done = await asyncio.gather(*(run(client, goal) for goal in EFFECTS))
    return dict(zip(EFFECTS, done, strict=True))


def amount_of(resource: object) -> Decimal:
    assert isinstance(resource, dict)
    price = resource.get("price") or resource["total"]
    return Decimal(str(price["amount"]))


@each_goal
async def test_a_goal_has_exactly_the_effects_it_asks_for(
    goal: str, runs: dict[str, Run], sandbox: Witness
) -> None:
    """What the providers hold is what was asked for, once each, and what the receipts say."""
    result = runs[goal].result
    live = await sandbox.live(result.mission_id)

    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert sorted(e["operation"] for e in live) == sorted(EFFECTS[goal])
    assert {e["request_id"] for e in live} == {r.call_id for r in result.receipts}
    assert {e["resource_id"] for e in live} <= {
        value for r in result.receipts for value in r.reference.values()
    }
    assert await sandbox.duplicates(result.mission_id) == []
    assert result.summary


@each_goal
def test_every_step_sees_few_of_the_tools(goal: str, runs: dict[str, Run]) -> None:
    """No step of any leg is shown more than a handful out of the whole catalog."""
    result = runs[goal].result
    steps = [step for leg in result.legs for step in leg.steps]

    assert steps
    assert result.catalog_size >= 51
    assert {step.catalog_size for step in steps} == {result.catalog_size}
    assert all(1 <= len(step.tools_forwarded) <= MOST_TOOLS for step in steps)


async def test_legs_that_need_nothing_of_each_other_run_side_by_side(
    client: MissionClient,
) -> None:
    """Flight and hotel wait for their confirmations at the same time; the expense for both."""
    mission = await client.start(MissionRequest(goal=TRIP))
    together: set[str] = set()

    async def both_first(mission: MissionHandle, card: ConfirmationCard) -> None:
        open_now = {c.tool for c in await mission.confirmations()}
        together.update(open_now if len(open_now) == 2 else ())
        if together:
            await approve(mission, card)

    result = await run_to_end(mission, both_first)

    assert together == {"flight_book_offer", "hotel_book_room"}
    assert result.status is MissionStatus.SUCCEEDED
    assert [o.tool for o in result.ledger.obligations][-1] == "expense_file_report"


async def test_the_offers_that_were_found_are_booked_and_expensed(
    runs: dict[str, Run], sandbox: Witness
) -> None:
    """One offer id from search to card to booking, and its real price from there to the expense."""
    result, cards = runs[TRIP].result, runs[TRIP].cards
    flight = await sandbox.made(result.mission_id, "flight_book_offer")
    hotel = await sandbox.made(result.mission_id, "hotel_book_room")
    report = await sandbox.made(result.mission_id, "expense_file_report")

    assert flight["offer_id"] == cards["flight_book_offer"].arguments["offer_id"]
    assert (flight["origin"], flight["destination"]) == ("Berlin", "Lisbon")
    assert (flight["departure_date"], flight["return_date"]) == (LEAVING, RETURNING)
    assert hotel["room_offer_id"] == cards["hotel_book_room"].arguments["room_offer_id"]
    assert hotel["city"] == "Lisbon"
    assert (hotel["check_in"], hotel["check_out"]) == (LEAVING, RETURNING)
    for tool, booking in (("flight_book_offer", flight), ("hotel_book_room", hotel)):
        price = cards[tool].price
        assert price is not None
        assert price.amount == amount_of(booking)
    items = report["items"]
    assert isinstance(items, list)
    amounts = [Decimal(str(item["amount"])) for item in items if isinstance(item, dict)]
    assert sorted(amounts) == sorted([amount_of(flight), amount_of(hotel)])
    assert amount_of(report) == amount_of(flight) + amount_of(hotel)


async def test_spend_counts_what_was_paid_and_nothing_twice(
    runs: dict[str, Run], sandbox: Witness
) -> None:
    """A trip costs its flight and its hotel; the expense that repeats both costs nothing."""
    result = runs[TRIP].result
    flight = await sandbox.made(result.mission_id, "flight_book_offer")
    hotel = await sandbox.made(result.mission_id, "hotel_book_room")
    (spent,) = result.spend.amounts()

    assert spent.currency == "EUR"
    assert spent.amount == amount_of(flight) + amount_of(hotel)


async def test_the_team_reads_about_the_table_that_was_reserved(
    runs: dict[str, Run], sandbox: Witness
) -> None:
    """The message carries the facts of the reservation: where, when and under which reference."""
    result = runs[DINNER].result
    table = await sandbox.made(result.mission_id, "dining_reserve_table")
    message = await sandbox.made(result.mission_id, "message_send")

    assert (table["party_size"], table["cuisine"], table["city"]) == (4, "italian", "Lisbon")
    assert (table["date"], table["time"]) == (DINING, "20:00")
    assert message["channel_kind"] == "team"
    for fact in ("restaurant_name", "date", "time", "reservation_id"):
        assert str(table[fact]) in str(message["text"])


async def test_a_question_is_answered_without_asking_anybody(
    runs: dict[str, Run], sandbox: Witness
) -> None:
    """The weather is looked up for the right place and day, with one tool in sight."""
    result = runs[WEATHER].result
    (leg,) = result.legs

    assert "Oslo" in result.summary
    assert leg.decisions == ()
    assert {step.tools_forwarded for step in leg.steps} == {("weather_get_forecast",)}
    assert await sandbox.ledger(result.mission_id) == []


async def test_the_rental_is_in_the_calendar_on_its_days(
    runs: dict[str, Run], sandbox: Witness
) -> None:
    """The event has the dates of the car that was rented, and the place that the goal says."""
    result = runs[RENTAL].result
    car = await sandbox.made(result.mission_id, "car_book_offer")
    event = await sandbox.made(result.mission_id, "calendar_create_event")

    assert (car["start_date"], car["end_date"]) == (LEAVING, RETURNING)
    assert (event["start_date"], event["end_date"]) == (car["start_date"], car["end_date"])
    assert event["place"] == car["city"] == "Lisbon"


async def test_the_file_that_was_looked_for_is_shared(
    runs: dict[str, Run], sandbox: Witness
) -> None:
    """Found by its name, then shared with the address that the goal gives."""
    result = runs[SHARE].result
    share = await sandbox.made(result.mission_id, "file_share_file")

    assert "sales-report" in str(share["file_name"]).lower()
    assert share["recipient_email"] == "lee@example.com"
