"""Whether a part of a document can be worked with: what it refers to is there, and has a shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from orchestrator.sandbox.problems import Unservable
from orchestrator.sandbox.served_schemas import SchemaBook

Steps = tuple[str, ...]

_LITERAL = frozenset({"example", "examples", "enum", "const", "default"})
"""Keywords whose values are data: what looks like a reference in them is none."""
_NAMED = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "encoding", "headers"}
)
"""Keywords whose members are named by the document: none of the names is a keyword."""
_UNUSED = frozenset({"callbacks", "links"})
"""What no call here ever meets."""
_LISTS = ("allOf", "oneOf", "anyOf", "parameters", "enum")
_OBJECTS = ("properties", "content", "headers", "patternProperties")
_NUMBERS = ("minimum", "maximum", "multipleOf")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")


class _Part(NamedTuple):
    node: Any
    steps: Steps
    is_names: bool


class Soundness:
    """Looks through parts of one document; what was found sound is not gone through again."""

    def __init__(self, book: SchemaBook) -> None:
        self._book = book
        self._sound: set[str] = set()

    def check(self, node: Any, steps: Steps) -> None:
        """Pass when everything that a part leads to is there and can be read.

        Raises:
            Unservable: with the first place that is not, and what to do about it.
        """
        passed: set[str] = set()
        waiting = [_Part(node, steps, is_names=False)]
        while waiting:
            part = waiting.pop()
            if not isinstance(part.node, Mapping):
                waiting += _elements(part)
                continue
            if not part.is_names:
                _check_shape(part.node, part.steps)
                reference = part.node.get("$ref")
                if isinstance(reference, str) and reference not in self._sound | passed:
                    passed.add(reference)
                    target = self._target(reference, part.steps)
                    waiting.append(_Part(target, _steps_of(reference), is_names=False))
            waiting += _members(part)
        self._sound |= passed

    def _is_passed(self, reference: str, passed: set[str]) -> bool:
        return reference in self._sound or reference in passed

    def _target(self, reference: str, steps: Steps) -> Any:
        try:
            return self._book.follow({"$ref": reference})
        except LookupError as error:
            raise Unservable(
                (*steps, "$ref"),
                str(error.args[0]),
                "add what it names, or remove the operation by an overlay",
            ) from error


def _elements(part: _Part) -> Iterator[_Part]:
    if isinstance(part.node, list):
        for index, element in enumerate(part.node):
            yield _Part(element, (*part.steps, str(index)), is_names=False)


def _members(part: _Part) -> Iterator[_Part]:
    for name, value in part.node.items():
        if part.is_names:
            yield _Part(value, (*part.steps, name), is_names=False)
        elif name not in _LITERAL and name not in _UNUSED and not name.startswith("x-"):
            is_names = name in _NAMED and isinstance(value, Mapping)
            yield _Part(value, (*part.steps, name), is_names=is_names)


def _steps_of(reference: str) -> Steps:
    return tuple(reference.removeprefix("#/").split("/"))


def _check_shape(node: Mapping[str, Any], steps: Steps) -> None:
    for name, wanted in _misshapen(node):
        raise Unservable((*steps, name), f"it is no {wanted}", f"write a {wanted} there")


def _misshapen(node: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from ((n, "list") for n in _LISTS if n in node and not isinstance(node[n], list))
    yield from ((n, "object") for n in _OBJECTS if n in node and not isinstance(node[n], Mapping))
    for name in (*_NUMBERS, *_COUNTS):
        if name in node and not isinstance(node[name], int | float):
            yield name, "number"
    if "pattern" in node and not isinstance(node["pattern"], str):
        yield "pattern", "text"
    if isinstance(node.get("items"), list | str):
        yield "items", "schema"
