"""Python functions as tools: a seat in a theatre, with its cancel and a probe."""

import json
import os
from pathlib import Path

from pydantic import BaseModel

from orchestrator import Rejected, tool

SEATS = Path(os.environ.get("SEATS", "seats.json"))
"""Stands for the theatre's own database: the holder of each seat, by the key of the booking."""


class Ticket(BaseModel):
    """A seat that is booked."""

    ticket_id: str
    seat: str
    price: float


def _booked() -> dict[str, str]:
    return dict(json.loads(SEATS.read_text())) if SEATS.exists() else {}


def _write(booked: dict[str, str]) -> None:
    SEATS.write_text(json.dumps(booked))


@tool()
async def cancel_seat(ticket_id: str) -> None:
    """Cancel a booked seat."""
    booked = _booked()
    if booked.pop(ticket_id, None) is None:
        raise Rejected(f"there is no ticket {ticket_id}")
    _write(booked)


@tool(read_only=True)
async def find_seat(call_key: str) -> Ticket | None:
    """Find the seat that a call has booked."""
    seat = _booked().get(call_key)
    return None if seat is None else Ticket(ticket_id=call_key, seat=seat, price=45)


@tool(
    cancel=cancel_seat,
    confirm="structured-reservation",
    idempotent=True,
    probe=find_seat,
    price={"charged": {"amount": "$response.body#/price", "currency": "EUR"}},
)
async def book_seat(seat: str, idempotency_key: str) -> Ticket:
    """Book a seat for tonight's show."""
    booked = _booked()
    if seat in booked.values() and booked.get(idempotency_key) != seat:
        raise Rejected(f"seat {seat} is taken")
    _write({**booked, idempotency_key: seat})
    return Ticket(ticket_id=idempotency_key, seat=seat, price=45)
