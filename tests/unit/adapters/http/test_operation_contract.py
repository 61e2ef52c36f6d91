"""One operation's contract, as openapi-core checks it."""

import json
from typing import Any

import httpx
import pytest
from pydantic import JsonValue

from orchestrator.adapters.http.answer import Answer
from orchestrator.adapters.http.operation_contract import OperationContract, ResponseCheck
from orchestrator.adapters.http.request import place_arguments
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.operations import operations
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from tests.unit.adapters.http.one_operation import deviations

_OK: dict[str, Any] = {"responses": {"200": {"description": "ok"}}}


def _contract(
    operation: dict[str, Any], *, version: str = "3.1.0", responses: dict[str, Any] = _OK
) -> Any:
    document: dict[str, Any] = {
        "openapi": version,
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": "http://h"}],
        "paths": {
            "/a/{id}": {
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
                ],
                "post": {"operationId": "a_do", "x-orchet-tool": True, **responses, **operation},
            }
        },
        "components": {"schemas": {"Kind": {"type": "string", "enum": ["a", "b"]}}},
        "security": [{"key": []}],
    }
    (compiled,) = operations(DocumentNode.of("d", document))
    tool = Catalog.from_documents({"d": document}).tool("a_do")
    contract = OperationContract(compiled, tool)

    class Checks:
        def request(self, arguments: JsonObject) -> tuple[str, ...]:
            placement = place_arguments(tool, {"id": "1", **arguments}, body_required=False)
            return contract.request_violations(placement)

        def response(
            self, status: int, content_type: str, data: bytes, **headers: str
        ) -> str | None:
            given = {"content-type": content_type, **headers}
            value = json.loads(data) if data and content_type.endswith("json") else data.decode()
            answer = Answer(status, httpx.Headers(given), value=value, is_empty=not data)
            return deviations(contract, answer)

        def check(self, data: bytes) -> ResponseCheck:
            given = httpx.Headers({"content-type": "application/json"})
            return contract.check_response(
                Answer(200, given, value=json.loads(data), is_empty=False)
            )

    return Checks()


def _parameter(schema: JsonObject, **more: JsonValue) -> JsonObject:
    return {"name": "p", "in": "query", "schema": schema, **more}


def _answered(schema: Any, **more: Any) -> dict[str, Any]:
    """An operation that is answered with JSON of this schema."""
    content = {"application/json": {"schema": schema}}
    return {"responses": {"200": {"description": "ok", "content": content}}, **more}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "array", "items": {"type": "string"}}, ["a,b", "c"]),
        ({"type": "object", "properties": {"n": {"type": "integer"}}}, {"n": 1}),
        ({"type": "boolean"}, False),
        ({"type": "number"}, 2.5),
        ({"type": ["string", "null"]}, "x"),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, "x"),
        ({"$ref": "#/components/schemas/Kind"}, "a"),
        ({"type": "string"}, ""),
    ],
)
@pytest.mark.parametrize("explode", [True, False])
def test_right_values_pass_whatever_their_style(
    schema: JsonObject, value: JsonValue, explode: bool
) -> None:
    """Commas in elements, nested objects and empty strings are no reason to refuse a call."""
    contract = _contract({"parameters": [_parameter(schema, explode=explode)]})

    assert contract.request({"p": value}) == ()


def test_faults_name_the_parameter() -> None:
    """With the path into it. What is sent is what was given."""
    schema: JsonObject = {"type": "array", "items": {"type": "string", "maxLength": 2}}
    contract = _contract({"parameters": [_parameter(schema, required=True)]})
    counted: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}}
    arguments: JsonObject = {"p": {"n": 1.0}}

    assert contract.request({"p": ["ok", "long"]}) == ("p[1] must have at most 2 characters",)
    assert contract.request({}) == ("p is missing",)
    assert _contract({"parameters": [_parameter(counted)]}).request(arguments) == ()
    assert repr(arguments) == "{'p': {'n': 1.0}}"


@pytest.mark.parametrize("flag", ["deprecated", "allowEmptyValue"])
def test_deprecated_parameters_warn_nobody(flag: str) -> None:
    """A provider's plans are no warning in our process at each call."""
    contract = _contract({"parameters": [_parameter({"type": "string"}, **{flag: True})]})

    assert contract.request({"p": "x"}) == ()


def test_an_openapi_30_document_is_read_by_its_own_rules() -> None:
    """`nullable` and a boolean exclusiveMinimum mean something there."""
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "nullable": True},
            "n": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
        },
    }
    content = {"application/json": {"schema": schema}}
    operation = {"requestBody": {"required": True, "content": content}}
    contract = _contract(operation, version="3.0.3")

    assert contract.request({"a": None, "n": 1}) == ()
    assert len(contract.request({"n": 0})) == 1


def test_answers_are_held_to_their_declaration() -> None:
    """Body, content type, headers and status; without responses no answer can break anything."""
    assert _contract({}, responses={}).response(200, "application/json", b"[]") is None
    kind = {"$ref": "#/components/schemas/Kind"}
    schema = {"type": "object", "required": ["k"], "properties": {"k": kind}}
    operation = _answered(schema)
    left = {"X-Left": {"required": True, "schema": {"type": "integer"}}}
    operation["responses"]["200"]["headers"] = left
    operation["responses"]["4XX"] = {"description": "no"}
    contract = _contract(operation)

    assert contract.response(200, "application/json", b'{"k": "a"}', **{"x-left": "3"}) is None
    assert contract.response(200, "application/json", b'{"k": "z"}', **{"x-left": "many"}) == (
        "k must be one of a, b; the header X-Left is not of its declared type"
    )
    assert contract.response(200, "application/json", b"{}") == (
        "k is missing; the header X-Left is missing"
    )
    assert contract.response(200, "", b"", **{"X-LEFT": "3"}) == "the body is missing"
    assert contract.response(418, "", b"") is None
    assert contract.response(500, "", b"") == "the status 500 is not declared"


def test_an_answer_that_confuses_the_checker_is_reported() -> None:
    """A pattern that cannot be read is a breach; text that is no base64 breaks its format."""
    body = '{"b": "é"}'.encode()
    bad = _answered({"type": "object", "properties": {"b": {"pattern": "("}}})
    byte = _answered({"type": "object", "properties": {"b": {"type": "string", "format": "byte"}}})
    confused = _contract(bad).response(200, "application/json", body)
    odd = _contract(byte, version="3.0.3").response(200, "application/json", body)

    assert confused.startswith("the answer cannot be checked")
    assert odd == "b must be base64"


def test_many_breaches_are_counted() -> None:
    """A thousand wrong elements make a text that can be read."""
    contract = _contract(_answered({"type": "array", "items": {"type": "string"}}))
    breach = contract.response(200, "application/json", f"[{','.join(['1'] * 1000)}]".encode())

    assert breach.endswith("; and 992 more")


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_patterns_are_those_of_ecma_262(version: str) -> None:
    """Unicode properties too: a name that fits the document's pattern is not refused."""
    schema: JsonObject = {"type": "string", "pattern": r"^\p{L}+$"}
    checks = _contract({"parameters": [_parameter(schema)]}, version=version)

    assert checks.request({"p": "Ærø"}) == ()
    assert checks.request({"p": "Ær0"}) == (r"p must match the pattern ^\p{L}+$",)


def _checks(schema: JsonObject, **operation: Any) -> Any:
    contract = _contract(_answered(schema, **operation))

    def check(body: JsonValue) -> tuple[bool, bool]:
        """Return if the answer breaks its contract, and if there is a note on it."""
        found = contract.check(json.dumps(body).encode())
        return found.breach is not None, found.note is not None

    return check


_BOOKING: JsonObject = {
    "type": "object",
    "required": ["id"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string"},
        "note": {"type": "string"},
        "kind": {"enum": ["a", "b"]},
        "made": {"type": "string", "format": "date-time"},
        "total": {"type": "number"},
        "state": {"enum": ["open", "done"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "guest": {"type": "object", "required": ["name", "age"]},
    },
}


@pytest.mark.parametrize(
    "off",
    [
        {"note": None},
        {"note": 7},
        {"kind": "c"},
        {"made": "2027-05-30T10:11:12.345678"},
        {"more": True},
        {"tags": "x"},
        {"guest": {"name": "Ann"}},
    ],
)
def test_a_deviation_in_a_part_that_nothing_uses_is_a_note(off: JsonObject) -> None:
    """The thing that was made stands."""
    assert _checks(_BOOKING)({"id": "b1", **off}) == (False, True)


def test_an_id_of_digits_may_be_a_text() -> None:
    """JSON's numbers do not hold every int64; what is no number at all stays a breach."""
    numbered: JsonObject = {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "total": {"type": "integer"}},
    }

    assert _checks(numbered)({"id": "9007199254740993"}) == (False, True)
    assert _checks(numbered)({"id": "b1"})[0]
    assert _checks(numbered)({"id": 7, "total": "12"})[0]


@pytest.mark.parametrize(
    "body",
    [
        {"id": 7},
        {"note": "no id"},
        {"id": "b1", "total": "much"},
        {"id": "b1", "state": "gone"},
        {"id": "b1", "errors": ["too late"]},
        ["b1"],
    ],
)
def test_a_deviation_in_a_part_that_is_used_is_a_breach(body: JsonValue) -> None:
    """An id, a price, a state that a condition reads, an error, another kind of value."""
    check = _checks(_BOOKING, **{"x-orchet-success-when": "$response.body#/state == 'done'"})

    assert check(body)[0]


def test_what_is_missing_and_unused_is_a_note_beside_an_id() -> None:
    """An answer that holds nothing that is used may be anything."""
    check = _checks({**_BOOKING, "required": ["id", "note"]})

    assert check({"id": "b1"}) == (False, True)
    assert check({"note": "x"})[0]
    assert _checks({"type": "object", "required": ["note"]})({"kind": "a"})[0]


@pytest.mark.parametrize(
    ("off", "is_breach"),
    [
        ({"note": 7}, False),
        ({"made": "yesterday"}, False),
        ({"kind": "c"}, True),
        ({"sure": "no"}, True),
        ({"note": False}, True),
        ({}, True),
    ],
)
def test_of_a_cancel_what_could_say_no_stays_strict(off: JsonObject, is_breach: bool) -> None:
    """A word, a truth value, something missing: its answer is all there is."""
    properties: Any = _BOOKING["properties"]
    schema: JsonObject = {
        **_BOOKING,
        "required": ["id", "tags"],
        "properties": {**properties, "sure": {"type": "boolean"}},
    }
    body = {"id": "b1", "tags": [], **off} if off else {"id": "b1"}

    assert _checks(schema, **{"x-orchet-cancel-for": "make"})(body)[0] is is_breach


def test_one_deviation_does_not_hide_another() -> None:
    """A breach has a note too; of alternatives one that deviates harmlessly is a note.

    An answer that no closed allOf can fit has the id, which is all that a cancel needs.
    """
    text: JsonObject = {"type": "string"}
    base: JsonObject = {"additionalProperties": False, "properties": {"id": text}}
    fitting_none = _checks({"allOf": [base, {"properties": {"order": text}}]})
    choice = _checks({"oneOf": [_BOOKING, {"type": "object", "required": ["batch"]}]})

    assert _checks(_BOOKING)({"id": 7, "note": None}) == (True, True)
    assert fitting_none({"id": "b1", "order": "o"}) == (False, True)
    assert choice({"id": "b1", "note": None}) == (False, True)
    assert choice({"note": None})[0]
