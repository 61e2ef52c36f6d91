"""One finding for each cause, with the number of tools that it concerns."""

from typing import Any

from orchestrator.catalog.lint import lint
from tests.unit.catalog.lint.document_faults import CANCEL, GET, POST, operation


def test_what_several_tools_share_is_reported_once(shop: dict[str, Any]) -> None:
    """Where it stands: a server, a shared parameter, a property of a shared schema."""
    shop["servers"] = [{"url": "/v1"}]

    (finding,) = lint({"shop": shop})

    assert (finding.code, finding.pointer, finding.operations) == ("ORC035", "/servers", 3)
    assert finding.message.endswith("(and 2 more operations)")


def test_a_shared_parameter_is_one_place(shop: dict[str, Any]) -> None:
    """Of those tools that use it."""
    shop.setdefault("components", {})["parameters"] = {
        "Page": {"name": "page", "in": "query", "schema": {"type": "integer", "minimum": 1}}
    }
    for place in (GET, CANCEL):
        operation(shop, place).setdefault("parameters", []).append(
            {"$ref": "#/components/parameters/Page"}
        )

    (finding,) = lint({"shop": shop})

    assert (finding.code, finding.operations) == ("ORC022", 2)
    assert finding.pointer == "/components/parameters/Page"


def test_a_property_of_a_shared_schema_is_one_place(shop: dict[str, Any]) -> None:
    """However many bodies it is a part of, by allOf and references; a finding names the schema."""
    shop.setdefault("components", {})["schemas"] = {
        "Code": {"type": "string", "description": "Any."},
        "Note": {"properties": {"note": {"type": "string", "description": "What to remember."}}},
    }
    for place in (POST, CANCEL):
        body = operation(shop, place)["requestBody"]["content"]["application/json"]
        body["schema"]["properties"]["code"] = {"$ref": "#/components/schemas/Code"}
        body["schema"]["allOf"] = [{"$ref": "#/components/schemas/Note"}]

    findings = lint({"shop": shop})

    assert [(f.code, f.pointer, f.operations) for f in findings] == [
        ("ORC021", "/components/schemas/Code", 2),
        ("ORC021", "/components/schemas/Note/properties/note", 2),
    ]


def test_the_style_of_a_document_is_one_finding(shop: dict[str, Any]) -> None:
    """ORC015 and ORC014: what is said the same of every tool is said once, at the first."""
    for place in (GET, POST, CANCEL):
        operation(shop, place)["description"] = "Works on the PNR of the traveler of an order."

    findings = lint({"shop": shop})

    assert [(f.code, f.operations) for f in findings] == [("ORC014", 3), ("ORC015", 3)]
    assert len({f.pointer for f in findings}) == 1


def test_a_fault_of_a_schema_counts_the_tools_that_use_it(shop: dict[str, Any]) -> None:
    """Directly or by way of another schema."""
    shop.setdefault("components", {})["schemas"] = {
        "Inner": {"type": "string", "pattern": "(", "maxLength": 9},
        "Outer": {
            "type": "object",
            "properties": {"inner": {"$ref": "#/components/schemas/Inner"}},
        },
    }
    for place in (POST, CANCEL):
        body = operation(shop, place)["requestBody"]["content"]["application/json"]["schema"]
        body["properties"]["more"] = {
            "description": "More.",
            "anyOf": [{"$ref": "#/components/schemas/Outer"}],
        }

    (finding,) = lint({"shop": shop})

    assert (finding.code, finding.operations) == ("ORC025", 2)
    assert finding.pointer == "/components/schemas/Inner/pattern"


def test_operations_that_are_references_are_followed_and_told_once(shop: dict[str, Any]) -> None:
    """OpenAPI knows none, so the document is invalid; what is meant by it is clear."""
    for place in (GET, CANCEL):
        shop.setdefault("x-operations", {})[place[1]] = operation(shop, place)
        shop["paths"][place[0]][place[1]] = {"$ref": f"#/x-operations/{place[1]}"}

    (finding,) = lint({"shop": shop})

    assert (finding.code, finding.severity, finding.operations) == ("ORC004", "warning", 2)
    assert finding.message.endswith("do not follow (and 1 more operation)")
