"""Findings that an owner has decided not to mend: x-orchet-lint-ignore, with the reason."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from orchestrator.catalog.lint.finding import Code, Problem, Suppression
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import format_pointer

KEY = "x-orchet-lint-ignore"
IGNORED = Code("ORC065", "note", "A suppression has a reason and suppresses something")
_Path = tuple[str, ...]
_DATA = frozenset({"const", "default", "enum", "example", "examples"})
"""What is there is a provider's data, and says nothing to a linter."""


@dataclass(frozen=True)
class Ignore:
    """One code that is not to be reported at a place, or inside of it."""

    code: str
    reason: str
    place: _Path
    pointer: str
    """Where it is written."""


class Ignores:
    """All that a document says is not to be mended, and what of it has been made use of."""

    def __init__(self, root: JsonObject, is_examined: Callable[[_Path], bool]) -> None:
        """Take the document, overlays applied, and whether the linter looks at a place of it."""
        self._by_place: dict[_Path, list[Ignore]] = {}
        self._malformed: list[str] = []
        self._used: set[Ignore] = set()
        self._refused: set[Ignore] = set()
        for path, value in _written(root):
            if is_examined(path):
                self._by_place[path] = list(self._read(path, value))

    def find(self, code: Code, places: Iterable[_Path], *, is_lasting: bool) -> Suppression | None:
        """What keeps a finding at, or inside, one of these places from counting; None of none."""
        for place in places:
            for length in range(len(place), -1, -1):
                for ignore in self._by_place.get(place[:length], ()):
                    if ignore.code == code.code and is_lasting:
                        self._refused.add(ignore)
                    elif ignore.code == code.code:
                        self._used.add(ignore)
                        return Suppression(kind="inSource", reason=ignore.reason)
        return None

    def problems(self) -> Iterator[Problem]:
        """ORC065: what is said of findings and comes to nothing, or says no reason."""
        for pointer in self._malformed:
            yield Problem(
                pointer,
                f"{KEY} holds something that is no code of a finding with a reason",
                'write a list such as [{code: ORC024, reason: "why it stays as it is"}]',
            )
        for ignore in (ignore for listed in self._by_place.values() for ignore in listed):
            if ignore in self._refused:
                yield Problem(
                    ignore.pointer,
                    f"{ignore.code} stays: with it a rollback would not do what is said of it",
                    "mend the finding, and remove this",
                )
            elif ignore not in self._used:
                yield Problem(
                    ignore.pointer,
                    f"there is no {ignore.code} here that could be suppressed",
                    "remove it, or move it to the place of the finding or around it",
                )
            elif not ignore.reason:
                yield Problem(
                    ignore.pointer,
                    f"{ignore.code} is suppressed, and nothing says why",
                    "add a reason: those who come later cannot ask",
                )

    def _read(self, path: _Path, value: JsonValue) -> Iterator[Ignore]:
        """What is said at a place; nothing of it when any of it is not understood."""
        entries = value if isinstance(value, list) else [None]
        if all(map(_is_entry, entries)):
            for index, entry in enumerate(entries):
                said: dict[str, Any] = entry if isinstance(entry, dict) else {}
                pointer = format_pointer((*path, KEY, str(index)))
                yield Ignore(said["code"], said.get("reason", "").strip(), path, pointer)
        elif path and not _is_operation(path):
            # On an operation and at the root ORC036 says what is wrong with the value.
            self._malformed.append(format_pointer((*path, KEY)))


def _is_entry(entry: Any) -> bool:
    """Whether it is {code, reason}, or a code alone."""
    if not isinstance(entry, dict) or "code" not in entry or entry.keys() - {"code", "reason"}:
        return False
    return all(isinstance(value, str) for value in entry.values())


def _is_operation(path: _Path) -> bool:
    return path[:1] == ("paths",) and len(path) == 3


def _written(root: JsonObject) -> Iterator[tuple[_Path, JsonValue]]:
    """Each place that has the keyword, and what it has there."""
    waiting: list[tuple[_Path, JsonValue]] = [((), root)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            # Under `properties` keys are names of fields, whatever they look like.
            names_fields = path[-1:] == ("properties",)
            if KEY in value and not names_fields:
                yield path, value[KEY]
            waiting += [
                ((*path, key), inner)
                for key, inner in value.items()
                if isinstance(inner, dict | list) and (names_fields or key not in _DATA)
            ]
        elif isinstance(value, list):
            inner = (v for v in enumerate(value) if isinstance(v[1], dict | list))
            waiting += [((*path, str(index)), item) for index, item in inner]
