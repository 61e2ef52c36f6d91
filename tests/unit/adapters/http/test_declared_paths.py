"""Paths that are told apart by more than their steps, and the marks that only bodies know."""

import logging
from typing import Any

import httpx
import pytest

from orchestrator.adapters.http.answer import Answer
from orchestrator.adapters.http.endpoint import Endpoint, Endpoints
from orchestrator.adapters.http.request import build_request, place_arguments
from orchestrator.catalog.arguments import check_arguments
from orchestrator.core.record import JsonObject
from tests.unit.adapters.http.one_operation import catalog_of, deviations

ID: dict[str, Any] = {
    "name": "id",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "readOnly": True},
}


class _Call:
    def __init__(self, path: str, operation: dict[str, Any], version: str = "3.0.3") -> None:
        self.catalog = catalog_of(
            {"x-orchet-requires-confirmation": False, **operation},
            path=path,
            version=version,
            server="https://api.example.com/v1",
        )
        self.tool = self.catalog.tool("thing")
        self.endpoint: Endpoint = Endpoints({}).of(self.catalog, self.tool)

    def problems(self, arguments: JsonObject) -> tuple[str, ...]:
        placement = place_arguments(self.tool, arguments, body_required=False)
        return self.endpoint.contract.request_violations(placement)

    def sent(self, arguments: JsonObject) -> httpx.Request:
        assert check_arguments(self.catalog, self.tool, arguments) == ()
        assert self.problems(arguments) == ()
        placement = place_arguments(self.tool, arguments, body_required=False)
        return build_request(self.endpoint, placement, headers={})

    def breach(self, answer: Answer) -> str | None:
        return deviations(self.endpoint.contract, answer)


@pytest.mark.parametrize(
    ("path", "arguments", "target"),
    [
        ("/x?beta=true", {}, "/v1/x?beta=true"),
        ("/x?beta=true", {"limit": 2}, "/v1/x?beta=true&limit=2"),
        ("/x#variant", {"limit": 2}, "/v1/x?limit=2"),
        ("/x?a=1#variant", {"limit": 2}, "/v1/x?a=1&limit=2"),
        ("/x?", {}, "/v1/x"),
    ],
)
def test_paths_with_a_query_or_a_fragment(path: str, arguments: JsonObject, target: str) -> None:
    """The query is joined with the parameters'; a fragment is sent nowhere."""
    limit = {"name": "limit", "in": "query", "schema": {"type": "integer"}}
    request = _Call(path, {"parameters": [limit]}).sent(arguments)

    assert request.url.raw_path.decode() == target


@pytest.mark.parametrize("path", ["/x#variant", "/x?a=1", "/{id}#y"])
def test_breaches_are_told_at_any_path(path: str) -> None:
    """Of the request as of the answer, whatever characters the path has."""
    call = _Call(path, {"parameters": [ID]} if "{" in path else {})

    assert call.breach(Answer(418, httpx.Headers())) == "the status 418 is not declared"


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_a_read_only_parameter_is_sent(version: str) -> None:
    """The mark concerns the properties of bodies; documents share schemas with parameters."""
    request = _Call("/a/{id}", {"parameters": [ID]}, version).sent({"id": "i1"})

    assert request.url.path == "/v1/a/i1"


def _body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_a_read_only_property_need_not_be_sent(version: str) -> None:
    """Required means the answer then; also where another part of the schema requires it."""
    read_only = {"id": {"type": "string", "readOnly": True}}
    base = {"type": "object", "properties": read_only}
    beside = {"type": "object", "required": ["id", "n"], "properties": {"n": {}}}
    own = {"type": "object", "required": ["id"], "properties": {**read_only, "n": {}}}
    for schema in ({"allOf": [base, beside]}, own):
        call = _Call("/a", _body(schema), version)
        assert call.sent({"n": 1}).read() == b'{"n":1}'
    assert _Call("/a", _body({"allOf": [base, beside]}), version).problems({}) == (
        "the body is missing",
    )


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_a_read_only_property_may_be_sent(version: str, caplog: pytest.LogCaptureFixture) -> None:
    """OpenAPI says SHOULD NOT: it is noted, without a value, and nothing is refused."""
    inner = {"type": "object", "properties": {"id": {"type": "string", "readOnly": True}}}
    call = _Call("/a", _body({"type": "object", "properties": {"inner": inner}}), version)
    with caplog.at_level(logging.WARNING):
        request = call.sent({"inner": {"id": "secret-1"}})

    assert request.read() == b'{"inner":{"id":"secret-1"}}'
    assert "readOnly" in caplog.text
    assert "secret-1" not in caplog.text


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_a_write_only_property_in_an_answer_is_no_breach(version: str) -> None:
    """Nor is one missed that is required."""
    schema = {
        "type": "object",
        "required": ["password", "id"],
        "properties": {"password": {"type": "string", "writeOnly": True}, "id": {}},
    }
    content = {"application/json": {"schema": schema}}
    call = _Call("/a", {"responses": {"200": {"description": "", "content": content}}}, version)

    def breach(value: JsonObject) -> str | None:
        headers = httpx.Headers({"content-type": "application/json"})
        return call.breach(Answer(200, headers, value=value, is_empty=False))

    assert breach({"id": 1}) is None
    assert breach({"id": 1, "password": "x"}) is None
    assert breach({"password": "x"}) == "id is missing"


@pytest.mark.parametrize(
    ("declared", "status", "content_type", "value", "breach"),
    [
        ("2XX", 201, "application/json", {"n": 1}, None),
        ("2xx", 201, "application/json", {"n": "x"}, "n must be an integer"),
        ("default", 200, "application/json", {"n": "x"}, "n must be an integer"),
        ("2XX", 302, "application/json", {}, "the status 302 is not declared"),
        ("200", 200, "application/json; charset=utf-8", {"n": 1}, None),
        ("200", 200, "application/hal+json", {"n": 1}, None),
        ("200", 200, "text/json", {"n": "x"}, "n must be an integer"),
        ("200", 200, "application/xml", "<n/>", "the content type application/xml"),
        ("200", 200, None, None, "the body is missing"),
        ("204", 204, None, None, None),
    ],
)
def test_answers_by_their_status(
    declared: str, status: int, content_type: str | None, value: Any, breach: str | None
) -> None:
    """Exact statuses, ranges in any case, the default; a body that is promised is missed."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    content = {"application/json": {"schema": schema}}
    responses = {declared: {"description": "", **({"content": content} if status != 204 else {})}}
    headers = httpx.Headers({"content-type": content_type} if content_type else {})
    found = _Call("/a", {"responses": responses}).breach(
        Answer(status, headers, value=value, is_empty=value is None)
    )

    assert (found or "").startswith(breach or "") if breach else found is None


@pytest.mark.parametrize("declared", ["application/*", "*/*", "application/vnd.shop.v1+json"])
def test_media_types_of_answers_may_be_ranges(declared: str) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    responses = {"200": {"description": "", "content": {declared: {"schema": schema}}}}
    headers = httpx.Headers({"content-type": "application/vnd.shop.v1+json; v=2"})
    answer = Answer(200, headers, value={"n": "x"}, is_empty=False)

    assert _Call("/a", {"responses": responses}).breach(answer) == "n must be an integer"


@pytest.mark.parametrize("declared", ["application/xml", "application/x-ndjson", "text/csv"])
def test_text_is_not_held_against_the_object_that_it_stands_for(declared: str) -> None:
    """It is kept as the text it is."""
    responses = {"200": {"description": "", "content": {declared: {"schema": {"type": "object"}}}}}
    answer = Answer(200, httpx.Headers({"content-type": declared}), value="a", is_empty=False)

    assert _Call("/a", {"responses": responses}).breach(answer) is None


def test_a_header_that_is_said_twice_is_read_once() -> None:
    """A provider and the proxy before it may both send it."""
    flag = {"schema": {"type": "boolean"}}
    responses = {"200": {"description": "", "headers": {"X-Flag": flag}}}
    call = _Call("/a", {"responses": responses})

    assert call.breach(Answer(200, httpx.Headers([("X-Flag", "true"), ("x-flag", "true")]))) is None
    assert call.breach(Answer(200, httpx.Headers([("X-Flag", "maybe")]))) is not None
