"""Two providers that do the same: the one that is named does it, or a person says which."""

from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.messages.plan_answers import asks_first
from orchestrator.planning.accounted import accounted
from orchestrator.planning.models import GoalBrief, MissionPlan
from orchestrator.planning.rules.split import split
from orchestrator.routing.router import Router

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def _document(title: str, verb: str, summary: str) -> dict[str, Any]:
    """What makes projects, and lists them."""
    named = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
    makes = {
        "operationId": f"{verb}Project",
        "summary": summary,
        "tags": ["Projects"],
        "x-orchet-tool": True,
        "x-orchet-irreversible": True,
        "x-orchet-requires-confirmation": True,
        "requestBody": {"required": True, "content": {"application/json": {"schema": named}}},
        "responses": {"204": {"description": "Done."}},
    }
    listed = {"type": "object", "properties": {"projects": {"type": "array", "items": named}}}
    lists = {
        "operationId": f"{verb}dProjects",
        "summary": "List projects",
        "tags": ["Projects"],
        "x-orchet-tool": True,
        "responses": {
            "200": {"description": "All.", "content": {"application/json": {"schema": listed}}}
        },
    }
    return {
        "openapi": "3.0.3",
        "info": {"title": title, "version": "1"},
        "servers": [{"url": f"https://{verb}.example"}],
        "paths": {"/projects": {"post": makes, "get": lists}},
    }


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    """Two providers, each told by the name of its document."""
    return Catalog.from_documents(
        {
            "asana": _document("Work", "create", "Create a project"),
            "todoist": _document("Todoist REST API", "add", "Add a new project"),
        }
    )


def _planned(goal: str, catalog: Catalog) -> MissionPlan:
    router = Router(catalog)
    brief = GoalBrief(mission_id="m", goal=goal, now=NOW, catalog_digest=catalog.digest)
    return accounted(split(brief, catalog, (), router), goal, catalog, router, now=NOW)


@pytest.mark.parametrize(
    ("goal", "tool"),
    [
        ("make an Asana project called Winter", "createProject"),
        ("Create a project called Winter in Todoist", "addProject"),
        ("add a todoist project called Winter", "addProject"),
        ('add a project called "Leave Todoist" in Asana', "createProject"),
    ],
)
def test_who_is_named_does_it(goal: str, tool: str, catalog: Catalog) -> None:
    """Nobody else serves the order, and nothing is asked."""
    plan = _planned(goal, catalog)

    assert [order.tools for order in plan.orders] == [(tool,)]
    assert not plan.doubts


def test_where_nobody_is_named_a_person_says_who(catalog: Catalog) -> None:
    """Before anything is made at either."""
    plan = _planned("create a project called Winter", catalog)

    assert asks_first(plan)
    assert "asana" in plan.doubts[0].why
    assert "todoist" in plan.doubts[0].why


def test_a_question_is_not_asked_about(catalog: Catalog) -> None:
    """Nothing follows from looking at one of them."""
    assert not asks_first(_planned("list my projects", catalog))
