"""Values that cannot be meant are asked about; those that may be are left alone."""

from __future__ import annotations

import pytest

from orchestrator.catalog.tool import Effect, InputBinding, Tool
from orchestrator.core.record import JsonObject
from orchestrator.planning.matching.impossible import impossible_values
from tests.unit.planning.matching.conftest import NOW, text, tool

DAY = text(format="date")
STAY = tool("book_hotel_stay", Effect.OBLIGATION, {"check_in": DAY, "check_out": DAY})
TRIP = tool(
    "book_trip",
    Effect.OBLIGATION,
    {
        "origin": text("City."),
        "destination": text("City."),
        "departure_date": DAY,
        "return_date": DAY,
        "seats": {"type": "integer"},
    },
)
EVENT = tool("add_event", Effect.WRITE, {"start_date": DAY, "end_date": DAY})
CLAIM = tool("claim_expense", Effect.WRITE, {"spent_on": DAY, "amount": {"type": "number"}})
RENTAL = tool(
    "rent_car", Effect.OBLIGATION, {"pickup_location": text(), "dropoff_location": text()}
)
MOVE = tool("move_money", Effect.WRITE, {"from_account": text(), "to_account": text()})
NOTE = tool("send_note", Effect.WRITE, {"recipient": text(format="email"), "text": text()})


def about(tool: Tool, values: JsonObject) -> list[str]:
    return [doubt.about for doubt in impossible_values(tool, values, now=NOW)]


@pytest.mark.parametrize(
    ("tool", "values", "asked"),
    [
        (TRIP, {"departure_date": "2026-11-03"}, ["departure date 2026-11-03"]),
        (TRIP, {"departure_date": "2026-11-23"}, []),
        (CLAIM, {"spent_on": "2026-11-03"}, []),
        (STAY, {"check_in": "2026-12-05", "check_out": "2026-12-03"}, ["check out 2026-12-03"]),
        (STAY, {"check_in": "2026-12-05", "check_out": "2026-12-05"}, ["check out 2026-12-05"]),
        (EVENT, {"start_date": "2026-12-05", "end_date": "2026-12-05"}, []),
        (EVENT, {"start_date": "2026-12-05", "end_date": "2026-12-04"}, ["end date 2026-12-04"]),
        (TRIP, {"origin": "Bérlin", "destination": "berlin"}, ["destination berlin"]),
        (RENTAL, {"pickup_location": "Rome", "dropoff_location": "Rome"}, []),
        (MOVE, {"from_account": "A1", "to_account": "A1"}, ["to account A1"]),
        (TRIP, {"seats": 0}, ["seats 0"]),
        (TRIP, {"seats": -2}, ["seats -2"]),
        (TRIP, {"seats": 1}, []),
        (CLAIM, {"amount": -5}, ["amount -5"]),
        (NOTE, {"recipient": "jo@example.com", "text": "Jo@example.com"}, ["text Jo@example.com"]),
        (NOTE, {"recipient": "jo@example.com", "text": "hello"}, []),
    ],
)
def test_what_cannot_be_meant_is_asked_about(
    tool: Tool, values: JsonObject, asked: list[str]
) -> None:
    """Judged by the names and schemas of inputs, and the requester's day."""
    assert about(tool, values) == asked


def test_the_question_says_why() -> None:
    """The day that it is stands beside the day that has gone by."""
    (doubt,) = impossible_values(TRIP, {"departure_date": "2026-11-03"}, now=NOW)

    assert doubt.kind == "impossible"
    assert "in the past" in doubt.why
    assert "2026-11-23" in doubt.why


def test_a_change_of_nothing_is_asked_about() -> None:
    """A PATCH that only says which thing it means would be told as done."""
    sent = {"job_id": text("Which."), "state": text("What it becomes."), "Notify": text("Whom.")}
    written = tool("change_job", Effect.WRITE, sent)
    places = {"job_id": "path", "state": "body", "Notify": "header"}
    bindings = tuple(
        InputBinding.model_validate(
            {"name": name, "location": at, "field": name, "required": at == "path"}
        )
        for name, at in places.items()
    )
    schema = {**written.input_schema, "required": ["job_id"]}
    patch = written.model_copy(
        update={"method": "PATCH", "bindings": bindings, "input_schema": schema}
    )

    assert about(patch, {"job_id": "j-17", "Notify": "Bo"}) == ["Change job"]
    assert about(patch, {"job_id": "j-17", "state": "cancelled"}) == []
    assert about(patch.model_copy(update={"method": "POST"}), {"job_id": "j-17"}) == []
