"""What the missions of a run are about, and what a success of each has made."""

from typing import Final

from orchestrator.runtime.demo import DINNER, LEAVING, RETURNING, TRIP, day_in

_ORDERS: Final[dict[str, tuple[str, ...]]] = {
    TRIP: ("flight_book_offer", "hotel_book_room", "expense_file_report"),
    DINNER: ("dining_reserve_table", "message_send"),
    f"Rent a car in Lisbon from {LEAVING} to {RETURNING} and add it to my calendar": (
        "car_book_offer",
        "calendar_create_event",
    ),
    "Find the latest sales report file and share it with lee@example.com": ("file_share_file",),
    "Pay the invoice from Papier & Co and message #finance about it": (
        "payment_pay_invoice",
        "message_send",
    ),
    "Upload the text 'Trip notes for Lisbon' as trip-notes.txt": ("file_upload_file",),
    f"Schedule a message to my team for {day_in(8)} at 09:00 saying that the quarter has closed": (
        "message_schedule",
    ),
}

GOALS: Final = tuple(_ORDERS)
"""Trips, dinners, rentals, files, payments and messages: tools of nine of the bundled documents."""


def orders_of(goal: str) -> tuple[str, ...]:
    """The tools whose effects a success of this goal has; nothing is known of goals of others."""
    return _ORDERS.get(goal, ())
