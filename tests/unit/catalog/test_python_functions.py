"""Python functions as tools: what their contract becomes, and which are refused."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.python_functions import FunctionTool, tool
from orchestrator.catalog.tool import Effect
from orchestrator.core.errors import UsageError
from tests.guarded_examples import example

theatre = example("theatre")


class Seat(BaseModel):
    """A model of arguments."""

    row: int = Field(ge=1)


@tool(read_only=True)
async def look(seat: Seat, day: Annotated[str, Field(description="in ISO 8601")] = "today") -> str:
    """Look at a seat.

    From afar.
    """
    return f"{seat.row} {day}"


def test_the_contract_is_that_of_a_document() -> None:
    """Cancel, probe, key, price and card, filled by names."""
    book = Catalog.load(functions=[theatre.book_seat]).tool("book_seat")

    assert (book.effect, book.card_type) == (Effect.OBLIGATION, "structured-reservation")
    assert book.compensation is not None and book.compensation.probe is not None
    assert book.compensation.cancel.tool == "cancel_seat"
    assert book.compensation.cancel.arguments == {"ticket_id": "$response.body#/ticket_id"}
    assert book.compensation.probe.tool == "find_seat"
    assert book.idempotency_key is not None
    assert list(book.properties) == ["seat"]


def test_types_and_words_are_what_planners_read() -> None:
    """Of the signature and the docstring; references lie in the document."""
    read = Catalog.load(functions=[look]).tool("look")

    assert read.effect is Effect.READ and not read.needs_confirmation
    assert read.description.endswith("From afar.")
    assert read.required_inputs == ("seat",)
    assert read.properties["day"]["description"] == "in ISO 8601"


async def test_functions_and_documents_are_one_catalog() -> None:
    """Its digest covers both; a function can still be called, without a catalog too."""
    both = Catalog.load("specs/weather.yaml", functions=[look])

    assert {"look", "weather_get_forecast"} <= both.tools.keys()
    assert both.digest != Catalog.load("specs/weather.yaml").digest
    assert both.functions["look"] is look
    assert await look(Seat(row=3)) == "3 today"


def test_a_sync_or_a_plain_function_is_refused() -> None:
    """One would hold up the worker; of the other nothing says what it changes."""

    def late() -> None: ...

    async def bare() -> None: ...

    with pytest.raises(UsageError, match="async def"):
        tool(read_only=True)(late)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="@tool"):
        Catalog.load(functions=[bare])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("annotations", "remedy"),
    [({"return": None}, "'given'"), ({"given": str}, "its answer")],
)
def test_a_function_without_types_is_refused(annotations: dict[str, Any], remedy: str) -> None:
    """Its schema is made of them."""

    async def untyped(given: Any) -> Any: ...

    untyped.__annotations__ = annotations
    with pytest.raises(UsageError, match=remedy):
        tool(read_only=True)(untyped)


def test_a_consequence_without_a_cancel_is_refused() -> None:
    """Unless it is said that nothing cancels it."""

    async def send(text: str) -> None: ...

    with pytest.raises(UsageError, match="say how it is cancelled"):
        Catalog.load(functions=[tool()(send)])
    sent = Catalog.load(functions=[tool(irreversible=True)(send)]).tool("send")
    assert sent.effect is Effect.WRITE and sent.needs_confirmation


def test_one_cancel_belongs_to_one_tool() -> None:
    """Its contract names the call that it cancels."""

    @tool()
    async def cancel(thing_id: str) -> None: ...

    def made(name: str) -> FunctionTool[..., Any]:
        async def make() -> dict[str, str]:
            return {}

        make.__name__ = name
        return tool(cancel=cancel)(make)

    with pytest.raises(UsageError, match="a cancel of its own"):
        Catalog.load(functions=[made("one"), made("other")])


def test_a_probe_that_cannot_be_filled_is_refused() -> None:
    """Its parameters are arguments of the call, or the key."""

    @tool(read_only=True)
    async def probe(number: int) -> str | None: ...

    @tool(irreversible=True, probe=probe)
    async def send(text: str) -> None: ...

    with pytest.raises(UsageError, match="call_key"):
        Catalog.load(functions=[send])
