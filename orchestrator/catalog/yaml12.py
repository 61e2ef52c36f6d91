"""YAML read as YAML 1.2's core schema, which JSON is a part of: the subset that OpenAPI allows.

PyYAML follows YAML 1.1, in which `2026-12-03` is a date, `NO` is false and `10:30` is 630. Only its
parser is used here. Values are made from the parser's events: for the largest documents that takes
a fraction of the time and memory of PyYAML's own way over nodes, and no nesting exhausts the stack.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

import yaml
from pydantic import JsonValue

from orchestrator.core.record import JsonObject
from orchestrator.json_schema.wellformed import MAX_NESTING

_MAX_ALIASED = 2_000_000
"""Values that aliases may stand for, counted at every mention."""
_YAML = "tag:yaml.org,2002:"
_MERGE = "<<"
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NULL = re.compile(r"~|null|Null|NULL|")
_FIRST_OF_NON_STRINGS = frozenset("-+0123456789.tTfF~nN")

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(text: str) -> Any:
    """The value that one YAML document stands for, made of JSON's types only.

    Raises:
        ValueError: not YAML, a key twice in one mapping, an alias that contains itself, aliases
            that blow a small text up to a huge value, or nesting without end.
    """
    try:
        return _Builder(yaml.parse(text, Loader=_Loader)).value()
    except yaml.YAMLError as error:
        raise ValueError(_one_line(error)) from error


@dataclass
class _Open:
    """A list or an object whose end was not met yet."""

    content: list[JsonValue] | JsonObject
    anchor: str | None
    start: Any
    size: int = 1
    """Values in it, those that aliases stand for included."""
    key: str | None = None
    """Of the value that comes next; None when a key comes next."""
    is_merge: bool = False
    merged: list[JsonObject] = field(default_factory=list)


class _Builder:
    """Makes the value of one document from the parser's events."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[JsonValue, int]] = {}
        self._aliased = 0
        self._root: list[JsonValue] = []

    def value(self) -> JsonValue:
        documents = 0
        for event in self._events:
            kind = type(event)
            if kind is yaml.ScalarEvent:
                self._scalar(event)
            elif kind is yaml.MappingStartEvent:
                self._begin({}, event, "map")
            elif kind is yaml.SequenceStartEvent:
                self._begin([], event, "seq")
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                self._end()
            elif kind is yaml.AliasEvent:
                self._alias(event)
            elif kind is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    _refuse("another document begins", event)
        return self._root[0] if self._root else None

    def _scalar(self, event: Any) -> None:
        around = self._open[-1] if self._open else None
        if around is not None and around.key is None and isinstance(around.content, dict):
            self._take_key(around, event)
            return
        value = _scalar_value(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1)
        self._add(value, 1, event)

    def _take_key(self, around: _Open, event: Any) -> None:
        """The text of a key as written: a status such as 200 stays the word `200`."""
        around.is_merge = event.value == _MERGE and event.implicit[0]
        if not around.is_merge and event.value in around.content:
            _refuse(f"the key {event.value!r} is there twice", event)
        if event.anchor is not None:
            self._anchors[event.anchor] = (event.value, 1)
        around.key = event.value

    def _begin(self, content: list[JsonValue] | JsonObject, event: Any, kind: str) -> None:
        around = self._open[-1] if self._open else None
        if around is not None and around.key is None and isinstance(around.content, dict):
            _refuse("a key must be plain text", event)
        if event.tag not in (None, "!", _YAML + kind):
            _refuse(f"the tag {event.tag!r} is not understood", event)
        if len(self._open) >= MAX_NESTING:
            _refuse(f"it is nested too deep, more than {MAX_NESTING} levels", event)
        self._open.append(_Open(content, event.anchor, event))

    def _end(self) -> None:
        done = self._open.pop()
        if done.merged:
            assert isinstance(done.content, dict)
            done.content = _with_merged(done.content, done.merged)
        if done.anchor is not None:
            self._anchors[done.anchor] = (done.content, done.size)
        self._add(done.content, done.size, done.start)

    def _alias(self, event: Any) -> None:
        if any(one.anchor == event.anchor for one in self._open):
            _refuse("an alias contains itself", event)
        if event.anchor not in self._anchors:
            _refuse(f"the alias *{event.anchor} names nothing", event)
        value, size = self._anchors[event.anchor]
        around = self._open[-1]
        if around.key is None and isinstance(around.content, dict):
            _refuse("a key must be plain text", event)
        self._aliased += size
        if self._aliased > _MAX_ALIASED:
            _refuse(f"its aliases stand for more than {_MAX_ALIASED:,} values", event)
        self._add(value, size, event)

    def _add(self, value: JsonValue, size: int, event: Any) -> None:
        if not self._open:
            self._root.append(value)
            return
        around = self._open[-1]
        around.size += size
        if isinstance(around.content, list):
            around.content.append(value)
            return
        assert around.key is not None
        if around.is_merge:
            around.merged += _mappings(value, event)
        else:
            around.content[around.key] = value
        around.key = None


def _mappings(value: JsonValue, event: Any) -> list[JsonObject]:
    """What a merge key takes: a mapping, or a list of them, the first of which wins."""
    found = value if isinstance(value, list) else [value]
    mappings = [one for one in found if isinstance(one, dict)]
    if len(mappings) < len(found):
        _refuse("only mappings can be merged", event)
    return mappings


def _with_merged(content: JsonObject, merged: list[JsonObject]) -> JsonObject:
    result: JsonObject = {}
    for other in reversed(merged):
        result.update(other)
    result.update(content)
    return result


def _scalar_value(event: Any) -> JsonValue:
    tag, text = event.tag, event.value
    if tag is None or tag == "!":
        return _plain_value(text) if event.implicit[0] and tag is None else str(text)
    for kind, pattern in (("bool", _BOOL), ("int", _INT), ("float", _FLOAT), ("null", _NULL)):
        if tag == _YAML + kind:
            if not pattern.fullmatch(text):
                _refuse(f"{text!r} is not of the tag {tag!r}", event)
            return float(text) if kind == "float" else _plain_value(text)
    if tag != f"{_YAML}str":
        _refuse(f"the tag {tag!r} is not understood", event)
    return str(text)


def _plain_value(text: str) -> JsonValue:
    if text and text[0] not in _FIRST_OF_NON_STRINGS:
        return text
    if _INT.fullmatch(text):
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _BOOL.fullmatch(text):
        return text[0] in "tT"
    return None if _NULL.fullmatch(text) else text


def _refuse(reason: str, event: Any) -> NoReturn:
    raise yaml.MarkedYAMLError(problem=reason, problem_mark=event.start_mark)


def _one_line(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError):
        return " ".join(str(error).split())
    mark = error.problem_mark
    place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
    return f"{error.problem or error.context}{place}"
