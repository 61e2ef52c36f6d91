"""Holds each request against its document (openapi-core) and says which field is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from jsonschema.exceptions import ValidationError as SchemaError
from jsonschema_path import SchemaPath
from openapi_core import V30RequestUnmarshaller, V31RequestUnmarshaller
from openapi_core.datatypes import RequestParameters
from openapi_core.templating.datatypes import TemplateResult
from openapi_core.templating.media_types.exceptions import MediaTypeNotFound
from openapi_core.templating.paths.datatypes import Path
from openapi_core.templating.paths.finders import APICallPathFinder
from openapi_core.templating.paths.iterators import SimpleServersIterator
from openapi_core.unmarshalling.schemas.factories import SchemaUnmarshallersFactory
from openapi_core.validation.request.exceptions import MissingRequiredRequestBody
from openapi_core.validation.schemas.exceptions import InvalidSchemaValue
from openapi_core.validation.schemas.factories import SchemaValidatorsFactory
from openapi_schema_validator import OAS30WriteValidator, OAS31Validator
from starlette.requests import Request

from orchestrator.sandbox.bounded_patterns import bounded
from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.problems import RequestRefused, Violation
from orchestrator.sandbox.runtime_expressions import is_key
from orchestrator.sandbox.served_operations import ServedOperation

_HOST = "http://sandbox"


@dataclass
class IncomingRequest:
    """A request as openapi-core reads it; path is what follows the document's prefix."""

    method: str
    path: str
    parameters: RequestParameters
    body: bytes | None
    content_type: str
    host_url: str = _HOST


class _Meant:
    """The operation that a request is held against: found already, and not looked for again."""

    operation: ServedOperation

    def found(self, name: str, spec: SchemaPath) -> Path:
        values = self.operation.path_values(name.removeprefix(_HOST)) or ()
        named = dict(zip(self.operation.path_names, values, strict=True))
        path = self.operation.path
        # By name: a path with a # in it would be taken apart.
        item = dict((spec / "paths").str_items())[path]
        return Path(item, TemplateResult(path, named))


def _path_finder(meant: _Meant) -> type[APICallPathFinder]:
    """Finds the path that is meant, and looks for no server.

    The prefix is cut off already, and names such as {order.id} would stop the search.
    """

    class _Paths:
        def __call__(self, name: str, spec: SchemaPath, base_url: str | None = None) -> Any:
            yield meant.found(name, spec)

    class _PathFinder(APICallPathFinder):
        paths_iterator = _Paths()
        servers_iterator = SimpleServersIterator()

    return _PathFinder


class RequestValidator:
    """Validates requests of one document."""

    def __init__(self, document: Document) -> None:
        self._meant = _Meant()
        # The prefix is already cut off and credentials are checked apart: neither is checked again.
        raw = {key: value for key, value in document.raw.items() if key != "servers"}
        is_30 = str(raw["openapi"]).startswith("3.0")
        kind = V30RequestUnmarshaller if is_30 else V31RequestUnmarshaller
        # openapi-core reads application/json by itself, and no other kind of JSON.
        dialects: dict[str, Callable[[bytes], Any]]
        dialects = {name: json.loads for name in _media_types(document) if name.endswith("+json")}
        made = kind.schema_unmarshallers_factory
        checks = made.schema_validators_factory
        checked = SchemaValidatorsFactory(
            bounded(OAS30WriteValidator if is_30 else OAS31Validator, raw), checks.format_checker
        )
        self._unmarshaller = kind(
            SchemaPath.from_dict(_without_security(raw)),
            path_finder_cls=_path_finder(self._meant),
            extra_media_type_deserializers=dialects,
            schema_validators_factory=checked,
            schema_unmarshallers_factory=SchemaUnmarshallersFactory(
                checked, made.types_unmarshaller, made.format_unmarshallers
            ),
        )

    def arguments(
        self, operation: ServedOperation, request: Request, path: str, body: bytes
    ) -> dict[str, Any]:
        """The typed values of path, query and body, with the defaults of what was left out.

        `path` is what follows the document's prefix.

        Raises:
            RequestRefused: the request does not follow the document.
        """
        media_type = request.headers.get("content-type", "application/octet-stream")
        parameters = RequestParameters(query=request.query_params, header=request.headers)
        incoming = IncomingRequest(
            request.method.lower(), path, parameters, body or None, media_type
        )
        self._meant.operation = operation
        result = self._unmarshaller.unmarshal(incoming)
        if result.errors:
            raise _problem(operation, list(result.errors))
        query = {k: _plain(v) for k, v in result.parameters.query.items()}
        steps = {k: _plain(v) for k, v in result.parameters.path.items()}
        header = {k: _plain(v) for k, v in result.parameters.header.items() if not is_key(k)}
        given = {**header, **query, **steps, **_body(incoming, result.body)}
        return {**_body_defaults(operation), **given}


def _media_types(document: Document) -> Iterator[str]:
    for operation in document.operations:
        body = document.book.follow(operation.raw.get("requestBody", {}))
        yield from body.get("content", {})


def _without_security(raw: Mapping[str, Any]) -> dict[str, Any]:
    paths = {
        path: {key: _drop_security(value) for key, value in item.items()}
        for path, item in raw["paths"].items()
    }
    return {**{key: value for key, value in raw.items() if key != "security"}, "paths": paths}


def _drop_security(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {key: part for key, part in value.items() if key not in ("security", "servers")}


def _problem(operation: ServedOperation, errors: list[Exception]) -> RequestRefused:
    violations = [violation for error in errors for violation in _violations(error)]
    is_unread = any(isinstance(error.__cause__, MediaTypeNotFound) for error in errors)
    status = 415 if is_unread else operation.refusal(422, 400)
    detail = "; ".join(f"{violation.field}: {violation.reason}" for violation in violations)
    return RequestRefused(status, detail, violations=violations)


def _violations(error: Exception) -> Iterator[Violation]:
    field = str(getattr(error, "name", "body"))
    cause = error.__cause__
    if isinstance(cause, InvalidSchemaValue):
        yield from _schema_violations(field, cause.schema_errors)
    elif isinstance(error, MissingRequiredRequestBody):
        yield Violation("body", "is required")
    else:
        reason = str(error if cause is None else cause)
        yield Violation(field, reason[:1].lower() + reason[1:])


def _schema_violations(field: str, errors: Iterable[Exception]) -> Iterator[Violation]:
    for error in errors:
        if not isinstance(error, SchemaError):
            yield Violation(field, str(error))
            continue
        inner = ".".join(str(part) for part in error.absolute_path)
        whole = ".".join(part for part in (field if field != "body" else "", inner) if part)
        alternatives = " or ".join(inner.message for inner in error.context or ())
        yield Violation(whole or "body", error.message + (alternatives and f" ({alternatives})"))


def _plain(value: Any) -> Any:
    """The value as JSON has it: openapi-core makes dates and UUIDs of texts that look so."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value


def _body(request: IncomingRequest, unmarshalled: Any) -> dict[str, Any]:
    media_type = request.content_type.split(";")[0].strip()
    if not request.body:
        return {}
    if media_type.endswith(("/json", "+json")):
        loaded = json.loads(request.body)
    else:
        loaded = _plain(unmarshalled)
    return loaded if isinstance(loaded, dict) else {"body": _plain(unmarshalled)}


def _body_defaults(operation: ServedOperation) -> dict[str, Any]:
    properties = operation.book.properties(operation.body_schema or {})
    resolved = {name: operation.book.resolve(schema) for name, schema in properties.items()}
    return {name: schema["default"] for name, schema in resolved.items() if "default" in schema}
