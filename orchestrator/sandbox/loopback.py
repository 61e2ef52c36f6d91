"""Documents turned towards the sandbox: their servers become its own, and no real host is left."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from orchestrator.sandbox.json_object import JsonObject
from orchestrator.sandbox.served_schemas import SchemaBook

_UNSAFE = re.compile(r"[^A-Za-z0-9._~-]+")


def redirected(
    documents: Mapping[str, Mapping[str, Any]],
    base_url: str,
    *,
    variables: Mapping[str, str] | None = None,
) -> dict[str, JsonObject]:
    """The same documents, each under a path of its own at one server.

    The servers of paths and operations are dropped with those of the document, and so are token
    endpoints, so that nothing is left that could be called elsewhere.

    Args:
        documents: by name; they stay as they are.
        base_url: of the sandbox, e.g. "http://127.0.0.1:8700".
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
    """Without the grants by which a token would be asked for: the sandbox takes any token."""
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
    """A path or an operation; one that is a reference is written out, for its target has them."""
    if not isinstance(part, Mapping):
        return part
    # What leads nowhere cannot be called either: whoever reads it says so.
    with suppress(LookupError):
        part = {**book.follow(part), **{k: v for k, v in part.items() if k != "$ref"}}
    return {key: value for key, value in part.items() if key != "servers"}
