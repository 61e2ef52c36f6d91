"""Decodes parameters and form fields: texts become values by styles and schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, unquote_plus

from orchestrator.sandbox.served_schemas import Schema, SchemaBook

ABSENT: Any = object()
_DELIMITERS = {"spaceDelimited": ("%20", "+"), "pipeDelimited": ("%7C", "%7c", "|")}
Tree = dict[str, Any]
"""Bracketed fields: name to a list of texts, or to a nested tree."""

_INTEGER = re.compile(r"-?\d+")
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_STEP = re.compile(r"\[([^\[\]]*)\]")
_DEEPEST = 12


@dataclass(frozen=True)
class Style:
    """The declared style of one parameter or form field."""

    name: str
    style: str
    explode: bool
    schema: Schema
    content_type: str | None = None
    """Media type of a parameter that is described by `content`."""
    location: str = "body"
    required: bool = False


@dataclass(frozen=True)
class RawQuery:
    """The parts of a query or a form, raw and percent-decoded."""

    parts: tuple[tuple[str, str], ...]
    pairs: tuple[tuple[str, str], ...] = field(default=())

    @classmethod
    def of(cls, text: str, between: str = "&", *, is_form: bool = True) -> RawQuery:
        """Split a text like `a=1&b=2`."""
        decode = unquote_plus if is_form else unquote
        split = [part.partition("=") for part in text.split(between) if part]
        parts = tuple((decode(name.strip()), value) for name, _, value in split)
        return cls(parts, tuple((name, decode(value)) for name, value in parts))


def essence_of(content_type: str) -> str:
    """Return the media type without parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def is_json_type(content_type: str) -> bool:
    """Return True if a value of this media type is JSON."""
    return essence_of(content_type).endswith(("/json", "+json"))


def read_style(raw: Mapping[str, Any]) -> Style:
    """Return the style of a parameter, with OpenAPI's defaults."""
    location, content = raw["in"], raw.get("content") or {}
    style = str(raw.get("style") or ("form" if location in ("query", "cookie") else "simple"))
    explode, schema = raw.get("explode"), raw.get("schema")
    if not isinstance(schema, Mapping):
        described: Mapping[str, Any] = next(iter(content.values()), {})
        schema = described.get("schema", {})
    return Style(
        str(raw["name"]),
        style,
        explode if isinstance(explode, bool) else style == "form",
        schema,
        next(iter(content), None),
        location,
        location == "path" or raw.get("required") is True,
    )


def read_path(style: Style, text: str, values: WireValues) -> Any:
    """Return the value of a path parameter from its raw text."""
    if style.style == "label":
        between = "." if style.explode else ","
        return _delimited(style, text.removeprefix("."), (between,), values, unquote)
    if style.style == "matrix":
        return _matrix(style, text.removeprefix(";"), values)
    return _delimited(style, text, (",",), values, unquote)


def read_header(style: Style, text: str, values: WireValues) -> Any:
    """Return the value of a header, decoded as UTF-8 where possible, without percent-decoding."""
    with suppress(UnicodeError):
        text = text.encode("latin-1").decode()
    return _delimited(style, text, (",",), values, str)


def read_named(style: Style, query: RawQuery, claimed: Sequence[str], values: WireValues) -> Any:
    """Return the value of a query parameter, cookie or form field; ABSENT when missing.

    `claimed` are the names of the other parameters: an exploded object without declared properties
    takes all remaining names.
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
    if is_json_type(str(style.content_type)):
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


class WireValues:
    """Decodes texts by the schemas of one document."""

    def __init__(self, book: SchemaBook) -> None:
        self._book = book

    def types(self, schema: Schema) -> set[str]:
        """Return the JSON types that a schema allows, including those of its alternatives."""
        found: set[str] = set()
        for one in self._book.variants(schema):
            declared = one.get("type") or [
                kind for kind, word in (("object", "properties"), ("array", "items")) if word in one
            ]
            found |= set(declared if isinstance(declared, list) else [declared])
            found |= {"null"} if one.get("nullable") is True else set()
        return found

    def names(self, schema: Schema) -> list[str]:
        """Return the properties that a schema names."""
        variants = self._book.variants(schema)
        return list(dict.fromkeys(n for one in variants for n in one.get("properties") or {}))

    def is_map(self, schema: Schema) -> bool:
        """Return True if an object may have any property."""
        return not self.names(schema) or any(
            one.get("additionalProperties") not in (None, False)
            for one in self._book.variants(schema)
        )

    def items(self, schema: Schema) -> Schema:
        """Return the schema of an array's elements."""
        for one in self._book.variants(schema):
            if isinstance(one.get("items"), Mapping):
                items: Schema = one["items"]
                return items
        return {}

    def property(self, schema: Schema, name: str) -> Schema:
        """Return the schema of an object's property."""
        for one in self._book.variants(schema):
            properties = one.get("properties")
            if isinstance(properties, Mapping) and isinstance(properties.get(name), Mapping):
                found: Schema = properties[name]
                return found
        for one in self._book.variants(schema):
            extra = one.get("additionalProperties")
            if isinstance(extra, Mapping):
                return extra
        return {}

    def scalar(self, schema: Schema, text: str) -> Any:
        """Return the first reading of a text that conforms, else the likeliest reading."""
        readings = list(self._readings(self.types(schema), text))
        fitting = (value for value in readings if self._book.is_valid(schema, value))
        return next(fitting, readings[0])

    def listed(self, schema: Schema, texts: Sequence[str]) -> list[Any]:
        """Return the elements of an array."""
        items = self.items(schema)
        return [self.scalar(items, text) for text in texts]

    def named(self, schema: Schema, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Return the properties of an object."""
        return {name: self.scalar(self.property(schema, name), text) for name, text in pairs}

    def first_fitting(self, schema: Schema, values: Sequence[Any]) -> Any:
        """Return the first reading that conforms, else the first."""
        return next((value for value in values if self._book.is_valid(schema, value)), values[0])

    def nested(
        self, schema: Schema, tree: Tree | list[str], depth: int = 0, *, counted: bool = True
    ) -> Any:
        """Return the value of bracketed fields, by the alternative that they fit.

        `counted` means that elements have brackets of their own, so that one text is no list.
        """
        variants = self._book.variants(schema) if depth < _DEEPEST else ({},)
        readings = [self._shaped(variant, tree, depth) for variant in variants]
        if counted and isinstance(tree, list):
            readings.sort(key=lambda value: isinstance(value, list))
        return self.first_fitting(schema, readings)

    def _shaped(self, schema: Schema, tree: Tree | list[str], depth: int) -> Any:
        if isinstance(tree, list):
            if "array" not in self.types(schema):
                return self.listed({}, tree) if len(tree) > 1 else self.scalar(schema, tree[0])
            # One text may also be the whole list, as JSON.
            readings = [self.listed(schema, tree)]
            readings += [self.scalar(schema, tree[0])] if len(tree) == 1 else []
            return self.first_fitting(schema, readings)
        types = self.types(schema)
        is_counted = all(step.isdecimal() or not step for step in tree)
        if "array" in types or (is_counted and "object" not in types):
            items = self.items(schema)
            ordered = sorted(tree.items(), key=lambda pair: int(pair[0] or 0))
            elements = [text for step, one in ordered if not step for text in one]
            counted = [one for step, one in ordered if step]
            return [
                *(self.scalar(items, text) for text in elements),
                *(self.nested(items, one, depth + 1) for one in counted),
            ]
        return {
            step: self.nested(self.property(schema, step), one, depth + 1)
            for step, one in tree.items()
        }

    def _readings(self, types: set[str], text: str) -> Iterator[Any]:
        if types & {"integer", "number"} and _INTEGER.fullmatch(text):
            yield int(text)
        elif "number" in types and _NUMBER.fullmatch(text):
            yield float(text)
        if "boolean" in types and text in ("true", "false"):
            yield text == "true"
        if "null" in types and text == "null":
            yield None
        if types & {"object", "array"} and text[:1] in ("{", "["):
            with suppress(ValueError, RecursionError):
                yield json.loads(text)
        yield text


def tree_of(name: str, pairs: Sequence[tuple[str, str]]) -> Tree | list[str] | None:
    """Return the texts under a name, plain or in brackets; None when there are none."""
    plain = [text for key, text in pairs if key == name]
    if plain:
        return plain
    tree: Tree = {}
    for key, text in pairs:
        steps = _steps(name, key)
        if steps:
            _put(tree, steps, text)
    return tree or None


def _steps(name: str, key: str) -> list[str]:
    rest = key.removeprefix(name)
    if not key.startswith(f"{name}[") or len(rest) > 1000:
        return []
    steps = _STEP.findall(rest)
    return steps if "".join(f"[{step}]" for step in steps) == rest else []


def _put(tree: Tree, steps: Sequence[str], text: str) -> None:
    for step in steps[:-1]:
        inner = tree.setdefault(step, {})
        if not isinstance(inner, dict):
            return
        tree = inner
    texts = tree.setdefault(steps[-1], [])
    if isinstance(texts, list):
        texts.append(text)
