"""Idempotency keys: which field of a request takes one, and in which form."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, Protocol

from pydantic import JsonValue

from orchestrator.catalog.operations import Operation
from orchestrator.catalog.tool import IdempotencyKey, InputBinding, KeyForm
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.patterns import PatternUndecided
from orchestrator.json_schema.validation import SCHEMA_FAULTS
from orchestrator.json_schema.validator import REQUEST_FORMATS, SchemaValidator
from orchestrator.language.words import name_words

IDEMPOTENCY_KEY: Final = "x-orchet-idempotency-key"
_PLACES: Final = ("header", "query", "body")
_STEM: Final = "idempoten"
_OF_REQUESTS: Final = frozenset({"request", "nonce", "token"})
_OF_PAGES: Final = frozenset({"page", "next", "cursor", "continuation", "sync"})
_REPEATS: Final = re.compile(
    r"idempoten|\bdeduplicat|\bduplicate|\bretr(?:y|ies|ied)\b|\brepeat|\brepetition", re.IGNORECASE
)
_CONSTRAINTS: Final = frozenset(
    {"pattern", "format", "enum", "const", "allOf", "anyOf", "oneOf", "not", "$ref", "if"}
)
_UUID: Final = 36
_SHORTEST, _LONGEST = 12, 128
"""Lengths of derived keys: 48 bits tell the calls of one provider apart."""
_FORMS: Final[tuple[KeyForm, ...]] = ("hex", "HEX", "letters", "LETTERS", "digits")
_SAMPLES: Final = tuple(f"mission-{number}.leg.{number}" for number in range(4))


class Taken(Protocol):
    """A field of a request, as its operation declares it."""

    @property
    def binding(self) -> InputBinding:
        """Place of the field."""

    @property
    def schema(self) -> JsonValue:
        """Expanded schema of the field, with its description."""


def find_key(operation: Operation, fields: Sequence[Taken]) -> IdempotencyKey | None:
    """Return the idempotency key that an operation takes: the declared one, else one by its words.

    Args:
        operation: whose x-orchet-idempotency-key names the field, or is false.
        fields: everything that a request may hold.

    Raises:
        DocumentInvalid: no field has the declared name, or no key of ours fits a required one.
    """
    able = [f for f in fields if f.binding.location in _PLACES and f.binding.field]
    declared = operation.node.at(IDEMPOTENCY_KEY)
    if declared is not None and declared.value is False:
        return None
    if declared is not None:
        name = declared.text().lower()
        found = [f for f in able if f.binding.field.lower() == name]
        if not name:
            raise declared.invalid("the name of a field, or false, is wanted")
        if not found:
            raise declared.invalid(
                f"no header, query parameter or body property is called {declared.text()!r}"
            )
    else:
        found = [f for f in able if _is_key(f, operation)]
    for field in sorted(found, key=lambda f: _PLACES.index(f.binding.location)):
        schema = field.schema if isinstance(field.schema, dict) else {}
        if (form := _form_of(operation.schemas.inputs.opened(schema))) is not None:
            location, name = field.binding.location, field.binding.field
            return IdempotencyKey(location=location, field=name, form=form[0], length=form[1])
        if declared is not None or field.binding.required:
            raise operation.node.invalid(
                f"no idempotency key that we can make fits the schema of {field.binding.field!r}",
                f"correct its schema, or set {IDEMPOTENCY_KEY}: false to make it an input",
            )
    return None


def _is_key(field: Taken, operation: Operation) -> bool:
    """Return True if the name says so, or the name of a request's token and its description do."""
    schema = field.schema if isinstance(field.schema, dict) else {}
    schema = operation.schemas.inputs.opened(schema)
    words = name_words(field.binding.field)
    if not _is_text(schema):
        return False
    if any(word.startswith(_STEM) for word in words):
        return True
    is_of_request = _OF_REQUESTS & {*words} and not _OF_PAGES & {*words}
    described = str(schema.get("description", ""))
    return bool(is_of_request and not operation.is_safe and _REPEATS.search(described))


def _is_text(schema: JsonObject) -> bool:
    kind = schema.get("type", "string")
    return kind == "string" or (isinstance(kind, list) and "string" in kind)


def _form_of(schema: JsonObject) -> tuple[KeyForm, int] | None:
    return _fitting(json.dumps(schema, sort_keys=True, default=str))


@lru_cache(maxsize=1 << 10)
def _fitting(text: str) -> tuple[KeyForm, int] | None:
    """Return the first form, and its length, of which every sample fits a schema, in JSON."""
    schema: JsonObject = json.loads(text)
    validator = SchemaValidator(schema, format_checker=REQUEST_FORMATS)
    try:
        for form, length in _candidates(schema):
            key = IdempotencyKey(location="header", field="", form=form, length=length)
            if all(validator.is_valid(key.written(sample)) for sample in _SAMPLES):
                return form, length
    except (PatternUndecided, *SCHEMA_FAULTS):
        return None
    return None


def _candidates(schema: JsonObject) -> Iterator[tuple[KeyForm, int]]:
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength", 0)
    if isinstance(longest, int) and _CONSTRAINTS.isdisjoint(schema) and not 0 < longest < _UUID:
        # A text that is too long gives way to a UUID.
        yield "text", longest
    yield "uuid", _UUID
    yield "UUID", _UUID
    low = max(shortest if isinstance(shortest, int) else 0, _SHORTEST)
    high = min(longest if isinstance(longest, int) and longest else _LONGEST, _LONGEST)
    for length in sorted(range(low, high + 1), key=lambda n: abs(n - 32)):
        yield from ((form, length) for form in _FORMS)
