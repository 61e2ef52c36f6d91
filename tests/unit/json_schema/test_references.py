"""Pointers and references inside one document, by place, `$id` and anchor."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.references import (
    definition_of,
    follow,
    format_reference,
    parse_reference,
    resolve,
)

STRING: JsonObject = {"type": "string"}
_STEPS = st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=4)


@given(_STEPS)
def test_a_reference_that_was_written_is_read_back(steps: list[str]) -> None:
    """Slashes, tildes, percent signs and other characters are escaped by the standards."""
    reference = format_reference(*steps)

    assert reference.isascii()
    assert parse_reference(reference) == tuple(steps)


def test_a_reference_out_of_the_document_names_nothing() -> None:
    """No file and no URL is ever opened, and anchors are not searched."""
    assert parse_reference("other.yaml#/X") is None
    assert parse_reference("https://example.com/schema") is None
    assert definition_of("https://example.com/schema#/X", {"X": STRING}) == {}
    with pytest.raises(ValueError, match="begins with a slash"):
        parse_reference("#Anchor")


@pytest.mark.parametrize("reference", ["#/$defs/A~1b", "#/$defs/A%7E1b", "#/%24defs/A~1b"])
def test_escaped_pointers_are_understood(reference: str) -> None:
    """The fragment of a URL is percent-encoded around the escapes of the pointer."""
    assert definition_of(reference, {"$defs": {"A/b": STRING}}) == STRING


@pytest.mark.parametrize(
    "reference", ["#/$defs/Gone", "#Anchor", "other#/$defs/A", "#/$defs/A/type"]
)
def test_what_names_no_schema_says_nothing(reference: str) -> None:
    """An unknown reference gives {}, which allows all."""
    assert definition_of(reference, {"$defs": {"A": STRING}}) == {}


_SEVERAL: JsonObject = {"oneOf": [STRING, {"type": "integer"}]}
_TREE: JsonObject = {"properties": {"below": {"$ref": "#/$defs/Tree"}}}
_B: JsonObject = {"allOf": [{"required": ["b"], "properties": {"b": STRING}}]}
_A: JsonObject = {"type": "object", "required": ["a"], "properties": {"a": STRING}}


@pytest.mark.parametrize(
    ("schema", "resolved"),
    [
        ({"$ref": "#/$defs/Day", "description": "When."}, {**STRING, "description": "When."}),
        ({"anyOf": [{"type": "null"}, STRING], "title": "T"}, {**STRING, "title": "T"}),
        (_SEVERAL, _SEVERAL),
        # Only the schema itself is resolved: a tree would have no end.
        ({"$ref": "#/$defs/Tree"}, _TREE),
        (
            {"allOf": [_A, {"$ref": "#/$defs/B"}], "properties": {"a": {"maxLength": 3}}},
            {
                "type": "object",
                "required": ["a", "b"],
                "properties": {"a": {"maxLength": 3}, "b": STRING},
            },
        ),
    ],
    ids=["reference", "null", "alternatives", "tree", "all of"],
)
def test_a_schema_is_resolved(schema: JsonObject, resolved: JsonObject) -> None:
    """Keywords next to a reference win; parts of allOf and a single alternative are merged."""
    day: JsonObject = {**STRING, "description": "A day."}

    assert resolve(schema, {"$defs": {"Day": day, "Tree": _TREE, "B": _B}}) == resolved


@pytest.mark.parametrize(
    "circle",
    [
        {"$ref": "#/$defs/A", "title": "T"},
        {"allOf": [{"$ref": "#/$defs/A"}], "title": "T"},
        {"allOf": [{"anyOf": [{"$ref": "#/$defs/A"}]}, {"$ref": "#/$defs/A"}], "title": "T"},
        {"$ref": "#/$defs/B", "title": "T"},
    ],
)
def test_a_recursive_schema_is_resolved(circle: JsonObject) -> None:
    """The result has the keywords next to the circular reference."""
    root: JsonObject = {"$defs": {"A": circle, "B": {"allOf": [{"$ref": "#/$defs/A"}]}}}

    assert resolve({"$ref": "#/$defs/A"}, root) == {"title": "T"}


def test_what_is_referred_to_by_many_is_merged_once() -> None:
    """Forty levels that each refer twice to the next are no more work than forty."""
    levels: JsonObject = {
        f"L{n}": {"allOf": [{"$ref": f"#/$defs/{s}{n}"} for s in "AB"]} for n in range(40)
    }
    sides: JsonObject = {
        f"{side}{n}": {"$ref": f"#/$defs/L{n + 1}", "title": side}
        for n in range(40)
        for side in "AB"
    }
    root: JsonObject = {"$defs": {**levels, **sides, "L40": {"required": ["a"]}}}

    assert resolve({"$ref": "#/$defs/L0"}, root) == {"required": ["a"], "title": "A"}


def test_places_of_a_document_follow_references_too() -> None:
    """The node has the target's place, and an error names the place of the reference."""
    root: JsonObject = {"a": {"$ref": "#/b~1c"}, "b/c": {"$ref": "#/d/1"}, "d": [0, {"e": 5}]}
    node = DocumentNode.of("things", root)

    found = node.require("a").require("e")

    assert (found.value, found.pointer) == (5, "/d/1/e")
    assert follow(root, found.path) == 5
    with pytest.raises(DocumentInvalid, match="another file") as refused:
        node.target("other.yaml#/b")
    assert refused.value.pointer == ""


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
