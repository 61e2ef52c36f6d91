"""Cuts third-party documents down to the operations that `documents/excerpts.json` lists.

`python -m tests.benchmarks.goals.excerpt FOLDER` reads the folder that `python -m tests.interop
bring FOLDER` fills, and writes `documents/NAME.yaml`. An operation stays as its maker wrote it, but
for long descriptions, examples and samples of code; an answer is kept a few levels deep.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from tests.benchmarks.goals.models import DOCUMENTS
from tests.interop.listing import Listed, listed

LIST: Final = DOCUMENTS / "excerpts.json"
_METHODS: Final = ("get", "put", "post", "patch", "delete")
_DROPPED: Final = (
    "example",
    "examples",
    "callbacks",
    "links",
    "externalDocs",
    "servers",
    "headers",
)
_SAID: Final = ("operationId", "summary", "description", "tags")
_ANSWER_DEPTH: Final = 4
_REQUEST_DEPTH: Final = 7
_NESTED: Final = ("items", "properties", "anyOf", "oneOf", "allOf")
_TEXT: Final = 160
_WHOLE: Final = 4
"""How deep in an answer the schema of its body lies: status, content, media type, schema."""


def main(folder: Path) -> None:
    """Write the excerpt of each document that the folder has."""
    entries = {entry.name: entry for entry in listed(folder)}
    for name, wanted in json.loads(LIST.read_text(encoding="utf-8")).items():
        text = (folder / entries[name].file).read_text(encoding="utf-8")
        document = json.loads(text) if text[:1] == "{" else yaml.load(text, yaml.CSafeLoader)
        cut = _Cut(document).document(wanted)
        written = yaml.dump(cut, Dumper=_Plain, sort_keys=False, width=100, allow_unicode=True)
        (DOCUMENTS / f"{name}.yaml").write_text(_origin(entries[name]) + written, encoding="utf-8")


def _origin(entry: Listed) -> str:
    return (
        f"# An excerpt of {entry.path}\n# of {entry.repository}\n"
        f"# at {entry.commit}; licence: {entry.licence}.\n"
    )


class _Plain(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


class _Cut:
    """One document, and what is cut out of it."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document

    def document(self, wanted: list[str]) -> dict[str, Any]:
        """Return the document with the wanted operations alone, in its own order."""
        paths: dict[str, Any] = {}
        for path, method, operation in self._operations():
            if operation.get("operationId") in wanted:
                item = paths.setdefault(path.partition("#")[0], self._shared(path))
                item[method] = self._operation(operation)
        missing = set(wanted) - {o["operationId"] for i in paths.values() for o in _of(i)}
        assert not missing, f"no operation is called {', '.join(sorted(missing))}"
        info = {key: self._document["info"][key] for key in ("title", "version")}
        head = {"openapi": self._document["openapi"], "info": info}
        servers = self._document.get("servers", [{"url": "https://api.example.com"}])[:1]
        return {**head, "servers": [{"url": servers[0]["url"]}], "paths": paths}

    def _operations(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for path, item in self._document["paths"].items():
            for method in _METHODS:
                if method in item:
                    yield path, method, item[method]

    def _shared(self, path: str) -> dict[str, Any]:
        parameters = self._document["paths"][path].get("parameters")
        return {"parameters": self._copy(parameters, _REQUEST_DEPTH)} if parameters else {}

    def _operation(self, operation: dict[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = {key: operation[key] for key in _SAID if key in operation}
        for key in ("parameters", "requestBody"):
            if key in operation:
                kept[key] = self._copy(operation[key], _REQUEST_DEPTH)
        answers = {str(code): answer for code, answer in operation["responses"].items()}
        good = {code: answer for code, answer in answers.items() if code.startswith("2")}
        kept["responses"] = _without_choices(self._copy(good or answers, _ANSWER_DEPTH))
        if "404" in answers:
            kept["responses"]["404"] = {"description": "Not found"}
        return {key: self._value(key, value, 40) for key, value in kept.items()}

    def _copy(self, node: Any, depth: int) -> Any:
        """Return a node with its references resolved, nothing below the depth."""
        if isinstance(node, list):
            return [self._copy(inner, depth) for inner in node]
        if not isinstance(node, dict):
            return node
        if isinstance(reference := node.get("$ref"), str):
            return self._copy(self._resolved(reference), depth)
        if depth <= 0 and (nested := next((key for key in _NESTED if key in node), "")):
            return {"type": "array", "items": {}} if nested == "items" else {"type": "object"}
        return {
            key: self._value(key, value, depth) for key, value in node.items() if _stays(key, value)
        }

    def _value(self, key: str, value: Any, depth: int) -> Any:
        if key in ("description", "summary") and isinstance(value, str):
            return _short(value)
        return self._copy(value, depth - (key in _NESTED or key == "schema"))

    def _resolved(self, reference: str) -> Any:
        node: Any = self._document
        for step in reference.removeprefix("#/").split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            node = node[int(key) if isinstance(node, list) else key]
        return node


def _without_choices(node: Any, depth: int = 0) -> Any:
    """Return an answer in which a property that may be one of several things is any value."""
    if isinstance(node, list):
        return [_without_choices(inner, depth) for inner in node]
    if not isinstance(node, dict):
        return node
    if depth > _WHOLE and {"anyOf", "oneOf"} & set(node):
        return {}
    return {key: _without_choices(value, depth + 1) for key, value in node.items()}


def _of(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (item[method] for method in _METHODS if method in item)


def _stays(key: str, value: Any) -> bool:
    is_property = isinstance(value, dict) and ("type" in value or "$ref" in value)
    return is_property or (key not in _DROPPED and not key.startswith("x-"))


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _TEXT else flat[:_TEXT].rsplit(" ", 1)[0] + " ..."


if __name__ == "__main__":
    main(Path(sys.argv[1]))
