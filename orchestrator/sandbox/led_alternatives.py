"""Alternatives of which a discriminator names one: a value is held to that one alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

_HOPS = 16


def led_keywords() -> dict[str, Any]:
    """The keywords of alternatives, each led by the discriminator beside it."""
    return {name: _led(Draft202012Validator.VALIDATORS[name]) for name in ("oneOf", "anyOf")}


def _led(plain: Any) -> Any:
    def alternatives(
        validator: Any, branches: Sequence[Any], value: Any, schema: Mapping[str, Any]
    ) -> Iterator[ValidationError]:
        meant = _meant(validator, branches, value, schema)
        if meant is None:
            yield from plain(validator, branches, value, schema) or ()
        else:
            yield from validator.descend(value, branches[meant], schema_path=meant)

    return alternatives


def _meant(
    validator: Any, branches: Sequence[Any], value: Any, schema: Mapping[str, Any]
) -> int | None:
    """The one alternative that the value says it is; None when it says none, or several."""
    discriminator = schema.get("discriminator")
    name = discriminator.get("propertyName") if isinstance(discriminator, Mapping) else None
    said = value.get(name) if isinstance(value, Mapping) and isinstance(name, str) else None
    if not isinstance(said, str):
        return None
    mapping = discriminator.get("mapping") if isinstance(discriminator, Mapping) else None
    target = mapping.get(said) if isinstance(mapping, Mapping) else None
    found = [
        index
        for index, branch in enumerate(branches)
        if said in (_own(validator, branch, str(name), _HOPS) or _named(branch, said, target))
    ]
    return found[0] if len(found) == 1 else None


def _named(branch: Any, said: str, target: Any) -> list[str]:
    """The value, when mapping or name lead from it to this alternative."""
    reference = branch.get("$ref") if isinstance(branch, Mapping) else None
    if not isinstance(reference, str):
        return []
    wanted = str(said if target is None else target).rpartition("/")[2]
    return [said] if reference.rpartition("/")[2] == wanted else []


def _own(validator: Any, schema: Any, name: str, hops: int) -> list[str]:
    """What an alternative itself allows for the property."""
    schema = _followed(validator, schema)
    if not isinstance(schema, Mapping) or hops == 0:
        return []
    properties = schema.get("properties")
    inner = properties.get(name) if isinstance(properties, Mapping) else None
    inner = _followed(validator, inner)
    if isinstance(inner, Mapping):
        allowed = [inner["const"]] if "const" in inner else inner.get("enum") or []
        if texts := [text for text in allowed if isinstance(text, str)]:
            return texts
    for part in schema.get("allOf") or ():
        if texts := _own(validator, part, name, hops - 1):
            return texts
    branches = [*(schema.get("oneOf") or ()), *(schema.get("anyOf") or ())]
    each = [_own(validator, branch, name, hops - 1) for branch in branches]
    return [text for texts in each for text in texts] if all(each) else []


def _followed(validator: Any, schema: Any) -> Any:
    for _ in range(_HOPS):
        if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
            return schema
        schema = validator._resolver.lookup(schema["$ref"]).contents
    return None
