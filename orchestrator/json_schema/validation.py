"""Validation of given values: describes each violation in words that never quote a value."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from jsonschema.exceptions import UnknownType, ValidationError
from rapidfuzz import fuzz, process
from referencing.exceptions import Unresolvable

from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject
from orchestrator.core.shown_text import number_of
from orchestrator.json_schema.patterns import PatternUndecided
from orchestrator.json_schema.validator import REQUEST_FORMATS, UNSAID, SchemaValidator, extra_names

FIRST_DAY: Final = "formatMinimum"
"""Keyword for the earliest allowed day of a field, in ISO 8601."""
LAST_DAY: Final = "formatMaximum"
"""Keyword for the latest allowed day of a field."""
SCHEMA_FAULTS: Final = (
    Unresolvable,
    UnknownType,
    RecursionError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
)
"""Exceptions that a defective schema raises during validation.

An invalid pattern, a reference that leads nowhere, an unknown type, a format checker that meets
unexpected text, or an integer that `multipleOf` cannot divide as a float.
"""

_SHOWN = 12
"""The number of alternatives that are listed; the others are only counted."""
_LEVELS = 4
"""The number of levels of nested alternatives that are described."""

_FORMATS = {
    "date": "a date like 2026-12-03",
    "date-time": "a date and time with its offset like 2026-12-03T09:30:00Z",
    "time": "a time with its offset like 09:30:00Z",
    "email": "an e-mail address",
    "uuid": "a UUID",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
    "uri": "an absolute URI",
    "duration": "a duration like PT1H30M",
    "byte": "base64",
    "int32": "a whole number of 32 bits",
    "int64": "a whole number of 64 bits",
}
_ARTICLES = {"integer": "an integer", "array": "a list", "object": "an object", "null": "null"}


def field_problems(fields: dict[str, JsonObject], values: JsonObject) -> tuple[str, ...]:
    """Return the problems with the values of some fields; no text quotes a value.

    Args:
        fields: JSON Schemas by field name.
        values: by field. A handle of a personal field is checked once its value is known.
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
    for name, schema in fields.items():
        value = values[name]
        if is_handle(value):
            continue
        validator = SchemaValidator(schema, format_checker=REQUEST_FORMATS)
        try:
            texts = describe_violations(validator.iter_errors(value))
        except PatternUndecided as undecided:
            texts = (str(undecided),)
        except SCHEMA_FAULTS:
            continue  # the preparation of the call reports a schema that cannot be evaluated
        for text in texts:
            is_bare = text.startswith("the value")
            problems.append(text.replace("the value", name, 1) if is_bare else f"{name}: {text}")
        first, last = schema.get(FIRST_DAY), schema.get(LAST_DAY)
        if isinstance(value, str) and isinstance(first, str) and value < first:
            problems.append(f"{name} cannot be before {first}, on which it starts")
        if isinstance(value, str) and isinstance(last, str) and value > last:
            problems.append(f"{name} cannot be after {last}, on which it ends")
    return tuple(problems)


def describe_violations(
    errors: Iterable[ValidationError], *, answered: bool = False
) -> tuple[str, ...]:
    """Return each violation once, in the order of the fields.

    With `answered`, the values are a provider's: an unknown name is no wrong input.
    """
    ordered = sorted(errors, key=lambda error: [str(step) for step in error.absolute_path])
    return tuple(dict.fromkeys(text for error in ordered for text in _describe(error, answered)))


def unknown_name(name: str, known: Iterable[str]) -> str:
    """Return the sentence about an unknown input, with the input that may have been meant."""
    near = process.extractOne(name, list(known), scorer=fuzz.WRatio, score_cutoff=70)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{name} is no input here{hint}"


def _describe(error: ValidationError, answered: bool) -> Iterator[str]:
    if error.validator == "required":
        yield from (f"{name} is missing" for name in _missing(error))
    elif error.validator in ("additionalProperties", "unevaluatedProperties"):
        schema = error.schema if isinstance(error.schema, dict) else {}
        if not isinstance(error.instance, dict) or error.validator_value is not False:
            yield f"{_subject(error)} has a property that does not fit"
            return
        for name in extra_names(error.instance, schema):
            path = _path([*error.absolute_path, name])
            if answered:
                yield f"{path} is not declared"
            else:
                yield unknown_name(path, schema.get("properties", {}))
    elif error.validator in ("anyOf", "oneOf"):
        outer: object = error
        for _ in range(_LEVELS):
            outer = getattr(outer, "parent", None)
        if outer is not None:
            yield f"{_subject(error)} fits none of its alternatives"
            return
        if selected := _selected_alternative(error, answered):
            yield from selected
            return
        branches = _branches(error).values()
        if not branches:
            yield f"{_subject(error)} fits more than one alternative where exactly one must fit"
            return
        lacking = [
            []
            if any(one.validator != "required" for one in nested)
            else [name for one in nested for name in _missing(one)]
            for nested in branches
        ]
        if all(lacking):
            names = " or ".join(" and ".join(dict.fromkeys(listed)) for listed in lacking)
            yield f"{names} is missing"
            return
        texts = [" and ".join(describe_violations(n, answered=answered)) for n in branches]
        shown = " or ".join(f"({text})" for text in dict.fromkeys(texts[:_SHOWN]))
        yield f"{_subject(error)} fits none of its alternatives: {shown}"
    else:
        yield f"{_subject(error)} {_rule(error)}"


def _subject(error: ValidationError) -> str:
    return _path(error.absolute_path) or "the value"


def _path(steps: Iterable[str | int]) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return text.removeprefix(".")


def _missing(error: ValidationError) -> list[str]:
    given = error.instance if isinstance(error.instance, dict) else {}
    wanted = error.validator_value if isinstance(error.validator_value, list) else []
    return [_path([*error.absolute_path, str(name)]) for name in wanted if name not in given]


def _branches(error: ValidationError) -> dict[object, list[ValidationError]]:
    branches: dict[object, list[ValidationError]] = {}
    for nested in error.context or ():
        branches.setdefault(nested.schema_path[0], []).append(nested)
    return branches


def _selected_alternative(error: ValidationError, answered: bool) -> tuple[str, ...]:
    """Describe the violations of the one alternative that a property's value selects, if any."""
    branches = _branches(error)
    elsewhere: dict[str, dict[object, list[str]]] = {}
    for key, nested in branches.items():
        for breach in nested:
            is_of_a_property = [type(step) for step in breach.relative_path] == [str]
            if breach.validator in ("enum", "const") and is_of_a_property:
                allowed = breach.validator_value
                values = allowed if isinstance(allowed, list) else [allowed]
                named = elsewhere.setdefault(str(breach.relative_path[0]), {})
                named[key] = [str(value) for value in values]
    for name, named in elsewhere.items():
        meant = [key for key in branches if key not in named]
        if len(meant) == 1 and len(branches) > 1:
            return describe_violations(branches[meant[0]], answered=answered)
        if not meant and len(branches) > 1:
            known = sorted({value for values in named.values() for value in values})
            return (f"{_path([*error.absolute_path, name])} must be {_one_of(known)}",)
    return ()


def _rule(error: ValidationError) -> str:
    keyword, wanted = str(error.validator), error.validator_value
    if keyword == "type":
        names = wanted if isinstance(wanted, list) else [wanted]
        return "must be " + " or ".join(_ARTICLES.get(str(name), f"a {name}") for name in names)
    if keyword == "enum":
        return f"must be {_one_of(wanted if isinstance(wanted, list) else [])}"
    if keyword == "format":
        return f"must be {_FORMATS.get(str(wanted), f'of the format {wanted}')}"
    return _RULES.get(keyword, f"breaks the rule {keyword}").format(wanted)


def _one_of(values: Sequence[object]) -> str:
    rest = f" or {number_of(len(values) - _SHOWN, 'other')}" if len(values) > _SHOWN else ""
    return f"one of {', '.join(str(value) for value in values[:_SHOWN])}{rest}"


_RULES = {
    "const": "must be {}",
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "pattern": "must match the pattern {}",
    "minItems": "must have at least {} elements",
    "maxItems": "must have at most {} elements",
    "uniqueItems": "must not repeat an element",
    "minProperties": "must have at least {} properties",
    "maxProperties": "must have at most {} properties",
    "contains": "lacks an element that it must contain",
    "dependentRequired": "lacks a property that another one requires",
    "not": "is of a form that is excluded",
    UNSAID: "is not of its declared form",
}
