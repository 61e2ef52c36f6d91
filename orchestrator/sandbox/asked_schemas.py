"""Schemas as requests are held to them: what is read-only is asked of nobody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from jsonschema import validators
from jsonschema.exceptions import ValidationError

_HOPS = 32


@cache
def asked(kind: Any) -> Any:
    """The same class of validators for what is sent."""
    keywords: dict[str, Any] = {"required": _required, "allOf": _nullable(_all_of)}
    for name in ("anyOf", "oneOf", "enum"):
        keywords[name] = _nullable(kind.VALIDATORS[name])
    return validators.extend(kind, keywords)  # type: ignore[no-untyped-call]  # jsonschema leaves it untyped


def _nullable(check: Any) -> Any:
    """The check of what stands beside `nullable`, which null passes by."""

    def checked(
        validator: Any, wanted: Any, value: Any, schema: Mapping[str, Any]
    ) -> Iterator[ValidationError]:
        if value is not None or schema.get("nullable") is not True:
            yield from check(validator, wanted, value, schema) or ()

    return checked


def _required(
    validator: Any, names: Any, value: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    missing = [name for name in names if name not in value] if isinstance(value, Mapping) else []
    answered = _read_only(validator, schema, _HOPS) if missing else frozenset()
    for name in missing:
        if name not in answered:
            yield ValidationError(f"{name!r} is a required property", validator_value=[name])


def _all_of(
    validator: Any, parts: Any, value: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    for index, part in enumerate(parts):
        for error in validator.descend(value, part, schema_path=index):
            is_missing = error.validator == "required" and not error.path
            if is_missing and _read_only(validator, schema, _HOPS).issuperset(
                error.validator_value
            ):
                continue
            yield error


def _read_only(validator: Any, schema: Any, hops: int) -> frozenset[str]:
    """The properties that a schema, or a part of it, says are only for answers."""
    schema = _followed(validator, schema, hops)
    if not isinstance(schema, Mapping) or hops == 0:
        return frozenset()
    own = {
        name
        for name, inner in (schema.get("properties") or {}).items()
        if (_followed(validator, inner, hops) or {}).get("readOnly") is True
        or (isinstance(inner, Mapping) and inner.get("readOnly") is True)
    }
    parts = (_read_only(validator, part, hops - 1) for part in schema.get("allOf") or ())
    return frozenset(own).union(*parts)


def _followed(validator: Any, schema: Any, hops: int) -> Any:
    for _ in range(hops):
        if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
            return schema if isinstance(schema, Mapping) else {}
        schema = validator._resolver.lookup(schema["$ref"]).contents
    return {}
