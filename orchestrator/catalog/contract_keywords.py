"""Keywords of the contract, whose values are checked by the schema that is published for them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import jsonschema_rs
from jsonschema.exceptions import ValidationError

from orchestrator.catalog.source import read_contract_schema
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.references import definition_of, format_pointer
from orchestrator.json_schema.walker import properties_of

PREFIXES = ("x-orchet-", "x-orqen-")
"""Prefixes of the contract's keywords."""
LINT_IGNORE = "x-orchet-lint-ignore"
"""The keyword that only the linter reads."""
_MOST_SHOWN = 60
"""Characters of a value that a message quotes."""


@dataclass(frozen=True)
class Breach:
    """A value that breaks its keyword's schema."""

    keyword: str
    pointer: str
    stated: str
    """`is` or `holds`, and the value as JSON, shortened."""
    wanted: str
    """The expected value in a few words: the title of the schema."""


class KeywordSchema:
    """The keywords that one kind of place may have, and their schema."""

    def __init__(self, schema: JsonObject) -> None:
        """Take a JSON Schema whose properties are the keywords."""
        self.names = frozenset(properties_of(schema))
        self._schema = schema
        self._fast = jsonschema_rs.Draft202012Validator(schema)

    def breaches(self, place: DocumentNode) -> Iterator[Breach]:
        """Yield the faults of the values of keywords at a place.

        Raises:
            DocumentInvalid: a reference in place of a value leads nowhere.
        """
        found = ((keyword, place.at(keyword)) for keyword in self.names & place.mapping().keys())
        held = {keyword: value for keyword, value in sorted(found) if value is not None}
        if not self._fast.is_valid({keyword: value.value for keyword, value in held.items()}):
            for keyword, value in held.items():
                for error in self._errors({keyword: value.value}):
                    yield _breach(keyword, value, error)

    def check(self, place: DocumentNode) -> None:
        """Refuse a value that breaks its schema, except for the keyword of the linter.

        Raises:
            DocumentInvalid: with the place of the value.
        """
        for breach in self.breaches(place):
            if breach.keyword != LINT_IGNORE:
                reason = f"{breach.keyword} {breach.stated}"
                wanted = f"write {breach.wanted}"
                raise DocumentInvalid(place.document, breach.pointer, reason, wanted)

    def _errors(self, values: dict[str, Any]) -> Iterator[ValidationError]:
        # Imported here, because most documents have no fault.
        from openapi_schema_validator import OAS31Validator

        validator: Any = OAS31Validator(self._schema)
        for error in validator.iter_errors(values):
            yield from _most_specific(error)


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
    text = json.dumps(error.instance, ensure_ascii=False)
    shown = text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."
    return Breach(
        keyword=keyword,
        pointer=value.pointer + format_pointer(inside),
        stated=f"{'holds' if inside else 'is'} {shown}",
        wanted=str(schema.get("title", "what its schema says")),
    )


def _most_specific(error: ValidationError) -> list[ValidationError]:
    """Return the deepest errors inside the failed alternatives, else the error itself."""
    inside = [nested for nested in error.context or () if nested.path]
    return [leaf for nested in inside for leaf in _most_specific(nested)] or [error]
