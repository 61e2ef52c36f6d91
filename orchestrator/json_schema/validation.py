"""Values validated against the schemas of the fields that were asked for."""

from collections.abc import Iterator
from typing import Final

from pydantic import JsonValue

from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.formats import ASKED
from orchestrator.json_schema.patterns import PatternUndecided
from orchestrator.json_schema.validator import SchemaValidator
from orchestrator.json_schema.violations import SCHEMA_FAULTS, describe_violations

FIRST_DAY: Final = "formatMinimum"
"""The keyword of a field for a day that may not be before another one, in ISO 8601."""
LAST_DAY: Final = "formatMaximum"
"""The same of one that may not be after another."""


def field_problems(fields: dict[str, JsonObject], values: JsonObject) -> tuple[str, ...]:
    """What is wrong with the values of some fields; no part of it quotes a value.

    Args:
        fields: JSON Schemas by the names that were asked for.
        values: by field. A handle of a personal field is checked when its value is known.
    """
    names = ", ".join(sorted(fields))
    strange = sorted(set(values) - set(fields))
    missing = sorted(set(fields) - set(values))
    problems = [
        *([f"not asked for: {', '.join(strange)}"] if strange else []),
        *([f"missing: {', '.join(missing)}"] if missing else []),
    ]
    if problems:
        return (f"answer with {names}", *problems)
    return tuple(_violations(fields, values))


def _violations(fields: dict[str, JsonObject], values: JsonObject) -> Iterator[str]:
    for name, schema in fields.items():
        if is_handle(values[name]):
            continue
        validator = SchemaValidator(schema, format_checker=ASKED)
        try:
            texts = describe_violations(validator.iter_errors(values[name]))
        except PatternUndecided as undecided:
            texts = (str(undecided),)
        except SCHEMA_FAULTS:
            continue  # a schema that cannot be evaluated is met again when the call is prepared
        yield from (_named(name, text) for text in texts)
        yield from _out_of_its_days(name, schema, values[name])


def _out_of_its_days(name: str, schema: JsonObject, value: JsonValue) -> Iterator[str]:
    """What is wrong with a day that is told to lie after or before another one."""
    first, last = schema.get(FIRST_DAY), schema.get(LAST_DAY)
    if isinstance(value, str) and isinstance(first, str) and value < first:
        yield f"{name} cannot be before {first}, on which it starts"
    if isinstance(value, str) and isinstance(last, str) and value > last:
        yield f"{name} cannot be after {last}, on which it ends"


def _named(name: str, text: str) -> str:
    """`the value must be ...` with the field's name for it."""
    return text.replace("the value", name, 1) if text.startswith("the value") else f"{name}: {text}"
