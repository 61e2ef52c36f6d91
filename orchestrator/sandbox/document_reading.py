"""Reads a document so that it can be served: each operation by itself, for one may be at fault."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.json_object import JsonObject
from orchestrator.sandbox.places import ThingPlace, places_of
from orchestrator.sandbox.problems import Unservable, UnservedOperation
from orchestrator.sandbox.served_operations import ServedOperation, ServedParameter, json_schema
from orchestrator.sandbox.served_schemas import SchemaBook
from orchestrator.sandbox.soundness import Soundness, Steps
from orchestrator.sandbox.tidying import tidied

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_LOCATIONS = ("path", "query", "header", "cookie")
_LINKS = ("x-orchet-cancels", "x-orchet-cancel-for", "x-orchet-compensation-probe")
_NO_PATHS = "it has none, so there is nothing to serve"
_ADD_PATHS = "add them, or leave the document out"
_REMOVE = "mend it there, or remove the operation by an overlay"


def read_document(name: str, raw: Mapping[str, Any]) -> Document:
    """One document, ready to be served; what cannot be is left out, and told of in `skipped`."""
    if not isinstance(raw.get("paths"), Mapping):
        none = UnservedOperation(name, "/paths", "the document", _NO_PATHS, _ADD_PATHS)
        return Document(name, {**raw, "paths": {}}, SchemaBook({}), (), (none,))
    tidy = tidied(raw)
    reader = _Reader(name, SchemaBook(tidy), tidy)
    read = [operation for operation in reader.operations() if reader.is_read(operation)]
    operations = _linked(read)
    cancel_tools = {operation.cancels for operation in operations if operation.cancels}
    return Document(
        name,
        {**tidy, "paths": _paths_of(operations)},
        reader.book,
        tuple(replace(o, is_cancel=o.operation_id in cancel_tools) for o in operations),
        tuple(reader.skipped),
    )


class _Written(NamedTuple):
    """An operation as it stands in the document."""

    path: str
    method: str
    item: Mapping[str, Any]
    raw: Mapping[str, Any]

    @property
    def steps(self) -> Steps:
        return ("paths", self.path, self.method)

    @property
    def label(self) -> str:
        named = self.raw.get("operationId") if isinstance(self.raw, Mapping) else None
        return named if isinstance(named, str) else f"{self.method.upper()} {self.path}"


class _Reader:
    def __init__(self, name: str, book: SchemaBook, raw: Mapping[str, Any]) -> None:
        self.book = book
        self.skipped: list[UnservedOperation] = []
        self._name = name
        self._raw = raw
        self._sound = Soundness(book)
        self._names: set[str] = set()

    def operations(self) -> Iterator[ServedOperation]:
        """Every operation that can be read, in the order of the document."""
        places = places_of(self._raw["paths"])
        for path in self._raw["paths"]:
            for written in self._written(path):
                found = self._attempted(written, lambda w: self._read(w, places.get(w.path)))
                if found is not None:
                    yield found

    def is_read(self, operation: ServedOperation) -> bool:
        """Whether all that is asked of an operation can be told."""

        def look(_: _Written) -> object:
            answer = operation.answer_schema or {}
            asked = operation.kind, operation.input_names, operation.item_schema
            told = self.book.properties(answer), self.book.variants(answer)
            return asked, told

        written = _Written(operation.path, operation.method, {}, operation.raw)
        return self._attempted(written, look) is not None

    def _written(self, path: str) -> Iterator[_Written]:
        item = self._raw["paths"][path]
        if path.startswith("x-"):
            return
        try:
            item = self.book.follow(item) if isinstance(item, Mapping) else None
        except LookupError as error:
            self._skip(("paths", path, "$ref"), path, str(error.args[0]), _REMOVE)
            return
        if item is None:
            self._skip(("paths", path), path, "it is no object of operations", _REMOVE)
            return
        for method in METHODS:
            if method in item:
                yield _Written(path, method, item, self._overlaid(item[method]))

    def _overlaid(self, raw: Any) -> Any:
        """An operation that is a reference: what stands beside it, such as our own words, wins."""
        if not isinstance(raw, Mapping) or "$ref" not in raw:
            return raw
        with suppress(LookupError):
            return {**self.book.follow(raw), **_without(raw, "$ref")}
        return raw

    def _attempted(self, written: _Written, attempt: Callable[[_Written], Any]) -> Any:
        """What comes of an attempt; None when the operation cannot be served, and is skipped."""
        try:
            return attempt(written)
        except Unservable as error:
            self._skip(error.steps, written.label, error.reason, error.remedy)
        except LookupError as error:
            self._skip(written.steps, written.label, str(error.args[0]), _REMOVE)
        except RecursionError:
            reason = "a schema of it is part of itself, with nothing that ends it"
            self._skip(written.steps, written.label, reason, _REMOVE)
        return None

    def _skip(self, steps: Steps, label: str, reason: str, remedy: str) -> None:
        pointer = "".join("/" + s.replace("~", "~0").replace("/", "~1") for s in steps)
        self.skipped.append(UnservedOperation(self._name, pointer, label, reason, remedy))

    def _read(self, written: _Written, place: ThingPlace | None) -> ServedOperation:
        raw = written.raw
        if not isinstance(raw, Mapping):
            raise Unservable(written.steps, "it is no object", "write an operation there")
        for part in ("requestBody", "responses"):
            self._sound.check(raw.get(part, {}), (*written.steps, part))
        # The operation's own declaration replaces the path's: the last one of a name wins.
        unique = {(p["in"], p["name"]): p for p in self._parameters(written)}
        merged = {**_without(raw, "servers"), "parameters": list(unique.values())}
        return ServedOperation(
            self._named(written),
            written.method,
            written.path,
            merged,
            tuple(_parameter(self.book, p) for p in unique.values()),
            self.book,
            place=place,
        )

    def _parameters(self, written: _Written) -> Iterator[Mapping[str, Any]]:
        for holder, steps in ((written.item, written.steps[:-1]), (written.raw, written.steps)):
            for index, parameter in enumerate(holder.get("parameters") or ()):
                at = (*steps, "parameters", str(index))
                self._sound.check(parameter, at)
                found = self.book.follow(parameter) if isinstance(parameter, Mapping) else {}
                if not isinstance(found.get("name"), str) or found.get("in") not in _LOCATIONS:
                    if set(found) - {"x-orchet-tool"}:
                        reason = "it is no parameter: it needs a name, and a place to be in"
                        raise Unservable(at, reason, "write name and in, or remove it")
                    continue
                yield found

    def _named(self, written: _Written) -> str:
        """Its operationId, or one made of method and path; never that of another one."""
        said = written.raw.get("operationId")
        made = f"{written.method}_{re.sub(r'[^a-z0-9]+', '_', written.path.lower()).strip('_')}"
        name = said if isinstance(said, str) and said else made
        if name in self._names:
            name = next(n for i in range(2, 10**6) if (n := f"{name}_{i}") not in self._names)
        self._names.add(name)
        return name


def _linked(operations: list[ServedOperation]) -> list[ServedOperation]:
    """With the names by which they refer to each other as they are served.

    Who writes them may write what a tool is called, where an operationId is missing or cannot be
    the name of one.
    """
    served = {_plain(o.operation_id): o.operation_id for o in reversed(operations)}
    served |= {o.operation_id: o.operation_id for o in operations}

    def named(value: Any) -> Any:
        if isinstance(value, Mapping) and "operationId" in value:
            return {**value, "operationId": named(value["operationId"])}
        return served.get(value) or served.get(_plain(value)) or value if _is_text(value) else value

    return [
        replace(o, raw={k: named(v) if k in _LINKS else v for k, v in o.raw.items()})
        for o in operations
    ]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _without(raw: Mapping[str, Any], key: str) -> JsonObject:
    return {name: value for name, value in raw.items() if name != key}


def _parameter(book: SchemaBook, raw: Mapping[str, Any]) -> ServedParameter:
    schema = raw.get("schema") or json_schema(book, raw.get("content") or {}) or {}
    required = bool(raw.get("required", raw["in"] == "path"))
    return ServedParameter(raw["name"], raw["in"], required, book.resolve(schema))


def _paths_of(operations: list[ServedOperation]) -> JsonObject:
    paths: dict[str, JsonObject] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method] = operation.raw
    return paths
