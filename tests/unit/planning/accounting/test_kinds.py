"""Of which kinds of things an order may be, over documents of others."""

from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.language.clause_reading import read_clause
from orchestrator.planning.accounting.kinds import doubt_about_kinds
from orchestrator.planning.accounting.things_said import things_said


def _made(tag: str, name: str, summary: str) -> dict[str, Any]:
    schema = {"type": "object", "required": ["about"], "properties": {"about": {"type": "string"}}}
    return {
        "operationId": name,
        "summary": summary,
        "tags": [tag],
        "x-orchet-tool": True,
        "x-orchet-irreversible": True,
        "x-orchet-requires-confirmation": True,
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": {"204": {"description": "Done."}},
    }


def _doubted(goal: str, *others: tuple[str, str, str]) -> bool:
    made = [("Tasks", "createTask", "Create a task"), *others]
    catalog = Catalog.from_documents(
        {
            "work": {
                "openapi": "3.0.3",
                "info": {"title": "Work", "version": "1"},
                "servers": [{"url": "https://work.example"}],
                "paths": {f"/{name}": {"post": _made(tag, name, s)} for tag, name, s in made},
            }
        }
    )
    clause = read_clause(goal)
    said = things_said(goal, now=datetime(2026, 6, 1, tzinfo=UTC))
    return doubt_about_kinds(clause, said, [catalog.tool("createTask")], catalog) is not None


@pytest.mark.parametrize(
    "other",
    [
        ("Stories", "createStoryForTask", "Create a story on a task"),
        ("Task memberships", "addMembership", "Create a task membership"),
    ],
)
def test_what_only_has_to_do_with_a_thing_is_no_kind_of_it(other: tuple[str, str, str]) -> None:
    """A document of others calls the one so, and the other by what it is about."""
    assert not _doubted("Create a task", other)


def test_another_kind_of_the_thing_is_asked_about() -> None:
    """A review task is a task."""
    assert _doubted("Create a task", ("Reviews", "createReviewTask", "Create a review task"))
