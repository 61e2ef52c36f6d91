"""A Temporal workflow that books a trip: all of it, or nothing."""

from decimal import Decimal
from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator import Money, ToolSaga


@workflow.defn
class Trip:
    """Books a flight and a room for the same days."""

    @workflow.run
    async def run(self, city: str, leaving: str, returning: str) -> dict[str, str]:
        """Book both; a call that fails for good cancels what was booked before it."""
        budget = Money(amount=Decimal(2000), currency="EUR")
        async with ToolSaga("trip", budget=budget, requester="ana@example.com") as saga:
            flights: Any = await saga.call(
                "flight_search_offers",
                {"origin": "Berlin", "destination": city, "departure_date": leaving},
            )
            offer = flights["offers"][0]["offer_id"]
            flight: Any = await saga.call(
                "flight_book_offer", {"offer_id": offer, "traveler_id": "pii:traveler_id"}
            )
            person = {"traveler_name": "pii:traveler_name", "traveler_email": "pii:traveler_email"}
            days = {"check_in": leaving, "check_out": returning}
            rooms: Any = await saga.call("hotel_search_rooms", {"city": city, **days})
            room = rooms["offers"][0]["room_offer_id"]
            hotel: Any = await saga.call("hotel_book_room", {"room_offer_id": room, **person})
        return {"flight": flight["booking_id"], "hotel": hotel["hotel_booking_id"]}
