"""Cuts answers and texts: histories and prompts have limits, providers have none."""

import json
import math
from typing import Final

from pydantic import JsonValue

MOST_CHARACTERS: Final = 24_000
TOKENS_PER_BYTE: Final = 0.3
"""A slightly high estimate for JSON and English (o200k measures 0.23 on tool schemas).

It also holds for other scripts, whose characters are several bytes each.
"""
_LONGEST_TEXT: Final = 2_000
_MOST_PROPERTIES: Final = 200
_LONGEST_NAME: Final = 200
"""Longer names of large objects are dropped: maps of thousands of keys would stay whole."""
_MOST_ITEMS: Final = 25


def trim_body(body: JsonValue, *, most: int = MOST_CHARACTERS) -> JsonValue:
    """Return a body whose JSON has at most about `most` characters.

    Long lists lose their ends and long texts their tails, alike at every depth, until it fits;
    objects retain their properties, so identifiers at the top are never lost, up to a number that
    no document comes near.
    """
    if len(json.dumps(body)) > most:
        body = _with_fewer_names(body)
    items, text = _MOST_ITEMS, _LONGEST_TEXT
    while len(json.dumps(body)) > most and items >= 1:
        body = _cut(body, items, text)
        items, text = items // 2, max(80, text // 2)
    return body


def cut_text(text: str, size: int) -> str:
    """Return the text in at most `size` characters, with an ellipsis where it was cut."""
    bare = text.strip()
    return bare if len(bare) <= size else f"{bare[: max(0, size - 1)].rstrip()}…"


def estimate_tokens(text: str) -> int:
    """Return the approximate number of tokens of a text, rounded up; at least 0.3 per byte."""
    return math.ceil(TOKENS_PER_BYTE * len(text.encode("utf-8", errors="replace")))


def _with_fewer_names(value: JsonValue) -> JsonValue:
    """Return the first properties of each object, without those with very long names."""
    if isinstance(value, list):
        return [_with_fewer_names(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    named = [item for item in value.items() if len(item[0]) <= _LONGEST_NAME]
    return {name: _with_fewer_names(inner) for name, inner in named[:_MOST_PROPERTIES]}


def _cut(value: JsonValue, items: int, text: int) -> JsonValue:
    if isinstance(value, dict):
        return {name: _cut(inner, items, text) for name, inner in value.items()}
    if isinstance(value, list):
        return [_cut(inner, items, text) for inner in value[:items]]
    if isinstance(value, str) and len(value) > text:
        return value[: text - 1] + "…"
    return value
