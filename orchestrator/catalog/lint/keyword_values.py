"""The values of x-orchet-* and x-orqen-* keywords, checked by their published JSON Schema."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from jsonschema.exceptions import ValidationError

# Patterns of a published schema are ECMAScript's, and this validator reads them as such.
from openapi_schema_validator import OAS31Validator

from orchestrator.catalog.operations import Operation
from orchestrator.catalog.source import read_contract_schema
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.pointer import format_pointer
from orchestrator.json_schema.references import definition_of
from orchestrator.json_schema.walker import properties_of

PREFIXES = ("x-orchet-", "x-orqen-")
"""What the keywords of the contract begin with."""
_MOST_SHOWN = 60
"""Characters of a value that a message quotes."""


@dataclass(frozen=True)
class Breach:
    """A value that is not what its keyword takes."""

    keyword: str
    pointer: str
    shown: str
    """The value as JSON, shortened."""
    wanted: str
    """What belongs there, in a few words: the title of the schema."""
    is_whole: bool
    """Whether it is the whole value of the keyword, and not something inside of it."""


@cache
def keywords() -> frozenset[str]:
    """The keywords that an operation may have."""
    return frozenset(properties_of(read_contract_schema()))


@cache
def document_keywords() -> frozenset[str]:
    """The keywords that the root of a document may have."""
    return frozenset(properties_of(_document_schema()))


def operation_breaches(operation: Operation) -> list[Breach]:
    """What is wrong with the values of an operation's keywords.

    Raises:
        DocumentInvalid: a reference in the place of a value leads nowhere.
    """
    return list(_breaches(operation.node, keywords(), _operation_validator()))


def document_breaches(root: DocumentNode) -> list[Breach]:
    """What is wrong with the values of the keywords at the root of a document.

    Raises:
        DocumentInvalid: a reference in the place of a value leads nowhere.
    """
    return list(_breaches(root, document_keywords(), _document_validator()))


def without(operation: Operation, names: frozenset[str]) -> Operation:
    """The operation without these keywords, so that the rest of it can be examined."""
    kept = {key: value for key, value in operation.node.mapping().items() if key not in names}
    return replace(operation, node=replace(operation.node, value=kept))


def _breaches(place: DocumentNode, names: frozenset[str], validator: Any) -> Iterator[Breach]:
    for keyword in sorted(names & place.mapping().keys()):
        value = place.at(keyword)
        if value is None:
            continue
        for error in validator.iter_errors({keyword: value.value}):
            for specific in _most_specific(error):
                yield _breach(keyword, value, specific)


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
    """Of alternatives that all fail, what is wrong inside of one of them; else the error itself."""
    inside = [nested for nested in error.context or () if nested.path]
    return [leaf for nested in inside for leaf in _most_specific(nested)] or [error]


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."


@cache
def _operation_validator() -> Any:
    return OAS31Validator(read_contract_schema())


@cache
def _document_validator() -> Any:
    return OAS31Validator({**read_contract_schema(), **_document_schema()})


def _document_schema() -> JsonObject:
    return definition_of("#/$defs/document", read_contract_schema())
