"""A scripted model that reserves tables, for agents of any framework."""

from __future__ import annotations

import json
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from temporalio.exceptions import ApplicationError

if TYPE_CHECKING:
    from pydantic_ai.models.function import FunctionModel

DAY: Final = (date.today() + timedelta(days=7)).isoformat()
REQUEST: Final = f"Reserve a table in Lisbon on {DAY}"
PERSON: Final = {"traveler_name": "pii:traveler_name", "traveler_phone": "pii:traveler_phone"}
SEARCH: Final = {"city": "Lisbon", "date": DAY}


class Waiter:
    """It searches, reserves the first tables at once, and repeats the answers."""

    def __init__(self, tables: int = 1) -> None:
        self.tables = tables
        self.offered: list[list[str]] = []
        self.results: list[str] = []

    def next(self, offered: list[str], results: list[str]) -> list[tuple[str, dict[str, Any]]]:
        """Return the next calls; none: it is done."""
        self.offered.append(offered)
        self.results = results
        if not results:
            return [("dining_search_tables", SEARCH)]
        if len(results) > 1:
            return []
        return self.reservations(results[0])[: self.tables]

    def reservations(self, found: str) -> list[tuple[str, dict[str, Any]]]:
        """Return a call for each table that was found."""
        slots = [one["table_slot_id"] for one in json.loads(found)["tables"]]
        return [
            ("dining_reserve_table", {"table_slot_id": slot, "reason": "asked for", **PERSON})
            for slot in slots
        ]

    def as_model(self) -> FunctionModel:
        """The model of an agent of Pydantic AI, imported here because workers start faster so."""
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
        from pydantic_ai.models.function import FunctionModel

        def answer(messages: list[Any], info: Any) -> ModelResponse:
            parts = [part for message in messages for part in message.parts]
            results = [p.model_response_str() for p in parts if isinstance(p, ToolReturnPart)]
            wanted = self.next([tool.name for tool in info.function_tools], results)
            if not wanted:
                return ModelResponse(parts=[TextPart("; ".join(results[1:]) or "done")])
            return ModelResponse(parts=[ToolCallPart(name, given) for name, given in wanted])

        return FunctionModel(answer)


class TwoOrNone(Waiter):
    """It reserves one table after the other, and gives up where one is refused."""

    def next(self, offered: list[str], results: list[str]) -> list[tuple[str, dict[str, Any]]]:
        """Return the next call.

        Raises:
            ApplicationError: the last one was refused.
        """
        if results and "rejected" in results[-1]:
            raise ApplicationError("two tables, or none", non_retryable=True)
        if not results or len(results) > 2:
            return super().next(offered, results)
        return [self.reservations(results[0])[len(results) - 1]]
