"""Validation against published schemas: of x-orchet-* keywords, OpenAPI, and JSON Schema."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import jsonschema_rs
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema_rs import ValidationError as OpenApiError
from jsonschema_rs import ValidationErrorKind
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator.schemas import schema_v30, schema_v31, schema_v32
from pydantic import JsonValue

from orchestrator.catalog.source import read_contract_schema
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.openapi_dialect import openapi_version
from orchestrator.json_schema.references import definition_of, format_pointer
from orchestrator.json_schema.walker import properties_of

PREFIXES = ("x-orchet-", "x-orqen-")
"""Prefixes of the contract's keywords."""
_MOST_SHOWN = 60
"""Characters of a value that a message quotes."""
_SCHEMAS = {(3, 0): schema_v30, (3, 1): schema_v31, (3, 2): schema_v32}
_EXTRA = (ValidationErrorKind.AdditionalProperties, ValidationErrorKind.UnevaluatedProperties)
_MASK = "this value"
"""Replaces values in messages, which may be as long as the document."""


@dataclass(frozen=True)
class Breach:
    """A value that breaks its keyword's schema."""

    keyword: str
    pointer: str
    shown: str
    """The value as JSON, shortened."""
    wanted: str
    """A few words on the expected value: the title of the schema."""
    is_whole: bool
    """True if it is the whole value of the keyword, and not a part."""


class KeywordSchema:
    """The keywords that one kind of place may have, and their schema."""

    def __init__(self, schema: JsonObject) -> None:
        """Take a JSON Schema whose properties are the keywords."""
        self.names = frozenset(properties_of(schema))
        self._validator: Any = OAS31Validator(schema)

    def breaches(self, place: DocumentNode) -> Iterator[Breach]:
        """Yield the faults of the values of keywords at a place.

        Raises:
            DocumentInvalid: a reference in place of a value leads nowhere.
        """
        for keyword in sorted(self.names & place.mapping().keys()):
            if (value := place.at(keyword)) is None:
                continue
            for error in self._validator.iter_errors({keyword: value.value}):
                for specific in _most_specific(error):
                    yield _breach(keyword, value, specific)


@cache
def operation_keywords() -> KeywordSchema:
    """Return the keywords of an operation."""
    return KeywordSchema(read_contract_schema())


@cache
def document_keywords() -> KeywordSchema:
    """Return the keywords of the root of a document."""
    published = read_contract_schema()
    return KeywordSchema({**published, **definition_of("#/$defs/document", published)})


def _breach(keyword: str, value: DocumentNode, error: ValidationError) -> Breach:
    inside = list(error.absolute_path)[1:]
    schema = error.schema if isinstance(error.schema, dict) else {}
    return Breach(
        keyword=keyword,
        pointer=value.pointer + format_pointer(inside),
        shown=_shown(error.instance),
        wanted=str(schema.get("title", "what its schema says")),
        is_whole=not inside,
    )


def _most_specific(error: ValidationError) -> list[ValidationError]:
    """Return the deepest errors inside the failed alternatives, else the error itself."""
    inside = [nested for nested in error.context or () if nested.path]
    return [leaf for nested in inside for leaf in _most_specific(nested)] or [error]


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."


def openapi_breaches(content: JsonObject) -> Iterator[tuple[str, str, bool]]:
    """Yield pointer and reason of each breach of the OpenAPI schema; True: of a field too many.

    Args:
        content: a document of a supported version.
    """
    for breach in _validator(openapi_version(content) or (3, 1)).iter_errors(content):
        for cause in _causes(breach):
            is_extra = isinstance(cause.kind, _EXTRA)
            yield format_pointer(cause.instance_path), cause.message, is_extra


def json_schema_breaches(schema: JsonValue) -> Iterator[tuple[str, str]]:
    """Yield the same for a schema that must be JSON Schema 2020-12."""
    for breach in _meta_validator().iter_errors(schema):
        for cause in _causes(breach):
            yield format_pointer(cause.instance_path), cause.message


@cache
def _meta_validator() -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(dict(Draft202012Validator.META_SCHEMA), mask=_MASK)


@cache
def _validator(version: tuple[int, int]) -> jsonschema_rs.Validator:
    # In Rust, because a validator in Python takes a minute for the largest documents.
    return jsonschema_rs.validator_for(dict(_SCHEMAS[version]), mask=_MASK)


def _causes(breach: OpenApiError) -> Iterator[OpenApiError]:
    """Yield the deepest causes: "no alternative matches" would only name the place."""
    if not isinstance(breach.kind, ValidationErrorKind.OneOfNotValid):
        yield breach
        return
    branches = [[c for error in branch for c in _causes(error)] for branch in breach.kind.context]
    furthest = max((_depth(branch) for branch in branches), default=0)
    best = [branch for branch in branches if _depth(branch) == furthest]
    if furthest > len(breach.instance_path) and len(best) == 1:
        yield from (cause for cause in best[0] if len(cause.instance_path) == furthest)
    else:
        yield breach


def _depth(branch: list[OpenApiError]) -> int:
    return max((len(error.instance_path) for error in branch), default=0)
