"""The sandbox's own reading of OpenAPI documents: operations, what they need, what they answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from jsonschema.exceptions import ValidationError as SchemaError
from openapi_core import OpenAPI
from openapi_core.exceptions import SpecError
from referencing.exceptions import Unresolvable

from orchestrator.sandbox.faults import Role
from orchestrator.sandbox.json_object import JsonObject
from orchestrator.sandbox.runtime_expressions import RuntimeExpression, read_expression
from orchestrator.sandbox.served_operations import (
    OperationKind,
    ServedOperation,
    ServedParameter,
    id_names,
    json_schema,
)
from orchestrator.sandbox.served_schemas import Schema, SchemaBook

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
SUFFIXES = (".yaml", ".yml", ".json")


UNNAMED = "id"
"""What the id of a thing is called when no answer names it."""


class DocumentError(ValueError):
    """A document that cannot be served: what is wrong, and in which one."""


# Dates stay text: JSON has none.
_RESOLVERS = {
    first: [(tag, pattern) for tag, pattern in pairs if tag != "tag:yaml.org,2002:timestamp"]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader: Any = type("_Loader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": _RESOLVERS})
_QuickLoader: Any = type(
    "_QuickLoader",
    (getattr(yaml, "CSafeLoader", yaml.SafeLoader),),
    {"yaml_implicit_resolvers": _RESOLVERS},
)


@dataclass(frozen=True)
class Document:
    """A served document: its prefix, its operations and what its ids name."""

    name: str
    raw: Mapping[str, Any]
    book: SchemaBook = field(repr=False)
    operations: tuple[ServedOperation, ...] = field(repr=False)

    @cached_property
    def prefix(self) -> str:
        """Path under which it is served, "/flights": its server's path, else its name."""
        servers = self.raw.get("servers") or [{}]
        text = re.sub(r"\{[^{}]*\}", "x", str(servers[0].get("url", "")))
        return urlsplit(text).path.rstrip("/") or f"/{self.name}"

    def match(self, method: str, path: str) -> tuple[ServedOperation, dict[str, str]] | None:
        """The operation that answers, with the raw values of its path parameters."""
        for operation, values in self.matches(path):
            if operation.method == method.lower():
                return operation, values
        return None

    def methods(self, path: str) -> list[str]:
        """The methods that this path answers, upper case; empty for an unknown path."""
        return [operation.method.upper() for operation, _ in self.matches(path)]

    def matches(self, path: str) -> Iterator[tuple[ServedOperation, dict[str, str]]]:
        """The operations at this path, those with the fewest parameters first."""
        for operation in sorted(self.operations, key=lambda o: len(o.path_names)):
            values = operation.path_values(path)
            if values is not None:
                yield operation, dict(zip(operation.path_names, values, strict=True))

    def operation(self, operation_id: str) -> ServedOperation | None:
        """The operation of that id; None when the document has no such one."""
        return next((o for o in self.operations if o.operation_id == operation_id), None)

    def role(self, operation: ServedOperation) -> Role:
        """What a request of this operation is for."""
        if operation.kind is OperationKind.CANCEL:
            return "cancel"
        if operation.kind is not OperationKind.READ:
            return "call"
        return "probe" if operation.operation_id in self._probes else "read"

    @cached_property
    def _probes(self) -> frozenset[str]:
        return frozenset(o.probe[0] for o in self.operations if o.probe)

    @cached_property
    def input_names(self) -> frozenset[str]:
        """What callers can say in any operation: unsaid, nobody knows it."""
        return frozenset(name for o in self.operations for name in o.input_names)

    @cached_property
    def resource_ids(self) -> dict[str, str]:
        """For each creating operation, the property of its answer that names what it made."""
        return {operation_id: path[-1] for operation_id, path in self.resource_paths.items()}

    @cached_property
    def resource_paths(self) -> dict[str, tuple[str, ...]]:
        """The same with the way to it: ("booking", "id") in {"booking": {"id": ...}}."""
        # A POST that is not known to create may still turn out to.
        creates = [
            o
            for o in self.operations
            if o.kind is OperationKind.CREATE
            or (o.kind is OperationKind.UPDATE and o.method == "post")
        ]
        named = {o.operation_id: self._resource_path(o) for o in creates}
        return {operation_id: path for operation_id, path in named.items() if path}

    def listed_resource(self, operation: ServedOperation) -> str | None:
        """The id property of the resources that this operation lists; None when it lists none."""
        names = self.book.properties(operation.item_schema or {})
        made = list(self.resource_ids.values())
        return next((name for name in names if name in made), None)

    def offered_ids(self, operation: ServedOperation) -> list[str]:
        """The properties by which items of this list can be named in later calls."""
        if operation.kind is not OperationKind.READ or self.listed_resource(operation):
            return []
        return id_names(self.book.properties(operation.item_schema or {}))

    @cached_property
    def known_ids(self) -> frozenset[str]:
        """Every property whose values this document hands out: nobody else can make one up."""
        offered = [name for operation in self.operations for name in self.offered_ids(operation)]
        # What the caller's own vault fills in was never ours to give.
        private = {n for o in self.operations for n in o.raw.get("x-orchet-pii-required", [])}
        return frozenset([*self.resource_ids.values(), *offered]) - private

    def cancel_inputs(self, operation: ServedOperation) -> dict[str, str]:
        """Inputs of a create's cancel that take the id of what it made, and the id's property."""
        whole = self.resource_paths.get(operation.operation_id)
        named = whole[-1] if whole else UNNAMED
        fed = _readings(operation.compensation_args)
        inputs = {
            name: named
            for name, reading in fed.items()
            if reading.message == "response"
            and (reading.source == "header" or reading.path == whole)
        }
        return inputs or ({named: named} if whole else {})

    def answered_headers(self, operation: ServedOperation) -> list[str]:
        """The headers of an answer by which its cancel names what was made."""
        fed = _readings(operation.compensation_args).values()
        return [r.path[0] for r in fed if r.message == "response" and r.source == "header"]

    def asked_by_request(
        self, operation: ServedOperation
    ) -> list[tuple[ServedOperation, dict[str, RuntimeExpression]]]:
        """What a cancel or a probe is told of the request whose thing it means.

        Returns:
            Each operation that it cancels or asks about, with those of its own inputs that repeat
            something that was sent.
        """
        found = []
        for maker in self.operations:
            for called, args in ((maker.cancels, maker.compensation_args), maker.probe or ("", {})):
                if called == operation.operation_id:
                    sent = _sent(args, operation, maker)
                    found.append((maker, sent))
        return [(maker, sent) for maker, sent in found if sent]

    def _resource_path(self, operation: ServedOperation) -> tuple[str, ...] | None:
        schema = operation.answer_schema or {}
        fed = _readings(operation.compensation_args).values()
        read = (r.path for r in fed if r.message == "response" and r.source == "body")
        declared = next((path for path in read if self._has(schema, path)), None)
        if declared:
            return declared
        answers = self.book.properties(schema)
        cancel = self.operation(operation.cancels or "")
        cancelled_by = cancel.input_names if cancel else frozenset[str]()
        own = [name for name in id_names(answers) if name not in operation.input_names]
        shared = [name for name in own if name in cancelled_by]
        top = next(iter([*shared, *own, *id_names(answers)]), None)
        return (top,) if top else self._enveloped_id(answers)

    def wrapper(self, operation: ServedOperation) -> tuple[str, ...]:
        """The way to the thing that an answer is about; () when the answer is the thing itself."""
        path = self.resource_paths.get(operation.operation_id)
        if path is None:
            answers = self.book.properties(operation.answer_schema or {})
            path = None if id_names(answers) else self._enveloped_id(answers)
        return path[:-1] if path else ()

    def thing_schema(self, operation: ServedOperation) -> Schema:
        """The schema of the thing that an answer is about, out of its wrapping."""
        schema = operation.answer_schema or {}
        for step in self.wrapper(operation):
            schema = self.book.resolve(self.book.properties(schema)[step])
        return schema

    def _enveloped_id(self, answers: Mapping[str, Schema]) -> tuple[str, ...] | None:
        """The id in an answer that wraps what it is about: {"data": {"id": ...}}."""
        for outer, inner in answers.items():
            if self.book.type_of(self.book.resolve(inner)) == "object":
                names = id_names(self.book.properties(inner))
                if names:
                    return outer, names[0]
        return None

    def _has(self, schema: Schema, path: tuple[str, ...]) -> bool:
        for step in path:
            properties = self.book.properties(schema)
            if step not in properties:
                return False
            schema = properties[step]
        return bool(path)


def load_documents(paths: Iterable[Path | str]) -> dict[str, JsonObject]:
    """Documents by name (the file's stem), from files and from folders of files.

    Of a folder, what is no OpenAPI document (a schema, an overlay) is passed over.

    Raises:
        DocumentError: no document is there, one does not parse or is no valid OpenAPI, or two
            share a name.
    """
    found: dict[str, JsonObject] = {}
    for file, is_named in _files(paths):
        loaded = _parse(file)
        if not is_named and not (isinstance(loaded, dict) and "openapi" in loaded):
            continue
        if file.stem in found:
            raise DocumentError(f"two documents are named {file.stem!r}; rename {file}")
        found[file.stem] = _document(file, loaded)
    if not found:
        raise DocumentError("no OpenAPI document found: name a folder of .yaml or .json files")
    return found


def read_document(name: str, raw: Mapping[str, Any]) -> Document:
    """One document, ready to be served.

    Raises:
        DocumentError: it has no paths, a reference that finds nothing, or a schema that is part of
            itself.
    """
    if not isinstance(raw.get("paths"), Mapping):
        raise DocumentError(f"document {name!r} has no paths, so there is nothing to serve")
    book = SchemaBook(raw)
    try:
        document = Document(name, raw, book, tuple(_operations(book, raw)))
        # Read everything now: a broken reference is better found before the first request.
        _ = document.known_ids, [operation.kind for operation in document.operations]
        for operation in document.operations:
            book.follow(operation.raw.get("requestBody", {}))
    except LookupError as exc:
        raise DocumentError(f"document {name!r}: {exc}") from exc
    except RecursionError as exc:
        raise DocumentError(f"document {name!r}: a schema of it is part of itself") from exc
    return document


def _readings(args: Mapping[str, Any] | None) -> dict[str, RuntimeExpression]:
    read = {name: read_expression(value) for name, value in (args or {}).items()}
    return {name: reading for name, reading in read.items() if reading}


def _sent(
    args: Mapping[str, Any] | None, asked: ServedOperation, maker: ServedOperation
) -> dict[str, RuntimeExpression]:
    """Inputs that repeat the request, as the contract says, else those of the same name."""
    if args is not None:
        read = _readings(args)
        return {name: reading for name, reading in read.items() if reading.message == "request"}
    shared = sorted(asked.input_names & maker.input_names)
    return {name: RuntimeExpression("request", "body", (name,)) for name in shared}


def _operations(book: SchemaBook, raw: Mapping[str, Any]) -> Iterator[ServedOperation]:
    found = [
        _operation(book, path, method, item)
        for path, item in ((path, book.follow(unread)) for path, unread in raw["paths"].items())
        for method in METHODS
        if method in item
    ]
    cancel_tools = {operation.cancels for operation in found if operation.cancels}
    for operation in found:
        yield replace(operation, is_cancel=operation.operation_id in cancel_tools)


def _operation(
    book: SchemaBook, path: str, method: str, item: Mapping[str, Any]
) -> ServedOperation:
    raw = item[method]
    operation_id = raw.get("operationId") or f"{method}_{re.sub(r'[^a-z0-9]+', '_', path.lower())}"
    declared = [*item.get("parameters", []), *raw.get("parameters", [])]
    parameters = [_parameter(book, book.follow(p)) for p in declared]
    # The operation's own declaration replaces the path's: the last one of a name wins.
    unique = {(p.name, p.location): p for p in parameters}
    return ServedOperation(operation_id, method, path, raw, tuple(unique.values()), book)


def _parameter(book: SchemaBook, raw: Mapping[str, Any]) -> ServedParameter:
    schema = raw.get("schema") or json_schema(book, raw.get("content", {})) or {}
    required = bool(raw.get("required", raw["in"] == "path"))
    return ServedParameter(raw["name"], raw["in"], required, book.resolve(schema))


def _files(paths: Iterable[Path | str]) -> Iterator[tuple[Path, bool]]:
    """Each file, and whether it was named itself."""
    for path in map(Path, paths):
        if path.is_dir():
            files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
            yield from ((file, False) for file in files)
        elif path.is_file():
            yield path, True
        else:
            raise DocumentError(f"there is no file or folder {path}")


def _parse(file: Path) -> Any:
    try:
        text = file.read_text(encoding="utf-8")
        with suppress(yaml.YAMLError):
            return yaml.load(text, Loader=_QuickLoader)
        # Again, by the parser that says best what is wrong and in which line.
        return yaml.load(text, Loader=_Loader)
    except UnicodeDecodeError as exc:
        raise DocumentError(f"{file} is not text in UTF-8") from exc
    except yaml.YAMLError as exc:
        raise DocumentError(f"{file} does not parse: {_yaml_reason(exc)}") from exc


def _document(file: Path, loaded: Any) -> JsonObject:
    if not isinstance(loaded, dict) or "openapi" not in loaded:
        raise DocumentError(f"{file} is not an OpenAPI document: it has no openapi field")
    # Round trip through JSON: status codes written as numbers become the text that OpenAPI means.
    document: JsonObject = json.loads(json.dumps(loaded))
    _check(file, document)
    return document


def _yaml_reason(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return " ".join(str(error).split())


def _check(file: Path, document: JsonObject) -> None:
    try:
        OpenAPI.from_dict(document)
    except SchemaError as exc:
        where = "/".join(str(part) for part in exc.absolute_path) or "the document"
        # The lines after the first quote the schema.
        raise DocumentError(f"{file}: {where}: {exc.message.splitlines()[0]}") from exc
    except Unresolvable as exc:
        raise DocumentError(f"{file}: reference {exc.ref!r} finds nothing") from exc
    except SpecError as exc:
        version = document["openapi"]
        raise DocumentError(f"{file}: openapi {version} is not a version we know") from exc
