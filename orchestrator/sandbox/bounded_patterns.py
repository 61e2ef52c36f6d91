"""Patterns of a document, which may be hostile: matched, and made texts of, in bounded time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from random import Random
from typing import Any, Final

import jsonschema_rs
from jsonschema import validators
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from rstr import Rstr

from orchestrator.sandbox.led_alternatives import led_keywords

_LONGEST: Final = 10_000
"""Characters of a pattern; and of a text, where the pattern looks around or back."""
_WORK: Final = 20_000_000
"""Characters of the pattern times those of the text."""
_STEPS_BACK: Final = 10_000
_STATES: Final = 50_000
"""Parts of patterns that may be gone through to make one value."""
_WIDE: Final = 512
_UNMAKEABLE = (re.error, ValueError, LookupError, OverflowError, RecursionError)


def is_match(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text; True also where that is not decided.

    The product decides by itself. What the sandbox cannot decide, it does not hold against anyone.
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
        options = jsonschema_rs.FancyRegexOptions(backtrack_limit=_STEPS_BACK)
    try:
        return jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=options)
    except jsonschema_rs.ValidationError:
        return None


def texts_matching(pattern: str, rng: Random, *, attempts: int) -> Iterator[str]:
    """Texts that should match; fewer than asked for where the pattern is too large or unknown.

    Texts without control characters come first: ids and names have none, whatever `.` allows.
    """
    if len(pattern) > _LONGEST:
        return
    source = _Texts(rng)
    unprintable: list[str] = []
    for _ in range(attempts):
        try:
            text = source.xeger(pattern)
        except _UNMAKEABLE:
            break
        if text.isprintable():
            yield text
        else:
            unprintable.append(text)
    yield from unprintable


class _Texts(Rstr):
    """Gives up after so many parts, however often a pattern repeats what it repeats."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        self._left = _STATES
        self._cases = {**self._cases, "range": lambda ends: _characters(*ends)}

    def _handle_state(self, state: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise OverflowError("the pattern repeats too much")
        return super()._handle_state(state)


def _characters(first: int, last: int) -> list[str]:
    """Those of a range; of a wide one all of ASCII, and some of the rest."""
    step = max(1, (last - first) // _WIDE)
    codes = {*range(first, min(last, 127) + 1), *range(first, last + 1, step)}
    # Surrogates are no characters.
    return [chr(code) for code in sorted(codes) if not 0xD800 <= code <= 0xDFFF]


def bounded(kind: Any, document: Mapping[str, Any]) -> Any:
    """The same class of validators, with every pattern of the document matched in bounded time.

    Discriminators lead alternatives, as openapi-core's own reading does for few documents.

    What is left unevaluated is not looked for where the document has patterns for names.
    """
    keywords: dict[str, Any] = {
        **led_keywords(),
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _beside_patterns(kind.VALIDATORS["additionalProperties"]),
    }
    if _has_key(document, "patternProperties"):
        keywords["unevaluatedProperties"] = _unchecked
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


def _beside_patterns(check: Any) -> Any:
    """The check of additional properties, without those that a pattern is for."""

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


def _unchecked(*_: Any) -> Iterator[ValidationError]:
    yield from ()


def _has_key(node: Any, key: str) -> bool:
    if isinstance(node, Mapping):
        return key in node or any(_has_key(part, key) for part in node.values())
    return isinstance(node, list) and any(_has_key(part, key) for part in node)
