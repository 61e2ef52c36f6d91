"""Source lines: the place of a JSON pointer in the text of its document.

The text is parsed again, only when a message needs a line. Values that no pointer asks for are not
kept, so a document of tens of megabytes costs little more than its parsing.
"""

import json.decoder
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import yaml

from orchestrator.json_schema.references import parse_pointer

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_JSON: Any = json.decoder
_scanned: Any = _JSON.JSONDecoder().scan_once


class SourceLine(NamedTuple):
    """A place that an editor can open."""

    file: str
    line: int | None = None
    """From 1; None when unknown."""

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


class _Wanted:
    """A tree of the pointers' steps, each with its line once it is met."""

    def __init__(self) -> None:
        self.inside: dict[str, _Wanted] = {}
        self.line: int | None = None

    def at(self, steps: Iterable[str]) -> "_Wanted":
        """Return the end of these steps, which are added."""
        here = self
        for step in steps:
            here = here.inside.setdefault(step, _Wanted())
        return here

    def line_of(self, steps: Iterable[str]) -> int | None:
        """Return the line of the last step that was met."""
        here, line = self, self.line
        for step in steps:
            here = here.inside[step]
            if here.line is None:
                break
            line = here.line
        return line


def find_lines(text: str, pointers: Iterable[str]) -> dict[str, int]:
    """Return the line, from 1, of each pointer into a YAML or JSON text, where known.

    A place that an overlay added gets the line of the value around it.
    """
    asked = {pointer: parse_pointer(pointer) for pointer in pointers}
    wanted = _Wanted()
    for steps in asked.values():
        wanted.at(steps)
    if not (_is_found_in_json(text, wanted) or _is_found_in_yaml(text, wanted)):
        return {}
    lines = {pointer: wanted.line_of(steps) for pointer, steps in asked.items()}
    return {pointer: line for pointer, line in lines.items() if line is not None}


def _is_found_in_json(text: str, wanted: _Wanted) -> bool:
    """Return True if the text is JSON, and note the lines."""
    start = _space(text, 0)
    if text[start : start + 1] not in ("{", "["):
        return False
    try:
        _JsonLines(text).note(start, wanted, start)
    except (IndexError, RecursionError, StopIteration, ValueError):
        return False
    return True


def _space(text: str, at: int) -> int:
    return int(_JSON.WHITESPACE.match(text, at).end())


def _end(text: str, at: int) -> int:
    """Return the end of the value that begins there."""
    return int(_scanned(text, at)[1])


class _JsonLines:
    """Reads a JSON text; values without a pointer are skipped at the speed of the parser."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._counted, self._line = 0, 1

    def note(self, at: int, wanted: _Wanted, begins: int) -> int:
        """Note the line of the value at a place and of its parts; return its end."""
        self._line += self._text.count("\n", self._counted, begins)
        self._counted = begins
        wanted.line = self._line
        if not wanted.inside or self._text[at] not in "{[":
            return _end(self._text, at)
        return self._object(at, wanted) if self._text[at] == "{" else self._array(at, wanted)

    def _object(self, at: int, wanted: _Wanted) -> int:
        text = self._text
        at = _space(text, at + 1)
        while text[at] != "}":
            begins = at
            key, at = _JSON.scanstring(text, at + 1)
            at = _space(text, _space(text, at) + 1)  # past the colon
            at = self._value(at, wanted.inside.get(key), begins)
        return at + 1

    def _array(self, at: int, wanted: _Wanted) -> int:
        at = _space(self._text, at + 1)
        index = 0
        while self._text[at] != "]":
            at = self._value(at, wanted.inside.get(str(index)), at)
            index += 1
        return at + 1

    def _value(self, at: int, wanted: _Wanted | None, begins: int) -> int:
        """Return the position after a value and the comma that follows it."""
        end = self.note(at, wanted, begins) if wanted else _end(self._text, at)
        end = _space(self._text, end)
        return _space(self._text, end + 1) if self._text[end] == "," else end


def _is_found_in_yaml(text: str, wanted: _Wanted) -> bool:
    """Return True if the text is YAML, and note the lines."""
    try:
        # JSON is YAML, except for tabs before a line.
        events: Iterator[Any] = yaml.parse(text.replace("\t", " "), Loader=_LOADER)
        for event in events:
            if not isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent):
                is_node = not isinstance(event, yaml.StreamEndEvent)
                if is_node:
                    _YamlLines(events).note(event, wanted, event.start_mark.line)
                return is_node
    except (yaml.YAMLError, RecursionError):
        return False
    return False


class _YamlLines:
    """Reads the events of a YAML text; aliases are not followed."""

    def __init__(self, events: Any) -> None:
        self._events = events

    def note(self, event: Any, wanted: _Wanted | None, line: int) -> None:
        """Note the line of the value that begins with an event, and of its parts."""
        if wanted is not None:
            wanted.line = line + 1
        kind = type(event)
        if kind not in (yaml.MappingStartEvent, yaml.SequenceStartEvent):
            return
        if wanted is None or not wanted.inside:
            self._pass()
        elif kind is yaml.MappingStartEvent:
            while type(key := next(self._events)) is not yaml.MappingEndEvent:
                self.note(next(self._events), self._under(key, wanted), key.start_mark.line)
        else:
            index = 0
            while type(item := next(self._events)) is not yaml.SequenceEndEvent:
                self.note(item, wanted.inside.get(str(index)), item.start_mark.line)
                index += 1

    def _under(self, key: Any, wanted: _Wanted) -> _Wanted | None:
        return wanted.inside.get(key.value) if type(key) is yaml.ScalarEvent else None

    def _pass(self) -> None:
        """Skip the rest of the list or object that has begun."""
        depth = 1
        while depth:
            kind = type(next(self._events))
            if kind in (yaml.MappingStartEvent, yaml.SequenceStartEvent):
                depth += 1
            elif kind in (yaml.MappingEndEvent, yaml.SequenceEndEvent):
                depth -= 1
