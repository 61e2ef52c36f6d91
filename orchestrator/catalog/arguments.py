"""Checks of a call's arguments against its tool's contract, before anything is sent."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from pydantic import JsonValue

from orchestrator.catalog.call_templates import is_blank
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.expressions import parse_filling
from orchestrator.catalog.file_inputs import misplaced_files
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.pii import Handle, field_of, handles_in, handles_within
from orchestrator.core.received_files import file_handles_in, is_file_handle
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.patterns import PatternUndecided
from orchestrator.json_schema.references import format_pointer, with_definitions
from orchestrator.json_schema.validation import SCHEMA_FAULTS, describe_violations, unknown_name
from orchestrator.json_schema.validator import (
    KEYWORDS,
    REQUEST_FORMATS,
    Keyword,
    SchemaValidator,
    extra_names,
)

_DIGITS: Final = re.compile(r"0|-?[1-9][0-9]{0,999}")
"""A whole number as it is written back; leading zeros would make another text."""


def check_arguments(catalog: Catalog, tool: Tool, arguments: JsonObject) -> tuple[str, ...]:
    """Return a sentence for each fault of the arguments; empty if they are valid.

    A handle such as `pii:traveler_id`, or the handle of a file, counts as a valid value: the value
    itself is checked again when the call is sent. No sentence quotes a value. Arguments that a
    pattern cannot decide in bounded time are refused, so that nothing unchecked is sent.

    Raises:
        DocumentInvalid: the tool's own schema cannot be evaluated.
    """
    try:
        fields = personal_fields(catalog, tool)
        validator = _validator_class(fields, bool(file_handles_in(arguments)))(
            tool.input_schema, format_checker=REQUEST_FORMATS
        )
        violations = describe_violations(validator.iter_errors(by_text(tool, arguments)))
        return tuple(dict.fromkeys((*check_names(catalog, tool, arguments), *violations)))
    except PatternUndecided as undecided:
        return (str(undecided),)
    except SCHEMA_FAULTS as fault:
        raise unreadable_schema(tool, fault) from None


def by_text(tool: Tool, arguments: JsonObject) -> JsonObject:
    """Return the arguments with numbers and digits in the form that parameters' schemas accept.

    A path, query, header or cookie carries text: there 7 and "7" are one value, whichever of the
    two an earlier answer had. In a body they are two values.
    """
    changed: JsonObject = {}
    for binding in tool.bindings:
        value = arguments.get(binding.name)
        other = _other_form(value) if binding.location != "body" else None
        if other is not None and binding.style != "json":
            schema = with_definitions(tool.properties.get(binding.name, {}), tool.input_schema)
            validator = SchemaValidator(schema, format_checker=REQUEST_FORMATS)
            with suppress(PatternUndecided, *SCHEMA_FAULTS):  # the check that follows reports them
                if not validator.is_valid(value) and validator.is_valid(other):
                    changed[binding.name] = other
    return {**arguments, **changed} if changed else arguments


def _other_form(value: JsonValue) -> JsonValue:
    """Return digits for a whole number and the number for its digits; None for other values."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    return None


def check_names(catalog: Catalog, tool: Tool, arguments: JsonObject) -> tuple[str, ...]:
    """Return sentences about undeclared arguments and about handles that the tool may not receive.

    JSON Schema has no such rules, but an undeclared parameter has no place in a request.
    """
    found = []
    if tool.input_schema.get("additionalProperties") in (None, False):
        bound = {binding.name for binding in tool.bindings}
        strange = (n for n in extra_names(arguments, tool.input_schema) if n not in bound)
        found += [unknown_name(name, tool.properties) for name in strange]
    fields = personal_fields(catalog, tool)
    takes = ", ".join(f"pii:{field}" for field in sorted(fields)) or "none"
    for field in sorted(handles_in(arguments) - fields):
        found.append(f"pii:{field} is no personal field of this tool; it takes {takes}")
    return (*found, *_blank_names(catalog, tool, arguments), *misplaced_files(tool, arguments))


def _blank_names(catalog: Catalog, tool: Tool, arguments: JsonObject) -> Iterator[str]:
    """Yield a sentence for each input of a cancel that must name something and is blank."""
    forward = catalog.tools.get(tool.cancel_for or "")
    if forward is None or forward.compensation is None:
        return
    for name, template in forward.compensation.cancel.arguments.items():
        value = arguments.get(name)
        if isinstance(value, str) and is_blank(value) and parse_filling(template).expressions:
            yield f"{name} is blank, and names nothing to cancel"


def personal_fields(catalog: Catalog, tool: Tool) -> frozenset[str]:
    """Return the fields whose values a call may carry: its tool's, and those of calls it cancels.

    A cancel or a probe goes to the provider that received the values before, and an id that the
    provider made from one of them must reach it unchanged.
    """
    others = _fields_of_others(catalog).get((tool.document, tool.name), frozenset())
    return others.union(tool.pii_fields)


def needed_handles(catalog: Catalog, tool: Tool, arguments: JsonObject) -> tuple[Handle, ...]:
    """Return the handles whose values a call with these arguments carries, each once.

    A handle may be inside other text, such as an id that a provider made from a value.
    """
    return handles_within(arguments, personal_fields(catalog, tool))


@lru_cache(maxsize=8)
def _fields_of_others(catalog: Catalog) -> dict[tuple[str, str], frozenset[str]]:
    """Return, for each cancel tool and probe, the personal fields of the tools that declare it.

    Cached per catalog, because the function visits every tool.
    """
    found: dict[tuple[str, str], frozenset[str]] = {}
    for other in catalog.tools.values():
        for template in other.compensation.templates if other.compensation is not None else ():
            key = (other.document, template.tool)
            found[key] = found.get(key, frozenset()).union(other.pii_fields)
    return found


def unreadable_schema(tool: Tool, fault: BaseException) -> DocumentInvalid:
    """Return the error for a schema of this tool that cannot be evaluated.

    It names only the kind of fault, because the fault's text may quote a value.
    """
    pointer = format_pointer(("paths", tool.path, tool.method.lower()))
    kind = type(fault).__name__
    return DocumentInvalid(
        tool.document, pointer, f"a schema of {tool.name} cannot be evaluated ({kind})"
    )


@lru_cache(maxsize=256)
def _validator_class(fields: frozenset[str], files: bool) -> type[Validator]:
    """Return a JSON Schema 2020-12 validator that accepts handles of these fields as values.

    With `files`, handles of files as well.
    """
    if not fields and not files:
        return SchemaValidator
    lenient = {name: _except_handles(keyword, fields, files) for name, keyword in KEYWORDS.items()}
    extended: type[Validator] = extend(SchemaValidator, lenient)  # type: ignore[no-untyped-call]  # jsonschema leaves it untyped
    return extended


def _except_handles(keyword: Keyword, fields: frozenset[str], files: bool) -> Keyword:
    def checked(
        validator: Validator, wanted: Any, instance: Any, schema: Any
    ) -> Iterable[ValidationError] | None:
        if field_of(instance) in fields or (files and is_file_handle(instance)):
            return None
        return keyword(validator, wanted, instance, schema)

    return checked
