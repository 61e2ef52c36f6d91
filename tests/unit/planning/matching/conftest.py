"""Calls over a small document of its own: vendors, files and rooms, none of which is shipped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import JsonValue

from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.record import JsonObject
from orchestrator.planning.matching.taken import FinderAnswer, TakenCall

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=UTC)


def text(about: str = "", **more: Any) -> JsonObject:
    stated: JsonObject = {"type": "string", "description": about}
    return {**stated, **more}


def tool(name: str, effect: Effect, inputs: Mapping[str, JsonObject], summary: str = "") -> Tool:
    """A tool of the document; all inputs of a side effect are required."""
    required: list[JsonValue] = [*inputs] if effect is not Effect.READ else []
    return Tool(
        name=name,
        document="works",
        domain="works",
        summary=summary or name.replace("_", " ").capitalize(),
        effect=effect,
        input_schema={"type": "object", "properties": dict(inputs), "required": required},
        output_schema={
            "type": "object",
            "properties": {
                "found": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"name": {"type": "string"}}},
                }
            },
        },
        card_type=None if effect is Effect.READ else "structured-payment",
    )


FIND_BILLS = tool("find_bills", Effect.READ, {"state": text("", enum=["open", "late"])})
SETTLE_BILL = tool("settle_bill", Effect.OBLIGATION, {"bill_id": text("The bill.")})
FIND_ROOMS = tool(
    "find_rooms",
    Effect.READ,
    {
        "city": text("City of the house."),
        "check_in": text(format="date"),
        "check_out": text(format="date"),
        "guests": {"type": "integer"},
        "board": text(enum=["breakfast", "half"]),
    },
)
TAKE_ROOM = tool("take_room", Effect.OBLIGATION, {"room_id": text("The room.")})
DROP_ROOM = tool("drop_room", Effect.CANCEL, {"stay_id": text("The stay.")})
SEND_NOTE = tool(
    "send_note", Effect.WRITE, {"to": text(format="email"), "body": text("What to say.")}
)
FIND_CHANNELS = tool(
    "find_channels", Effect.READ, {"query": text()}, "Find a channel or team to write to."
)
TELL = tool(
    "tell", Effect.WRITE, {"channel_id": text("Where."), "text": text("What to say.")}, "Tell it."
)
FIND_BOARDS = tool("find_boards", Effect.READ, {"query": text("Words of its name.")})
POST = tool("post", Effect.WRITE, {"board_id": text("The board."), "body": text("What to say.")})
PLAN_TALK = tool(
    "plan_talk",
    Effect.WRITE,
    {
        "title": text("What it is called."),
        "starts_at": text(format="date-time"),
        "duration_minutes": {"type": "integer"},
    },
)

BILLS: JsonObject = {
    "found": [
        {"bill_id": "b-1", "name": "Globex", "total": {"amount": 80.0, "currency": "EUR"}},
        {"bill_id": "b-2", "name": "Acme Ltd", "total": {"amount": 120.0, "currency": "EUR"}},
    ]
}


def room(number: int, city: str, **more: Any) -> JsonObject:
    return {"room_id": f"r-{number}", "name": f"House {number}", "city": city, **more}


Take = Callable[..., TakenCall]


@pytest.fixture
def take() -> Take:
    """Makes a call that is wanted, after searches and their answers."""

    def make(
        tool: Tool,
        arguments: JsonObject,
        clause: str,
        *searches: tuple[Tool, JsonObject, JsonObject],
        **more: Any,
    ) -> TakenCall:
        answers = tuple(
            FinderAnswer(body=body, arguments=asked, title=finder.title, finder=finder)
            for finder, asked, body in searches
        )
        stated = {"goal": clause, **more}
        return TakenCall(
            tool=tool, arguments=arguments, now=NOW, clause=clause, answers=answers, **stated
        )

    return make
