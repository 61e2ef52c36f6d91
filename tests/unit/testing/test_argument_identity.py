"""What a cancel reads of a call is made, and made anew for each call."""

from typing import Any

import pytest

from orchestrator import Catalog
from orchestrator.testing import make_arguments

PART = {"type": "string"}
BODIES: dict[str, dict[str, Any]] = {
    "$request.body#/number": {"type": "object", "properties": {"number": PART}},
    "$request.body#/order/number": {
        "type": "object",
        "properties": {
            "order": {"type": "object", "properties": {"number": {"type": "integer"}}},
            "amount": {"type": "integer"},
        },
    },
    "$request.body#/0/id": {
        "type": "array",
        "items": {"type": "object", "properties": {"id": PART}, "required": ["id"]},
        "example": [{"id": "always-the-same"}],
    },
}


def catalog(reading: str) -> Catalog:
    """A tool whose cancel reads this of its request."""
    create = {
        "operationId": "make",
        "x-orchet-tool": True,
        "x-orchet-cancels": "drop",
        "x-orchet-compensation-args": {"key": reading},
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": BODIES[reading]}},
        },
        "responses": {"200": {"description": "made"}},
    }
    key = {"name": "key", "in": "path", "required": True, "schema": {"type": "string"}}
    drop = {
        "operationId": "drop",
        "x-orchet-tool": True,
        "x-orchet-cancel-for": "make",
        "x-orchet-requires-confirmation": False,
        "parameters": [key],
        "responses": {"204": {"description": "gone"}},
    }
    paths = {"/things": {"post": create}, "/things/{key}": {"delete": drop}}
    return Catalog.from_documents({"things": {"openapi": "3.1.0", "paths": paths}})  # type: ignore[dict-item]  # plain JSON


def read_back(reading: str, made: Any) -> Any:
    """What stands where the cancel reads."""
    steps = reading.partition("#/")[2].split("/")
    found = made.get("body", made)
    for step in steps:
        found = found[int(step)] if isinstance(found, list) else found[step]
    return found


@pytest.mark.parametrize("reading", BODIES)
def test_what_a_cancel_reads_is_made_and_told_apart(reading: str) -> None:
    """Though it is optional, deep inside, or in an item of a body that is a list."""
    tools = catalog(reading)

    made = [make_arguments(tools, tools.tool("make"), seed=str(seed)) for seed in range(3)]

    assert len({read_back(reading, arguments) for arguments in made}) == 3
