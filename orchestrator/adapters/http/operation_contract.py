"""One operation's contract, checked by openapi-core: each request before it leaves, each answer."""

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
from orchestrator.adapters.http.contract_dialect import Hidden, contract_dialect
from orchestrator.adapters.http.deviations import UsedParts
from orchestrator.adapters.http.parameter_styles import json_text
from orchestrator.adapters.http.pinned_document import (
    BODY,
    JSON,
    PINNED,
    answer_types,
    declared_responses,
    part_name,
    pinned_document,
)
from orchestrator.adapters.http.placement import Placement
from orchestrator.catalog.arguments import unreadable_schema
from orchestrator.catalog.inputs import is_json
from orchestrator.catalog.operations import Operation
from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.patterns import PatternUndecided
from orchestrator.json_schema.validation import SCHEMA_FAULTS, describe_violations
from orchestrator.json_schema.validator import ANSWER_FORMATS, REQUEST_FORMATS

_WITHOUTBODY = frozenset({204, 205, 304})
_RESOLVED = 512
"""References whose targets are remembered, per operation."""
_SHOWN = 8
"""Breaches that are named; an answer may break its schema in thousands of places."""


@dataclass(frozen=True)
class ResponseCheck:
    """What of an answer is not as its document says."""

    breach: str | None = None
    """In parts that something uses: the answer is no success."""
    note: str | None = None
    """In parts that nothing uses."""

    @property
    def whole(self) -> str | None:
        """Both, in one text; None when the answer honours the contract."""
        return "; ".join(text for text in (self.breach, self.note) if text) or None


@dataclass
class _AskedRequest:
    """A request as openapi-core looks at one: a JSON object of all its parts."""

    body: bytes | None = None
    parameters: RequestParameters = field(default_factory=RequestParameters)
    host_url: str = ""
    path: str = ""
    method: str = ""
    content_type: str = JSON


@dataclass(frozen=True)
class _Read:
    """A body that was parsed already."""

    value: JsonValue


@dataclass
class _GivenResponse:
    """An answer as openapi-core looks at one."""

    status_code: int
    headers: Mapping[str, str]
    content_type: str
    data: Any


class OperationContract:
    """What one operation allows in a request and promises in an answer.

    openapi-core is asked about the request's values, not about their wire text: its own readers of
    styles and forms take a comma inside a list element for a delimiter and know neither nested
    objects nor several types, and would refuse calls that are right. How values are written is
    `parameters`' and `request`'s. All values are asked about at once, as one JSON object: that is
    one walk through the document instead of one for each parameter.
    """

    def __init__(self, operation: Operation, tool: Tool) -> None:
        responses = declared_responses(operation)
        self._tool = tool
        self._used = UsedParts(operation, tool)
        self._pinned = pinned_document(operation, tool, responses)
        self._types = {
            status: tuple(answer_types({status: response}))
            for status, response in responses.items()
        }
        self._answer_types = frozenset(answer_types(responses))
        self._compile()

    def _compile(self) -> None:
        # No handlers: the default ones fetch references over the network and from the disk.
        spec = SchemaPath.from_dict(
            cast("Any", self._pinned), handlers={}, resolved_cache_maxsize=_RESOLVED
        )
        finder = _finder_of(spec, self._tool)
        is_30 = str(self._pinned["openapi"]).startswith("3.0")
        request_class = V30RequestValidator if is_30 else V31RequestValidator
        response_class = V30ResponseValidator if is_30 else V31ResponseValidator
        self._requests = request_class(
            spec,
            path_finder_cls=finder,
            schema_validators_factory=_KeptValidators(
                request_class.schema_validators_factory, "readOnly", REQUEST_FORMATS
            ),
        )
        self._responses = response_class(
            spec,
            path_finder_cls=finder,
            schema_validators_factory=_KeptValidators(
                response_class.schema_validators_factory, "writeOnly", ANSWER_FORMATS
            ),
            extra_media_type_deserializers=_AnyType(),
        )

    def __getstate__(self) -> JsonObject:
        """Return all but the compiled validators, for another process to compile."""
        return {k: v for k, v in vars(self).items() if k not in ("_requests", "_responses")}

    def __setstate__(self, state: JsonObject) -> None:
        """Compile the contract of another process."""
        vars(self).update(state)
        self._compile()

    def request_violations(self, placement: Placement) -> tuple[str, ...]:
        """What of a request breaks the contract, in words that quote no value.

        Args:
            placement: the tool's inputs, real values in them, and the idempotency key.

        Raises:
            DocumentInvalid: the operation's own schema cannot be evaluated.
        """
        try:
            asked = _asked(placement)
        except ValueError:
            return ("a number is not finite",)
        try:
            errors = list(self._requests.iter_errors(asked))
            return tuple(dict.fromkeys(text for error in errors for text in _request_words(error)))
        except PatternUndecided as undecided:
            return (str(undecided),)
        except (OpenAPIError, *SCHEMA_FAULTS) as fault:
            raise unreadable_schema(self._tool, fault) from None

    @property
    def answer_types(self) -> frozenset[str]:
        """The media types that its answers may have, without parameters, in lower case."""
        return self._answer_types

    def response_breach(self, answer: Answer) -> str | None:
        """Return what of an answer breaks the contract, in one text; None when it honours it."""
        return self.check_response(answer).whole

    def check_response(self, answer: Answer) -> ResponseCheck:
        """Compare an answer with the contract.

        Returns:
            The breaches in parts that something uses, and apart from them the harmless ones.
        """
        response = _GivenResponse(
            answer.status,
            # In UTF-8: a document may name a header that is no ASCII. What is said twice, by the
            # provider and by what stands before it, is said once.
            httpx.Headers(list(dict.fromkeys(answer.headers.multi_items())), encoding="utf-8"),
            self._declared_type(answer),
            None if answer.is_empty else _Read(answer.value),
        )
        bodyless = self._tool.method == "HEAD" or answer.status in _WITHOUTBODY
        try:
            errors = [
                error
                for error in self._responses.iter_errors(_AskedRequest(), response)
                if not (bodyless and isinstance(error, MissingData))
            ]
            breaches = list(
                dict.fromkeys(t for e in errors for t in self._words(e, harmless=False))
            )
            notes = list(dict.fromkeys(t for e in errors for t in self._words(e, harmless=True)))
        except PatternUndecided as undecided:
            return ResponseCheck(breach=str(undecided))
        except (OpenAPIError, *SCHEMA_FAULTS) as fault:
            return ResponseCheck(
                breach=f"the answer cannot be checked against its schema ({type(fault).__name__})"
            )
        for name in sorted(answer.repeated):
            found = breaches if self._used.is_used(name) else notes
            found.append(f"{name} stands there twice, with two values")
        return ResponseCheck(breach=_shortened(breaches), note=_shortened(notes))

    def _declared_type(self, answer: Answer) -> str:
        """The media type under which the answer's schema stands: JSON is JSON by any name."""
        status, own = str(answer.status), answer.content_type
        keys = (status, f"{status[:1]}XX", "default")
        types = next((self._types[key] for key in keys if key in self._types), ())
        if own in types or (own and not is_json(own)):
            return own
        ranges = (own or JSON for one in types if "*" in one and fnmatchcase(own or JSON, one))
        json_types = (one for one in types if own and is_json(one))
        return next(json_types, next(ranges, own))

    def _words(self, error: Exception, *, harmless: bool) -> Iterator[str]:
        """The words of one error, of its harmless parts or of the others."""
        cause = error.__cause__
        if not isinstance(cause, InvalidSchemaValue) or isinstance(error, HeaderValidationError):
            yield from () if harmless else _response_words(error)
            return
        breaches = [one for one in cause.schema_errors if isinstance(one, SchemaViolation)]
        wanted = [one for one in breaches if self._used.is_harmless(one) is harmless]
        yield from describe_violations(wanted, answered=True)

    def declares_refusal(self, answer: Answer) -> bool:
        """Whether a refusal is one that the document declares: its own status, type and body.

        `default` and `4XX` speak of any trouble, also of that in front of the provider, and a
        status that is declared without a body comes without one.
        """
        types = self._types.get(str(answer.status))
        if types is None or answer.fault is not None:
            return False
        if not types or self._tool.method == "HEAD":
            return answer.is_empty
        is_of_its_type = self._declared_type(answer) == answer.content_type
        return is_of_its_type and self.response_breach(answer) is None


def _shortened(found: Iterable[str]) -> str | None:
    texts = list(dict.fromkeys(found))
    rest = f"; and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return "; ".join(texts[:_SHOWN]) + rest if texts else None


class _KeptValidators(SchemaValidatorsFactory):
    """Makes the validator of each schema once.

    openapi-core makes two for every value that it looks at, each with a copy of all format checks.
    """

    def __init__(
        self, makes: SchemaValidatorsFactory, hidden: Hidden, formats: FormatChecker
    ) -> None:
        super().__init__(makes.schema_validator_cls, formats)
        self._makes = makes
        self._hidden = hidden
        self._kept: dict[tuple[Any, ...], SchemaValidator] = {}

    def get_validator_cls(self, spec: SchemaPath, schema: SchemaPath) -> type[Validator]:
        """The validator of the schema's dialect, for this side of the exchange."""
        return contract_dialect(self._makes.get_validator_cls(spec, schema), self._hidden)

    def create(
        self, spec: SchemaPath, schema: SchemaPath, *args: Any, **options: Any
    ) -> SchemaValidator:
        """The validator of a schema; all but the schema is the same at every call."""
        kept = self._kept.get(schema.parts)
        if kept is None:
            kept = self._kept[schema.parts] = super().create(spec, schema, *args, **options)
        return kept


class _AnyType(dict[str, Any]):
    """Deserialisers by media type: there is nothing left to do, whatever the type."""

    def __contains__(self, media_type: object) -> bool:
        return True

    def __getitem__(self, media_type: str) -> Any:
        return _value_of


def _value_of(read: _Read, **_: str) -> JsonValue:
    return read.value


def _finder_of(spec: SchemaPath, tool: Tool) -> type[BasePathFinder]:
    """Finds the one operation without looking at a URL: which one it is was never in question."""
    path = spec / "paths" / PINNED
    found = PathOperationServer(
        path, path / tool.method.lower(), None, TemplateResult(tool.path, {}), {}
    )

    class OneOperation(BasePathFinder):
        def find(self, method: str, name: str) -> PathOperationServer:
            return found

    return OneOperation


def _asked(placement: Placement) -> _AskedRequest:
    parts: JsonObject = {}
    for binding, value in placement.parameters:
        parts[part_name(binding.location, binding.field)] = value
    if placement.has_body:
        parts[BODY] = placement.body
    return _AskedRequest(json_text(parts).encode())


def _request_words(error: Exception) -> Iterator[str]:
    cause = error.__cause__
    if not isinstance(cause, InvalidSchemaValue):
        yield "the request is not of its declared form"
        return
    breaches = [breach for breach in cause.schema_errors if isinstance(breach, SchemaViolation)]
    for breach in breaches:
        if not breach.path:
            yield from (f"{_name_of(part) or 'the body'} is missing" for part in _missing(breach))
    yield from describe_violations(_by_own_name(breach) for breach in breaches if breach.path)


def _missing(breach: SchemaViolation) -> list[str]:
    given = breach.instance if isinstance(breach.instance, dict) else {}
    wanted = breach.validator_value if isinstance(breach.validator_value, list) else []
    return [part for part in wanted if part not in given]


def _by_own_name(breach: SchemaViolation) -> SchemaViolation:
    """The breach with the parameter's name before its path; a body's fields speak for it."""
    name = _name_of(str(breach.path.popleft()))
    if name:
        breach.path.appendleft(name)
    return breach


def _name_of(part: str) -> str:
    """The parameter's name; '' for the body."""
    return part.partition(".")[2]


def _response_words(error: Exception) -> Iterator[str]:
    cause = error.__cause__
    if isinstance(error, ResponseNotFound):
        yield f"the status {error.http_status} is not declared"
    elif isinstance(error, MissingData):
        yield "the body is missing"
    elif isinstance(error, MissingHeaderError):
        yield f"the header {error.name} is missing"
    elif isinstance(cause, MediaTypeNotFound):
        yield f"the content type {cause.mimetype or 'of nothing'} is not declared"
    elif isinstance(cause, MediaTypeDeserializeError):
        yield f"the body is not valid {cause.mimetype}"
    elif isinstance(cause, InvalidSchemaValue):
        name = f"header {error.name}" if isinstance(error, HeaderValidationError) else ""
        yield from describe_violations(_under(name, cause.schema_errors), answered=True)
    else:
        what = f"header {error.name}" if isinstance(error, HeaderValidationError) else "body"
        yield f"the {what} is not of its declared type"


def _under(name: str, errors: Iterable[Exception]) -> Iterator[SchemaViolation]:
    """The breaches with `name` put before their paths."""
    for error in errors:
        if isinstance(error, SchemaViolation):
            if name:
                error.path.appendleft(name)
            yield error
