"""Documents held against OpenAPI's published schema, and schemas against JSON Schema's."""

from collections.abc import Iterator
from functools import cache

import jsonschema_rs
from jsonschema import Draft202012Validator
from jsonschema_rs import ValidationError, ValidationErrorKind
from openapi_spec_validator.schemas import schema_v30, schema_v31, schema_v32
from pydantic import JsonValue

from orchestrator.core.record import JsonObject
from orchestrator.json_schema.openapi_dialect import openapi_version
from orchestrator.json_schema.references import format_pointer

_SCHEMAS = {(3, 0): schema_v30, (3, 1): schema_v31, (3, 2): schema_v32}
_MASK = "this value"
"""Stands for values in messages: some are as long as the document."""


def openapi_breaches(content: JsonObject) -> Iterator[tuple[str, str]]:
    """The JSON pointer of each breach of the OpenAPI schema, and what is wrong there.

    Args:
        content: a document of a version that we read.
    """
    for breach in _validator(openapi_version(content) or (3, 1)).iter_errors(content):
        for cause in _causes(breach):
            yield format_pointer(cause.instance_path), cause.message


def json_schema_breaches(schema: JsonValue) -> Iterator[tuple[str, str]]:
    """The same of one schema that should be one of JSON Schema 2020-12."""
    for breach in _meta_validator().iter_errors(schema):
        for cause in _causes(breach):
            yield format_pointer(cause.instance_path), cause.message


@cache
def _meta_validator() -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(dict(Draft202012Validator.META_SCHEMA), mask=_MASK)


@cache
def _validator(version: tuple[int, int]) -> jsonschema_rs.Validator:
    # In Rust: the same check by a validator in Python takes a minute for the largest documents.
    return jsonschema_rs.validator_for(dict(_SCHEMAS[version]), mask=_MASK)


def _causes(breach: ValidationError) -> Iterator[ValidationError]:
    """What is wrong deepest down: "none of the alternatives fits" would only name the place."""
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


def _depth(branch: list[ValidationError]) -> int:
    return max((len(error.instance_path) for error in branch), default=0)
