"""The validator of compiled schemas: JSON Schema 2020-12 with ECMA-262 patterns and formats."""

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from copy import deepcopy
from functools import cache, partial
from typing import Any, Final

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from orchestrator.json_schema.canonical import canonical_text
from orchestrator.json_schema.patterns import matches_pattern

Keyword = Callable[[Validator, Any, Any, Any], Iterable[ValidationError] | None]
UNSAID: Final = "unsaid"
"""The keyword of a violation that stands for many, or that is nested too deeply."""
_BITS = {"int32": 31, "int64": 63}
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*")
_DURATION = re.compile(
    r"P(?=[\dT])(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)"
)


_REPEATED = 16
"""The maximum number of violations that are repeated if another path leads to the same value."""
_REPEATED_LEVELS = 2
_Seen = dict[tuple[int, int], tuple[ValidationError, ...]]
_seen: ContextVar[_Seen | None] = ContextVar("_seen", default=None)


def once(check: Keyword) -> Keyword:
    """Make a keyword compare a value with a schema once, even if many paths lead to them.

    Recursive alternatives would double the work with each level of a value.
    """

    def checked(
        validator: Validator, wanted: Any, instance: Any, schema: Any
    ) -> Iterable[ValidationError]:
        return _once(wanted, instance, lambda: check(validator, wanted, instance, schema) or ())

    return checked


def _reference(validator: Any, wanted: Any, instance: Any, _: Any) -> Iterable[ValidationError]:
    found = validator._resolver.lookup(wanted)
    return _once(
        found.contents,
        instance,
        lambda: validator.descend(instance, found.contents, resolver=found.resolver),
    )


def _once(
    part: Any, instance: Any, errors: Callable[[], Iterable[ValidationError]]
) -> Iterable[ValidationError]:
    """Return the violations of a part of a schema by a value, computed at the first time only."""
    if not isinstance(instance, dict | list):
        return errors()
    seen = _seen.get()
    if seen is None:
        token = _seen.set({})
        try:
            return list(errors())
        finally:
            _seen.reset(token)
    key = (id(part), id(instance))
    if key in seen:
        return [_repeated(error) for error in seen[key]]
    found = list(errors())
    # Copies: each caller on the path to the value prepends its own steps to the path of an error.
    kept = [_repeated(error) for error in found[:_REPEATED]]
    seen[key] = tuple(kept) if len(found) <= _REPEATED else (ValidationError("", validator=UNSAID),)
    return found


def _repeated(error: ValidationError, levels: int = _REPEATED_LEVELS) -> ValidationError:
    """Copy a violation with a few levels of the alternatives that it is about."""
    context = error.context or ()
    is_cut = len(context) > _REPEATED or bool(context and not levels)
    return ValidationError(
        "" if is_cut else error.message,
        validator=UNSAID if is_cut else error.validator,
        path=error.relative_path,
        context=() if is_cut else [_repeated(nested, levels - 1) for nested in context],
        validator_value=error.validator_value,
        instance=error.instance,
        schema=error.schema,
        schema_path=error.relative_schema_path,
    )


def _unique_items(_: Validator, wanted: Any, instance: Any, __: Any) -> Iterator[ValidationError]:
    elements = instance if wanted is True and isinstance(instance, list) else ()
    if len({canonical_text(element) for element in elements}) < len(elements):
        yield ValidationError("an element is repeated")


def _pattern(_: Validator, wanted: Any, instance: Any, __: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not matches_pattern(wanted, instance):
        yield ValidationError(f"{instance!r} does not match {wanted!r}")


def _pattern_properties(
    validator: Validator, wanted: Any, instance: Any, _: Any
) -> Iterator[ValidationError]:
    for pattern, schema in wanted.items() if isinstance(instance, dict) else ():
        for name, value in instance.items():
            if matches_pattern(pattern, name):
                yield from validator.descend(value, schema, path=name, schema_path=pattern)  # type: ignore[attr-defined]  # the protocol does not name it


def _additional_properties(
    validator: Validator, wanted: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    extra = list(extra_names(instance, schema)) if isinstance(instance, dict) else []
    if isinstance(wanted, dict):
        for name in extra:
            yield from validator.descend(instance[name], wanted, path=name)  # type: ignore[attr-defined]  # the protocol does not name it
    elif not wanted and extra:
        yield ValidationError(f"additional properties: {', '.join(map(repr, extra))}")


def extra_names(instance: Iterable[str], schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the property names that a schema neither lists nor matches by a pattern."""
    known, patterns = schema.get("properties"), schema.get("patternProperties")
    named = known if isinstance(known, Mapping) else ()
    allowed = list(patterns) if isinstance(patterns, Mapping) else []
    for name in instance:
        if name not in named and not any(matches_pattern(pattern, name) for pattern in allowed):
            yield name


def _unevaluated_properties(
    validator: Validator, wanted: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    known = evaluated_names(validator, instance, schema) if isinstance(instance, dict) else set()
    extra = [name for name in instance if name not in known] if isinstance(instance, dict) else []
    bad = [name for name in extra if not validator.evolve(schema=wanted).is_valid(instance[name])]
    if bad:
        yield ValidationError(f"unevaluated properties: {', '.join(map(repr, bad))}")


_BOUNDED: Final[Mapping[str, Keyword]] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "unevaluatedProperties": _unevaluated_properties,
    "$ref": _reference,
    "uniqueItems": _unique_items,
    **{name: once(Draft202012Validator.VALIDATORS[name]) for name in ("allOf", "anyOf", "oneOf")},
}
KEYWORDS: Final[Mapping[str, Keyword]] = {**Draft202012Validator.VALIDATORS, **_BOUNDED}
SchemaValidator: Final[type[Validator]] = extend(Draft202012Validator, dict(KEYWORDS))  # type: ignore[no-untyped-call]  # jsonschema leaves it untyped


@cache
def with_patterns(dialect: type[Validator]) -> type[Validator]:
    """Extend another dialect's validator, such as OpenAPI's, with the keywords of this module.

    Keywords that the dialect does not have stay unknown to it.
    """
    ours = {name: check for name, check in _BOUNDED.items() if name in dialect.VALIDATORS}
    extended: type[Validator] = extend(dialect, ours)  # type: ignore[no-untyped-call]  # jsonschema leaves it untyped
    return extended


def evaluated_names(validator: Validator, instance: Mapping[str, Any], schema: Any) -> set[str]:
    """Return the property names that the schema and its in-place subschemas evaluate.

    jsonschema does the same, but matches patterns with Python's engine, which is unbounded.
    """
    if not isinstance(schema, Mapping):
        return set()
    names = {name for name in schema.get("properties", ()) if name in instance}
    names |= {
        name
        for pattern in schema.get("patternProperties", ())
        for name in instance
        if matches_pattern(pattern, name)
    }
    for keyword in ("additionalProperties", "unevaluatedProperties"):
        if keyword in schema:
            others = validator.evolve(schema=schema[keyword])
            names |= {name for name, value in instance.items() if others.is_valid(value)}
    # The subschemas in place that apply to the object, with their validators.
    applied: list[tuple[Validator, Any]] = []
    for keyword in ("$ref", "$dynamicRef"):
        if keyword in schema:
            found = validator._resolver.lookup(schema[keyword])  # type: ignore[attr-defined]  # where jsonschema's own keywords look references up
            within = validator.evolve(schema=found.contents, _resolver=found.resolver)
            applied.append((within, found.contents))
    dependent = schema.get("dependentSchemas", {}).items()
    parts = [part for name, part in dependent if name in instance]
    composed = [part for name in ("allOf", "oneOf", "anyOf") for part in schema.get(name, ())]
    parts += [part for part in composed if validator.evolve(schema=part).is_valid(instance)]
    if "if" in schema:
        holds = validator.evolve(schema=schema["if"]).is_valid(instance)
        parts += [schema["if"]] if holds else []
        branch = "then" if holds else "else"
        parts += [schema[branch]] if branch in schema else []
    for within, part in (*applied, *((validator, part) for part in parts)):
        names |= evaluated_names(within, instance, part)
    return names


_from_base64 = partial(base64.b64decode, validate=True)


def _formats(*, are_sent: bool) -> FormatChecker:
    checker: FormatChecker = deepcopy(Draft202012Validator.FORMAT_CHECKER)
    checker.checks("byte", ValueError)(
        lambda value: value == "" or not isinstance(value, str) or bool(_from_base64(value))
    )
    for name, bits in _BITS.items():
        checker.checks(name)(
            lambda value, bits=bits: (
                not isinstance(value, int | float) or -(2**bits) <= value < 2**bits
            )
        )
    if are_sent:
        checker.checks("uri")(lambda text: not isinstance(text, str) or bool(_URI.fullmatch(text)))
        checker.checks("duration")(
            lambda text: not isinstance(text, str) or bool(_DURATION.fullmatch(text))
        )
    return checker


REQUEST_FORMATS: Final = _formats(are_sent=True)
"""Formats of requests. `binary`, `password`, `float` and `double` constrain no JSON value."""
ANSWER_FORMATS: Final = _formats(are_sent=False)
"""Formats of answers, without links and durations.

A harmless deviation must not make the outcome of an order look unknown.
"""
