"""Goals that need a file: it is fetched before what it is for, as an id is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.received_files import ReceivedFile, handle_of_bytes
from orchestrator.core.record import JsonObject
from orchestrator.planning.models import AskUser, Finish
from orchestrator.routing.router import Router

LABELS = Path(__file__).parents[3] / "documents" / "labels.yaml"


@pytest.fixture(scope="module")
def labels() -> Catalog:
    return Catalog.load(LABELS)


def label(label_id: object) -> ReceivedFile:
    """The file of a label."""
    handle = handle_of_bytes(str(label_id).encode())
    return ReceivedFile(
        handle=handle, content_type="application/pdf", size_bytes=7, name=f"{label_id}.pdf"
    )


def files(tool: Tool, arguments: JsonObject) -> JsonObject | None:
    """What a download is answered with."""
    if tool.name != "label_download":
        return None
    return label(arguments["label_id"]).as_answer()


async def test_a_file_is_fetched_for_what_takes_it(
    new_mission: Callable[..., Any], labels: Catalog
) -> None:
    """The label that the first leg made, downloaded by the leg that sends it on."""
    mission = new_mission(labels, Router(labels))
    mission.provider.script = files

    run = await mission.run(
        "Create a shipping label for Lisbon and open a ticket 'torn label' with the label"
    )

    made, ticket = run.plan.legs
    fetched, sent = run.calls(ticket.leg_id)
    label_id = run.facts[made.leg_id][0].body["label_id"]
    assert ticket.depends_on == (made.leg_id,)
    assert (fetched.tool, fetched.arguments) == ("label_download", {"label_id": label_id})
    assert sent.arguments["document"] == label(label_id).handle
    assert sent.arguments["subject"] == "torn label"


async def test_a_file_is_asked_for_where_none_is_known(
    new_mission: Callable[..., Any], labels: Catalog
) -> None:
    """Nothing of the goal's words is sent in its place."""
    run = await new_mission(labels, Router(labels)).run("Open a ticket 'hello'")

    (leg,) = run.plan.legs
    assert not run.calls(leg.leg_id)
    assert isinstance(run.last(leg.leg_id), AskUser)


async def test_a_file_that_was_asked_for_is_told_with_its_handle(
    new_mission: Callable[..., Any], labels: Catalog
) -> None:
    """By it a person has the file written."""
    mission = new_mission(labels, Router(labels))
    mission.provider.script = files

    run = await mission.run("Download the shipping label L-762979")

    ended = run.last(run.plan.legs[0].leg_id)
    assert isinstance(ended, Finish)
    assert label("L-762979").handle in ended.summary
    assert "L-762979.pdf, 7 bytes" in ended.summary
