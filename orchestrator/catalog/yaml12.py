"""YAML 1.2's core schema, a superset of JSON, as far as OpenAPI allows it.

PyYAML follows YAML 1.1, in which `2026-12-03` is a date, `NO` is false and `10:30` is 630, so only
its parser is used here. Values are made from the parser's events: for the largest documents this
takes a fraction of the time and memory of PyYAML's nodes, and nesting has a limit.
"""

import re
from collections.abc import Iterator
from typing import Any, NoReturn

import yaml
from pydantic import JsonValue

from orchestrator.core.record import JsonObject
from orchestrator.json_schema.canonical import MAX_NESTING

_MAX_ALIASED = 2_000_000
"""Limit of the values that aliases expand to, counted at every use."""
_YAML = "tag:yaml.org,2002:"
_MERGE = "<<"
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NULL = re.compile(r"~|null|Null|NULL|")
_FIRST_OF_NON_STRINGS = frozenset("-+0123456789.tTfF~nN")

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(text: str) -> Any:
    """Return the value of one YAML document, in JSON's types only.

    Raises:
        ValueError: malformed YAML, a repeated key, a recursive alias, aliases that expand to a huge
            value, or too deep nesting.
    """
    try:
        return _Builder(yaml.parse(text, Loader=_Loader)).document()
    except yaml.YAMLError as error:
        if not isinstance(error, yaml.MarkedYAMLError):
            raise ValueError(" ".join(str(error).split())) from error
        mark = error.problem_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise ValueError(f"{error.problem or error.context}{place}") from error


class _Builder:
    """Makes the value of one document from the parser's events.

    Each value has a size: the number of values in it, expanded aliases included.
    """

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._anchors: dict[str, tuple[JsonValue, int]] = {}
        self._open: list[str | None] = []
        """Anchors of the lists and objects that are not yet complete."""
        self._aliased = 0

    def document(self) -> JsonValue:
        documents, value = 0, None
        for event in self._events:
            if type(event) is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    _refuse("another document begins", event)
            elif isinstance(event, yaml.NodeEvent):
                value, _ = self._node(event)
        return value

    def _node(self, event: Any) -> tuple[JsonValue, int]:
        kind = type(event)
        if kind is yaml.AliasEvent:
            return self._alias(event)
        if kind is yaml.ScalarEvent:
            found: tuple[JsonValue, int] = _scalar_value(event), 1
        else:
            is_mapping = kind is yaml.MappingStartEvent
            if event.tag not in (None, "!", _YAML + ("map" if is_mapping else "seq")):
                _refuse(f"the tag {event.tag!r} is not understood", event)
            if len(self._open) >= MAX_NESTING:
                _refuse(f"it is nested too deep, more than {MAX_NESTING} levels", event)
            self._open.append(event.anchor)
            found = self._mapping() if is_mapping else self._sequence()
            self._open.pop()
        if event.anchor is not None:
            self._anchors[event.anchor] = found
        return found

    def _sequence(self) -> tuple[JsonValue, int]:
        content: list[JsonValue] = []
        size = 1
        while type(event := next(self._events)) is not yaml.SequenceEndEvent:
            value, added = self._node(event)
            content.append(value)
            size += added
        return content, size

    def _mapping(self) -> tuple[JsonValue, int]:
        content: JsonObject = {}
        merged: list[JsonObject] = []
        size = 1
        while type(key := next(self._events)) is not yaml.MappingEndEvent:
            is_merge = self._check_key(key, content)
            event = next(self._events)
            value, added = self._node(event)
            size += added
            if not is_merge:
                content[key.value] = value
                continue
            # One mapping, or a list in which the first wins.
            listed = value if isinstance(value, list) else [value]
            mappings = [one for one in listed if isinstance(one, dict)]
            if len(mappings) < len(listed):
                _refuse("only mappings can be merged", event)
            merged += mappings
        # The first merged mapping wins, and the mapping's own keys win over all.
        return {k: v for one in (*reversed(merged), content) for k, v in one.items()}, size

    def _check_key(self, event: Any, content: JsonObject) -> bool:
        """Check a key and return True for a merge key; a key is its text: status 200 is `200`."""
        if type(event) is yaml.AliasEvent:
            self._alias(event)
        if type(event) is not yaml.ScalarEvent:
            _refuse("a key must be plain text", event)
        is_merge: bool = event.value == _MERGE and event.implicit[0]
        if not is_merge and event.value in content:
            _refuse(f"the key {event.value!r} is there twice", event)
        if event.anchor is not None:
            self._anchors[event.anchor] = event.value, 1
        return is_merge

    def _alias(self, event: Any) -> tuple[JsonValue, int]:
        if event.anchor in self._open:
            _refuse("an alias contains itself", event)
        if event.anchor not in self._anchors:
            _refuse(f"the alias *{event.anchor} names nothing", event)
        value, size = self._anchors[event.anchor]
        self._aliased += size
        if self._aliased > _MAX_ALIASED:
            _refuse(f"its aliases stand for more than {_MAX_ALIASED:,} values", event)
        return value, size


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
