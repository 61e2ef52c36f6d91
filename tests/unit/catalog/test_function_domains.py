"""Domains of plain functions: what they share."""

import random

import pytest

from orchestrator.catalog.catalog import Catalog

NAMES = {
    "github__create_issue": "github",
    "mcp__slack__post": "slack",
    "crm.find_lead": "crm",
    "linear/list_teams": "linear",
    "read_file": "file",
    "deleteFiles": "file",
    "zoom_create_meeting": "zoom",
    "zoom_delete_meeting": "zoom",
    "get_weather": "weather",
    "calculate": "calculate",
    "rollback_deploy": "deploy",
    "42": "functions",
    "GET /api/v2/keys": "api",
}


def test_a_namespace_is_a_domain_and_so_is_a_noun_that_names_share() -> None:
    """Where there is none, the verb is."""
    catalog = Catalog.from_functions([{"name": name} for name in NAMES])

    assert {tool.name: tool.domain for tool in catalog.tools.values()} == NAMES


@pytest.mark.parametrize("seed", range(5))
def test_their_order_does_not_matter(seed: int) -> None:
    """One catalog, one digest."""
    names = sorted(NAMES)
    random.Random(seed).shuffle(names)

    shuffled = Catalog.from_functions([{"name": name} for name in names])
    assert shuffled.digest == Catalog.from_functions([{"name": name} for name in NAMES]).digest


def test_a_domain_that_is_told_is_kept() -> None:
    """What a function says of itself comes first."""
    catalog = Catalog.from_functions([{"name": "github__star", "domain": "code"}])

    assert catalog.tool("github__star").domain == "code"
