"""Where a JSON pointer into a document stands in the file that the document was read from."""

from collections.abc import Iterable
from typing import NamedTuple

import yaml

from orchestrator.json_schema.pointer import parse_pointer

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LONGEST_TEXT = 8_000_000
"""Characters. In longer ones lines are not looked for: a pointer is enough to find the place."""


class SourceLine(NamedTuple):
    """A place that an editor can open."""

    file: str
    line: int | None = None
    """From 1; None when it is not known."""

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


def find_lines(text: str, pointers: Iterable[str]) -> dict[str, int]:
    """The line, from 1, of each pointer into a YAML or JSON text; nothing when it cannot be told.

    What an overlay has added stands in no line of the text: it gets the line of what is around it.
    """
    if len(text) > _LONGEST_TEXT:
        return {}
    try:
        # JSON is YAML, except that YAML knows no tabs before a line.
        root = yaml.compose(text.replace("\t", " "), Loader=_LOADER)
    except (yaml.YAMLError, RecursionError):
        return {}
    if root is None:
        return {}
    return {pointer: _line(root, parse_pointer(pointer)) for pointer in pointers}


def _line(root: yaml.Node, steps: tuple[str, ...]) -> int:
    node, line = root, root.start_mark.line
    for step in steps:
        found = _child(node, step)
        if found is None:
            break
        node, line = found
    return line + 1


def _child(node: yaml.Node, step: str) -> tuple[yaml.Node, int] | None:
    """What is under the step, and the line on which its key or its element begins."""
    if isinstance(node, yaml.SequenceNode) and step.isdigit() and int(step) < len(node.value):
        element = node.value[int(step)]
        return element, element.start_mark.line
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if key.value == step:
            return value, key.start_mark.line
    return None
