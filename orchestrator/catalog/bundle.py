"""A document made self-contained: what it refers to in other files is taken into itself."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, unquote

from pydantic import JsonValue

from orchestrator.catalog.pointer import format_pointer
from orchestrator.errors import DocumentInvalid, DocumentUnreadable
from orchestrator.record import JsonObject

FILES_KEY = "x-orchet-files"
"""Where a bundled document keeps the other files, by their path relative to its own folder."""

_MAX_FILES = 200


def bundle(
    name: str, document: JsonObject, *, at: Path, read: Callable[[Path], JsonObject]
) -> JsonObject:
    """The document with every reference leading inside itself.

    Other files are kept whole under `x-orchet-files`, so that their own references still work; a
    document that refers to no other file is returned as it is.

    Args:
        name: what the document is called, for errors.
        document: parsed.
        at: its file; references are relative to the file they stand in.
        read: reads another file.

    Raises:
        DocumentInvalid: a reference to a URL, or to a file that cannot be read.
    """
    bundler = _Bundler(name, at.resolve(), read)
    bundled = bundler.rewritten(document, at.resolve(), ())
    if not bundler.files:
        return document
    assert isinstance(bundled, dict)
    return {**bundled, FILES_KEY: dict(bundler.files)}


class _Bundler:
    """Rewrites references, and takes in each file that one leads to, once."""

    def __init__(self, name: str, main: Path, read: Callable[[Path], JsonObject]) -> None:
        self.files: dict[str, JsonValue] = {}
        self._name = name
        self._main = main
        self._read = read

    def rewritten(self, value: JsonValue, file: Path, path: tuple[str, ...]) -> JsonValue:
        if isinstance(value, list):
            return [self.rewritten(v, file, (*path, str(i))) for i, v in enumerate(value)]
        if not isinstance(value, dict):
            return value
        return {
            key: self._reference(item, file, (*path, key))
            if key == "$ref" and isinstance(item, str)
            else self.rewritten(item, file, (*path, key))
            for key, item in value.items()
        }

    def _reference(self, reference: str, file: Path, path: tuple[str, ...]) -> str:
        address, _, fragment = reference.partition("#")
        if not address:
            return reference if file == self._main else self._inside(file, fragment)
        if ":" in address:
            raise self._invalid(path, f"{reference!r} is a URL: only files are referred to")
        target = (file.parent / unquote(address)).resolve()
        if target == self._main:
            return f"#{fragment}"
        self._take_in(target, reference, path)
        return self._inside(target, fragment)

    def _inside(self, file: Path, fragment: str) -> str:
        return "#" + quote(format_pointer((FILES_KEY, self._key(file)))) + fragment

    def _key(self, file: Path) -> str:
        return Path(_relative(file, self._main.parent)).as_posix()

    def _take_in(self, file: Path, reference: str, path: tuple[str, ...]) -> None:
        key = self._key(file)
        if key in self.files:
            return
        if len(self.files) >= _MAX_FILES:
            raise self._invalid(path, f"it refers to more than {_MAX_FILES} files")
        self.files[key] = None
        try:
            content = self._read(file)
        except DocumentUnreadable as error:
            raise self._invalid(path, f"{reference!r} cannot be read: {error.reason}") from error
        self.files[key] = self.rewritten(content, file, (FILES_KEY, key))

    def _invalid(self, path: tuple[str, ...], reason: str) -> DocumentInvalid:
        return DocumentInvalid(self._name, format_pointer(path), reason)


def _relative(file: Path, folder: Path) -> str:
    """The way from the folder to the file, up and down."""
    shared = 0
    for one, other in zip(file.parts, folder.parts, strict=False):
        if one != other:
            break
        shared += 1
    return str(Path(*[".."] * (len(folder.parts) - shared), *file.parts[shared:]))
