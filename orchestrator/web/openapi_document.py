"""The OpenAPI 3.1 document of the API, made from its operations and the models of their parts."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

from pydantic import JsonValue, TypeAdapter, ValidationError

from orchestrator.core.errors import UsageError
from orchestrator.messages.events import AnyEvent
from orchestrator.web.api_operations import JSON, Header, Operation
from orchestrator.web.problem_details import MEDIA_TYPE, Problem

_ABOUT: Final = """\
Missions of agents, the cards that people decide on, rollbacks, and sessions of guarded calls.

Errors are problems (RFC 9457): `code` names the error for programs. Whatever a caller does not see
is not found. A list has at most `limit` entries; `next` of its answer, passed as `cursor`,
continues it. An answer to GET has an ETag, which `If-None-Match` compares.
"""
_TAGS: Final = {
    "missions": "Goals that agents carry out, from their plan to their result",
    "cards": "Consequences that wait for a person's decision",
    "questions": "Questions, holds before a rollback, and pauses of models",
    "rollbacks": "What is or was cancelled, and what an operator has to resolve",
    "events": "Events as they occur, as server-sent events or as a list",
    "sessions": "Guarded calls of a program or an agent that runs anywhere",
    "tools": "The tools of the catalog, read only",
    "people": "The caller and their rights",
}
_STATUSES: Final = {
    HTTPStatus.BAD_REQUEST: "the request cannot be used: malformed, or asks for the impossible",
    HTTPStatus.UNAUTHORIZED: "nothing proves who sends the request",
    HTTPStatus.FORBIDDEN: "the caller sees it, and may not do this",
    HTTPStatus.NOT_FOUND: "there is no such thing, or the caller does not see it",
    HTTPStatus.CONFLICT: "the state has changed: another digest, a decided card, a key used before",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "the body is larger than the limit",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "the body is not JSON",
    HTTPStatus.UNPROCESSABLE_ENTITY: "a field or parameter cannot be used; `errors` names it",
    HTTPStatus.TOO_MANY_REQUESTS: "too many requests or streams",
    HTTPStatus.SERVICE_UNAVAILABLE: "no worker, server or store is there",
    HTTPStatus.GATEWAY_TIMEOUT: "it was not done in time",
}
_OF_BODY: Final = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
}
_ALWAYS: Final = {*_STATUSES} - _OF_BODY - {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}
_ETAG: Final = Header("ETag", "the version of the answer, for If-None-Match")
_IF_NONE_MATCH: Final = Header(
    "If-None-Match", "the ETag of an earlier answer: 304 without a body if nothing has changed"
)


def document_of(operations: Sequence[Operation], *, version: str, url: str = "/") -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of these operations as a JSON object."""
    wanted: list[Any] = [
        ("problem", "serialization", TypeAdapter(Problem)),
        ("event", "serialization", TypeAdapter(AnyEvent)),
    ]
    for one in operations:
        if one.body:
            wanted.append((one.name, "validation", TypeAdapter(one.body)))
        if one.answer:
            wanted.append((one.name, "serialization", TypeAdapter(one.answer)))
    schemas, definitions = TypeAdapter.json_schemas(
        wanted, ref_template="#/components/schemas/{model}"
    )
    components = definitions.get("$defs", {})
    event = schemas["event", "serialization"]
    components["Event"] = {**event, "description": "An event; `kind` names its type."}
    _say_defaults([schemas[one.name, "validation"] for one in operations if one.body], components)
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _described(one, schemas)
    used = {one.tag for one in operations}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Orchestrator", "version": version, "description": _ABOUT},
        "servers": [{"url": url}],
        "security": [{"bearer": []}, {"cookie": []}],
        "tags": [{"name": n, "description": about} for n, about in _TAGS.items() if n in used],
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": dict(_problem_responses()),
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "an API token of this service, or an access token of the issuer",
                },
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "orchestrator_session",
                    "description": "set at sign-in, for pages of this service",
                },
            },
        },
    }


def _say_defaults(bodies: Any, components: dict[str, Any]) -> None:
    """Move defaults of request bodies into descriptions.

    Generators of clients take a field with a default as one that is always there: right in an
    answer, and wrong in a request.
    """
    names, reached = list(_references(bodies)), set[str]()
    while names:
        name = names.pop()
        if name in reached or name not in components:
            continue
        reached.add(name)
        names += _references(components[name])
        for described in components[name].get("properties", {}).values():
            default = described.pop("default", None)
            if default not in (None, "", [], {}):
                said = f"default: {json.dumps(default)}"
                about = described.get("description")
                described["description"] = f"{about}; {said}" if about else said


def _references(schema: JsonValue) -> Iterator[str]:
    if isinstance(schema, list):
        for one in schema:
            yield from _references(one)
    elif isinstance(schema, dict):
        for key, one in schema.items():
            if key == "$ref" and isinstance(one, str):
                yield one.rpartition("/")[2]
            else:
                yield from _references(one)


def _described(one: Operation, schemas: Any) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.summary,
        **({"description": one.description} if one.description else {}),
        **({"tags": [one.tag]} if one.tag else {}),
        "parameters": list(_parameters(one)),
        "responses": {**_successes(one, schemas), **_problems(one)},
    }
    if one.body:
        is_required = True
        with suppress(ValidationError, UsageError):  # it may be left out if no field is required
            TypeAdapter(one.body).validate_python({})
            is_required = False
        content = {JSON: {"schema": schemas[one.name, "validation"]}}
        described["requestBody"] = {"required": is_required, "content": content}
    return described


def _successes(one: Operation, schemas: Any) -> dict[str, Any]:
    headers = (*one.answer_headers, *([_ETAG] if one.has_etag else []))
    status = one.status
    if one.answer is None and one.media_type == JSON:
        status = HTTPStatus.NO_CONTENT
    answer: dict[str, Any] = {
        "description": one.summary,
        **({"headers": {h.name: _header(h) for h in headers}} if headers else {}),
        **_content(one, schemas),
    }
    found: dict[str, Any] = {str(int(status)): answer}
    for other, meaning in one.also:
        content = {} if other is HTTPStatus.NO_CONTENT else _content(one, schemas)
        found[str(int(other))] = {"description": meaning, **content}
    if one.has_etag:
        found["304"] = {"description": "nothing has changed", "headers": {"ETag": _header(_ETAG)}}
    return found


def _content(one: Operation, schemas: Any) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if one.answer is not None:
        content[JSON] = {"schema": schemas[one.name, "serialization"]}
    if one.media_type != JSON:
        # OpenAPI 3.1 has no schema for one event of a stream: it is an `Event`.
        content[one.media_type] = {"schema": {"type": "string"}}
    return {"content": content} if content else {}


def _header(header: Header) -> dict[str, Any]:
    return {"description": header.description, "schema": {"type": "string"}}


def _problems(one: Operation) -> dict[str, Any]:
    statuses = {*_ALWAYS, *one.problems}
    if one.body:
        statuses |= _OF_BODY
    if "{" in one.path:
        statuses.add(HTTPStatus.NOT_FOUND)
    listed = {str(int(s)): {"$ref": f"#/components/responses/{s.name}"} for s in sorted(statuses)}
    return {**listed, "default": {"$ref": "#/components/responses/OTHER"}}


def _problem_responses() -> Iterator[tuple[str, dict[str, Any]]]:
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for status, meaning in _STATUSES.items():
        described: dict[str, Any] = {"description": meaning, "content": content}
        if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
            retry = Header("Retry-After", "seconds after which to send the request again")
            described["headers"] = {retry.name: _header(retry)}
        yield status.name, described
    yield "OTHER", {"description": "the request failed", "content": content}


def _parameters(one: Operation) -> Iterator[dict[str, Any]]:
    def parameter(name: str, place: str, about: str, schema: Any, required: bool) -> dict[str, Any]:
        stated = {"name": name, "in": place, "required": required, "description": about}
        return {**stated, "schema": schema}

    for name in (part[1:-1] for part in one.path.split("/") if part[:1] == "{"):
        about = f"the id of the {name.removesuffix('_id').replace('_', ' ')}"
        yield parameter(name, "path", about, {"type": "string"}, True)
    query = {} if one.query is None else one.query.model_json_schema()
    for name, described in query.get("properties", {}).items():
        if "anyOf" in described:  # an optional parameter is left out, and never null
            (given,) = [kind for kind in described["anyOf"] if kind != {"type": "null"}]
            kept = {k: v for k, v in described.items() if k not in ("anyOf", "default", "title")}
            described = {**given, **kept}
        about = described.pop("description", "")
        yield parameter(name, "query", about, described, name in query.get("required", ()))
    for header in (*one.headers, *([_IF_NONE_MATCH] if one.has_etag else [])):
        yield parameter(header.name, "header", header.description, {"type": "string"}, False)
