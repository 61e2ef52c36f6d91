"""A tool's input schema in the form that providers of models take.

They refuse the whole request where one function's schema has a combination at its top: OpenAI
`anyOf`, `oneOf`, `allOf`, `not`, `enum` and `const`, Anthropic the first three. What stands there
is told in words; the call is checked against the schema as the document has it.
"""

import json
from collections.abc import Iterator
from typing import Final

from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import (
    COMPOSITIONS,
    IN_PLACE,
    alternatives_of,
    properties_of,
    subschemas,
)

_AT_NO_TOP: Final = frozenset({*IN_PLACE, "const", "enum", "dependentRequired"})
_SEVERAL: Final = ("anyOf", "oneOf")


def offered_schema(schema: JsonObject) -> JsonObject:
    """The same object without combinations at its top; its description says what they say."""
    moved = {name: held for name, held in schema.items() if name in _AT_NO_TOP}
    if not moved and schema.get("type") == "object":
        return schema
    shown: JsonObject = {name: held for name, held in schema.items() if name not in moved}
    told = [str(schema.get("description", "")), *_words(moved)]
    if described := " ".join(text for text in told if text):
        shown["description"] = described
    return {**shown, "type": "object", "properties": dict(_named(schema, schema))}


def _named(schema: JsonObject, root: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """What the members of its combinations name, then what it names itself, which wins."""
    for inner in subschemas(schema, COMPOSITIONS):
        if isinstance(inner, dict):
            yield from _named(resolve(inner, root), root)
    yield from properties_of(schema).items()


def _words(moved: JsonObject) -> Iterator[str]:
    """Alternatives of names in words, all else as JSON Schema."""
    left = dict(moved)
    for keyword in _SEVERAL:
        named = alternatives_of({keyword: left.get(keyword, [])})
        if named and all(_only_requires(inner) for inner in subschemas(left, (keyword,))):
            del left[keyword]
            how_many = "exactly one" if keyword == "oneOf" else "at least one"
            yield f"Give {how_many} of: {'; '.join(' and '.join(names) for names in named)}."
    if left:
        yield f"The inputs together fit {json.dumps(left, ensure_ascii=False)}."


def _only_requires(schema: object) -> bool:
    return isinstance(schema, dict) and set(schema) == {"required"} and bool(schema["required"])
