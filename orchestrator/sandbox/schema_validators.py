"""Validators of documents: bounded patterns, discriminators, read-only properties in requests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from random import Random
from typing import Any, Final

import jsonschema_rs
from jsonschema import Draft202012Validator, validators
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from rstr import Rstr

_LONGEST: Final = 10_000
"""Maximum characters of a pattern, and of a text if the pattern looks around or back."""
_WORK: Final = 20_000_000
"""Maximum product of the characters of the pattern and of the text."""
_HOPS: Final = 32
"""Maximum references followed in a row."""
_LEVELS: Final = 16
"""Maximum levels of alternatives and allOf that are searched for a property."""


def is_match(pattern: str, text: str) -> bool:
    """Return True if the pattern matches in the text, or is undecidable within the limits.

    The client decides by itself; the sandbox refuses no request over an undecided pattern.
    """
    if len(pattern) > _LONGEST or len(pattern) * len(text) > _WORK:
        return True
    linear = _engine(pattern, looks_around=False)
    if linear is not None:
        return linear.is_valid(text)
    engine = _engine(pattern, looks_around=True)
    if engine is None or len(text) > _LONGEST:
        return True
    unequal = jsonschema_rs.ValidationErrorKind.Pattern
    return not any(isinstance(error.kind, unequal) for error in engine.iter_errors(text))


@lru_cache(maxsize=256)
def _engine(pattern: str, *, looks_around: bool) -> jsonschema_rs.Draft202012Validator | None:
    options: jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions
    options = jsonschema_rs.RegexOptions()
    if looks_around:
        options = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000)
    try:
        return jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=options)
    except jsonschema_rs.ValidationError:
        return None


def texts_matching(pattern: str, rng: Random, *, attempts: int) -> Iterator[str]:
    """Yield texts that should match; fewer than requested for large or unsupported patterns.

    Texts without control characters come first: ids and names have none, even if `.` allows them.
    """
    if len(pattern) > _LONGEST:
        return
    source = _Texts(rng)
    unprintable: list[str] = []
    for _ in range(attempts):
        try:
            text = source.xeger(pattern)
        except (re.error, ValueError, LookupError, OverflowError, RecursionError):
            break
        if text.isprintable():
            yield text
        else:
            unprintable.append(text)
    yield from unprintable


class _Texts(Rstr):
    """Generates texts, and stops after a number of parts, however nested the repetitions are."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        self._left = 50_000
        self._cases = {**self._cases, "range": lambda ends: _characters(*ends)}

    def _handle_state(self, state: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise OverflowError("the pattern repeats too much")
        return super()._handle_state(state)


def _characters(first: int, last: int) -> list[str]:
    """Return the characters of a range; of a wide one, ASCII and a sample of the rest."""
    step = max(1, (last - first) // 512)
    codes = {*range(first, min(last, 127) + 1), *range(first, last + 1, step)}
    # Surrogates are not characters.
    return [chr(code) for code in sorted(codes) if not 0xD800 <= code <= 0xDFFF]


def bounded(kind: Any, document: Mapping[str, Any]) -> Any:
    """Return the validator class with bounded pattern time and support for discriminators.

    `unevaluatedProperties` is not checked in documents with `patternProperties`.
    """
    plain = Draft202012Validator.VALIDATORS
    keywords: dict[str, Any] = {
        # allOf too, next to which a discriminator selects nothing.
        "allOf": plain["allOf"],
        "oneOf": _discriminated(plain["oneOf"]),
        "anyOf": _discriminated(plain["anyOf"]),
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties(kind.VALIDATORS["additionalProperties"]),
    }
    if _has_key(document, "patternProperties"):
        keywords["unevaluatedProperties"] = lambda *_: ()
    return validators.extend(kind, keywords)  # type: ignore[no-untyped-call]  # jsonschema leaves it untyped


def _pattern(validator: Validator, pattern: str, value: Any, _: Any) -> Iterator[ValidationError]:
    if validator.is_type(value, "string") and not is_match(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Any], value: Any, _: Any
) -> Iterator[ValidationError]:
    if validator.is_type(value, "object"):
        for pattern, schema in patterns.items():
            for name in (name for name in value if is_match(pattern, name)):
                yield from validator.descend(value[name], schema, path=name, schema_path=pattern)


def _additional_properties(check: Any) -> Any:
    """Return the check of additional properties that ignores names matching a pattern."""

    def additional(
        validator: Validator, additional: Any, value: Any, schema: Mapping[str, Any]
    ) -> Iterator[ValidationError]:
        patterns = schema.get("patternProperties")
        if patterns and validator.is_type(value, "object"):
            schema = {key: part for key, part in schema.items() if key != "patternProperties"}
            matched = {name for name in value if any(is_match(each, name) for each in patterns)}
            value = {name: part for name, part in value.items() if name not in matched}
        yield from check(validator, additional, value, schema)

    return additional


def _has_key(node: Any, key: str) -> bool:
    if isinstance(node, Mapping):
        return key in node or any(_has_key(part, key) for part in node.values())
    return isinstance(node, list) and any(_has_key(part, key) for part in node)


def _discriminated(plain: Any) -> Any:
    def alternatives(
        validator: Any, branches: Sequence[Any], value: Any, schema: Mapping[str, Any]
    ) -> Iterator[ValidationError]:
        """Check only the one alternative that the value names, if it names one."""
        discriminator = schema.get("discriminator")
        declared = discriminator if isinstance(discriminator, Mapping) else {}
        name, mapping = declared.get("propertyName"), declared.get("mapping")
        selector = value.get(name) if isinstance(value, Mapping) and isinstance(name, str) else None
        found = []
        if isinstance(selector, str):
            target = mapping.get(selector) if isinstance(mapping, Mapping) else None
            called = str(selector if target is None else target).rpartition("/")[2]
            for index, branch in enumerate(branches):
                allowed = _allowed_values(validator, branch, str(name), _LEVELS)
                reference = branch.get("$ref") if isinstance(branch, Mapping) else None
                if not allowed and isinstance(reference, str):
                    allowed = [selector] if reference.rpartition("/")[2] == called else []
                if selector in allowed:
                    found.append(index)
        if len(found) == 1:
            yield from validator.descend(value, branches[found[0]], schema_path=found[0])
        else:
            yield from plain(validator, branches, value, schema) or ()

    return alternatives


def _allowed_values(validator: Any, schema: Any, name: str, hops: int) -> list[str]:
    if hops == 0:
        return []
    schema = _followed(validator, schema)
    properties = schema.get("properties")
    inner = _followed(validator, properties.get(name) if isinstance(properties, Mapping) else None)
    allowed = [inner["const"]] if "const" in inner else inner.get("enum") or []
    if texts := [text for text in allowed if isinstance(text, str)]:
        return texts
    for part in schema.get("allOf") or ():
        if texts := _allowed_values(validator, part, name, hops - 1):
            return texts
    branches = [*(schema.get("oneOf") or ()), *(schema.get("anyOf") or ())]
    each = [_allowed_values(validator, branch, name, hops - 1) for branch in branches]
    return [text for texts in each for text in texts] if all(each) else []


def _followed(validator: Any, schema: Any) -> Mapping[str, Any]:
    for _ in range(_HOPS):
        if not isinstance(schema, Mapping):
            break
        if not isinstance(schema.get("$ref"), str):
            return schema
        schema = validator._resolver.lookup(schema["$ref"]).contents
    return {}


@cache
def for_requests(kind: Any) -> Any:
    """Return the validator class for requests: `readOnly` properties are not required."""
    keywords: dict[str, Any] = {"required": _required, "allOf": _nullable(_all_of)}
    for name in ("anyOf", "oneOf", "enum"):
        keywords[name] = _nullable(kind.VALIDATORS[name])
    return validators.extend(kind, keywords)  # type: ignore[no-untyped-call]  # jsonschema leaves it untyped


def _nullable(check: Any) -> Any:
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
    answered = _read_only(validator, schema, _LEVELS) if missing else frozenset()
    for name in missing:
        if name not in answered:
            yield ValidationError(f"{name!r} is a required property", validator_value=[name])


def _all_of(
    validator: Any, parts: Any, value: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    for index, part in enumerate(parts):
        for error in validator.descend(value, part, schema_path=index):
            is_missing = error.validator == "required" and not error.path
            if is_missing and _read_only(validator, schema, _LEVELS).issuperset(
                error.validator_value
            ):
                continue
            yield error


def _read_only(validator: Any, schema: Any, hops: int) -> frozenset[str]:
    if hops == 0:
        return frozenset()
    schema = _followed(validator, schema)
    own = {
        name
        for name, inner in (schema.get("properties") or {}).items()
        if _followed(validator, inner).get("readOnly") is True
        or (isinstance(inner, Mapping) and inner.get("readOnly") is True)
    }
    parts = (_read_only(validator, part, hops - 1) for part in schema.get("allOf") or ())
    return frozenset(own).union(*parts)
