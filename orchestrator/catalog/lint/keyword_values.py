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
from orchestrator.json_schema.references import definition_of, format_pointer
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


class KeywordSchema:
    """The keywords that may stand in one kind of place, and what they take."""

    def __init__(self, schema: JsonObject) -> None:
        """Take a JSON Schema whose properties are the keywords."""
        self.names = frozenset(properties_of(schema))
        self._validator: Any = OAS31Validator(schema)

    def breaches(self, place: DocumentNode) -> Iterator[Breach]:
        """What is wrong with the values of the keywords there.

        Raises:
            DocumentInvalid: a reference in the place of a value leads nowhere.
        """
        for keyword in sorted(self.names & place.mapping().keys()):
            if (value := place.at(keyword)) is None:
                continue
            for error in self._validator.iter_errors({keyword: value.value}):
                for specific in _most_specific(error):
                    yield _breach(keyword, value, specific)


@cache
def operation_keywords() -> KeywordSchema:
    """Those of an operation."""
    return KeywordSchema(read_contract_schema())


@cache
def document_keywords() -> KeywordSchema:
    """Those of the root of a document."""
    published = read_contract_schema()
    return KeywordSchema({**published, **definition_of("#/$defs/document", published)})


def without(operation: Operation, names: frozenset[str]) -> Operation:
    """The operation without these keywords, so that the rest of it can be examined."""
    kept = {key: value for key, value in operation.node.mapping().items() if key not in names}
    return replace(operation, node=replace(operation.node, value=kept))


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
