"""Text from the wire made the values that a schema means: numbers, lists, what brackets nest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from orchestrator.sandbox.served_schemas import Schema, SchemaBook

Tree = dict[str, Any]
"""What brackets hold: name to a list of texts, or to a tree of its own."""

_INTEGER = re.compile(r"-?\d+")
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_STEP = re.compile(r"\[([^\[\]]*)\]")
_DEEPEST = 12
_BRANCHES = 40


class WireValues:
    """Reads texts by the schemas of one document."""

    def __init__(self, book: SchemaBook) -> None:
        self._book = book
        # By identity, with what the key belongs to.
        self._kept: dict[int, tuple[Schema, tuple[Schema, ...]]] = {}

    def types(self, schema: Schema, depth: int = 0) -> set[str]:
        """The JSON types that a schema speaks of, those of its alternatives included."""
        resolved = self._book.resolve(schema)
        declared = resolved.get("type")
        found = set(declared if isinstance(declared, list) else [declared] if declared else [])
        if resolved.get("nullable") is True:
            found.add("null")
        if not declared and "properties" in resolved:
            found.add("object")
        if not declared and "items" in resolved:
            found.add("array")
        for branch in self._branches(resolved) if depth < _DEEPEST else ():
            found |= self.types(branch, depth + 1)
        return found

    def names(self, schema: Schema) -> list[str]:
        """The properties that a schema names."""
        variants = self._variants(schema)
        return list(dict.fromkeys(n for one in variants for n in one.get("properties") or {}))

    def is_map(self, schema: Schema) -> bool:
        """Whether an object may have any property."""
        return not self.names(schema) or any(
            one.get("additionalProperties") not in (None, False) for one in self._variants(schema)
        )

    def items(self, schema: Schema) -> Schema:
        """The schema of an array's elements."""
        for one in self._variants(schema):
            if isinstance(one.get("items"), Mapping):
                items: Schema = one["items"]
                return items
        return {}

    def property(self, schema: Schema, name: str) -> Schema:
        """The schema of an object's property."""
        for one in self._variants(schema):
            properties = one.get("properties")
            if isinstance(properties, Mapping) and isinstance(properties.get(name), Mapping):
                found: Schema = properties[name]
                return found
        for one in self._variants(schema):
            extra = one.get("additionalProperties")
            if isinstance(extra, Mapping):
                return extra
        return {}

    def scalar(self, schema: Schema, text: str) -> Any:
        """The value of one text: the first reading that conforms, else the likeliest one."""
        readings = list(self._readings(self.types(schema), text))
        fitting = (value for value in readings if self._book.is_valid(schema, value))
        return next(fitting, readings[0])

    def listed(self, schema: Schema, texts: Sequence[str]) -> list[Any]:
        """The elements of an array."""
        items = self.items(schema)
        return [self.scalar(items, text) for text in texts]

    def named(self, schema: Schema, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """The properties of an object."""
        return {name: self.scalar(self.property(schema, name), text) for name, text in pairs}

    def first_fitting(self, schema: Schema, values: Sequence[Any]) -> Any:
        """Of several readings the first that conforms, else the first."""
        return next((value for value in values if self._book.is_valid(schema, value)), values[0])

    def nested(
        self, schema: Schema, tree: Tree | list[str], depth: int = 0, *, counted: bool = True
    ) -> Any:
        """The value of what brackets hold, by the alternative that it fits.

        `counted` says that elements have brackets of their own: one text is then rather no list.
        """
        variants = self._variants(schema) if depth < _DEEPEST else ({},)
        readings = [self._shaped(variant, tree, depth) for variant in variants]
        if counted and isinstance(tree, list):
            readings.sort(key=lambda value: isinstance(value, list))
        return self.first_fitting(schema, readings)

    def _shaped(self, schema: Schema, tree: Tree | list[str], depth: int) -> Any:
        if isinstance(tree, list):
            if "array" not in self.types(schema):
                return self.listed({}, tree) if len(tree) > 1 else self.scalar(schema, tree[0])
            # One text may also be all of the list, as JSON.
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

    def _variants(self, schema: Schema) -> tuple[Schema, ...]:
        if id(schema) not in self._kept:
            found = tuple(islice(self._alternatives(schema, _DEEPEST), _BRANCHES))
            self._kept[id(schema)] = (schema, found)
        return self._kept[id(schema)][1]

    def _alternatives(self, schema: Schema, depth: int) -> Iterator[Schema]:
        resolved = self._book.resolve(schema)
        branches = self._branches(resolved) if depth else []
        own = {key: part for key, part in resolved.items() if key not in ("oneOf", "anyOf")}
        for branch in branches:
            for variant in self._alternatives(branch, depth - 1):
                yield {**variant, **_joined(own, variant)}
        if not branches:
            yield resolved

    def _branches(self, schema: Schema) -> list[Schema]:
        return [*(schema.get("oneOf") or ()), *(schema.get("anyOf") or ())]


def _joined(own: Schema, variant: Schema) -> dict[str, Any]:
    properties = {**(variant.get("properties") or {}), **(own.get("properties") or {})}
    return {**own, "properties": properties} if properties else dict(own)


def tree_of(name: str, pairs: Sequence[tuple[str, str]]) -> Tree | list[str] | None:
    """What stands under a name, in brackets or as it is; None when nothing does."""
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
