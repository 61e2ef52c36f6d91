"""OpenAPI's dialects of JSON Schema, as they bind one side of an exchange."""

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Literal

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from orchestrator.json_schema.openapi_dialect import branch_values, discriminator_property
from orchestrator.json_schema.validator import Keyword, once, with_patterns

Hidden = Literal["readOnly", "writeOnly"]
"""The mark of properties that this side should not send."""

_log = logging.getLogger(__name__)
_PARTS = 200


@cache
def contract_dialect(dialect: type[Validator], hidden: Hidden) -> type[Validator]:
    """Return a dialect that follows discriminators and requires no hidden property.

    In OpenAPI a hidden property SHOULD NOT be sent by this side, and if it is required, then only
    of the other side. A hidden property that is present all the same is only logged.
    """
    both = {
        name: _led(Draft202012Validator.VALIDATORS[name], hidden) for name in ("oneOf", "anyOf")
    }
    ours: dict[str, Keyword] = {
        **both,
        "allOf": _all_of(hidden),
        "required": _required(hidden),
        "readOnly": _noted(hidden),
        "writeOnly": _nothing,
    }
    if hidden == "writeOnly":
        ours |= {"readOnly": _nothing, "writeOnly": _noted(hidden)}
    if "prefixItems" not in dialect.VALIDATORS:
        # OpenAPI 3.0; later versions have no `nullable`.
        for name in ("allOf", "anyOf", "oneOf", "enum"):
            ours[name] = _nullable(ours.get(name) or dialect.VALIDATORS[name])
    ours |= {name: once(ours[name]) for name in ("allOf", "anyOf", "oneOf")}
    extended: type[Validator] = extend(with_patterns(dialect), ours)  # type: ignore[no-untyped-call]  # jsonschema leaves it untyped
    return extended


def _lookup(validator: Any) -> Callable[[str], Any]:
    return lambda reference: validator._resolver.lookup(reference).contents


def _led(plain: Keyword, hidden: Hidden) -> Keyword:
    """Validate only the alternative that the discriminator names."""

    def checked(
        validator: Any, branches: Any, instance: Any, schema: Any
    ) -> Iterator[ValidationError]:
        name = discriminator_property(schema)
        value = instance.get(name) if isinstance(instance, dict) and name is not None else None
        led = (
            branch_values(schema, branches, _lookup(validator)) if isinstance(value, str) else None
        )
        fitting = [index for index, one in enumerate(led or ()) if value in one.values]
        if len(fitting) == 1:
            (index,) = fitting
            yield from validator.descend(instance, branches[index], schema_path=index)
        elif led is not None and not fitting and hidden == "readOnly":
            allowed = sorted(frozenset[str]().union(*(one.values for one in led)))
            yield ValidationError(
                "leads nowhere", validator="enum", validator_value=allowed, path=[str(name)]
            )
        else:
            yield from plain(validator, branches, instance, schema) or ()

    return checked


def _nullable(check: Keyword) -> Keyword:
    """Let `nullable` next to alternatives widen them, as in the inputs of the tool."""

    def checked(
        validator: Any, wanted: Any, instance: Any, schema: Any
    ) -> Iterator[ValidationError]:
        if instance is not None or schema.get("nullable") is not True:
            yield from check(validator, wanted, instance, schema) or ()

    return checked


def _required(hidden: Hidden) -> Keyword:
    def checked(
        validator: Any, required: Any, instance: Any, schema: Any
    ) -> Iterator[ValidationError]:
        missing = (
            [name for name in required if name not in instance]
            if isinstance(instance, dict)
            else []
        )
        left_out = _hidden_names(schema, hidden, _lookup(validator)) if missing else set()
        for name in missing:
            if name not in left_out:
                yield ValidationError(f"{name!r} is required", validator_value=[name])

    return checked


def _all_of(hidden: Hidden) -> Keyword:
    """Let one member require a property that another member hides."""

    def checked(
        validator: Any, members: Any, instance: Any, schema: Any
    ) -> Iterator[ValidationError]:
        left_out: set[str] | None = None
        for index, member in enumerate(members):
            for error in validator.descend(instance, member, schema_path=index):
                if error.validator == "required" and not error.path:
                    if left_out is None:
                        left_out = _hidden_names(schema, hidden, _lookup(validator))
                    if left_out.issuperset(error.validator_value):
                        continue
                yield error

    return checked


def _hidden_names(schema: Any, hidden: Hidden, lookup: Callable[[str], Any]) -> set[str]:
    """Return the properties that a schema, or a member of its allOf, hides."""
    found: set[str] = set()
    waiting, parts = [schema], 0
    while waiting and parts < _PARTS:
        part = _target(waiting.pop(), lookup)
        parts += 1
        if not isinstance(part, Mapping):
            continue
        properties = part.get("properties")
        for name, inner in properties.items() if isinstance(properties, Mapping) else ():
            marked = (inner, _target(inner, lookup))
            if any(isinstance(one, Mapping) and one.get(hidden) is True for one in marked):
                found.add(name)
        waiting += part.get("allOf") or ()
    return found


def _target(schema: Any, lookup: Callable[[str], Any]) -> Any:
    for _ in range(_PARTS):
        if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
            return schema
        schema = lookup(schema["$ref"])
    return None


def _noted(hidden: Hidden) -> Keyword:
    side = "sent" if hidden == "readOnly" else "answered"

    def noted(_: Any, is_marked: Any, __: Any, schema: Any) -> Iterator[ValidationError]:
        if is_marked is True:
            _log.warning("a property is %s that the document marks %s", side, hidden)
        yield from ()

    return noted


def _nothing(*_: Any) -> Iterator[ValidationError]:
    yield from ()
