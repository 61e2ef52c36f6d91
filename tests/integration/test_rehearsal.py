"""Rehearsals: what a request would do and how it is cancelled, without touching anything real."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from orchestrator.catalog.catalog import load_sources
from orchestrator.chaos.rehearsal import Rehearsal, _inherited, rehearse
from orchestrator.core.errors import ServiceUnavailable
from orchestrator.messages.mission import MissionRequest
from orchestrator.runtime.demo import TRIP, day_in
from orchestrator.settings import Settings
from tests.commands import run_apart

if TYPE_CHECKING:
    from collections.abc import Mapping

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
VISIT = "Book a visit to the customer Northwind"
PATIENT_S = 240.0
"""Of a machine that runs many tests: the limit itself is not what these are about."""


def environment() -> dict[str, str]:
    """A real installation's variables, none of which a rehearsal may use."""
    return {
        **{k: v for k, v in os.environ.items() if not k.startswith(("ORCHESTRATOR_", "TEMPORAL_"))},
        "TEMPORAL_ADDRESS": "127.0.0.1:9",
        "ORCHESTRATOR_STORE": "postgresql://nobody@127.0.0.1:9/none",
        "ORCHESTRATOR_SECRET_PAYMENTS__PAYMENTS_TOKEN": "real",
        "SOMEBODYS_API_KEY": "real",
    }


def rehearsed(goal: str, *specs: Path, **inputs: str) -> asyncio.Task[Rehearsal]:
    settings = Settings(specs=specs) if specs else Settings()
    request = MissionRequest(goal=goal, inputs=dict(inputs))
    return asyncio.create_task(
        rehearse(request, settings, within_s=PATIENT_S, environ=environment())
    )


async def test_a_trip_is_made_and_cancelled() -> None:
    """Each consequence with its price and the tool that cancelled it; one at a time."""
    first = rehearsed(TRIP)
    await asyncio.sleep(0)
    with pytest.raises(ServiceUnavailable):
        await rehearse(MissionRequest(goal=TRIP), Settings())
    found = await first

    assert found.summary == "3 made, 3 cancelled", found
    assert [one.cancelled_by for one in found.effects] == [
        *("flight_cancel_booking", "hotel_cancel_booking", "expense_cancel_report")
    ]
    assert all(one.price is not None for one in found.effects)
    assert (found.status, found.error, found.cards, found.left) == ("succeeded", "", 3, 0)


def irreversible(folder: Path) -> Path:
    """A stranger's CRM, in which nothing takes a booked visit off the calendar."""
    overlay = EXAMPLES / "crm-overlay.yaml"
    crm: Any = load_sources(EXAMPLES / "crm.yaml", overlays=(overlay,)).documents["crm"]
    booking: Any = crm["paths"]["/visits"]["post"]
    for path in crm["paths"].values():
        for operation in path.values():
            for name in [n for n in operation if n.startswith(("x-orchet-ca", "x-orchet-comp"))]:
                del operation[name]
    booking["x-orchet-irreversible"] = True
    written = folder / "crm.yaml"
    written.write_text(yaml.safe_dump(crm, sort_keys=False), encoding="utf-8")
    return written


async def test_what_cannot_be_cancelled_is_said(tmp_path: Path) -> None:
    """An irreversible tool of a stranger's document stays, with the reason."""
    when = {"starts_at": f"{day_in(90)}T09:00:00Z"}
    found = await rehearsed(VISIT, irreversible(tmp_path), **when)

    assert found.summary == "1 made, 0 cancelled, 1 cannot be cancelled", found
    assert "irreversible" in found.effects[0].why_not
    assert found.left == 1


async def test_a_cancelled_rehearsal_leaves_no_process(tmp_path: Path) -> None:
    """And another one may begin at once."""
    task = rehearsed(TRIP)
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    again = rehearsed(TRIP)
    await asyncio.sleep(0.1)
    again.cancel()
    with pytest.raises(asyncio.CancelledError):
        await again


@pytest.mark.parametrize("asks_a_model", [True, False])
def test_a_rehearsal_gets_no_credential(asks_a_model: bool) -> None:
    """A key that is not ours goes only to a worker that asks a model, which needs its own."""
    given: Mapping[str, str] = _inherited(
        {**environment(), "ORCHESTRATOR_PLANNER_MODEL": "openai:gpt-5"}, asks_a_model=asks_a_model
    )

    assert not {n for n in given if n.startswith(("TEMPORAL_", "ORCHESTRATOR_S"))}
    assert ("SOMEBODYS_API_KEY" in given) == asks_a_model
    assert "ORCHESTRATOR_PLANNER_MODEL" in given
    assert "PATH" in given


async def test_a_plan_that_asks_is_rehearsed_by_the_command() -> None:
    """The question and the made answer are in the document; no server of the user's is needed."""
    ran = await run_apart(
        *("mission", "plan", VISIT, "--rehearse", "--json"),
        *("--input", f"starts_at={day_in(90)}T09:00:00Z"),
        environment={
            **{k: v for k, v in environment().items() if k != "ORCHESTRATOR_STORE"},
            "ORCHESTRATOR_SPECS": str(EXAMPLES / "crm.yaml"),
            "ORCHESTRATOR_OVERLAYS": str(EXAMPLES / "crm-overlay.yaml"),
        },
        timeout_s=PATIENT_S,
    )
    (asked,) = ran.json["questions"]

    assert asked["is_answered"], ran.stderr
    assert ran.json["summary"] == "1 made, 1 cancelled"
    assert ran.json["effects"][0]["tool"] == "crm_book_visit"
