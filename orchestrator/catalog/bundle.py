"""Bundle a document: include the files that it refers to, so that it is self-contained."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote

from pydantic import JsonValue

from orchestrator.core.errors import DocumentUnreadable
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import SchemaNames
from orchestrator.json_schema.references import FILES_KEY, format_pointer
from orchestrator.json_schema.walker import KEYWORDS

_EXTENSION = "x-"
_OUTSIDE = "it leads out of the folder of the document, and only files in it are read"
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
    waiting: list[JsonValue] = [document]
    is_mentioned = False  # most documents mention no other file
    while waiting and not is_mentioned:
        value = waiting.pop()
        if isinstance(value, dict):
            references = (value.get("$ref"), value.get("$dynamicRef"))
            is_mentioned = any(isinstance(r, str) and not r.startswith("#") for r in references)
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    if not is_mentioned:
        return document
    bundler = _Bundler(at.resolve(), read)
    bundled = bundler.rewritten(document)
    return {**bundled, FILES_KEY: dict(bundler.files)} if bundler.files else document


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
            bundled = self._object(document, self._main, (), is_by_name=False)
            while self._waiting:
                file = self._waiting.pop()
                try:
                    content = self._parsed(file)
                except DocumentUnreadable as error:
                    self.files[self._key(file)] = error.reason
                else:
                    included = self._object(content, file, (), is_by_name=False)
                    self.files[self._key(file)] = included
            if len(self._entered) == entered:
                return bundled

    def _parsed(self, file: Path) -> JsonObject:
        if file not in self._known:
            self._known[file] = self._read(file)
        return self._known[file]

    def _object(
        self, value: JsonObject, file: Path, steps: tuple[str, ...], *, is_by_name: bool
    ) -> JsonObject:
        result: JsonObject = {}
        for key, item in value.items():
            is_extension = key.startswith(_EXTENSION) and not is_by_name
            inside = (*steps, key)
            result[key] = item
            if is_extension and (file, key) not in self._entered:
                continue
            if key in ("$ref", "$dynamicRef") and isinstance(item, str):
                reference = self._reference(item, file, steps)
                # The meaning of a dynamic reference depends on the name, so it is left as written;
                # its file is included.
                result[key] = reference if key == "$ref" else item
            elif isinstance(item, dict):
                names = not is_by_name and key in _BY_NAME
                result[key] = self._object(item, file, inside, is_by_name=names)
            elif isinstance(item, list):
                result[key] = self._list(item, file, inside)
        return result

    def _list(self, value: list[JsonValue], file: Path, steps: tuple[str, ...]) -> list[JsonValue]:
        result: list[JsonValue] = []
        for index, item in enumerate(value):
            inside = (*steps, str(index))
            if isinstance(item, dict):
                result.append(self._object(item, file, inside, is_by_name=False))
            else:
                result.append(self._list(item, file, inside) if isinstance(item, list) else item)
        return result

    def _reference(self, reference: str, written_in: Path, steps: tuple[str, ...]) -> str:
        address, _, fragment = reference.partition("#")
        if ":" in address:
            return reference
        target = self._located.get((written_in.parent, address))
        if not address:
            target = written_in
        elif target is None:
            try:
                found = (written_in.parent / unquote(address)).resolve()
                target = found if found.is_relative_to(self._main.parent) else _OUTSIDE
            except (OSError, ValueError):
                target = "it is no name of a file"
            self._located[written_in.parent, address] = target
        if isinstance(target, str):
            self.files[address] = target
            return "#" + quote(format_pointer((FILES_KEY, address))) + fragment
        if fragment and not fragment.startswith("/"):
            # The pointer to the schema with this `$anchor`, if there is one.
            with suppress(DocumentUnreadable):
                if target not in self._names:
                    self._names[target] = SchemaNames(self._parsed(target))
                within = () if address else steps
                anchored = self._names[target].path_of(f"#{fragment}", within)
                if anchored is not None:
                    fragment = quote(format_pointer(anchored))
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
        return "#" + quote(format_pointer((FILES_KEY, key))) + fragment

    def _key(self, file: Path) -> str:
        return file.relative_to(self._main.parent).as_posix()
