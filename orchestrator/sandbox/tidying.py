"""Takes out of a document what has no meaning where it stands, so that nothing stumbles over it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openapi_schema_validator import oas30_format_checker, oas31_format_checker

_KNOWN = {*oas30_format_checker.checkers, *oas31_format_checker.checkers}
_MADE = {"uri", "url", "uri-reference", "hostname", "duration"}
"""Formats that no checker asks for, and that values are made by all the same."""
_FORMATS = frozenset(_KNOWN | _MADE)
_CARRIERS = frozenset({"in", "content", "schema"})
"""What parameters, bodies and headers have, in which `required` is true or false."""
_LITERAL = frozenset({"example", "examples", "default", "enum", "const"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "schemas", "paths"})


def tidied(document: Mapping[str, Any]) -> dict[str, Any]:
    """The same document without formats that nobody checks and the `required` of no list.

    Both say nothing of a value, and make validators fail in place of judging.
    """
    found: dict[str, Any] = _tidied(document)
    return found


def _tidied(node: Any) -> Any:
    if isinstance(node, list):
        return [_tidied(part) for part in node]
    if not isinstance(node, Mapping):
        return node
    return {
        key: _part(key, value)
        for key, value in node.items()
        if not _is_meaningless(key, value, node)
    }


def _part(key: str, value: Any) -> Any:
    if key in _LITERAL:
        return value
    if key in _NAMED and isinstance(value, Mapping):
        return {name: _tidied(part) for name, part in value.items()}
    return _tidied(value)


def _is_meaningless(key: str, value: Any, node: Mapping[str, Any]) -> bool:
    if key == "format":
        return isinstance(value, str) and value not in _FORMATS
    if key == "required" and not isinstance(value, list):
        return _CARRIERS.isdisjoint(node)
    return False
