"""Suppressed findings, and findings of several tools with one cause."""

import copy
from typing import Any

import pytest

from orchestrator.catalog.lint import CODES, Finding, check_ignored, has_errors, lint
from orchestrator.core.errors import UsageError
from tests.unit.catalog.lint.document_faults import (
    AT_CANCEL,
    AT_GET,
    CANCEL,
    GET,
    POST,
    PREFIX,
    operation,
    put,
)

KEY = "x-orchet-lint-ignore"


def ignore(code: str, reason: str = "It stays.") -> list[dict[str, str]]:
    """Return one entry of x-orchet-lint-ignore."""
    return [{"code": code, "reason": reason}]


def found(shop: dict[str, Any], **asked: Any) -> list[tuple[str, bool]]:
    """Each code that was found, and whether it is suppressed."""
    return [(f.code, f.suppressed is not None) for f in lint({"shop": shop}, **asked)]


def without_probe(shop: dict[str, Any]) -> None:
    """Let a condition, and no probe, verify the cancel."""
    operation(shop, POST).pop(PREFIX + "probe")
    operation(shop, CANCEL)["x-orchet-success-when"] = "$statusCode == 200"


@pytest.fixture
def unanswered(shop: dict[str, Any]) -> dict[str, Any]:
    """A document of whose one read nothing is declared."""
    put(GET, responses={"200": {"description": "x"}, "404": {"description": "x"}})(shop)
    without_probe(shop)
    return shop


@pytest.mark.parametrize("holder", ["operation", "path", "root", "place"])
def test_a_suppression_covers_what_is_inside_of_its_place(
    unanswered: dict[str, Any], holder: str
) -> None:
    """An operation, a path, the document, or the very place."""
    places: dict[str, Any] = {
        "operation": operation(unanswered, GET),
        "path": unanswered["paths"]["/orders"],
        "root": unanswered,
        "place": operation(unanswered, GET)["responses"],
    }
    places[holder][KEY] = ignore("ORC024", "The provider answers with a file.")

    (finding,) = (f for f in lint({"shop": unanswered}) if f.code == "ORC024")

    assert finding.suppressed is not None
    assert finding.suppressed.kind == "inSource"
    assert finding.suppressed.reason == "The provider answers with a file."


def test_an_operation_suppresses_what_is_said_of_it_elsewhere(shop: dict[str, Any]) -> None:
    """A fault of all tools that stands at the root: one of them need not mind."""
    shop["servers"] = [{"url": "/v1"}]
    without_probe(shop)
    operation(shop, GET)[KEY] = ignore("ORC035")

    findings = lint({"shop": shop})

    assert {(f.code, f.operations, f.suppressed is not None) for f in findings} == {
        ("ORC035", 2, False),
        ("ORC035", 1, True),
    }


def test_suppressed_errors_are_no_errors(shop: dict[str, Any]) -> None:
    """`has_errors` counts errors without a suppression only."""
    put(GET, x_orchet_pii_required=["passport"])(shop)
    without_probe(shop)
    assert has_errors(lint({"shop": shop}))

    operation(shop, GET)[KEY] = ignore("ORC033")

    assert not has_errors(lint({"shop": shop}))


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ([{"code": "ORC024"}], "nothing says why"),
        ([{"code": "ORC024", "reason": "  "}], "nothing says why"),
        ([*ignore("ORC024"), *ignore("ORC033")], "there is no ORC033 here"),
    ],
)
def test_a_suppression_that_explains_or_does_nothing_is_noted(
    unanswered: dict[str, Any], written: Any, says: str
) -> None:
    """ORC065, on the entry."""
    operation(unanswered, GET)[KEY] = written

    findings = lint({"shop": unanswered})

    (note,) = (f for f in findings if f.code == "ORC065")
    assert says in note.message
    assert note.severity == "note"
    assert note.pointer == f"{AT_GET}/{KEY}/{len(written) - 1}"


@pytest.mark.parametrize("written", ["ORC024", ["ORC024"], [{"code": 24}], {"code": "ORC024"}])
def test_what_is_no_suppression_suppresses_nothing(
    unanswered: dict[str, Any], written: Any
) -> None:
    """On an operation ORC036 says so, elsewhere ORC065."""
    on_operation, on_path = copy.deepcopy(unanswered), copy.deepcopy(unanswered)
    operation(on_operation, GET)[KEY] = written
    on_path["paths"]["/orders"][KEY] = written

    assert {code for code, _ in found(on_operation)} == {"ORC024", "ORC036"}
    assert {code for code, _ in found(on_path)} == {"ORC024", "ORC065"}


def test_what_would_make_a_rollback_untrue_stays(shop: dict[str, Any]) -> None:
    """The error stays, and the suppression itself is reported."""
    put(CANCEL, x_orchet_requires_confirmation="structured-order")(shop)
    operation(shop, CANCEL)[KEY] = ignore("ORC043")

    findings = lint({"shop": shop}, ignored=["ORC043"])

    assert {f.code: f.suppressed for f in findings} == {"ORC043": None, "ORC065": None}
    assert any("ORC043 stays" in f.message for f in findings)


def test_no_error_on_a_tool_that_a_rollback_calls_is_suppressed(shop: dict[str, Any]) -> None:
    """A credential that does not resolve is an owner's own affair, except on the way back."""
    for place in (CANCEL, GET):
        operation(shop, place)["security"] = [{"key": []}]
        operation(shop, place)[KEY] = ignore("ORC034")
    assert found(shop).count(("ORC034", False)) == 2

    without_probe(shop)

    assert [(f.pointer, f.suppressed is None) for f in of(shop, "ORC034")] == [
        (f"{AT_CANCEL}/security/0/key", True),
        (f"{AT_GET}/security/0/key", False),
    ]


def of(shop: dict[str, Any], code: str) -> list[Finding]:
    """The findings of a code."""
    return [f for f in lint({"shop": shop}) if f.code == code]


def test_a_code_can_be_left_out_by_whoever_asks(unanswered: dict[str, Any]) -> None:
    """The finding is marked as suppressed from outside."""
    assert found(unanswered, ignored=["ORC024"]) == [("ORC024", True)]


def test_suppressions_of_operations_that_are_no_tools_are_not_looked_at(
    shop: dict[str, Any],
) -> None:
    """They may be tools in another overlay."""
    shop["paths"]["/internal"] = {"get": {"responses": {}, KEY: ignore("ORC024")}}
    shop["paths"]["/internal"]["get"]["responses"]["200"] = {"description": "x"}

    assert lint({"shop": shop}) == []


@pytest.mark.parametrize("code", [name for name, code in CODES.items() if code.lasting])
def test_a_code_that_stays_cannot_be_asked_away(code: str) -> None:
    """Wrong usage, and not silence."""
    with pytest.raises(UsageError, match="cannot be ignored"):
        check_ignored([code])


def test_only_codes_can_be_ignored() -> None:
    """An unknown code is refused."""
    check_ignored(["ORC015", "ORC024"])
    with pytest.raises(UsageError, match="no code 'ORC999'"):
        check_ignored(["ORC999"])


def test_data_and_fields_of_that_name_are_no_suppressions(shop: dict[str, Any]) -> None:
    """A provider may have a field that is called so, or show one in an example."""
    answer = operation(shop, GET)["responses"]["200"]["content"]["application/json"]
    answer["schema"]["properties"][KEY] = {"type": "string"}
    answer["example"] = {KEY: ignore("ORC012")}

    assert lint({"shop": shop}) == []


def test_what_several_tools_share_is_reported_once(shop: dict[str, Any]) -> None:
    """A fault of a server, a shared parameter or a shared schema is reported at its place."""
    shop["servers"] = [{"url": "/v1"}]

    (finding,) = lint({"shop": shop})

    assert (finding.code, finding.pointer, finding.operations) == ("ORC035", "/servers", 3)
    assert finding.message.endswith("(and 2 more operations)")


def test_a_shared_parameter_is_one_place(shop: dict[str, Any]) -> None:
    """The finding counts the tools that use the parameter."""
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
        # Beside an allOf it would exclude the properties of the other part.
        body["schema"].pop("additionalProperties", None)

    findings = lint({"shop": shop})

    assert [(f.code, f.pointer, f.operations) for f in findings] == [
        ("ORC021", "/components/schemas/Code", 2),
        ("ORC021", "/components/schemas/Note/properties/note", 2),
    ]


def test_the_style_of_a_document_is_one_finding(shop: dict[str, Any]) -> None:
    """ORC015 and ORC014: equal findings on every tool become one, at the first tool."""
    for place in (GET, POST, CANCEL):
        operation(shop, place)["description"] = "Works on the OrderLineItem of an order."

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
