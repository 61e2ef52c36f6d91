"""The dialect of a contract's schemas, and the deviations of values from them.

A booking that stands must not be lost to a date without an offset in a field that nobody reads. An
id, a price or a state that a condition names stays strict, because a wrong value would be acted on.
"""

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, Final, Literal, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from pydantic import JsonValue

from orchestrator.catalog.money import names_currency, names_price
from orchestrator.catalog.operations import Operation
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.read_once import read_once
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.openapi_dialect import branch_values, discriminator_property
from orchestrator.json_schema.references import follow, parse_pointer
from orchestrator.json_schema.validator import UNSAID, Keyword, extra_names, once, with_patterns

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
    plain = Draft202012Validator.VALIDATORS
    ours: dict[str, Keyword] = {
        "oneOf": _led(plain["oneOf"], hidden),
        "anyOf": _led(plain["anyOf"], hidden),
        "allOf": _all_of(hidden),
        "required": _required(hidden),
        "readOnly": lambda *_: iter(()),
        "writeOnly": lambda *_: iter(()),
        hidden: _noted(hidden),
    }
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
        name, led = discriminator_property(schema), None
        value = instance.get(name) if isinstance(instance, dict) and name is not None else None
        if isinstance(value, str):
            led = branch_values(schema, branches, _lookup(validator))
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
        is_object = isinstance(instance, dict)
        missing = [name for name in required if name not in instance] if is_object else []
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


_READ_FROM_ANSWER: Final = re.compile(r"\$response\.body#?((?:/[^\s/=!<>\"'\\{}]+)+)")
_HEADER_READ: Final = re.compile(r"\$response\.header\.([^\s=!{}\"\\]+)")
_CHOICES: Final = frozenset({"anyOf", "oneOf"})
_EXTRA: Final = frozenset({"additionalProperties", "unevaluatedProperties"})
_MISSING: Final = frozenset({"required", "dependentRequired"})
_WORDS: Final = frozenset({"enum", "const"})
_TROUBLES: Final = frozenset({"error", "errors"})
_WHOLE: Final = re.compile(r"-?[0-9]{1,300}", re.ASCII)
_METHODS: Final = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})

Uses = tuple[frozenset[str], frozenset[str], dict[str, frozenset[str]]]
"""Names and headers of answers that extensions read, and the operations requiring each input."""


class UsedParts:
    """The names of an operation's answer that the document or another operation reads."""

    def __init__(self, operation: Operation, tool: Tool) -> None:
        """Collect the names once, from the operation's whole document and its compiled tool."""
        reads, self._headers, required = _uses_of(operation.root.mapping())
        own = f"{operation.method.lower()} {operation.path}"
        later = (name for name, wanted_by in required.items() if wanted_by - {own})
        self._names = reads | frozenset(later) | frozenset(tool.reference_inputs)
        self._is_cancel = tool.effect is Effect.CANCEL

    def is_used(self, name: str) -> bool:
        """Return True if something reads a property of this name, or if it is an id or a price."""
        return name in self._names or _identifies(name) or names_price(name) or names_currency(name)

    def is_header_used(self, name: str) -> bool:
        """Return True if something reads a header of this name."""
        return name.lower() in self._headers

    def is_harmless(self, breach: ValidationError) -> bool:
        """Return True if the breach is in a part that nothing uses.

        A body of another type is never harmless, nor a body that misses properties and has none
        that is used, because it may be anything. The answer of a cancel is the only proof that the
        cancel was done, so a breach is not harmless if its part could show that: a missing
        property, a word, a boolean.
        """
        steps = [step for step in breach.absolute_path if isinstance(step, str)]
        if steps and _identifies(steps[-1]) and _is_digits(breach):
            return True
        if any(self.is_used(step) for step in steps):
            return False
        kind = breach.validator
        if kind in _CHOICES:
            branches: dict[object, list[ValidationError]] = {}
            for nested in breach.context or ():
                branches.setdefault(nested.schema_path[0], []).append(nested)
            return not branches or any(
                all(self.is_harmless(nested) for nested in one) for one in branches.values()
            )
        if kind == UNSAID or (kind == "type" and not breach.absolute_path):
            return False
        held, wanted, schema = cast("Any", (breach.instance, breach.validator_value, breach.schema))
        if kind in _EXTRA:
            is_object = isinstance(held, dict) and isinstance(schema, dict)
            return not is_object or _TROUBLES.isdisjoint(extra_names(held, schema))
        if kind in _MISSING:
            if self._is_cancel or not isinstance(held, dict) or not isinstance(wanted, list):
                return False
            is_known = bool(steps) or any(self.is_used(n) and held[n] is not None for n in held)
            return is_known and not any(self.is_used(n) for n in wanted if n not in held)
        is_boolean = isinstance(held, bool) or "boolean" in str(wanted)
        return not self._is_cancel or not (kind in _WORDS or (kind == "type" and is_boolean))


def _is_digits(breach: ValidationError) -> bool:
    """Return True for digits as a text where a whole number is declared, as for an int64."""
    value, declared = breach.instance, breach.validator_value
    wanted = declared if isinstance(declared, list) else [declared]
    is_whole = breach.validator == "type" and "integer" in wanted
    return is_whole and isinstance(value, str) and _WHOLE.fullmatch(value) is not None


@lru_cache(maxsize=4096)
def _identifies(name: str) -> bool:
    return name.lower() in ("id", "uuid", "guid", "key", "code", "number", "reference") or (
        name.endswith(("_id", "Id", "ID", "-id", "_uuid", "_ref", "_reference", "Reference"))
    )


def _read_uses(document: JsonObject) -> Uses:
    """Return the names that the document's extensions read, and the operations of each input."""
    reads: set[str] = set()
    headers: set[str] = set()
    required: dict[str, frozenset[str]] = {}
    paths = document.get("paths")
    for path, item in paths.items() if isinstance(paths, dict) else ():
        if not isinstance(item, dict):
            continue
        for method, operation in item.items():
            if method not in _METHODS or not isinstance(operation, dict):
                continue
            extensions = {k: v for k, v in operation.items() if k.startswith("x-orchet-")}
            text = json.dumps(extensions, ensure_ascii=False)
            for found in _READ_FROM_ANSWER.finditer(text):
                reads.update(found[1].strip("/").split("/"))
            headers.update(name.lower() for name in _HEADER_READ.findall(text))
            for name in _required_by(operation, item, document):
                required[name] = required.get(name, frozenset()) | {f"{method} {path}"}
    return frozenset(reads), frozenset(headers), required


def _required_by(operation: JsonObject, item: JsonObject, document: JsonObject) -> Iterator[str]:
    listed = [operation.get("parameters"), item.get("parameters")]
    for node in (one for some in listed if isinstance(some, list) for one in some):
        parameter = _resolved(node, document)
        if parameter.get("required") is True and isinstance(parameter.get("name"), str):
            yield str(parameter["name"])
    content = _resolved(operation.get("requestBody"), document).get("content")
    for media in content.values() if isinstance(content, dict) else ():
        schema = _resolved(media.get("schema") if isinstance(media, dict) else None, document)
        wanted = schema.get("required")
        yield from (str(name) for name in (wanted if isinstance(wanted, list) else ()))


def _resolved(node: JsonValue, document: JsonObject) -> JsonObject:
    """Return an object of the document, with one reference followed; {} if there is none."""
    if isinstance(node, dict) and isinstance(reference := node.get("$ref"), str):
        try:
            node = follow(document, parse_pointer(reference.removeprefix("#")))
        except (LookupError, ValueError):
            return {}
    return node if isinstance(node, dict) else {}


_uses_of: Final = read_once(_read_uses)
