"""The contract of one operation: openapi-core checks each request and each answer."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, cast

import httpx
from jsonschema import FormatChecker
from jsonschema.exceptions import ValidationError as SchemaViolation
from jsonschema.protocols import Validator
from jsonschema_path import SchemaPath
from openapi_core import (
    V30RequestValidator,
    V30ResponseValidator,
    V31RequestValidator,
    V31ResponseValidator,
)
from openapi_core.datatypes import RequestParameters
from openapi_core.deserializing.media_types.exceptions import MediaTypeDeserializeError
from openapi_core.exceptions import OpenAPIError
from openapi_core.templating.datatypes import TemplateResult
from openapi_core.templating.media_types.exceptions import MediaTypeNotFound
from openapi_core.templating.paths.datatypes import PathOperationServer
from openapi_core.templating.paths.finders import BasePathFinder
from openapi_core.templating.responses.exceptions import ResponseNotFound
from openapi_core.validation.response.exceptions import (
    HeaderValidationError,
    MissingData,
    MissingHeaderError,
)
from openapi_core.validation.schemas.exceptions import InvalidSchemaValue
from openapi_core.validation.schemas.factories import SchemaValidatorsFactory
from openapi_core.validation.schemas.validators import SchemaValidator
from pydantic import JsonValue

from orchestrator.adapters.http.answer import Answer
from orchestrator.adapters.http.contract_dialect import Hidden, UsedParts, contract_dialect
from orchestrator.adapters.http.parameter_styles import json_text
from orchestrator.adapters.http.request import Placement
from orchestrator.catalog.arguments import unreadable_schema
from orchestrator.catalog.inputs import is_input, is_json, is_structured, text_schema
from orchestrator.catalog.operations import Operation
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.patterns import PatternUndecided
from orchestrator.json_schema.validation import SCHEMA_FAULTS, describe_violations
from orchestrator.json_schema.validator import ANSWER_FORMATS, REQUEST_FORMATS

_JSON = "application/json"
_PINNED = "operation"
"""The path of the operation here: its own path may contain characters that act as separators."""
_BODY = "body"
"""The name of the body among the parts of a request; names of parameters contain a dot."""
_ACCEPTED = 202
_WITHOUTBODY = frozenset({204, 205, 304})
_RESOLVED = 512
"""References whose targets are cached, per operation."""
_SHOWN = 8
"""Breaches that a text lists; an answer may break its schema in thousands of places."""


@dataclass(frozen=True)
class ResponseCheck:
    """Deviations of an answer from its document."""

    breach: str | None = None
    """Deviations in parts that are used: the answer is no success."""
    note: str | None = None
    """Deviations in parts that are not used."""


@dataclass
class _AnyRequest:
    """The request of an answer in openapi-core's terms; the finder ignores it."""

    body: bytes | None = None
    parameters: RequestParameters = field(default_factory=RequestParameters)
    host_url: str = ""
    path: str = ""
    method: str = ""
    content_type: str = _JSON


@dataclass
class _GivenResponse:
    status_code: int
    headers: Mapping[str, str]
    content_type: str
    data: Any


class OperationContract:
    """The contract of one operation's requests and answers.

    openapi-core's schema validator checks the request's values, not their wire text: its own
    parsers of styles and forms take a comma inside a list element for a delimiter, support neither
    nested objects nor several types, and would refuse valid calls. `request` writes the values. All
    values are validated at once, as one JSON object, so that the document is walked once instead of
    once per parameter.
    """

    def __init__(self, operation: Operation, tool: Tool) -> None:
        responses = _declared_responses(operation)
        self._tool = tool
        self._used = UsedParts(operation, tool)
        properties: JsonObject = {}
        required: list[JsonValue] = []
        for node in operation.parameters():
            parameter = node.mapping()
            if is_input(node, operation.root):
                part = f"{parameter['in']}.{parameter['name']}"
                content = parameter.get("content")
                media_types = list(content.values()) if isinstance(content, dict) else []
                described = (
                    parameter if "schema" in parameter or not media_types else media_types[0]
                )
                properties[part] = (
                    described.get("schema", {}) if isinstance(described, dict) else {}
                )
                if parameter.get("required") is True:
                    required.append(part)
        body = operation.node.at("requestBody")
        if body is not None:
            properties[_BODY] = _schema_of_body(body, tool.body_content_type)
            if body.mapping().get("required") is True:
                required.append(_BODY)
        written: JsonObject = {
            **operation.node.mapping(),
            "responses": responses,
            "parameters": [],
            "requestBody": {"type": "object", "properties": properties, "required": required},
            "security": [],
        }
        root = operation.root.mapping()
        paths = root["paths"] if isinstance(root["paths"], dict) else {}
        pinned: JsonObject = {**paths, _PINNED: {tool.method.lower(): written}}
        self._pinned = {**root, "paths": pinned}
        self._types = {
            status: tuple(content)
            for status, response in responses.items()
            if isinstance(response, dict)
            and isinstance(content := response.get("content", {}), dict)
        }
        self.answer_types = frozenset(one for types in self._types.values() for one in types)
        """The declared media types of answers, without parameters, in lower case."""
        self._compile()

    def _compile(self) -> None:
        # Without handlers, because the default ones fetch references over the network and from the
        # disk.
        spec = SchemaPath.from_dict(
            cast("Any", self._pinned), handlers={}, resolved_cache_maxsize=_RESOLVED
        )
        path = spec / "paths" / _PINNED
        operation = path / self._tool.method.lower()
        found = PathOperationServer(path, operation, None, TemplateResult(self._tool.path, {}), {})

        class OneOperation(BasePathFinder):
            """Always finds this operation, and ignores URLs."""

            def find(self, method: str, name: str) -> PathOperationServer:
                return found

        is_30 = str(self._pinned["openapi"]).startswith("3.0")
        request_class = V30RequestValidator if is_30 else V31RequestValidator
        response_class = V30ResponseValidator if is_30 else V31ResponseValidator
        requests = _CachedValidators(
            request_class.schema_validators_factory, "readOnly", REQUEST_FORMATS
        )
        self._requests = requests.create(spec, operation / "requestBody").validator
        self._responses = response_class(
            spec,
            path_finder_cls=OneOperation,
            schema_validators_factory=_CachedValidators(
                response_class.schema_validators_factory, "writeOnly", ANSWER_FORMATS
            ),
            extra_media_type_deserializers=_AnyType(),
        )

    def __getstate__(self) -> JsonObject:
        """Return all but the compiled validators, for another process to compile."""
        return {k: v for k, v in vars(self).items() if k not in ("_requests", "_responses")}

    def __setstate__(self, state: JsonObject) -> None:
        vars(self).update(state)
        self._compile()

    def request_violations(self, placement: Placement) -> tuple[str, ...]:
        """Return the ways in which a request breaks the contract, in words that quote no value.

        Raises:
            DocumentInvalid: the operation's own schema cannot be evaluated.
        """
        parts = {f"{b.location}.{b.field}": value for b, value in placement.parameters}
        if placement.has_body:
            parts[_BODY] = placement.body
        try:
            json_text(parts)
        except ValueError:
            return ("a number is not finite",)
        try:
            return tuple(dict.fromkeys(_request_words(list(self._requests.iter_errors(parts)))))
        except PatternUndecided as undecided:
            return (str(undecided),)
        except (OpenAPIError, *SCHEMA_FAULTS) as fault:
            raise unreadable_schema(self._tool, fault) from None

    def check_response(self, answer: Answer) -> ResponseCheck:
        """Compare an answer with the contract.

        Returns:
            The breaches in parts that are used, and separately the harmless ones.
        """
        status = self._declared_status(answer)
        response = _GivenResponse(
            status,
            # UTF-8, because a document may name a non-ASCII header. Equal lines, set by a provider
            # and its proxy, count once.
            httpx.Headers(list(dict.fromkeys(answer.headers.multi_items())), encoding="utf-8"),
            self._declared_type(answer),
            # In a tuple, because a body of null is not a missing one.
            None if answer.is_empty else (answer.value,),
        )
        bodyless = self._tool.method == "HEAD" or answer.status in _WITHOUTBODY
        # A status that the document does not declare is no permission to omit an id.
        bodyless = bodyless and (status == answer.status or self._tool.effect is Effect.CANCEL)
        try:
            errors = [
                error
                for error in self._responses.iter_errors(_AnyRequest(), response)
                if not (bodyless and isinstance(error, MissingData))
            ]
            breaches = list(
                dict.fromkeys(t for e in errors for t in self._words(e, harmless=False))
            )
            notes = list(dict.fromkeys(t for e in errors for t in self._words(e, harmless=True)))
            if status != answer.status:
                notes.append(f"the status {answer.status} is not declared")
            own = answer.content_type
            if self._declared_type(answer) != own and not is_json(own):
                notes.append(_undeclared(own))
        except PatternUndecided as undecided:
            return ResponseCheck(breach=str(undecided))
        except (OpenAPIError, *SCHEMA_FAULTS) as fault:
            return ResponseCheck(
                breach=f"the answer cannot be checked against its schema ({type(fault).__name__})"
            )
        for name, is_more_than_text in sorted(answer.repeated.items()):
            settles = is_more_than_text and self._tool.is_side_effect
            found = breaches if settles or self._used.is_used(name) else notes
            found.append(f"{name} stands there twice, with two values")
        return ResponseCheck(breach=_shortened(breaches), note=_shortened(notes))

    def _declared_status(self, answer: Answer) -> int:
        """Return the status whose declaration an answer has to follow.

        An effect is an effect under any success status: 201 is checked as the declared 200, because
        `default` is for errors.
        """
        own, status = answer.status, str(answer.status)
        is_done = 200 <= own < 300 and own != _ACCEPTED
        if not is_done or status in self._types or "2XX" in self._types:
            return own
        declared = sorted(one for one in self._types if one.isdecimal() and one.startswith("2"))
        with_body = (one for one in declared if bool(self._types[one]) is not answer.is_empty)
        return int(next(with_body, next(iter(declared), status)))

    def _declared_type(self, answer: Answer) -> str:
        """Return the media type of the answer's schema; JSON may have any name, or none."""
        status, own = str(self._declared_status(answer)), answer.content_type
        keys = (status, f"{status[:1]}XX", "default")
        types = next((self._types[key] for key in keys if key in self._types), ())
        if own in types:
            return own
        ranges = (own or _JSON for one in types if "*" in one and fnmatchcase(own or _JSON, one))
        is_parsed = isinstance(answer.value, dict | list) and answer.fault is None
        json_types = (one for one in types if (is_json(own) or is_parsed) and is_json(one))
        return next(json_types, next(ranges, own))

    def _words(self, error: Exception, *, harmless: bool) -> Iterator[str]:
        cause = error.__cause__
        if isinstance(error, HeaderValidationError | MissingHeaderError):
            if self._used.is_header_used(error.name) is not harmless:
                yield from _response_words(error)
            return
        if not isinstance(cause, InvalidSchemaValue):
            yield from () if harmless else _response_words(error)
            return
        breaches = [one for one in cause.schema_errors if isinstance(one, SchemaViolation)]
        wanted = [one for one in breaches if self._used.is_harmless(one) is harmless]
        yield from describe_violations(wanted, answered=True)

    def declares_refusal(self, answer: Answer) -> bool:
        """Return True if the document declares a refusal by its own status, type and body.

        `default` and `4XX` cover any trouble, also of gateways in front of the provider. A status
        that is declared without a body must come without one.
        """
        types = self._types.get(str(answer.status))
        if types is None or answer.fault is not None:
            return False
        if not types or self._tool.method == "HEAD":
            return answer.is_empty
        is_of_its_type = self._declared_type(answer) == answer.content_type
        return is_of_its_type and self.check_response(answer) == ResponseCheck()


def _shortened(found: Iterable[str]) -> str | None:
    texts = list(dict.fromkeys(found))
    rest = f"; and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return "; ".join(texts[:_SHOWN]) + rest if texts else None


class _CachedValidators(SchemaValidatorsFactory):
    """Caches the validator of each schema.

    openapi-core makes two validators for every value, each with a copy of all format checks.
    """

    def __init__(
        self, makes: SchemaValidatorsFactory, hidden: Hidden, formats: FormatChecker
    ) -> None:
        super().__init__(makes.schema_validator_cls, formats)
        self._makes = makes
        self._hidden = hidden
        self._kept: dict[tuple[Any, ...], SchemaValidator] = {}

    def get_validator_cls(self, spec: SchemaPath, schema: SchemaPath) -> type[Validator]:
        """Return the validator of the schema's dialect, for this side of the exchange."""
        return contract_dialect(self._makes.get_validator_cls(spec, schema), self._hidden)

    def create(
        self, spec: SchemaPath, schema: SchemaPath, *args: Any, **options: Any
    ) -> SchemaValidator:
        """Return the validator of a schema; the other arguments are the same in every call."""
        kept = self._kept.get(schema.parts)
        if kept is None:
            kept = self._kept[schema.parts] = super().create(spec, schema, *args, **options)
        return kept


class _AnyType(dict[str, Any]):
    """Deserialisers by media type, which return the value unchanged: it is parsed already."""

    def __contains__(self, media_type: object) -> bool:
        return True

    def __getitem__(self, media_type: str) -> Any:
        return lambda read, **_: read[0]


def _request_words(breaches: Iterable[SchemaViolation]) -> Iterator[str]:
    inner = []
    for breach in breaches:
        if not breach.path:
            given, wanted = cast("Any", breach.instance), cast("Any", breach.validator_value)
            missing = (part for part in wanted if part not in given)
            yield from (f"{part.partition('.')[2] or 'the body'} is missing" for part in missing)
            continue
        # The parameter's name precedes the path of its breach; a body has no name.
        if name := str(breach.path.popleft()).partition(".")[2]:
            breach.path.appendleft(name)
        inner.append(breach)
    yield from describe_violations(inner)


def _response_words(error: Exception) -> Iterator[str]:
    cause = error.__cause__
    if isinstance(error, ResponseNotFound):
        yield f"the status {error.http_status} is not declared"
    elif isinstance(error, MissingData):
        yield "the body is missing"
    elif isinstance(error, MissingHeaderError):
        yield f"the header {error.name} is missing"
    elif isinstance(cause, MediaTypeNotFound):
        yield _undeclared(cause.mimetype)
    elif isinstance(cause, MediaTypeDeserializeError):
        yield f"the body is not valid {cause.mimetype}"
    elif isinstance(cause, InvalidSchemaValue):
        breaches = [one for one in cause.schema_errors if isinstance(one, SchemaViolation)]
        if isinstance(error, HeaderValidationError):
            for breach in breaches:
                breach.path.appendleft(f"header {error.name}")
        yield from describe_violations(breaches, answered=True)
    else:
        what = f"header {error.name}" if isinstance(error, HeaderValidationError) else "body"
        yield f"the {what} is not of its declared type"


def _undeclared(content_type: str) -> str:
    return f"the content type {content_type or 'of nothing'} is not declared"


# -- the document of one operation --------------------------------------------------------------


def _declared_responses(operation: Operation) -> JsonObject:
    """Return the declared responses, with media types in the form used to look up answers."""
    declared = operation.node.at("responses")
    if declared is None:
        # OpenAPI 3.1 does not require responses; an operation without them guarantees nothing.
        return {"default": {"description": ""}}
    pinned: JsonObject = {}
    for status, response in declared.items():
        mapping = dict(response.mapping())
        content = response.at("content")
        if content is not None:
            schemas: dict[str, list[JsonValue]] = {}
            for key, media_type in content.items():
                essence = key.partition(";")[0].strip().lower()
                written = media_type.raw("schema")
                speaks = written is not None and _speaks(essence, written.resolved().value)
                schema = written.value if written is not None and speaks else {}
                schemas.setdefault(essence, []).append(schema)
            mapping["content"] = {
                essence: {"schema": found[0] if len(found) == 1 else {"anyOf": found}}
                for essence, found in schemas.items()
            }
        # A range is written in capitals, 4XX, but not by every author.
        pinned[status.upper() if status[:1].isdigit() else status] = mapping
    return pinned


def _speaks(essence: str, schema: JsonValue) -> bool:
    """Return True if a schema describes the body as it is parsed.

    Bodies other than JSON and text, such as XML, are not converted to the values of a schema; text
    is not converted to an object either.
    """
    if is_json(essence) or "*" in essence:
        return True
    kind = schema.get("type", "string") if isinstance(schema, dict) else "string"
    is_of_text = "string" in kind if isinstance(kind, (str, list)) else False
    return essence.startswith("text/") and is_of_text


def _schema_of_body(body: DocumentNode, content_type: str | None) -> JsonValue:
    media_type = body.at("content", content_type or "")
    written = media_type.raw("schema") if media_type is not None else None
    if written is None:
        return {}
    if is_structured(content_type or "") or not isinstance(written.resolved().value, dict):
        return written.value
    resolved = written.resolved().mapping()
    return written.value if text_schema(resolved) is resolved else {"type": "string"}
