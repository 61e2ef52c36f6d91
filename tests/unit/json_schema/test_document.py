"""Schemas referenced by `$id` and anchors, as JSON Schema 2020-12 allows."""

from typing import Any

import pytest

from orchestrator.core.errors import DocumentInvalid
from orchestrator.json_schema.document import DocumentNode

ROOT: dict[str, Any] = {
    "openapi": "3.1.0",
    "components": {
        "schemas": {
            "Here": {"type": "object"},
            "Pet": {
                "$id": "https://example.com/schemas/pet",
                "$defs": {"Name": {"$anchor": "name", "type": "string"}},
                "properties": {"own": {}},
                "example": {"$id": "https://example.com/schemas/owner"},
            },
            "Owner": {"$id": "/schemas/owner", "$dynamicAnchor": "top"},
            "Loose": {"$anchor": "loose"},
        }
    },
}


@pytest.mark.parametrize(
    ("inside", "reference", "found"),
    [
        ("Here", "https://example.com/schemas/pet", ("Pet",)),
        ("Here", "https://example.com/schemas/pet#/$defs/Name", ("Pet", "$defs", "Name")),
        ("Here", "https://example.com/schemas/pet#name", ("Pet", "$defs", "Name")),
        ("Pet", "#name", ("Pet", "$defs", "Name")),
        ("Pet", "#/$defs/Name", ("Pet", "$defs", "Name")),
        ("Pet", "#/components/schemas/Here", ("Here",)),
        ("Here", "#loose", ("Loose",)),
        ("Here", "/schemas/owner", ("Owner",)),
        ("Owner", "#top", ("Owner",)),
        ("Here", "#/x-orchet-files/~1schemas~1owner", ("Owner",)),
    ],
)
def test_a_name_leads_to_its_schema(inside: str, reference: str, found: tuple[str, ...]) -> None:
    """The name may be an `$id`, an `$anchor`, or a pointer from the enclosing schema."""
    root = {**ROOT, "x-orchet-files": {"/schemas/owner": "No such file"}}
    node = DocumentNode.of("d", root).require("components").require("schemas").require(inside)

    assert node.target(reference).path == ("components", "schemas", *found)


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("https://example.com/schemas/cat", "nothing is read from the network"),
        ("https://example.com/schemas/pet#/gone", "nothing is read from the network"),
        ("#nowhere", "leads nowhere"),
        ("#name", "leads nowhere"),
    ],
)
def test_a_name_that_nothing_has_leads_nowhere(reference: str, reason: str) -> None:
    """An anchor is known only inside its own schema, and no URL is ever opened."""
    node = DocumentNode.of("d", ROOT).require("components").require("schemas").require("Here")

    with pytest.raises(DocumentInvalid, match=reason):
        node.target(reference)
