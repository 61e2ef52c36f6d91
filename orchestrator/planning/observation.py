"""How much of an answer is kept: histories and prompts have limits, providers have none."""

import json

from pydantic import JsonValue

_LONGEST_TEXT = 2_000
_MOST_ITEMS = 25
MOST_CHARACTERS = 24_000


def trim_body(body: JsonValue, *, most: int = MOST_CHARACTERS) -> JsonValue:
    """A body whose JSON has at most about `most` characters.

    Long lists lose their ends and long texts their tails, alike at every depth, until it fits;
    objects keep all their properties, so identifiers at the top are never lost.
    """
    items, text = _MOST_ITEMS, _LONGEST_TEXT
    while len(json.dumps(body)) > most and items >= 1:
        body = _cut(body, items, text)
        items, text = items // 2, max(80, text // 2)
    return body


def _cut(value: JsonValue, items: int, text: int) -> JsonValue:
    if isinstance(value, dict):
        return {name: _cut(inner, items, text) for name, inner in value.items()}
    if isinstance(value, list):
        return [_cut(inner, items, text) for inner in value[:items]]
    if isinstance(value, str) and len(value) > text:
        return value[: text - 1] + "…"
    return value
