"""Converts a tool's input schema to the form that model providers accept.

Providers refuse the whole request if one function's schema has a combination at its top: OpenAI
`anyOf`, `oneOf`, `allOf`, `not`, `enum` and `const`, Anthropic the first three. The combination is
described in words instead; the call is checked against the document's schema. Providers also refuse
a property name with other characters than letters, digits, `_`, `.` and `-`, or with more than 64:
such a name is replaced by another, and converted back in calls.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import JsonValue

from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import (
    COMPOSITIONS,
    IN_PLACE,
    KEYWORDS,
    alternatives_of,
    properties_of,
    required_of,
    subschemas,
    walk,
    with_subschemas,
)

_AT_NO_TOP: Final = frozenset({*IN_PLACE, "const", "enum", "dependentRequired"})
_SEVERAL: Final = ("anyOf", "oneOf")
_KEY: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_NO_KEY: Final = re.compile(r"[^a-zA-Z0-9_.-]+")
_LONGEST_PART: Final = 55


def offered_schema(schema: JsonObject) -> JsonObject:
    """Return the schema without combinations at its top; its description states them in words."""
    if _renamed(schema):
        schema = _with_wire_keys(schema)
    moved = {name: held for name, held in schema.items() if name in _AT_NO_TOP}
    if not moved and schema.get("type") == "object":
        return schema
    shown: JsonObject = {name: held for name, held in schema.items() if name not in moved}
    texts = [str(schema.get("description", "")), *_words(moved)]
    if described := " ".join(text for text in texts if text):
        shown["description"] = described
    return {**shown, "type": "object", "properties": dict(_named(schema, schema))}


def wire_key(name: str) -> str:
    """Return a distinct property name for each name, in a form that every provider accepts."""
    if _KEY.fullmatch(name):
        return name
    mark = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:8]
    return f"{_NO_KEY.sub('_', name).strip('_')[:_LONGEST_PART]}_{mark}"


def _renamed(schema: JsonObject) -> dict[str, str]:
    names = {
        name for inner in walk(schema) for name in (*properties_of(inner), *required_of(inner))
    }
    return {wire_key(name): name for name in names if wire_key(name) != name}


def _with_wire_keys(schema: JsonObject) -> JsonObject:
    changed = with_subschemas(schema, _with_wire_keys, KEYWORDS)
    for keyword in ("properties", "dependentSchemas", "dependentRequired"):
        if isinstance(held := changed.get(keyword), dict):
            changed[keyword] = {wire_key(name): _wired(inner) for name, inner in held.items()}
    return (
        {**changed, "required": _wired(changed["required"])} if "required" in changed else changed
    )


def _wired(names: JsonValue) -> JsonValue:
    """Return a list of names in their offered form; other values unchanged."""
    if not isinstance(names, list):
        return names
    return [wire_key(name) if isinstance(name, str) else name for name in names]


_NULLS: Final = ("null", "None", "undefined")
"""A null of JSON, Python or JavaScript that small models write as text."""


def given_arguments(schema: JsonObject, arguments: JsonObject) -> JsonObject:
    """Return the arguments of a call under the schema's own names and in the form that it allows.

    An object or a list that a model wrote as text is parsed if the schema takes no text; a null,
    even one written as text, is dropped if it stands for an optional input whose schema does not
    allow it.
    """
    names = _renamed(schema)
    own = _own_names(arguments, names)
    return _of_schema(own, schema, schema, names) if isinstance(own, dict) else arguments


def _own_names(value: JsonValue, names: Mapping[str, str]) -> JsonValue:
    if isinstance(value, list):
        return [_own_names(inner, names) for inner in value] if names else value
    if not isinstance(value, dict) or not names:
        return value
    return {names.get(name, name): _own_names(inner, names) for name, inner in value.items()}


def _of_schema(
    given: JsonObject, schema: JsonObject, root: JsonObject, names: Mapping[str, str]
) -> JsonObject:
    known, required = properties_of(schema), required_of(schema)
    read: JsonObject = {}
    for name, value in given.items():
        inner = resolve(known.get(name, {}), root)
        kind = inner.get("type")
        stated = kind if isinstance(kind, list) else [kind]
        kinds = frozenset(str(one) for one in stated if one)
        is_null = value is None or (value in _NULLS and "enum" not in inner)
        if is_null and name not in required and kinds and "null" not in kinds:
            continue
        if isinstance(value, str) and kinds and kinds <= {"object", "array", "null"}:
            value = _own_names(_from_text(value, kinds), names)
        read[name] = _of_schema(value, inner, root, names) if isinstance(value, dict) else value
    return read


def _from_text(text: str, kinds: frozenset[str]) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return text
    fits = (isinstance(value, dict) and "object" in kinds) or (
        isinstance(value, list) and "array" in kinds
    )
    return value if fits else text


def _named(schema: JsonObject, root: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield the properties of its combinations' members, then its own, which take precedence."""
    for inner in subschemas(schema, COMPOSITIONS):
        if isinstance(inner, dict):
            yield from _named(resolve(inner, root), root)
    yield from properties_of(schema).items()


def _words(moved: JsonObject) -> Iterator[str]:
    left = dict(moved)
    for keyword in _SEVERAL:
        named = alternatives_of({keyword: left.get(keyword, [])})
        members = subschemas(left, (keyword,))
        # Each only requires names.
        if named and all(
            isinstance(o, dict) and {*o} == {"required"} and o["required"] for o in members
        ):
            del left[keyword]
            how_many = "exactly one" if keyword == "oneOf" else "at least one"
            yield f"Give {how_many} of: {'; '.join(' and '.join(names) for names in named)}."
    if left:
        yield f"The inputs together fit {json.dumps(left, ensure_ascii=False)}."
