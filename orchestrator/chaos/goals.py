"""What the missions of a chaos run are about, when a user names no goals of their own."""

from orchestrator.runtime.demo import DINNER, TRIP

GOALS = (
    TRIP,
    DINNER,
    "Rent a car in Lisbon from 2026-12-03 to 2026-12-06 and add it to my calendar",
    "Find the latest sales report file and share it with lee@example.com",
)
"""Trips, dinners, rentals and files: tools of nine of the bundled documents."""
