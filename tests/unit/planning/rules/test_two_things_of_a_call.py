"""Calls that take two things that were found: what is moved, and where to."""

from collections.abc import Callable
from typing import Any, Final

import pytest
from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.planning.models import AskUser, Finish
from orchestrator.planning.rules.how_many import needs_the_very_one
from orchestrator.routing.router import Router
from orchestrator.settings import bundled_specs

_FILES: Final[list[JsonValue]] = [
    {"file_id": "f1", "file_name": "contract-acme.pdf", "folder_name": "Legal"},
    {"file_id": "f2", "file_name": "contract-old.pdf", "folder_name": "Archive"},
    {"file_id": "f3", "file_name": "sales-report-q2.xlsx", "folder_name": "Reports"},
    {"file_id": "f4", "file_name": "sales-report-q3.xlsx", "folder_name": "Reports"},
    {"file_id": "f5", "file_name": "plan.docx", "folder_name": "Legal"},
]
_FOLDERS: Final[list[JsonValue]] = [
    {"folder_id": f"d{n}", "folder_name": name, "file_count": n}
    for n, name in enumerate(("Legal", "Archive", "Reports"))
]


def _answers(tool: Tool, arguments: JsonObject) -> JsonObject | None:
    if tool.name == "file_find_files":
        words = [w.rstrip("s") for w in str(arguments["query"]).lower().split()]
        found: list[JsonValue] = [f for f in _FILES if any(w in str(f).lower() for w in words)]
        return {"files": found}
    return {"folders": _FOLDERS} if tool.name == "file_list_folders" else None


@pytest.fixture(scope="module")
def files() -> Catalog:
    return Catalog.load(bundled_specs() / "files.yaml")


@pytest.fixture
def mission(new_mission: Callable[..., Any], files: Catalog) -> Any:
    made = new_mission(files, Router(files))
    made.provider.script = _answers
    return made


async def test_where_a_thing_goes_does_not_tell_which_thing(mission: Any) -> None:
    """What is in the Archive already is not what is meant to be put there."""
    run = await mission.run("Move the contract to Archive")

    asked = run.last(run.plan.legs[0].leg_id)
    assert isinstance(asked, AskUser)
    assert "2 that were found" in asked.question


async def test_a_thing_goes_to_the_second_of_two_places(mission: Any) -> None:
    """Where it comes from tells which thing is meant."""
    run = await mission.run("Move the plan from Legal to Archive")

    moved = run.calls(run.plan.legs[0].leg_id)[-1]
    assert moved.arguments == {"file_id": "f5", "folder_id": "d1"}


async def test_each_of_several_goes_there(mission: Any) -> None:
    """Whatever card their tool stops at: what is moved are the very ones."""
    run = await mission.run("Move both sales reports to Archive")

    (leg,) = run.plan.legs
    moved = [call for call in run.calls(leg.leg_id) if call.tool == "file_move_file"]
    assert [call.arguments["file_id"] for call in moved] == ["f3", "f4"]
    assert isinstance(run.last(leg.leg_id), Finish)


@pytest.mark.parametrize("name", ["file_delete_file", "file_move_file", "file_share_file"])
def test_what_is_done_to_a_thing_is_done_to_the_very_one(files: Catalog, name: str) -> None:
    """No other one does as well, as of offers."""
    assert needs_the_very_one(files.tool(name))
