"""Loads documents from files, and reads each operation separately, as some may be defective."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from openapi_schema_validator import oas30_format_checker, oas31_format_checker

from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.problems import DocumentError, Unservable, UnservedOperation
from orchestrator.sandbox.served_operations import (
    ServedOperation,
    ServedParameter,
    ThingPlace,
    json_schema,
    places_of,
)
from orchestrator.sandbox.served_schemas import JsonObject, SchemaBook, referred

SUFFIXES = (".yaml", ".yml", ".json")

# Dates stay text, as JSON has none.
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
_UNSAFE = re.compile(r"[^A-Za-z0-9._~-]+")


def load_documents(paths: Iterable[Path | str]) -> dict[str, JsonObject]:
    """Load documents by name (the file's stem), from files and from folders of files.

    In a folder, files other than OpenAPI documents (schemas, overlays) are skipped, and an
    unreadable document is skipped with a warning that gives the reason.

    Raises:
        DocumentError: there is no document, two share a name, or a file given by name does not
            parse or is not OpenAPI.
    """
    found: dict[str, JsonObject] = {}
    left_out: list[str] = []
    for path in map(Path, paths):
        if not (path.is_dir() or path.is_file()):
            raise DocumentError(f"there is no file or folder {path}")
        is_named = not path.is_dir()
        for file in [path] if is_named else sorted(path.iterdir()):
            if not is_named and file.suffix not in SUFFIXES:
                continue
            try:
                document = _read(file, is_named=is_named)
            except DocumentError as fault:
                if is_named:
                    raise
                left_out.append(str(fault))
                continue
            if document is not None and file.stem in found:
                raise DocumentError(f"two documents are named {file.stem!r}; rename {file}")
            if document is not None:
                found[file.stem] = document
    if not found:
        why = "".join(f"; {reason}" for reason in left_out)
        raise DocumentError(
            f"no OpenAPI document found: name a folder of .yaml or .json files{why}"
        )
    for reason in left_out:
        warnings.warn(f"{reason}; it is left out until that is fixed", stacklevel=2)
    return found


def _read(file: Path, *, is_named: bool) -> JsonObject | None:
    """Return the document in a file; None for another kind of file found in a folder."""
    loaded = _parse(file)
    if not is_named and not (isinstance(loaded, dict) and "openapi" in loaded):
        return None
    if not isinstance(loaded, dict) or "openapi" not in loaded:
        raise DocumentError(f"{file} is not an OpenAPI document: it has no openapi field")
    version = str(loaded["openapi"])
    if not version.startswith("3."):
        raise DocumentError(f"{file}: openapi {version} is not a version we know; 3.x is")
    # Round trip through JSON: status codes written as numbers become the text that OpenAPI
    # requires.
    document: JsonObject = json.loads(json.dumps(loaded))
    return document


def _parse(file: Path) -> Any:
    try:
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".json":
            with suppress(ValueError):
                return json.loads(text)
        with suppress(yaml.YAMLError):
            return yaml.load(text, Loader=_QuickLoader)
        # Parsed again by the loader that reports the cause and its line best.
        return yaml.load(text, Loader=_Loader)
    except UnicodeDecodeError as exc:
        raise DocumentError(f"{file} is not text in UTF-8") from exc
    except yaml.YAMLError as exc:
        reason = " ".join(str(exc).split())
        if isinstance(exc, yaml.MarkedYAMLError) and exc.problem_mark:
            reason = f"line {exc.problem_mark.line + 1}: {exc.problem}"
        raise DocumentError(f"{file} does not parse: {reason}") from exc


def redirected(
    documents: Mapping[str, Mapping[str, Any]],
    base_url: str,
    *,
    variables: Mapping[str, str] | None = None,
) -> dict[str, JsonObject]:
    """Return the documents, each under its own path at one server.

    Servers of paths and operations and token endpoints are removed too, so that no other host can
    be called.

    Args:
        documents: by name; not changed.
        base_url: the address of the sandbox, e.g. "http://127.0.0.1:8700".
        variables: defaults of the server variables in it, e.g. {"port": "8700"}.
    """
    prefixes: dict[str, str] = {}
    for name in documents:
        readable = _UNSAFE.sub("-", name).strip("-.") or "document"
        prefix = f"/{readable}"
        number = 2
        while prefix in prefixes.values():
            prefix, number = f"/{readable}-{number}", number + 1
        prefixes[name] = prefix
    declared = {name: {"default": value} for name, value in (variables or {}).items()}
    turned: dict[str, JsonObject] = {}
    for name, raw in documents.items():
        url = f"{base_url.rstrip('/')}{prefixes[name]}"
        server = {"url": url, **({"variables": declared} if declared else {})}
        turned[name] = _redirected(raw, server)
    return turned


def _redirected(raw: Mapping[str, Any], server: Mapping[str, Any]) -> JsonObject:
    book = SchemaBook(raw)

    def without_servers(part: Any) -> Any:
        if not isinstance(part, Mapping):
            return part
        # An unresolvable reference cannot be called; `read_document` reports it.
        with suppress(LookupError):
            part = {**book.follow(part), **_without(part, "$ref")}
        return _without(part, "servers")

    turned: JsonObject = {**raw, "servers": [server]}
    if isinstance(paths := raw.get("paths"), Mapping):
        bare = {path: without_servers(item) for path, item in paths.items()}
        turned["paths"] = {
            path: {name: without_servers(part) for name, part in item.items()}
            if isinstance(item, Mapping)
            else item
            for path, item in bare.items()
        }
    components = raw.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, Mapping) else None
    if isinstance(components, Mapping) and isinstance(schemes, Mapping):
        # Without the OAuth flows that would request a token, as the sandbox accepts any token.
        kept = {
            name: {**scheme, "flows": {}}
            if isinstance(scheme, Mapping) and scheme.get("type") == "oauth2"
            else scheme
            for name, scheme in schemes.items()
        }
        turned["components"] = {**components, "securitySchemes": kept}
    return turned


Steps = tuple[str, ...]

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_LOCATIONS = ("path", "query", "header", "cookie")
_LINKS = ("x-orchet-cancels", "x-orchet-cancel-for", "x-orchet-compensation-probe")
_REMOVE = "fix it there, or remove the operation by an overlay"
_LITERAL = frozenset({"example", "examples", "enum", "const", "default"})
"""Keywords whose values are data: a `$ref` in them is no reference."""
_NAMED = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "encoding", "headers"}
)
"""Keywords whose member names come from the document, so that none of them is a keyword."""
_UNUSED = frozenset({"callbacks", "links"})
"""Parts that no call to the sandbox uses."""
_SHAPES: Mapping[str, tuple[str, Any]] = {
    **dict.fromkeys(("allOf", "oneOf", "anyOf", "parameters", "enum"), ("list", list)),
    **dict.fromkeys(("properties", "content", "headers", "patternProperties"), ("object", Mapping)),
    **dict.fromkeys(("minimum", "maximum", "multipleOf"), ("number", int | float)),
    **dict.fromkeys(("minLength", "minItems", "minProperties"), ("number", int | float)),
    **dict.fromkeys(("maxLength", "maxItems", "maxProperties"), ("number", int | float)),
    "pattern": ("text", str),
}
"""The shape of a keyword's value."""
# For the last ones no checker exists, but values are generated.
_FORMATS = frozenset(
    {*oas30_format_checker.checkers, *oas31_format_checker.checkers}
    | {"uri", "url", "uri-reference", "hostname", "duration"}
)
_CARRIERS = frozenset({"in", "content", "schema"})
"""Keywords of parameters, bodies and headers, where `required` is a boolean."""
_MAPS = frozenset({"properties", "patternProperties", "$defs", "schemas", "paths"})
"""Keywords whose member names come from the document, for `tidied`."""


def read_document(name: str, raw: Mapping[str, Any]) -> Document:
    """Return a document ready to be served; `skipped` lists the skipped operations with reasons."""
    if not isinstance(raw.get("paths"), Mapping):
        reason = "it has none, so there is nothing to serve"
        remedy = "add them, or leave the document out"
        none = UnservedOperation(name, "/paths", "the document", reason, remedy)
        return Document(name, {**raw, "paths": {}}, SchemaBook({}), (), (none,))
    tidy = tidied(raw)
    reader = _Reader(name, SchemaBook(tidy), tidy)
    operations = _linked([one for one in reader.operations() if reader.is_read(one)])
    cancel_tools = {operation.cancels for operation in operations if operation.cancels}
    paths: dict[str, JsonObject] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method] = operation.raw
    return Document(
        name,
        {**tidy, "paths": paths},
        reader.book,
        tuple(replace(o, is_cancel=o.operation_id in cancel_tools) for o in operations),
        tuple(reader.skipped),
    )


class _Written(NamedTuple):
    """An operation as written in the document."""

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
        """Yield every readable operation, in the order of the document."""
        places = places_of(self._raw["paths"])
        for path in self._raw["paths"]:
            for written in self._written(path):
                found = self._attempted(written, lambda w: self._read(w, places.get(w.path)))
                if found is not None:
                    yield found

    def is_read(self, operation: ServedOperation) -> bool:
        """Return True if everything that serving needs from an operation can be computed."""

        def look(_: _Written) -> object:
            answer = operation.answer_schema or {}
            inputs = operation.kind, operation.input_names, operation.item_schema
            answered = self.book.properties(answer), self.book.variants(answer)
            return inputs, answered

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
        for method in _METHODS:
            if method in item:
                raw = item[method]
                # Keywords next to the `$ref` of an operation take precedence.
                with suppress(LookupError):
                    if isinstance(raw, Mapping) and "$ref" in raw:
                        raw = {**self.book.follow(raw), **_without(raw, "$ref")}
                yield _Written(path, method, item, raw)

    def _attempted(self, written: _Written, attempt: Callable[[_Written], Any]) -> Any:
        """Return the result of an attempt; None if it fails, and the operation is skipped."""
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
        # The operation's declaration replaces the path's: the last one of a name wins.
        unique = {(p["in"], p["name"]): p for p in self._parameters(written)}
        # An operation without an id gets a unique name made of method and path.
        declared = raw.get("operationId")
        made = f"{written.method}_{_plain(written.path)}"
        name = declared if isinstance(declared, str) and declared else made
        if name in self._names:
            name = next(n for i in range(2, 10**6) if (n := f"{name}_{i}") not in self._names)
        self._names.add(name)
        parameters = []
        for one in unique.values():
            schema = one.get("schema") or json_schema(self.book, one.get("content") or {}) or {}
            required = bool(one.get("required", one["in"] == "path"))
            resolved = self.book.resolve(schema)
            parameters.append(ServedParameter(one["name"], one["in"], required, resolved))
        return ServedOperation(
            name,
            written.method,
            written.path,
            {**_without(raw, "servers"), "parameters": list(unique.values())},
            tuple(parameters),
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


def _linked(operations: list[ServedOperation]) -> list[ServedOperation]:
    """Replace the names by which operations refer to each other by the served ones.

    A document may use a tool's name if an operationId is missing or is no valid tool name.
    """
    served = {_plain(o.operation_id): o.operation_id for o in reversed(operations)}
    served |= {o.operation_id: o.operation_id for o in operations}

    def named(value: Any) -> Any:
        if isinstance(value, Mapping) and "operationId" in value:
            return {**value, "operationId": named(value["operationId"])}
        if not isinstance(value, str):
            return value
        return served.get(value) or served.get(_plain(value)) or value

    return [
        replace(o, raw={k: named(v) if k in _LINKS else v for k, v in o.raw.items()})
        for o in operations
    ]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _without(raw: Mapping[str, Any], key: str) -> JsonObject:
    return {name: value for name, value in raw.items() if name != key}


class _Part(NamedTuple):
    node: Any
    steps: Steps
    is_names: bool = False


class Soundness:
    """Checks parts of one document; a part that passed is not checked again."""

    def __init__(self, book: SchemaBook) -> None:
        self._book = book
        self._sound: set[str] = set()

    def check(self, node: Any, steps: Steps) -> None:
        """Check that all references of a part exist and that their targets have the right shape.

        Raises:
            Unservable: the first failing place, and its remedy.
        """
        passed: set[str] = set()
        waiting = [_Part(node, steps)]
        while waiting:
            part = waiting.pop()
            if isinstance(part.node, list):
                waiting += [_Part(n, (*part.steps, str(i))) for i, n in enumerate(part.node)]
            if not isinstance(part.node, Mapping):
                continue
            if not part.is_names:
                for name, wanted in _misshapen(part.node):
                    raise Unservable(
                        (*part.steps, name), f"it is no {wanted}", f"write a {wanted} there"
                    )
                reference = part.node.get("$ref")
                if isinstance(reference, str) and reference not in self._sound | passed:
                    passed.add(reference)
                    target = self._target(reference, part.steps)
                    waiting.append(_Part(target, tuple(reference.removeprefix("#/").split("/"))))
            for name, value in part.node.items():
                is_used = name not in _LITERAL | _UNUSED and not name.startswith("x-")
                if part.is_names or is_used:
                    is_names = not part.is_names and name in _NAMED and isinstance(value, Mapping)
                    waiting.append(_Part(value, (*part.steps, name), is_names))
        self._sound |= passed

    def _target(self, reference: str, steps: Steps) -> Any:
        try:
            return self._book.follow({"$ref": reference})
        except LookupError as error:
            raise Unservable(
                (*steps, "$ref"),
                str(error.args[0]),
                "add what it names, or remove the operation by an overlay",
            ) from error


def _misshapen(node: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, (wanted, kind) in _SHAPES.items():
        if name in node and not isinstance(node[name], kind):
            yield name, wanted
    if isinstance(node.get("items"), list | str):
        yield "items", "schema"


def tidied(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document without unknown formats and without a `required` that is no list.

    Neither constrains a value, and both make validators fail. Properties that are references as a
    whole are inlined.
    """
    taking: set[str] = set()

    def tidy(node: Any) -> Any:
        if isinstance(node, list):
            return [tidy(part) for part in node]
        if not isinstance(node, Mapping):
            return node
        made = {}
        for key, value in node.items():
            is_unknown = key == "format" and isinstance(value, str) and value not in _FORMATS
            is_flag = key == "required" and not isinstance(value, list)
            if is_unknown or (is_flag and _CARRIERS.isdisjoint(node)):
                continue
            if key in _MAPS and isinstance(value, Mapping):
                made[key] = named(value)
            else:
                made[key] = value if key in _LITERAL else tidy(value)
        return made

    def named(members: Mapping[str, Any]) -> dict[str, Any]:
        """Tidy members by name; no member is a string, so a string `$ref` leads to more members."""
        reference = members.get("$ref")
        own = {name: tidy(part) for name, part in members.items()}
        if not isinstance(reference, str):
            return own
        del own["$ref"]
        if reference in taking:
            return own
        taking.add(reference)
        try:
            return {**named(referred(document, reference)), **own}
        except LookupError:
            # Retained as an unresolvable member: the check reports it where it is used.
            return {"$ref": {"$ref": reference}, **own}
        finally:
            taking.discard(reference)

    found: dict[str, Any] = tidy(document)
    return found
