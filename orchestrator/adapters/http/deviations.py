"""Deviations of an answer from its document, and whether anything uses the part that deviates.

A booking that stands must not be lost to a date without an offset in a field that nobody reads. An
id, a price or a state that a condition names stays strict: a wrong one would be acted on.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from jsonschema.exceptions import ValidationError
from pydantic import JsonValue

from orchestrator.catalog.operations import Operation
from orchestrator.catalog.stated_prices import names_currency, names_price
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.read_once import read_once
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import follow, parse_pointer
from orchestrator.json_schema.validator import UNSAID, extra_names

_READ_FROM_ANSWER: Final = re.compile(r"\$response\.body#?((?:/[^\s/=!<>\"'{}]+)+)")
_CHOICES: Final = frozenset({"anyOf", "oneOf"})
_EXTRA: Final = frozenset({"additionalProperties", "unevaluatedProperties"})
_STRICT: Final = frozenset({"required", "dependentRequired", UNSAID})
_TROUBLES: Final = frozenset({"error", "errors"})
_METHODS: Final = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})

Uses = tuple[frozenset[str], dict[str, frozenset[str]]]
"""The names that extensions read of answers, and for each input the operations that require it."""


class UsedParts:
    """The names of an operation's answer that the document or another operation reads."""

    def __init__(self, operation: Operation, tool: Tool) -> None:
        """Collect the names once.

        Args:
            operation: the operation, with its whole document.
            tool: what it compiled to.
        """
        reads, required = _uses_of(operation.root.mapping())
        own = f"{operation.method.lower()} {operation.path}"
        later = (name for name, wanted_by in required.items() if wanted_by - {own})
        self._names = reads | frozenset(later) | frozenset(tool.reference_inputs)
        self._is_cancel = tool.effect is Effect.CANCEL

    def is_used(self, name: str) -> bool:
        """True if a property of this name is read by something, or identifies or prices a thing."""
        return name in self._names or _identifies(name) or names_price(name) or names_currency(name)

    def is_harmless(self, breach: ValidationError) -> bool:
        """True if the breach is in a part that nothing uses.

        A missing property, and a body that is another kind of value, are never harmless. Of a
        cancel only a format, an extra property or a null is: its answer is all there is to show
        that it was done.
        """
        steps = [step for step in breach.absolute_path if isinstance(step, str)]
        if any(self.is_used(step) for step in steps):
            return False
        kind = breach.validator
        if kind in _CHOICES:
            return self._fits_a_choice(breach)
        if kind in _STRICT or (kind == "type" and not breach.absolute_path):
            return False
        if kind in _EXTRA:
            return not _TROUBLES & {*_extra(breach)}
        if self._is_cancel:
            return kind == "format" or (kind == "type" and breach.instance is None)
        return True

    def _fits_a_choice(self, breach: ValidationError) -> bool:
        """True if one alternative is broken only harmlessly, or several fit."""
        branches: dict[object, list[ValidationError]] = {}
        for nested in breach.context or ():
            branches.setdefault(nested.schema_path[0], []).append(nested)
        return not branches or any(
            all(self.is_harmless(nested) for nested in one) for one in branches.values()
        )


def _extra(breach: ValidationError) -> Iterator[str]:
    if isinstance(breach.instance, dict) and isinstance(breach.schema, dict):
        yield from extra_names(breach.instance, breach.schema)


@lru_cache(maxsize=4096)
def _identifies(name: str) -> bool:
    return name.lower() in ("id", "uuid", "guid", "key", "code", "number", "reference") or (
        name.endswith(("_id", "Id", "ID", "-id", "_uuid", "_ref", "_reference", "Reference"))
    )


def _read_uses(document: JsonObject) -> Uses:
    """Return the names that the document's extensions read, and who requires which input."""
    reads: set[str] = set()
    required: dict[str, frozenset[str]] = {}
    paths = document.get("paths")
    for path, item in paths.items() if isinstance(paths, dict) else ():
        if not isinstance(item, dict):
            continue
        for method, operation in item.items():
            if method not in _METHODS or not isinstance(operation, dict):
                continue
            reads.update(_read_by(operation))
            for name in _required_by(operation, item, document):
                required[name] = required.get(name, frozenset()) | {f"{method} {path}"}
    return frozenset(reads), required


def _read_by(operation: JsonObject) -> Iterator[str]:
    """The steps of every expression over an answer in the operation's extensions."""
    waiting = [value for name, value in operation.items() if name.startswith("x-orchet-")]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            for found in _READ_FROM_ANSWER.finditer(value):
                yield from found[1].strip("/").split("/")
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _required_by(operation: JsonObject, item: JsonObject, document: JsonObject) -> Iterator[str]:
    """The names of the inputs that a call of the operation must have."""
    listed = [operation.get("parameters"), item.get("parameters")]
    for node in (one for some in listed if isinstance(some, list) for one in some):
        parameter = _target(node, document)
        if parameter.get("required") is True and isinstance(parameter.get("name"), str):
            yield str(parameter["name"])
    content = _target(operation.get("requestBody"), document).get("content")
    for media in content.values() if isinstance(content, dict) else ():
        schema = _target(media.get("schema") if isinstance(media, dict) else None, document)
        wanted = schema.get("required")
        yield from (str(name) for name in (wanted if isinstance(wanted, list) else ()))


def _target(node: JsonValue, document: JsonObject) -> JsonObject:
    """An object of the document, past one reference inside of it; {} where there is none."""
    if isinstance(node, dict) and isinstance(reference := node.get("$ref"), str):
        try:
            node = follow(document, parse_pointer(reference.removeprefix("#")))
        except (LookupError, ValueError):
            return {}
    return node if isinstance(node, dict) else {}


_uses_of: Final = read_once(_read_uses)
