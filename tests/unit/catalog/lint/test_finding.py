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
    Change,
    operation,
    put,
)

KEY = "x-orchet-lint-ignore"


def ignore(code: str, reason: str = "It stays.") -> list[dict[str, str]]:
    """Return one entry of x-orchet-lint-ignore."""
    return [{"code": code, "reason": reason}]


def of(shop: dict[str, Any], code: str) -> list[Finding]:
    return [f for f in lint({"shop": shop}) if f.code == code]


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

    assert {f.code for f in lint({"shop": on_operation})} == {"ORC024", "ORC036"}
    assert {f.code for f in lint({"shop": on_path})} == {"ORC024", "ORC065"}


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
    assert [f.suppressed for f in of(shop, "ORC034")] == [None, None]

    without_probe(shop)

    assert [(f.pointer, f.suppressed is None) for f in of(shop, "ORC034")] == [
        (f"{AT_CANCEL}/security/0/key", True),
        (f"{AT_GET}/security/0/key", False),
    ]


def test_a_code_can_be_left_out_by_whoever_asks(unanswered: dict[str, Any]) -> None:
    """The finding is marked as suppressed from outside."""
    (finding,) = lint({"shop": unanswered}, ignored=["ORC024"])

    assert (finding.code, finding.suppressed is None) == ("ORC024", False)


@pytest.mark.parametrize(
    "code", [*(name for name, code in CODES.items() if code.lasting), "ORC999"]
)
def test_a_code_that_stays_or_is_none_cannot_be_asked_away(code: str) -> None:
    """Wrong usage, and not silence."""
    check_ignored(["ORC015", "ORC024"])
    with pytest.raises(UsageError):
        check_ignored([code])


def test_data_fields_and_other_operations_are_no_suppressions(shop: dict[str, Any]) -> None:
    """A provider may have a field that is called so; what is no tool is not looked at."""
    answer = operation(shop, GET)["responses"]["200"]["content"]["application/json"]
    answer["schema"]["properties"][KEY] = {"type": "string"}
    answer["example"] = {KEY: ignore("ORC012")}
    done = {"200": {"description": "x"}}
    shop["paths"]["/internal"] = {"get": {"responses": done, KEY: ignore("ORC024")}}

    assert lint({"shop": shop}) == []


def _share_a_parameter(shop: dict[str, Any]) -> None:
    page = {"name": "page", "in": "query", "schema": {"type": "integer", "minimum": 1}}
    shop["components"] = {"parameters": {"Page": page}}
    for place in (GET, CANCEL):
        shared = {"$ref": "#/components/parameters/Page"}
        operation(shop, place).setdefault("parameters", []).append(shared)


def _share_properties(shop: dict[str, Any]) -> None:
    """Properties of bodies, by a reference and by allOf."""
    note = {"type": "string", "description": "What to remember."}
    shop["components"] = {
        "schemas": {
            "Code": {"type": "string", "description": "Any."},
            "Note": {"properties": {"note": note}},
        }
    }
    for body in _bodies(shop):
        body["properties"]["code"] = {"$ref": "#/components/schemas/Code"}
        body["allOf"] = [{"$ref": "#/components/schemas/Note"}]
        # Next to an allOf it would exclude the properties of the other part.
        body.pop("additionalProperties", None)


def _share_a_fault(shop: dict[str, Any]) -> None:
    """A pattern that is none, reached by way of another schema."""
    inner = {"$ref": "#/components/schemas/Inner"}
    shop["components"] = {
        "schemas": {
            "Inner": {"type": "string", "pattern": "(", "maxLength": 9},
            "Outer": {"type": "object", "properties": {"inner": inner}},
        }
    }
    for body in _bodies(shop):
        outer = [{"$ref": "#/components/schemas/Outer"}]
        body["properties"]["more"] = {"description": "More.", "anyOf": outer}


def _share_a_style(shop: dict[str, Any]) -> None:
    for place in (GET, POST, CANCEL):
        operation(shop, place)["description"] = "Works on the OrderLineItem of an order."


def _bodies(shop: dict[str, Any]) -> list[dict[str, Any]]:
    sent = [operation(shop, place)["requestBody"] for place in (POST, CANCEL)]
    return [body["content"]["application/json"]["schema"] for body in sent]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda shop: shop.update(servers=[{"url": "/v1"}]), [("ORC035", "/servers", 3)]),
        (_share_a_parameter, [("ORC022", "/components/parameters/Page", 2)]),
        (
            _share_properties,
            [
                ("ORC021", "/components/schemas/Code", 2),
                ("ORC021", "/components/schemas/Note/properties/note", 2),
            ],
        ),
        (_share_a_fault, [("ORC025", "/components/schemas/Inner/pattern", 2)]),
        (
            _share_a_style,
            [(code, f"{AT_CANCEL}/description", 3) for code in ("ORC014", "ORC015")],
        ),
    ],
)
def test_what_several_tools_share_is_reported_once(
    shop: dict[str, Any], change: Change, expected: list[tuple[str, str, int]]
) -> None:
    """At the place that they share, with the number of the tools."""
    change(shop)

    assert [(f.code, f.pointer, f.operations) for f in lint({"shop": shop})] == expected


def test_operations_that_are_references_are_followed_and_told_once(shop: dict[str, Any]) -> None:
    """OpenAPI knows none, so the document is invalid; what is meant by it is clear."""
    for place in (GET, CANCEL):
        shop.setdefault("x-operations", {})[place[1]] = operation(shop, place)
        shop["paths"][place[0]][place[1]] = {"$ref": f"#/x-operations/{place[1]}"}

    (finding,) = lint({"shop": shop})

    assert (finding.code, finding.severity, finding.operations) == ("ORC004", "warning", 2)
    assert finding.message.endswith("do not follow (and 1 more operation)")
