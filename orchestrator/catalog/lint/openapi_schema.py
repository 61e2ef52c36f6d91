"""Documents held against OpenAPI's published schema, and schemas against JSON Schema's."""

from collections.abc import Iterator
from functools import cache

import jsonschema_rs
from jsonschema import Draft202012Validator
from jsonschema_rs import ValidationError, ValidationErrorKind
from openapi_spec_validator.schemas import schema_v30, schema_v31
from pydantic import JsonValue

from orchestrator.core.record import JsonObject
from orchestrator.json_schema.pointer import format_pointer

_MASK = "this value"
"""Stands for values in messages: some are as long as the document."""


def openapi_breaches(content: JsonObject) -> Iterator[tuple[str, str]]:
    """The JSON pointer of each breach of the OpenAPI schema, and what is wrong there.

    Args:
        content: a document whose `openapi` says 3.0.x or 3.1.x.
    """
    is_3_0 = str(content["openapi"]).startswith("3.0")
    for breach in _validator(is_3_0=is_3_0).iter_errors(content):
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
def _validator(*, is_3_0: bool) -> jsonschema_rs.Validator:
    # In Rust: the same check by a validator in Python takes a minute for the largest documents.
    return jsonschema_rs.validator_for(dict(schema_v30 if is_3_0 else schema_v31), mask=_MASK)


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
