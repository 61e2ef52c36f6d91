"""Schemas of one document by names of their own: `$id` and `$anchor` of JSON Schema 2020-12.

What has a URI of its own is a *resource*: the document, each file that was taken into it, and each
schema with an `$id`. Anchors are names within one.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple
from urllib.parse import quote, unquote, urldefrag, urljoin

from pydantic import JsonValue

from orchestrator.core.record import JsonObject
from orchestrator.json_schema.pointer import parse_pointer
from orchestrator.json_schema.references import FILES_KEY

_Path = tuple[str, ...]
_VALUES = frozenset({"const", "default", "enum", "example", "examples"})
"""What is in these is no schema, whatever it looks like."""


class _Found(NamedTuple):
    resources: dict[str, _Path]
    """Where the schema of each `$id` stands, by its whole URI; that of the document is ''."""
    bases: dict[_Path, str]
    """The same the other way round."""
    anchors: dict[tuple[str, str], _Path]
    """By the URI around it and its name."""
    dynamic: dict[str, dict[str, list[_Path]]]
    """Each `$dynamicAnchor` by the URI around it and its name: more than one is a mistake."""


class SchemaNames:
    """Finds what a reference names that no pointer of the document leads to.

    Few documents have such names, so nothing is looked through before one is asked for.
    """

    def __init__(self, root: JsonObject) -> None:
        """Take the root of the document."""
        self._root = root

    def path_of(self, reference: str, written_at: _Path) -> _Path | None:
        """The steps to what a reference written there names; None when nothing has that name.

        Raises:
            ValueError: its fragment is no JSON pointer.
        """
        found = self._found
        if not found.resources and not found.anchors:
            return None
        address, fragment = urldefrag(reference)
        base = urljoin(self._base_of(written_at), address)
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            return found.anchors.get((base, fragment))
        resource = found.resources.get(base)
        return resource + parse_pointer(fragment) if resource is not None else None

    def dynamic_anchors_around(self, path: _Path) -> Mapping[str, list[_Path]]:
        """Where each `$dynamicAnchor` of the resource around a place stands, by its name."""
        found = self._found
        return found.dynamic.get(self._base_of(path), {}) if found.dynamic else {}

    def all_dynamic_anchors(self, name: str) -> list[_Path]:
        """Where a `$dynamicAnchor` of that name stands, in whatever resource."""
        return [path for within in self._found.dynamic.values() for path in within.get(name, ())]

    def _base_of(self, path: _Path) -> str:
        """The URI of the nearest schema around a place that has one."""
        bases = self._found.bases
        around = (path[:length] for length in range(len(path), -1, -1))
        return next((bases[outer] for outer in around if outer in bases), "")

    @cached_property
    def _found(self) -> _Found:
        found = _Found({}, {}, {}, {})
        waiting: list[tuple[JsonValue, _Path, str]] = [(self._root, (), "")]
        while waiting:
            value, path, base = waiting.pop()
            if isinstance(value, list):
                waiting += [(item, (*path, str(i)), base) for i, item in enumerate(value)]
            elif isinstance(value, dict):
                if len(path) == 2 and path[0] == FILES_KEY:
                    base = quote(path[1])
                    found.resources[base] = path
                    found.bases[path] = base
                base = self._note(found, value, path, base)
                waiting += [(v, (*path, k), base) for k, v in value.items() if k not in _VALUES]
        return found

    def _note(self, found: _Found, schema: JsonObject, path: _Path, base: str) -> str:
        """Note the names of a schema, and return the URI that holds inside of it."""
        if isinstance(said := schema.get("$id"), str):
            base = _joined(base, said)
            found.resources.setdefault(base, path)
            found.bases[path] = base
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(name := schema.get(keyword), str):
                found.anchors.setdefault((base, name), path)
        if isinstance(name := schema.get("$dynamicAnchor"), str):
            found.dynamic.setdefault(base, {}).setdefault(name, []).append(path)
        return base


def _joined(base: str, said: str) -> str:
    """The URI that is said within another; what is none changes nothing."""
    try:
        return urldefrag(urljoin(base, said)).url
    except ValueError:
        return base
