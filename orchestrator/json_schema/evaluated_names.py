"""Which properties of an object its schema has looked at, for `unevaluatedProperties`.

As jsonschema does it, but for patterns, which it leaves to Python's engine.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema.protocols import Validator

from orchestrator.json_schema.patterns import matches_pattern


def evaluated_names(validator: Validator, instance: Mapping[str, Any], schema: Any) -> set[str]:
    """The names of properties that the schema, or one that it applies in place, speaks about."""
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
    for within, part in _applied(validator, instance, schema):
        names |= evaluated_names(within, instance, part)
    return names


def _applied(
    validator: Validator, instance: Mapping[str, Any], schema: Mapping[str, Any]
) -> Iterator[tuple[Validator, Any]]:
    """The schemas that are applied to the same object and hold for it, with their validators."""
    for keyword in ("$ref", "$dynamicRef"):
        if keyword in schema:
            found = validator._resolver.lookup(schema[keyword])  # type: ignore[attr-defined]  # where jsonschema's own keywords look references up
            within = validator.evolve(schema=found.contents, _resolver=found.resolver)
            yield within, found.contents
    for name, part in schema.get("dependentSchemas", {}).items():
        if name in instance:
            yield validator, part
    for keyword in ("allOf", "oneOf", "anyOf"):
        for part in schema.get(keyword, ()):
            if validator.evolve(schema=part).is_valid(instance):
                yield validator, part
    if "if" in schema:
        holds = validator.evolve(schema=schema["if"]).is_valid(instance)
        if holds:
            yield validator, schema["if"]
        if (branch := "then" if holds else "else") in schema:
            yield validator, schema[branch]
