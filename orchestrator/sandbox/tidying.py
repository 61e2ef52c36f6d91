"""Takes out of a document what has no meaning where it stands, so that nothing stumbles over it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openapi_schema_validator import oas30_format_checker, oas31_format_checker

from orchestrator.sandbox.served_schemas import referred

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

    Both say nothing of a value, and make validators fail in place of judging. Properties that are
    taken from elsewhere as a whole are written out.
    """
    found: dict[str, Any] = _Tidier(document).tidied(document)
    return found


class _Tidier:
    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._taking: set[str] = set()

    def tidied(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.tidied(part) for part in node]
        if not isinstance(node, Mapping):
            return node
        return {
            key: self._part(key, value)
            for key, value in node.items()
            if not _is_meaningless(key, value, node)
        }

    def _part(self, key: str, value: Any) -> Any:
        if key in _LITERAL:
            return value
        if key in _NAMED and isinstance(value, Mapping):
            return self._named(value)
        return self.tidied(value)

    def _named(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """Members by name. No member is a text: a `$ref` that is one leads to more of them."""
        reference = members.get("$ref")
        own = {name: self.tidied(part) for name, part in members.items()}
        if not isinstance(reference, str):
            return own
        del own["$ref"]
        if reference in self._taking:
            return own
        self._taking.add(reference)
        try:
            return {**self._named(referred(self._document, reference)), **own}
        except LookupError:
            # As a member that leads nowhere it is found, and told of, where it is used.
            return {"$ref": {"$ref": reference}, **own}
        finally:
            self._taking.discard(reference)


def _is_meaningless(key: str, value: Any, node: Mapping[str, Any]) -> bool:
    if key == "format":
        return isinstance(value, str) and value not in _FORMATS
    if key == "required" and not isinstance(value, list):
        return _CARRIERS.isdisjoint(node)
    return False
