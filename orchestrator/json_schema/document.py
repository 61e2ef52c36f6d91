"""Parsed documents: each value with its path, and the schemas that `$id` and anchors name."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple
from urllib.parse import quote, unquote, urldefrag, urljoin

from pydantic import JsonValue

from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import (
    FILES_KEY,
    follow,
    format_pointer,
    parse_pointer,
    parse_reference,
    reference_of,
)

_FIX_FILE = "put the file into the folder of the document, or make one file of them all"
_MAX_HOPS = 32
"""The longest chain of references that is followed, far beyond real documents; it ends circles."""

_Path = tuple[str, ...]
_VALUES = frozenset({"const", "default", "enum", "example", "examples"})
"""Keywords whose values are data and never schemas."""


class _Found(NamedTuple):
    resources: dict[str, _Path]
    """Path of the schema of each absolute `$id`; '' is the document."""
    bases: dict[_Path, str]
    """The inverse of `resources`."""
    anchors: dict[tuple[str, str], _Path]
    """Path of each anchor, by the base URI and the name."""
    dynamic: Counter[str]
    """How many schemas have each `$dynamicAnchor`."""


class SchemaNames:
    """Resolve references by `$id`, `$anchor` and `$dynamicAnchor` (JSON Schema 2020-12).

    A *resource* has a URI: the document, each file bundled into it, and each schema with an `$id`.
    Few documents use these names, so the search waits until the first query.
    """

    def __init__(self, root: JsonObject) -> None:
        """Store the root of the document."""
        self._root = root

    def path_of(self, reference: str, written_at: _Path) -> _Path | None:
        """Return the path that a reference at this place names; None if nothing has that name.

        Raises:
            ValueError: its fragment is no JSON pointer.
        """
        found = self._found
        if not found.resources and not found.anchors:
            return None
        address, fragment = urldefrag(reference)
        bases = self._found.bases
        around = (written_at[:length] for length in range(len(written_at), -1, -1))
        base = next((bases[outer] for outer in around if outer in bases), "")
        base = urljoin(base, address)
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            return found.anchors.get((base, fragment))
        resource = found.resources.get(base)
        return resource + parse_pointer(fragment) if resource is not None else None

    def is_dynamic(self, name: str) -> bool:
        """Return True if several schemas have a `$dynamicAnchor` of that name."""
        return self._found.dynamic[name] > 1

    @cached_property
    def _found(self) -> _Found:
        found = _Found({}, {}, {}, Counter())
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
                if isinstance(declared := value.get("$id"), str):
                    with suppress(ValueError):  # an invalid one leaves the base unchanged
                        base = urldefrag(urljoin(base, declared)).url
                    found.resources.setdefault(base, path)
                    found.bases[path] = base
                for keyword in ("$anchor", "$dynamicAnchor"):
                    if isinstance(name := value.get(keyword), str):
                        found.anchors.setdefault((base, name), path)
                        found.dynamic[name] += keyword == "$dynamicAnchor"
                waiting += [(v, (*path, k), base) for k, v in value.items() if k not in _VALUES]
        return found


@dataclass(frozen=True)
class DocumentNode:
    """A value of a document and the path to it.

    `DocumentNode.of("flights", parsed)` is the root; `.at(key)` and `.items()` follow references. A
    compiled schema, which is independent of its document, is a plain `JsonObject`.
    """

    document: str
    root: JsonObject
    value: JsonValue
    path: tuple[str, ...] = ()
    beneath: "Mapping[str, DocumentNode] | None" = None
    """Values that `overlaid` merged in from the referenced object."""
    names: SchemaNames | None = field(default=None, compare=False, repr=False)
    """Shared by all nodes of the document."""

    @classmethod
    def of(cls, document: str, root: JsonObject) -> "DocumentNode":
        """Return the root node of a parsed document."""
        return cls(document=document, root=root, value=root, names=SchemaNames(root))

    @property
    def pointer(self) -> str:
        """The path of this node as an RFC 6901 pointer."""
        return format_pointer(self.path)

    def invalid(self, reason: str, remedy: str = "") -> DocumentInvalid:
        """Return the error that names this node."""
        return DocumentInvalid(self.document, self.pointer, reason, remedy)

    def at(self, *keys: str) -> "DocumentNode | None":
        """Return the value at the end of these keys, or None, following references."""
        node: DocumentNode | None = self
        for key in keys:
            found = node.raw(key) if node is not None else None
            node = found.resolved() if found is not None else None
        return node

    def raw(self, key: str) -> "DocumentNode | None":
        """Return the value under `key` as written: a reference is not followed."""
        if not isinstance(self.value, dict) or key not in self.value:
            return None
        if self.beneath is not None and key in self.beneath:
            return self.beneath[key]
        return self._child(key, self.value[key])

    def require(self, key: str) -> "DocumentNode":
        """Return the value under `key`.

        Raises:
            DocumentInvalid: there is no value.
        """
        found = self.at(key)
        if found is None:
            raise self.invalid(f"{key!r} is missing")
        return found

    def items(self, *keys: str) -> Iterator[tuple[str, "DocumentNode"]]:
        """Yield key and node of each value of this object in its order, following references.

        `keys` lead to the object; if one is missing, nothing is yielded.
        """
        found = self.at(*keys)
        for key, place in found.raw_items() if found is not None else ():
            yield key, place.resolved()

    def raw_items(self) -> Iterator[tuple[str, "DocumentNode"]]:
        """Yield key and node of each value of this object, as written."""
        beneath = self.beneath or {}
        for key, value in self.mapping().items():
            yield key, beneath.get(key) or self._child(key, value)

    def raw_elements(self) -> Iterator["DocumentNode"]:
        """Yield the node of each element of this list, as written."""
        if not isinstance(self.value, list):
            raise self.invalid("a list is wanted here")
        for index, value in enumerate(self.value):
            yield self._child(str(index), value)

    def elements(self, *keys: str) -> Iterator["DocumentNode"]:
        """Yield the node of each element of this list, following references.

        `keys` lead to the list; if one is missing, nothing is yielded.
        """
        found = self.at(*keys)
        for element in found.raw_elements() if found is not None else ():
            yield element.resolved()

    def mapping(self) -> JsonObject:
        """Return this value, which must be an object."""
        if not isinstance(self.value, dict):
            raise self.invalid("an object is wanted here")
        return self.value

    def text(self) -> str:
        """Return this value, which must be a string."""
        if not isinstance(self.value, str):
            raise self.invalid("a string is wanted here")
        return self.value

    def text_at(self, key: str) -> str | None:
        """Return the string under `key`; None if there is none."""
        found = self.at(key)
        return found.text() if found is not None else None

    def texts_at(self, key: str) -> tuple[str, ...]:
        """Return the list of strings under `key`; empty if there is none."""
        return tuple(element.text() for element in self.elements(key))

    def is_true(self, key: str) -> bool:
        """Return True if this object has `true` under `key`."""
        found = self.at(key)
        return found is not None and found.value is True

    def resolved(self) -> "DocumentNode":
        """Follow this node's references to the end; without one, return the node itself.

        Raises:
            DocumentInvalid: the reference leads nowhere, in a circle, or out of the document.
        """
        node = self
        for _ in range(_MAX_HOPS):
            if (reference := reference_of(node.value)) is None:
                return node
            node = node.target(reference)
        raise self.invalid("this reference leads in a circle")

    def overlaid(self) -> "DocumentNode":
        """Return the referenced value with the keywords next to the `$ref` laid over it.

        Path items and operations need this: an overlay may have added keywords next to a `$ref`.

        Raises:
            DocumentInvalid: as `resolved`.
        """
        target = self.resolved()
        if target is self or not isinstance(self.value, dict) or self.value.keys() == {"$ref"}:
            return target
        reference = reference_of(self.value)
        assert reference is not None
        under = self.target(reference).overlaid()
        own = {key: held for key, held in self.value.items() if key != "$ref"}
        beneath = {key: place for key, place in under.raw_items() if key not in own}
        merged = {**{key: place.value for key, place in beneath.items()}, **own}
        return replace(self, value=merged, beneath=beneath)

    def target(self, reference: str) -> "DocumentNode":
        """Return the node that a reference string written here names.

        Raises:
            DocumentInvalid: it leads nowhere or out of the document.
        """
        address, _, fragment = reference.partition("#")
        path: _Path | None = None
        try:
            path = parse_reference(reference)
            is_file = path is not None and path[:1] == (FILES_KEY,) and len(path) > 1
            why = follow(self.root, path[:2]) if path is not None and is_file else None
            if path is None and ":" in address:
                fault = self.invalid(
                    f"{reference!r} is a URL, and nothing is read from the network",
                    "keep a copy in a file next to the document, and refer to that",
                )
            elif path is None:
                fault = self.invalid(f"{reference!r} is in another file, which is not at hand")
            elif isinstance(why, str):
                fault = self.invalid(f"{path[1]!r} cannot be read: {why}", _FIX_FILE)
            else:
                return self._placed(path)
        except (LookupError, ValueError):
            fault = self.invalid(f"{reference!r} leads nowhere")
        if path is not None and path[:1] == (FILES_KEY,) and len(path) > 1:
            # As written, before bundling rewrote it.
            address, fragment = path[1], format_pointer(path[2:])
        for around in (self.path, ()):
            # A name that leads nowhere leaves the error of the pointer.
            with suppress(LookupError, ValueError):
                named = self.names.path_of(f"{address}#{fragment}", around) if self.names else None
                if named is not None:
                    return self._placed(named)
        raise fault

    def dynamic_target(self, reference: str) -> "DocumentNode | None":
        """Return the schema that a `$dynamicRef` written here names; None if it may be several.

        Raises:
            DocumentInvalid: it leads nowhere.
        """
        found, name = self.target(reference), reference.partition("#")[2]
        is_anchor = isinstance(found.value, dict) and found.value.get("$dynamicAnchor") == name
        is_dynamic = is_anchor and self.names is not None and self.names.is_dynamic(name)
        return None if is_dynamic else found

    def _placed(self, path: tuple[str, ...]) -> "DocumentNode":
        value = follow(self.root, path)
        return DocumentNode(self.document, self.root, value, path, names=self.names)

    def _child(self, key: str, value: JsonValue) -> "DocumentNode":
        path = (*self.path, key)
        return DocumentNode(self.document, self.root, value, path, names=self.names)
