"""Python functions as tools of workflows and missions, over a real server and store."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.worker import Worker

from orchestrator import Catalog, MissionClient, MissionRequest
from orchestrator.client.connection import connect_temporal
from orchestrator.client.stores import store_of
from orchestrator.planning.models import OneCall
from orchestrator.runtime.defaults import default_tools
from orchestrator.runtime.worker import build
from orchestrator.temporal import OrchestratorPlugin
from orchestrator.testing import approve, run_to_end
from tests.guarded_examples import all_approved, example

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack

theatre = example("theatre")
Evening = example("evening_workflow").Evening


class Seats:
    """The theatre's database."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def booked(self) -> list[str]:
        return sorted(json.loads(self.file.read_text()).values())


@pytest.fixture
def seats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seats:
    """One seat is another's."""
    file = tmp_path / "seats.json"
    file.write_text('{"another": "B2"}')
    monkeypatch.setattr(theatre, "SEATS", file)
    return Seats(file)


@asynccontextmanager
async def evening(stack: Stack, booked: list[str]) -> AsyncIterator[Any]:
    """Yield an evening under way, on a worker with the functions alone."""
    plugin = OrchestratorPlugin(functions=[theatre.book_seat], store=stack.folder)
    client = await Client.connect(stack.address, plugins=[plugin])
    queue = f"evenings-{uuid4().hex[:6]}"
    async with Worker(client, task_queue=queue, workflows=[Evening]):
        yield await client.start_workflow(
            "Evening", booked, id=f"evening/{uuid4()}", task_queue=queue
        )


async def test_functions_are_booked_with_cards(
    stack: Stack, client: MissionClient, seats: Seats
) -> None:
    """The card is of the type that the function declares."""
    async with all_approved(client, "evening") as cards, evening(stack, ["A1", "A2"]) as handle:
        assert await handle.result() == 2

    assert seats.booked() == ["A1", "A2", "B2"]
    assert {card.card_type for card in cards} == {"structured-reservation"}


async def test_a_function_that_rejects_cancels_what_stands(
    stack: Stack, client: MissionClient, seats: Seats
) -> None:
    """By the cancel that the other one declares; what is not its own stays."""
    async with all_approved(client, "evening"), evening(stack, ["A1", "B2"]) as handle:
        with pytest.raises(WorkflowFailureError):
            await handle.result()

    assert seats.booked() == ["B2"]


async def test_a_function_that_breaks_after_its_effect_has_it_once(
    stack: Stack, client: MissionClient, seats: Seats, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same key again finds what was done."""
    write, breaks = theatre._write, [True]

    def breaking(booked: dict[str, str]) -> None:
        write(booked)
        if breaks.pop() if breaks else False:
            raise OSError("the disk said no, or so it seemed")

    monkeypatch.setattr(theatre, "_write", breaking)
    async with all_approved(client, "evening"), evening(stack, ["A1"]) as handle:
        assert await handle.result() == 1

    assert seats.booked() == ["A1", "B2"]


async def test_a_function_whose_worker_dies_after_its_effect_leaves_nothing(
    stack: Stack, client: MissionClient, seats: Seats
) -> None:
    """The next worker finds what was done, and cancels it when the last call is rejected."""
    command = [sys.executable, "-m", "tests.deadly_function_worker"]
    variables = {"SEATS": str(seats.file), "PYTHONPATH": os.getcwd()}
    await stack.start_worker("deadly", command=command, variables=variables)
    async with all_approved(client, "evening") as cards:
        handle = await client.temporal.start_workflow(
            "Evening", ["A1", "B2"], id=f"evening/{uuid4()}", task_queue="deadly"
        )
        await stack.wait("deadly")
        booked_then = seats.booked()
        await stack.start_worker("deadly", command=command, variables=variables)
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        await stack.kill("deadly")

    assert booked_then == ["A1", "B2"]
    assert seats.booked() == ["B2"]
    assert len(cards) == 2


async def test_a_mission_calls_functions(stack: Stack, seats: Seats) -> None:
    """Next to the tools of documents."""
    catalog = Catalog.load(*stack.settings.specs, functions=[theatre.book_seat])
    queue = f"theatre-{uuid4().hex[:6]}"
    settings = stack.settings.model_copy(update={"task_queue": queue, "agent_queues": ("none",)})
    temporal = await connect_temporal(stack.address)
    async with (
        store_of(settings) as store,
        default_tools(settings, store, catalog) as tools,
        build(temporal, settings, catalog=catalog, store=store, tools=tools)[0],
    ):
        mission = await MissionClient(temporal, settings).start(
            MissionRequest(
                goal="Book seat C3", call=OneCall(tool="book_seat", arguments={"seat": "C3"})
            )
        )
        await run_to_end(mission, approve)

    assert seats.booked() == ["B2", "C3"]
