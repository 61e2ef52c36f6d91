"""A document made self-contained: what it refers to in other files is taken into itself."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, unquote

from pydantic import JsonValue

from orchestrator.core.errors import DocumentInvalid, DocumentUnreadable
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.pointer import format_pointer

FILES_KEY = "x-orchet-files"
"""Where a bundled document keeps the other files, by their path relative to its own folder."""

_MAX_FILES = 200


def bundle(
    name: str, document: JsonObject, *, at: Path, read: Callable[[Path], JsonObject]
) -> JsonObject:
    """The document with every reference leading inside itself.

    Other files are kept whole under `x-orchet-files`, so that their own references still work; a
    document that refers to no other file is returned as it is.

    It is in the file `at`; references are relative to the file they stand in.

    Raises:
        DocumentInvalid: a reference to a URL, to a file that cannot be read, or to one outside the
            folder of the document.
    """
    bundler = _Bundler(name, at.resolve(), read)
    bundled = bundler.rewritten(document, at.resolve(), ())
    bundler.take_in_all()
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
        self._waiting: list[tuple[Path, DocumentInvalid]] = []

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
        target = self._located(file.parent / unquote(address), reference, path)
        if target == self._main:
            return f"#{fragment}"
        if self._key(target) not in self.files:
            self.files[self._key(target)] = None
            self._waiting.append((target, self._invalid(path, f"{reference!r} cannot be read")))
        return self._inside(target, fragment)

    def take_in_all(self) -> None:
        """Read what was referred to, and what is referred to there."""
        while self._waiting:
            file, fault = self._waiting.pop()
            if len(self.files) > _MAX_FILES:
                raise self._invalid((), f"it refers to more than {_MAX_FILES} files")
            try:
                content = self._read(file)
            except DocumentUnreadable as error:
                fault = DocumentInvalid(
                    fault.document, fault.pointer, f"{fault.reason}: {error.reason}"
                )
                raise fault from error
            key = self._key(file)
            self.files[key] = self.rewritten(content, file, (FILES_KEY, key))

    def _located(self, file: Path, reference: str, path: tuple[str, ...]) -> Path:
        try:
            target = file.resolve()
        except (OSError, ValueError) as error:
            raise self._invalid(path, f"{reference!r} is no name of a file") from error
        if not target.is_relative_to(self._main.parent):
            raise self._invalid(
                path,
                f"{reference!r} leads out of the folder of the document; only files in it are read",
            )
        return target

    def _inside(self, file: Path, fragment: str) -> str:
        return "#" + quote(format_pointer((FILES_KEY, self._key(file)))) + fragment

    def _key(self, file: Path) -> str:
        return file.relative_to(self._main.parent).as_posix()

    def _invalid(self, path: tuple[str, ...], reason: str) -> DocumentInvalid:
        return DocumentInvalid(self._name, format_pointer(path), reason)
