"""Routers for requests that bring their own functions: made once, and kept by what was brought."""

from copy import deepcopy
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import DocumentInvalid
from orchestrator.routing.function_routers import FunctionRouters
from orchestrator.routing.router import Router

LETTERS: list[dict[str, Any]] = [
    {"name": "send_letter", "description": "Send a letter to somebody."},
    {"name": "list_stamps", "description": "List the stamps that are left."},
]
BOATS: list[dict[str, Any]] = [{"name": "rent_boat", "description": "Rent a boat for a day."}]


def test_the_same_functions_have_the_same_router() -> None:
    """By what they say, not by which objects they are."""
    routers = FunctionRouters(Router)
    first = routers.of(LETTERS)

    assert routers.of(deepcopy(LETTERS)) is first
    assert routers.of(BOATS) is not first
    assert routers.of(LETTERS[::-1]) is not first
    assert first.route("which stamps are left").tools[0] == "list_stamps"


def test_it_routes_as_a_router_over_that_catalog() -> None:
    """Nothing is lost on the way."""
    request = "send a letter to Ann"
    alone = Router(Catalog.from_functions(LETTERS)).route(request)

    assert FunctionRouters(Router).of(LETTERS).route(request) == alone


def test_what_is_changed_afterwards_changes_no_router() -> None:
    """The functions that were brought belong to whoever brought them."""
    routers, brought = FunctionRouters(Router), deepcopy(LETTERS)
    first = routers.of(brought)
    before = first.route("list the stamps")
    brought[1]["description"] = "Rent a boat."

    assert first.route("list the stamps") == before
    assert routers.of(LETTERS) is first
    assert routers.of(brought) is not first


def test_those_asked_for_last_are_kept() -> None:
    """One that is asked for again stays."""
    routers = FunctionRouters(Router, most_routers=2)
    first, second = routers.of(LETTERS), routers.of(BOATS)
    routers.of(LETTERS)
    routers.of([*LETTERS, *BOATS])

    assert len(routers) == 2
    assert routers.of(LETTERS) is first
    assert routers.of(BOATS) is not second


def test_functions_at_fault_are_told_each_time() -> None:
    """Nothing is kept of them."""
    routers = FunctionRouters(Router)
    for _ in range(2):
        with pytest.raises(DocumentInvalid):
            routers.of([{"description": "It has no name."}])
    assert not len(routers)
