"""Loads documents from files, and redirects their servers before they are served."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from orchestrator.sandbox.problems import DocumentError
from orchestrator.sandbox.served_schemas import JsonObject, SchemaBook

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
    for file, is_named in _files(paths):
        try:
            document = _read(file, is_named=is_named)
        except DocumentError as fault:
            if is_named:
                raise
            left_out.append(str(fault))
            continue
        if document is None:
            continue
        if file.stem in found:
            raise DocumentError(f"two documents are named {file.stem!r}; rename {file}")
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


def _files(paths: Iterable[Path | str]) -> Iterator[tuple[Path, bool]]:
    """Yield each file, and True if it was given by name."""
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
        raise DocumentError(f"{file} does not parse: {_yaml_reason(exc)}") from exc


def _yaml_reason(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return " ".join(str(error).split())


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
    prefixes = _prefixes(documents)
    declared = {name: {"default": value} for name, value in (variables or {}).items()}
    return {
        name: _redirected(
            raw,
            {
                "url": f"{base_url.rstrip('/')}{prefixes[name]}",
                **({"variables": declared} if declared else {}),
            },
        )
        for name, raw in documents.items()
    }


def _prefixes(names: Iterable[str]) -> dict[str, str]:
    prefixes: dict[str, str] = {}
    for name in names:
        readable = _UNSAFE.sub("-", name).strip("-.") or "document"
        taken = set(prefixes.values())
        numbers = ("", *(f"-{number}" for number in range(2, len(taken) + 3)))
        prefixes[name] = next(p for n in numbers if (p := f"/{readable}{n}") not in taken)
    return prefixes


def _redirected(raw: Mapping[str, Any], server: Mapping[str, Any]) -> JsonObject:
    paths = raw.get("paths")
    book = SchemaBook(raw)
    turned: JsonObject = {**raw, "servers": [server]}
    if isinstance(paths, Mapping):
        turned["paths"] = {path: _path(book, item) for path, item in paths.items()}
    if isinstance(components := raw.get("components"), Mapping):
        turned["components"] = _without_token_endpoints(components)
    return turned


def _without_token_endpoints(components: Mapping[str, Any]) -> Mapping[str, Any]:
    """Remove the OAuth flows that would request a token, as the sandbox accepts any token."""
    schemes = components.get("securitySchemes")
    if not isinstance(schemes, Mapping):
        return components
    kept = {
        name: {**scheme, "flows": {}}
        if isinstance(scheme, Mapping) and scheme.get("type") == "oauth2"
        else scheme
        for name, scheme in schemes.items()
    }
    return {**components, "securitySchemes": kept}


def _path(book: SchemaBook, item: Any) -> Any:
    if not isinstance(item, Mapping):
        return item
    plain = _without_servers(book, item)
    return {name: _without_servers(book, part) for name, part in plain.items()}


def _without_servers(book: SchemaBook, part: Any) -> Any:
    """Remove the servers of a path or an operation, inlining a reference to one."""
    if not isinstance(part, Mapping):
        return part
    # An unresolvable reference cannot be called; `read_document` reports it.
    with suppress(LookupError):
        part = {**book.follow(part), **{k: v for k, v in part.items() if k != "$ref"}}
    return {key: value for key, value in part.items() if key != "servers"}
