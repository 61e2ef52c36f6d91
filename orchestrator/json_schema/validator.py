"""The validator of compiled schemas: JSON Schema 2020-12 with ECMA-262's patterns."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from orchestrator.json_schema.evaluated_names import evaluated_names
from orchestrator.json_schema.patterns import matches_pattern

Keyword = Callable[[Validator, Any, Any, Any], Iterator[ValidationError] | None]


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
    """The names of an object's properties that its schema neither names nor has a pattern for."""
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


_OF_PATTERNS: Final[Mapping[str, Keyword]] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "unevaluatedProperties": _unevaluated_properties,
}
KEYWORDS: Final[Mapping[str, Keyword]] = {**Draft202012Validator.VALIDATORS, **_OF_PATTERNS}
SchemaValidator: Final[type[Validator]] = extend(Draft202012Validator, dict(KEYWORDS))  # type: ignore[no-untyped-call]  # jsonschema leaves it untyped


@cache
def with_patterns(dialect: type[Validator]) -> type[Validator]:
    """The validator of another dialect, such as OpenAPI's own, reading patterns as we do.

    A keyword that the dialect does not have stays unknown to it.
    """
    ours = {name: check for name, check in _OF_PATTERNS.items() if name in dialect.VALIDATORS}
    extended: type[Validator] = extend(dialect, ours)  # type: ignore[no-untyped-call]  # jsonschema leaves it untyped
    return extended
