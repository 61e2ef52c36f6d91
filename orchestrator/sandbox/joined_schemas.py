"""Two schemas as one, and what a discriminator asks of each alternative."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

_MOST = 40

Schema = Mapping[str, Any]


def joined_schema(first: Schema, second: Schema) -> dict[str, Any]:
    """What both schemas say together; where they cannot be told as one, the second wins."""
    joined = {**first, **second}
    for keyword in first.keys() & second.keys():
        join = _JOINS.get(keyword)
        if join is not None:
            joined[keyword] = join(first[keyword], second[keyword])
    return joined


def _properties(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        name: {"allOf": [first[name], second[name]]}
        for name in first.keys() & second.keys()
        if first[name] != second[name]
    }
    return {**first, **second, **both}


def _common(first: list[Any], second: list[Any]) -> list[Any]:
    return [value for value in first if value in second]


def _types(first: Any, second: Any) -> Any:
    kinds = [kind if isinstance(kind, list) else [kind] for kind in (first, second)]
    both = [
        name
        for name in kinds[0]
        if name in kinds[1] or (name == "integer" and "number" in kinds[1])
    ]
    if "number" in kinds[0] and "integer" in kinds[1]:
        both.append("integer")
    return both[0] if len(both) == 1 else both or second


def _branches(first: list[Any], second: list[Any]) -> list[Any]:
    """Each alternative of the one with each of the other."""
    pairs = [{"allOf": [one, other]} for one in first for other in second]
    return pairs if len(pairs) <= _MOST else second


def _required(first: Any, second: Any) -> Any:
    if isinstance(first, list) and isinstance(second, list):
        return [*first, *(name for name in second if name not in first)]
    return second


_JOINS: Mapping[str, Callable[[Any, Any], Any]] = {
    "properties": _properties,
    "required": _required,
    "enum": _common,
    "type": _types,
    "oneOf": _branches,
    "anyOf": _branches,
    "minimum": max,
    "minLength": max,
    "minItems": max,
    "maximum": min,
    "maxLength": min,
    "maxItems": min,
    # Null is a value only where both parts take it.
    "nullable": lambda first, second: first is True and second is True,
}


def is_discriminator(value: Any) -> bool:
    """Whether this names a property that tells alternatives apart."""
    return isinstance(value, Mapping) and isinstance(value.get("propertyName"), str)


def values_of(
    discriminator: Mapping[str, Any], branch: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """The values by which a discriminator means an alternative, each with its reference."""
    reference = branch.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#"):
        return
    name = reference.rpartition("/")[2]
    mapping = discriminator.get("mapping")
    mapped = [
        (value, reference)
        for value, target in (mapping if isinstance(mapping, Mapping) else {}).items()
        if isinstance(target, str) and target.rpartition("/")[2] == name
    ]
    yield from mapped or [(name, reference)]
