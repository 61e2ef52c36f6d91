"""Bundle a document: include the files that it refers to, so that it is self-contained."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from pydantic import JsonValue

from orchestrator.core.errors import DocumentUnreadable
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import SchemaNames
from orchestrator.json_schema.references import FILES_KEY, format_pointer
from orchestrator.json_schema.walker import KEYWORDS

_EXTENSION = "x-"
_BY_NAME = frozenset(
    {
        "callbacks",
        "content",
        "dependentRequired",
        "encoding",
        "examples",
        "headers",
        "links",
        "mapping",
        "mediaTypes",
        "parameters",
        "pathItems",
        "paths",
        "requestBodies",
        "responses",
        "schemas",
        "scopes",
        "securitySchemes",
        "variables",
        "webhooks",
        *(keyword for keyword, holds in KEYWORDS.items() if holds == "map"),
    }
)
"""Keywords whose objects have names chosen by the document: `x-id` is no extension there."""


def bundle(document: JsonObject, *, at: Path, read: Callable[[Path], JsonObject]) -> JsonObject:
    """Return the document with the files that it refers to included.

    Other files are included whole under `x-orchet-files`, so that their own references still work;
    a document that refers to no other file is returned unchanged. No error is raised here: the
    reason replaces the content of an unreadable file, and the reader that needs the file reports
    it. References inside extensions are left alone unless another reference leads into that
    extension.

    References are relative to the file that contains them (`at` for the document) and lead to files
    of its folder and below. URLs are left as they are.
    """
    if not _mentions_files(document):
        return document
    bundler = _Bundler(at.resolve(), read)
    bundled = bundler.rewritten(document)
    return {**bundled, FILES_KEY: dict(bundler.files)} if bundler.files else document


def _mentions_files(document: JsonObject) -> bool:
    """Return True if anything looks like a reference to another file; most documents have none."""
    waiting: list[JsonValue] = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            references = (value.get("$ref"), value.get("$dynamicRef"))
            if any(isinstance(one, str) and not one.startswith("#") for one in references):
                return True
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return False


class _Bundler:
    """Rewrites references and includes each referenced file once."""

    def __init__(self, main: Path, read: Callable[[Path], JsonObject]) -> None:
        self.files: dict[str, JsonValue] = {}
        """Content by path relative to the document's folder, or the reason why it is unreadable."""
        self._main = main
        self._read = read
        self._known: dict[Path, JsonObject] = {}
        self._names: dict[Path, SchemaNames] = {}
        self._waiting: list[Path] = []
        self._located: dict[tuple[Path, str], Path | str] = {}
        self._entered: set[tuple[Path, str]] = set()
        """Files and extension names that some reference leads into."""

    def rewritten(self, document: JsonObject) -> JsonObject:
        """Return the document, rewritten until no new extension is referred to."""
        while True:
            entered = len(self._entered)
            self.files.clear()
            self._known[self._main] = document
            bundled = self._object(document, _Place(self._main), is_by_name=False)
            while self._waiting:
                file = self._waiting.pop()
                self.files[self._key(file)] = self._content(file)
            if len(self._entered) == entered:
                return bundled

    def _content(self, file: Path) -> JsonValue:
        try:
            content = self._parsed(file)
        except DocumentUnreadable as error:
            return error.reason
        return self._object(content, _Place(file), is_by_name=False)

    def _parsed(self, file: Path) -> JsonObject:
        if file not in self._known:
            self._known[file] = self._read(file)
        return self._known[file]

    def _value(self, value: JsonValue, at: "_Place", *, is_by_name: bool) -> JsonValue:
        if isinstance(value, list):
            return [
                self._value(element, at.below(str(i)), is_by_name=False)
                for i, element in enumerate(value)
            ]
        return self._object(value, at, is_by_name=is_by_name) if isinstance(value, dict) else value

    def _object(self, value: JsonObject, at: "_Place", *, is_by_name: bool) -> JsonObject:
        return {
            key: item
            if key.startswith(_EXTENSION) and not is_by_name and (at.file, key) not in self._entered
            else self._member(key, item, at, is_by_name=is_by_name)
            for key, item in value.items()
        }

    def _member(self, key: str, item: JsonValue, at: "_Place", *, is_by_name: bool) -> JsonValue:
        if key == "$ref" and isinstance(item, str):
            return self._reference(item, at)
        if key == "$dynamicRef" and isinstance(item, str):
            # The reference is left as written, because its meaning depends on the name; its file is
            # included.
            self._reference(item, at)
            return item
        return self._value(item, at.below(key), is_by_name=not is_by_name and key in _BY_NAME)

    def _reference(self, reference: str, at: "_Place") -> str:
        address, _, fragment = reference.partition("#")
        if ":" in address:
            return reference
        target = self._target(address, at.file)
        if isinstance(target, str):
            self.files[address] = target
            return _inside(address, fragment)
        if fragment and not fragment.startswith("/"):
            fragment = self._anchored(target, fragment, () if address else at.steps)
        file = target
        for step in unquote(fragment).split("/") if _EXTENSION in fragment else ():
            if step.startswith(_EXTENSION):
                self._entered.add((file, step.replace("~1", "/").replace("~0", "~")))
        if target == self._main:
            return f"#{fragment}" if address else reference
        key = self._key(target)
        if key not in self.files:
            self.files[key] = None
            self._waiting.append(target)
        return _inside(key, fragment)

    def _anchored(self, file: Path, name: str, within: tuple[str, ...]) -> str:
        """Return the pointer to the schema with this `$anchor` seen from `within`, or the name."""
        try:
            names = self._names.get(file) or SchemaNames(self._parsed(file))
        except DocumentUnreadable:
            return name
        self._names[file] = names
        steps = names.path_of(f"#{name}", within)
        return name if steps is None else quote(format_pointer(steps))

    def _target(self, address: str, file: Path) -> Path | str:
        """Return the file of an address, or the reason why it is not read."""
        if not address:
            return file
        place = (file.parent, address)
        if place not in self._located:
            self._located[place] = self._looked_up(*place)
        return self._located[place]

    def _looked_up(self, folder: Path, address: str) -> Path | str:
        try:
            target = (folder / unquote(address)).resolve()
        except (OSError, ValueError):
            return "it is no name of a file"
        if not target.is_relative_to(self._main.parent):
            return "it leads out of the folder of the document, and only files in it are read"
        return target

    def _key(self, file: Path) -> str:
        return file.relative_to(self._main.parent).as_posix()


@dataclass(frozen=True, slots=True)
class _Place:
    """A position in a file."""

    file: Path
    steps: tuple[str, ...] = ()

    def below(self, key: str) -> "_Place":
        return _Place(self.file, (*self.steps, key))


def _inside(key: str, fragment: str) -> str:
    return "#" + quote(format_pointer((FILES_KEY, key))) + fragment
