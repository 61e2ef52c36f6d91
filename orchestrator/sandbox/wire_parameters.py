"""Reads the parameters of a request by the styles that its document declares for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, unquote_plus

from orchestrator.sandbox.served_schemas import Schema
from orchestrator.sandbox.wire_values import WireValues, tree_of

ABSENT: Any = object()
_DELIMITERS = {"spaceDelimited": ("%20", "+"), "pipeDelimited": ("%7C", "%7c", "|")}


@dataclass(frozen=True)
class Style:
    """How a document declares one parameter, or one field of a form, to be written."""

    name: str
    style: str
    explode: bool
    schema: Schema
    content_type: str | None = None
    """Of a parameter that is described by its content."""


@dataclass(frozen=True)
class RawQuery:
    """The parts of a query or a form, as they came; read without their percent encoding."""

    parts: tuple[tuple[str, str], ...]
    pairs: tuple[tuple[str, str], ...] = field(default=())

    @classmethod
    def of(cls, text: str, between: str = "&", *, is_form: bool = True) -> RawQuery:
        """The parts of `a=1&b=2`."""
        decode = unquote_plus if is_form else unquote
        split = [part.partition("=") for part in text.split(between) if part]
        parts = tuple((decode(name.strip()), value) for name, _, value in split)
        return cls(parts, tuple((name, decode(value)) for name, value in parts))


def read_style(raw: Mapping[str, Any], schema: Schema) -> Style:
    """How a parameter is declared, with what OpenAPI says where it says nothing."""
    default = "form" if raw["in"] in ("query", "cookie") else "simple"
    style = str(raw.get("style") or default)
    content = raw.get("content")
    content_type = next(iter(content), None) if isinstance(content, Mapping) else None
    explode = raw.get("explode")
    exploded = explode if isinstance(explode, bool) else style == "form"
    return Style(str(raw["name"]), style, exploded, schema, content_type)


def read_path(style: Style, text: str, values: WireValues) -> Any:
    """The value of a parameter that stands in a path, from its text as it came."""
    if style.style == "label":
        between = "." if style.explode else ","
        return _delimited(style, text.removeprefix("."), (between,), values, unquote)
    if style.style == "matrix":
        return _matrix(style, text.removeprefix(";"), values)
    return _delimited(style, text, (",",), values, unquote)


def read_header(style: Style, text: str, values: WireValues) -> Any:
    """The value of a header: bytes, of UTF-8 where they can be, without percent encoding."""
    with suppress(UnicodeError):
        text = text.encode("latin-1").decode()
    return _delimited(style, text, (",",), values, str)


def read_named(style: Style, query: RawQuery, claimed: Sequence[str], values: WireValues) -> Any:
    """The value of a query parameter, a cookie or a form's field; ABSENT when it is not there.

    `claimed` are the names of the other parameters: what an exploded object without declared
    properties has is all the rest.
    """
    if style.content_type is not None:
        found = [text for name, text in query.pairs if name == style.name]
        return _of_content(style, found[-1], values) if found else ABSENT
    is_object = "object" in values.types(style.schema)
    if style.style != "deepObject" and style.explode and is_object:
        whole = _exploded_object(style, query, claimed, values)
        if whole is not ABSENT:
            return whole
    if not style.explode and style.style != "deepObject":
        raw = [text for name, text in query.parts if name == style.name]
        between = _DELIMITERS.get(style.style, (",",))
        return _delimited(style, raw[-1], between, values, unquote_plus) if raw else ABSENT
    tree = tree_of(style.name, query.pairs)
    counted = style.style == "deepObject"
    return ABSENT if tree is None else values.nested(style.schema, tree, counted=counted)


def _exploded_object(
    style: Style, query: RawQuery, claimed: Sequence[str], values: WireValues
) -> Any:
    own, is_map = values.names(style.schema), values.is_map(style.schema)
    found = {}
    for root in dict.fromkeys(name.partition("[")[0] for name, _ in query.pairs):
        is_own = root in own or (is_map and root not in claimed and root != style.name)
        tree = tree_of(root, query.pairs) if is_own else None
        if tree is not None:
            found[root] = values.nested(values.property(style.schema, root), tree)
    return found or ABSENT


def _of_content(style: Style, text: str, values: WireValues) -> Any:
    essence = str(style.content_type).partition(";")[0].strip().lower()
    if essence.endswith(("/json", "+json")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return values.scalar(style.schema, text)


def _matrix(style: Style, text: str, values: WireValues) -> Any:
    parts = [part.partition("=") for part in text.split(";")]
    own = [value for name, _, value in parts if unquote(name) == style.name]
    if style.explode and "array" in values.types(style.schema) and len(own) == len(parts):
        return values.listed(style.schema, [unquote(value) for value in own])
    if style.explode and "object" in values.types(style.schema):
        pairs = [(unquote(name), unquote(value)) for name, _, value in parts]
        return values.named(style.schema, pairs)
    flat = Style(style.name, style.style, False, style.schema, style.content_type)
    return _delimited(flat, own[0] if own else text, (",",), values, unquote)


def _delimited(
    style: Style,
    text: str,
    between: Sequence[str],
    values: WireValues,
    decode: Callable[[str], str],
) -> Any:
    """The value of a text whose elements stand between delimiters."""
    if style.content_type is not None:
        return _of_content(style, decode(text), values)
    types = values.types(style.schema)
    for other in between[1:]:
        text = text.replace(other, between[0])
    parts = text.split(between[0])
    readings: list[Any] = []
    if types - {"array", "object", "null"} or not types:
        readings.append(values.scalar(style.schema, decode(text)))
    if "array" in types:
        readings.append(values.listed(style.schema, [decode(part) for part in parts]))
    if "object" in types:
        pairs = _pairs(parts, explode=style.explode)
        decoded = [(decode(name), decode(value)) for name, value in pairs]
        readings.append(values.named(style.schema, decoded))
    return values.first_fitting(style.schema, readings or [decode(text)])


def _pairs(parts: Sequence[str], *, explode: bool) -> list[tuple[str, str]]:
    if explode:
        return [(name, value) for name, _, value in (part.partition("=") for part in parts)]
    return list(zip(parts[::2], parts[1::2], strict=False))
